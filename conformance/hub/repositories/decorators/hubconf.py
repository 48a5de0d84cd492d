import functools
import torch
import torch.nn as nn

dependencies = ["torch"]
REGISTRY = {}


def pretrained_model(urls, default=None):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(pretrained=False, **kwargs):
            model = function(**kwargs)
            if pretrained:
                name = default if pretrained is True else pretrained
                if name not in urls:
                    raise ValueError(f"unknown weights {name!r}, there are {sorted(urls)}")
                model.load_state_dict(torch.hub.load_state_dict_from_url(urls[name]), strict=True)
            return model

        REGISTRY[function.__name__] = wrapper
        return wrapper

    return decorate


def plain(function):
    def wrapper(*args, **kwargs):
        "the wrapper's own text"
        return function(*args, **kwargs)

    return wrapper


@pretrained_model({"v1": "https://example.com/decorators/v1.pth"}, default="v1")
def decorated(width=2):
    """Docstring of decorated."""
    return nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width))


@plain
def hidden(width=2):
    """Docstring that is lost."""
    return nn.Linear(width, width)


@functools.lru_cache(maxsize=None)
def cached(width=2):
    """Docstring that stays."""
    return nn.Linear(width, width)
