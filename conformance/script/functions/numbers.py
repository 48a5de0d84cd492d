"""Arithmetic, casts, math.* and literals."""
import cmath
import math
from typing import List, Tuple

import torch
from torch import Tensor


def int_arithmetic(x: int, y: int):
    return x + y, x - y, x * y, x / y, x // y, x % y, -x


def float_arithmetic(x: float, y: float):
    return x + y, x - y, x * y, x / y, x // y, x % y, -x, x ** y


def mixed_arithmetic(x: int, y: float):
    return x + y, y - x, x * y, x / y, y // x, x % y


def power_of_ints(x: int, y: int) -> float:
    return x ** y


def bit_operators(x: int, y: int):
    return x & y, x | y, x ^ y, x << y, x >> y


def bool_operators(x: bool, y: bool):
    return x & y, x | y, x ^ y, not x


def augmented_numbers(x: int, y: float):
    x += 1
    x -= 2
    x *= 3
    y /= 2
    y += x
    y *= 2
    y -= 1
    y **= 2
    return x, y


def augmented_bits(x: int):
    x |= 8
    x &= 13
    x ^= 5
    x <<= 2
    x >>= 1
    return x


def precedence(a: int, b: int, c: int) -> int:
    return a + b * c - (a + b) * c // 2 % 7 + -a * -b


def unary(x: int, y: float):
    return -x, --x, -(x + 1), -y, -2, -2.5, not x > 1


def literals():
    return 0, 7, 1000000, 0x1F, 0b101, 0o17, 1_000, 1.5, 2.0, 1e3, 1e-7, 1.0e10, .5, 3., True, False, None


def large_literals():
    return 9223372036854775807, -9223372036854775807, 1e308, 1e-308, 123456789.123456789


def special_floats():
    return float("inf"), float("-inf"), float("nan"), math.inf, -math.inf, math.pi, math.e


def complex_literals():
    return 2j, 1 + 2j, 1.5 - 0.5j, complex(1, 2)


def complex_arithmetic(a: complex, b: complex):
    return a + b, a - b, a * b, a / b, a == b, a + 1, a * 2.5, abs(a)


def casts(x: int, y: float, z: bool):
    return float(x), int(y), bool(x), bool(y), int(z), float(z), str(x), str(y), str(z)


def casts_of_text():
    return int("12"), float("1.5"), int("-3")


def casts_of_tensors(x: Tensor):
    return int(x), float(x), bool(x)


def builtin_numbers(x: int, y: float):
    return abs(x), abs(y), min(x, 2), max(x, 2), min(y, 2.0), max(x, y), round(y), divmod(x, 2), pow(x, 2), pow(y, 2.0)


def builtin_sums(xs: List[int], ys: List[float]):
    return sum(xs), sum(ys), min(xs), max(ys)


def builtin_any_all(xs: List[bool], ys: List[int]):
    return any(xs), all(xs), any(ys), all(ys)


def math_functions(x: float):
    return (math.sqrt(x), math.exp(x), math.log(x), math.sin(x), math.cos(x), math.tan(x), math.floor(x), math.ceil(x),
            math.log10(x), math.log1p(x), math.expm1(x), math.atan(x), math.atan2(x, 2.0), math.fabs(x))


def math_of_ints(x: int):
    return math.sqrt(x), math.floor(x), math.factorial(x), math.gcd(x, 6), math.pow(x, 2), math.exp(x)


def math_tests(x: float):
    return math.isnan(x), math.isinf(x), math.isfinite(x)


def math_more(x: float):
    return math.copysign(x, -1.0), math.fmod(x, 0.4), math.degrees(x), math.radians(x), math.modf(x), math.frexp(x)


def math_constants(r: float) -> float:
    return 2 * math.pi * r + math.tau - math.e


def cmath_functions(a: complex):
    return cmath.exp(a), cmath.sqrt(a), cmath.sin(a)


def tensor_and_number(x: Tensor, n: int, f: float):
    return x + n, n + x, x - f, f - x, x * n, n * x, x / f, f / x, x // n, x % n, x ** n, n ** x


def tensor_operators(x: Tensor, y: Tensor):
    return x + y, x - y, x * y, x / y, x @ y.t(), x // y, x % y, x ** y, -x


def tensor_comparisons(x: Tensor, y: Tensor, n: int):
    return x == y, x != y, x < y, x <= n, x > n, n >= x


def tensor_bits(x: Tensor, y: Tensor):
    return x & y, x | y, x ^ y, ~x, x & 3, x << 1, x >> 1


def augmented_tensors(x: Tensor, y: Tensor) -> Tensor:
    x += y
    x -= 1
    x *= 2.0
    x /= y + 10
    x %= 3
    return x


def augmented_tensor_power(x: Tensor) -> Tensor:
    x **= 2
    return x


def hex_oct_bin(x: int):
    return hex(x), oct(x), bin(x), chr(x + 65), ord("a")


def number_types_unify(flag: bool) -> float:
    if flag:
        x = 1.0
    else:
        x = 2.5
    return x


def constant_folding() -> int:
    a = 2 * 3 + 4
    b = a // 3
    c = "x" + "y"
    return b + len(c)


def tuple_of_constants() -> Tuple[int, float, str, bool]:
    return (1, 2.5, "s", True)


def nested_tuple_of_constants():
    return ((1, 2), ("a", (None, 2.0)))


def implicit_from_tensor(x: Tensor) -> float:
    return x.sum()


def implicit_to_sizes(x: Tensor, n: Tensor) -> Tensor:
    return torch.zeros(n, 2) + torch.full([2], x)


CALLS = {
    "casts_of_tensors": [(torch.tensor(2.5),), (torch.tensor(0),)],
    "tensor_bits": [(torch.tensor([1, 6]), torch.tensor([3, 2]))],
    "power_of_ints": [(3, 2), (2, -1)],
    "math_functions": [(0.75,)],
    "implicit_to_sizes": [(torch.tensor(1.5), torch.tensor(3))],
    "hex_oct_bin": [(11,)],
    "bit_operators": [(12, 2)],
}
