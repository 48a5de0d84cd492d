"""The objects that save.py saves: everything that a checkpoint is known to hold, by group.

    python3 conformance/save_objects.py FOLDER

writes each of them to `FOLDER/NUMBER-made/out.pt`, what torch saves after loading that to
`FOLDER/NUMBER-again/out.pt`, and a list of the groups, names and problems to `list.json`. Works under torch 1.13,
where what it does not have is left out.
"""

import argparse
import array
import collections
import copy
import copyreg
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import json
import operator
import os
import pathlib
import random
import sys
import threading
import types
import uuid
import warnings

# --- classes that stand for somebody's own code -------------------------------------

Point = collections.namedtuple("Point", ["x", "y"])


class Colour(enum.Enum):
    RED = 1
    BLUE = "blue"


class Flags(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2**40


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    layers: list = dataclasses.field(default_factory=lambda: [1, 2])


@dataclasses.dataclass(frozen=True)
class Frozen:
    name: str


class Outer:
    class Inner:
        class Innermost:
            """A class whose name needs getattr before protocol 4."""

    def method(self):
        return self


class Slotted:
    __slots__ = ("left", "right")


class Keywords:
    """Made by `__new__` with keyword arguments: NEWOBJ_EX."""

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self.args, self.kwargs = args, kwargs
        return self

    def __getnewargs_ex__(self):
        return self.args, self.kwargs

    def __getstate__(self):
        return None


class KeywordsAndState(Keywords):
    def __getstate__(self):
        return {"extra": len(self.args)}


class Stateful:
    """Its state is whatever it was given."""

    value = None

    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        return self.value

    def __setstate__(self, state):
        self.value = state


class Reduced:
    """Pickled as the tuple that it was given."""

    def __init__(self, *parts):
        self.parts = parts

    def __reduce_ex__(self, protocol):
        return self.parts


class DictOf(dict):
    """A dict subclass, with attributes."""


class ListOf(list):
    """A list subclass, with attributes."""


class SetOf(set):
    """A set subclass: made by a call with a list."""


class StrOf(str):
    """A str subclass."""


class IntOf(int):
    """An int subclass."""


class FloatOf(float):
    """A float subclass."""


class BytesOf(bytes):
    """A bytes subclass."""


class TupleOf(tuple):
    """A tuple subclass."""


class Singleton:
    """Pickled as the name of a global."""

    def __reduce__(self):
        return "SINGLETON"


SINGLETON = Singleton()


def a_function(value=None):
    return value


# --- the groups ------------------------------------------------------------------------


def storages():
    import torch

    yield "none", None
    for count in (1, 2, 9, 10, 11, 99, 100, 101, 130):
        yield f"storages-{count}", {f"w{i}": torch.full((i % 7 + 1,), float(i)) for i in range(count)}
    yield "empty", [torch.empty(0), torch.empty(0, 3, dtype=torch.int64), torch.empty(2, 0)]
    yield "empties-20", [torch.empty(0) for _ in range(20)]
    yield "empty-between", {f"w{i}": torch.ones(i % 3) for i in range(12)}
    empty = torch.empty(0)
    yield "empty-shared", [empty, empty, empty.view(0, 3), empty[0:]]
    base = torch.arange(24.0)
    yield "shared", {"a": base, "b": base, "list": [base] * 2}
    yield "large", {"a": torch.arange(100_000), "text": "x" * 70_000, "b": torch.arange(70_001, dtype=torch.uint8)}
    yield "storage", [base.storage() if not hasattr(base, "untyped_storage") else base.untyped_storage(), torch.arange(3).storage()]
    if hasattr(base, "untyped_storage"):
        untyped = base.untyped_storage()
        yield "storage-untyped", untyped
        yield "storage-untyped-twice", {"a": untyped, "b": untyped, "empty": torch.UntypedStorage(0)}
        yield "storage-and-tensor", [torch.arange(5, dtype=torch.uint8).untyped_storage(), base]
    yield "storage-typed", [torch.ones(3).storage(), torch.ones(2, dtype=torch.bool).storage(), torch.FloatStorage(2).fill_(1)]
    typed = base.storage()
    yield "storage-typed-and-tensor", {"storage": typed, "tensor": base, "again": base.storage()}
    yield "order", {"b": [torch.ones(2), {"c": torch.zeros(1)}], "a": (torch.ones(3), torch.ones(4))}


def views():
    import torch

    base = torch.arange(24.0)
    yield "scalar", {"a": torch.tensor(1.5), "b": torch.tensor(7), "c": torch.tensor(True)}
    yield "views", [base, base[3:], base.view(4, 6).t(), base.view(2, 3, 4)[:, ::2, 1:], base[5]]
    yield "views-reversed", [base[20:], base.view(4, 6).t(), base]
    yield "expanded", torch.ones(1, 3).expand(5, 3)
    yield "expanded-scalar", torch.tensor(2.0).expand(2, 3, 4)
    yield "gapped", torch.arange(1000)[::10]
    yield "strided", torch.arange(30.0).as_strided((3, 2), (1, 7), 4)
    yield "overlapping", torch.arange(10).as_strided((4, 4), (1, 1))
    yield "empty-view", [base[24:], base[5:5], base.view(4, 6)[:, 6:]]
    yield "channels-last", torch.arange(48.0).view(1, 3, 4, 4).to(memory_format=torch.channels_last)
    yield "channels-last-3d", torch.arange(48.0).view(1, 3, 2, 4, 2).to(memory_format=torch.channels_last_3d)
    yield "many-dims", torch.arange(2.0).view([1] * 20 + [2] + [1] * 4)
    yield "as-type", [torch.arange(8.0).view(torch.float32), torch.view_as_real(torch.ones(2, dtype=torch.complex64))]
    yield "slices-of-one", {f"row{i}": row for i, row in enumerate(torch.arange(60.0).view(20, 3))}


def dtypes_():
    import torch

    plain = dtypes()
    yield "dtypes", {str(dtype): torch.arange(5).to(dtype) for dtype in plain}
    for dtype in plain:
        yield f"dtype-{str(dtype)[6:]}", torch.arange(3).to(dtype)
    # PyTorch 2.15 does not save int1 to int7 and uint1 to uint7: KeyError.
    shells = ("float8_e8m0fnu float4_e2m1fn_x2 bits1x8 bits2x4 bits4x2 bits8 bits16 bcomplex32")
    for name in shells.split():
        dtype = getattr(torch, name, None)
        made = empty_of(dtype) if dtype is not None else None
        if made is not None:
            yield f"shell-{name}", {"t": made, "view": made[1:], "dtype": dtype}
    every = sorted((getattr(torch, name) for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)), key=str)
    yield "dtype-objects", dict.fromkeys(every, 1)
    yield "dtype-object", torch.float32
    yield "dtype-object-twice", [torch.float32, torch.float32, torch.bfloat16]
    yield "empty-dtypes", [torch.empty(0, dtype=dtype) for dtype in plain]
    yield "scalar-dtypes", [torch.ones((), dtype=dtype) for dtype in plain]


