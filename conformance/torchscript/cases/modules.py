"""Modules: attributes of every type, containers, sharing, constants."""
from typing import Dict, Final, List, Optional, Tuple

import torch
from torch import Tensor, nn

from registry import case, made, t


class Unit(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@case((t(2),))
class Attributes(nn.Module):
    optional: Optional[int]
    optional_set: Optional[Tensor]
    empty: List[int]
    tables: Dict[int, List[Tensor]]
    empty_table: Dict[str, Tensor]
    optionals: List[Optional[int]]

    def __init__(self):
        super().__init__()
        self.an_int = 3
        self.a_float = 2.5
        self.a_bool = True
        self.a_str = "text é"
        self.a_complex = 1 + 2j
        self.nothing = None
        self.optional = None
        self.optional_set = t(2)
        self.ints = [1, 2]
        self.floats = [1.0, 2.0]
        self.texts = ["a", "b"]
        self.tensors = [t(1), t(2)]
        self.empty = []
        self.nested = [[1], [2, 3]]
        self.table = {"a": 1}
        self.tables = {1: [t(1)]}
        self.empty_table = {}
        self.pair = (1, "a", (2.0, t(1)))
        self.device = torch.device("cpu")
        self.dtype = torch.float64
        self.a_tensor = t(2, 2)
        self.optionals = [1, None]

    def forward(self, x: Tensor) -> Tensor:
        self.an_int += 1
        self.empty.append(self.an_int)
        self.table["b"] = 2
        if self.optional is None:
            self.optional = 5
        set_one = self.optional_set
        if set_one is not None:
            x = x + set_one
        y = torch.zeros(2, dtype=self.dtype, device=self.device)
        return x * self.a_float + self.pair[2][0] + y + len(self.a_str) + self.nested[1][0] + len(self.table)


@case((t(2),))
class Constants(nn.Module):
    __constants__ = ["listed"]
    final: Final[int] = 4
    final_text: Final[str]
    sizes: Final[List[int]]

    def __init__(self):
        super().__init__()
        self.listed = 5
        self.final_text = "constant"
        self.sizes = [1, 2]

    def forward(self, x: Tensor) -> Tensor:
        if self.listed == 5:
            x = x + self.final
        return x + len(self.final_text) + self.sizes[1]


@case((t(2),))
class ParametersAndBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(t(2))
        self.frozen = nn.Parameter(t(2), requires_grad=False)
        self.register_parameter("missing", None)
        self.register_buffer("running", torch.ones(2))
        self.register_buffer("hidden", torch.ones(2), persistent=False)
        self.register_buffer("no_buffer", None)

    def forward(self, x: Tensor) -> Tensor:
        if self.missing is None:
            x = x + 1
        self.running += x
        return x * self.weight + self.frozen + self.hidden + self.running


@case((t(2),))
class SharedModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = Unit(2)
        self.two = self.one
        self.three = Unit(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.three(self.two(self.one(x)))


@case((torch.tensor([0, 1]),))
class SharedParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(3, 2)
        self.out = nn.Linear(2, 3, bias=False)
        self.out.weight = self.embedding.weight
        self.whole = torch.zeros(4)
        self.view = self.whole[1:3]

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.embedding(x)) + self.view.sum()


@case((t(2),))
class Mangled(nn.Module):
    """Modules of one class with different types become different types."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.b = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
        self.c = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Sequential(nn.Tanh()))
        self.d = nn.Linear(2, 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.d(self.c(self.b(self.a(x))))


@case((t(2),))
class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Unit(2), nn.ReLU(), nn.Linear(2, 2)])
        self.others = nn.ModuleList([Unit(2) for _ in range(3)])
        self.empty = nn.ModuleList([])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        for i, layer in enumerate(self.others):
            x = layer(x) + i
        for one, other in zip(self.others, self.layers):
            x = one(x) + other(x)
        for layer in self.empty:
            x = layer(x)
        for layer in self.layers[1:]:
            x = layer(x)
        return self.layers[0](x) + self.others[-1](x) + len(self.layers)


@case((t(2),))
class Dicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.ModuleDict({"a": Unit(2), "b": nn.ReLU(), "0": nn.Tanh()})

    def forward(self, x: Tensor) -> Tensor:
        for name, layer in self.table.items():
            x = layer(x) + len(name)
        for layer in self.table.values():
            x = layer(x)
        for name in self.table.keys():
            x = x + len(name)
        if "a" in self.table:
            x = self.table["a"](x)
        return x + len(self.table)


@case((t(2),))
class SequentialLoops(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Dropout(0.5)))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.layers(x) + self.layers[0](x)


@case((t(2),))
class ParameterLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.list = nn.ParameterList([nn.Parameter(t(2)), nn.Parameter(t(2) + 1)])

    def forward(self, x: Tensor) -> Tensor:
        for parameter in self.list:
            x = x + parameter
        return x


@case((t(2),))
class Children(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Unit(2)
        self.b = nn.ReLU()
        self.weight = nn.Parameter(t(2))

    def forward(self, x: Tensor) -> Tensor:
        for child in self.children():
            x = x + 1
        for name, child in self.named_children():
            x = x + len(name)
        return self.b(self.a(x)) * self.weight


@case((t(2), True), (t(2), False))
class TrainingMode(nn.Module):
    def forward(self, x: Tensor, flag: bool) -> Tensor:
        if self.training and flag:
            return x * 2
        return torch.dropout(x, 0.5, self.training)


@case((t(2),))
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Sequential(nn.Sequential(Unit(2))))

    def forward(self, x: Tensor) -> Tensor:
        return self.a[0][0][0].linear.weight @ self.a(x)


@case((t(1, 1, 4, 4),))
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        x = self.pool(torch.relu(self.norm(self.conv(x))))
        logits = self.head(x.flatten(1))
        return {"logits": logits, "best": logits.argmax(1)}


@case((t(2),))
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        for number, dtype in enumerate([torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8,
                                        torch.int16, torch.int32, torch.int64, torch.bool, torch.complex64]):
            self.register_buffer(f"buffer_{number}", t(3).to(dtype))
        self.register_buffer("strided", t(3, 4).t())
        self.register_buffer("scalar", torch.tensor(2.0))
        self.register_buffer("none", torch.zeros(0, 2))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scalar + self.strided.sum() + self.buffer_7.sum()


@made((t(2),))
def frozen():
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.5)).eval()
    return torch.jit.freeze(torch.jit.script(module))


@made((t(2),))
def defined_from_text():
    module = torch.jit.ScriptModule()
    module.define("""
def helper(self, x, n: int=2):
    return x * n
def forward(self, x):
    return self.helper(x) or_ self.helper(x, 3)
""".replace("or_", "+"))
    return module


@made((t(3),))
def tensor_constants():
    """Tensors that became constants: traced ones do."""
    weight, index = t(3) * 3, torch.tensor([2, 0])
    return torch.jit.trace(lambda x: (x * weight)[index] + weight.sum() + torch.tensor([True, False]), t(3))


# What names its stretches for a profiler.

@case((t(3),))
class Profiled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.autograd.profiler.record_function("first"):
            x = x * 2
            with torch.profiler.record_function("second"):
                x = x + 1
        return x
