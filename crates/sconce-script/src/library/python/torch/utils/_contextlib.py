"""The names that a function sees which torch.no_grad() and its like stand before."""
import functools
import inspect
import sys
import warnings
from typing import Any, Callable, cast, TypeVar

import torch

FuncType = Callable[..., Any]
F = TypeVar("F", bound=FuncType)