def dtypes():
    import torch

    names = ("float64 float32 float16 bfloat16 complex128 complex64 complex32 int64 int32 int16 int8 uint8 bool "
             "uint16 uint32 uint64 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz")
    return [getattr(torch, name) for name in names.split() if hasattr(torch, name)]


def empty_of(dtype):
    """Three elements of a dtype without conversions: bytes under another name."""
    import torch

    try:
        out = torch.empty(3, dtype=dtype)
        storage = out.untyped_storage() if hasattr(out, "untyped_storage") else out.storage()._storage
        for i in range(storage.nbytes()):
            storage[i] = i + 1
        return out
    except (RuntimeError, TypeError, NotImplementedError):
        return None


def tensors():
    import torch

    ones = torch.ones(2, dtype=torch.complex64)
    # Real and imaginary parts view the data as another type.
    yield "flags", [torch.ones(2, requires_grad=True), ones.conj(), torch.ones(2, dtype=torch.complex64).conj().imag]
    yield "neg-and-conj", {"neg": torch._neg_view(torch.ones(2)), "both": torch._neg_view(ones.conj()), "twice": ones.conj().conj()}
    yield "parameter", torch.nn.Parameter(torch.ones(3))
    yield "parameter-frozen", torch.nn.Parameter(torch.arange(3), requires_grad=False)
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.sharded, parameter.group = True, {"name": "decay"}
    yield "parameter-attributes", {"a": parameter, "b": parameter}
    tied = torch.nn.Parameter(torch.ones(2))
    yield "parameters-over-one-storage", [tied, torch.nn.Parameter(tied.data), tied.data]
    yield "buffer", getattr(torch.nn, "Buffer", torch.Tensor)(torch.ones(2))
    tagged = torch.ones(2)
    tagged.name_of_layer, tagged.parts = "fc", [tagged, torch.zeros(1)]
    yield "attributes", [tagged, tagged]
    itself = torch.ones(1)
    itself.me = {"loop": [itself]}
    yield "attribute-itself", {"t": itself}
    hooked = torch.ones(2, requires_grad=True)
    hooked.register_hook(a_function)
    yield "hooks", hooked
    import fixture_classes

    marked = torch.ones(3).as_subclass(fixture_classes.Marked)
    yield "subclass", marked
    noted = torch.ones(3).as_subclass(fixture_classes.Marked)
    noted.note, noted.other = "kept", torch.zeros(2)
    yield "subclass-attributes", {"a": noted, "b": noted[1:], "same": noted}
    yield "subclass-parameter", torch.nn.Parameter(torch.ones(3).as_subclass(fixture_classes.Marked))
    yield "meta", [torch.empty(2, 3, device="meta"), torch.empty((), dtype=torch.int8, device="meta")]
    yield "meta-parameter", torch.nn.Parameter(torch.empty(2, device="meta"))
    yield "meta-strided", torch.empty(4, 6, device="meta").t()[1:]
    leaf = torch.ones(2, requires_grad=True)
    yield "grad", {"leaf": leaf, "detached": leaf.detach(), "long": torch.arange(2)}
    yield "size", [torch.Size([]), torch.Size([1, 2, 2**40]), torch.ones(2, 3).shape]
    yield "device", [torch.device("cpu"), torch.device("cuda"), torch.device("cuda", 3), torch.device("meta")]
    yield "layout", [torch.strided, torch.sparse_coo, torch.sparse_csr, torch.strided]
    yield "schemes", [torch.per_tensor_affine, torch.per_channel_affine, torch.per_channel_affine_float_qparams]
    yield "finfo", {"inf": torch.tensor(float("inf")), "nan": torch.tensor(float("nan"))}
    yield "generator", {"state": torch.Generator().manual_seed(3).get_state(), "global": torch.get_rng_state()}
    yield "keys", {torch.float32: 1, torch.Size([1]): 2, torch.device("cpu"): 3, torch.ones(1): 4}


