"""Makes classifier.pt: a small scripted model with a submodule, control flow, a free function and an
extra file. Needs torch. The archive holds the path that its source was run by; so that this is the
bare name, run it as

    python -c "import runpy; runpy.run_path('make_classifier.py', run_name='__main__')"
"""

from typing import List

import torch
from torch import Tensor, nn


@torch.jit.script
def clip(x: Tensor, most: float) -> Tensor:
    return torch.clamp(x, -most, most)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8))
        self.bias = nn.Parameter(torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(nn.functional.linear(x, self.weight, self.bias))


class Classifier(nn.Module):
    labels: List[str]

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.register_buffer("scale", torch.full((4,), 2.0))
        self.labels = ["cat", "dog", "bird", "fish"]
        self.most = 6.0

    def forward(self, x: Tensor, rounds: int = 1) -> Tensor:
        y = self.encoder(x)
        for _ in range(rounds):
            if bool(y.sum() > 0):
                y = clip(y * self.scale, self.most)
        return torch.softmax(y, 1)

    @torch.jit.export
    def name_of(self, index: int) -> str:
        return self.labels[index]


torch.manual_seed(0)
scripted = torch.jit.script(Classifier().eval())
scripted.save("classifier.pt", _extra_files={"about.txt": "made by make_classifier.py\n"})
