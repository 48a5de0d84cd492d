#!/usr/bin/env python3
"""Makes archives of every version whose operators meant something else, and says what PyTorch makes
of them.

    versions.py OUT

For each version from 1 to 10 and each call below, a folder of OUT holds what `generate.py` puts there:
an archive whose `forward` makes the call in one branch, PyTorch's graph of it and PyTorch's archive. A
call that PyTorch refuses in a version has `torch_error.txt` in their place. The debug records are left
out, so that the graphs' places are those of the code; `..._dbg` keeps them.
"""
import pathlib
import re
import sys
import zipfile

import torch

from real import describe

CALLS = {
    "div": "torch.div(x, y)",
    "div_int": "torch.div(x, k)",
    "div_float": "torch.div(x, f)",
    "div_mode": 'torch.div(x, y, rounding_mode="trunc")',
    "div_int_mode": 'torch.div(x, k, rounding_mode="floor")',
    "div_out": "torch.div(x, y, out=x)",
    "div_out_mode": 'torch.div(x, y, rounding_mode="trunc", out=x)',
    "div_": "torch.div_(x, y)",
    "div_int_": "torch.div_(x, k)",
    "div_mode_": 'torch.div_(x, y, rounding_mode="trunc")',
    "div_none_": "torch.div_(x, 2., rounding_mode=None)",
    "divide": "torch.divide(x, y)",
    "true_divide": "torch.true_divide(x, y)",
    "full": "torch.full([2, 3], 1)",
    "full_float": "torch.full([2, 3], 1.5, dtype=6)",
    "full_bool": "torch.full([2], True)",
    "full_out": "torch.full([2, 3], 1, out=x)",
    "full_all": "torch.full([2, 3], k, dtype=None, layout=None, device=torch.device(\"cpu\"), pin_memory=False)",
    "linspace": "torch.linspace(0, 1)",
    "linspace_none": "torch.linspace(0, 1, None)",
    "linspace_steps": "torch.linspace(0, f, 5, dtype=6)",
    "linspace_out": "torch.linspace(0, 1, 5, out=x)",
    "linspace_none_out": "torch.linspace(0, 1, None, out=x)",
    "logspace": "torch.logspace(0, 1)",
    "logspace_base": "torch.logspace(0, 1, 5, 2.)",
    "logspace_none": "torch.logspace(0, 1, None, 2.)",
    "logspace_out": "torch.logspace(0, 1, 5, 2., out=x)",
    "gelu": "torch.gelu(x)",
    "gelu_out": "torch.gelu(x, out=x)",
    "gelu_tanh": 'torch.gelu(x, approximate="tanh")',
    "two": "torch.add(torch.div(x, y), torch.div(x, k))",
}


class M(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, f: float):
        return x


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    plain = out / "plain.pt"
    torch.jit.save(torch.jit.script(M()), str(plain))
    for version in range(1, 11):
        for name, call in CALLS.items():
            for debug in (False, True):
                folder = out / f"v{version:02}_{name}{'_dbg' if debug else ''}"
                folder.mkdir(exist_ok=True)
                rewrite(plain, folder / "model.pt", version, call, debug)
                describe(folder)


def rewrite(plain, path, version, call, debug):
    """The archive with another version, and this call in its code."""
    branches = f"    if torch.gt(k, 1):\n      _0 = {call}\n    else:\n      _0 = x\n    return _0\n"
    with zipfile.ZipFile(plain) as archive, zipfile.ZipFile(path, "w") as new:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith("/version"):
                data = f"{version}\n".encode()
            elif name.endswith(".py"):
                data = re.sub(rb"    return x\n", branches.encode(), data)
            elif name.endswith(".debug_pkl") and not debug:
                continue
            new.writestr(name, data)


if __name__ == "__main__":
    main()
