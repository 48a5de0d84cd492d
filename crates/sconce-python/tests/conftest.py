"""Files that the tests read, and programs that PyTorch makes for them."""

from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def digits():
    """A training checkpoint."""
    return str(ROOT / "examples" / "digits.ckpt")


@pytest.fixture
def classifier():
    """A TorchScript archive."""
    return str(ROOT / "examples" / "classifier.pt")


@pytest.fixture
def shapes():
    """A program of torch.export."""
    return str(ROOT / "examples" / "shapes.pt2")


class Counter(torch.nn.Module):
    """A module that writes to itself."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        self.count += 1
        self.total += x
        return self.count, self.total


class Programs(torch.nn.Module):
    """Methods of every kind."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x)

    @torch.jit.export
    def spin(self, n: int) -> int:
        total = 0
        for i in range(n):
            total += i % 7
        return total

    @torch.jit.export
    def hoard(self, n: int):
        return [torch.zeros(1000000) for _ in range(n)]

    @torch.jit.export
    def refuse(self, x: int):
        raise ValueError("not like this")
        return x

    @torch.jit.export
    def write(self, x):
        x += 1
        return x

    @torch.jit.export
    def collect(self, x, names: list[str], sizes: dict[str, int]):
        return {"x": x, "y": x * 2}, names, sizes, (1, 2.5, True, None)


@pytest.fixture(scope="session")
def counter(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "counter.pt"
    torch.jit.script(Counter()).save(str(path))
    return str(path)


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "programs.pt"
    torch.jit.script(Programs().eval()).save(str(path))
    return str(path)


@pytest.fixture
def x():
    return np.arange(8, dtype=np.float32).reshape(1, 8)
