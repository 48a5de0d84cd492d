"""nn.Module classes that cannot be compiled."""
from typing import Final

import torch.nn as nn
from torch import Tensor


class MissingAttribute(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.weight


class MissingMethod(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return self.helper(x)


class PythonAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.things = {1, 2}

    def forward(self, x: Tensor) -> Tensor:
        if 1 in self.things:
            return x
        return x + 1


class EmptyListAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = []

    def forward(self, x: Tensor) -> Tensor:
        self.items.append(x)
        return x


class NewAttribute(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.y = x
        return x


class AttributeType(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 1

    def forward(self, x: Tensor) -> Tensor:
        self.n = 1.5
        return x


class FinalAssigned(nn.Module):
    n: Final[int]

    def __init__(self):
        super().__init__()
        self.n = 1

    def forward(self, x: Tensor) -> Tensor:
        self.n = 2
        return x


class ErrorInMethod(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return self.helper(x)

    def helper(self, x: Tensor) -> Tensor:
        y = x
        return y.no_such_method()


class _Child(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.no_such_method()


class ErrorInChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = _Child()

    def forward(self, x: Tensor) -> Tensor:
        return self.child(x)


class IndexedByNumber(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])

    def forward(self, x: Tensor, i: int) -> Tensor:
        return self.layers[i](x)


class ListOutOfRange(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU()])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers[3](x)


class BreakInModuleList(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
            break
        return x


class MissingKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.ReLU()})

    def forward(self, x: Tensor) -> Tensor:
        return self.layers["b"](x)


class LambdaAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = lambda x: x + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.act(x)


class WrongChildArguments(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x, 2)


class SuperCalled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


class ReassignedChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.fc = nn.Linear(3, 3)
        return x
