from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor


class Color(Enum):
    RED = 1
    GREEN = 2


class Name(Enum):
    A = "a"
    B = "b"


class Point(NamedTuple):
    x: Tensor
    y: int = 3


Pair = Tuple[int, int]


class Counter:
    """Counts."""

    def __init__(self, start: int):
        self.count = start
        self.names: List[str] = []
        self.t = torch.zeros(2)

    def add(self, n: int = 1) -> int:
        self.count += n
        return self.count

    def name(self, s: str):
        self.names.append(s)

    def __len__(self) -> int:
        return self.count

    @property
    def double(self) -> int:
        return self.count * 2

    @staticmethod
    def make(n: int) -> int:
        return n + 1

    def __add__(self, other: "Counter") -> int:
        return self.count + other.count


@torch.jit.script
class Scripted:
    def __init__(self, x: float):
        self.x = x

    def get(self):
        return self.x


def enums(c: Color) -> int:
    if c == Color.RED:
        return c.value
    return Color.GREEN.value + len(c.name)


def enum_names(n: Name) -> str:
    return n.value + Name.B.value


def tuples(p: Point) -> Tensor:
    return p.x + p.y


def make_tuple(x: Tensor) -> Point:
    return Point(x, 4)


def tuple_default(x: Tensor) -> Point:
    return Point(x)


def aliases(p: Pair) -> int:
    a, b = p
    return a + b


def counters(n: int) -> int:
    c = Counter(n)
    c.add()
    c.add(4)
    c.name("x")
    return c.count + len(c) + c.double


def class_argument(c: Counter) -> Tensor:
    return c.t + c.count


def adds(n: int) -> int:
    return Counter(n) + Counter(2)


def scripted(x: float) -> float:
    return Scripted(x).get()


def forks(x: Tensor) -> Tensor:
    f = torch.jit.fork(_slow, x)
    g = torch.jit._fork(_slow, x * 2)
    return torch.jit.wait(f) + torch.jit._wait(g)


def _slow(x: Tensor) -> Tensor:
    return x.relu()


@torch.jit.unused
def _unused(x: Tensor, y: Tensor) -> Tensor:
    return {x}


def uses_unused(x: Tensor, b: bool) -> Tensor:
    if b:
        return _unused(x, x)
    return x


@torch.jit._overload
def _over(x: int) -> int:
    pass


@torch.jit._overload
def _over(x: float) -> float:
    pass


def _over(x):
    return x + 1


def overloads(a: int, b: float):
    return _over(a), _over(b)


def no_grads(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
    return y


def checks(x: Optional[List[int]], d: Dict[str, Tensor]) -> int:
    if torch.jit.isinstance(x, List[int]):
        return len(x)
    if "a" in d:
        return 1
    del d["a"]
    return 0


def enum_list() -> List[int]:
    return [c.value for c in Color]


def enum_is(c: Color) -> bool:
    return c is Color.RED


def enum_arg(c: Color = Color.GREEN) -> Color:
    return c
