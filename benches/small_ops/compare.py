#!/usr/bin/env python3
"""Times single operations in TorchScript loops, in PyTorch and here, in one run.

    compare.py

Builds the example `small_ops` of sconce-runtime, saves the programs below, and prints for each the
nanoseconds of one operation in PyTorch's interpreter (one thread, no gradients) and here. The time
of the loop alone is taken off; `empty` is that.
"""
import argparse
import pathlib
import subprocess
import tempfile
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Name, what stands before the loop, what stands in it, the result.
PROGRAMS = [
    ("empty", "a = 0", "a = i", "a"),
    ("int_add", "a = 0", "a = a + i", "a"),
    ("int_compare_if", "a = 0", "if i > 3:\n            a = 1", "a"),
    ("int_floordiv", "a = 0", "a = (a + i) // 3", "a"),
    ("float_add", "a = 0.5", "a = a + 1.5", "a"),
    ("list_append", "a: List[int] = []", "a.append(i)", "len(a)"),
    ("list_index", "b = [1, 2, 3]\n    a = 0", "a = b[i % 3]", "a"),
    ("dict_get", "b = {'x': 1, 'y': 2}\n    a = 0", "a = b['x' if i % 2 == 0 else 'y']", "a"),
    ("dict_set", "b = {'x': 1, 'y': 2}", "b['y'] = i", "b['y']"),
    ("method_call", "a = 0", "a += self.step(i)", "a"),
    ("attribute", "a = 0", "a += self.number", "a"),
    ("add_16", "a = torch.ones(16)\n    b = torch.ones(16)", "a = a + b", "a"),
    ("add_and_add_in_place", "a = torch.ones(16)\n    b = torch.ones(16)\n    c = a", "c = a + b\n        c += b", "c"),
    ("mul_scalar_16", "a = torch.ones(16)", "a = a * 0.5", "a"),
    ("add_16_int", "a = torch.ones(16).long()\n    b = a + 0", "a = a + b", "a"),
    ("relu_16", "a = torch.ones(16)", "a = torch.relu(a)", "a"),
    ("tanh_16", "a = torch.ones(16)", "a = torch.tanh(a)", "a"),
    ("slice", "a = torch.ones(32)\n    b = a", "b = b[i % 2:]", "b"),
    ("select", "a = torch.ones(4, 16)\n    b = a", "b = a[i % 4]", "b"),
    ("item", "a = torch.ones(16)\n    b = 0.0", "b += float(a[i % 16])", "b"),
    ("mm_4x4", "a = torch.ones(4, 4)\n    b = a * 0.25", "a = torch.mm(a, b)", "a"),
]

TEMPLATE = """
def forward(self, n: int):
    {before}
    for i in range(n):
        {body}
    return {result}
"""


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.number = 7


def program(name, before, body, result):
    module = torch.jit.script(type(name, (Module,), {})())
    module.define("def step(self, i: int) -> int:\n    return i\n")
    module.define(TEMPLATE.format(before=before, body=body, result=result))
    return module


def theirs(path, rounds=2000, samples=200):
    """Nanoseconds of a round in PyTorch: the least of some samples, as `small_ops` has it."""
    module = torch.jit.load(str(path))
    with torch.no_grad():
        for _ in range(3):
            module(rounds)
        times = []
        for _ in range(samples):
            begun = time.perf_counter_ns()
            module(rounds)
            times.append((time.perf_counter_ns() - begun) / rounds)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    torch.set_num_threads(1)
    build = ["cargo", "build", "--profile", "optimized", "-q", "-p", "sconce-runtime", "--example", "small_ops"]
    subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, before, body, result in PROGRAMS:
            program(name, before, body, result).save(str(folder / f"{name}.pt"))
        run = [ROOT / "target/optimized/examples/small_ops", folder]
        lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
        ours = {name: float(least) for name, _, least in (line.split("\t") for line in lines)}
        times = {name: theirs(folder / f"{name}.pt") for name, *_ in PROGRAMS}
    print("operation\tPyTorch ns\tsconce ns\ttimes faster")
    for name, *_ in PROGRAMS:
        there = times[name] - (times["empty"] if name != "empty" else 0)
        print(f"{name}\t{there:.1f}\t{ours[name]:.1f}\t{there / max(ours[name], 0.1):.1f}")


if __name__ == "__main__":
    main()
