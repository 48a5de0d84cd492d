"""Writes for each cases/*.py what PyTorch makes of its functions and nn.Modules.

    python generate.py [NAME...]

For each function of a file and each class of modules, called without arguments (those whose names
begin with `_` are helpers): its tree, its graph, the records of its archive; or the error. The files are compiled as if they were `/cases/NAME.py` and
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
    lines = text.splitlines(True)
    # As linecache keeps a file.
    if not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    linecache.cache[shown] = (len(text), None, lines, shown)
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
                yield f"== record {name}", in_order(data.decode())
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


def tree_of(item):
    if inspect.isclass(item):
        return get_jit_def(item.forward, "forward", self_name=item.__name__)
    return get_jit_def(item, item.__name__)


def is_case(key, item):
    is_module = inspect.isclass(item) and issubclass(item, torch.nn.Module)
    own = (inspect.isfunction(item) or is_module) and item.__module__ == "__main__"
    return own and not key.startswith("_")


def in_order(source):
    """A source with the constants of each class sorted: PyTorch has them from a set."""
    lines, constants = [], []
    for line in source.splitlines():
        if re.match(r"  \w+ : Final\[", line):
            constants.append(line)
            continue
        lines += [*sorted(constants), line]
        constants = []
    return "\n".join(lines + sorted(constants)) + "\n"


def answer(module, name, item, shown):
    try:
        tree = str(tree_of(item)).rstrip("\n")
        yield f"== {name} tree", tree + "\n"
        # Held while it is saved: what is held by whom can be told from the pickle.
        made = item() if inspect.isclass(item) else item
        scripted = torch.jit.script(made)
        yield f"== {name} graph", str(scripted.graph)
        yield from records(scripted)
    except Exception as error:
        yield f"== {name} error", error_of(error, shown)


def in_a_process(text_of):
    """What a function gives in a process of its own: no name is mangled for another case's sake."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(theirs, "w") as out:
            out.write(text_of())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as file:
        text = file.read()
    if os.waitpid(child, 0)[1]:
        raise SystemExit("a case ended without a word")
    return text


def written(answers):
    return "".join(f"{title}\n{text}" + ("\n" if text and not text.endswith("\n") else "") for title, text in answers)


def main(names):
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.py"))):
        name = os.path.basename(path)[:-3]
        if names and name not in names:
            continue
        module = load(name, path)
        cases = [
            (key, value)
            for key, value in vars(module).items()
            if is_case(key, value)
        ]
        with open(path[:-3] + ".txt", "w") as out:
            for key, item in cases:
                shown = f"/cases/{name}.py"
                out.write(in_a_process(lambda: written(answer(module, key, item, shown))))
        print(f"{name}: {len(cases)} cases")


main(sys.argv[1:])
