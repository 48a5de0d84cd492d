"""Functions that stay in Python."""

from typing import List, Optional, Tuple

import torch
from torch import Tensor


@torch.jit.ignore
def _stays(x: Tensor) -> Tensor:
    return x.numpy()


@torch.jit.ignore
def _stays_with(x: Tensor, n: int = 2, name: Optional[str] = None) -> int:
    return n


@torch.jit.ignore(drop=False)
def _stays_untyped(x, y):
    return x


@torch.jit.ignore(drop=True)
def _dropped(x: Tensor, *args: int) -> Tensor:
    return x


@torch.jit.ignore
def _returns_none(x: Tensor) -> None:
    print(x)


@torch.jit.ignore
def _returns_tuple(x: Tensor) -> Tuple[Tensor, int]:
    return x, 1


def ignored_called(x: Tensor) -> Tensor:
    return _stays(x) + 1


def ignored_with_arguments(x: Tensor) -> int:
    return _stays_with(x, 3, None) + _stays_with(x, n=3, name="a")


def ignored_untyped(x: Tensor) -> Tensor:
    return _stays_untyped(x, x)


def ignored_without_result(x: Tensor) -> Tensor:
    _returns_none(x)
    return x


def ignored_pair(x: Tensor) -> int:
    a, b = _returns_tuple(x)
    return b


def ignored_in_branch(x: Tensor, flag: bool) -> Tensor:
    if flag:
        return _stays(x)
    return x


def ignored_not_scripting(x: Tensor) -> Tensor:
    if not torch.jit.is_scripting():
        return _stays(x)
    return x


def _calls_ignored(x: Tensor) -> Tensor:
    return _stays(x)


def ignored_in_callee(x: Tensor) -> Tensor:
    return _calls_ignored(x) * 2


def ignored_block(x: Tensor) -> int:
    a: int = 4
    b: int = 5
    c: int = 0
    with torch.jit._IgnoreContextManager(a="inp:int", b="inp:int", c="out:int"):
        l = [2 for i in range(a) if i > 2]
        c = l[0] + a + b
    return c + x.dim()
