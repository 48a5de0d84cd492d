"""Classes with methods of special names, properties and static members."""

from typing import Any, Dict, Final, List, Optional, Tuple

import torch
from torch import Tensor


@torch.jit.script
class _Vector:
    def __init__(self, items: List[int]):
        self.items = items
        self.uses = 0

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: int) -> int:
        return self.items[at]

    def __setitem__(self, at: int, value: int) -> None:
        self.items[at] = value

    def __contains__(self, value: int) -> bool:
        return value in self.items

    def __call__(self, by: int) -> int:
        self.uses += 1
        return by * len(self.items)

    def __add__(self, other: "_Vector") -> "_Vector":
        return _Vector(self.items + other.items)

    def __sub__(self, other: int) -> int:
        return len(self.items) - other

    def __mul__(self, by: int) -> "_Vector":
        return _Vector([by * item for item in self.items])

    def __truediv__(self, by: int) -> float:
        return len(self.items) / by

    def __mod__(self, by: int) -> int:
        return len(self.items) % by

    def __pow__(self, by: int) -> int:
        return len(self.items) * by

    def __and__(self, other: int) -> int:
        return len(self.items) & other

    def __or__(self, other: int) -> int:
        return len(self.items) | other

    def __xor__(self, other: int) -> int:
        return len(self.items) ^ other

    def __lshift__(self, other: int) -> int:
        return len(self.items) << other

    def __rshift__(self, other: int) -> int:
        return len(self.items) >> other

    def __eq__(self, other: "_Vector") -> bool:
        return self.items == other.items

    def __ne__(self, other: "_Vector") -> bool:
        return self.items != other.items

    def __lt__(self, other: "_Vector") -> bool:
        return len(self.items) < len(other.items)

    def __le__(self, other: "_Vector") -> bool:
        return len(self.items) <= len(other.items)

    def __gt__(self, other: "_Vector") -> bool:
        return len(self.items) > len(other.items)

    def __ge__(self, other: "_Vector") -> bool:
        return len(self.items) >= len(other.items)

    def __neg__(self) -> int:
        return -len(self.items)

    def __str__(self) -> str:
        return "vector of " + str(len(self.items))

    def __int__(self) -> int:
        return len(self.items)

    def __float__(self) -> float:
        return float(len(self.items))

    def __bool__(self) -> bool:
        return len(self.items) > 0

    def __complex__(self) -> complex:
        return complex(len(self.items), 1)

    def __iadd__(self, other: int) -> "_Vector":
        self.items.append(other)
        return self

    def __isub__(self, other: int) -> "_Vector":
        self.items.pop()
        return self

    def __delitem__(self, at: int) -> None:
        self.items.pop(at)


def sized(xs: List[int]) -> Tuple[int, bool, int, int]:
    v = _Vector(xs)
    v[0] = 7
    return len(v), 7 in v, v[0], v[1 - 1]


def not_contained(xs: List[int]) -> bool:
    return 9 not in _Vector(xs)


def called_object(xs: List[int]) -> int:
    v = _Vector(xs)
    return v(2) + v(by=3) + v.uses


def operators_of_class(xs: List[int]):
    v = _Vector(xs)
    return v - 1, v / 2, v % 2, v ** 2, v & 1, v | 1, v ^ 1, v << 1, v >> 1


def sums_of_class(xs: List[int]) -> List[int]:
    v = _Vector(xs)
    return (v + v * 2).items


def comparisons_of_class(xs: List[int]):
    v = _Vector(xs)
    w = _Vector([1, 2])
    return v == w, v != w, v < w, v <= w, v > w, v >= w


def unary_of_class(xs: List[int]):
    v = _Vector(xs)
    return -v


def casts_of_class(xs: List[int]):
    v = _Vector(xs)
    return str(v), int(v), float(v), bool(v), complex(v)


def condition_of_class(xs: List[int]) -> int:
    v = _Vector(xs)
    if v:
        return 1
    while v:
        v -= 1
    return 0 if v else 2


def not_of_class(xs: List[int]) -> bool:
    return not _Vector(xs)


def augmented_class(xs: List[int]) -> int:
    v = _Vector(xs)
    v += 5
    v -= 1
    v += 6
    return len(v.items)


