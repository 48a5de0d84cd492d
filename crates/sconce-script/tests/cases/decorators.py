import functools
import inspect

import torch
from torch import Tensor, nn


def _says_more(fn):
    names = inspect.getfullargspec(fn).args

    @functools.wraps(fn)
    def inner(x: Tensor, y: int = 3) -> Tensor:
        return fn(x) + len(names) + y

    return inner


def _says_nothing(fn):
    def inner(x: Tensor) -> Tensor:
        return fn(x) + 2

    return inner


@_says_more
def wrapped(x: Tensor, k: int = 4) -> Tensor:
    return x * k


@_says_nothing
def _hidden(x: Tensor) -> Tensor:
    return x - 1


def calls(x: Tensor) -> Tensor:
    return wrapped(x) + _hidden(x)


@functools.lru_cache(None)
def cached(x: int) -> int:
    return x + 1


@_says_more
def sees_what_stands_for_it(x: Tensor) -> Tensor:
    return fn(x)


if torch.__version__ < "2.4":
    def _chosen(x: Tensor) -> Tensor:
        return x - 1
else:
    def _chosen(x: Tensor) -> Tensor:
        return x + 1


def chooses(x: Tensor) -> Tensor:
    return _chosen(x)


def slices(x: Tensor) -> Tensor:
    s = slice(None, 3)
    return x[s, 0, s]


def _of_method(fn):
    @functools.wraps(fn)
    def inner(self, x: Tensor) -> Tensor:
        return fn(self, x) * self.k

    return inner


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.chosen = self.fast
        self.hidden = _says_nothing(_chosen)

    def forward(self, x: Tensor) -> Tensor:
        return self.chosen(x)

    def chosen(self, x: Tensor) -> Tensor:
        return x

    @_of_method
    def fast(self, x: Tensor) -> Tensor:
        return self.hidden(x) + self.k
