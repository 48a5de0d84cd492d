"""Makes the TorchScript archives that are measured, with random weights: `jit_models.py FOLDER`.

What is in the folder already is left as it is.
"""

import importlib.util
import sys
import warnings
from pathlib import Path

import torch
import torchvision

CLASSES = 30

CLASS = '''
class Block{at}(torch.nn.Module):
    scale: float

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.register_buffer("mean", torch.zeros(16))
        self.scale = {at} / 10
        self.sizes = [1, {at}]

    def squash(self, x: torch.Tensor, limit: Optional[float] = None) -> torch.Tensor:
        if limit is not None:
            x = torch.clamp(x, -limit, limit)
        else:
            x = torch.tanh(x)
        return x

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, List[int]]:
        shapes: List[int] = []
        for at in range(len(self.sizes)):
            x = self.linear(x) * self.scale - self.mean
            if x.dim() > 2:
                x = x.flatten(0, 1)
            elif at == 1:
                x = x + at
            shapes.append(x.size(0))
        while len(shapes) < 3:
            shapes.append(self.sizes[0])
        return self.squash(x, 6.0 if self.training else None), shapes
'''

MODEL = '''
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([{blocks}])

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, int]]:
        seen: Dict[str, int] = {{}}
        for block in self.blocks:
            x, shapes = block(x)
            seen[str(len(seen))] = shapes[0]
        return x, seen
'''


def many_classes(folder):
    """A model of as many classes of its own; scripting wants them in a file."""
    blocks = ", ".join(f"Block{at}()" for at in range(CLASSES))
    text = "from typing import Dict, List, Optional, Tuple\n\nimport torch\n"
    text += "".join(CLASS.format(at=at) for at in range(CLASSES)) + MODEL.format(blocks=blocks)
    path = folder / "many_classes.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("many_classes", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["many_classes"] = module
    spec.loader.exec_module(module)
    return module.Model()


def vision(module, name, **arguments):
    return lambda _: getattr(module, name)(weights=None, **arguments)


models, detection = torchvision.models, torchvision.models.detection
MODELS = {
    "resnet50": vision(models, "resnet50"),
    "many_classes": many_classes,
    "densenet121": vision(models, "densenet121"),
    "googlenet": vision(models, "googlenet", init_weights=False),
    "efficientnet_b0": vision(models, "efficientnet_b0"),
    "mobilenet_v3_small": vision(models, "mobilenet_v3_small"),
    "swin_t": vision(models, "swin_t"),
    "deeplabv3": vision(models.segmentation, "deeplabv3_mobilenet_v3_large", weights_backbone=None),
    "fasterrcnn": vision(detection, "fasterrcnn_mobilenet_v3_large_fpn", weights_backbone=None),
    "ssdlite": vision(detection, "ssdlite320_mobilenet_v3_large", weights_backbone=None),
}

warnings.filterwarnings("ignore")
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, make in MODELS.items():
    path = folder / f"{name}.pt"
    if not path.exists():
        unfinished = folder / f"{name}.tmp"
        torch.jit.script(make(folder)).save(str(unfinished))
        unfinished.rename(path)
