"""nn.Module classes: attributes, methods, containers, shared types."""
from typing import Dict, Final, List, NamedTuple, Optional

import torch
import torch.nn as nn
from torch import Tensor


class _Shift(nn.Module):
    __constants__ = ["by"]

    def __init__(self, by: int):
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


class _Scale(nn.Module):
    def __init__(self, by: float = 2.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), by))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class Attributes(nn.Module):
    depth: Final[int]
    cache: Optional[Tensor]
    history: List[Tensor]

    def __init__(self):
        super().__init__()
        self.depth = 2
        self.cache = None
        self.history = []
        self.table: Dict[str, int] = {"a": 1}
        self.unused = lambda x: x
        self.register_buffer("offset", torch.ones(3))
        self.register_parameter("nothing", None)

    def forward(self, x: Tensor) -> Tensor:
        if self.nothing is not None:
            x = x + self.nothing
        for _ in range(self.depth):
            x = x + self.offset * self.table["a"]
        self.cache = x
        self.history.append(x)
        return x


class SharedTypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = _Shift(1)
        self.b = _Shift(2)
        self.c = _Shift(1)
        self.d = self.a

    def forward(self, x: Tensor) -> Tensor:
        return self.d(self.c(self.b(self.a(x))))


class Methods(nn.Module):
    size = 4

    def __init__(self):
        super().__init__()
        self.n = 3

    @property
    def doubled(self) -> int:
        return self.n * 2

    @staticmethod
    def half(x: Tensor) -> Tensor:
        return x / 2

    @torch.jit.unused
    def dropped(self, x: Tensor) -> Tensor:
        return sorted(x, key=lambda y: y)[0]

    @torch.jit.export
    def also(self, x: Tensor, names: Optional[List[str]] = None) -> int:
        return 0 if names is None else len(names)

    def helper(self, x: Tensor, n: int = 5) -> Tensor:
        return x + n

    def forward(self, x: Tensor, flag: bool = False) -> Tensor:
        if flag:
            return self.dropped(x)
        return self.helper(self.half(x)) + self.helper(x, self.doubled)


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Shift(number) for number in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(x) + number
        for last in self.layers[1:]:
            x = last.forward(x)
        return self.layers[-1](x) * len(self.layers)


class Dicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"first": _Scale(), "second": _Shift(2)})

    def forward(self, x: Tensor) -> Tensor:
        for name, layer in self.layers.items():
            x = layer(x) * len(name)
        if "third" in self.layers:
            x = x + 1
        return self.layers["second"](x)


class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(_Scale(), nn.Sequential(_Shift(1), _Scale(3.0)))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x) + self.net[1][0](x)


class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(3))])

    def forward(self, x: Tensor) -> Tensor:
        for weight in self.weights:
            x = x + weight
        return x * self.weights[0]


class Children(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = _Shift(1)
        self.b = _Scale()
        self.c = None

    def forward(self, x: Tensor) -> Tensor:
        for name, child in self.named_children():
            x = child(x) + len(name)
        if self.c is not None:
            x = self.c(x)
        return x


@torch.jit.interface
class _Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Interfaces(nn.Module):
    chosen: _Step

    def __init__(self):
        super().__init__()
        self.chosen = _Scale()
        self.layers = nn.ModuleList([_Scale(), _Scale(3.0)])

    def forward(self, x: Tensor, which: int) -> Tensor:
        step: _Step = self.layers[which]
        return step.forward(self.chosen.forward(x))


class Overloaded(nn.Module):
    @torch.jit._overload_method  # noqa: F811
    def twice(self, x: int) -> int:
        pass

    @torch.jit._overload_method  # noqa: F811
    def twice(self, x: Tensor) -> Tensor:  # noqa: F811
        pass

    def twice(self, x):  # noqa: F811
        return x + x

    def forward(self, x: Tensor, n: int) -> Tensor:
        return self.twice(x) + self.twice(n)


class Early(nn.Module):
    def __init__(self):
        self.before = 3
        super().__init__()
        self.after = 4

    def forward(self, x: Tensor) -> Tensor:
        return x + self.before + self.after


class _Middle(_Shift):
    def helper(self, x: Tensor) -> Tensor:
        return x * self.by

    def forward(self, x: Tensor) -> Tensor:
        return self.helper(x)


class Inherited(_Middle):
    def __init__(self):
        super().__init__(4)

    def helper(self, x: Tensor) -> Tensor:
        return x - self.by


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = _Scale()
        self.b = _Scale(1.0)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x) + self.b(x)


class NoAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.empty = []

    def forward(self, x: Tensor) -> Tensor:
        return x + len(self.empty)


class NotIterable(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = _Scale()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.one:
            x = layer(x)
        return x


class Recursive(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return self.forward(x)


class BadIndex(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Scale()])

    def forward(self, x: Tensor, n: int) -> Tensor:
        return self.layers[n](x)


class BadKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": _Scale()})

    def forward(self, x: Tensor) -> Tensor:
        return self.layers["b"](x)


class BadSetting(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.fresh = x
        return x
