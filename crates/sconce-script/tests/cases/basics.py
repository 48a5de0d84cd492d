import math
from typing import Dict, List, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor


def add(x: int, y: int) -> int:
    return x + y


def my_func(a: int) -> int:
    a = a + 2
    return a


def untyped(x, y):
    z = x * y
    return z.relu()


def branches(x: Tensor, flag: bool = True, scale: float = 2.0):
    """A docstring."""
    if flag:
        y = x * scale
    elif x.sum() > 0:
        y = x + 1
    else:
        y = -x
    return y


def loops(n: int, xs: List[int]) -> int:
    total = 0
    for i in range(n):
        total += i
    for x in xs:
        if x > 3:
            continue
        if x < -3:
            break
        total = total + x
    while total > 100:
        total -= 7
    return total


def optional(x: Optional[Tensor], y: Optional[int] = None) -> Tensor:
    if x is None:
        return torch.zeros(2)
    if y is not None:
        return x + y
    return x


def _helper(a: Tensor, b: int = 3, *, c: float = 0.5) -> Tensor:
    return a * b + c


def _helper2(a: Tensor, b: int = 3) -> Tensor:
    return a * b


def calls(x: Tensor) -> Tuple[Tensor, Tensor]:
    return _helper2(x), _helper2(x, b=4)


def comprehension(xs: List[int]) -> List[float]:
    return [float(x) * 1.5 for x in xs]


def dicts(keys: List[str]) -> Dict[str, int]:
    out: Dict[str, int] = {}
    for i, k in enumerate(keys):
        out[k] = i
    return {k: v + 1 for k, v in out.items()}


def strings(a: str, n: int) -> str:
    s = f"a{a}b{n}"
    return "{}:{}".format(s, a) + 'x' * 1 if n > 1 else s


def strings2(a: str, n: int) -> str:
    s = f"a{a}b{n}"
    return "{}:{}".format(s, a) if n > 1 else s


def maths(x: float) -> float:
    return math.sqrt(x) + math.pi * math.floor(x) + math.pow(x, 2)


def indexing(x: Tensor) -> Tensor:
    a = x[0]
    b = x[:, 1:3]
    c = x[..., -1]
    d = x[None]
    x[0] = 1
    x[1:, 0] += 2
    return a + b.sum() + c.sum() + d.sum()


def compare(a: int, b: int, c: int, xs: List[int]) -> bool:
    return a < b <= c and a not in xs or not b in xs


def comment_types(x, y):
    # type: (int, List[Tensor]) -> Optional[Tensor]
    if x > 3:
        return y[0]
    return None


def comment_lines(x,  # type: int
                  y,  # type: Tensor
                  ):
    # type: (...) -> Tensor
    return y + x


def numbers(x: float) -> float:
    return x + 1e-5 + 1_000 + 0x10 + 1.50 - 2e20 * -3


def asserts(x: Tensor, n: int) -> Tensor:
    assert n > 0
    assert x.dim() == 2, "two dims"
    assert n < 10, f"n is {n}"
    if n == 5:
        raise ValueError("five")
    return x


def unions(x: Union[int, str]) -> int:
    if isinstance(x, int):
        return x
    return len(x)


def torch_functions(x: Tensor) -> Tensor:
    y = torch.cat([x, x], dim=1)
    z = torch.zeros_like(y, dtype=torch.float32)
    return torch.where(y > 0, y, z).to(torch.float64)


def scripting(x: Tensor) -> Tensor:
    if torch.jit.is_scripting():
        return x + 1
    else:
        return x + 2


def annotated(x: int):
    y = torch.jit.annotate(List[int], [])
    z: List[Optional[int]] = []
    z.append(x)
    y.append(x)
    return y, z


def one_line(x: int): return x + 1


def ternaries(x: int, y: Optional[int]):
    a = 1 if x > 2 else 3
    b = y if y is not None else 0
    return a + b


def multiple(x: Tensor):
    a = b = x + 1
    (c, d), e = (a, b), 3
    [f, g] = [1, 2]
    return c + d + e + f + g


def sliced(xs: List[int], s: str, t: Tuple[int, str, float]):
    return xs[1:], s[::2], t[0:2], t[-1], xs[-1]


def starred(t: Tuple[int, int]):
    a, *b = (1, 2, 3)
    return torch.zeros(*t), a, b


def functional(x: Tensor) -> Tensor:
    return torch._C._nn.gelu(x) + F.linear(x, x) + F.avg_pool2d(x, 2)


def global_none():
    return None


def nothing(x: Tensor):
    x.add_(1)


def infinite(x: Tensor) -> Tensor:
    while True:
        x = x + 1
        if bool(x.sum() > 3):
            break
    return x


def lists(n: int):
    xs = [1, 2, 3]
    ys = [i for i in range(n)]
    zs: List[Tensor] = []
    for x, y in zip(xs, ys):
        zs.append(torch.tensor(x + y))
    return torch.stack(zs), sorted(ys), xs + ys, len(xs), max(xs), sum(ys)


def devices(x: Tensor, d: torch.device, t: torch.dtype = torch.float32) -> Tensor:
    return x.to(device=d, dtype=t)


def default_values(a: List[int] = [1, 2], b: Tuple[int, float] = (1, 2.0), c: Optional[str] = "x", d: float = 1):
    return a, b, c, d


def complexes(z: complex) -> complex:
    return z * 2j + 1
