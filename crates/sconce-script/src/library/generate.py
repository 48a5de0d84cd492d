"""Writes known.tsv and members.txt: what PyTorch's compiler takes names of Python's libraries for.

known.tsv has one name a line: an operator (`aten::relu`), or `int N` for a dtype, layout, memory format or scheme.
Names of torch itself are missing where the operator is called the same: members.txt has those, a line for each module
of Python that has operators by their own names.
"""

import cmath
import collections
import importlib
import math
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")

import torch
from torch.jit._builtins import _find_builtin

MODULES = [
    "cmath", "collections", "math", "torch.autograd", "torch.fft", "torch.functional", "torch.jit",
    "torch._jit_internal", "torch.linalg", "torch.nested", "torch.nn.functional", "torch.nn.init",
    "torch.nn.modules.utils", "torch.overrides", "torch.sparse", "torch.special", "warnings",
    "torch.backends.cudnn",
]
OPERATORS = [
    "torch", "torch._C._VariableFunctions", "torch._C._fft", "torch._C._linalg", "torch._C._nested", "torch._C._nn",
    "torch._C._sparse", "torch._C._special", "torch._VF",
]
HELPERS = {"aten::_pair", "aten::_single", "aten::_triple", "aten::_quadruple", "aten::_assert_int_or_pair",
           "aten::list_with_default", "aten::_assert", "aten::dict"}
NUMBERS = (torch.dtype, torch.layout, torch.memory_format, torch.qscheme)


def numbers():
    """The integers that TorchScript has for dtypes and their like."""
    names = [name for name, value in vars(torch).items() if isinstance(value, NUMBERS)]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "numbers_of_names.py"), "w") as out:
            out.write("import torch\n")
            for name in names:
                out.write(f"def f_{name}():\n    return torch.{name}\n")
        sys.path.insert(0, folder)
        module = importlib.import_module("numbers_of_names")
        for name in names:
            try:
                yield f"torch.{name}", f"int {torch.jit.script(getattr(module, f'f_{name}'))()}"
            except RuntimeError:
                continue


def operators():
    known = {schema.name for schema in torch._C._jit_get_all_schemas()} | HELPERS
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in dir(module):
            found = _find_builtin(getattr(module, name))
            if found in known:
                yield f"{module_name}.{name}", found
    for name in ("_infer_size", "_get_tracing_state", "_is_tracing", "_get_cpu_capability"):
        yield f"torch._C.{name}", f"aten::{name}"
    for name in dir(torch):
        found = _find_builtin(getattr(torch, name))
        # Functions that no operator is there for are named for the sake of the error.
        is_missing = found and found not in known and (name[0].islower() or name.endswith("Tensor"))
        if found in HELPERS or is_missing or found in known and found != f"aten::{name}":
            yield f"torch.{name}", found


here = os.path.dirname(os.path.abspath(__file__))
rows = sorted(dict([*operators(), *numbers()]).items())
with open(os.path.join(here, "known.tsv"), "w") as out:
    out.writelines(f"{name}\t{meaning}\n" for name, meaning in rows)


def members(module_name):
    """The operators that a module of Python has by their own names."""
    module = torch
    for part in module_name.split(".")[1:]:
        module = getattr(module, part)
    known = {schema.name for schema in torch._C._jit_get_all_schemas()}
    # Some have attributes that `dir` does not name.
    for name in sorted(symbol.removeprefix("aten::") for symbol in known if symbol.startswith("aten::")):
        if not name.startswith("__") and _find_builtin(getattr(module, name, None)) == f"aten::{name}":
            yield name


with open(os.path.join(here, "members.txt"), "w") as out:
    out.writelines(f"{name} {' '.join(members(name))}\n" for name in OPERATORS)
