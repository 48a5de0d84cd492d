dependencies = ["torch"]

import torch
import torch.nn as nn
from networks.small import SmallNet

URLS = {
    "small": "https://example.com/functions/small-1.pth",
    "wide": "https://example.com/functions/wide-1.pth",
}


def _load(name, width, pretrained, progress=True):
    model = SmallNet(width=width)
    if pretrained:
        state = torch.hub.load_state_dict_from_url(URLS[name], progress=progress, map_location="cpu")
        model.load_state_dict(state)
    return model


def small(pretrained=False, progress=True):
    """The small network.

    pretrained (bool): whether numbers are loaded
    """
    return _load("small", 4, pretrained, progress)


def wide(pretrained: bool = False, *, progress: bool = True) -> nn.Module:
    """The wide network"""
    model = _load("wide", 8, pretrained, progress)
    return model.eval()
