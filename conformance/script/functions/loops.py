"""Loops that are left early, and values carried through them."""
from typing import Dict, List, Optional, Union

import torch
from torch import Tensor


def left_from_both(x: int) -> int:
    while x < 10:
        if x == 3:
            x += 2
            continue
        for i in range(3):
            if i == x:
                break
            x += i
        last = 1
        if x > 8:
            return last
    return x


def returns_from_inner(xs: List[int]) -> int:
    for i, x in enumerate(xs):
        if x > 2:
            for y in xs:
                if y == i:
                    return y
                if y > 5:
                    continue
        elif x < 0:
            break
    return -1


def rotated(x: int):
    a, b, c = 1, 2, 3
    for i in range(x):
        a, b, c = b, c, a
        if i % 2 == 0:
            a, b = b, a
    return a, b, c


def stops_outer(xs: List[List[int]]) -> int:
    total = 0
    for row in xs:
        for v in row:
            if v < 0:
                break
            total += v
        if total > 100:
            break
    return total


def endless_with_exits(x: int) -> int:
    i = 0
    while True:
        i += 1
        if i > x:
            break
        if i % 2:
            continue
        if i == 8:
            return -1
    return i


def fibonacci(n: int) -> int:
    if n <= 1:
        return n
    a, b = 0, 1
    for _ in range(n - 1):
        a, b = b, a + b
    return b


def nested_exits(n: int) -> int:
    x = 0
    for i in range(n):
        for j in range(i):
            if j == 3:
                return x
            elif j == 2:
                continue
            x += j
    return x


def optional_carried(x: Optional[int], y: Optional[int]) -> int:
    if x is None and y is None:
        return 0
    if x is None:
        assert y is not None
        return y
    if y is not None:
        return x + y
    return x


def optional_set_inside(n: int) -> Optional[int]:
    a: Optional[int] = None
    for i in range(n):
        if a is None:
            a = i
        a = a + 1
    return a


def union_replaced(x: Union[int, Tensor]) -> Tensor:
    if isinstance(x, Tensor):
        x = x.sum()
    else:
        x = torch.tensor(x)
    return x


def tensors_collected(x: Tensor, n: int) -> Tensor:
    hs = []
    for i in range(n):
        hs.append(x * i)
    return torch.stack(hs).sum(0)


def dict_filled(d: Dict[str, List[int]]) -> Dict[str, int]:
    out: Dict[str, int] = {}
    for k, v in d.items():
        s = 0
        for x in v:
            s += x
        out[k] = s
    return out


def context_left(n: int) -> int:
    with torch.no_grad():
        x = n
        if n > 2:
            x = n + 1
    return x


def context_in_loop(x: Tensor) -> Tensor:
    for i in range(3):
        with torch.no_grad():
            x = x + i
    return x


def tuple_returned_from(n: int) -> int:
    for i in (1, 2):
        if n > i:
            return i
    return n


def scripting_and(x: int) -> int:
    if torch.jit.is_scripting() and x > 1:
        return 1
    return 2


def not_scripting_or(x: int) -> int:
    if not torch.jit.is_scripting() or x > 1:
        return 1
    return 2


CALLS = {
    "left_from_both": [(3,), (12,)],
    "union_replaced": [(3,), (t(2),)],
    "tensors_collected": [(t(2), 3)],
}
