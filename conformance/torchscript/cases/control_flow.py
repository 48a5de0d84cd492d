"""if, loops, early exits, exceptions, with."""
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from registry import case, t


@case((t(2), 3), (t(2), 0))
def if_assigns(x: Tensor, y: int):
    if y > 1:
        z, a = x, 1
    else:
        a = 2
        z = x + 1
    return z, a


@case((1,), (5,), (50,))
def if_elif(x: int) -> str:
    if x < 3:
        r = "small"
    elif x < 10:
        r = "middle"
    else:
        r = "large"
    return r


@case((1,), (-1,))
def if_one_side(x: int) -> int:
    y = 1
    if x > 0:
        y = 2
        if x > 10:
            y = 3
    return y


@case((1,), (7,), (-3,))
def early_returns(x: int) -> int:
    if x < 0:
        return -1
    if x == 7:
        return 70
    y = x + 1
    if y > 100:
        return 100
    return y


@case((3,), (0,))
def return_in_both(x: int) -> int:
    if x > 2:
        return 1
    else:
        return 2


@case((5,), (20,))
def return_in_for(n: int) -> int:
    s = 0
    for i in range(n):
        s += i
        if s > 12:
            return s
    return -s


@case((5,), (0,))
def return_in_while(n: int) -> int:
    while n > 0:
        n -= 1
        if n == 2:
            return 100
    return n


@case((6,), (1,))
def break_for(n: int) -> int:
    s = 0
    for i in range(n):
        if i > 3:
            break
        s += i
    return s


@case((6,))
def continue_for(n: int) -> Tuple[int, int]:
    s, c = 0, 0
    for i in range(n):
        if i % 2 == 0:
            continue
        s += i
        c += 1
    return s, c


@case((6,))
def break_and_continue(n: int) -> int:
    s = 0
    for i in range(n):
        if i == 1:
            continue
        if i == 4:
            break
        s += i
    return s


@case((10,), (2,))
def while_break_continue(n: int) -> int:
    s = 0
    i = 0
    while i < n:
        i += 1
        if i == 3:
            continue
        if i == 7:
            break
        s += i
    return s


@case((4,))
def nested_loops(n: int) -> int:
    s = 0
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            if i == 1:
                continue
            s += i * j
        if s > 20:
            break
    return s


@case((4,), (0,))
def loop_in_if_in_loop(n: int) -> List[int]:
    r: List[int] = []
    for i in range(n):
        if i % 2 == 0:
            for j in range(3):
                if j == 1:
                    continue
                r.append(i + j)
        else:
            k = i
            while k > 0:
                k -= 1
                if k == 1:
                    break
                r.append(-k)
    return r


@case((5,), (1,))
def return_in_nested_loops(n: int) -> int:
    for i in range(n):
        for j in range(n):
            if i * j == 6:
                return i * 10 + j
    return -1


@case((t(2, 2),))
def while_true(x: Tensor) -> Tensor:
    while True:
        x = x + 1
        if bool(x.sum() > 30):
            break
    return x


@case((t(2), 3))
def carried_variables(x: Tensor, y: int) -> Tuple[Tensor, int, int]:
    b = y
    a = x
    c = 1
    for i in range(y):
        c = c + i
        a = a + c
        b = b * 2
    return a, b, c


@case((2, 11, 3), (11, 2, -4))
def range_of_three(a: int, b: int, c: int) -> List[int]:
    r = [0]
    for i in range(a, b, c):
        r.append(i)
    return r


@case((t(3, 2),))
def for_over_tensor(x: Tensor) -> Tensor:
    s = torch.zeros(2)
    for row in x:
        s = s + row
    return s


@case((["a", "bc"],))
def for_over_list(x: List[str]) -> str:
    r = ""
    for s in x:
        r += s
    return r


@case(("abc",))
def for_over_string(x: str) -> List[str]:
    r: List[str] = []
    for c in x:
        r.append(c + c)
    return r


@case(({"a": 1, "b": 2},))
def for_over_dict(d: Dict[str, int]) -> int:
    s = 0
    for k in d:
        s += d[k]
    for k, v in d.items():
        s += v + len(k)
    for v in d.values():
        s += v
    return s


