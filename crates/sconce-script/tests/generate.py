"""Writes for each cases/*.py what PyTorch makes of its functions.

    python generate.py [NAME...]

For each function `f` of a file (those whose names begin with `_` are helpers): its tree, its graph,
the records of its archive; or the error. The files are compiled as if they were `/cases/NAME.py` and
run as scripts, so that nothing depends on where they are.
"""

import glob
import inspect
import io
import linecache
import os
import re
import sys
import types
import warnings
import zipfile
import zlib

warnings.simplefilter("ignore")

import torch
from torch.jit.frontend import get_jit_def

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name, path):
    with open(path) as file:
        text = file.read()
    shown = f"/cases/{name}.py"
    linecache.cache[shown] = (len(text), None, text.splitlines(True), shown)
    module = types.ModuleType("__main__")
    module.__file__ = shown
    sys.modules["__main__"] = module
    exec(compile(text, shown, "exec"), module.__dict__)
    return module


def records(scripted):
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer)
    with zipfile.ZipFile(buffer) as archive:
        for info in archive.infolist():
            name = info.filename.split("/", 1)[1]
            data = archive.read(info)
            if name.endswith(".py"):
                yield f"== record {name}", data.decode()
            elif name.startswith(".data/") or name.startswith("code/__torch__/torch/"):
                # Places in PyTorch's own sources are nobody else's.
                continue
            else:
                yield f"== record {name} {len(data)} {zlib.crc32(data):08x}", ""


def error_of(error, shown):
    """The message and the lines of the file that it names."""
    text = str(error)
    lines = re.findall(r'File "' + re.escape(shown) + r'", line (\d+)', text)
    return f"{text.strip().splitlines()[0] if text.strip() else ''}\nlines {' '.join(lines)}\n"


def answer(module, name, function, shown):
    try:
        tree = str(get_jit_def(function, function.__name__)).rstrip("\n")
        yield f"== {name} tree", tree + "\n"
        scripted = torch.jit.script(function)
        yield f"== {name} graph", str(scripted.graph)
        yield from records(scripted)
    except Exception as error:
        yield f"== {name} error", error_of(error, shown)


def main(names):
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.py"))):
        name = os.path.basename(path)[:-3]
        if names and name not in names:
            continue
        module = load(name, path)
        functions = [
            (key, value)
            for key, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == "__main__" and not key.startswith("_")
        ]
        with open(path[:-3] + ".txt", "w") as out:
            for key, function in functions:
                for title, text in answer(module, key, function, f"/cases/{name}.py"):
                    out.write(f"{title}\n{text}")
                    if text and not text.endswith("\n"):
                        out.write("\n")
        print(f"{name}: {len(functions)} functions")


main(sys.argv[1:])
