"""The names that a function sees which torch.no_grad() and its like stand before."""
import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any, cast, overload, TypeVar

FuncType = Callable[..., Any]
F = TypeVar("F", bound=FuncType)
