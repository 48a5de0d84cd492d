"""Writes constants.tsv: how PyTorch prints numbers and strings in graphs, for tests/constants.rs.

    python make_constants.py > constants.tsv

    float    BITS       TEXT
    complex  BITS,BITS  TEXT
    str      UTF-8      TEXT    (bytes in hex)
"""

import random
import struct

import torch

C = torch._C


def printed(value):
    graph = C.Graph()
    graph.registerOutput(graph.insertConstant(value))
    line = str(graph).split("\n")[1]
    return line[line.index("[value=") + 7 : line.rindex("]()")]


def bits(value):
    return struct.pack(">d", value).hex()


chosen = random.Random(15)
floats = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 1e-4, 1e-5, 0.00012345, 9999999999.0, 1e10, -1e10, 1e15,
          1e16, 1e17, 1e18, 123456789012345678.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
          float("inf"), float("-inf"), float("nan"), -float("nan"), 1e-7, 1e20, 0.5, 1e100, 10000000000.5,
          9999999999.5, 2.5e9, 4294967296.0]
for _ in range(150):
    floats.append(struct.unpack(">d", chosen.randbytes(8))[0])
for _ in range(150):
    floats.append(round(chosen.uniform(-1, 1) * 10 ** chosen.randint(-6, 18), chosen.randint(0, 6)))
for value in floats:
    print("float", bits(value), printed(value), sep="\t")
parts = [0.0, -0.0, 1.0, -2.5, 1e10, 1e18, -1e19, float("inf"), float("nan"), -float("nan")]
for real in parts:
    for imaginary in parts:
        print("complex", bits(real) + "," + bits(imaginary), printed(complex(real, imaginary)), sep="\t")
strings = ["", "it's \"quoted\" \\", "é", "日本", "😀", "a\u0080b"] + [chr(c) for c in range(1, 128)]
for text in strings:
    print("str", text.encode().hex(), printed(text), sep="\t")
