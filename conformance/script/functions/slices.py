"""Slices that have names: `s = slice(1, 3)`."""
from typing import List, Tuple

import torch
from torch import Tensor


def two_bounds(x: Tensor) -> Tensor:
    s = slice(1, 3)
    return x[s]


def one_bound(x: Tensor, n: int) -> Tensor:
    s = slice(n)
    n = 7
    return x[s]


def none_at_all(x: Tensor) -> Tensor:
    s = slice(None, None, None)
    return x[s]


def with_others(x: Tensor) -> Tensor:
    s = slice(0, 2)
    return x[0, s, ..., s]


def with_tensor(x: Tensor, y: Tensor) -> Tensor:
    s = slice(1, 3)
    return x[s, y]


def of_list(x: List[int]) -> List[int]:
    s = slice(1, 4, 2)
    return x[s] + x[slice(2)]


def of_text(x: str) -> str:
    s = slice(1, 3)
    return x[s]


def of_tuple(x: Tuple[int, int, int]) -> Tuple[int, int]:
    s = slice(1, 3)
    return x[s]


def by_tensor(x: Tensor, t: Tensor) -> Tensor:
    return x[slice(t, None)]


def in_loop(x: Tensor) -> Tensor:
    for i in range(2):
        s = slice(i, i + 2)
        x = x[s]
    return x


def written_to(x: Tensor) -> Tensor:
    s = slice(1, 3)
    x[s] = 1
    x[0, s] = 2
    x[s] += 1
    return x


def never_used(x: Tensor) -> Tensor:
    s = slice("a")
    return x


CALLS = {
    "two_bounds": [(torch.arange(5),)],
    "one_bound": [(torch.arange(5), 2)],
    "none_at_all": [(torch.arange(5),)],
    "with_others": [(torch.arange(27).reshape(3, 3, 3),)],
    "with_tensor": [(torch.arange(16).reshape(4, 4), torch.tensor([0, 2]))],
    "of_list": [([1, 2, 3, 4, 5],)],
    "of_text": [("abcdef",)],
    "of_tuple": [((1, 2, 3),)],
    "by_tensor": [(torch.arange(5), torch.tensor(2))],
    "in_loop": [(torch.arange(5),)],
    "written_to": [(torch.zeros(4, 4),)],
}
