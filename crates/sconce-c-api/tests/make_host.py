"""Makes host.pt, the module that the tests of the C ABI call. Needs torch.

    python -c "import runpy; runpy.run_path('make_host.py', run_name='__main__')"
"""

import warnings
from typing import Dict, List, NamedTuple, Tuple

import torch
from torch import Tensor, nn


class Point(NamedTuple):
    x: Tensor
    name: str


class Linear(nn.Module):
    """torch.nn's, without its source: an archive holds the paths that the sources of its code have."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 4))
        self.bias = nn.Parameter(torch.randn(2))

    def forward(self, x: Tensor) -> Tensor:
        return torch.matmul(x, self.weight.t()) + self.bias


class Host(nn.Module):
    kept: Tensor

    def __init__(self):
        super().__init__()
        self.linear = Linear()
        self.register_buffer("offset", torch.ones(2))
        self.kept = torch.zeros(1)
        self.cutoff = 4.5
        self.names = ["H", "O"]

    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return torch.dropout(self.linear(x) * scale + self.offset, 0.5, self.training)

    @torch.jit.export
    def keeps(self, x: Tensor) -> Tensor:
        self.kept = x
        return x

    @torch.jit.export
    def what_is_kept(self) -> Tensor:
        return self.kept

    @torch.jit.export
    def writes(self, x: Tensor) -> Tensor:
        x.add_(1)
        return x

    @torch.jit.export
    def pair(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return x + 1, x.t()

    @torch.jit.export
    def listed(self, xs: List[Tensor]) -> List[Tensor]:
        return [x * 2 for x in xs]

    @torch.jit.export
    def point(self, x: Tensor) -> Point:
        return Point(x, "origin")

    @torch.jit.export
    def says(self, text: str) -> str:
        print("said", text)
        warnings.warn("heard")
        return text + "!"

    @torch.jit.export
    def fails(self, n: int) -> int:
        if n > 0:
            raise ValueError("n is too large")
        return n

    @torch.jit.export
    def spins(self, n: int) -> int:
        total = 0
        for i in range(n):
            total += i % 3
        return total

    @torch.jit.export
    def grows(self, n: int) -> Tensor:
        return torch.zeros(n)

    @torch.jit.export
    def table(self, entries: Dict[str, Tensor]) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for name, entry in entries.items():
            out[name + "_sum"] = entry.sum()
        return out

    @torch.jit.export
    def weighs(self, numbers: Dict[int, float]) -> float:
        total = 0.0
        for key, number in numbers.items():
            total += key * number
        return total

    @torch.jit.export
    def draws(self) -> Tensor:
        return torch.rand(3)

    @torch.jit.export
    def squares(self, z: complex) -> complex:
        return z * z

    @torch.jit.export
    def on(self, device: torch.device) -> str:
        return str(device)


torch.manual_seed(0)
scripted = torch.jit.script(Host().eval())
scripted.save("host.pt", _extra_files={"r_max": "4.5"})
