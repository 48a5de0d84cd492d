"""Comprehensions over everything that can be iterated."""
from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor


class _Shade(Enum):
    DARK = 1
    LIGHT = 2


class _Item(NamedTuple):
    name: str
    size: int


def over_list(xs: List[int]) -> List[int]:
    return [x * x for x in xs]


def over_range(n: int) -> List[int]:
    return [i for i in range(n)] + [i for i in range(1, n, 2)] + [j for j in range(n, 0, -1)]


def over_text(s: str) -> List[str]:
    return [c.upper() + c for c in s]


def over_dict(d: Dict[str, int]) -> List[str]:
    return [k + "!" for k in d]


def over_keys_and_values(d: Dict[str, int]):
    return [k for k in d.keys()], [v + 1 for v in d.values()], [k + str(v) for k, v in d.items()]


def over_enumerate(xs: List[str]) -> List[str]:
    return [str(i) + x for i, x in enumerate(xs)]


def over_enumerate_start(xs: List[str]) -> List[str]:
    return [str(i) + x for i, x in enumerate(xs, 1)]


def over_zip(xs: List[int], ys: List[float]) -> List[float]:
    return [x * y for x, y in zip(xs, ys)]


def over_zip_of_three(xs: List[int], s: str):
    return [(x, i, c) for x, i, c in zip(xs, range(9), s)]


def over_nested_pairs(xs: List[Tuple[int, Tuple[str, float]]]) -> List[str]:
    return [b + str(a) + str(c) for a, (b, c) in xs]


def over_tensor(x: Tensor) -> List[Tensor]:
    return [row.sum() for row in x]


def over_tuple(x: int) -> List[int]:
    return [y + 1 for y in (x, 2, 3)]


def over_tensors_of_list(xs: List[Tensor]) -> Tensor:
    return torch.stack([x.sum() for x in xs])


def over_split(x: Tensor) -> List[Tensor]:
    return [part * 2 for part in torch.split(x, 1)]


def over_shape(x: Tensor) -> List[int]:
    return [s * 2 for s in x.shape] + [s for s in x.size()]


def over_optional(xs: List[Optional[int]]) -> List[int]:
    return [0 if x is None else x for x in xs]


def over_enum(n: int) -> List[int]:
    return [shade.value for shade in _Shade]


def over_named(xs: List[_Item]) -> int:
    return sum([x.size + len(x.name) for x in xs])


def of_lists(n: int) -> List[List[int]]:
    return [[i * j for j in range(i)] for i in range(n)]


def of_tuples(n: int) -> List[Tuple[int, str]]:
    return [(i, str(i)) for i in range(n)]


def of_conditionals(xs: List[int]) -> List[str]:
    return ["even" if x % 2 == 0 else "odd" for x in xs]


def of_calls(xs: List[int]) -> List[int]:
    return [_own(x) for x in xs]


def _own(x: int) -> int:
    return x + 1


def of_dicts(n: int) -> List[Dict[str, int]]:
    return [{"a": i} for i in range(n)]


def dict_over_list(xs: List[str]) -> Dict[str, int]:
    return {x: len(x) for x in xs}


def dict_over_range(n: int) -> Dict[int, List[int]]:
    return {i: [i] * 2 for i in range(n)}


def dict_over_zip(xs: List[str], ys: List[int]) -> Dict[str, int]:
    return {x: y for x, y in zip(xs, ys)}


def dict_over_items(d: Dict[str, int]) -> Dict[str, int]:
    return {k.upper(): v * 2 for k, v in d.items()}


def dict_over_enumerate(xs: List[str]) -> Dict[int, str]:
    return {i: x for i, x in enumerate(xs)}


def dict_over_text(s: str) -> Dict[str, str]:
    return {c: c + c for c in s}


def generator_over(xs: List[int]) -> int:
    return sum(x * 2 for x in xs)


def generator_listed(xs: List[int]) -> List[int]:
    return list(x + 1 for x in xs)


def generator_all(xs: List[int]):
    return all(x > 0 for x in xs), any([x > 5 for x in xs])


def generator_tuple(xs: List[int]) -> str:
    return ", ".join([str(x) for x in xs])


def shadows_variable(xs: List[int]) -> int:
    x = 100
    ys = [x for x in xs]
    return x + len(ys)


def uses_outer(xs: List[int], k: int) -> List[int]:
    return [x * k for x in xs]


def in_condition(xs: List[int]) -> int:
    if len([x for x in xs]) > 1:
        return 1
    return 0


def in_loop(n: int) -> List[int]:
    out: List[int] = []
    for i in range(n):
        out += [j + i for j in range(i)]
    return out


def annotated_target(n: int) -> List[Optional[int]]:
    xs: List[Optional[int]] = [i for i in range(n)]
    return xs


def list_of_all(s: str, d: Dict[str, int], xs: List[int]):
    return list(s), list(d), list(xs), list(range(3)), list(zip(xs, xs)), list(enumerate(xs)), list(d.items())


def dict_of_all(xs: List[str]):
    a = dict([("a", 1), ("b", 2)])
    b = dict({"c": 3})
    c = dict(a=1, b=2)
    d = dict(zip(xs, xs))
    return a, b, c, d


def starred_call(x: int) -> int:
    pair = (x, 2)
    return _two(*pair) + _two(*(1, 2)) + max(*pair)


def _two(a: int, b: int) -> int:
    return a * b


def starred_targets(x: int):
    a, *b = 1, 2, x
    *c, d = (1, 2, x)
    e, *f, g = 1, 2, x, 4
    return a, b, c, d, e, f, g


def unpack_list(xs: List[int]) -> int:
    a, b = xs[:2]
    (c, d) = (1, 2)
    return a + b * c + d


def unpack_nested(x: int) -> int:
    (a, (b, c)), d = (1, (2, x)), 4
    return a + b + c + d


def unpack_tensor_split(x: Tensor) -> Tensor:
    a, b = torch.split(x, 1)
    return a + b


def unpack_chunk(x: Tensor) -> Tensor:
    a, b = x.chunk(2)
    c, d, e = x.unbind(1)
    return a.sum() + b.sum() + c.sum() + d.sum() + e.sum()


def unpack_shape(x: Tensor) -> int:
    h, w = x.shape
    return h * w


def unpack_size_of_result(x: Tensor):
    values, indices = torch.max(x, dim=1)
    both = torch.sort(x)
    return values, indices, both.values, both[1], both.indices


CALLS = {
    "over_nested_pairs": [([(1, ("a", 0.5)), (2, ("b", 1.5))],)],
    "unpack_tensor_split": [(t(2, 3),)],
    "over_named": [],
    "generator_over": [([1, 2],)],
}
