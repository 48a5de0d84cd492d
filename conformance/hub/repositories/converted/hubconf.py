"""Modules that read the state dicts of older versions of themselves."""
dependencies = ["torch"]

import torch
from torch import nn


class Scale(nn.Module):
    _version = 2

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args, **kwargs):
        if local_metadata.get("version", None) is None and prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma") * 2
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args, **kwargs)

    def forward(self, x):
        return x * self.weight


class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.layer = nn.Linear(2, width)
        self.norm = nn.BatchNorm1d(width)
        self.scale = Scale(width)
        self._register_load_state_dict_pre_hook(self._renamed)

    def _renamed(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for key in [key for key in state_dict if key.startswith(prefix + "fc.")]:
            state_dict[prefix + "layer." + key[len(prefix) + 3:]] = state_dict.pop(key)

    def forward(self, x):
        return self.scale(self.norm(self.layer(x)))


def net(version="old"):
    model = Net()
    state = torch.hub.load_state_dict_from_url(f"https://example.com/{version}.pth")
    print(model.load_state_dict(state))
    return model


def partly():
    model = Net()
    state = torch.hub.load_state_dict_from_url("https://example.com/old.pth")
    keys = model.load_state_dict({"fc.weight": state["fc.weight"], "x.y": state["fc.bias"]}, strict=False)
    assert keys.missing_keys == [
        "layer.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "scale.weight"], keys
    assert keys.unexpected_keys == ["x.y"], keys
    model.load_state_dict(state)
    return model
