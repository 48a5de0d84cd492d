"""Settings of a model in a YAML file."""
dependencies = ["torch", "yaml"]

from pathlib import Path

import torch
import yaml
from torch import nn


def _settings(name):
    with open(Path(__file__).parent / "configs" / f"{name}.yaml") as file:
        return yaml.safe_load(file)


class Tower(nn.Module):
    def __init__(self, width, depth, bias, activation, classes, **unused):
        super().__init__()
        assert unused["lr"] == "1e-3" and bias is True
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(width, width, bias=bias), {"relu": nn.ReLU, "gelu": nn.GELU}[activation]()]
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(width, len(classes))

    def forward(self, x):
        return self.head(self.layers(x))


def tower(pretrained=True, config="small"):
    """A tower of layers, as its settings say."""
    settings = _settings(config)
    model = Tower(classes=settings["classes"], **settings["model"])
    if pretrained:
        url = "https://example.com/tower.pth"
        model.load_state_dict(torch.hub.load_state_dict_from_url(url, map_location="cpu"))
    return model.eval()
