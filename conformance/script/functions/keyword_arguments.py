"""Functions of Python and of PyTorch that are called with arguments by name."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor


class _Point(NamedTuple):
    x: int
    y: int = 2


class _Counter:
    def __init__(self, start: int, step: int = 1):
        self.value = start
        self.step = step

    def next(self, times: int = 1) -> int:
        self.value += self.step * times
        return self.value


def _scaled(x: Tensor, by: float = 2.0, offset: int = 0) -> Tensor:
    return x * by + offset


def enumerate_from(x: List[str]):
    found: List[Tuple[int, str]] = []
    for i, v in enumerate(x, start=3):
        found.append((i, v))
    return found


def enumerate_from_variable(x: List[str], first: int):
    return [i for i, v in enumerate(x, start=first - 1)]


def enumerate_tuple_from(x: Tuple[int, int]):
    total = 0
    for i, v in enumerate(x, start=-1):
        total += i * v
    return total


def zip_not_strict(x: List[int], y: List[int]):
    return [a * b for a, b in zip(x, y, strict=False)]


def dict_with_more(x: Dict[str, int]):
    return dict(x, more=3)


def sorted_in_reverse(x: List[int]):
    x.sort(reverse=True)
    return x


def split_at_most(x: str):
    return x.split(separator="a", max=1)


def operators_by_name(x: Tensor):
    return torch.add(input=x, other=x, alpha=2) + torch.add(self=x, other=1)


def method_by_name(x: Tensor):
    return x.sum(dim=[0], keepdim=True) + x.add(alpha=2, other=x)


def repeats_of_a_tensor(x: Tensor):
    counts = torch.ones(x.size(dim=0), dtype=torch.long) + 1
    return x.repeat_interleave(counts, dim=0), x.repeat_interleave(repeats=counts, dim=0)


def repeats_alone(x: Tensor):
    return torch.repeat_interleave(torch.ones(3, dtype=torch.long) + 1)


def numbers_by_name(x: float, n: int):
    return int(a=x), max(a=n, b=2), pow(a=n, b=2), divmod(x=n, y=2), round(a=x), abs(a=n)


def own_by_name(x: Tensor):
    return _scaled(offset=1, x=x), _scaled(x, offset=2)


def tuple_by_name():
    return _Point(y=1, x=3), _Point(x=4)


def object_by_name():
    counter = _Counter(step=2, start=5)
    return counter.next(times=3)


def fork_by_name(x: Tensor):
    return torch.jit.wait(torch.jit.fork(_scaled, x, offset=4))


def creation_by_name():
    return torch.zeros(size=[2]), torch.full(fill_value=2.5, size=[2]), torch.tensor(data=[1, 2], dtype=torch.float)


def einsum_by_name(x: Tensor):
    return torch.einsum(equation="ij,ij->i", tensors=[x, x])


def default_by_name(x: Dict[str, int]):
    return x.get("no", default_value=7), x.pop("k", 3)


def optional_by_name(x: Optional[int]):
    return torch.jit._unwrap_optional(optional=x)


CALLS = {
    "optional_by_name": [(3,)],
    "enumerate_from_variable": [(["a", "b"], 3)],
    "zip_not_strict": [([1, 2, 3], [4, 5])],
    "default_by_name": [({"a": 1},)],
}
