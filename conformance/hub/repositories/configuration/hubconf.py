import json
import os
from pathlib import Path

dependencies = ["torch"]

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "config", "sizes.json")) as file:
    SIZES = json.load(file)
OTHER = json.loads((Path(__file__).resolve().parent / "config" / "sizes.json").read_text())


def configured(name="small", pretrained=True):
    """Sizes of a file."""
    sizes = SIZES["models"][name]
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU(inplace=True)]
    model = nn.Sequential(*layers[:-1])
    if pretrained and os.path.exists(os.path.join(HERE, "config")):
        model.load_state_dict(torch.load(os.path.join(HERE, "weights", name + ".pth"), map_location="cpu"))
    return model
