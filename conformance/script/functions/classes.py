"""NamedTuple, Enum and script classes used by functions."""
from collections import namedtuple
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor


class _Point(NamedTuple):
    x: int
    y: float = 2.5


class _Pair(NamedTuple):
    first: Tensor
    second: Optional[List[int]]


_Old = namedtuple("_Old", ["left", "right"])


class _Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class _Word(Enum):
    YES = "yes"
    NO = "no"


class _Level(Enum):
    LOW = 0.5
    HIGH = 1.5


class Counter:
    """A class with attributes and methods."""

    def __init__(self, start: int):
        self.count = start
        self.names: List[str] = []

    def add(self, n: int = 1) -> int:
        self.count += n
        self.names.append(str(n))
        return self.count

    def total(self) -> int:
        return self.count + len(self.names)


class Vector:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, by: float) -> "Vector":
        return Vector(self.x * by, self.y * by)

    def __eq__(self, other: "Vector") -> bool:
        return self.x == other.x and self.y == other.y

    def __lt__(self, other: "Vector") -> bool:
        return self.x < other.x

    def __neg__(self) -> "Vector":
        return Vector(-self.x, -self.y)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> float:
        return self.x if i == 0 else self.y

    def __setitem__(self, i: int, value: float) -> None:
        if i == 0:
            self.x = value
        else:
            self.y = value

    def __contains__(self, value: float) -> bool:
        return value == self.x or value == self.y

    def __bool__(self) -> bool:
        return self.x != 0.0

    def __str__(self) -> str:
        return "vector"

    def __float__(self) -> float:
        return self.x


class Account:
    def __init__(self, held: float):
        self._held = held

    @property
    def held(self) -> float:
        return self._held

    @held.setter
    def held(self, value: float):
        self._held = value

    @property
    def doubled(self) -> float:
        return self._held * 2


class Helper:
    def __init__(self):
        self.unit = 1

    @staticmethod
    def twice(x: int) -> int:
        return x * 2

    def call(self, x: int) -> int:
        return Helper.twice(x) + self.unit


class Context:
    def __init__(self, depth: int):
        self.depth = depth

    def __enter__(self) -> int:
        self.depth += 1
        return self.depth

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.depth -= 1


class Holder:
    def __init__(self, x: Tensor):
        self.inner = Counter(3)
        self.table: Dict[str, Tensor] = {}
        self.maybe = torch.jit.annotate(Optional[int], None)
        self.table["x"] = x

    def use(self) -> int:
        maybe = self.maybe
        if maybe is not None:
            return maybe
        self.maybe = self.inner.add(2)
        return self.inner.total()


@torch.jit.script
class Decorated:
    def __init__(self, x: int):
        self.x = x

    def get(self) -> int:
        return self.x


def named_tuple_made(x: int) -> float:
    p = _Point(x, 1.5)
    q = _Point(x)
    r = _Point(y=3.0, x=1)
    return p.x + p.y + q.y + r[0] + r.y


def named_tuple_result(x: int) -> _Point:
    return _Point(x, x * 0.5)


def named_tuple_parameter(p: _Point) -> float:
    x, y = p
    return p.x * p.y + x + y + p[1]


def named_tuple_of_tensors(x: Tensor) -> Tensor:
    p = _Pair(x, [1, 2])
    second = p.second
    if second is not None:
        return p.first + second[1]
    return p.first


def named_tuple_untyped(x: Tensor) -> Tensor:
    p = _Old(x, x + 1)
    return p.left * p.right


def named_tuples_in_list(n: int) -> float:
    points: List[_Point] = []
    for i in range(n):
        points.append(_Point(i, 0.5 * i))
    total = 0.0
    for point in points:
        total += point.y
    return total


def enum_values(flag: bool) -> int:
    color = _Color.RED
    if flag:
        color = _Color.BLUE
    return color.value


def enum_names() -> str:
    return _Color.RED.name + _Word.YES.value + _Word.NO.name


def enum_comparison(color: _Color) -> int:
    if color == _Color.RED:
        return 1
    elif color != _Color.GREEN:
        return 3
    return 2


def enum_of_floats(high: bool) -> float:
    level = _Level.HIGH if high else _Level.LOW
    return level.value


def enum_loop() -> int:
    total = 0
    for color in _Color:
        total += color.value
    return total


def enum_in_list() -> bool:
    colors = [_Color.RED, _Color.GREEN]
    return colors[0] == _Color.RED


def enum_result() -> _Color:
    return _Color.GREEN


def class_used(n: int) -> int:
    counter = Counter(n)
    counter.add()
    counter.add(5)
    counter.count += 1
    return counter.total()


def class_in_loop(n: int) -> int:
    counter = Counter(0)
    for i in range(n):
        counter.add(i)
    return counter.count


def class_operators(x: float) -> float:
    a = Vector(x, 2.0)
    b = a + a * 2.0
    c = -b
    if a == b:
        return 0.0
    if c < a:
        c[0] = 5.0
    return c[0] + c[1] + len(c) + float(c)


def class_protocols(x: float):
    a = Vector(x, 2.0)
    n = 0
    if a:
        n = 1
    return n, x in a, 7.0 in a, str(a), not a


def class_property(x: float) -> float:
    account = Account(x)
    account.held = account.held + 1.5
    return account.doubled + account.held


def class_static(x: int) -> int:
    return Helper().call(x) + Helper.twice(x)


def class_context(x: int) -> int:
    with Context(x) as depth:
        y = depth * 2
    return y


def class_context_nested(x: int) -> int:
    context = Context(x)
    with context as a, context as b:
        y = a * 10 + b
    return y * 10 + context.depth


def class_holding_class(x: Tensor) -> int:
    holder = Holder(x)
    first = holder.use()
    return first + holder.use() + holder.inner.count


def class_decorated(n: int) -> int:
    return Decorated(n).get()


def class_in_containers(n: int) -> int:
    counters = [Counter(n), Counter(2)]
    table = {"a": counters[0]}
    table["a"].add(3)
    total = 0
    for counter in counters:
        total += counter.count
    return total


def class_optional(n: int) -> int:
    counter: Optional[Counter] = None
    if n > 1:
        counter = Counter(n)
    if counter is None:
        return 0
    return counter.count


def class_isinstance(n: int) -> bool:
    counter = Counter(n)
    return isinstance(counter, Counter)


def class_parts(n: int) -> Tuple[int, List[str]]:
    counter = Counter(n)
    counter.names = ["a"]
    names = counter.names
    names.append("b")
    return counter.count, counter.names


CALLS = {
    "named_tuple_parameter": [((3, 1.5),)],
    "enum_comparison": [],
    "enum_result": [],
}
