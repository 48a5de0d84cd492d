"""Padding layers."""
from typing import Tuple

from torch import Tensor
from torch.nn import Module

from .. import functional as F
from .utils import _ntuple_of, _pair, _quadruple


class CircularPad1d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _pair(padding)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, "circular")


class CircularPad2d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int, int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _quadruple(padding)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, "circular")


class CircularPad3d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int, int, int, int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple_of(padding, 6)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (4, 5):
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, "circular")


class ReflectionPad1d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _pair(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad2d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int, int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _quadruple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad3d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int, int, int, int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple_of(padding, 6)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReplicationPad1d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _pair(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad2d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int, int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _quadruple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad3d(Module):
    __constants__ = ["padding"]
    padding: Tuple[int, int, int, int, int, int]

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple_of(padding, 6)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ConstantPad1d(Module):
    __constants__ = ["padding", "value"]
    padding: Tuple[int, int]
    value: float

    def __init__(self, padding, value):
        super().__init__()
        self.padding = _pair(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ZeroPad1d(ConstantPad1d):
    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ConstantPad2d(Module):
    __constants__ = ["padding", "value"]
    padding: Tuple[int, int, int, int]
    value: float

    def __init__(self, padding, value):
        super().__init__()
        self.padding = _quadruple(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ZeroPad2d(ConstantPad2d):
    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ConstantPad3d(Module):
    __constants__ = ["padding", "value"]
    padding: Tuple[int, int, int, int, int, int]
    value: float

    def __init__(self, padding, value):
        super().__init__()
        self.padding = _ntuple_of(padding, 6)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ZeroPad3d(ConstantPad3d):
    def __init__(self, padding):
        super().__init__(padding, 0.0)
