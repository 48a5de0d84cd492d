"""What modules are made of and how programs go through it."""
import enum
from collections import OrderedDict
from typing import Dict, Final, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor


class _Scale(nn.Module):
    def __init__(self, by: float = 2.0):
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by

    def undo(self, x: Tensor) -> Tensor:
        return x / self.by


class _Shift(nn.Module):
    __constants__ = ["by"]

    def __init__(self, by: int):
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


class NestedSequential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Sequential(_Scale(), _Shift(1)), nn.Sequential(_Scale(3.0)))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x) + self.net[0][1](x)


class NamedSequential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(OrderedDict([("scale", _Scale()), ("shift", _Shift(2))]))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x) + self.net.scale(x)


class SequentialItself(nn.Sequential):
    def __init__(self):
        super().__init__(_Scale(), _Shift(3))


class SequentialOwnForward(nn.Sequential):
    def __init__(self):
        super().__init__(_Scale(), _Shift(3))
        self.extra = 2

    def forward(self, x: Tensor) -> Tensor:
        for layer in self:
            x = layer(x)
        return x * self.extra


class ListOfLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.ModuleList([nn.ModuleList([_Shift(i * 2 + j) for j in range(2)]) for i in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        for row in self.rows:
            for cell in row:
                x = cell(x)
        return x


class ListChanges(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        self.layers.append(_Scale())
        self.layers.extend([_Shift(1), _Shift(2)])
        self.layers.insert(0, _Scale(4.0))
        self.layers += [_Shift(5)]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class ZippedLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ModuleList([_Scale(), _Scale(3.0)])
        self.b = nn.ModuleList([_Shift(1), _Shift(2)])

    def forward(self, x: Tensor) -> Tensor:
        for a, b in zip(self.a, self.b):
            x = b(a(x))
        for number, (a, b) in enumerate(zip(self.a, self.b)):
            x = a(b(x)) + number
        return x


class ListAndInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Scale(), _Scale(3.0)])

    def forward(self, x: Tensor) -> List[Tensor]:
        out: List[Tensor] = []
        for number, layer in enumerate(self.layers, 1):
            if number % 2 == 0:
                out.append(layer(x))
            else:
                out.append(layer(x) + number)
        return out


class ListComprehension(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Scale(), _Scale(3.0)])

    def forward(self, x: Tensor) -> Tensor:
        outs: List[Tensor] = []
        for layer in self.layers:
            outs.append(layer(x))
        return torch.stack(outs).sum(0) / len(self.layers)


class Slices(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Shift(i) for i in range(5)])

    def forward(self, x: Tensor) -> Tensor:
        for first in self.layers[:2]:
            x = first.forward(x)
        for second in self.layers[::2]:
            x = second.forward(x) * 2
        for third in self.layers[-2:]:
            x = third.forward(x)
        return x


class DictByKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict([["one", _Scale()], ["two", _Shift(1)]])
        self.layers["three"] = _Scale(0.5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers["three"](self.layers["two"](x))
        for key in self.layers:
            x = x + len(key)
        for key in self.layers.keys():
            x = x - len(key)
        if "four" in self.layers:
            x = x * 100
        return x + len(self.layers)


class EmptyContainers(nn.Module):
    def __init__(self):
        super().__init__()
        self.list = nn.ModuleList()
        self.dict = nn.ModuleDict()
        self.sequence = nn.Sequential()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.list:
            x = layer(x)
        for name, layer in self.dict.items():
            x = layer(x)
        if "a" in self.dict:
            x = x + 1
        return x + len(self.list)


class Children(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = _Scale()
        self.b = _Scale(3.0)

    def forward(self, x: Tensor) -> Tensor:
        for child in self.children():
            x = child(x)
        for name, child in self.named_children():
            x = child(x) + len(name)
        return x


class NamedModules(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(_Scale(), _Scale(3.0))

    def forward(self, x: Tensor) -> Tensor:
        for name, module in self.named_modules():
            x = x + len(name)
        return x


class ParameterLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(3) * i) for i in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for number, weight in enumerate(self.weights):
            x = x + weight * number
        return x * self.weights[1] + self.weights[-1]


class ParameterDicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterDict({"left": nn.Parameter(torch.ones(3)), "right": nn.Parameter(torch.zeros(3))})

    def forward(self, x: Tensor) -> Tensor:
        x = x * self.weights["left"]
        return x + self.weights["right"]


class MissingSubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = None
        self.act = _Scale()
        self.skip = None
        self.add_module("none", None)

    def forward(self, x: Tensor) -> Tensor:
        if self.norm is not None:
            x = self.norm(x)
        if self.none is not None:
            x = self.none(x)
        return self.act(x)


class OptionalSubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = _Inner(_Shift(1))
        self.plain = _Inner(None)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(x) + self.plain(x)


class _Inner(nn.Module):
    def __init__(self, inner: Optional[nn.Module]):
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        if self.inner is not None:
            x = self.inner(x)
        return x


class HasAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 3

    def forward(self, x: Tensor) -> Tensor:
        if hasattr(self, "a"):
            x = x + self.a
        if hasattr(self, "b"):
            x = x * self.b
        return x + getattr(self, "a") + getattr(self, "c", 7)


class SubmoduleMethods(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = _Scale()

    def forward(self, x: Tensor) -> Tensor:
        y = self.scale.undo(x)
        return self.scale.forward(y) + self.scale.by


class SubmoduleAlias(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = _Scale()

    def forward(self, x: Tensor) -> Tensor:
        scale = self.scale
        return scale(x) + scale.undo(x)


class ExportedDefaults(nn.Module):
    def forward(self, x: Tensor, n: int = 2, flag: bool = False) -> Tensor:
        return self.helper(x) if flag else self.helper(x, n)

    def helper(self, x: Tensor, n: int = 5) -> Tensor:
        return x + n

    @torch.jit.export
    def also(self, x: Tensor, names: Optional[List[str]] = None) -> int:
        if names is None:
            return 0
        return len(names)


class PropertySetter(nn.Module):
    def __init__(self):
        super().__init__()
        self._size = 3

    @property
    def size(self) -> int:
        return self._size

    @size.setter
    def size(self, value: int) -> None:
        self._size = value

    def forward(self, x: Tensor) -> Tensor:
        self.size = self.size + 1
        return x + self.size


class UnusedProperty(nn.Module):
    __jit_unused_properties__ = ["fancy"]

    @property
    def fancy(self):
        return [y for y in self.__dict__ if y]

    def forward(self, x: Tensor) -> Tensor:
        return x


class _Counter(nn.Module):
    count: int

    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        return x + self.count


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = _Counter()
        self.steps = 0
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.counter(x)
        self.steps += 2
        self.total += x.sum()
        self.counter.count = 7
        return x + self.total + self.steps


class Pair(NamedTuple):
    low: int
    high: float


class Shade(enum.Enum):
    DARK = 1
    LIGHT = 2


class NamedAttributes(nn.Module):
    pair: Pair

    def __init__(self):
        super().__init__()
        self.pair = Pair(1, 2.5)
        self.other = Pair(2, 3.5)
        self.shade = Shade.LIGHT

    def forward(self, x: Tensor) -> Tensor:
        if self.shade == Shade.LIGHT:
            x = x + self.pair.low
        return x * self.pair.high + self.other[1]


class TensorAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = torch.arange(3.0)
        self.table = [torch.ones(3), torch.zeros(3)]
        self.by_name = {"a": torch.full((3,), 2.0)}
        self.dtype = torch.float64

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.offset + self.table[0] * self.by_name["a"]).to(self.dtype)


class TiedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x) + self.b(x)


class ClassConstants(nn.Module):
    __constants__ = ["sizes", "names"]
    depth: Final[int] = 2
    sizes = [1, 2, 3]
    names = ("a", "b")

    def forward(self, x: Tensor) -> Tensor:
        for size in self.sizes:
            x = x + size
        for name in self.names:
            x = x * len(name)
        return x


class ManySharedTypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = _Shift(1)
        self.b = _Shift(2)
        self.c = _Shift(1)
        self.d = _Scale(1.0)
        self.e = _Scale(5.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.e(self.d(self.c(self.b(self.a(x)))))


class _Mixin:
    def mixed(self, x: Tensor) -> Tensor:
        return x + self.n


class MixedIn(_Mixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 4

    def forward(self, x: Tensor) -> Tensor:
        return self.mixed(x)


class _Middle(_Scale):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.twice = nn.Sequential(_Scale(), _Scale())

    def forward(self, x: Tensor) -> Tensor:
        return self.twice(self.scaled(x))

    def scaled(self, x: Tensor) -> Tensor:
        return x * self.by


class DeepInheritance(_Middle):
    def __init__(self):
        super().__init__(by=0.25)

    def scaled(self, x: Tensor) -> Tensor:
        return x - self.by


class Forked(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = _Scale()

    def slow(self, x: Tensor, n: int) -> Tensor:
        return x + n

    def forward(self, x: Tensor) -> Tensor:
        a = torch.jit.fork(self.slow, x, 2)
        b = torch.jit.fork(self.scale, x)
        return torch.jit.wait(a) + torch.jit.wait(b)


class EarlyAttribute(nn.Module):
    def __init__(self):
        self.before = 3
        super().__init__()
        self.after = 4

    def forward(self, x: Tensor) -> Tensor:
        return x + self.before + self.after


class IgnoredAttributes(nn.Module):
    __jit_ignored_attributes__ = ["helper"]

    def __init__(self):
        super().__init__()
        self.helper = 3
        self.kept = 4

    def forward(self, x: Tensor) -> Tensor:
        return x + self.kept


@torch.jit.interface
class _Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class InterfaceInLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Scale(), _Scale(3.0)])

    def forward(self, x: Tensor, which: int) -> Tensor:
        step: _Step = self.layers[which]
        return step.forward(x)


class PackedWeights(nn.Module):
    """Positions are computed, as encodings of transformers are."""

    def __init__(self, width: int = 4, length: int = 6):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        steps = torch.exp(torch.arange(0, width, 2) * (-torch.log(torch.tensor(10000.0)) / width))
        table = torch.zeros(length, 1, width)
        table[:, 0, 0::2] = torch.sin(position * steps)
        table[:, 0, 1::2] = torch.cos(position * steps)
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[:x.size(0)]


class TupleResult(nn.Module):
    def __init__(self):
        super().__init__()
        self.split = _Split()

    def forward(self, x: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
        low, high = self.split(x)
        return low + high, {"low": low, "high": high}


class _Split(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return x.clamp(max=1.0), x.clamp(min=1.0)


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


CALLS = {
    "PackedWeights": [(t(3, 2, 4),)],
    "ParameterLists": [(t(2, 3),)],
    "ParameterDicts": [(t(2, 3),)],
    "TensorAttributes": [(t(2, 3),)],
    "TiedWeights": [(t(2, 3),)],
    "InterfaceInLists": [(t(2, 3), 1)],
}
