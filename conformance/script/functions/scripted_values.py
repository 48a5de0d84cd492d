"""What torch.jit.script gave at the top of a file, called."""

import torch
from torch import Tensor


def _make():
    def inner(x: Tensor) -> Tensor:
        return x * 2

    return inner


def _plain(x: Tensor, by: int = 3) -> Tensor:
    return x + by


_scripted_made = torch.jit.script(_make())
_scripted_plain = torch.jit.script(_plain)


def calls_scripted_made(x: Tensor) -> Tensor:
    return _scripted_made(x)


def calls_scripted_plain(x: Tensor) -> Tensor:
    return _scripted_plain(x) * _scripted_plain(x, 1)
