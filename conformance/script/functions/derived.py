"""Classes that are derived, enums with automatic values, overloads by another name."""
from enum import Enum, auto
from typing import List

import torch
from torch import Tensor
from torch._jit_internal import _overload as overload


class _Base:
    def __init__(self, n: int):
        self.n = n

    def twice(self) -> int:
        return self.n * 2


class _Derived(_Base):
    def __init__(self, n: int):
        self.n = n
        self.m = n + 1

    def sum(self) -> int:
        return self.n + self.m


class _State(Enum):
    OFF = auto()
    ON = 5
    UNKNOWN = auto()


@overload
def _count(x: Tensor) -> int:  # noqa: F811
    ...


@overload
def _count(x: List[Tensor]) -> int:  # noqa: F811
    ...


def _count(x):  # noqa: F811
    if isinstance(x, Tensor):
        return x.numel()
    else:
        return len(x)


def derived_class(n: int) -> int:
    return _Derived(n).sum() + _Base(n).twice()


def automatic_values(n: int):
    return _State.OFF.value, _State.ON.name, _State.UNKNOWN.value


def member_as_text(n: int) -> str:
    return str(_State.ON)


def overloaded(x: Tensor) -> int:
    return _count(x) + _count([x, x])


def result_of_operator(x: Tensor):
    return x.max(0), torch.sort(x)


def norms(x: Tensor):
    return torch.norm(x), torch.norm(x, dim=0)
