"""What names at the top of files are bound to by code that has to run."""
import enum
import importlib
import inspect
import keyword
import math
import os
from collections import namedtuple
from math import comb, inf
from typing import List

import numpy as np
import torch
from torch import Tensor, nn

try:
    from library_that_nobody_has import Layer, scale
except ImportError:
    Layer = None

    def scale(x: Tensor) -> Tensor:
        return x * 3


try:
    import library_that_nobody_has

    STEPS = 5
except ImportError:
    STEPS = 2

if "SCONCE_NOBODY_SETS_THIS" in os.environ:
    WIDTH = int(os.environ["SCONCE_NOBODY_SETS_THIS"])
else:
    WIDTH = 3


def _optional_import(name, attribute=""):
    try:
        module = importlib.import_module(name)
        if attribute:
            module = getattr(module, attribute)
    except Exception as error:
        return str(error.__traceback__ is None), False
    return module, True


fft, _has_fft = _optional_import("torch.fft")
_nothing, _has_nothing = _optional_import("library_that_nobody_has")


class _Store:
    _Entry = namedtuple("_Entry", ("description", "value"))

    def __init__(self):
        self.entries = {}

    def add(self, name: str):
        def decorate(function):
            self.entries[name] = self._Entry("what it is", function)
            return function

        return decorate


_STORE = _Store()


class _Reduction(str, enum.Enum):
    MEAN = "mean"
    SUM = " sum "


class _Level(enum.IntEnum):
    LOW = 3


class _Open:
    kept = 1

    def __getattr__(self, name):
        return name

    def own(self, name):
        return object.__getattribute__(self, name)


def _has_parameter(function, name):
    return name in inspect.signature(function).parameters


def _look_up(name, options):
    if isinstance(name, str):
        name = name.strip()
    if isinstance(options, enum.EnumMeta):
        for option in options:
            if option.value.strip() == name:
                return option.value.strip()
    raise ValueError(name)


@_STORE.add("double")
def decorated(x: Tensor) -> Tensor:
    return x * 2


def fallback_function(x: Tensor) -> Tensor:
    return scale(x)


def imported_by_a_call(x: Tensor) -> Tensor:
    return fft.fft(x)


def endless(x: List[float]) -> List[float]:
    return [inf] * len(x)


def negative_power(x: float = 10 ** (-2)) -> float:
    return x


def complex_defaults(a: complex = 1 - 2j, b: complex = 2j * 2, c: complex = -1j) -> complex:
    return a + b + c


def complex_constants() -> List[complex]:
    return [(1 + 2j) / (2 - 1j), -(1j), (1 + 2j) ** (0.5 + 1j), 2.0 ** 1j]


def string_constants() -> List[str]:
    a, b, c = "a-b-c".partition("-")
    d, e, f = "a-b-c".rpartition("-")
    parts = [a, b, c, d, e, f, "a\tb".expandtabs(4), "42".zfill(5), "-1".zfill(4), "ab".center(7, "*")]
    return parts + ["ab".ljust(4), "ab".rjust(4, "-"), "aBc".swapcase(), "a b".title(), "abc".capitalize(), "abc"[::-1]]


def string_questions() -> List[bool]:
    return ["Ab".istitle(), "a1".isalnum(), "1".isdigit(), " ".isspace(), "ab".islower(), "AB".isupper(), "b" in "abc"]


def string_places() -> List[int]:
    return ["abcabc".rfind("c"), "abcabc".find("c", 3), "abcabc".index("b"), "abcabc".count("b")]


def automatic_cast(x: Tensor, enabled: bool) -> Tensor:
    with torch.autocast("cuda", enabled=enabled and x.is_cuda):
        x = x @ x
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = x @ x
    return x


class Settings(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = WIDTH
        self.steps = STEPS
        self.is_plain = Layer is None
        self.reduction = _look_up(_Reduction.SUM, _Reduction)
        self.ways = comb(4, 2)
        self.entries = len(_STORE.entries)
        self.has_fft = _has_fft
        self.has_nothing = _has_nothing
        self.level = _Level.LOW
        self.own = _Open().own("kept")
        self.other = _Open().other
        self.is_keyword = keyword.iskeyword("if")
        self.padding = [int(p) for p in (np.atleast_1d([3, 5]) - 1) / 2]
        self.has_bias = _has_parameter(nn.Linear, "bias")
        self.folder = os.getenv("SCONCE_NOBODY_SETS_THIS", "none")

    def forward(self, x: Tensor) -> Tensor:
        if self.is_plain and self.has_fft and not self.has_nothing:
            x = x * self.width + self.steps + self.ways + self.entries + self.level + self.own
        if self.is_keyword and self.has_bias and self.other == "other":
            x = x + self.padding[1]
        if self.reduction == "sum" and self.folder == "none":
            x = x.sum()
        return x
