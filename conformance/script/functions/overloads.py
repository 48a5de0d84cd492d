"""Signatures beside a definition: typing's, which mean nothing to programs, and PyTorch's own."""
from typing import Optional, overload

import torch
from torch import Tensor, nn


@overload
def _plain(x: int) -> int: ...
@overload
def _plain(x: Tensor, y: int) -> Tensor: ...
def _plain(x: Tensor, y: int = 2) -> Tensor:
    return x + y


def of_typing(x: Tensor) -> Tensor:
    return _plain(x)


@torch.jit._overload
def _both(x: int) -> int: ...
@torch.jit._overload
def _both(x: Tensor) -> Tensor: ...
def _both(x):
    return x * 2


def of_torch(x: Tensor, n: int) -> Tensor:
    return _both(x) + _both(n)


class TypingMethods(nn.Module):
    @overload
    def forward(self, x: Tensor) -> Tensor: ...
    @overload
    def forward(self, x: Tensor, y: Tensor) -> Tensor: ...
    def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:
        if y is None:
            return x
        return x + y


class TorchMethods(nn.Module):
    @torch.jit._overload_method
    def h(self, x: int) -> int: ...
    @torch.jit._overload_method
    def h(self, x: Tensor) -> Tensor: ...
    def h(self, x):
        return x + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.h(x) + self.h(3)


CALLS = {
    "of_typing": [(torch.ones(2),)],
    "of_torch": [(torch.ones(2), 3)],
    "TypingMethods": [(torch.ones(2), torch.ones(2))],
    "TorchMethods": [(torch.ones(2),)],
}
