#!/usr/bin/env python3
"""Finds what torch.jit.script compiles in installed libraries, and keeps what it makes of it.

    generate.py OUT LIBRARY [LIBRARY …] [--every N] [--only REGEX] [--jobs N]

Every function that a library's public files define, and every nn.Module class whose constructor takes
nothing or plain values, is given to torch.jit.script in a process of its own, so nothing is mangled for
another's sake. What PyTorch compiles and saves becomes a folder `OUT/LIBRARY/NAME`:

    source.py    one line, which imports it
    case.json    name, library, kind (function or module), entry (what is scripted), program (the archive that
                 is called) and calls (of each the file of arguments, and that of the result or the last line
                 of the error)
    graph.txt    its graph; of a module that of forward
    saved.pt     torch.jit.save; its tensors repeat one number each
    resaved.pt   torch.jit.save of what torch.jit.load makes of that
    state.pth    the module's state dict, of the same tensors
    called.pt    torch.jit.save of the module with the tensors that it was made with, where they are not large
    args.N.pt    the arguments of a call, a tuple (`calls.py`)
    result.N.pt  what the call gave, after torch.manual_seed(0)
    exact.N.pt   what it gives in float64, where that is something else

What PyTorch refuses is left out.
"""
import argparse
import importlib
import inspect
import itertools
import json
import multiprocessing
import os
import pathlib
import pkgutil
import re
import shutil
import signal
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "torchscript")]

LONGEST = 20
MOST_NUMBERS = 20_000_000
# Modules with more are not called.
MOST_CALLED = 4_000_000
# Parameters of constructors by what their names say; the first pattern that fits holds.
VALUES = [
    (r"^(p|prob|dropout|drop_rate|rate|alpha|beta|gamma|eps|sigma|margin|scale|factor|temperature|threshold)$", "0.5"),
    (r"kernel|window", "3"),
    (r"stride|dilation|depth|num_layers|n_layers|num_heads|heads|groups|order|num_blocks", "2"),
    (r"size|resolution|shape", "16"),
    (r"sample_rate|freq", "8000"),
    (r"channel|dim|feature|width|hidden|planes|filters|inp|out|num|length|^n_|^c[12]?$|n$", "8"),
    (r"irreps", "'4x0e + 2x1o'"),
    (r"norm_layer|norm", "nn.Identity"),
    (r"activation|act", "nn.ReLU"),
    (r"bias|flag|use_|is_", "True"),
]
BY_TYPE = {int: "8", float: "0.5", bool: "True", str: "'mean'", "int": "8", "float": "0.5", "bool": "True", "str": "'mean'"}


def modules_of(library):
    """The library's files, those aside that are not importable here."""
    package = importlib.import_module(library)
    names = [library]
    for found in pkgutil.walk_packages(package.__path__, library + ".", onerror=lambda name: None):
        parts = found.name.split(".")
        if any(part.startswith("_") or part in ("tests", "testing", "test", "cli", "contrib", "bundle", "apps", "examples") for part in parts[1:]):
            continue
        names.append(found.name)
    for name in names:
        try:
            yield importlib.import_module(name)
        except BaseException:
            continue


def arguments(cls):
    """What a constructor is called with, or None where that is not plain."""
    try:
        signature = inspect.signature(cls.__init__)
    except (TypeError, ValueError):
        return None
    given = []
    for name, parameter in list(signature.parameters.items())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.default is not parameter.empty:
            continue
        value = BY_TYPE.get(parameter.annotation)
        if value is None or value == "8":
            value = next((text for pattern, text in VALUES if re.search(pattern, name)), value)
        if value is None:
            return None
        given.append(f"{name}={value}")
    return ", ".join(given)


def candidates(library):
    """(kind, file, name, entry) of all that may be scripted."""
    import torch

    seen = set()
    for module in modules_of(library):
        for name, item in sorted(vars(module).items()):
            if getattr(item, "__module__", None) != module.__name__ or id(item) in seen or name.startswith("__"):
                continue
            seen.add(id(item))
            if inspect.isfunction(item) and item.__name__ == name:
                yield "function", module.__name__, name, name
            elif inspect.isclass(item) and issubclass(item, torch.nn.Module) and not inspect.isabstract(item):
                given = arguments(item)
                if given is not None:
                    yield "module", module.__name__, name, f"{name}({given})"


def make(out, library, kind, file, name, entry):
    """One folder, in a process that has the library already."""
    import torch

    # A factory of a whole network is called, not compiled; what takes long is none of our business.
    signal.alarm(LONGEST)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    source = f"from torch import nn\nfrom {file} import {name}\n"
    names = {"nn": torch.nn, name: getattr(sys.modules[file], name)}
    item = eval(entry, names)
    if kind == "module" and sum(each.numel() for each in item.parameters()) > MOST_NUMBERS:
        return
    tensors = [*item.parameters(), *item.buffers()] if kind == "module" else []
    made_with = [tensor.detach().clone() for tensor in tensors]
    in_one_number(tensors)
    state = item.state_dict() if kind == "module" else {}
    scripted = torch.jit.script(item)
    folder = out / library / f"{file}.{name}"
    graph = None
    if kind == "function" or hasattr(scripted, "forward"):
        graph = str(scripted.graph)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        torch.jit.save(scripted, str(folder / "saved.pt"))
        torch.jit.save(torch.jit.load(str(folder / "saved.pt")), str(folder / "resaved.pt"))
    except Exception:
        shutil.rmtree(folder)
        return
    (folder / "source.py").write_text(source)
    if state:
        torch.save(state, folder / "state.pth")
    if graph is not None:
        (folder / "graph.txt").write_text(graph)
    about = {"name": f"{file}.{name}", "library": library, "kind": kind, "entry": entry, "program": "saved.pt", "calls": []}
    (folder / "case.json").write_text(json.dumps(about))
    if graph is None or sum(tensor.numel() for tensor in tensors) > MOST_CALLED:
        return
    if tensors:
        with torch.no_grad():
            for tensor, other in zip(tensors, made_with):
                tensor.set_(other)
        about["program"] = "called.pt"
        torch.jit.save(scripted, str(folder / "called.pt"))
    import calls

    calls.keep(item, names, scripted.forward.schema if kind == "module" else scripted.schema, about, folder)


def in_one_number(tensors):
    """Makes each repeat one number, which a file holds once."""
    import torch

    for tensor in tensors:
        with torch.no_grad():
            tensor.set_(tensor.new_zeros(()).expand(tensor.shape))


def of_library(task):
    out, library, every, only = task
    warnings.filterwarnings("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"
    import torch

    if library == "torchaudio":
        # It asks for the CUDA that it was made with, which nothing here uses.
        torch.version.cuda = None
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    chosen = (candidate for candidate in candidates(library) if re.search(only, f"{candidate[1]}.{candidate[2]}"))
    for candidate in itertools.islice(chosen, 0, None, every):
        child = os.fork()
        if child == 0:
            try:
                make(out, library, *candidate)
            except BaseException:
                os._exit(1)
            os._exit(0)
        os.waitpid(child, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--every", type=int, default=1, help="each N-th function and class")
    parser.add_argument("--only", default="", help="a pattern that names must match")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tasks = [(options.out.resolve(), library, options.every, options.only) for library in options.libraries]
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        pool.map(of_library, tasks, chunksize=1)


if __name__ == "__main__":
    main()
