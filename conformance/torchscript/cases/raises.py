"""Programs that raise, nested in every way: the whole text of the error is compared."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor

from registry import case, made, t


def _inner(x: int) -> int:
    if x > 2:
        raise ValueError("too big: " + str(x))
    return x


def _middle(x: int) -> int:
    y = _inner(x + 1)
    return y * 2


@case((1,), (5,))
def raises_three_deep(x: int) -> int:
    return _middle(x) + 1


@case((1,), (9,))
def raises_in_loop(n: int) -> int:
    total = 0
    for i in range(n):
        if i > 3:
            total += _inner(i)
    return total


@case((1,), (-1,))
def asserts_with_value(x: int) -> int:
    assert x > 0, f"not positive: {x}"
    return x


@case((0,))
def asserts_without_words(x: int) -> int:
    assert x > 0
    return x


@case((3,))
def raises_key_error(x: int) -> int:
    raise KeyError("no " + str(x))


@case((3,))
def raises_class_without_message(x: int) -> int:
    if x > 1:
        raise RuntimeError
    return x


@case((3,))
def raises_in_comprehension(x: int) -> List[int]:
    return [_inner(i) for i in range(x + 2)]


@case((t(2, 3), t(4)))
def raises_in_operator(x: Tensor, y: Tensor) -> Tensor:
    z = x + 1
    return torch.mm(z, y)


@case((t(2, 3), t(4)))
def raises_in_broadcast(x: Tensor, y: Tensor) -> Tensor:
    if x.dim() == 2:
        return x + y
    return x


def _view(x: Tensor, sizes: List[int]) -> Tensor:
    return x.view(sizes)


@case((t(2, 3),))
def raises_in_called_operator(x: Tensor) -> Tensor:
    return _view(x, [4, 2]).sum()


class Block(torch.nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.size = size

    def check(self, x: Tensor) -> Tensor:
        if x.size(0) != self.size:
            raise ValueError(f"expected {self.size} rows, got {x.size(0)}")
        return x

    def forward(self, x: Tensor) -> Tensor:
        return self.check(x) * 2


@case((t(3),), (t(2),))
class RaisesInSubmodule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        return y + 1


@case((t(3),), (t(2),))
class RaisesInSequential(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(3), torch.nn.ReLU(), Block(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(x)


@case((t(2),))
class RaisesInModuleList(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(2), Block(5)])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


@torch.jit.script
class Account:
    def __init__(self, amount: int):
        if amount < 0:
            raise ValueError("in debt")
        self.amount = amount

    def take(self, amount: int) -> int:
        if amount > self.amount:
            raise ValueError("not enough")
        self.amount -= amount
        return self.amount


@case((3, 2), (3, 5), (-1, 0))
def raises_in_class(a: int, b: int) -> int:
    account = Account(a)
    return account.take(b)


@case((None,), (2,))
def raises_in_branches(x: Optional[int]) -> int:
    if x is None:
        if torch.ones(1).numel() == 1:
            raise ValueError("nothing\nof two lines")
        else:
            return 1
    else:
        return _inner(x + 1)


@case(({"a": 1}, "b"))
def raises_missing_key(d: Dict[str, int], k: str) -> int:
    return d[k]


@case((5,))
def raises_unused(x: int) -> int:
    _inner(x)
    return x


@case((t(2),))
class RaisesTraced(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.trace(torch.nn.Linear(3, 2), torch.ones(1, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


@case(("x",))
def raises_in_cast(x: str) -> int:
    return int(x) + 1


@case(([1, 2],))
def raises_in_unpacking(x: List[int]) -> int:
    a, b, c = x
    return a + b + c
