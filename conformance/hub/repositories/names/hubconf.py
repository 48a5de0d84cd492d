from __future__ import annotations

import os, sys
import os.path as osp
import torch, torch.nn as nn
import torch.nn.functional as F
from collections import namedtuple, OrderedDict as OD
from typing import Union, List, IO, AnyStr, TypeVar
from math import pi, sqrt
from string import ascii_letters, Template
from itertools import chain

dependencies = ["torch"]
T = TypeVar("T")
IntList = List[int]
Either = Union[int, str]
small_list = list[int]
dtype = torch.float32
number = 3
text = "text"
DEVICE = torch.device("cpu")
tensor_made = torch.zeros(2)
Zed = sqrt
éa = chain
_private = sqrt
activation = nn.ReLU()
table = {"a": 1}


def used():
    "used"


def deleted():
    pass


def rebound():
    pass


class Callable_:
    def __call__(self):
        """call"""


class NotCallable:
    pass


caller = Callable_()
other = NotCallable()
alias = used
square = lambda x: x * x
bound_method = "abc".upper
generator = (x for x in range(3))
condition = None if torch.cuda.is_available() else used
del deleted
rebound = 4
if __name__ == "__main__":
    main_only = used
try:
    import module_that_does_not_exist
    HAS = used
except ImportError:
    module_that_does_not_exist = None
    lacks = used
for loop_variable in (used, sqrt):
    pass
