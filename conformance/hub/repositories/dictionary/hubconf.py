import torch
import vits
from vits import *

dependencies = ["torch"]


def small(pretrained=True, **kwargs):
    """Small."""
    model = vits.__dict__["vit_small"](**kwargs)
    if pretrained:
        state_dict = torch.hub.load_state_dict_from_url(url="https://example.com/dictionary/small.pth", map_location="cpu")
        model.load_state_dict(state_dict, strict=True)
    return model


def tiny(**kwargs):
    return getattr(vits, "vit_" + "tiny")(**kwargs)
