"""Records traced operators with a constant tensor in each place, of every dtype and of no, one and two dimensions.

    python constants.py OUT [--pattern REGEX] [--every K]

What a trace bakes in is a tensor in the archive, and PyTorch takes one without dimensions for a number where it is
added, subtracted, multiplied or divided by: then it gives way in type promotion, whatever its dtype. Each operator
and constant become a folder OUT/NAME.DTYPE.INDEX with `model.pt` and `calls.pt` as `generate.py` makes them, with calls
for tensors of every dtype. Numbers of Python are traced, too. What PyTorch does not trace or run (a constant bool that
is added: its own assertion) is left out.
"""

import argparse
import os
import pathlib
import re
import shutil
import warnings

import torch

from generate import own, plain

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128]
NUMBERS = {"int": 3, "float": 2.5, "complex": 2.5 - 1j, "bool": True, "whole": 2.0, "infinite": float("inf")}

# Of a tensor and a constant, the constant first or second.
OPERATORS = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "rsub": torch.rsub, "pow": torch.pow,
    "add_alpha": lambda a, b: torch.add(a, b, alpha=2), "sub_alpha": lambda a, b: torch.sub(a, b, alpha=3),
    "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"), "floor_divide": torch.floor_divide,
    "remainder": torch.remainder, "fmod": torch.fmod, "maximum": torch.maximum, "minimum": torch.minimum,
    "eq": torch.eq, "lt": torch.lt, "where": lambda a, b: torch.where(a.real.bool(), a, b), "atan2": torch.atan2,
    "bitwise_and": torch.bitwise_and, "logical_or": torch.logical_or, "masked_fill": lambda a, b: a.masked_fill(a.real > 1, b),
    "cat": lambda a, b: torch.cat([a.reshape(-1), b.reshape(-1)]), "addcmul": lambda a, b: torch.addcmul(a, b, b),
    "chain": lambda a, b: ((a * b).add(b) - b).mul(b), "both": lambda a, b: (b * b + b) * a,
    "in_place": lambda a, b: a.clone().mul_(b).add_(b), "lerp": lambda a, b: torch.lerp(a, a, b),
    "stack": lambda a, b: torch.stack([a * b, a + b]), "sum_of": lambda a, b: (a * b).sum() + b,
}


def tensor(dtype, sizes):
    numbers = torch.tensor([3.0, 1.0, 2.0, 0.0, 4.0, 1.0])
    values = numbers[: max(1, torch.Size(sizes).numel())].reshape(sizes)
    return (values * (1 + 0.5j) if dtype.is_complex else values).to(dtype)


def record(call, folder):
    """The traced call, and what it gives for tensors of every dtype; how many it takes."""
    traced = torch.jit.trace(call, (tensor(torch.float32, (3,)),), check_trace=False)
    os.makedirs(folder)
    path = str(folder / "model.pt")
    torch.jit.save(traced, path)
    calls = []
    for dtype in DTYPES:
        for sizes in ((3,), ()):
            given = tensor(dtype, sizes)
            try:
                result = plain(torch.jit.load(path)(own(given)))
            except Exception:  # noqa: BLE001  what PyTorch does not do
                continue
            calls.append({"arguments": [own(given)], "result": result, "compare": "values", "seed": 0})
    torch.save(calls, str(folder / "calls.pt"))
    return len(calls)


def constants():
    for dtype in DTYPES:
        for sizes in ((), (1,), (3,), (1, 1)):
            yield str(dtype)[6:], tensor(dtype, sizes)
    for name, number in NUMBERS.items():
        yield f"number_{name}", number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pattern", default="")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th program")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    indices, made, number = {}, 0, -1
    for name, operator in OPERATORS.items():
        for dtype, constant in constants():
            calls = [lambda x: operator(x, constant)]
            if isinstance(constant, torch.Tensor):
                calls.append(lambda x: operator(constant, x))
            for call in calls:
                number += 1
                group = f"{name}.{dtype}"
                index = indices[group] = indices.get(group, -1) + 1
                if number % options.every or not re.search(options.pattern, group):
                    continue
                folder = options.out / f"{group}.{index:03}"
                shutil.rmtree(folder, ignore_errors=True)
                try:
                    made += record(call, folder)
                except Exception:  # noqa: BLE001  what PyTorch does not trace
                    shutil.rmtree(folder, ignore_errors=True)
    print(f"{made} calls recorded")


if __name__ == "__main__":
    main()
