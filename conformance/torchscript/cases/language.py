"""Numbers, containers and attributes: operators of the language that compute no tensor."""
import cmath
import math
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from registry import case, t


@case((3, 0.75), (0, 0.25), (-2, -0.5))
def math_of_numbers(i: int, x: float) -> List[float]:
    return [math.sin(i), math.sin(x), math.asinh(i), math.asinh(x), math.atan(x), math.exp(i), math.expm1(x),
            math.erf(i), math.erf(x), math.erfc(i), math.erfc(x), math.degrees(i), math.degrees(x),
            math.radians(i), math.radians(x), math.fabs(i), math.fabs(x), math.cosh(i), math.tanh(x)]


@case((3, 0.75), (1, 0.25), (7, 0.0))
def math_of_positive_numbers(i: int, x: float) -> List[float]:
    return [math.acosh(i), math.acosh(x + 1), math.atanh(x), math.gamma(i), math.gamma(x + 1.5), math.lgamma(i),
            math.lgamma(x + 2.5), math.log(i), math.log(x + 1), math.log10(i), math.log10(x + 2),
            math.log1p(x), math.log(i, 3), math.log(x + 2, 2.0), math.log(i, 2.5), math.log(x + 2, 3)]


@case((6.5,), (-0.1,), (0.0,), (1e300,))
def float_parts(x: float) -> Tuple[Tuple[float, int], Tuple[float, float], float]:
    return math.frexp(x), math.modf(x), math.ldexp(x, 3)


@case((t(4), 1), (t(4).long(), 3))
def math_of_items(x: Tensor, i: int):
    y = x[i].item()
    return (math.sin(y), math.sqrt(y), math.floor(y), math.ceil(y), math.exp(y), round(y), math.log(y), abs(y), -y,
            math.erf(y), math.gamma(y), math.degrees(y), math.fabs(y), math.copysign(y, -1), y // 2, y % 2, y + 1,
            math.fmod(y, 2), math.atan2(y, y), math.log(y, 2), float(y), int(y))


