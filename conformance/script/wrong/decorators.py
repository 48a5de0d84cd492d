"""What PyTorch refuses of decorated functions, named slices, values of the top of a file and odd constants."""
import functools
import typing
from typing import List, TYPE_CHECKING

import numpy as np
import torch
from packaging import version
from torch import Tensor, nn

IS_NEW = version.parse(torch.__version__) >= version.parse("1.8")


def _helper(x: Tensor) -> Tensor:
    return x + 1


def _shorter(fn):
    @functools.wraps(fn)
    def inner(x: Tensor, y: int = 3) -> Tensor:
        return fn(x) + y

    return inner


@_shorter
def _one_argument(x: Tensor) -> Tensor:
    return x + 1


def too_many_arguments(x: Tensor) -> Tensor:
    return _one_argument(x, 2)


@torch.no_grad()
def name_of_another_file(x: Tensor) -> Tensor:
    return _helper(x)


@torch.inference_mode()
def torch_in_another_file(x: Tensor) -> Tensor:
    return torch.relu(x)


@torch.autocast("cpu")
def in_autocast(x: Tensor) -> Tensor:
    return x + 1


@functools.lru_cache(None)
def cached(x: int) -> int:
    return x + 1


def flag_of_the_top(x: Tensor) -> Tensor:
    if IS_NEW:
        return x
    return x + 1


def flag_of_checkers(x: Tensor) -> Tensor:
    if TYPE_CHECKING:
        return x
    return x + 1


def no_bounds(x: Tensor) -> Tensor:
    s = slice()
    return x[s]


def four_bounds(x: Tensor) -> Tensor:
    return x[slice(1, 2, 3, 4)]


def named_bound(x: Tensor) -> Tensor:
    return x[slice(stop=1)]


def slice_again(x: Tensor) -> Tensor:
    s = slice(1, 3)
    if x.dim() > 1:
        s = slice(0, 1)
    return x[s]


def slice_given_back(x: Tensor) -> Tensor:
    s = slice(1, 3)
    return s


def slice_in_tuple(x: Tensor) -> Tensor:
    s = (slice(1, 3), 0)
    return x[s]


def slice_of_list_assigned(x: List[Tensor]) -> List[Tensor]:
    s = slice(0, 4, 2)
    x[s] = x
    return x


def attribute_of_slice(x: Tensor) -> int:
    s = slice(1, 3)
    return s.start


class _Sizes(tuple):
    pass


def makes_sizes(x: Tensor) -> Tensor:
    t = _Sizes((x, x))
    return x


def takes_sizes(x: _Sizes) -> Tensor:
    return x[0]


class NumpyAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = np.prod([2, 3])

    def forward(self, x: Tensor) -> Tensor:
        return x + self.n


class NumpyConstant(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(np.prod([2, 3]), 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class MethodByAnotherName(nn.Module):
    def __init__(self):
        super().__init__()
        self.chosen = self.fast

    def fast(self, x: Tensor) -> Tensor:
        return x + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.chosen(x)


class ConstantOfNothing(nn.Module):
    __constants__ = ["k"]

    def __init__(self):
        super().__init__()
        self.k = [1, (2, {})]

    def forward(self, x: Tensor) -> Tensor:
        return x
