"""Writes encode.txt: pickles that CPython's C pickler (3.11) made of varied objects, at all protocols.

Run it in this folder: `python3.11 encode.py`. A line `object NAME` begins an object, and a line
`PROTOCOL HEX` is its pickle. After `same NAME` instead, the pickle of protocol 5 says all of the
others: what it reads as, written at each protocol, is the bytes there (objects of classes are no such:
at protocols 0 and 1 they are made in other ways). In HEX, `(XX*N)` stands for N times the byte XX.
"""

import _pickle
import collections
import copyreg
import decimal
import fractions
import functools
import io
import itertools
import re


class Plain:
    def __init__(self, **state):
        self.__dict__.update(state)


class Outer:
    class Inner:
        class Core:
            pass

    class X:
        pass


class Slots:
    __slots__ = ("a",)


class Keywords:
    def __new__(cls, *, name):
        return super().__new__(cls)

    def __getnewargs_ex__(self):
        return (), {"name": 1}


class MyList(list):
    pass


class MyDict(dict):
    pass


class MyInt(int):
    pass


class Stored:
    def __init__(self, pid):
        self.pid = pid


class Node:
    """Hashable, and made by a call whose arguments hold what holds it."""

    def __init__(self, children=()):
        self.children = children

    def __reduce__(self):
        return Node, (self.children,)


class Reduced:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return tuple(make() if callable(make) and place > 2 else make for place, make in enumerate(self.reduced))


class Pickler(_pickle.Pickler):
    def persistent_id(self, obj):
        return obj.pid if isinstance(obj, Stored) else None


def same():
    """Name and object, where the pickle of protocol 5 says all."""
    yield "none", None
    yield "true", True
    yield "ints", [0, 1, 255, 256, 65535, 65536, -1, -128, -129, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1]
    yield "longs", [s * 2**k + d for k in (39, 40, 62, 63, 64, 71, 72, 2038, 2039, 2040, 2047) for s in (1, -1) for d in (-1, 0, 1)]
    yield "floats", [0.0, -0.0, 1.5, 1e16, 1e-5, 1.7976931348623157e308, 5e-324, float("inf"), float("-inf"), float("nan")]
    yield "strs", ["", "a", "abc", "'\"", "é中😀", "\x00\t\n\r\x1a\x1b\x7f\xa0\xad\u200b\\\\u0041", "\ud800", "x\udfffy", "s" * 255, "s" * 256]
    shared = "shared"
    yield "shared str", [shared, "".join(["sha", "red"]), shared, {shared: shared}]
    yield "bytes", [b"", b"b", b"ab", bytes(range(256)), b"b", b"x" * 255, b"x" * 256, b""]
    yield "bytes and chars", [b"b", b"q", b"b", b"\xe9", b"\xe9", b"ab"]
    data = b"data"
    yield "shared bytes", [data, data, bytearray(data), (data,)]
    yield "bytearrays", [bytearray(), bytearray(b"b"), bytearray(b"bb"), b"b", bytearray(b"b")]
    yield "names and bytes", [bytes, bytearray, set, frozenset, b"ab", bytearray(b"cd"), {1}, frozenset([2])]
    yield "bytes and names", [b"ab", bytearray(b"cd"), {1}, frozenset([2]), b"", bytes, bytearray, set, frozenset]
    yield "tuples", [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((), ((),)), (None,) * 1001]
    for count in (0, 1, 2, 999, 1000, 1001, 1002, 2000, 2001, 3000):
        yield f"list of {count}", [None] * count
        yield f"deque of {count}", collections.deque([None] * count)
    for count in (0, 1, 2):
        yield f"dict of {count}", dict.fromkeys(range(count))
        yield f"set of {count}", set(range(count))
        yield f"frozenset of {count}", frozenset(range(count))
        yield f"ordered dict of {count}", collections.OrderedDict.fromkeys(range(count))
    for count in (1000, 1001, 2000):
        yield f"many dict {count}", dict.fromkeys(range(count))
        yield f"many set {count}", set(range(count))
    pair = (1, [])
    yield "shared tuple", [pair, pair, {"a": pair}, pair[1]]
    yield "nested", [[[[]]], {"a": {"b": ({},), "c": [{}]}}]
    for size in (1, 2, 3, 4):
        loop = []
        knot = (loop,) * size
        loop.append(knot)
        yield f"tuple of {size} in itself", knot
        yield f"list in a tuple of {size} in itself", loop
    knots = [[] for _ in range(5)]
    knot = tuple(knots)
    for one in knots:
        one.append(knot)
    yield "tuple that is entered five times", knot
    cycle = {}
    cycle["me"] = [cycle, (cycle,)]
    yield "dict in itself", cycle
    yield "names", [len, collections.OrderedDict, collections.UserDict, range, functools.reduce, OSError, BrokenPipeError, ConnectionError, io.BytesIO, copyreg._reconstructor, itertools.chain, len]
    yield "chained names", [collections.deque, collections.OrderedDict, collections.Counter, OSError, set]
    yield "nested classes", [Outer.Inner.Core, Outer.Inner, Outer, Outer.Inner.Core, Outer.X]
    yield "nested class", Outer.Inner.Core
    yield "complex", [complex(1, -2), complex(1, -2)]
    yield "ranges", [range(3), slice(1, None, 2)]
    yield "fractions", [fractions.Fraction(1, 3), decimal.Decimal("1.5")]
    yield "default dict", collections.defaultdict(list, {"a": [1]})
    yield "counter", collections.Counter("aab")
    ordered = collections.OrderedDict([("weight", 1.5), ("bias", None)])
    ordered._metadata = collections.OrderedDict([("", {"version": 1})])
    yield "state dict", ordered
    yield "patterns", re.compile("a+")
    node = Node([])
    node.children.append(node)
    yield "call in its own arguments", [node, node]
    for kind in (set, frozenset):
        inner = []
        one = Node(inner)
        whole = kind([one])
        inner.append(whole)
        yield f"{kind.__name__} in itself", whole
        yield f"list in a {kind.__name__} in itself", inner
    for count in (1, 2, 1000, 1001, 2000):
        yield f"all of {count}", Reduced(Plain, (), {"a": count}, functools.partial(iter, [None] * count), functools.partial(iter, [(None, None)] * count))
    plain = Plain()
    yield "reduced newobj", Reduced(copyreg.__newobj__, (Plain, 1, "a"), [plain.__class__])


