"""Calls of functions, operators and builtins, in every form of argument."""
import math
import warnings
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from registry import case, made, t


def scale(x: Tensor, by: float = 2.0, shift: Optional[int] = None) -> Tensor:
    if shift is None:
        return x * by
    return x * by + shift


def pair(n: int) -> Tuple[int, int]:
    return n, n + 1


@case((t(2), 3))
def keyword_arguments(x: Tensor, n: int) -> Tensor:
    return scale(x) + scale(x, 3.0) + scale(x, shift=n) + scale(by=1.5, x=x, shift=2)


@case((3,))
def starred_arguments(n: int) -> Tuple[int, int, int]:
    values = pair(n)
    both = divmod(*values)
    return max(*values), both[0], both[1]


@torch.jit.script
def already_scripted(x: Tensor, n: int = 4) -> Tensor:
    return x + n


@case((t(2),))
def calls_scripted(x: Tensor) -> Tensor:
    return already_scripted(x) + already_scripted(x, 1) + torch.jit.annotate(Tensor, already_scripted(x, n=2))


@case((2.5,), (0.5,))
def math_functions(x: float) -> List[float]:
    return [math.sqrt(x), math.sin(x), math.cos(x), math.tan(x), math.exp(x), math.log(x), math.log10(x),
            math.pow(x, 2.0), math.atan2(x, 1.0), math.fabs(-x), math.copysign(x, -1.0), math.fmod(x, 2.0),
            math.erf(x), math.gamma(x), math.degrees(x), math.radians(x), math.expm1(x), math.pi, math.e,
            math.modf(x)[0], math.ldexp(x, 2), math.remainder(x, 2.0), math.asinh(x), math.inf]


@case((2.5, 12))
def math_integers(x: float, n: int) -> Tuple[int, int, int, int, bool, bool, bool]:
    return (math.floor(x), math.ceil(x), math.gcd(n, 18), math.factorial(5), math.isnan(x), math.isinf(x),
            math.isfinite(x))


@case((t(2, 3),))
def operators_by_name(x: Tensor) -> List[Tensor]:
    out = torch.empty_like(x)
    torch.add(x, 1, alpha=2, out=out)
    return [out, torch.ops.aten.mul(x, 2), torch.special.expit(x), torch.linalg.norm(x), torch.fft.rfft(x).real,
            torch.nn.functional.relu(x), torch.clamp(x, min=1.0), torch.where(x > 1, x, 0.0), x.masked_fill(x > 1, 0)]


@case((t(2, 3),))
def aliases_of_operators(x: Tensor) -> List[Tensor]:
    return [torch.absolute(x), torch.clip(x, 0, 1), torch.multiply(x, x), torch.divide(x, 2), torch.subtract(x, 1),
            torch.greater(x, 1), torch.less_equal(x, 1), torch.not_equal(x, 1), torch.negative(x), torch.arctan(x),
            torch.fix(x), torch.true_divide(x, 3), torch.concat([x, x]), torch.row_stack([x, x]), torch.swapaxes(x, 0, 1),
            torch.moveaxis(x, 0, 1), torch.special.erf(x), torch.outer(x[0], x[1]), torch.rsub(x, 2)]


@case((t(3),))
def in_place_operators(x: Tensor) -> Tensor:
    y = x.clone()
    y.add_(1).mul_(2).clamp_(0, 3)
    torch.relu_(y)
    y.copy_(x)
    y.zero_().fill_(2)
    nn.init.ones_(y)
    return y


