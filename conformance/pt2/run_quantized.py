"""Quantizes small networks by export (torchao's `pt2e`), runs the programs with sconce, and compares with `ep.module()(...)`.

    python run_quantized.py SCONCE [--filter TEXT] [--keep FOLDER]

PyTorch computes such layers on `float32`, sconce on integers where it can. So a result may lie on the other side of a step
of quantization; it must be within two hundredths of the largest one. Exit status 0 if all are.
"""

import argparse
import collections
import os
import pathlib
import sys
import tempfile
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run as environment  # noqa: E402

environment.in_environment_with_torch()

try:
    import torchao  # noqa: F401
except ImportError:
    environment.install("torchao")

import torch
import torch.nn as nn
from torch.export import Dim
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

from running import call, summary

ALLOWED = 0.02


class Pictures(nn.Module):
    """Convolutions of all kinds, a sum of two branches, a layer on single channels."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.same, self.narrow = nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 32, 1, stride=2)
        self.each, self.last = nn.Conv2d(32, 32, 3, groups=32), nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(self.same(x) + x)
        x = self.each(torch.relu(self.narrow(x)))
        return self.last(x.mean((2, 3)))


def layers():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def pooled():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, bias=False), nn.Flatten(), nn.Linear(200, 5))


BATCH = ({0: Dim("batch", min=1, max=64)},)
# What is made, its input, settings of the quantizer, sizes that are not known.
CASES = {
    "pictures": (Pictures, (2, 3, 16, 16), {}, None),
    "pictures_batch": (Pictures, (2, 3, 16, 16), {}, BATCH),
    "pooled": (pooled, (1, 3, 16, 16), {}, None),
    "layers": (layers, (4, 32), {}, None),
    "layers_batch": (layers, (4, 32), {}, BATCH),
    "layers_seven_bits": (layers, (4, 32), {"reduce_range": True}, None),
    "layers_dynamic": (layers, (4, 32), {"is_dynamic": True}, None),
}


def quantized(make, sizes, settings, shapes):
    model, example = make().eval(), (torch.randn(sizes),)
    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config(**settings))
    prepared = prepare_pt2e(torch.export.export(model, example, dynamic_shapes=shapes).module(), quantizer)
    for _ in range(3):
        prepared(torch.randn(sizes))
    return torch.export.export(convert_pt2e(prepared), example, dynamic_shapes=shapes), example


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sconce")
    parser.add_argument("--filter", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, case in CASES.items():
            if options.filter not in name:
                continue
            torch.manual_seed(0)
            program, example = quantized(*case)
            for dialect in ("training", "core"):
                program = program.run_decompositions() if dialect == "core" else program
                base = folder / f"{name}.{dialect}"
                torch.export.save(program, f"{base}.pt2")
                torch.save(list(example), f"{base}.in.pt")
                with torch.no_grad():
                    want = program.module()(*example)
                said, found = call(options.sconce, base)
                if said:
                    counts["fails"] += 1
                    print(f"{name} ({dialect}) fails: {said}", flush=True)
                    continue
                off = float((found - want).abs().max() / want.abs().max()) if found.shape == want.shape else float("inf")
                verdict = "differs" if not off <= ALLOWED or found.dtype != want.dtype else "within rounding"
                counts[verdict] += 1
                print(f"{name} ({dialect}) {verdict}: {off:.2e} of the largest", flush=True)
    return summary(counts)


if __name__ == "__main__":
    sys.exit(main())