def layouts():
    import torch

    eye = torch.eye(4)
    yield "sparse", [torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()]
    yield "sparse-coo", eye.to_sparse()
    indices = torch.tensor([[0, 0, 1], [2, 2, 0]])
    yield "sparse-uncoalesced", torch.sparse_coo_tensor(indices, torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    yield "sparse-hybrid", torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (4, 3)).coalesce()
    yield "sparse-empty", [torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.int64), torch.empty(0), (2, 3)),
                           torch.sparse_coo_tensor(size=(3, 2))]
    yield "sparse-shared", [eye.to_sparse()] * 2
    yield "sparse-grad", torch.eye(2).to_sparse().requires_grad_()
    yield "sparse-parameter", torch.nn.Parameter(torch.eye(2).to_sparse())
    for name in ("csr", "csc", "bsr", "bsc"):
        convert = getattr(eye, f"to_sparse_{name}", None)
        if convert is not None:
            yield f"sparse-{name}", {"t": convert() if name in ("csr", "csc") else convert((2, 2))}
    if hasattr(eye, "to_sparse_bsr"):
        yield "sparse-batched", torch.stack([eye, eye]).to_sparse_csr()
        yield "sparse-int32", torch.sparse_csr_tensor(torch.tensor([0, 1, 2], dtype=torch.int32),
                                                      torch.tensor([0, 1], dtype=torch.int32), torch.ones(2))
    yield "quantized", torch.quantize_per_tensor(torch.arange(4.0), 0.5, 2, torch.quint8)
    for dtype in (torch.qint8, torch.quint8, torch.qint32):
        yield f"quantized-{str(dtype)[6:]}", [torch.quantize_per_tensor(torch.arange(6.0).view(2, 3), 0.25, 1, dtype)] * 2
    scales, points = torch.tensor([0.5, 0.25]), torch.tensor([0, 1])
    for dtype in (torch.qint8, torch.quint8):
        yield f"quantized-per-channel-{str(dtype)[6:]}", torch.quantize_per_channel(torch.arange(6.0).view(2, 3), scales, points, 0, dtype)
    yield "quantized-axis", torch.quantize_per_channel(torch.arange(6.0).view(3, 2), scales, points, 1, torch.qint8)
    yield "quantized-view", torch.quantize_per_tensor(torch.arange(6.0).view(2, 3), 0.5, 2, torch.qint8).t()[1:]
    for dtype in (torch.quint4x2, torch.quint2x4):
        try:
            yield f"quantized-{str(dtype)[6:]}", torch.quantize_per_channel(
                torch.arange(8.0).view(2, 4), scales, torch.tensor([0.0, 0.0]), 0, dtype)
        except RuntimeError:
            pass
    if hasattr(torch, "jagged"):
        yield "nested", torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)])
        yield "nested-matrices", torch.nested.nested_tensor([torch.ones(2, 2), torch.zeros(1, 4)])
        yield "jagged", torch.nested.nested_tensor([torch.ones(2, 2), torch.zeros(3, 2)], layout=torch.jagged)