@case((t(2),))
def changed_operators(x: Tensor) -> List[Tensor]:
    """Operators whose schema has changed between file versions."""
    return [torch.div(x, 2), torch.div(x, 2, rounding_mode="floor"), torch.full([2], 1.5), torch.full((2,), 3, dtype=torch.int64),
            torch.linspace(0, 1, 5), torch.logspace(0, 1, 5), nn.functional.gelu(x), nn.functional.gelu(x, approximate="tanh"),
            torch.arange(0, 5, 2), torch.arange(3.0), x / 3, x // 2]


@case((4,))
def random_numbers(n: int) -> List[Tensor]:
    torch.manual_seed(3)
    return [torch.rand(n), torch.randn([n]), torch.randint(0, 10, (n,)), torch.randperm(n), torch.bernoulli(torch.ones(n) / 2)]


@case((t(2),))
def warns(x: Tensor) -> Tensor:
    warnings.warn("careful")
    return x + 1


@case((t(3, 3),))
def returns_nothing(x: Tensor) -> None:
    x.add_(1)


@case((3,), (12,))
def returns_optional(n: int) -> Optional[int]:
    if n > 10:
        return None
    return n


@case((t(2),))
def returns_list_of_tuples(x: Tensor) -> List[Tuple[str, Tensor]]:
    r: List[Tuple[str, Tensor]] = []
    for i in range(2):
        r.append((str(i), x + i))
    return r


@case((5,))
def chained_expressions(n: int) -> float:
    return ((((n + 1) * 2 - 3) // 2) ** 2 % 7 + (n << 2) - -n + (n ^ 3)) * (1 if n > 2 and n < 10 or n == 100 else 2)


@case((t(2),))
def long_expressions(x: Tensor) -> Tensor:
    return torch.relu(torch.sigmoid(torch.tanh(x + 1) * 2) - 0.5) + torch.exp(torch.neg(torch.abs(x - 3) / 7)).clamp(0.25, 0.75)


@case((["b", "a"], {"b": 1, "a": 2}))
def sorts(x: List[str], d: Dict[str, int]) -> Tuple[List[str], List[str], List[Tuple[str, int]]]:
    return sorted(x), sorted(d.keys()), sorted(d.items())


@torch.jit.script
class Ordered:
    def __init__(self, key: int):
        self.key = key

    def __lt__(self, other: "Ordered") -> bool:
        return self.key < other.key


@case((3,))
def sorts_objects(n: int) -> List[int]:
    objects = [Ordered(n - i) for i in range(n)]
    objects.sort()
    return [one.key for one in sorted(objects)]


@case((t(2, 2),))
class ForwardOnlyExported(nn.Module):
    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return x + 1

    @torch.jit.export
    def decode(self, x: Tensor) -> Tensor:
        return self.encode(x) - 2

    def forward(self, x: Tensor) -> Tensor:
        return self.decode(x)


@case((3, 4))
def exits_everywhere(n: int, m: int) -> List[int]:
    r = [0]
    i = 0
    while i < n:
        i += 1
        for j in range(m):
            if j == 2 and i == 1:
                continue
            if j == 3:
                break
            if i * j > 5:
                return r
            k = 0
            while True:
                k += 1
                if k > j:
                    break
                elif k == 1:
                    continue
                r.append(k)
            r.append(i * 10 + j)
        else_done = i > 100
        if else_done:
            break
    return r


@case(({"x": [1, 2], "y": [3]},))
def nested_containers(d: Dict[str, List[int]]) -> Tuple[int, Dict[str, Dict[str, int]]]:
    total = 0
    nested: Dict[str, Dict[str, int]] = {}
    for k, values in d.items():
        nested[k] = torch.jit.annotate(Dict[str, int], {})
        for i, v in enumerate(values):
            total += v
            nested[k][str(i)] = v
            d[k][i] += 1
    return total, nested


@case((t(4),))
def futures(x: Tensor) -> List[Tensor]:
    waiting: List[torch.jit.Future[Tensor]] = []
    for i in range(3):
        waiting.append(torch.jit.fork(scale, x, float(i)))
    return [torch.jit.wait(one) for one in waiting]


@made((t(2),))
def scripted_with_examples():
    """Types found by running: monkeytype is absent, so annotations hold."""

    class Plain(nn.Module):
        def forward(self, x, y: Optional[Tensor] = None):
            return x if y is None else x + y

    return torch.jit.script(Plain())