def various():
    """Name and object, whose pickles differ from protocol to protocol in what they say."""
    plain = Plain(x=1)
    plain.me = plain
    plain.other = Plain()
    yield "objects", [plain, Plain(), plain]
    yield "lists of a class", [MyList([1, 2]), MyList([1]), MyList([None] * 1001), MyDict(a=1), MyDict(a=1, b=2), MyInt(5)]
    yield "slots", [Slots(), Slots()]
    yield "keywords", Keywords(name=1)
    yield "enum", re.RegexFlag.A
    one = "one"
    yield "stored", [Stored(("storage", collections.deque, "0", "cpu", 5)), Stored(("storage", collections.deque, "0", "cpu", 5)), Stored(7), Stored(one), Stored(one), one]
    yield "file", io.BytesIO(b"abc")


def framed():
    for count in (0, 1, 2, 3, 65530, 65534, 65535, 65536, 65537):
        yield f"frame str {count}", ["s" * count, "t"]
        yield f"frame bytes {count}", [b"s" * count, 1]
        yield f"frame bytearray {count}", [bytearray(count), None]
        yield f"frame alone {count}", "s" * count
    for count in (*range(65494, 65500), *range(65516, 65522), *range(65530, 65536)):
        yield f"frame end {count}", ["s" * count, {1: (2, 3)}, "after", "s" * 70000, "b" * 30, [b"c" * 40000] * 2, bytes(40000), bytes, bytes(30000), bytearray(b"ab"), 5]
        yield f"frame names {count}", [b"s" * (count - 30), bytes, collections.OrderedDict(), bytearray(b"a"), (1, 2)]


def pickles(value, protocols):
    for protocol in protocols:
        file = io.BytesIO()
        try:
            Pickler(file, protocol).dump(value)
        except (TypeError, _pickle.PicklingError):
            continue
        yield protocol, file.getvalue()


def short_hex(data):
    out = []
    for byte, run in itertools.groupby(data):
        count = len(list(run))
        out.append(f"({byte:02x}*{count})" if count > 6 else f"{byte:02x}" * count)
    return "".join(out)


def main():
    with open("encode.txt", "w", encoding="ascii", newline="\n") as out:
        for word, objects in (("same", same()), ("object", various()), ("same", framed())):
            for name, value in objects:
                wanted = {"frame": (4, 5), "many": (2, 5)}.get(name.split()[0], range(6))
                out.write(f"{word} {name}\n")
                for protocol, data in pickles(value, wanted):
                    out.write(f"{protocol} {short_hex(data)}\n")


main()
