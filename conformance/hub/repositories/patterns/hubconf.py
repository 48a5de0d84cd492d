"""Keys of old files, renamed by a regular expression."""
import re
from collections import OrderedDict

import torch
import torch.nn as nn
from torch import Tensor
from packaging import version

dependencies = ["torch"]
PATTERN = re.compile(r"^(.*layer\d+\.(?:norm|conv))\.((?:[12])\.(?:weight|bias))$")
IS_NEW = version.parse(torch.__version__) >= version.parse("1.9.0")


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.add_module("norm1", nn.BatchNorm1d(width))
        self.add_module("conv1", nn.Conv1d(width, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.conv1(self.norm1(x))


class Dense(nn.Module):
    def __init__(self, width=2, count=2):
        super().__init__()
        self.features = nn.Sequential(OrderedDict([(f"layer{i + 1}", Layer(width)) for i in range(count)]))

    def forward(self, x):
        return self.features(x)


def dense(pretrained=False, progress=True):
    r"""A dense network \o/"""
    model = Dense()
    if pretrained:
        state_dict = torch.hub.load_state_dict_from_url("https://example.com/patterns/dense.pth", progress=progress)
        for key in list(state_dict.keys()):
            res = PATTERN.match(key)
            if res:
                state_dict[res.group(1) + res.group(2)] = state_dict.pop(key)
        state_dict = {re.sub(r"^features\.old_(\w+)", r"features.\1", key): value for key, value in state_dict.items()}
        model.load_state_dict(state_dict)
    return model


if IS_NEW:
    def modern():
        """Only with a torch of today."""
        return nn.Identity()
