"""Classes that note themselves, and a choice by `match`."""
dependencies = ["torch"]

import re
import sys
from collections import namedtuple
from enum import Enum

import torch
from torch import nn

Shape = namedtuple("Shape", ["inputs", "outputs", "bias"], defaults=[True])


class Registry(type):
    classes = {}

    def __new__(mcs, name, bases, members):
        made = super().__new__(mcs, name, bases, members)
        if name != "Head":
            mcs.classes[re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()] = made
        return made


class Head(nn.Module, metaclass=Registry):
    def __init__(self, shape):
        super().__init__()
        self.fc = nn.Linear(shape.inputs, shape.outputs, bias=shape.bias)

    def forward(self, x):
        return self.fc(x)


class PlainHead(Head):
    pass


class NormHead(Head):
    def __init__(self, shape):
        super().__init__(shape)
        self.norm = nn.LayerNorm(shape.outputs)

    def forward(self, x):
        return self.norm(self.fc(x))


class Kind(Enum):
    SMALL = ("small", 2)
    LARGE = ("large", 4)

    def __init__(self, label, width):
        self.label = label
        self.width = width


class Shared:
    _one = None

    def __new__(cls):
        if cls._one is None:
            cls._one = super().__new__(cls)
            cls._one.__dict__["calls"] = 0
        return cls._one


def head(kind="small", name="norm_head", pretrained=True):
    """A head of a kind."""
    assert sys.version_info.major >= 3
    Shared().calls += 1
    match [each for each in Kind if each.label == kind]:
        case [Kind(width=width)]:
            shape = Shape(width, 3)
        case []:
            raise ValueError(f"unknown kind {kind}")
    model = Registry.classes[name](shape)
    match pretrained, Shared().calls:
        case True, int(calls) if calls > 0:
            url = f"https://example.com/{name}-{kind}.pth"
            model.load_state_dict(torch.hub.load_state_dict_from_url(url, progress=False))
    return model


small_head = type("Small", (), {"__call__": lambda self, **kwargs: head("small", **kwargs)})()
