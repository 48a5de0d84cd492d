from copy import deepcopy
from dataclasses import dataclass, field, asdict, replace
import torch
import torch.nn as nn

dependencies = ("torch",)


@dataclass
class Config:
    dim: int = 4
    layers: int = 1
    names: list = field(default_factory=lambda: ["a"])


VARIANTS = {
    "s": {"config": Config(), "url": {"base": "https://example.com/variants/s_base.pth"}},
    "b": {"config": Config(dim=6, layers=2), "url": {"base": "https://example.com/variants/b_base.pth"}},
}


class Tower(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.tower = nn.ModuleDict({f"layer{i}": nn.Linear(config.dim, config.dim) for i in range(config.layers)})
        self.scale = nn.Parameter(torch.ones([]) * 2.5)

    def forward(self, x):
        for layer in self.tower.values():
            x = layer(x)
        return x * self.scale


def _variant(key):
    def make(pretrained="base", **overrides):
        settings = deepcopy(VARIANTS[key])
        config = settings["config"]
        for name, value in overrides.items():
            if not hasattr(config, name):
                raise TypeError("unknown option {}".format(name))
            setattr(config, name, value)
        model = Tower(config)
        if pretrained:
            urls = settings["url"]
            state = torch.hub.load_state_dict_from_url(urls[pretrained], map_location=lambda storage, loc: storage)
            state = state.get("model_state", state)
            model.load_state_dict({**state, "scale": state["scale"]})
        return model

    make.__doc__ = f"Tower of variant {key}"
    make.__name__ = "tower_" + key
    return make


tower_s, tower_b = _variant("s"), _variant("b")
towers = [tower_s, tower_b]
names = [tower.__name__ for tower in towers]
