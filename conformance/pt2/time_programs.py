"""How long a call takes as a program of torch.export, in both dialects, beside the same model as TorchScript.

    python time_programs.py FOLDER --make              makes the programs, with PyTorch and torchvision
    python time_programs.py FOLDER --sconce SCONCE     times them; needs nothing but Python

The three files of a model are called in turns by one process (`sconce bench --compare`), and medians compared. Exit status
0 if the geometric mean of exported to TorchScript is within 1.05, and core is within 1.1 of training for each model.
Weights are made of few numbers, so that the folder can be packed for another machine.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

FILES = ["script.pt", "training.pt2", "core.pt2"]
MOST, MOST_CORE = 1.05, 1.1


def models():
    import torch
    import torch.nn as nn
    import torchvision.models as vision

    picture = (torch.randn(1, 3, 224, 224),)
    for name in ["resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "shufflenet_v2_x1_0", "squeezenet1_1",
                 "regnet_y_400mf"]:
        yield name, getattr(vision, name)(weights=None), picture
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 4, enable_nested_tensor=False)
    yield "encoder", encoder, (torch.randn(1, 64, 256),)
    layers = [nn.Linear(512, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    yield "layers", nn.Sequential(*layers), (torch.randn(8, 512),)
    yield "lstm", nn.LSTM(64, 128, 1, batch_first=True), (torch.randn(1, 20, 64),)


def make(folder):
    import torch

    torch.manual_seed(0)
    for name, model, arguments in models():
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    width = parameter[0].numel() ** -0.5
                    parameter.copy_((torch.randn_like(parameter) * 4).round() / 4 * width)
            model.eval()
            torch.jit.save(torch.jit.trace(model, arguments), folder / f"{name}.script.pt")
            program = torch.export.export(model, arguments, strict=False)
            torch.export.save(program, folder / f"{name}.training.pt2")
            torch.export.save(program.run_decompositions(), folder / f"{name}.core.pt2")
            torch.save(list(arguments), folder / f"{name}.in.pt")
        print(name, flush=True)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def time(folder, sconce, threads):
    ratios = {"training": [], "core": [], "core to training": []}
    for script in sorted(folder.glob("*.script.pt")):
        name = script.name.removesuffix(".script.pt")
        first, *others = [str(folder / f"{name}.{file}") for file in FILES]
        command = [sconce, "bench", first, "--inputs", str(folder / f"{name}.in.pt"), "--json", "--threads", str(threads)]
        for other in others:
            command += ["--compare", other]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{name} fails: {done.stderr.strip()[:200]}")
            return 1
        said = json.loads(done.stdout)
        base, training, core = [program["seconds"]["median"] for program in said["programs"]]
        for key, ratio in [("training", training / base), ("core", core / base), ("core to training", core / training)]:
            ratios[key].append(ratio)
        print(f"{name:20} {base * 1e3:9.3f} ms as TorchScript, training {training / base:.3f}, core {core / base:.3f}", flush=True)
    print(", ".join(f"{key} {mean(of):.3f}" for key, of in ratios.items()), f"(largest core to training {max(ratios['core to training']):.3f})")
    is_quick = all(mean(ratios[key]) <= MOST for key in ("training", "core"))
    return 0 if is_quick and max(ratios["core to training"]) <= MOST_CORE else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--sconce")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.make:
        make(options.folder)
    return time(options.folder, options.sconce, options.threads) if options.sconce else 0


if __name__ == "__main__":
    sys.exit(main())
