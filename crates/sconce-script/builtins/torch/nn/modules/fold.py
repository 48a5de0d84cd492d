"""Sliding blocks."""
from typing import Tuple, Union

from torch import Tensor
from torch.nn import Module

from .. import functional as F


class Fold(Module):
    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]
    output_size: Union[int, Tuple[int, ...]]
    kernel_size: Union[int, Tuple[int, ...]]
    dilation: Union[int, Tuple[int, ...]]
    padding: Union[int, Tuple[int, ...]]
    stride: Union[int, Tuple[int, ...]]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(Module):
    __constants__ = ["kernel_size", "dilation", "padding", "stride"]
    kernel_size: Union[int, Tuple[int, ...]]
    dilation: Union[int, Tuple[int, ...]]
    padding: Union[int, Tuple[int, ...]]
    stride: Union[int, Tuple[int, ...]]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