def augmented_without_own(xs: List[int]) -> int:
    v = _Vector(xs)
    v *= 3
    return v.items[0]


@torch.jit.script
class _Box:
    LIMIT: Final[int] = 10

    def __init__(self, value: int, name: str = "box"):
        self._value = value
        self.name = name
        self.history: List[int] = []
        self.table: Dict[str, Tensor] = {}
        self.last = torch.jit.annotate(Optional[int], None)

    @property
    def value(self) -> int:
        return self._value

    @value.setter
    def value(self, to: int) -> None:
        self.history.append(self._value)
        self._value = to

    @property
    def doubled(self) -> int:
        return self.value * 2

    @staticmethod
    def twice(x: int) -> int:
        return x * 2

    def remember(self, x: int) -> Optional[int]:
        before = self.last
        self.last = x
        return before

    @torch.jit.unused
    def not_compiled(self, x):
        return [y for y in x if y]

    @torch.jit.ignore
    def in_python(self, x: int) -> int:
        return x

    def with_defaults(self, a: int, b: float = 1.5, c: Optional[str] = None) -> str:
        if c is None:
            return str(a + b)
        return c


def property_read(n: int) -> int:
    return _Box(n).value + _Box(n).doubled


def property_written(n: int) -> Tuple[int, List[int]]:
    b = _Box(n)
    b.value = 5
    b.value = b.value + 1
    return b.value, b.history


def property_augmented(n: int) -> int:
    b = _Box(n)
    b.value += 2
    return b.value


def attribute_augmented(n: int) -> Tuple[int, str, int]:
    b = _Box(n)
    b._value += 2
    b._value *= 3
    b._value -= 1
    b.name += "es"
    b.history += [1, 2]
    b.history[0] += 4
    return b._value, b.name, b.history[0]


def static_method(n: int) -> int:
    return _Box.twice(n)


def attribute_optional(n: int) -> int:
    b = _Box(n)
    first = b.remember(3)
    second = b.remember(4)
    if first is not None:
        return first
    last = b.last
    if last is not None:
        return last
    return -1


def method_defaults(n: int) -> str:
    b = _Box(n)
    return b.with_defaults(n) + b.with_defaults(n, c="x") + b.with_defaults(1, 2.0)


def attribute_dict(x: Tensor) -> Tensor:
    b = _Box(1)
    b.table["x"] = x
    b.table["y"] = x + 1
    return b.table["x"] * b.table["y"]


@torch.jit.script
class _Tree:
    def __init__(self, name: str):
        self.name = name
        self.parts: List[str] = []

    def add(self, part: str):
        self.parts.append(part)
        return self

    def text(self) -> str:
        return self.name + ":" + ",".join(self.parts)


def method_chain(s: str) -> str:
    return _Tree(s).add("a").add("b").text()


def same_object(s: str) -> bool:
    a = _Tree(s)
    b = a
    return a is b


def object_in_tuple(s: str) -> str:
    pair = (_Tree(s), 3)
    tree, n = pair
    tree.add(str(n))
    return pair[0].text()


def objects_in_dict(s: str) -> str:
    d = {"a": _Tree(s)}
    d["b"] = _Tree(s + "b")
    d["a"].add("z")
    return d["a"].text() + d["b"].text()


def optional_object(s: str, n: int) -> str:
    t: Optional[_Tree] = None
    if n > 1:
        t = _Tree(s)
    if t is None:
        return "none"
    return t.text()


def hasattr_of_object(n: int) -> int:
    b = _Box(n)
    if hasattr(b, "name"):
        return len(b.name)
    else:
        return b.missing


def getattr_of_object(n: int) -> str:
    b = _Box(n)
    return getattr(b, "name") + getattr(b, "nothing", "default")


class _Undecorated:
    """Compiled where it is used."""

    def __init__(self, n: int) -> None:
        self.n = n

    def plus(self, m: int) -> "_Undecorated":
        return _Undecorated(self.n + m)


def undecorated_class(n: int) -> int:
    return _Undecorated(n).plus(2).n


def class_as_parameter(n: int) -> int:
    return _sum(_Undecorated(n), _Undecorated(1))


def _sum(a: _Undecorated, b: _Undecorated) -> int:
    return a.n + b.n
