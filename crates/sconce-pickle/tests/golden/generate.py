"""Writes dis.txt: pickles, and what `python -m pickletools` (Python 3.11) prints for them.

Run it in this folder: `python3.11 generate.py`. Each case is a line `case NAME`, a line `hex BYTES`,
the lines printed (each after `| `, `\\` at the end of one that has no newline), and a line
`end OFFSET` or `error MESSAGE` (as a Python literal).
"""

import collections
import io
import pickle
import pickletools
import warnings


class Plain:
    def __init__(self, x):
        self.x = x


class Slots:
    __slots__ = ("a",)


def objects():
    yield "constants", [None, True, False]
    yield "ints", [0, 255, 256, 65535, 65536, -1, 2**31 - 1, 2**31, -(2**31), 2**63, -(2**63), 2**64]
    yield "long4", 2**2040
    yield "floats", [0.0, -0.0, 1.5, 1e16, 1e-5, 1.7976931348623157e308, 5e-324, float("inf"), float("nan")]
    yield "strs", ["", "a", "it's", '"', "'\"", "é中😀", "\x00\t\n\r\x1b\x7f\xa0\xad\u200b\u2028\U000e0001\\", "\ud800"]
    yield "bytes", [b"", b"a'\"\\\n\x00\xff", bytearray(b"x'")]
    yield "tuples", [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)]
    yield "nested", [[[[]]], {"a": {"b": ({},)}}]
    yield "sets", [{1}, frozenset([2])]
    shared = [1]
    yield "shared", (shared, shared)
    cycle = []
    cycle.append(cycle)
    yield "cycle", cycle
    loop = []
    pair = (loop,)
    loop.append(pair)
    yield "tuple in itself", pair
    plain = Plain(3)
    plain.me = plain
    yield "object", plain
    slots = Slots()
    slots.a = 5
    yield "slots", slots
    yield "ordered dict", collections.OrderedDict(a=1, b=2)
    yield "deque", collections.deque([1])
    yield "names", [len, collections.OrderedDict]
    yield "complex", complex(1, -2)


BROKEN = [
    b"", b".", b"N", b"(", b"K", b"M\x00", b"J\x00\x00", b"G\x00", b"r\x00", b"\x95\x00", b"\xff", b"'", b"\n",
    b"N\xff.", b"NN.", b"(.", b"N(.", b"0.", b"N(0.", b"(0(0N.", b"1.", b"t.", b"Nt.", b"(\x85t.", b"(2t.", b"((2tt.",
    b"(NNt.", b"\x86.", b"N\x87.", b"]Na.", b"Na.", b"](Nea.", b"N(e.", b"(Ne.", b"R.", b"NR.", b"(o.", b"(cm\nn\no.",
    b"(im\nn\n.", b"im\nn\n.", b"h\x05.", b"g5\n.", b"g-1\n.", b"gx\n.", b"j\x05\x00\x00\x00.", b"q\x00.", b"(q\x00.",
    b"Nq\x00q\x00.", b"Np01\np1\n.", b"Np1\nq\x01.", b"Np01\ng1\n0.", b"Np1_0\nh\x0a0.", b"Np-1\ng-1\n0.",
    b"Np99999999999999999999\ng99999999999999999999\n0.", b"N\x94N\x940.", b"Nq\x01\x94.", b"\x94.", b"(\x94.",
    b"I12\n.", b"I00\n.", b"I01\n.", b"I1_0\n.", b"I 7 \n.", b"I0x1\n.", b"I\n.", b"I12", b"I1\x002\n.", b"I007\n.",
    b"L12L\n.", b"L12\n.", b"LL\n.", b"L1LL\n.", b"L" + b"9x" * 120 + b"L\n.",
    b"L" + b"1" * 4301 + b"L\n.", b"\x8b\xe9\x06\x00\x00" + b"\x11" * 1769 + b".", b"\x8b\xff\xff\xff\xff.", b"\x8b\x05\x00\x00\x00a.",
    b"\x8a\x05a.", b"\x8a", b"\x8b\x00\x00",
    b"F1.5\n.", b"F 1_0.5 \n.", b"Finf\n.", b"F1e400\n.", b"F\n.", b"Fx\n.",
    b"S'a'\n.", b'S"a\\x41\\n"\n.', b"Sa\n.", b"S'\n.", b"S'a\"\n.", b"S'a\\x4'\n.", b"S'a\\'\n.", b"S'\xe9'\n.", b"S'\\351'\n.", b"S'a'", b"S\n.",
    b"T\xff\xff\xff\xff.", b"T\x05\x00\x00\x00ab", b"T\x00\x00", b"U\x05ab", b"U\x02\xe9'.", b"U",
    b"B\x05\x00\x00\x00ab", b"C\x05ab", b"\x8e\x05\x00\x00\x00\x00\x00\x00\x00ab", b"\x8e" + b"\xff" * 8 + b".", b"\x96" + b"\xff" * 8 + b".",
    b"X\x05\x00\x00\x00ab", b"\x8c\x05ab", b"\x8d\x05\x00\x00\x00\x00\x00\x00\x00ab", b"\x8d" + b"\xff" * 8 + b".",
    b"\x8c\x01\xff.", b"\x8c\x02\xc3(.", b"\x8c\x03a\xe2\x82.", b"\x8c\x02\xed\xa0.", b"\x8c\x04\xf4\x90\x80\x80.", b"\x8c\x06\xed\xa0\xbd\xed\xb8\x80.",
    b"Va\\u00e9\\U0001f600\xe9\n.", b"V\\u12\n.", b"V\\U00110000\n.", b"V\\ud83d\\ude00\n.", b"Va\\\n.", b"Vab",
    b"cm\nn\n.", b"cm\nn", b"cm", b"c\xe9\nn\n.", b"c\\x41\nn\n.", b"c\\x4\nn", b"Pab\n.", b"P\xe9\n.", b"P\n.", b"NQ.", b"Q.",
    b"\x80\x06N.", b"\x82\x01.", b"\x84\xff\xff\xff\xff.", b"\x97\x98.", b"\x98.", b"\x95\xff\xff\xff\xff\xff\xff\xff\xffN.",
    b"\x8c\x01m\x8c\x01n\x93)\x81}b.", b"cm\nn\n)}\x92.", b"N.N.", b"}(NNu(NNu.", b"(Nd.", b"\x8f(N\x90.", b"(N\x91.",
]


def main():
    warnings.simplefilter("ignore")
    cases = []
    for name, value in objects():
        for protocol in range(2 if name == "slots" else 0, 6):
            cases.append((f"{name}, protocol {protocol}", pickle.dumps(value, protocol)))
    cases += [(f"by hand {place}", data) for place, data in enumerate(BROKEN)]
    with open("dis.txt", "w", encoding="utf-8", newline="\n") as out:
        for name, data in cases:
            text, file = io.StringIO(), io.BytesIO(data)
            try:
                pickletools.dis(file, text)
                last = f"end {file.tell()}"
            except Exception as error:
                last = f"error {ascii(str(error))}"
            out.write(f"case {name}\nhex {data.hex()}\n")
            for line in text.getvalue().splitlines(keepends=True) if text.getvalue() else []:
                out.write("| " + (line if line.endswith("\n") else line + "\\\n"))
            out.write(last + "\n")


main()
