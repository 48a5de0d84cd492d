"""Writes types.tsv: what PyTorch says of types, for tests/types.rs.

    python make_types.py > types.tsv

Types are written as graphs have them, named ones by their qualified names. Lines are

    text   TYPE  GRAPH-TEXT  ANNOTATION
    sub    A  0101…             A.isSubtypeOf(B) for every B that has a text line, in order
    unify  A  B  RESULT|-       unify_type_list([A, B]), in graph text and as annotation
    union  A;B;C  RESULT|-      UnionType([A, B, C])
"""

import enum
import itertools
import random
import re
import warnings
from typing import NamedTuple

import torch
from torch import Tensor

warnings.filterwarnings("ignore")
C = torch._C


class P(NamedTuple):
    a: int
    b: Tensor


class Q(NamedTuple):
    a: int
    b: Tensor


class R(NamedTuple):
    x: int
    b: Tensor


class Color(enum.Enum):
    RED = 1
    GREEN = 2


@torch.jit.interface
class I:
    def f(self, x: Tensor) -> Tensor:
        pass


@torch.jit.interface
class J:
    def f(self, x: Tensor) -> Tensor:
        pass

    def g(self, x: int) -> int:
        pass


@torch.jit.interface
class MI(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


@torch.jit.script
class K:
    def __init__(self):
        self.x = 1

    def f(self, x: Tensor) -> Tensor:
        return x


@torch.jit.script
class L:
    def __init__(self):
        self.x = 1

    def f(self, x: Tensor) -> Tensor:
        return x

    def g(self, x: int) -> int:
        return x


@torch.jit.script
class W:
    def __init__(self):
        self.x = 1

    def f(self, x: int) -> Tensor:
        return torch.zeros(x)


@torch.jit.script
class F:
    def __init__(self):
        self.x = 1

    def forward(self, x: Tensor) -> Tensor:
        return x


class M(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


def annotated(annotation):
    return torch.jit.annotations.ann_to_type(annotation, torch._sources.fake_range())


BASE = {
    "Tensor": C.TensorType.get(),
    "int": C.IntType.get(),
    "float": C.FloatType.get(),
    "complex": C.ComplexType.get(),
    "bool": C.BoolType.get(),
    "str": C.StringType.get(),
    "Scalar": C.NumberType.get(),
    "NoneType": C.NoneType.get(),
    "Device": C.DeviceObjType.get(),
    "Any": C.AnyType.get(),
    "AnyClassType": C.parse_schema("f(AnyClassType x) -> ()").arguments[0].type,
    "AnyEnumType": C.parse_schema("f(AnyEnumType x) -> ()").arguments[0].type,
    "P": annotated(P),
    "Q": annotated(Q),
    "R": annotated(R),
    "Color": annotated(Color),
    "I": annotated(I),
    "J": annotated(J),
    "MI": annotated(MI),
    "K": annotated(K),
    "L": annotated(L),
    "W": annotated(W),
    "F": annotated(F),
    "M": torch.jit.script(M())._c._type(),
}


def refined(ty):
    BASE[ty.str()] = ty


refined(C.TensorType.create_from_tensor(torch.zeros(2, 3)))
refined(C.TensorType.create_from_tensor(torch.zeros(2, 4)))
refined(C.TensorType.create_from_tensor(torch.zeros(5, dtype=torch.long)))
refined(C.TensorType.get().with_dtype(torch.float))
refined(C.TensorType.get().with_sizes([2, None]))
refined(C.TensorType.get().with_dtype(torch.long).with_sizes([2, None]))
refined(C.TensorType.get().with_device(torch.device("cuda:1")))

B = BASE
COMPOUND = {}


def unary(suffix, make, names):
    for name in names:
        COMPOUND[name + suffix] = make({**B, **COMPOUND}[name])


FLOAT23 = "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
FLOAT24 = "Float(2, 4, strides=[4, 1], requires_grad=0, device=cpu)"
unary("[]", C.ListType, ["int", "float", "Tensor", "Scalar", "Any", "I", "K", "P", FLOAT23, FLOAT24])
unary("?", C.OptionalType, ["int", "Tensor", "Scalar", "Any", "I", "K", "P", "str", "int[]", FLOAT23, FLOAT24])
unary("[]", C.ListType, ["int?", "Tensor?"])


def tuple_of(*names):
    types = {**B, **COMPOUND}
    COMPOUND["(" + ", ".join(names) + ")"] = C.TupleType([types[n] for n in names])


def dict_of(key, value):
    types = {**B, **COMPOUND}
    COMPOUND[f"Dict({key}, {value})"] = C.DictType(types[key], types[value])


def union_of(*names):
    types = {**B, **COMPOUND}
    COMPOUND["Union(" + ", ".join(names) + ")"] = C.UnionType([types[n] for n in names])


tuple_of()
tuple_of("int")
tuple_of("int", "Tensor")
tuple_of("Scalar", "Tensor")
tuple_of("int", FLOAT23)
tuple_of("int", FLOAT24)
tuple_of("int", "Tensor?")
tuple_of("int", "NoneType")
tuple_of("K", "Any")
tuple_of("I", "int")
tuple_of("int", "str")
dict_of("str", "int")
dict_of("str", "Tensor")
dict_of("str", FLOAT23)
dict_of("int", "Tensor")
dict_of("str", "int?")
dict_of("str", "(int, str)")
dict_of("str", "P")
dict_of("Tensor", "float")
for name in ["int", "Tensor", FLOAT23, FLOAT24, "Any", "I", "K", "Scalar"]:
    COMPOUND[f"Future({name})"] = C.FutureType(B[name])
for name in ["int", "Scalar", "Any"]:
    COMPOUND[f"RRef({name})"] = C.RRefType(B[name])
    COMPOUND[f"Await({name})"] = C.AwaitType(B[name])
COMPOUND["Dict(str, Future(int))"] = C.DictType(B["str"], COMPOUND["Future(int)"])
COMPOUND["Dict(str, Await(int))"] = C.DictType(B["str"], COMPOUND["Await(int)"])
union_of("int", "str")
union_of("int", "str", "NoneType")
union_of("int", "float")
union_of("int", "float", "complex")
union_of("int", "float", "complex", "str")
union_of("int", "float", "complex", "Tensor")
union_of("bool", "int", "float", "complex", "NoneType")
union_of("Tensor", "int[]", "(int, str)")
union_of("K", "L")
union_of("K", "J")
union_of("P", "int")
union_of("Color", "int", "NoneType")
unary("?", C.OptionalType, ["Union(int, str, NoneType)", "Union(int, float, complex)"])
COMPOUND["Union(int, str)[]"] = C.ListType(COMPOUND["Union(int, str)"])


def written(name):
    """A name with qualified names in it."""
    return re.sub(r"\b(P|Q|R|Color|I|J|MI|K|L|W|F|M)\b", r"__torch__.\1", name)


ALL = {written(name): ty for name, ty in {**BASE, **COMPOUND}.items()}


def printed(ty):
    return ty.str() + "\t" + ty.annotation_str


def unified(a, b):
    try:
        return printed(C.unify_type_list([a, b]))
    except RuntimeError:
        return "-"


def union(types):
    try:
        return printed(C.UnionType(types))
    except RuntimeError:
        return "-"


for name, ty in ALL.items():
    print("text", name, printed(ty), sep="\t")
for name, ty in ALL.items():
    print("sub", name, "".join(str(int(ty.isSubtypeOf(other))) for other in ALL.values()), sep="\t")
chosen = random.Random(15)
for (a, ta), (b, tb) in itertools.product(ALL.items(), repeat=2):
    result = unified(ta, tb)
    expected = result in ("-", printed(ta), printed(tb))
    if not expected or chosen.random() < 0.1:
        print("unify", a, b, result, sep="\t")
for size in (2, 3, 4, 5):
    for _ in range(250):
        members = chosen.sample(list(ALL.items()), size)
        print("union", ";".join(name for name, _ in members), union([ty for _, ty in members]), sep="\t")
