import torch
from torch import nn
from zoo.registry import MODELS, build
import zoo.registry as registry

dependencies = ["torch"]
globals().update({name: function for name, function in MODELS.items() if name.startswith("net")})
list_models = registry.names
model_by_name = build
