"""Every model of torchvision, scripted, with weights that take no room."""
import functools
import itertools

import torch
import torchvision

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
    model = builder(**options).eval()
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        if tensor.numel() > 1000:
            tensor.data = tensor.data.new_zeros(1).expand_as(tensor)
    return torch.jit.script(model)


def programs():
    """Name, how to build it, and no calls: what they compute is compared elsewhere."""
    for group, module in GROUPS.items():
        for name in torchvision.models.list_models(module=module):
            yield f"{group}_{name}", functools.partial(build, name), ()
