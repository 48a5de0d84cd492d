"""if, while, for, break, continue, return, assert and raise."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor


def if_else(x: int) -> int:
    if x > 2:
        y = x * 2
    else:
        y = x - 1
    return y


def if_alone(x: int, y: int) -> int:
    if x > y:
        y = x
    return y


def elif_chain(x: int) -> str:
    if x == 0:
        s = "zero"
    elif x == 1:
        s = "one"
    elif x < 0:
        s = "negative"
    else:
        s = "many"
    return s


def if_on_tensor(x: Tensor):
    if x.sum() > 0:
        x = x + 1
    elif bool(x.max() > 0):
        x = x - 1
    return x


def if_several_names(x: int):
    if x > 1:
        b = 1
        a = 2.0
        c = "x"
    else:
        c = "y"
        a = 3.0
        b = 4
    return a, b, c


def if_nested(x: int, y: int) -> int:
    if x > 1:
        if y > 1:
            z = 1
        else:
            z = 2
            if x == y:
                z = 3
    else:
        z = 4
    return z


def early_return(x: int) -> int:
    if x > 2:
        return 10
    return 20


def returns_in_branches(x: int) -> str:
    if x > 2:
        if x > 5:
            return "large"
        x = x + 1
    else:
        return "small"
    return "middle" + str(x)


def while_loop(n: int) -> int:
    total = 0
    while n > 0:
        total += n
        n -= 1
    return total


def while_true(x: Tensor) -> Tensor:
    while True:
        x = x + 1
        if bool(x.sum() > 10):
            break
    return x


def while_with_and(n: int, m: int) -> int:
    while n > 0 and m > 0:
        n -= 1
        m -= 2
    return n * 100 + m


def for_range(x: Tensor, n: int):
    for i in range(n):
        x = x * i
    return x


def for_range_three(n: int) -> List[int]:
    out: List[int] = []
    for i in range(n, -n, -2):
        out.append(i)
    for i in range(1, n):
        out.append(i)
    return out


def for_list(xs: List[int]) -> int:
    total = 0
    for x in xs:
        total = total + x
    return total


def for_text(s: str) -> int:
    n = 0
    for c in s:
        if c == "e":
            n += 1
    return n


def for_tensor(x: Tensor) -> Tensor:
    total = torch.zeros(x.size(1))
    for row in x:
        total = total + row
    return total


def for_dict(d: Dict[str, int]) -> int:
    total = 0
    for key in d:
        total += d[key]
    for key, value in d.items():
        total += len(key) * value
    for value in d.values():
        total += value
    return total


def for_enumerate(xs: List[float]) -> float:
    total = 0.0
    for i, x in enumerate(xs):
        total += i * x
    for i, x in enumerate(xs, 5):
        total += i * x
    return total


def for_zip(xs: List[int], ys: List[float]) -> float:
    total = 0.0
    for x, y in zip(xs, ys):
        total += x * y
    return total


def for_zip_enumerate(xs: List[int], ys: List[float], zs: List[str]) -> str:
    out = ""
    for i, (x, (y, z)) in enumerate(zip(xs, zip(ys, zs))):
        out += f"{i}{x}{y}{z};"
    return out


def for_reversed_range(n: int) -> List[int]:
    out: List[int] = []
    for i in range(n - 1, -1, -1):
        out.append(i)
    return out


def for_tuple(x: Tuple[int, float, str]) -> str:
    out = ""
    for item in x:
        out += str(item)
    return out


def for_list_of_tuples(pairs: List[Tuple[int, str]]) -> str:
    out = ""
    for number, name in pairs:
        for _ in range(number):
            out += name
    return out


def nested_loops(n: int, m: int) -> int:
    total = 0
    for i in range(n):
        for j in range(m):
            if i == j:
                continue
            total += i * j
    return total


def break_in_for(xs: List[int]) -> int:
    found = -1
    for i, x in enumerate(xs):
        if x == 1:
            found = i
            break
    return found


def continue_in_while(n: int) -> int:
    total = 0
    while n > 0:
        n -= 1
        if n % 2 == 0:
            continue
        total += n
    return total


def break_and_continue(xs: List[int]) -> List[int]:
    out: List[int] = []
    for x in xs:
        if x == 2:
            continue
        elif x == 9:
            break
        else:
            out.append(x)
        out.append(0)
    return out


def return_in_for(xs: List[int]) -> int:
    for x in xs:
        if x > 2:
            return x
    return -1


def return_in_while(n: int) -> int:
    while n < 100:
        n += 1
        if n > 10:
            return n
    return 0


def return_in_nested_loops(n: int) -> Tuple[int, int]:
    for i in range(n):
        for j in range(n):
            if i * j == 2:
                return i, j
    return -1, -1


def break_in_nested_loops(n: int) -> int:
    total = 0
    for i in range(n):
        j = 0
        while j < n:
            j += 1
            if j > i:
                break
            total += j
        if total > 10:
            break
    return total


def loop_and_new_names(n: int) -> int:
    a = 1
    for i in range(n):
        b = a + i
        c = b * 2
        a = c - b
    return a


def carried_in_order(y: int, x: int):
    b = y
    a = x
    c = 1
    for i in range(y):
        c = c + i
        a = a + c
        b = b * 2
    return a, b, c


def loop_with_if(n: int):
    a, b = 0, 1
    for _ in range(n):
        if a > b:
            b = a
        else:
            a = a + b
    return a, b


def assert_plain(x: int) -> int:
    assert x > 1
    return x


def assert_message(x: int) -> int:
    assert x > 1, "too small"
    return x


def assert_format(x: int) -> int:
    assert x > 1, f"too small: {x}"
    return x


def assert_percent(x: int) -> int:
    assert x > 1, "too small: {}".format(x)
    return x


def raise_plain(x: int) -> int:
    if x > 1:
        raise RuntimeError("no")
    return x


def raise_class(x: int) -> int:
    if x > 1:
        raise ValueError
    return x


def raise_only():
    raise NotImplementedError("never")


def raise_format(x: int) -> int:
    if x == 1:
        raise ValueError(f"bad: {x}")
    elif x == 2:
        raise IndexError("worse: {}".format(x))
    return x


def raise_two_arguments(x: int) -> int:
    if x == 1:
        raise ValueError("bad", x)
    return x


def raise_in_loop(xs: List[int]) -> int:
    total = 0
    for x in xs:
        if x < 0:
            raise ValueError("negative")
        total += x
    return total


def raise_or_define(x: int) -> int:
    if x > 2:
        y = 1
    else:
        raise RuntimeError("small")
    return y


def pass_statement(x: int) -> int:
    if x > 1:
        pass
    else:
        x = 2
    for _ in range(x):
        pass
    return x


def conditional_expression(x: int, y: Optional[int]) -> int:
    a = 1 if x > 2 else 2
    b = (x if x > a else a) if y is None else y
    return a if b > 1 else b


def and_or_not(x: int, y: int, flag: bool) -> bool:
    a = x > 1 and y > 1
    b = x > 1 or y > 1 or flag
    c = not a and (b or not flag)
    return a or b and c


def chained_comparison(x: int, y: int) -> bool:
    return 0 < x <= y < 10


def comparisons(x: int, y: float):
    return x == y, x != y, x < y, x <= y, x > y, x >= y


def membership(x: int, s: str, d: Dict[str, int], xs: List[int]):
    return x in xs, x not in xs, "a" in s, "b" not in s, s in d, s not in d


def is_none(x: Optional[int]):
    return x is None, x is not None


def delete_items(xs: List[int], d: Dict[str, int]):
    del xs[0]
    del d["sample text"]
    return xs, d


def delete_name(x: int) -> int:
    y = x + 1
    z = y * 2
    del y
    return z


def while_else_less(x: int) -> int:
    i = 0
    while not (i >= x or i > 100):
        i = i * 2 + 1
    return i


def static_conditions(x: Tensor) -> int:
    if torch.jit.is_scripting():
        y = 1
    else:
        y = x.numpy().anything()
    if not torch.jit.is_scripting():
        y = "text"
    if torch.jit.is_tracing():
        y += 100
    return y


def constant_condition(x: int) -> int:
    if True:
        x = x + 1
    else:
        x = x + 2
    while False:
        x = x + 3
    return x


CALLS = {
    "return_in_for": [([1, 2, 3],), ([1],)],
    "break_and_continue": [([1, 2, 3, 9, 4],)],
    "raise_in_loop": [([1, 2],), ([1, -2],)],
    "elif_chain": [(0,), (1,), (-4,), (7,)],
    "while_true": [(torch.zeros(3),)],
    "returns_in_branches": [(1,), (4,), (9,)],
    "raise_format": [(1,), (2,), (3,)],
}
