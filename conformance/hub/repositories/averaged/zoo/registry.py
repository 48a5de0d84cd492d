import importlib
import torch
from torch import nn

MODELS = {}


def register(name=None, **defaults):
    def add(function):
        def made(**kwargs):
            """Made by the registry."""
            options = dict(defaults)
            options.update(kwargs)
            return function(**options)

        MODELS[name or function.__name__] = made
        return made

    return add


def names():
    """All names."""
    return sorted(MODELS)


def build(name, **kwargs):
    """Builds by name."""
    return MODELS[name](**kwargs)


def _average(urls):
    states = [torch.hub.load_state_dict_from_url(url)["ema"] for url in urls]
    mean = {}
    for key in states[0]:
        mean[key] = sum(state[key] for state in states) / len(states)
    return mean


@register("net_a", width=2)
def first(width=1, pretrained=True):
    module = importlib.import_module("zoo.nets")
    model = module.Net(width)
    if pretrained:
        model.load_state_dict(_average([f"https://example.com/averaged/{i}.pth" for i in range(2)]))
    return model


@register(width=3)
def net_b(width=1):
    from zoo.nets import Net
    return Net(width, bias=False)
