"""Dataclasses, whose methods PyTorch writes."""

from dataclasses import InitVar, dataclass, field
from typing import Dict, List, Optional, Tuple

import dataclasses
import torch
from torch import Tensor


@torch.jit.script
@dataclass
class _Point:
    x: float
    y: float
    norm: Optional[float] = None

    def __post_init__(self):
        self.norm = (self.x ** 2 + self.y ** 2) ** 0.5

    def shifted(self, by: float) -> float:
        return self.x + self.y + by


@torch.jit.script
@dataclass
class _Plain:
    """Two numbers and a name."""

    a: int
    b: int = 2
    name: str = "none"


@torch.jit.script
@dataclass(order=True)
class _Ordered:
    major: int
    minor: int = 0
    label: Optional[str] = None


@torch.jit.script
@dataclass(eq=False)
class _NoEq:
    a: int


@torch.jit.script
@dataclass
class _WithVar:
    base: int
    scale: InitVar[int]
    total: int = 0

    def __post_init__(self, scale: int):
        self.total = self.base * scale


@torch.jit.script
@dataclasses.dataclass(eq=False, repr=False)
class _Tensors:
    weight: Tensor
    sizes: List[int]
    pair: Tuple[int, float] = (1, 2.5)


@torch.jit.script
@dataclass
class _Fields:
    a: int = field(default=3)
    b: int = field(default=4, compare=False)
    c: float = field(repr=False, default=0.5)


@torch.jit.script
@dataclass
class _OwnEq:
    a: int
    b: int

    def __eq__(self, other: "_OwnEq") -> bool:
        return self.a == other.a


@torch.jit.script
@dataclass
class _Empty:
    pass


@torch.jit.script
@dataclass(unsafe_hash=True)
class _Hashed:
    a: int


def dataclass_made(x: float, y: float) -> float:
    p = _Point(x, y)
    norm = p.norm
    assert norm is not None
    return norm + p.shifted(1.0)


def dataclass_keywords(x: float) -> Tuple[float, float]:
    p = _Point(y=x, x=2.0)
    return p.x, p.y


def dataclass_defaults(n: int) -> str:
    p = _Plain(n)
    q = _Plain(n, 5, name="q")
    return p.name + q.name + str(p.b + q.b)


def dataclass_equal(n: int) -> Tuple[bool, bool, bool]:
    return _Plain(n) == _Plain(n), _Plain(n) == _Plain(n, 3), _Plain(n, 2, "x") == _Plain(1)


def dataclass_ordered(n: int) -> Tuple[bool, bool, bool, bool]:
    a = _Ordered(n, 1)
    b = _Ordered(2, n)
    return a < b, a <= b, a > b, a >= b


def dataclass_optional_compared(n: int) -> bool:
    return _Ordered(n, 1, "x") == _Ordered(n, 1)


def dataclass_without_eq(n: int) -> int:
    return _NoEq(n).a


def dataclass_init_var(n: int) -> int:
    return _WithVar(n, 3).total


def dataclass_of_tensors(x: Tensor) -> Tensor:
    t = _Tensors(x, [1, 2])
    t.sizes.append(3)
    t.weight += len(t.sizes)
    return t.weight * t.pair[1]


def dataclass_fields(n: int) -> float:
    f = _Fields(n)
    f.a += 1
    return f.a + f.b + f.c


def dataclass_own_eq(n: int) -> bool:
    return _OwnEq(n, 1) == _OwnEq(n, 2)


def dataclass_empty(n: int) -> int:
    _Empty()
    return n


def dataclass_hashed(n: int) -> int:
    return _Hashed(n).a


def dataclass_parameter(n: int) -> int:
    return _of_plain(_Plain(n, n))


def _of_plain(p: _Plain) -> int:
    return p.a * p.b


def dataclass_in_list(n: int) -> int:
    xs = [_Plain(i) for i in range(n)]
    total = 0
    for x in xs:
        total += x.a
    return total


def dataclass_repr(n: int) -> str:
    return _Plain(n).__repr__()
