"""Arguments by name that PyTorch refuses, and arguments that no overload takes."""
from typing import Any, Dict, List

import torch
from torch import Tensor


def enumerate_other_name(x: List[int]):
    for i, v in enumerate(x, first=3):
        print(i)


def enumerate_twice(x: List[int]):
    for i, v in enumerate(x, 1, start=2):
        print(i)


def enumerate_nothing(x: List[int]):
    for i, v in enumerate(start=1):
        print(i)


def enumerate_from_text(x: List[int]):
    for i, v in enumerate(x, start="a"):
        print(i)


def print_with_separator(x: int):
    print(x, sep="")


def list_of_two(x: List[int]):
    return list(x, wrong=1)


def tuple_by_name(x: List[int]):
    return tuple(wrong=x)


def sorted_by_key(x: List[int]):
    return sorted(x, key=None)


def sum_from(x: List[int]):
    return sum(x, start=1)


def least_or_default(x: List[int]):
    return min(x, default=1)


def whole_of_base(x: str):
    return int(x, base=16)


def rounded_to(x: float):
    return round(x, ndigits=2)


def power_of_rest(x: int):
    return pow(x, 2, mod=3)


def attribute_or(x: Tensor):
    return getattr(x, "shape", default=1)


def instance_by_name(x: Any):
    return isinstance(obj=x, class_or_tuple=int)


def dict_of_pairs_and_more(x: Dict[str, int]):
    return dict([("a", 1)], x)


def receiver_again(x: Tensor):
    return x.add(other=x, self=x)


def receiver_by_another_name(x: Tensor):
    return x.add(other=x, input=x)


def receiver_twice(x: Tensor):
    return torch.add(x, x, input=x)


def receiver_that_nothing_takes(x: Tensor):
    return x.stack([x, x])


def overload_without_receiver(x: Tensor):
    return x.repeat_interleave(output_size=3)


def fork_by_name(x: Tensor):
    return torch.jit.fork(func=torch.relu)


def format_by_name(x: str):
    return x.format(a=1)
