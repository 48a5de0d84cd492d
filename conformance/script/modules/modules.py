"""nn.Module classes as they are written."""
from typing import Dict, Final, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class Empty(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class OneLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x):
        return self.fc(x)


class OldSuper(nn.Module):
    def __init__(self):
        super(OldSuper, self).__init__()
        self.fc = torch.nn.Linear(3, 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.fc(x))


class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))
        self.bias = nn.Parameter(torch.zeros(3), requires_grad=False)
        self.register_parameter("scale", nn.Parameter(torch.ones(1)))
        self.register_parameter("nothing", None)

    def forward(self, x: Tensor) -> Tensor:
        if self.nothing is not None:
            x = x + self.nothing
        return x * self.weight * self.scale + self.bias


class BuffersKept(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("hidden", torch.ones(3), persistent=False)
        self.register_buffer("missing", None)

    def forward(self, x: Tensor) -> Tensor:
        self.seen = self.seen + x
        self.seen.add_(1)
        return self.seen * self.hidden


class PlainAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.number = 3
        self.factor = 1.5
        self.flag = True
        self.name = "name"
        self.sizes = [1, 2]
        self.pair = (1, "a")
        self.table = {"a": 1}
        self.nothing = None
        self.where = torch.device("cpu")
        self.unused = lambda x: x

    def forward(self, x: Tensor) -> Tensor:
        if self.flag and self.nothing is None:
            x = x * self.factor + self.number + self.sizes[1] + self.pair[0] + self.table["a"] + len(self.name)
        return x.to(self.where)


class AnnotatedAttributes(nn.Module):
    count: int
    cache: Optional[Tensor]
    history: List[Tensor]
    lookup: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.count = 0
        self.cache = None
        self.history = []
        self.lookup = {}
        self.inline: Optional[int] = None

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.cache = x
        self.history.append(x)
        self.lookup["x"] = self.count
        return x + self.count


class Constants(nn.Module):
    __constants__ = ["width", "mode"]
    depth: Final[int]

    def __init__(self):
        super().__init__()
        self.width = 4
        self.mode = "double"
        self.depth = 2
        self.other: Final[float] = 0.5

    def forward(self, x: Tensor) -> Tensor:
        if self.mode == "double":
            x = x * 2
        for _ in range(self.depth):
            x = x + self.width
        return x * self.other


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(x) + self.first(x, 2)

    def first(self, x: Tensor, n: int = 1) -> Tensor:
        return self.fc(x) * n

    def second(self, x: Tensor) -> Tensor:
        """Calls the first."""
        return self.first(x) - 1

    def never_called(self, x):
        return [y for y in x if y]


class Exported(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def scaled(self, x: Tensor, by: float) -> Tensor:
        return self._helper(x) * by

    def _helper(self, x: Tensor) -> Tensor:
        return x + 1


class IgnoredMethods(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.dim() > 8:
            return self.python_only(x)
        return x

    @torch.jit.unused
    def python_only(self, x: Tensor) -> Tensor:
        return sorted(x, key=lambda y: y)[0]


class StaticMethods(nn.Module):
    @staticmethod
    def double(x: Tensor) -> Tensor:
        return x * 2

    def forward(self, x: Tensor) -> Tensor:
        return self.double(x)


class Properties(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 3

    @property
    def doubled(self) -> int:
        return self.size * 2

    def forward(self, x: Tensor) -> Tensor:
        return x + self.doubled


class _Block(nn.Module):
    def __init__(self, width: int, scale: float = 1.0):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.fc(x)) * self.scale


class Submodules(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = _Block(3)
        self.b = _Block(3, scale=2.0)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.b(self.a(x)) + self.a.fc(x) + self.b.scale)


class SharedSubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = _Block(3)
        self.again = self.a

    def forward(self, x: Tensor) -> Tensor:
        return self.again(self.a(x))


class SequentialLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class SequentialIndexed(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.body:
            x = layer(x)
        return self.body[0](x) + len(self.body)


class ModuleLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Block(3) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for layer in self.layers[1:]:
            x = layer(x)
        return self.layers[-1](x)


class ModuleDicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"first": nn.Linear(3, 3), "second": nn.Sigmoid()})

    def forward(self, x: Tensor) -> Tensor:
        for name, layer in self.layers.items():
            x = layer(x) * len(name)
        if "first" in self.layers:
            x = self.layers["first"](x)
        for layer in self.layers.values():
            x = layer(x)
        return x


class ParameterContainers(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.ParameterList([nn.Parameter(torch.randn(3)) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        for item in self.items:
            x = x * item
        return x


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 2, kernel_size=(3, 3), stride=2, bias=False)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(2, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = F.relu(self.conv2(x))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return F.log_softmax(self.fc(self.drop(x)), dim=1)


class TrainingBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            return self.bn(x)
        return x


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, num_layers=2, batch_first=True)
        self.out = nn.Linear(4, 2)

    def forward(self, x: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None):
        y, state = self.rnn(x, state)
        return self.out(y), state


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.rnn = nn.GRU(4, 3, bidirectional=True)

    def forward(self, tokens: Tensor) -> Tensor:
        y, h = self.rnn(self.embed(tokens))
        return y.sum() + h


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x: Tensor) -> List[Tensor]:
        h = torch.zeros(x.size(0), 4)
        c = torch.zeros(x.size(0), 4)
        out: List[Tensor] = []
        for _ in range(3):
            h, c = self.cell(x, (h, c))
            out.append(h)
        return out


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(4, 2, batch_first=True)
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.attn(x, x, x, need_weights=False)
        return self.norm(x + y)


class _Result(NamedTuple):
    logits: Tensor
    hidden: Tensor


class NamedResult(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> _Result:
        hidden = self.fc(x)
        return _Result(hidden.relu(), hidden)


class _Base(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.n = n

    def helper(self, x: Tensor) -> Tensor:
        return x * self.n

    def forward(self, x: Tensor) -> Tensor:
        return self.helper(x)


class Inherited(_Base):
    def __init__(self):
        super().__init__(4)

    def helper(self, x: Tensor) -> Tensor:
        return x + self.n


def _free_function(x: Tensor, n: int) -> Tensor:
    return x * n


class CallsFunctions(nn.Module):
    def __init__(self):
        super().__init__()
        self.function = _free_function
        self.act = F.gelu
        self.op = torch.sigmoid

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, 3) + _free_function(x, 2) + self.op(x) + self.act(x)


class InitLoops(nn.Module):
    def __init__(self, widths=(3, 5, 2)):
        super().__init__()
        layers = []
        for i in range(len(widths) - 1):
            layers.append(nn.Linear(widths[i], widths[i + 1]))
            if i + 2 < len(widths):
                layers += [nn.ReLU(inplace=True)]
        self.net = nn.Sequential(*layers)
        nn.init.zeros_(self.net[0].bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


@torch.jit.interface
class _Transform(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Interface(nn.Module):
    chosen: _Transform

    def __init__(self):
        super().__init__()
        self.chosen = _Block(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.chosen.forward(x)


class IsScripting(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            return x + 1
        return x.numpy()


class Transposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(2, 3, 2, stride=2)
        self.norm = nn.GroupNorm(1, 3)
        self.pad = nn.ReflectionPad2d(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.up(self.pad(x)))


class NoForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 2

    @torch.jit.export
    def run(self, x: Tensor) -> Tensor:
        return x + self.n


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


CALLS = {
    "OneLinear": [(t(2, 3),)],
    "OldSuper": [(t(2, 3),)],
    "Parameters": [(t(2, 3),)],
    "BuffersKept": [(t(3),)],
    "Methods": [(t(2, 3),)],
    "Submodules": [(t(2, 3),)],
    "SharedSubmodule": [(t(2, 3),)],
    "SequentialLayers": [(t(2, 3),)],
    "SequentialIndexed": [(t(2, 3),)],
    "ModuleLists": [(t(2, 3),)],
    "ModuleDicts": [(t(2, 3),)],
    "ParameterContainers": [(t(2, 3),)],
    "ConvNet": [(t(2, 1, 8, 8) / 50,)],
    "TrainingBranch": [(t(2, 3),)],
    "Recurrent": [(t(2, 5, 3) / 10,)],
    "Gated": [(torch.tensor([[1, 2], [3, 4]]),)],
    "Cells": [(t(2, 3),)],
    "Attention": [(t(2, 3, 4) / 10,)],
    "NamedResult": [(t(2, 3),)],
    "InitLoops": [(t(2, 3),)],
    "Interface": [(t(2, 3),)],
    "Transposed": [(t(1, 2, 4, 4),)],
    "NoForward": [],
    "Encoder": [(t(2, 3, 4) / 10,)],
}
