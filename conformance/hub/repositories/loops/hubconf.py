import functools
import torch
from torch import nn

dependencies = ["torch"]
_SIZES = {"xs": 1, "sm": 2, "md": 3}


def _make(size, pretrained=False):
    """Makes one."""
    model = nn.Linear(size, size)
    if pretrained:
        url = "https://example.com/loops/%s-%d.pth" % ("linear", size)
        model.load_state_dict(torch.hub.load_state_dict_from_url(url, progress=False))
    return model


for name, size in _SIZES.items():
    globals()["linear_" + name] = functools.partial(_make, size)
    locals()[f"alias_{name}"] = functools.partial(_make, size=size)

del name, size
globals().update({"made_" + key: (lambda value: lambda: nn.Linear(value, 1))(value) for key, value in _SIZES.items()})
