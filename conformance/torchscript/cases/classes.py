"""Script classes, interfaces, properties, and modules' methods."""
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

from registry import case, made, t


@torch.jit.script
class Counter:
    """Methods, magic methods, attributes that are written."""

    def __init__(self, start: int, name: str = "counter"):
        self.count = start
        self.name = name
        self.history: List[int] = []
        self.limit = torch.jit.annotate(Optional[int], None)

    def add(self, by: int = 1) -> int:
        self.history.append(self.count)
        self.count += by
        return self.count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> int:
        return self.history[i]

    def __setitem__(self, i: int, value: int) -> None:
        self.history[i] = value

    def __contains__(self, value: int) -> bool:
        return value in self.history

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        return self.name + str(self.count)

    def reset(self):
        self.count = 0


@case((3,))
def script_class(n: int) -> Tuple[int, int, int, bool, str, List[int]]:
    c = Counter(n)
    c.add()
    c.add(by=5)
    c[0] = 100
    c.limit = 7
    inside = 100 in c
    size = len(c)
    text = str(c)
    c.reset()
    return size, c[0], c.count, inside, text, c.history


@torch.jit.script
class Vector:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, by: float) -> "Vector":
        return Vector(self.x * by, self.y * by)

    def __neg__(self) -> "Vector":
        return Vector(-self.x, -self.y)

    def __eq__(self, other: "Vector") -> bool:
        return self.x == other.x and self.y == other.y

    def __lt__(self, other: "Vector") -> bool:
        return self.norm < other.norm

    @property
    def norm(self) -> float:
        return (self.x ** 2 + self.y ** 2) ** 0.5

    @property
    def first(self) -> float:
        return self.x

    @first.setter
    def first(self, value: float) -> None:
        self.x = value


@case((3.0,))
def class_operators(a: float) -> Tuple[float, bool, bool, float]:
    v = Vector(a, 4.0)
    w = -(v * 2.0 + v)
    v.first = 10.0
    v += w
    return v.norm, v == w, v < w, v.first


@case((2,))
def lists_of_objects(n: int) -> int:
    objects = [Counter(i) for i in range(n)]
    table: Dict[str, Counter] = {"a": Counter(5)}
    for one in objects:
        one.add(table["a"].count)
    best: Optional[Counter] = None
    for one in objects:
        if best is None:
            best = one
        elif best.count < one.count:
            best = one
    assert best is not None
    return best.count


class Helper:
    """Compiled because it is used."""

    def __init__(self, x: Tensor):
        self.x = x
        self.parts: Tuple[int, int] = (1, 2)

    def twice(self) -> Tensor:
        return self.x * 2 + self.parts[1]

    @staticmethod
    def plain(n: int) -> int:
        return n + 1


@case((t(2),))
def implicit_class(x: Tensor) -> Tensor:
    return Helper(x).twice() + Helper.plain(3)


@torch.jit.interface
class Shape:
    def area(self, scale: float) -> float:
        pass

    def name(self) -> str:
        pass


@torch.jit.script
class Square:
    def __init__(self, side: float):
        self.side = side

    def area(self, scale: float) -> float:
        return self.side * self.side * scale

    def name(self) -> str:
        return "square"


@torch.jit.script
class Circle:
    def __init__(self, radius: float):
        self.radius = radius

    def area(self, scale: float) -> float:
        return 3.0 * self.radius * self.radius * scale

    def name(self) -> str:
        return "circle"


def describe(shape: Shape) -> float:
    return shape.area(2.0) + len(shape.name())


@case((2.0,))
def interfaces(x: float) -> float:
    shapes: List[Shape] = [Square(x), Circle(x)]
    total = describe(Square(1.0))
    for shape in shapes:
        total += describe(shape)
    return total


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Plus(nn.Module):
    def __init__(self, by: int):
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


class Times(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(t(2))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


@case((t(2), 0), (t(2), 1))
class ModuleInterface(nn.Module):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = Plus(1)
        self.layers = nn.ModuleList([Plus(2), Times()])

    def forward(self, x: Tensor, i: int) -> Tensor:
        chosen: Layer = self.layers[i]
        return chosen.forward(self.layer.forward(x))


@case((t(2),))
class Methods(nn.Module):
    def helper(self, x: Tensor) -> Tensor:
        return self.deeper(x) + 1

    def deeper(self, x: Tensor) -> Tensor:
        return x * 2

    @torch.jit.export
    def exported(self, x: int) -> int:
        return x + 1

    @torch.jit.unused
    def not_compiled(self, x: Tensor) -> Tensor:
        return x.numpy()

    @torch.jit.ignore
    def ignored(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> Tensor:
        if x.numel() > 100:
            return self.not_compiled(x)
        return self.helper(x)


@case((t(2),))
class Properties(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    @property
    def double(self) -> float:
        return self.scale * 2

    @property
    def written(self) -> float:
        return self.scale

    @written.setter
    def written(self, value: float) -> None:
        self.scale = value

    def forward(self, x: Tensor) -> Tensor:
        self.written = 3.0
        return x * self.double


@case((t(2),))
class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Plus(1)

        def pre(module, args: Tuple[Tensor]) -> Tuple[Tensor]:
            return (args[0] * 2,)

        def post(module, args: Tuple[Tensor], result: Tensor) -> Tensor:
            return result + 100

        self.inner.register_forward_pre_hook(pre)
        self.inner.register_forward_hook(post)

        def own(module, args: Tuple[Tensor], result: Tensor):
            print("done")

        self.register_forward_hook(own)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = t(3)
        self.scale = 2
        self.cache: Optional[Tensor] = None

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, int, bool]:
        return self.weight, self.scale * 10, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, int, bool]) -> None:
        self.weight = state[0] + 1
        self.scale = state[1]
        self.cache = None
        self.training = state[2]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight * self.scale


@case((t(3),))
class OwnState(nn.Module):
    def __init__(self):
        super().__init__()
        self.state = State()

    def forward(self, x: Tensor) -> Tensor:
        return self.state(x)


@made((3,))
def class_attributes():
    """Objects of script classes as attributes."""

    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.counter = Counter(3)
            self.counters = [Counter(1), Counter(2)]

        def forward(self, n: int) -> int:
            return self.counter.add(n) + self.counters[1].count

    return torch.jit.script(Holder())


class Overloads(nn.Module):
    @torch.jit._overload_method
    def forward(self, x: int) -> int:  # noqa: F811
        pass

    @torch.jit._overload_method
    def forward(self, x: Tensor) -> Tensor:  # noqa: F811
        pass

    def forward(self, x):  # noqa: F811
        return x + 1


@case((t(2),))
class UsesOverloads(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Overloads()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + self.inner(2)


@case((t(2), 3))
class GetAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = 1
        self.child = Plus(4)

    def forward(self, x: Tensor, n: int) -> Tensor:
        if hasattr(self, "missing"):
            n += 100
        if hasattr(self, "one"):
            n += getattr(self, "one")
        n += getattr(self, "missing", 7)
        return getattr(self, "child")(x) + n


class Result(NamedTuple):
    out: Tensor
    count: int


@case((t(2),))
class ReturnsNamedTuple(nn.Module):
    def forward(self, x: Tensor) -> Result:
        return Result(x * 2, count=3)


@case((t(2),))
class Recursive(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 3

    def forward(self, x: Tensor) -> Tensor:
        self.depth -= 1
        return x + self.depth