def numbers():
    yield "ints", [0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)]
    yield "big-ints", [2**63, -(2**63) - 1, 2**64, 10**40, -(10**40), 2**2039 - 1, 2**2040, -(2**2039), 1 << 5000]
    big = 2**200
    yield "big-int-twice", [big, big, {big: big}]
    yield "floats", [0.1, -0.0, 0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1e308, True, False]
    yield "complex", [1 + 2j, -0.0j, complex(float("nan"), float("inf")), 1 + 2j]
    yield "constants", [None, True, False, ..., NotImplemented, ..., NotImplemented]
    yield "decimals", [decimal.Decimal("1.10"), decimal.Decimal("NaN"), fractions.Fraction(1, 3)]
    yield "kinds-of-numbers", [IntOf(3), IntOf(2**70), FloatOf(1.5), Level.LOW, Level.HIGH]


def texts():
    yield "texts", ["", "a", "é", "plain", "été", "日本", "😀", "nul\0", "line\nbreak", "\x1a", "x" * 255, "x" * 256, "x" * 70_000]
    yield "texts-twice", ["a", "a", "é", "é", "日", "日", "", "", "ab", "ab"]
    long = "".join(["long ", "text"]) * 20_000
    yield "text-long-twice", {"a": long, "b": [long]}
    yield "surrogates", ["\ud800", "a\udfff", "\ud83d\ude00", "\udcff" * 2]
    yield "surrogate-keys", {"\ud800": 1, "x\udc80": "\ud800"}
    yield "bytes", [b"", b"a", b"\xff", b"\0\xff", b"x" * 255, b"x" * 256, bytes(range(256)), b"y" * 70_000]
    shared = b"shared bytes"
    yield "bytes-twice", [shared, shared, {shared: shared}, b"", b"", b"a", b"a"]
    yield "bytearray", [bytearray(), bytearray(b"a"), bytearray(b"\0\xff\x80"), bytearray(70_000)]
    held = bytearray(b"held")
    yield "bytearray-twice", {"a": held, "b": held}
    yield "kinds-of-texts", [StrOf("s"), BytesOf(b"b"), StrOf(""), StrOf("日")]
    yield "array", array.array("i", [1, 2, 3])


