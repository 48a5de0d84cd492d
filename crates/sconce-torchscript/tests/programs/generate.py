"""Writes what PyTorch makes of the code of archives made by hand.

    python generate.py

Each program of `programs.txt` stands after a line `== VERSION` as the class `__torch__.M` of an
archive of that version, without debug records; PyTorch's graph of its `forward` follows as lines that
begin with `#|`. Written with torch 2.15.
"""

import io
import pathlib
import zipfile

import torch

OBJECT = b"\x80\x02c__torch__\nM\n)\x81}b."


def graph(version, code):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        records = {
            "data.pkl": OBJECT,
            "code/__torch__.py": code.encode(),
            "constants.pkl": b"\x80\x02).",
            "version": f"{version}\n".encode(),
        }
        for name, data in records.items():
            archive.writestr(f"model/{name}", data)
    file.seek(0)
    return str(torch.jit.load(file).graph)


def main():
    path = pathlib.Path(__file__).with_name("programs.txt")
    out = []
    for program in path.read_text().split("== ")[1:]:
        version, text = program.split("\n", 1)
        lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#|")]
        code = "".join(lines)
        printed = [f"#| {line}\n" for line in graph(version, code).rstrip("\n").splitlines()]
        out.append(f"== {version}\n{code}{''.join(printed)}")
    path.write_text("".join(out))


if __name__ == "__main__":
    main()
