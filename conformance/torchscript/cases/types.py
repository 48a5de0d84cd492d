"""Optional refinement, isinstance, Union, NamedTuple, Enum, annotations, defaults."""
from collections import namedtuple
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from registry import case, t


@case((None,), (3,))
def refine_return(x: Optional[int]) -> int:
    if x is None:
        return 1
    return x + 1


@case((None, None), (1, None), (1, 2))
def refine_and_or(x: Optional[int], y: Optional[int]) -> int:
    r = 0
    if x is not None and y is not None:
        r = x + y
    if x is None or y is None:
        r += 10
    else:
        r += x * y
    if not (x is None):
        r += x
    if x is not None and x > 0:
        r += 100
    return r


@case((3,), (None,))
def refine_assert(x: Optional[int]) -> int:
    assert x is not None, "x is missing"
    return x * 2


@case((None,), (t(2),))
def refine_default(x: Optional[Tensor]) -> Tensor:
    if x is None:
        x = torch.zeros(2)
    return x + 1


@case((None,), (2,))
def refine_ternary(x: Optional[int]) -> int:
    return x if x is not None else -1


@case((None,), (2,))
def refine_else(x: Optional[int]) -> int:
    if x is not None:
        y = x
    else:
        raise RuntimeError("none")
    return y


@case(([1, None, 3],))
def refine_in_loop(xs: List[Optional[int]]) -> int:
    s = 0
    for x in xs:
        if x is not None:
            s += x
    return s


@case((2,))
def unwrap(x: Optional[int]) -> int:
    y = torch.jit._unwrap_optional(x)
    return y + 1


@case((1,), ("ab",))
def union_argument(x: Union[int, str]) -> int:
    if isinstance(x, int):
        return x + 1
    else:
        return len(x)


@case((1,), ([1, 2],), (None,))
def union_three(x: Union[int, List[int], None]) -> int:
    if x is None:
        return 0
    elif isinstance(x, int):
        return x
    return len(x)


@case((1,), (2.5,), ("a",))
def any_argument(x: Any) -> str:
    if isinstance(x, int):
        return "int " + str(x + 1)
    if isinstance(x, (float, bool)):
        return "float or bool"
    return "other"


@case((t(2), [1], (1, "a")))
def isinstance_static(x: Tensor, y: List[int], z: Tuple[int, str]) -> Tuple[bool, bool, bool, bool]:
    return isinstance(x, Tensor), isinstance(y, list), isinstance(z, tuple), isinstance(y, (int, str))


class Point(NamedTuple):
    x: int
    y: Tensor
    name: str = "p"


@case((2, t(2)))
def named_tuple(n: int, y: Tensor) -> Tuple[Point, int, str]:
    p = Point(n, y)
    q = Point(x=n + 1, y=p.y, name="q")
    a, b, c = q
    return p, a + p.x, q.name + c + p[2]


Pair = namedtuple("Pair", ["left", "right"])


@case((t(1), t(2)))
def untyped_named_tuple(a: Tensor, b: Tensor):
    p = Pair(a, b)
    return p.left + p.right.sum()


class Color(Enum):
    RED = 1
    GREEN = 2


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"


class Scale(Enum):
    HALF = 0.5
    TWICE = 2.0


@case((1,), (2,))
def enums(n: int) -> Tuple[int, str, float]:
    c = Color.RED if n == 1 else Color.GREEN
    m = Mode.FAST
    if c == Color.GREEN:
        m = Mode.SLOW
    s = Scale.TWICE.value
    return c.value, m.value + m.name, s * 2


@case((1,))
class EnumAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.color = Color.GREEN
        self.modes: List[Mode] = [Mode.FAST, Mode.SLOW]

    def forward(self, n: int) -> Tuple[int, int]:
        count = 0
        for color in Color:
            count += color.value
        if self.color is Color.RED:
            count += 100
        return count, len(self.modes)