def containers():
    import torch

    shared = [1, 2]
    yield "kinds", {"none": None, 1: [1, 2**40, -(2**70)], 2.5: (True, False), "t": (), "b": b"\0\xff", "z": 1 + 2j,
                    "set": {1}, "size": torch.Size([1, 2]), "dtype": torch.float16, "device": torch.device("cpu")}
    yield "tuples", [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), tuple(range(1000)), ((), ((),))]
    yield "aliases", {"a": shared, "b": shared, "t": (shared, shared)}
    pair = (1, "two")
    yield "tuple-twice", [pair, pair, {pair: pair}]
    for count in (0, 1, 999, 1000, 1001, 2000, 2001):
        yield f"list-{count}", list(range(count))
        yield f"dict-{count}", dict.fromkeys(range(count))
        yield f"set-{count}", set(range(count))
        yield f"ordered-{count}", collections.OrderedDict.fromkeys(range(count))
        yield f"deque-{count}", collections.deque(range(count))
    yield "sets", [set(), {1}, {"a"}, frozenset(), frozenset({1}), {frozenset({2}), (3,)}]
    frozen = frozenset({"f"})
    yield "frozenset-twice", [frozen, frozen, {frozen}]
    ordered = collections.OrderedDict(z=1, a=2)
    ordered.label = "an attribute"
    yield "ordered", [ordered, collections.OrderedDict(), ordered]
    state = collections.OrderedDict(w=torch.ones(1))
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    yield "state-dict", state
    yield "counter", [collections.Counter("abca"), collections.Counter()]
    default = collections.defaultdict(list, k=[1])
    yield "defaultdict", [default, collections.defaultdict(), collections.defaultdict(int), collections.defaultdict(dict, a={})]
    yield "deque", [collections.deque(), collections.deque([1, 2], maxlen=4), collections.deque(maxlen=0)]
    yield "chain", collections.ChainMap({"a": 1}, {"b": 2})
    yield "userdict", [collections.UserDict(a=1), collections.UserList([1]), collections.UserString("s")]
    yield "namedtuple", [Point(1, 2), Point(torch.ones(1), "y"), torch.max(torch.ones(2, 2), 0)]
    yield "kinds-of-containers", [DictOf(a=1), ListOf([1, 2]), SetOf({1}), TupleOf((1, 2)), TupleOf(), DictOf(), ListOf(), SetOf()]
    subclass, items = DictOf(a=1, b=2), ListOf(range(1001))
    subclass.note, items.note = "kept", "kept"
    yield "containers-with-attributes", [subclass, items]
    yield "deep", functools.reduce(lambda inner, _: [inner], range(150), 1)
    yield "deep-dicts", functools.reduce(lambda inner, i: {f"k{i}": (inner,)}, range(100), None)
    yield "keys", {1: 1, (1, "t"): 2, None: 3, 2.5: 4, b"b": 5, frozenset([7]): 6, -3: 7, "": 8, True: 9, 2**70: 10, 1j: 11}


def cycles():
    looped = [1]
    looped.append(looped)
    yield "list", looped
    table = {"k": 1}
    table["me"] = table
    yield "dict", table
    pair = ([],)
    pair[0].append(pair)
    yield "tuple", pair
    yield "tuple-inside", pair[0]
    five = ([], 1, 2, 3, 4)
    five[0].append(five)
    yield "tuple-long", [five, five]
    nested = (([],),)
    nested[0][0].append(nested)
    yield "tuple-nested", nested
    holder = Stateful(None)
    holder.value = {"frozen": frozenset({holder})}
    yield "frozenset", [holder, holder.value["frozen"]]
    first = Stateful(None)
    first.value = ({first},)
    yield "set", first
    keyed = Stateful(None)
    keyed.value = {keyed: (keyed,)}
    yield "key", keyed
    node = types.SimpleNamespace(weight=1)
    node.me = node
    yield "namespace", node
    ordered = collections.OrderedDict()
    ordered["me"] = [ordered]
    ordered.also = ordered
    yield "ordered", ordered
    default = collections.defaultdict(list)
    default["me"].append(default)
    yield "defaultdict", default
    queue = collections.deque()
    queue.append(queue)
    yield "deque", queue
    one, two = DictOf(), ListOf()
    one["two"], one.two = two, two
    two.append(one)
    two.one = one
    yield "subclasses", one
    a, b = [], []
    a += [b, (a, b)]
    b += [a, (b, a)]
    yield "two-lists", [a, b]


