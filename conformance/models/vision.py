#!/usr/bin/env python3
"""Every model of torchvision, scripted with random weights, beside PyTorch.

    vision.py [--only REGEX] [--runner BINARY] [--table FILE] [--seconds N] [--keep FOLDER]

Each of the models that `../torchscript/vision.py` lists is built with seeded weights and small inputs,
scripted, saved, and run by PyTorch and by the example `model` of sconce-runtime; one after the other,
in a folder that is removed, since the largest takes 2.6 GB. A result is equal when no element differs
by more than 1e-4 of the largest one of its tensor, or where that is more, by what PyTorch's own
results with and without oneDNN differ by, or where it is as near as PyTorch's own, with and without
oneDNN and on another number of threads, to what PyTorch computes in float64: masks of random weights
magnify rounding so much. Weights of batch norms are
random too: with those of a new module the layer does nothing. A call that takes longer than `--seconds` counts as not run;
what is not equal stays in `--keep`. Exits with failure when a model is wrong.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import torch
import torchvision

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torchscript"))

import vision  # noqa: E402

SIZE = 64
# Models that take no smaller inputs.
SIZES = {"inception_v3": 96, "quantized_inception_v3": 96, "maxvit_t": 224, "alexnet": 96}
FRAMES = {"mvit_v1_b": (16, 224), "mvit_v2_s": (16, 224), "s3d": (16, 224)}
# Few classes and low thresholds, so that random weights detect something; few and small boxes, so
# that it does not take long.
RCNN = {
    "num_classes": 5, "min_size": 96, "max_size": 128, "rpn_pre_nms_top_n_test": 60,
    "rpn_post_nms_top_n_test": 20, "box_detections_per_img": 8,
}
ONE_STAGE = {"num_classes": 5, "min_size": 96, "max_size": 128, "score_thresh": 0.001, "detections_per_img": 10}
OPTIONS = {
    "fcos_resnet50_fpn": ONE_STAGE,
    "retinanet_resnet50_fpn": ONE_STAGE,
    "retinanet_resnet50_fpn_v2": ONE_STAGE,
    "ssd300_vgg16": {"num_classes": 5, "topk_candidates": 40, "detections_per_img": 10},
    "ssdlite320_mobilenet_v3_large": {"num_classes": 5, "topk_candidates": 40, "detections_per_img": 10},
    "vit_h_14": {"image_size": 56},
}


def randomize(model):
    """Running statistics and scales that are not those of a new module."""
    generator = torch.Generator().manual_seed(1)
    for module in model.modules():
        names = ("running_mean", "running_var", "weight", "bias")
        if isinstance(module, (torch.nn.modules.batchnorm._BatchNorm, torchvision.ops.FrozenBatchNorm2d)):
            for name in names:
                tensor = getattr(module, name, None)
                if tensor is None:
                    continue
                spread = torch.rand(tensor.shape, generator=generator) - 0.5
                tensor.data.copy_(spread * 0.2 if name in ("running_mean", "bias") else 1 + spread * 0.4)


def build(group, name):
    torch.manual_seed(0)
    options = {"weights": None, **OPTIONS.get(name, {})}
    builder = torchvision.models.get_model_builder(name)
    if "weights_backbone" in builder.__annotations__:
        options["weights_backbone"] = None
    if name.removeprefix("quantized_") in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    if group == "detection" and name not in OPTIONS:
        options.update(RCNN)
    if name.startswith("vit_") and name not in OPTIONS:
        options["image_size"] = SIZE
    model = builder(**options).eval()
    randomize(model)
    return model


def inputs(group, name):
    generator = torch.Generator().manual_seed(2)
    rand = lambda *shape: torch.rand(shape, generator=generator)
    if group == "detection":
        return ([rand(3, 80, 100)],)
    if group == "optical_flow":
        return (rand(1, 3, 128, 128) * 2 - 1, rand(1, 3, 128, 128) * 2 - 1)
    if group == "video":
        frames, size = FRAMES.get(name, (8, SIZE))
        return (rand(1, 3, frames, size, size),)
    size = OPTIONS.get(name, {}).get("image_size", SIZES.get(name, SIZE))
    return (rand(1, 3, size, size),)


def record(group, name, folder):
    model = torch.jit.script(build(group, name))
    arguments = inputs(group, name)
    path = folder / "model.pt"
    torch.jit.save(model, str(path))
    del model
    with torch.inference_mode():
        result = torch.jit.load(str(path))(*arguments)
    # Objects of classes of the program cannot be pickled; inception and googlenet give such.
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        result = tuple(result)
    torch.save([{"arguments": arguments, "result": result}], folder / "calls.pt")


def compare(group, name, runner, seconds=None, keep=None):
    """Verdict, largest relative difference, seconds, and why."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            record(group, name, folder)
        except Exception as error:
            return ["not run by PyTorch", "", "", (str(error).splitlines() or [""])[-1]]
        row = run(folder, runner, seconds)
        if row[0] == "wrong" and row[1] not in ("", "NaN"):
            row = beside_rounding(folder, runner, seconds, row)
        if keep is not None and row[0] != "equal":
            shutil.copytree(folder, keep / name, dirs_exist_ok=True)
        return row


