import dataclasses
from enum import Enum
from typing import Any, Dict, Optional

import torch
from torch import nn
from torch.hub import load_state_dict_from_url

dependencies = ["torch"]


@dataclasses.dataclass
class Weights:
    url: str
    meta: Dict[str, Any] = dataclasses.field(default_factory=dict)
    num: int = 2


class NetWeights(Enum):
    V1 = Weights(url="https://example.com/enums/v1.pth", meta={"classes": 3})
    V2 = Weights("https://example.com/enums/v2.pth", num=4, meta={"classes": 5})
    DEFAULT = V2

    @classmethod
    def verify(cls, value):
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls[value.replace(cls.__name__ + ".", "")]
        raise TypeError(f"Invalid weights {value}")

    def get_state_dict(self, *args, **kwargs):
        return load_state_dict_from_url(self.url, *args, **kwargs)

    @property
    def url(self):
        return self.value.url


def net(weights: Optional[str] = None, progress: bool = True):
    """Net by weights."""
    weights = NetWeights.verify(weights)
    classes = 10
    if weights is not None:
        classes = weights.value.meta["classes"]
    model = nn.Linear(4, classes)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress))
    return model