def library():
    utc = datetime.timezone.utc
    far = datetime.timezone(datetime.timedelta(hours=5, minutes=30), "IST")
    yield "datetime", [datetime.datetime(2020, 1, 2, 3, 4, 5, 6), datetime.datetime(2020, 1, 2, tzinfo=utc),
                       datetime.datetime(2020, 1, 2, 3, fold=1), datetime.datetime(2020, 1, 2, tzinfo=far)]
    yield "dates", [datetime.date(1999, 12, 31), datetime.time(1, 2, 3), datetime.time(1, tzinfo=utc),
                    datetime.timedelta(1, 2, 3), utc, far, datetime.timedelta()]
    yield "paths", [pathlib.PurePosixPath("data/train.csv"), pathlib.Path("/tmp"), pathlib.PurePosixPath(),
                    pathlib.PureWindowsPath("c:/x/y")]
    yield "uuid", uuid.UUID(int=7)
    yield "ranges", [range(3), range(1, 10, 3), slice(1, None, 2), slice(None), range(0)]
    yield "enums", [Colour.RED, Colour.BLUE, Colour.RED, Flags.READ, Flags.READ | Flags.WRITE]
    yield "dataclasses", [Config(), Config(1.0, []), Frozen("x")]
    yield "argparse", argparse.Namespace(lr=0.1, layers=[1, 2], name="run")
    yield "namespace", types.SimpleNamespace(a=1, b=[2])
    yield "partial", [functools.partial(a_function, 1), functools.partial(int, base=2), functools.partial(a_function)]
    yield "getters", [operator.itemgetter(1), operator.itemgetter(1, "k"), operator.attrgetter("a.b"),
                      operator.methodcaller("get", 1), operator.methodcaller("get", key=2)]
    yield "exceptions", [ValueError("bad", 3), KeyError("k"), OSError(2, "no")]
    yield "random", random.Random(3).getstate()
    yield "random-object", random.Random(3)
    yield "iterators", [iter([1, 2]), iter((1,)), reversed([3]), enumerate([4]), iter(range(3)), zip([1], [2])]
    yield "generic", [list[int], dict[str, int], tuple[int, ...]]
    yield "version", sys.version_info[:3]


def names():
    import torch

    yield "classes", [int, list, dict, Config, Colour, collections.OrderedDict, torch.Tensor, torch.nn.Linear]
    yield "nested-classes", [Outer.Inner, Outer.Inner.Innermost, Outer.Inner, Outer.method]
    yield "nested-instances", [Outer.Inner.Innermost(), Outer.Inner()]
    yield "functions", [len, a_function, torch.relu, torch.nn.functional.relu, max, operator.add, print, str.upper]
    yield "python2-names", [range, zip, map, filter, copyreg.pickle, pathlib.Path, Exception, OSError, chr, input, sorted,
                            functools.reduce, sys.intern, collections.UserDict, itertools_of("filterfalse"), threading.Lock]
    yield "bound", [[1, 2].append, "x".join, Config().__eq__]
    yield "types", [type(None), type(...), type(NotImplemented)]
    yield "global", [SINGLETON, SINGLETON]
    yield "torch-functions", [torch.nn.init.zeros_, torch.optim.SGD, torch.tensor, torch.Size, torch.float32.__class__]


def itertools_of(name):
    import itertools

    return getattr(itertools, name)


def reduced():
    import torch

    yield "plain-objects", [Slotted(), with_slots(1, [2]), Stateful(None), Stateful(0), Stateful((1, 2)), Stateful({"k": 1})]
    yield "state-falsy", [Stateful({}), Stateful(()), Stateful(""), Stateful(False)]
    yield "keywords", [Keywords(1, a=2), Keywords(a=torch.ones(1)), Keywords(1, 2), Keywords()]
    same = Keywords("x", key="y")
    yield "keywords-twice", [same, same, Keywords("x", key="y")]
    yield "keywords-state", [KeywordsAndState(1, a=2), KeywordsAndState(b=1)]
    yield "keywords-only", Keywords(**{f"k{i}": i for i in range(5)})
    yield "copy", copy.copy(Keywords(1, a=[1]))
    # What the calls give is seen only by those who load it; torch.save is given the file's bytes.
    yield "calls", [Reduced(list, ((1, 2),)), Reduced(a_function, (Reduced(Stateful, (1,), {"v": 2}),))]


def with_slots(left, right):
    out = Slotted()
    out.left, out.right = left, right
    return out


