#!/usr/bin/env python3
"""Makes TorchScript archives of every construct, and says what PyTorch makes of them.

    generate.py OUT [--only PATTERN] [--vision] [--no-cases]

For each program of `cases/`, and with --vision for each model of torchvision that can be scripted, a
folder of OUT holds

    model.pt            torch.jit.save of the scripted or traced program
    resaved.pt          torch.jit.save(torch.jit.load(model.pt))
    moves               where PyTorch itself writes something else when it saves that once more
    graphs/NAME.txt     the graph of each function and method of the loaded program
    inlined/NAME.txt    the same with calls inlined, of those that call
    inputs.pt           the first call's arguments, a tuple (if there is one)
    calls.pt            for each call its arguments, and its result or the message of its error

Weights are random and small where that is possible; nothing of this is committed. What fails is
named at the end, and the exit status says so.
"""
import argparse
import importlib
import io
import pathlib
import re
import sys
import warnings
import zipfile

import torch

import registry
from values import copied, plain

HERE = pathlib.Path(__file__).resolve().parent


def graphs(path):
    """Files for each function and method of a saved program."""
    folder, inlined = (path.parent / name for name in ("graphs", "inlined"))
    folder.mkdir(exist_ok=True)
    inlined.mkdir(exist_ok=True)
    unit = torch._C.CompilationUnit()
    torch._C.import_ir_module(unit, str(path), None, {}, False)
    for function in unit.get_functions():
        name, text = f"{function.qualified_name}.txt", str(function.graph)
        (folder / name).write_text(text)
        # Loading has run __setstate__, after which PyTorch keeps other bodies of what it calls.
        if "prim::Call" in text and function.name != "__setstate__":
            graph = function.graph.copy()
            torch._C._jit_pass_inline(graph)
            (inlined / name).write_text(str(graph))


def call(path, arguments, derived):
    """A call of a program loaded anew: its result, or what went wrong."""
    torch.manual_seed(0)
    with torch.set_grad_enabled(derived):
        try:
            return "result", plain(torch.jit.load(path)(*arguments))
        except Exception as error:  # whatever it is, it is the answer
            return "error", str(error)


def save_calls(calls, folder, derived):
    path = folder / "model.pt"
    if not calls:
        return
    torch.save(tuple(calls[0]), folder / "inputs.pt")
    said = []
    for arguments in calls:
        # Arguments may be changed by the call; what is kept is what was handed in.
        kept = copied(tuple(arguments))
        kind, value = call(path, arguments, derived)
        said.append({"arguments": kept, kind: value, "compare": "numbers" if derived else "values"})
    torch.save(said, folder / "calls.pt")


def moves(path):
    """Whether PyTorch itself writes other code, or other places of it, when it saves once more."""
    again = io.BytesIO()
    torch.jit.save(torch.jit.load(str(path)), again)
    return code(path) != code(again)


def code(file):
    with zipfile.ZipFile(file) as archive:
        names = filter(lambda name: name.endswith((".py", ".debug_pkl")), archive.namelist())
        return {name.split("/", 1)[1]: archive.read(name) for name in names}


def generate(name, program, calls, out, derived=False):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.pt"
    torch.jit.save(program, str(path))
    torch.jit.save(torch.jit.load(str(path)), str(folder / "resaved.pt"))
    graphs(path)
    if moves(folder / "resaved.pt"):
        (folder / "moves").touch()
    save_calls(calls, folder, derived)


def load_cases():
    for path in sorted((HERE / "cases").glob("*.py")):
        if path.stem != "__init__":
            importlib.import_module(f"cases.{path.stem}")
    return registry.CASES


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--vision", action="store_true")
    arguments.add_argument("--no-cases", action="store_true")
    arguments = arguments.parse_args()
    warnings.filterwarnings("ignore")
    programs = [] if arguments.no_cases else [
        (name, case.build, case.calls, case.derived) for name, case in load_cases().items()]
    if arguments.vision:
        import vision

        programs.extend((*program, False) for program in vision.programs())
    failed, done = [], 0
    for name, build, calls, derived in programs:
        if not re.search(arguments.only, name):
            continue
        try:
            generate(name, build(), calls, arguments.out, derived)
            done += 1
        except Exception as error:  # the others are made all the same
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"{done} made, {len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