@case(([3, 4], ["a", "b"]))
def for_zip_enumerate(x: List[int], y: List[str]) -> List[str]:
    r: List[str] = []
    for i, (a, b) in enumerate(zip(x, y)):
        r.append(b + str(a + i))
    for i, a in enumerate(x, 5):
        r.append(str(i * a))
    return r


@case(((1, 2.5, "a"),))
def for_over_tuple(x: Tuple[int, float, str]) -> str:
    r = ""
    for v in x:
        r += str(v)
    return r


@case(([1, 2, 3],))
def comprehensions(x: List[int]) -> Tuple[List[int], List[str], Dict[int, str], List[List[int]]]:
    squares = [v * v for v in x]
    texts = [str(v) for v in range(3)]
    table = {v: str(v) for v in x}
    nested = [[a + b for a in x] for b in x]
    return squares, texts, table, nested


@case((1,), (-1,))
def raises(x: int) -> int:
    if x < 0:
        raise ValueError("negative: " + str(x))
    return x


@case((1,), (2,), (3,))
def raises_classes(x: int) -> int:
    if x == 1:
        raise RuntimeError("one")
    elif x == 2:
        raise NotImplementedError
    elif x == 4:
        raise IndexError(f"index {x}")
    return x


@case((True,))
def only_raises(c: bool) -> int:
    raise AssertionError("never")


@case((1,), (0,))
def asserts(x: int) -> int:
    assert x > 0
    assert x < 10, "too large"
    assert x != 5, f"five: {x}"
    return x


class Broken(RuntimeError):
    pass


@case((1,), (0,))
def raises_own_class(x: int) -> int:
    if x == 0:
        raise Broken("zero")
    return x


@case((t(2),))
def without_gradient(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
        if bool(y.sum() > 0):
            y = y + 1
    return y


@torch.jit.script
class Guard:
    def __init__(self, count: int):
        self.count = count

    def __enter__(self) -> int:
        self.count += 1
        return self.count

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.count = 0


@case((3,))
def with_class(n: int) -> Tuple[int, int]:
    guard = Guard(n)
    with guard as inside:
        y = inside * 2
    with guard, Guard(5) as other:
        y += other
    return y, guard.count


@case((3,), (9,))
def return_in_with(n: int) -> int:
    with Guard(n) as inside:
        if inside > 5:
            return inside
        n = inside
    return n * 100


def add_one(x: Tensor) -> Tensor:
    return x + 1


@case((t(3),))
def fork_and_wait(x: Tensor) -> Tensor:
    futures = [torch.jit.fork(add_one, x)]
    futures.append(torch.jit.fork(add_one, x * 2))
    total = torch.zeros(3)
    for future in futures:
        total = total + torch.jit.wait(future)
    return total


@case((t(2),))
class ForkMethod(nn.Module):
    def work(self, x: Tensor, k: int) -> Tuple[Tensor, int]:
        return x * k, k

    def forward(self, x: Tensor) -> Tensor:
        future = torch.jit.fork(self.work, x, 3)
        y, k = torch.jit.wait(future)
        return y + k


@case((True, False), (True, True))
def logic(a: bool, b: bool) -> Tuple[bool, bool, bool, bool]:
    return a and b, a or b, not a, a and not b or b


@case((3, 5), (-3, 5))
def ternaries(a: int, b: int) -> int:
    c = a if a > b else b
    return (c if c > 0 else -c) + (1 if a < 0 else 2 if b < 0 else 3)


@case((2,))
class ScriptingBranch(nn.Module):
    def forward(self, n: int) -> int:
        if torch.jit.is_scripting():
            n = n + 1
        else:
            n = n + 2
        if not torch.jit.is_scripting():
            return -1
        return n


@case((t(3), 2))
def delete_variables(x: Tensor, n: int) -> int:
    y = [n, n + 1, n + 2]
    d = {"a": 1, "b": 2}
    del y[0]
    del d["a"]
    z = y
    del y
    return len(z) + len(d)


@case((5,))
def dead_code(n: int) -> int:
    return n
    n = n + 1


@case((4,))
def long_function(n: int) -> int:
    if n > 0:
        if n > 1:
            if n > 2:
                return 3
            elif n == 2:
                n += 1
            else:
                return 2
        else:
            n = 7
        n = n * 2
    else:
        for i in range(3):
            if i == n:
                return i
            n -= 1
    return n