def modules():
    import torch
    from torch import nn

    yield "state", nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).state_dict()
    yield "linear", nn.Linear(2, 3)
    yield "linear-frozen", nn.Linear(2, 3).requires_grad_(False)
    yield "sequential", nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5))
    yield "transformer", nn.TransformerEncoderLayer(4, 2, 8)
    yield "recurrent", [nn.LSTM(2, 3), nn.GRU(2, 3, num_layers=2), nn.RNNCell(2, 2)]
    yield "attention", nn.MultiheadAttention(4, 2)
    yield "embedding", [nn.Embedding(3, 2), nn.EmbeddingBag(3, 2), nn.LayerNorm(2), nn.GroupNorm(1, 2)]
    yield "containers", nn.ModuleDict({"a": nn.ModuleList([nn.Identity(), nn.Linear(1, 1)]),
                                       "b": nn.ParameterList([nn.Parameter(torch.ones(1))])})
    shared = nn.Linear(2, 2)
    yield "tied", nn.ModuleList([shared, shared])
    hooked = nn.Linear(1, 1)
    hooked.register_forward_hook(a_function)
    yield "hooks", hooked
    yield "losses", [nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss(torch.ones(2))]
    import fixture_classes

    yield "own", fixture_classes.Net()
    yield "weight-norm", nn.utils.weight_norm(nn.Linear(2, 2))
    yield "half", nn.Linear(2, 2).half()
    yield "eval", nn.Linear(2, 2).eval()


def source_of_modules():
    import torch

    linear = torch.nn.Linear(2, 2)
    yield "classes", {"class": torch.nn.Linear, "again": torch.nn.Linear, "parts": torch.nn.ModuleList(
        [linear, torch.nn.Linear(1, 1), linear, torch.nn.Sequential(torch.nn.GRUCell(1, 1), torch.nn.Bilinear(1, 1, 1))])}


