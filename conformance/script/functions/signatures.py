"""Parameters, annotations, type comments, defaults and docstrings."""
from __future__ import annotations

import typing
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
from torch import Tensor, device, dtype


def my_func(a: int) -> int:
    a = a + 2
    return a


def unannotated(x, y):
    return x * y - x


def no_parameters():
    return 1


def no_result(x: int):
    x += 1


def none_result(x: List[int]) -> None:
    x.append(3)


def explicit_none(x: int) -> None:
    return None


def bare_return(x: int):
    if x > 1:
        return
    print(x)


def docstring(x: Tensor) -> Tensor:
    """One line.

    And more, with a "quote" and a \\ backslash.
    """
    return x.neg()


def docstring_alone(x: Tensor):
    """Nothing but this."""


def default_numbers(x: Tensor, scale: float = 2.5, shift: int = -3, flag: bool = True) -> Tensor:
    if flag:
        return x * scale + shift
    return x


def default_text(name: str = "a 'quoted' name\n", other: str = "") -> str:
    return name + other


def default_none(x: Optional[Tensor] = None, y: Optional[int] = None) -> int:
    if x is not None:
        return 1
    if y is not None:
        return y
    return 0


def default_containers(name: str = "n", pair: Tuple[int, float] = (3, 0.5)) -> float:
    return len(name) * pair[1] + pair[0]


def default_special(x: Tensor, limit: float = float("inf"), kind: Optional[int] = torch.float64) -> Tensor:
    return x.clamp(max=limit).to(kind)


def keyword_only(x: int, *, y: int, z: float) -> float:
    return x * y + z


def pep585(x: list[int], y: dict[str, int], z: tuple[int, str]) -> tuple[int, str]:
    return x[0] + y["sample text"] + z[0], z[1]


def pep604(x: int | None, y: Tensor | None) -> int:
    if x is None:
        return -1
    return x if y is None else x + 1


def text_annotation(x: "Tensor", n: "int") -> "Tensor":
    return x + n


def qualified_annotations(x: torch.Tensor, n: typing.List[int], o: typing.Optional[typing.Tuple[int, str]]) -> int:
    if o is not None:
        return o[0]
    return x.dim() + len(n)


def type_comment(x, n, flag):
    # type: (Tensor, int, bool) -> Tensor
    if flag:
        return x + n
    return x


def type_comment_nested(x, pairs):
    # type: (Optional[Tensor], List[Tuple[int, Dict[str, float]]]) -> Tuple[int, float]
    total = 0.0
    for number, table in pairs:
        for key in table.keys():
            total += table[key] * number
    return (0 if x is None else x.dim()), total


def type_comment_lines(
    x,  # type: Tensor
    n,  # type: int
    names=None,  # type: Optional[List[str]]
):
    # type: (...) -> int
    if names is not None:
        return len(names) + n
    return x.size(0)


def type_comment_default(x, n=3):
    # type: (Tensor, int) -> Tensor
    """A docstring after a type comment."""
    return x * n


def many_lines(
    first: Tensor,
    second: List[
        Tensor
    ],
    third: Dict[str, int],
) -> Tuple[
    Tensor,
    int,
]:
    return (
        first
        + second[0],
        len(third),
    )


def any_parameter(x: Any) -> int:
    if isinstance(x, int):
        return x
    elif isinstance(x, str):
        return len(x)
    return -1


def union_parameter(x: Union[int, str, List[int]]) -> int:
    if isinstance(x, int):
        return x
    elif isinstance(x, str):
        return len(x)
    else:
        return x[0]


def number_types(a: int, b: float, c: complex, d: bool) -> complex:
    if d:
        return c * a
    return c + b


def device_and_dtype(x: Tensor, where: device, kind: dtype) -> Tensor:
    return x.to(device=where, dtype=kind)


def unused_parameter(x: Tensor, _y: int, __: float) -> Tensor:
    return x


def final_comma(x: Tensor, y: Tensor,) -> Tuple[Tensor, Tensor,]:
    return x, y,


def semicolons(x: int) -> int:
    y = x + 1; z = y * 2; return z


def one_line(x: int) -> int: return x + 1


def continuation(x: int) -> int:
    y = x + \
        2 * \
        x
    return (y +
            1)


def comments(x: int) -> int:
    # a comment first
    y = x  # and one behind
    # type: ignore
    return y  # noqa


def unicode_text(x: str) -> str:
    ü = x + "äöü€"
    return ü


CALLS = {
    "any_parameter": [(3,), ("four",), (None,)],
    "device_and_dtype": [(t(2), torch.device("cpu"), torch.float64)],
    "union_parameter": [(3,), ("four",), ([5],)],
    "default_special": [(t(3), 0.5, torch.float32), (t(3),)],
    "pep585": [([1], {"sample text": 2}, (3, "x"))],
}