def beside_rounding(folder, runner, seconds, row):
    """The row of a result that differs, held against how far PyTorch's own rounding goes."""
    [call] = torch.load(folder / "calls.pt", weights_only=True)
    with torch.backends.mkldnn.flags(enabled=False):
        without = again(folder, call["arguments"])
    own = difference(without, call["result"])
    if float(row[1]) <= own:
        return ["equal", row[1], row[2], f"PyTorch without oneDNN differs by {own:.1e}"]
    exact = again(folder, call["arguments"], torch.float64)
    # PyTorch's results depend on how many threads there are as well.
    threads = torch.get_num_threads()
    torch.set_num_threads(2 if threads == 1 else 1)
    otherwise = again(folder, call["arguments"])
    torch.set_num_threads(threads)
    own = max(difference(result, exact) for result in (call["result"], without, otherwise))
    with tempfile.TemporaryDirectory() as other:
        other = pathlib.Path(other)
        (other / "model.pt").symlink_to(folder / "model.pt")
        torch.save([{**call, "result": converted(exact, torch.float32)}], other / "calls.pt")
        ours = run(other, runner, seconds)[1]
    if ours not in ("", "NaN") and float(ours) <= float(f"{own:.1e}"):
        return ["equal", row[1], row[2], f"differs from float64 by {ours}, PyTorch by {own:.1e}"]
    return row


def again(folder, arguments, dtype=torch.float32):
    """PyTorch's result, computed in a dtype."""
    model = torch.jit.load(str(folder / "model.pt")).to(dtype)
    with torch.inference_mode():
        return model(*converted(arguments, dtype))


def converted(value, dtype):
    """A value with its floating tensors in a dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: converted(item, dtype) for key, item in value.items()}
    return type(value)(converted(item, dtype) for item in value) if isinstance(value, (list, tuple)) else value


def difference(found, expected):
    """The largest relative difference of two results of PyTorch; 0 where their shapes differ."""
    pairs = list(zip(tensors(found), tensors(expected)))
    if any(a.shape != b.shape for a, b in pairs):
        return 0.0
    return max(((a.double() - b.double()).abs().max() / b.abs().max().clamp(min=1e-12)).item() for a, b in pairs if b.numel())


def tensors(value):
    """Those in dictionaries, lists and tuples, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors(item)] if isinstance(value, (list, tuple)) else []


def run(folder, runner, seconds):
    try:
        done = subprocess.run([runner, str(folder)], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return ["too slow", "", "", f"no answer after {seconds} s"]
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return lines[-1].split("\t")
    said = done.stderr.splitlines() or [f"exit status {done.returncode}"]
    return ["wrong", "", "", said[-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--runner", default="target/optimized/examples/model")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60, help="for a call of a model")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for archives and calls that are not equal")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    counts, rows = {}, []
    for group, module in vision.GROUPS.items():
        for name in torchvision.models.list_models(module=module):
            if not re.search(options.only, f"{group}_{name}"):
                continue
            verdict, error, seconds, why = compare(group, name, options.runner, options.seconds, options.keep)
            counts[verdict] = counts.get(verdict, 0) + 1
            rows.append((group, name, verdict, "" if error == "NaN" else error, why))
            print(f"{verdict:13} {error:8} {seconds:>7} s  {group}/{name}  {why}", flush=True)
    if options.table:
        lines = ["\t".join(("group", "model", "verdict", "largest relative difference", "why"))]
        lines += ["\t".join(row) for row in rows]
        options.table.write_text("\n".join(lines) + "\n")
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if "wrong" in counts else 0


if __name__ == "__main__":
    sys.exit(main())
