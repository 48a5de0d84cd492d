"""Exports each operator of PyTorch's operator database, runs it with sconce, and compares.

    python run_operators.py SCONCE [--filter TEXT] [--dialect core] [--every N]

The first sample that can be exported stands for an operator. What sconce says it does not support is counted apart from
what fails or differs.
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
    import expecttest  # noqa: F401
except ImportError:
    environment.install("expecttest")

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from run_models import difference, plain
from running import call, summary

# What gives other numbers each time, or what is in memory.
RANDOM = ["empty", "bernoulli", "multinomial", "normal", "rand", "uniform", "dropout", "exponential", "cauchy",
          "geometric", "log_normal", "resize_", "new_empty", "rrelu", "fractional"]


class Called(torch.nn.Module):
    """Calls an operator: tensors are arguments, the rest is in the program."""

    def __init__(self, function, spec, others):
        super().__init__()
        self.function, self.spec, self.others = function, spec, others

    def forward(self, *tensors):
        tensors = iter(tensors)
        leaves = [next(tensors) if leaf is torch.Tensor else leaf for leaf in self.others]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)


def exported(info, dialect):
    """A program with its tensors and result, or the reason why there is none."""
    reason = "no samples"
    if not info.dtypes:
        return reason
    dtype = torch.float32 if torch.float32 in info.dtypes else sorted(info.dtypes, key=str)[0]
    for index, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=False)):
        if index == 3:
            break
        leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        if any(tensor.layout is not torch.strided for tensor in tensors):
            reason = "sparse"
            continue
        others = [torch.Tensor if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        try:
            program = torch.export.export(Called(info.op, spec, others), tensors, strict=False)
            if dialect == "core":
                program = program.run_decompositions()
            want = plain(program.module()(*[tensor.clone() for tensor in tensors]))
            return program, tensors, want
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
    return reason


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sconce")
    parser.add_argument("--filter", default="")
    parser.add_argument("--dialect", choices=["training", "core"], default="training")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        base = pathlib.Path(folder) / "program"
        for info in op_db[:: options.every]:
            name = f"{info.name}.{info.variant_test_name}".rstrip(".")
            if options.filter not in name or any(word in name for word in RANDOM):
                continue
            torch.manual_seed(0)
            made = exported(info, options.dialect)
            if isinstance(made, str):
                counts["cannot be exported"] += 1
                continue
            program, tensors, want = made
            try:
                torch.export.save(program, f"{base}.pt2")
                torch.save(list(tensors), f"{base}.in.pt")
            except Exception:
                counts["cannot be exported"] += 1
                continue
            text, found = call(options.sconce, base)
            if text:
                verdict = "unsupported" if "not supported" in text else "fails"
                print(f"{name} {verdict}: {text}", flush=True)
            else:
                wrong = difference(plain(found), want)
                verdict = "differs" if wrong else "equal"
                if wrong:
                    print(f"{name} differs: {wrong}", flush=True)
            counts[verdict] += 1
    return summary(counts)


if __name__ == "__main__":
    sys.exit(main())
