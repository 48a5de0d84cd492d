"""Regions of torch.autocast: what is cast to which dtype, through calls, branches and loops."""
import torch
import torch.nn.functional as F
from torch import Tensor


def product(x: Tensor) -> Tensor:
    return torch.mm(x, x)


def to_float16(x: Tensor):
    with torch.autocast("cpu", dtype=torch.float16):
        y = torch.mm(x, x)
    return y, torch.mm(x, x)


def by_default(x: Tensor):
    with torch.autocast("cpu"):
        y = F.linear(x, x)
        z = F.relu(y)
        z = z + y
        z = torch.cat([z, x])
    return y, z


def to_full_precision(x: Tensor):
    with torch.autocast("cpu"):
        y = torch.matmul(x, x)
        z = y.exp(), y.sum(), y.sum(dtype=torch.bfloat16), F.gelu(y), F.relu(y), F.layer_norm(y, [3]), y * 2
    return z


def switched_off(x: Tensor):
    with torch.autocast("cpu", enabled=False):
        y = torch.mm(x, x)
    return y


def switched_off_within(x: Tensor):
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            y = torch.mm(x, x)
        z = torch.mm(x, x)
    return y, z


def of_another_device(x: Tensor):
    with torch.autocast("cuda"):
        y = torch.mm(x, x)
    with torch.autocast("cpu"):
        with torch.autocast("cuda", enabled=False):
            z = torch.mm(x, x)
    return y, z


def through_calls(x: Tensor):
    with torch.autocast("cpu"):
        y = product(x)
    return y, product(x)


def in_branches_and_loops(x: Tensor, on: bool):
    with torch.autocast("cpu"):
        for i in range(2):
            if on:
                x = torch.mm(x, x)
            else:
                x = product(x) * 0.5
    return x


def in_place(x: Tensor):
    with torch.autocast("cpu"):
        y = torch.mm(x, x)
        z = y.add_(x)
    return z


def of_whole_numbers_and_doubles(x: Tensor):
    d, n = x.double(), x.to(torch.int64)
    with torch.autocast("cpu"):
        y = torch.mm(d, d)
        z = torch.mm(n, n)
    return y, z


def of_a_flag(x: Tensor, on: bool):
    with torch.autocast("cpu", enabled=on):
        y = torch.mm(x, x)
    return y


def unsafe(x: Tensor):
    with torch.autocast("cpu"):
        y = F.binary_cross_entropy(x, x)
    return y


CALLS = {
    "product": [(torch.rand(3, 3),)],
    "to_float16": [(torch.rand(3, 3),)],
    "by_default": [(torch.rand(3, 3),)],
    "to_full_precision": [(torch.rand(3, 3),)],
    "switched_off": [(torch.rand(3, 3),)],
    "switched_off_within": [(torch.rand(3, 3),)],
    "of_another_device": [(torch.rand(3, 3),)],
    "through_calls": [(torch.rand(3, 3),)],
    "in_branches_and_loops": [(torch.rand(3, 3), True), (torch.rand(3, 3), False)],
    "in_place": [(torch.rand(3, 3),)],
    "of_whole_numbers_and_doubles": [(torch.rand(3, 3),)],
    "of_a_flag": [(torch.rand(3, 3), True)],
    "unsafe": [(torch.rand(3, 3),)],
}
