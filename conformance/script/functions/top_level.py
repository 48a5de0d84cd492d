"""What the top of a file computes: versions, what libraries have, conditions, tuples with classes of their own."""
import enum
import sys
import typing
from collections import namedtuple
from typing import Dict, List, NamedTuple, TYPE_CHECKING

import numpy as np
import torch
from packaging import version
from torch import Tensor, nn

IS_NEW = version.parse(torch.__version__) >= version.parse("1.8.0a1")
NUMBERS = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
IS_TWO = NUMBERS >= (2, 0)
HAS = hasattr(torch, "narrow_copy") and hasattr(nn.functional, "silu")
HAS_NOT = hasattr(torch, "what_nobody_has")
IS_AFTER = torch.__version__ >= "2.4"
IS_PYTHON_3 = sys.version_info >= (3, 8)

if IS_NEW:
    def by_version(x: Tensor) -> Tensor:
        return x + 1
else:
    def by_version(x: Tensor) -> Tensor:
        return x - 1

if NUMBERS < (1, 0):
    def by_numbers(x: Tensor) -> Tensor:
        return x - 1
elif HAS_NOT:
    def by_numbers(x: Tensor) -> Tensor:
        return x - 2
else:
    def by_numbers(x: Tensor) -> Tensor:
        return x + 2

if TYPE_CHECKING:
    from nowhere import Missing

    def by_checker(x: Tensor) -> Tensor:
        return x - 3
else:
    def by_checker(x: Tensor) -> Tensor:
        return x + 3


def conditions(x: Tensor) -> Tensor:
    return by_version(x) + by_numbers(x) + by_checker(x)


def defaults(x: Tensor, a: bool = IS_NEW, b: bool = IS_TWO, c: bool = HAS, d: bool = HAS_NOT, e: bool = IS_AFTER,
             f: bool = IS_PYTHON_3) -> List[bool]:
    return [a, b, c, d, e, f]


def checker_as_member(x: Tensor) -> Tensor:
    if typing.TYPE_CHECKING:
        return x
    return x + 1


class Pair(NamedTuple):
    a: Tensor
    b: int = 3

    def total(self):
        return self.a + self.b


class Made(namedtuple("Made", ["x", "y"])):
    def total(self):
        return self.x + self.y


class MorePair(Pair):
    def twice(self):
        return self.a * 2


class Sizes(tuple):
    def __new__(cls, items):
        return super().__new__(cls, [item + 1 for item in items])

    def __add__(self, other):
        return Sizes([*self, *other])


def tuple_with_methods(x: Tensor) -> Pair:
    return Pair(x)


def tuple_of_call(x: Tensor) -> Made:
    return Made(x, x + 1)


def tuple_derived(x: Tensor) -> Tensor:
    pair = MorePair(x, 5)
    return pair.a + pair.b


class Colour(enum.Enum):
    RED = 1


class Constructed(nn.Module):
    total: int

    def __init__(self, kind=Colour):
        super().__init__()
        self.pair = Pair(torch.ones(2), 2)
        self.total = int(self.pair.total().sum())
        self.sizes = Sizes([1, 2]) + (3,)
        self.count = np.prod([2, 3])
        self.whole = int(np.prod((2, 3)) * 2)
        self.shape = [int(size) for size in np.atleast_1d([3, 4])]
        self.kind = 1 if isinstance(kind, enum.EnumMeta) else 2
        self.values = torch.jit.annotate(List[int], [1])
        self.small = torch.finfo(torch.float32).eps
        variables = vars(self)
        variables["late"] = variables["whole"] + 1
        if TYPE_CHECKING:
            self.never = 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.total + self.sizes[1] + self.whole + self.shape[0] + self.kind + self.late + self.values[0]


CALLS = {
    "conditions": [(torch.ones(2),)],
    "defaults": [(torch.ones(2), True, True, True, False, True, True)],
    "checker_as_member": [(torch.ones(2),)],
    "tuple_with_methods": [(torch.ones(2),)],
    "tuple_of_call": [(torch.ones(2),)],
    "tuple_derived": [(torch.ones(2),)],
    "Constructed": [(torch.ones(2),)],
}
