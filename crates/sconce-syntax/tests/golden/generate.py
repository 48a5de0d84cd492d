#!/usr/bin/env python3
"""Writes what PyTorch's own parser says into ../filetests/*.py.

    generate.py [--oracle PATH]

Needs torch and a C++20 compiler: oracle.cpp is compiled against libtorch (to PATH). Cases whose header
begins with `sconce` are left alone: there sconce differs on purpose (see `bless` in ../filetests.rs).
"""
import argparse
import pathlib
import subprocess
import tempfile

from compare import Parser

HERE = pathlib.Path(__file__).resolve().parent
HEADER, EXPECTED = "# test: ", "#| "


def compile_oracle(path):
    import torch

    root = pathlib.Path(torch.__file__).parent
    subprocess.run(
        ["g++", "-std=c++20", "-O1", HERE / "oracle.cpp", "-o", path, f"-I{root}/include",
         f"-I{root}/include/torch/csrc/api/include", f"-L{root}/lib", "-ltorch", "-ltorch_cpu", "-lc10",
         f"-Wl,-rpath,{root}/lib"],
        check=True,
    )


def expected(oracle, what, mode, text):
    verdict, said = oracle.ask(mode, text)
    if (verdict == "ok") != (what != "error"):
        raise SystemExit(f"{what} {mode}\n{text}\n{verdict}: {said}")
    if what == "error":
        return said.removeprefix("\n")
    trees, places = said.rsplit("--\n", 1)
    return trees if what == "tree" else places


def regenerate(path, oracle):
    """Rewrites the expectations of a file, each after the case it belongs to."""
    parts = path.read_text().split(HEADER)
    out = [parts[0]]
    for part in parts[1:]:
        header, rest = part.split("\n", 1)
        lines = [line for line in rest.split("\n") if not line.startswith(EXPECTED.rstrip())]
        body = "\n".join(lines).strip("\n") + "\n"
        words = header.split()
        if words[0] == "sconce":
            out.append(part)
            continue
        # An expression has no line end; everything else does.
        text = body.rstrip("\n") if words[1] == "exp" else body
        said = expected(oracle, *words, text).rstrip("\n").split("\n")
        said = [(EXPECTED + line).rstrip() for line in said]
        out.append("\n".join([header, body.rstrip("\n"), *said, "", ""]))
    path.write_text(HEADER.join(out).rstrip("\n") + "\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--oracle", type=pathlib.Path)
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.oracle or pathlib.Path(folder) / "oracle"
        if not path.exists():
            compile_oracle(path)
        oracle = Parser(path)
        for file in sorted(HERE.parent.glob("filetests/*.py")):
            regenerate(file, oracle)


if __name__ == "__main__":
    main()
