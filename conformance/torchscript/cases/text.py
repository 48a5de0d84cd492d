"""Strings, lists, dicts, tuples and their methods; indexing."""
from typing import Dict, List, Tuple

import torch
from torch import Tensor

from registry import case, t


@case(("Hello World",))
def string_methods(s: str) -> List[str]:
    return [s.lower(), s.upper(), s.swapcase(), s.title(), s.strip("Hd"), s.lstrip("H"), s.rstrip("d"),
            s.replace("o", "0"), s.replace("l", "L", 1), s.center(15), s.ljust(15, "*"), s.rjust(15),
            s.zfill(15), s.capitalize(), s.expandtabs(4), s[0], s[-1], s[1:4], s[::2], ",".join(["a", s])]


@case(("a,b,c",))
def string_splits(s: str) -> Tuple[List[str], List[str], Tuple[str, str, str], List[str]]:
    return s.split(","), s.rsplit(",", 1), s.partition(","), "a\nb".splitlines()


@case(("abc1",))
def string_tests(s: str) -> List[bool]:
    return [s.isalpha(), s.isdigit(), s.isalnum(), s.islower(), s.isupper(), s.isspace(), s.startswith("a"),
            s.endswith("1"), "b" in s, "z" not in s, s == "abc1", s < "b", s.isidentifier(), s.istitle()]


@case(("abcabc",))
def string_searches(s: str) -> List[int]:
    return [s.find("b"), s.rfind("b"), s.index("c"), s.rindex("c"), s.count("a"), len(s), s.find("z")]


@case((3, 2.5, "s"))
def formats(a: int, b: float, c: str) -> List[str]:
    return ["{} {} {}".format(a, b, c), f"{a}+{b}={c}!", "%s and %s" % (a, c), "{}".format([1, 2]), str(b) + c]


@case((3,))
def prints(a: int) -> int:
    print("a", a, [1, 2], 2.5, True, None, "é")
    print()
    return a


@case()
def string_constants() -> List[str]:
    return ["", "a\tb\\c'd\"e", "\x01\x7f\a\b\f\v", "a long constant that does not fit on one line", 'it\'s']


@case()
def non_ascii() -> Tuple[str, List[str]]:
    return "grüße", ["naïve", "日本", "😀"]


@case(([3, 1, 2],))
def list_methods(x: List[int]) -> Tuple[List[int], int, int, List[int]]:
    x.append(5)
    x.extend([1, 7])
    x.insert(1, 9)
    a = x.pop()
    b = x.pop(0)
    x.remove(1)
    x.reverse()
    y = x.copy()
    y.sort()
    y.sort(reverse=True)
    y.clear()
    return x + y + [x.count(1), x.index(9)], a, b, x * 2


@case(([1, 2, 3, 4, 5],))
def list_indexing(x: List[int]) -> Tuple[int, int, List[int], List[int], List[int], List[int]]:
    x[0] = 10
    x[1] += 5
    x[2] *= 3
    x[-1] -= 1
    x += [6]
    return x[0], x[-2], x[1:3], x[:-1], x[::2], x[::-1]


@case(({"a": 1, "b": 2},))
def dict_methods(d: Dict[str, int]) -> Tuple[List[str], List[int], int, int, bool, Dict[str, int], int]:
    d["c"] = 3
    d["a"] += 10
    e = d.copy()
    e.update({"z": 26})
    p = e.pop("b")
    q = e.pop("nothing", -1)
    r = d.get("x", 5) + d.setdefault("y", 7)
    if "a" in d:
        del d["a"]
    d2 = dict([("k", 1)])
    return list(e.keys()), list(d.values()), p + q, r, "a" in d, d2, len(d)


@case(({1: "a"},))
def dict_get(d: Dict[int, str]) -> Tuple[str, str]:
    x = d.get(5)
    y = d.get(1)
    a = "none"
    if x is not None:
        a = x
    return a, y if y is not None else "none"


@case(({1.5: [1]}, {True: "x"}))
def dict_keys(a: Dict[float, List[int]], b: Dict[bool, str]) -> Tuple[int, str]:
    a[2.5] = [3]
    return len(a), b[True]


