"""What decorators put in the place of a function, and what PyTorch compiles then: the text of the innermost
function that one says it wraps, among the names of the one that stands for it."""
import functools
import inspect
import typing

import torch
from torch import Tensor, nn


def _passes_on(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        return fn(*args, **kwargs)

    return inner


def _says_more(fn):
    @functools.wraps(fn)
    def inner(x):
        return fn(x) + 1

    return inner


def _has_a_signature(fn):
    names = inspect.getfullargspec(fn).args

    @functools.wraps(fn)
    def inner(x: Tensor, y: int = 3) -> Tensor:
        return x * len(names) + y

    return inner


def _gives_back(fn):
    spec = inspect.getfullargspec(fn)
    if "x" not in spec.args or spec.varargs is not None:
        raise ValueError("no x")
    fn.count = len(spec.args) - len(spec.defaults or ())
    return fn


def _says_nothing(fn):
    def inner(x: Tensor) -> Tensor:
        return x + 2

    return inner


def _minus_five(x: Tensor) -> Tensor:
    return x - 5


def _replaced(fn):
    return _minus_five


@_passes_on
def passed_on(x: Tensor) -> Tensor:
    return _minus_five(x) + 1


@_says_more
def says_more(x: Tensor) -> Tensor:
    return x + 1


@_has_a_signature
def has_a_signature(x: Tensor) -> Tensor:
    return x + 1


@_gives_back
def given_back(x: Tensor, k: int = 2) -> Tensor:
    return x + k


@_says_nothing
def _says_nothing_at_all(x: Tensor) -> Tensor:
    return x + 1


@_replaced
def _is_replaced(x: Tensor) -> Tensor:
    return x + 1


@_passes_on
@_says_more
def twice(x: Tensor, k: int = 4) -> Tensor:
    return x * k


@torch.no_grad()
def without_gradients(x: Tensor, k: float = 2.0) -> Tensor:
    return x * k


@torch.inference_mode()
def in_inference(x: Tensor) -> Tensor:
    return x.relu()


@typing.no_type_check
def not_checked(x):
    return x + 1


def calls_them(x: Tensor) -> Tensor:
    return passed_on(x) + says_more(x) + given_back(x) + _says_nothing_at_all(x) + _is_replaced(x) + twice(x)


def _of_method(fn):
    @functools.wraps(fn)
    def inner(self, x: Tensor) -> Tensor:
        return fn(self, x) * self.k

    return inner


class DecoratedMethods(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    @_of_method
    def scaled(self, x: Tensor) -> Tensor:
        return x + self.k

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(x)


class ChosenForward(nn.Module):
    def __init__(self, fast: bool = True):
        super().__init__()
        if fast:
            self.forward = self.forward_fast

    def forward(self, x: Tensor) -> Tensor:
        return x

    def forward_fast(self, x: Tensor) -> Tensor:
        return x + 1


def _makes(k):
    def inner(x: Tensor) -> Tensor:
        return _minus_five(x)

    return inner


class HoldsClosure(nn.Module):
    def __init__(self):
        super().__init__()
        self.function = _makes(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


CALLS = {
    "passed_on": [(torch.ones(2),)],
    "says_more": [(torch.ones(2),)],
    "has_a_signature": [(torch.ones(2),)],
    "given_back": [(torch.ones(2), 5)],
    "twice": [(torch.ones(2), 4)],
    "without_gradients": [(torch.ones(2), 2.0)],
    "in_inference": [(torch.ones(2),)],
    "calls_them": [(torch.ones(2),)],
    "DecoratedMethods": [(torch.ones(2),)],
    "ChosenForward": [(torch.ones(2),)],
    "HoldsClosure": [(torch.ones(2),)],
}
