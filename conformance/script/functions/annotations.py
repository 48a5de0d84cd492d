"""Every spelling of a type."""
from __future__ import annotations

import collections
import typing
from typing import Any, Callable, Dict, List, NamedTuple, NewType, Optional, Tuple, Union

import torch
from torch import Tensor, nn
from torch.jit import Final

Pair = Tuple[int, int]
Table = Dict[str, List[Tensor]]
MaybeInt = Optional[int]
Number = Union[int, float]


class _Later(NamedTuple):
    a: int
    b: Optional[Tensor] = None


def from_future(x: int, y: list[int], z: dict[str, tuple[int, float]]) -> int | None:
    if x > 1:
        return None
    return x + y[0] + z["sample text"][0]


def aliases_of_types(p: Pair, t: Table, m: MaybeInt, n: Number) -> Pair:
    total = p[0]
    if m is not None:
        total += m
    if isinstance(n, int):
        total += n
    return total, len(t)


def quoted(x: "int", y: "Optional[List[int]]", z: "Tensor") -> "Tuple[int, Tensor]":
    if y is not None:
        return y[0], z
    return x, z


def quoted_inside(x: "List[Tensor]", y: Optional["int"]) -> List["Tensor"]:
    if y is None:
        return []
    return x


def module_spelling(x: typing.List[typing.Optional[int]], y: torch.Tensor, z: typing.Any) -> typing.Tuple[int, torch.Tensor]:
    first = x[0]
    if first is None:
        return 0, y
    return first, y


def tensor_types(a: torch.FloatTensor, b: torch.LongTensor, c: nn.Parameter) -> Tensor:
    return a + b + c


def unions(a: int | str | None, b: Union[int, str, List[int]], c: str | float) -> int:
    if isinstance(a, int):
        return a
    if isinstance(b, str):
        return len(b)
    elif isinstance(b, int):
        return b
    else:
        return len(b)


def union_flattened(a: Union[Union[int, str], Optional[float]]) -> str:
    if a is None:
        return "none"
    if isinstance(a, (int, float)):
        return "number"
    return a


def optional_of_union(a: Optional[Union[int, str]]) -> int:
    if a is None:
        return 0
    elif isinstance(a, str):
        return len(a)
    return a


def empty_tuple(x: Tuple[()]) -> Tuple[()]:
    return x


def empty_tuple_returned() -> Tuple[()]:
    return ()


def nested_types(x: Dict[str, Dict[int, List[Tuple[Tensor, Optional[str]]]]]) -> int:
    total = 0
    for k, inner in x.items():
        for j, items in inner.items():
            for tensor, name in items:
                total += tensor.numel()
                if name is not None:
                    total += len(name)
    return total


def locals_annotated(x: int):
    a: int = x
    b: float = 1.0
    c: List[Tensor] = []
    d: Dict[int, str] = {}
    e: Optional[str] = None
    f: Tuple[int, Optional[int]] = (1, None)
    g: Union[int, str] = 3
    h: Any = x
    i: bool = True
    j: "List[int]" = [1]
    k: list[tuple[str, int]] = []
    return a, b, c, d, e, f, i, j, k


def device_types(d: torch.device, t: torch.dtype) -> Tuple[torch.device, torch.dtype]:
    return d, t


def none_annotation(x: None, y: None = None) -> None:
    return x


def named_tuple_later(x: _Later) -> Optional[Tensor]:
    return x.b


def any_list(x: List[Any]) -> int:
    return len(x)


def complex_types(x: complex, y: List[complex], z: Dict[complex, int]) -> complex:
    return x + y[0]


def default_of_all(a: int = 1, b: float = 2, c: bool = False, d: str = "x", e: Optional[int] = None, f: Optional[Tensor] = None,
                   g: Tuple[int, str] = (1, "a"), h: complex = 1j, i: float = -1.5, j: int = -3, k: Optional[float] = 4,
                   l: Any = None, m: torch.dtype = torch.float32, n: Union[int, str] = "u"):
    return a, b, c, d, e, f, g, h, i, j, k, m


def default_expressions(a: int = 2 * 3 + 1, b: float = 1e-5, c: int = 1 << 4, d: str = "a" + "b", e: float = float("inf")):
    return a, b, c, d, e


LIMIT = 5
EPSILON = 1e-3
SHAPE = (1, 2)


def default_globals(a: int = LIMIT, b: float = EPSILON, c: Tuple[int, int] = SHAPE):
    return a, b, c


def keyword_only_untyped(x, *, y, z: int):
    return x + y * z


def tuple_of_many(x: Tuple[int, float, str, bool, Tensor, List[int], Optional[int]]) -> str:
    a, b, c, d, e, f, g = x
    return c


def future_type(x: torch.jit.Future[int]) -> int:
    return torch.jit.wait(x)


CALLS = {
    "nested_types": [({"a": {1: [(t(2), "x"), (t(3), None)]}},)],
    "unions": [(1, "a", 1.5), (None, "ab", "x"), ("x", [1, 2, 3], 2.0)],
    "union_flattened": [(None,), (1,), (2.5,), ("s",)],
    "aliases_of_types": [((1, 2), {"a": [t(2)]}, None, 3), ((1, 2), {}, 4, 0.5)],
    "device_types": [(torch.device("cpu"), torch.float32)],
    "future_type": [],
    "any_list": [([1, 2],)],
    "module_spelling": [([1, None], t(2), 3)],
    "default_of_all": [()],
}
