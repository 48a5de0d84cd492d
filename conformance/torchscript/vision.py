"""Every model of torchvision that can be scripted, with random weights."""
import functools

import torch
import torchvision

# Models whose scripting PyTorch refuses would be named here; there are none in 0.29.
GROUPS = {
    "classification": torchvision.models,
    "segmentation": torchvision.models.segmentation,
    "detection": torchvision.models.detection,
    "video": torchvision.models.video,
    "quantization": torchvision.models.quantization,
    "optical_flow": torchvision.models.optical_flow,
}


def build(name):
    torch.manual_seed(0)
    options = {"weights": None}
    builder = torchvision.models.get_model_builder(name)
    if "weights_backbone" in builder.__annotations__:
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    return torch.jit.script(builder(**options).eval())


def programs():
    """Name, how to build it, and no calls: what they compute is compared elsewhere."""
    for group, module in GROUPS.items():
        for name in torchvision.models.list_models(module=module):
            yield f"{group}_{name}", functools.partial(build, name), ()
