"""Enums and NamedTuples in every place."""
from collections import namedtuple
from enum import Enum, IntEnum, unique
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor


class _Color(Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1


class _Name(Enum):
    A = "a"
    B = "b"


@unique
class _Size(Enum):
    SMALL = 0.5
    LARGE = 2.5


class _Point(NamedTuple):
    """A point."""

    x: int
    y: int = 3
    name: Optional[str] = None


class _Box(NamedTuple):
    low: _Point
    high: _Point
    weights: List[Tensor]


_Legacy = namedtuple("_Legacy", "left right")
_Typed = NamedTuple("_Typed", [("a", int), ("b", str)])
_WithDefaults = namedtuple("_WithDefaults", ["p", "q"], defaults=[2])


def enum_member(n: int) -> int:
    c = _Color.RED
    return c.value + n


def enum_passed(n: int) -> int:
    return _number(_Color.GREEN)


def _number(c: _Color) -> int:
    if c == _Color.RED:
        return 10
    elif c == _Color.GREEN:
        return 20
    return 30


def enum_chosen(n: int) -> _Color:
    if n > 1:
        return _Color.RED
    return _Color.GREEN


def enum_local(n: int) -> str:
    c = _Color.RED if n > 1 else _Color.GREEN
    return c.name


def enum_not_equal(n: int) -> bool:
    c = _Color.RED
    if n > 2:
        c = _Color.GREEN
    return c != _Color.RED


def enum_list(n: int) -> List[str]:
    return [c.name for c in [_Color.RED, _Color.GREEN]]


def enum_iterated(n: int) -> int:
    total = 0
    for c in _Color:
        total += c.value
    return total


def enum_iterated_pairs(n: int) -> List[str]:
    out: List[str] = []
    for i, c in enumerate(_Name):
        out.append(c.value + str(i) + c.name)
    return out


def enum_floats(n: int) -> float:
    total = 0.0
    for s in _Size:
        total += s.value
    return total


def enum_optional(n: int) -> str:
    c: Optional[_Color] = None
    if n > 1:
        c = _Color.RED
    if c is not None:
        return c.name
    return "none"


def enum_in_tuple(n: int) -> Tuple[_Color, int]:
    return _Color.RED, n


def enum_isinstance(n: int) -> bool:
    return isinstance(_Color.RED, _Color)


def enum_default(c: _Color = _Color.GREEN) -> int:
    return c.value


def tuple_made(n: int) -> _Point:
    return _Point(n)


def tuple_keywords(n: int) -> _Point:
    return _Point(y=n, x=1, name="p")


def tuple_fields(n: int):
    p = _Point(n, 2)
    x, y, name = p
    return p.x, p[1], x + y, name, len(p), p[-2]


def tuple_nested(x: Tensor) -> int:
    b = _Box(_Point(1), _Point(2, 4), [x])
    return b.low.x + b.high.y + b.weights[0].numel()


def tuple_as_parameter(n: int) -> int:
    return _area(_Box(_Point(0, 0), _Point(n, n), []))


def _area(b: _Box) -> int:
    return (b.high.x - b.low.x) * (b.high.y - b.low.y)


def tuple_listed(n: int) -> int:
    ps = [_Point(i) for i in range(n)]
    total = 0
    for p in ps:
        total += p.x * p.y
    return total


def tuple_in_dict(n: int) -> int:
    d = {"a": _Point(n), "b": _Point(1, n)}
    return d["a"].y + d["b"].y


def tuple_optional(n: int) -> int:
    p: Optional[_Point] = None
    if n > 1:
        p = _Point(n)
    if p is None:
        return 0
    return p.x


def tuple_legacy(x: Tensor) -> Tensor:
    p = _Legacy(x, x + 1)
    return p.left * p.right


def tuple_typed(n: int) -> str:
    p = _Typed(n, "b")
    return p.b + str(p.a)


def tuple_to_plain(n: int) -> Tuple[int, int, Optional[str]]:
    return _Point(n)


def tuple_loop(n: int) -> int:
    p = _Point(0, 0)
    for i in range(n):
        p = _Point(p.x + i, p.y - i)
    return p.x - p.y


def tuple_slice(n: int) -> Tuple[int, int]:
    return _Point(n, 4)[:2]


def tuple_starred(n: int) -> int:
    p = _Typed(n, "x")
    return _takes(*p)


def _takes(a: int, b: str) -> int:
    return a + len(b)


CALLS = {
    "enum_default": [()],
    # PyTorch makes members of enums in a process that has the class.
    "enum_chosen": [],
    "enum_in_tuple": [],
}