@case((torch.tensor(0.1, dtype=torch.float64),), (torch.tensor(16777217),))
def numbers_of_unknown_kind(x: Tensor):
    y = x.item()
    return (-y, abs(y), math.fabs(y), math.radians(y), math.log1p(y), math.tan(y), round(y), math.fmod(y, 3),
            y + 0.2, y * 3, y / 3, y ** 2, y // 0.3, y % 0.3, min(y, 0.7), max(y, 0.05), math.ceil(y))


@case((1.5 + 2j, 0.5 - 1j), (-2.25 + 0.5j, 3 + 0.25j))
def complex_arithmetic(a: complex, b: complex) -> List[complex]:
    return [a + b, a - b, a * b, a / b, a ** b, a ** 2.0, 2.0 ** a, a + 1, 2 - a, 2.5 * a, -a]


@case((1.5 + 2j,), (-2.25 + 0.5j,), (0.25 - 3j,))
def complex_functions(a: complex) -> List[complex]:
    return [cmath.sin(a), cmath.cos(a), cmath.tan(a), cmath.sinh(a), cmath.cosh(a), cmath.tanh(a), cmath.exp(a),
            cmath.sqrt(a), cmath.log(a), cmath.log10(a), cmath.asin(a), cmath.acos(a), cmath.atan(a),
            cmath.asinh(a), cmath.acosh(a), cmath.atanh(a)]


@case((1.5 + 2j,), (-2.0 + 0j,))
def complex_parts(a: complex) -> Tuple[float, float, bool, bool, bool]:
    return (abs(a), cmath.phase(a), cmath.isnan(a), cmath.isinf(a), a == -2.0)


@case((2, 0.5))
def polar_numbers(i: int, x: float) -> List[complex]:
    return [cmath.rect(x, x), cmath.rect(i, x), cmath.rect(x, i), cmath.rect(i, i), complex(i, x), complex(x)]


@case((7, 3), (-7, 3), (7, -3), (0, 5))
def int_division(a: int, b: int) -> Tuple[int, int, Tuple[int, int], float, float]:
    return a // b, a % b, divmod(a, b), a / b, math.remainder(a, b)


@case((7.5, 2.0), (-7.5, 2.0), (7.5, -2.5))
def float_division(a: float, b: float) -> Tuple[float, float, Tuple[float, float], float, float]:
    return a // b, a % b, divmod(a, b), a / b, math.remainder(a, b)


@case((5, 2.5), (-5, 2.5))
def mixed_division(a: int, b: float) -> Tuple[float, float, float, float, Tuple[float, float]]:
    return a // b, b // a, a % b, b % a, divmod(a, b)


@case((1, 0), (0, 0))
def divides_by_zero(a: int, b: int) -> int:
    return a // b


@case((1.0, 0.0), (0.0, 0.0))
def divides_floats_by_zero(a: float, b: float) -> float:
    return a / b


@case((2, 10), (3, -2), (0, -1))
def int_powers(a: int, b: int) -> float:
    return a ** b


@case((2.5, 2), (0.0, 3), (-8.0, 2))
def float_powers(a: float, b: int) -> Tuple[float, float, float]:
    return a ** b, a ** 2.0, pow(a, b)


@case(([3, 1, 2], [2.5, -1.0], [True, False], ["b", "a"]))
def list_tests(a: List[int], b: List[float], c: List[bool], d: List[str]):
    return (1 in a, 5 in a, 2.5 in b, "a" in d, "c" in d, a.index(2), b.index(-1.0), d.index("a"), a.count(3),
            sum(a), sum(b), sum(c), min(a), max(b), any(a), all(c), any(c), a == [3, 1, 2], d != ["b", "a"], len(d))


@case(([3, 1, 2], [2.5, -1.0]))
def list_arithmetic(a: List[int], b: List[float]):
    c = a * 2
    a *= 2
    d = 3 * b
    e = a + [9]
    a += [7]
    del a[0]
    return a, b, c, d, e, a[::-1], a[-2:], a[1::2], sorted(a)


@case(([3, 1, 2],))
def list_out_of_range(a: List[int]) -> int:
    return a[3]


@case()
def list_remove_missing() -> List[int]:
    a = [1, 2]
    a.remove(3)
    return a


@case()
def empty_pops() -> int:
    a: List[int] = []
    return a.pop()


@case((3,))
def set_out_of_range(i: int) -> List[int]:
    a = [1, 2]
    a[i] = 1
    return a


@case(({"b": 1, "a": 2},))
def dict_methods_too(d: Dict[str, int]):
    e = d.copy()
    e.update({"z": 5})
    a = e.pop("z")
    b = e.setdefault("q", 8)
    c = e.get("nothing", -1)
    f = e.get("b")
    del e["b"]
    g = "a" in e
    d["new"] = 3
    h = dict([("x", 1.5)])
    return d, e, a, b, c, f, g, h, list(d.keys()), list(d.values()), [k + str(v) for k, v in d.items()], len(d)


@case(({1: 1.5},), ({2: 0.5},))
def dict_of_ints(d: Dict[int, float]) -> float:
    return d[1]


@case(({1.5: "x"},), ({2.5: "y"},))
def dict_of_floats(d: Dict[float, str]) -> str:
    return d[1.5]


@case(({True: "x"},), ({False: "y"},))
def dict_of_bools(d: Dict[bool, str]) -> str:
    return d[True]


@case(({"a": 1},), ({"b": 1},))
def dict_of_strs(d: Dict[str, int]) -> int:
    return d["a"]


@case()
def pops_of_empty_dicts() -> Tuple[str, int]:
    d: Dict[str, int] = {}
    return d.popitem()


class Colour(Enum):
    RED = 1
    BLUE = 2


class Word(Enum):
    YES = "y"
    NO = "n"


@case((1,), (2,))
def enums_too(i: int) -> Tuple[str, int, bool, bool, str]:
    a = Colour.RED if i == 1 else Colour.BLUE
    b = Word.YES if a == Colour.RED else Word.NO
    return a.name, a.value, a == Colour.RED, a != Colour.BLUE, b.value


class Point(NamedTuple):
    x: int
    y: float = 2.5


@case((3,))
def named_tuples(i: int) -> Tuple[int, float, Point, int]:
    p = Point(i)
    q = Point(y=1.0, x=2)
    a, b = q
    return p.x, p.y, q, a


@case((1,), ("s",), (2.5,), ([1, 2],), (None,), ((1, "a"),), ({"a": 1},), (torch.zeros(2),))
def isinstance_of_any(x: Any) -> str:
    if isinstance(x, int):
        return "int " + str(x + 1)
    elif isinstance(x, float):
        return "float"
    elif isinstance(x, str):
        return "str " + x
    elif isinstance(x, List[int]):
        return "list " + str(len(x))
    elif isinstance(x, Tuple[int, str]):
        return "tuple " + x[1]
    elif isinstance(x, Dict[str, int]):
        return "dict"
    elif isinstance(x, Tensor):
        return "tensor"
    return "none" if x is None else "other"


@case((1,), ("s",))
def unions(x: Union[int, str]) -> int:
    if isinstance(x, int):
        return x
    return len(x)


@case((None,), (3,))
def optionals(x: Optional[int]) -> int:
    if x is not None and x > 2:
        return x
    y = x if x is not None else 7
    assert y is not None
    return y


@case((None,))
def unwraps_none(x: Optional[int]) -> int:
    return torch.jit._unwrap_optional(x)


@case((t(2, 3),), (t(2, 3).long().t(),), (torch.ones(2, dtype=torch.bool),))
def tensor_attributes_too(x: Tensor):
    return (x.dtype, x.device, x.layout, x.is_cuda, x.is_sparse, x.is_quantized, x.is_cpu, x.is_meta, x.is_mkldnn,
            x.requires_grad, x.shape, x.ndim, x.itemsize, x.nbytes, x.element_size(), x.numel(), x.dim(),
            x.is_floating_point(), x.is_leaf, x.grad is None, x.name, x.device.type, x.device.index,
            x.is_xpu, x.is_vulkan, x.is_mps, x.is_sparse_csr, x.is_ipu, x.is_xla, x.is_mtia, x.is_maia)


@case()
def devices():
    a = torch.device("cuda", 1)
    b = torch.device("cpu")
    return a, a.type, a.index, b.type, b.index, str(a), a == b, a != b


@case((2, 0.5, True))
def tensors_of_numbers(i: int, x: float, b: bool):
    return (torch.tensor(i), torch.tensor(x), torch.tensor(b), torch.tensor([1, 2]), torch.tensor([[1.5], [x]]),
            torch.tensor([True, b]), torch.tensor([i, 1], dtype=torch.float64), torch.tensor([[[i]]]),
            torch.as_tensor([x, 1.0]), torch.as_tensor(i), torch.as_tensor(x, dtype=torch.float16),
            torch.tensor([1.5, 2.5], dtype=torch.int32), torch.tensor(1.5 + 2j), torch.as_tensor([[i], [i]]))


@case()
def tensor_of_nothing():
    a: List[int] = []
    b: List[float] = []
    return torch.tensor(a), torch.tensor(b), torch.tensor(a, dtype=torch.float32)


@case(([[1, 2], [3]],))
def ragged_tensor(x: List[List[int]]) -> Tensor:
    return torch.tensor(x)


@case((t(2, 3), t(2).long(), torch.tensor(True)))
def tensors_to_lists(x: Tensor, y: Tensor, z: Tensor):
    a: List[List[float]] = x.tolist()
    b: List[int] = y.tolist()
    c: bool = z.tolist()
    d: List[List[float]] = x.double().t().tolist()
    e: float = x[0, 1].tolist()
    return a, b, c, d, e


@case((t(2, 3),))
def wrong_list_type(x: Tensor) -> List[List[int]]:
    a: List[List[int]] = x.tolist()
    return a


@case((t(2, 3),))
def wrong_list_dim(x: Tensor) -> List[float]:
    a: List[float] = x.tolist()
    return a


@case((t(2), t(2).long()))
def casts_of_tensors(x: Tensor, y: Tensor):
    return int(x[1]), float(x[1]), bool(x[1]), int(y[1]), float(y[1]), complex(x[1]), complex(x[1], y[1]), x[1].item()


@case((t(2),))
def cast_of_many(x: Tensor) -> float:
    return float(x)


@case((t(3), t(3)))
def tensor_identity(x: Tensor, y: Tensor) -> Tuple[bool, bool, bool, bool]:
    z = x
    return x is y, x is z, x is not y, x is None


@case(({"a": t(2)}, [t(2), t(3)]))
def containers_of_tensors(d: Dict[str, Tensor], l: List[Tensor]):
    d["b"] = l[0]
    l.append(d["a"])
    l[0] = l[1]
    return d, l, len(l), [x.shape for x in l]


@case((3,))
def tensor_keys(n: int) -> int:
    d: Dict[Tensor, int] = {}
    k = torch.ones(1)
    d[k] = n
    return d[k] + len(d)


@case((5,), (-3,))
def formats_of_numbers(n: int) -> List[str]:
    return ["%d" % n, "%s" % n, "%i!" % n, "{} {}".format(n, 1.5), "%f" % 2.5, "%s %s" % (n, "x"), "%%",
            str([1.0, 2.5]), str((1, "a")), str({"a": 1.0}), str(None), str(1e20), str(1e-7), str(3.0), f"{n}",
            str(True), "%e" % 12345.678, "%g" % 0.0001, "%x" % 255, "%o" % 8, "%c" % "z"]


@case(("abc", "b"), ("", "x"), ("aXbXc", "X"))
def strings_of_two(s: str, u: str):
    return (s + u, s + s, s == u, s < u, u in s, s.find(u), s.rfind(u), s.count(u), s.split(u), s.replace(u, "--"),
            s.startswith(u), s.endswith(u), s.partition(u), s.rpartition(u), s.rsplit(u), s.join([u, u]), len(s))


@case((1.25,), (float("inf"),), (float("nan"),), (-0.0,), (1e16,))
def strings_of_floats(x: float) -> List[str]:
    return [str(x), "{}".format(x), str([x]), str((x,))]


@case(("12", "1.5"), ("-3", "1e5"), ("x", "1"), ("1", "y"))
def numbers_of_strings(a: str, b: str) -> Tuple[int, float]:
    return int(a), float(b)


@case((65,), (127,))
def characters(i: int) -> Tuple[str, int, str, str, str]:
    return chr(i), ord("a"), hex(i), bin(i), oct(i)


@case((5,), (0,))
def ranges(n: int):
    a: List[int] = []
    for i in range(n, -3, -2):
        a.append(i)
    for i, x in enumerate([5, 6]):
        a.append(i * x)
    for x, y in zip([1, 2], [3, 4]):
        a.append(x * y)
    return a, [i for i in range(1, n, 2)], list(range(3))


@case((0,))
def zero_step(n: int) -> int:
    s = 0
    for i in range(0, 3, n):
        s += i
    return s


@case((1,), (200,))
def bits(a: int) -> List[int]:
    return [a & 6, a | 6, a ^ 6, a << 3, a >> 1, -a, abs(-a)]


@case((2.5, 1), (float("nan"), 2))
def extremes(x: float, i: int):
    return min(x, 1.0), max(x, 1.0), min(i, 3), max(i, x), min([3, i]), max([x, 0.5]), min(i, x), max([1, 2], [1, 3])


@case((2.5,), (3.5,), (-2.5,), (float("inf"),))
def rounding(x: float):
    return round(x), math.floor(x), math.ceil(x)


class Manager:
    def __init__(self, log: List[str]):
        self.log = log

    def __enter__(self) -> int:
        self.log.append("in")
        return 5

    def __exit__(self, a: Any, b: Any, c: Any) -> None:
        self.log.append("out")


@case((1,), (-1,))
def with_blocks(n: int) -> Tuple[List[str], int]:
    log: List[str] = []
    total = 0
    with Manager(log) as x:
        total += x
        with Manager(log):
            log.append("both")
    if n < 0:
        with Manager(log):
            raise ValueError("in with")
    return log, total


@torch.jit.script
def forked(x: int) -> int:
    return x * 2


@case((4,))
def forks(n: int) -> Tuple[int, List[int]]:
    a = torch.jit.fork(forked, n)
    many = [torch.jit.fork(forked, i) for i in range(3)]
    return torch.jit.wait(a), [torch.jit.wait(f) for f in many]


@case((1,), (5,))
def hashes(n: int) -> Tuple[bool, bool, bool, bool]:
    return (hash(n) == hash(n), hash("a") == hash("a"), hash(1.5) == hash(1.5), hash((1, "a")) == hash((1, "a")))


@torch.jit.script
class Key:
    def __init__(self, a: int):
        self.a = a

    def __lt__(self, other: "Key") -> bool:
        return self.a < other.a

    def __eq__(self, other: "Key") -> bool:
        return self.a == other.a


@case(([3, 1, 2],))
def sorted_objects(xs: List[int]) -> Tuple[List[int], bool]:
    keys = [Key(x) for x in xs]
    keys.sort()
    return [k.a for k in keys], keys[0] == Key(1)


@case(([(2, "b"), (1, "z"), (2, "a")],))
def sorted_tuples(xs: List[Tuple[int, str]]):
    a = sorted(xs)
    xs.sort(reverse=True)
    return a, xs


@case((1, 2), (1,), ())
def wants_two(a: int, b: int = 5) -> int:
    return a + b


@case(("x",), (1.5,), (None,), ([1],), ((1,),), ({"a": 1},), (torch.zeros(1),), (torch.zeros(2),), (True,))
def wants_int(a: int) -> int:
    return a


@case((1,), ("x",), (True,), (1j,), (torch.zeros(1),))
def wants_float(a: float) -> float:
    return a


@case(([1, 2],), ([1.5],), (["a"],), ((1, 2),), ([],), (3,), ([1, "a"],))
def wants_ints(a: List[int]) -> int:
    return len(a)


@case(((1, "a"),), ((1, 2),), ((1,),), (1,), ([1, "a"],))
def wants_tuple(a: Tuple[int, str]) -> str:
    return a[1]


@case(({"a": 1},), ({"a": "b"},), ({1: 1},), ([],), ({},))
def wants_dict(a: Dict[str, int]) -> int:
    return len(a)


@case((None,), (1,), ("a",))
def wants_optional(a: Optional[int]) -> bool:
    return a is None


@case((1,), (torch.zeros(1),), ([torch.zeros(1)],))
def wants_tensor(a: Tensor) -> int:
    return a.dim()