@case((2,), (2, 3), (2, 3, 4.5, "z"))
def default_arguments(a: int, b: int = 5, c: float = 1.5, d: str = "d\n\"'", e: Optional[int] = None,
                      g: bool = True, h: Tuple[int, int] = (1, 2)) -> str:
    return str(a + b) + str(c) + d + str(e is None) + str(g) + str(h[1])


@case((t(2),))
class Defaults(nn.Module):
    def scaled(self, x: Tensor, by: float, *, shift: int) -> Tensor:
        return x * by + shift

    def forward(self, x: Tensor, n: int = 3) -> Tensor:
        return self.scaled(x, 2.0, shift=n) + self.scaled(shift=1, x=x, by=0.5)


@case((3,))
def annotate(n: int) -> Tuple[List[float], Dict[str, int], Optional[int]]:
    a = torch.jit.annotate(List[float], [])
    b: Dict[str, int] = {}
    c = torch.jit.annotate(Optional[int], None)
    a.append(float(n))
    b["n"] = n
    if n > 2:
        c = n
    return a, b, c


@case((3,))
def annotated_locals(n: int) -> Tuple[Optional[int], List[Optional[str]], Tuple[int, float]]:
    a: Optional[int] = n
    b: List[Optional[str]] = [None, "a"]
    c: Tuple[int, float] = (1, 2.0)
    return a, b, c


@case((t(2), 3))
def type_comment(x, n):
    # type: (Tensor, int) -> Tuple[Tensor, int]
    return x * n, n


@case((t(2),))
def untyped(x):
    return x + x


@case((3,))
def pep_604(x: int | None) -> int:
    return 0 if x is None else x


@case(([1, 2], {"a": t(1)}))
def builtin_generics(x: list[int], y: dict[str, Tensor]) -> tuple[int, Tensor]:
    return x[0], y["a"]


@case((2 + 3j,))
def complex_numbers(z: complex) -> Tuple[complex, float, complex, complex]:
    w = z * (1 + 2j) + 1
    return w, abs(w), complex(1.5, 2), -z - 2j


@case((7, 2))
def integers(a: int, b: int) -> Tuple[int, int, int, float, int, int, int, int, int, int]:
    return (a + b, a - b, a * b, a / b, a // b, a % b, a << b, a >> b, a & b | 1, a ^ b)


@case((7.5, 2.0))
def floats(a: float, b: float) -> Tuple[float, float, float, float, float, float, int, float]:
    return a + b, a - b, a * b, a / b, a // b, a % b, int(a), a ** b


@case((3, 4.5, True))
def casts(a: int, b: float, c: bool) -> Tuple[float, int, bool, str, str, int, float, bool]:
    return float(a), int(b), bool(a), str(b), str(c), int(c), float("1.5"), bool(b)


@case((5, -3))
def builtins(a: int, b: int) -> Tuple[int, int, int, float, Tuple[int, int], int, str, str, str, int, str]:
    return (abs(b), min(a, b), max(a, b), round(2.5), divmod(a, b), sum([a, b]), hex(a), oct(a), bin(a),
            ord("a"), chr(98))


@case((5,))
def comparisons(a: int) -> List[bool]:
    return [a < 3, a <= 5, a > 1.5, a >= 5, a == 5, a != 5, 1 < a < 9, a in [1, 5], a not in [1, 5], a is None]


@case(([3, 1, 2],))
def sequence_builtins(x: List[int]) -> Tuple[List[int], bool, bool, List[int], Tuple[int, int], int]:
    return sorted(x), any([v > 2 for v in x]), all([v > 2 for v in x]), list(range(3)), divmod(len(x), 2), len(x)


@case((t(2, 3),))
def devices_and_dtypes(x: Tensor) -> Tuple[bool, Tensor, torch.device, int]:
    d = torch.device("cpu")
    y = torch.zeros(2, dtype=torch.float64, device=d, layout=torch.strided)
    z = torch.ones([2], dtype=x.dtype, device=x.device)
    if x.dtype == torch.float32:
        z = z.to(torch.int64)
    return y.dtype == torch.double, z, x.device, x.dim()