def training():
    import torch

    torch.manual_seed(0)
    kinds = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
             "adagrad": torch.optim.Adagrad, "rmsprop": torch.optim.RMSprop, "lbfgs": torch.optim.LBFGS,
             "amsgrad": lambda p: torch.optim.Adam(p, amsgrad=True)}
    for name, make in kinds.items():
        model = torch.nn.Linear(2, 2)
        optimizer = make(model.parameters())
        for _ in range(2):
            def closure():
                optimizer.zero_grad()
                loss = model(torch.ones(1, 2)).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
        yield f"{name}-state", optimizer.state_dict()
        if name in ("sgd", "adam"):
            # With the optimizer as it is: its state has parameters as keys.
            yield f"{name}-whole", {"optimizer": optimizer, "model": model}
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
            cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
            plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
            yield f"{name}-schedulers", [scheduler.state_dict(), cosine.state_dict(), plateau.state_dict()]
            yield f"{name}-checkpoint", {"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                         "scheduler": scheduler.state_dict(), "best": float("inf"), "args": argparse.Namespace(lr=0.1)}
    groups = torch.optim.SGD([{"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.1},
                              {"params": [torch.nn.Parameter(torch.zeros(2))]}], lr=0.01)
    yield "groups", groups.state_dict()
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    yield "scaler", {"off": scaler.state_dict(), "on": {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                                                        "growth_interval": 2000, "_growth_tracker": 0}}


def arrays():
    import numpy as np

    record = np.dtype([("a", "f4"), ("b", ">i2", (2, 3)), ("c", "U3"), ("d", "M8[s]"), ("e", [("x", "?"), ("y", ">c8")])])
    aligned = np.dtype({"names": ["x", "y"], "formats": ["i1", "f8"]}, align=True)
    held = np.dtype([("n", "i4"), ("o", "O")])
    itself = np.array([None, {"k": 1}, "text"], dtype=object)
    itself[0] = itself
    codes = "f2 f4 f8 c8 c16 ? i1 i8 u4 >f8 >i2 >c8 S3 U4 >U4 f16 >f16".split()
    out = {code: np.arange(6).astype(code).reshape(2, 3) for code in codes}
    for code, made in out.items():
        yield f"of-{code}", made
    for unit in ("ns", "25us", "D", "Y"):
        out[f"M8[{unit}]"] = np.array(["2020-01-02", "NaT"], dtype=f"M8[{unit}]")
        out[f"m8[{unit}]"] = np.array([5, -1], dtype=f">m8[{unit}]")
        yield f"dates-{unit}", [out[f"M8[{unit}]"], out[f"m8[{unit}]"]]
    kinds = {
        "generic": np.array([1], dtype="m8"), "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "fortran records": np.asfortranarray(np.zeros((2, 2), dtype=record)), "records": np.zeros(3, dtype=record),
        "aligned": np.ones(2, dtype=aligned), "raw": np.zeros(2, dtype="V5"), "empty": np.zeros((0, 3)),
        "scalar": np.array(1.5), "objects": np.array([[1, "a"], [None, 2.5]], dtype=object), "itself": itself,
        "fortran objects": np.asfortranarray(np.array([[1, "a", ()], [None, 2.5, 3]], dtype=object)),
        "numbers": [np.float64(1.5), np.int8(3), np.datetime64("2020-01-01", "ms"), np.str_("abc"), np.bytes_(b"xy"), np.bool_(True)],
        "of records": np.zeros(1, dtype=record)[0]}
    out |= kinds
    for name, made in kinds.items():
        yield name.replace(" ", "-"), made
    yield "all", out
    for align in (False, True):
        kind = np.dtype({"names": ["x", "y", "z"], "formats": ["i1", "f8", "i2"]}, align=align)
        inner = np.dtype([("p", "u1"), ("q", kind), ("r", kind, (2,))], align=align)
        words = "aligned" if align else "packed"
        yield f"dtype-{words}", [kind, inner, np.zeros(2, dtype=inner)]
    yield "dtype-titled", [np.dtype([(("a title", "a"), "f4"), ("b", "i4")])]
    yield "dtype-offsets", [np.dtype({"names": ["a", "b"], "formats": ["i4", "f4"], "offsets": [8, 0], "itemsize": 24})]
    yield "dtype-no-fields", [np.dtype([]), np.dtype("V3")]
    yield "dtype-metadata", [np.dtype("f4", metadata={"k": "v"})]
    yield "dtype-names", [np.dtype(code) for code in codes] + [np.dtype("O"), record, np.dtype(("f4", (2,)))]
    yield "dtypes-twice", [np.dtype("f4"), np.dtype("f4"), np.dtype("float32"), np.dtype(">f4"), np.dtype(">f4")]
    yield "scalar-types", [np.float32, np.int64, np.ndarray, np.dtype, np.str_]
    yield "records-of-objects", np.array([(1, "a"), (2, [3])], dtype=held)
    yield "records-of-objects-0d", np.array((1, "a"), dtype=held)
    yield "records-of-objects-fortran", np.asfortranarray(np.array([[(1, "a"), (2, None)]] * 2, dtype=held))
    yield "record-of-objects", np.array([(1, "a")], dtype=held)[0]
    yield "records-of-objects-nested", np.array([((1, "a"), [None, 2.5])], dtype=[("in", held), ("two", "O", (2,))])
    looped = np.array([(1, None)], dtype=held)
    looped[0]["o"] = looped
    yield "records-of-themselves", looped
    yield "record-array", np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    yield "masked", np.ma.masked_array([1.0, 2.0], mask=[True, False])
    yield "matrix", np.matrix([[1, 2]])
    yield "characters", np.char.array(["ab", "c"])
    state = np.random.RandomState(3)
    yield "random-state", state.get_state()
    yield "random-object", state
    yield "generator", np.random.default_rng(3)
    yield "functions", [np.sum, np.add, np.random.default_rng]
    yield "twice", [kinds["fortran"], kinds["fortran"], kinds["numbers"][0], kinds["numbers"][0]]
    yield "polynomial", np.poly1d([1, 2])
    yield "slices", [np.s_[1:2, ...], np.newaxis]


GROUPS = {
    "storages": storages, "views": views, "dtypes": dtypes_, "tensors": tensors, "layouts": layouts, "numbers": numbers,
    "texts": texts, "containers": containers, "cycles": cycles, "library": library, "names": names, "reduced": reduced,
    "modules": modules, "source": source_of_modules, "training": training, "numpy": arrays,
}


def objects():
    """(group, name, object)"""
    for group, make in GROUPS.items():
        for name, obj in make():
            yield group, name, obj


def write(folder):
    import torch

    safe = {} if torch.__version__.startswith("1.") else {"weights_only": False}
    rows = []
    for group, name, obj in objects():
        made, again = (os.path.join(folder, f"{len(rows)}{kind}", "out.pt") for kind in ("-made", "-again"))
        os.mkdir(os.path.dirname(made))
        os.mkdir(os.path.dirname(again))
        problem = None
        try:
            torch.save(obj, made)
            torch.save(torch.load(made, **safe), again)
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error)[:150]}"
        rows.append((group, name, problem))
    with open(os.path.join(folder, "list.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [here, os.path.join(os.path.dirname(here), "fixtures")]
    sys.dont_write_bytecode = True
    # The classes above by their own name, not by `__main__`.
    import save_objects

    save_objects.write(sys.argv[1])
