"""Writes python_names.tsv: what members of Python's standard library and of torch are.

The lines `standard`, `loaded` and `modules` list modules: those of the standard library, those of them that are
loaded once torch is imported (a file of a repository does not hide these), and what can be imported below another
one. Every other line has a module, the members that cannot be called although they are not written in capitals,
and those that can be although they are. Modules among the members are left out.
"""

import importlib
import os
import pkgutil
import sys
import types
import warnings

warnings.simplefilter("ignore")

import torch
import torch.hub
import torch.utils.model_zoo

LEFT_OUT = {
    "antigravity", "distutils", "encodings", "ensurepip", "idlelib", "lib2to3", "pickletools", "pydoc_data", "test",
    "this", "tkinter", "tokenize", "turtle", "turtledemo", "wintypes", "tests", "idle_test",
}
DEEP = {
    "torch.ao", "torch.backends", "torch.distributed", "torch.export", "torch.fx", "torch.masked", "torch.monitor",
    "torch.multiprocessing", "torch.onnx", "torch.package", "torch.profiler", "torch.testing", "torch.quantization",
    "torch.utils.tensorboard", "torch.utils.benchmark", "torch.utils.viz",
}


def is_public(name):
    return not any(part.startswith("_") or part in LEFT_OUT for part in name.split("."))


def standard():
    """The modules of the standard library that can be imported here."""
    for name in sorted(filter(is_public, sys.stdlib_module_names)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        yield name
        for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
            inner = f"{name}.{found.name}"
            if is_public(inner) and name not in {"asyncio", "multiprocessing", "email", "sqlite3", "wsgiref"}:
                try:
                    importlib.import_module(inner)
                except ImportError:
                    continue
                yield inner


def exceptions(module):
    """The members that are not what their names look like."""
    values, functions = [], []
    for name in dir(module):
        value = getattr(module, name, None)
        if name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        looks_like_value = name.upper() == name and len(name) > 1
        if callable(value) == looks_like_value:
            (functions if looks_like_value else values).append(name)
    return values, functions


loaded = sorted(name for name in sys.modules if name in sys.stdlib_module_names)
torches = sorted(
    name for name in sys.modules
    if name.split(".")[0] == "torch" and is_public(name)
    and not any(name == deep or name.startswith(deep + ".") for deep in DEEP) or name in DEEP)
names = sorted({"os.path", *standard(), *torches})
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_names.tsv"), "w") as out:
    out.write("standard\t" + " ".join(sorted(sys.stdlib_module_names)) + "\n")
    out.write("loaded\t" + " ".join(loaded) + "\n")
    out.write("modules\t" + " ".join(name for name in names if "." in name) + "\n")
    for name in names:
        values, functions = exceptions(sys.modules[name])
        if values or functions:
            out.write(f"{name}\t{' '.join(values)}\t{' '.join(functions)}\n")
