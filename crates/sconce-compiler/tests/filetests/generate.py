"""Writes what PyTorch makes of each program in the file tests.

    python generate.py [FILE...]

A file holds programs, each after a line `# test: graph` or `# test: error`; what comes out follows as
lines that begin with `#|`. Programs are compiled by `torch.jit.CompilationUnit`, so a graph's text
has PyTorch's own numbers and names. Written with torch 2.15.
"""

import pathlib
import sys

import torch


def graphs(source):
    unit = torch.jit.CompilationUnit(source)
    functions = unit._c.get_functions() if hasattr(unit, "_c") else unit.get_functions()
    return "".join(str(function.graph) for function in functions)


def outcome(kind, source):
    try:
        text = graphs(source)
    except RuntimeError as error:
        if kind != "error":
            raise SystemExit(f"{error}\n{source}")
        return str(error).strip("\n")
    if kind == "error":
        raise SystemExit(f"compiles: {source}")
    return text.rstrip("\n")


def cases(text):
    kind, lines = None, []
    for line in text.splitlines(keepends=True):
        if line.startswith("# test: "):
            yield kind, "".join(lines)
            kind, lines = line.split()[2], []
        elif not line.startswith("#|"):
            lines.append(line)
    yield kind, "".join(lines)


def main():
    here = pathlib.Path(__file__).parent
    paths = map(pathlib.Path, sys.argv[1:]) if len(sys.argv) > 1 else sorted(here.glob("*.py"))
    for path in paths:
        if path.name == "generate.py":
            continue
        out = []
        for kind, source in cases(path.read_text()):
            if kind is None:
                out.append(source)
                continue
            out.append(f"# test: {kind}\n{source}")
            for line in outcome(kind, source).splitlines():
                out.append(f"#| {line}".rstrip() + "\n")
        path.write_text("".join(out))


main()
