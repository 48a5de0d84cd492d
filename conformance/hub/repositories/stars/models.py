from functools import partial
import torch
import torch.nn as nn

__all__ = ["tiny", "base"]


class Net(nn.Module):
    def __init__(self, depth=1, width=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def tiny(pretrained=False, **kwargs):
    model = Net(depth=2, **kwargs)
    if pretrained:
        checkpoint = torch.hub.load_state_dict_from_url(
            url="https://example.com/stars/tiny.pth", map_location="cpu", check_hash=True)
        model.load_state_dict(checkpoint["model"])
    return model


base = partial(tiny, width=3)