@case(((1, "a", 2.5),))
def tuples(x: Tuple[int, str, float]) -> Tuple[int, Tuple[str, float], Tuple[int, str, float, int], Tuple[int], Tuple[()]]:
    a, b, c = x
    d, *e = (1, 2, 3)
    return a + x[0] + x[-3], x[1:], x + (1,), (d,), ()


@case((t(4, 5),))
def tensor_indexing(x: Tensor) -> List[Tensor]:
    i = 1
    index = torch.tensor([0, 2])
    mask = x > 3
    return [x[0], x[-1], x[i, 2], x[1:3], x[:, 1], x[:, 1:4:2], x[..., -1], x[None, :, 0], x[index], x[mask],
            x[index, index], x[1:, index], x[[0, 1]], x[:, None, 1:], x[0][1], x[i:i + 1, ...]]


@case((t(4, 5),))
def tensor_assignment(x: Tensor) -> Tensor:
    y = x.clone()
    index = torch.tensor([0, 2])
    y[0] = 1
    y[1, 2] = 7.5
    y[:, 1:3] = 0
    y[index] = torch.ones(5)
    y[y > 3] = -1
    y[3, :] = x[0]
    return y


@case((t(4, 5),))
def tensor_augmented(x: Tensor) -> Tensor:
    y = x.clone()
    index = torch.tensor([0, 2])
    y += 1
    y -= 0.5
    y *= 2
    y /= 3
    y[0] += 1
    y[:, 1] *= 2
    y[index] -= 1
    y[y > 3] /= 2
    z = y > 1
    z |= y < 0
    z &= y < 5
    z ^= y == 2
    return torch.where(z, y, -y)


@case((t(2, 3),))
def tensor_attributes(x: Tensor) -> Tuple[List[int], int, bool, bool, Tensor, Tensor, int, bool]:
    return x.shape, x.ndim, x.requires_grad, x.is_cuda, x.T, x.data, x.size(0), x.is_quantized


@case((t(2, 3),))
def tensor_casts(x: Tensor) -> Tuple[int, float, bool, List[List[float]], Tensor, Tensor]:
    y: List[List[float]] = x.tolist()
    return int(x[0, 1] * 2), float(x[0, 0]), bool(x.sum() > 0), y, x.long(), x.half().float()


@case((t(2, 3), 2.5, 3))
def tensor_arithmetic(x: Tensor, a: float, n: int) -> List[Tensor]:
    return [x + a, a + x, x - n, n - x, x * x, a * x, x / n, a / (x + 1), x // 2, x % 2, x ** 2, n ** x, -x,
            x @ x.t(), x > a, a < x, x == n, x != x, x <= a, x >= n, ~(x > 1), (x > 0) & (x < 2), (x > 1) | (x < 0)]


@case((t(2, 3),))
def variadic_sizes(x: Tensor) -> List[Tensor]:
    return [x.view(3, 2), x.reshape(-1), x.permute(1, 0), torch.zeros(2, 3), x.expand(2, 2, 3), x.repeat(2, 1),
            x.sum(dim=0), torch.sum(input=x, dim=1, keepdim=True), x.flatten(), x.transpose(0, 1)]


@case((t(3),))
def many_results(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    values, indices = x.max(dim=0)
    a, b = torch.sort(x, descending=True)
    return values, indices, a[b]


@case((t(2),))
def lists_of_tensors(x: Tensor) -> Tuple[Tensor, Tensor, List[Tensor]]:
    parts = [x, x * 2]
    parts.append(x + 1)
    return torch.cat(parts), torch.stack(parts, dim=1), list(torch.chunk(x, 2))


@case()
def empty_lists() -> Tuple[List[int], List[float], List[bool], List[str], List[Tensor], List[List[int]], Dict[str, Tensor]]:
    a: List[int] = []
    b: List[float] = []
    c: List[bool] = []
    d: List[str] = []
    f: List[List[int]] = []
    return a, b, c, d, [], f, {}


@case()
def number_constants() -> Tuple[List[int], List[float], List[complex]]:
    return [0, -1, 9223372036854775807, -9223372036854775807], [0.0, -0.0, 1e-7, 1 / 3, 1e20, 0.1, float("inf"),
            123456789.0, 5e-324], [1j, 2.5 - 1j]
