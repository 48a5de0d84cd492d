from torch.hub import load_state_dict_from_url
from .blocks import Block
from ..tools import scale

MODELS = {}
PATTERN = "https://example.com/imports/{name}.pth"


def register_model(function):
    MODELS[function.__name__] = function
    return function


@register_model
def first(pretrained=False, **kwargs):
    """First model."""
    model = Block(scale(2), **kwargs)
    if pretrained:
        model.load_state_dict(load_state_dict_from_url(PATTERN.format(name="first"), check_hash=True))
    return model


@register_model
def second(pretrained=False, **kwargs):
    "Second model."
    return Block(scale(3), **kwargs)
