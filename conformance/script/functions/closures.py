"""Functions that other functions return, and functions given as values."""

import functools
from typing import Callable, List

import torch
from torch import Tensor


def _helper(x: Tensor) -> Tensor:
    return x + 1


def _make():
    def inner(x: Tensor) -> Tensor:
        return _helper(x) * 2

    return inner


def _make_with(function):
    def inner(x: Tensor) -> Tensor:
        return function(x) - 1

    return inner


def _make_deep():
    def outermost():
        def inner(x: Tensor, k: int = 3) -> Tensor:
            """Deep."""
            y = x
            for i in range(k):
                y = y + i
            return y

        return inner

    return outermost()


def _make_called():
    def other(x: Tensor) -> Tensor:
        return x * 5

    def inner(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return other(x)
        return x

    return inner


made = _make()
made_with = _make_with(torch.relu)
made_with_own = _make_with(_helper)
made_deep = _make_deep()
made_called = _make_called()


def calls_made(x: Tensor) -> Tensor:
    return made(x)


def calls_made_with(x: Tensor) -> Tensor:
    return made_with(x) + made_with_own(x)


def calls_made_deep(x: Tensor) -> Tensor:
    return made_deep(x) + made_deep(x, 2)


def calls_made_called(x: Tensor) -> Tensor:
    return made_called(x)


_activation = torch.nn.functional.relu
_table_function = torch.sigmoid


def calls_alias(x: Tensor) -> Tensor:
    return _activation(x) + _table_function(x)
