import os
from math import sqrt, pi
from torch import Tensor

_hidden = 1


def shown(x: Tensor) -> Tensor:
    """Shown.\tTab"""
    return x
