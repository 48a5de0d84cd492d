"""Lists, tuples, dictionaries, comprehensions, indexing and slicing."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor


def list_literals(x: int):
    return [1, 2, x], [1.5], ["a", "b"], [True], [[1], [2, x]], [(1, "a")]


def empty_list_of_tensors():
    xs = []
    xs.append(torch.zeros(2))
    return xs


def empty_list_annotated(n: int) -> List[int]:
    xs: List[int] = []
    xs.append(n)
    return xs


def empty_list_commented(n):
    # type: (int) -> List[int]
    xs = torch.jit.annotate(List[int], [])
    xs.append(n)
    return xs


def list_methods(xs: List[int]):
    xs.append(5)
    xs.insert(1, 9)
    xs.extend([7, 8])
    last = xs.pop()
    first = xs.pop(0)
    xs.remove(9)
    xs.reverse()
    ys = xs.copy()
    ys.sort()
    n = ys.count(5)
    i = ys.index(5)
    xs.clear()
    return xs, ys, last, first, n, i


def list_operators(xs: List[int], ys: List[int]):
    return xs + ys, xs * 2, xs == ys, xs != ys, len(xs), 3 in xs


def list_slices(xs: List[int]):
    return xs[0], xs[-1], xs[1:], xs[:1], xs[::2], xs[-2:], xs[:]


def list_assignment(xs: List[int]) -> List[int]:
    xs[0] = 7
    xs[-1] = 8
    xs[0] += 2
    xs[0] *= 3
    return xs


def list_augmented(xs: List[int]) -> List[int]:
    xs += [1, 2]
    return xs


def list_sorted(xs: List[int], ys: List[str]):
    xs.sort(reverse=True)
    return xs, sorted(ys), sorted([3, 1, 2])


def list_of_lists(n: int) -> List[List[int]]:
    out: List[List[int]] = []
    for i in range(n):
        row: List[int] = []
        for j in range(i):
            row.append(j)
        out.append(row)
    return out


def list_unpacking(xs: List[int]) -> int:
    a, b = xs
    return a * 10 + b


def list_builtins(s: str, n: int):
    return list(s), list(range(n)), list(range(1, n)), [x for x in range(n)]


def comprehension(xs: List[int]) -> List[int]:
    return [x * 2 + 1 for x in xs]


def comprehension_of_tuples(xs: List[Tuple[int, str]]) -> List[str]:
    return [name + str(number) for number, name in xs]


def comprehension_nested(n: int) -> List[List[int]]:
    return [[i * j for j in range(n)] for i in range(n)]


def comprehension_over_tensor(x: Tensor) -> List[Tensor]:
    return [row.sum() for row in x]


def comprehension_over_text(s: str) -> List[str]:
    return [c + c for c in s]


def comprehension_enumerate(xs: List[int]) -> List[int]:
    return [i * x for i, x in enumerate(xs)]


def generator_expression(xs: List[int]) -> List[int]:
    return list(x + 1 for x in xs)


def generator_in_call(xs: List[int]) -> bool:
    return any([x > 2 for x in xs]) and all([x > 0 for x in xs])


def tuple_literals(x: int):
    return (x,), (x, 1.0), ((x, "a"), [x]), ()


def tuple_unpacking(x: Tuple[int, Tuple[float, str]]):
    a, (b, c) = x
    return c, b, a


def tuple_swap(x: int, y: int):
    x, y = y, x
    return x, y


def tuple_starred(x: Tuple[int, float, str, bool]):
    a, *b, c = x
    return a, b, c


def tuple_indexing(x: Tuple[int, float, str]):
    return x[0], x[-1], x[1:], x[:2], x[0:2]


def tuple_concatenation(x: Tuple[int, str]):
    return x + (1.5, True)


def tuple_comparison(x: Tuple[int, str], y: Tuple[int, str]):
    return x[0] == y[0], x[1] != y[1], len(x)


def tuple_of_list(xs: List[int]) -> Tuple[int, int]:
    return xs[0], xs[1]


def multiple_targets(x: int):
    a = b = x + 1
    a += 1
    return a, b


def multiple_targets_unpacked(x: Tuple[int, int]):
    a, b = c = x
    return a, b, c


def nested_targets(xs: List[Tuple[int, Tuple[int, int]]]) -> int:
    total = 0
    for a, (b, c) in xs:
        total += a * b + c
    return total


def dict_literals(x: int):
    return {"a": 1, "b": x}, {1: "one"}, {1.5: [x]}, {"t": torch.ones(2)}


def empty_dict(x: Tensor):
    d = {}
    d["x"] = x
    return d


def empty_dict_annotated(n: int) -> Dict[int, str]:
    d: Dict[int, str] = {}
    d[n] = "n"
    return d


def dict_methods(d: Dict[str, int]):
    d["c"] = 5
    e = d.copy()
    got = d.get("c", 0)
    nothing = d.get("none")
    default = d.setdefault("e", 9)
    popped = d.pop("c")
    d.update({"f": 1})
    keys = list(d.keys())
    values = list(d.values())
    items = list(d.items())
    e.clear()
    return keys, values, items, got, nothing, default, popped, len(d), len(e)


def dict_items_pop(d: Dict[str, int]) -> Tuple[str, int]:
    return d.popitem()


def dict_augmented(d: Dict[str, int]) -> Dict[str, int]:
    d["sample text"] += 2
    d["sample text"] *= 5
    return d


def dict_comprehension(xs: List[int]) -> Dict[int, int]:
    return {x: x * x for x in xs}


def dict_comprehension_of_items(d: Dict[str, int]) -> Dict[str, int]:
    return {key: value + 1 for key, value in d.items()}


def dict_builtin(x: int) -> Dict[str, int]:
    return dict([("a", 1), ("b", x)])


def dict_keywords(x: int) -> Dict[str, int]:
    return dict(a=1, b=x)


def dict_of_lists(names: List[str]) -> Dict[str, List[int]]:
    d: Dict[str, List[int]] = {}
    for i, name in enumerate(names):
        if name not in d:
            empty: List[int] = []
            d[name] = empty
        d[name].append(i)
    return d


def dict_membership(d: Dict[str, int], key: str) -> int:
    if key in d:
        return d[key]
    return -1


def ranges(n: int):
    total = 0
    for i in range(0, n * 2, 3):
        total += i
    return total


def zipped_lists(xs: List[int], ys: List[str]) -> List[Tuple[int, str]]:
    return [(x, y) for x, y in zip(xs, ys)]


def tensor_indexing(x: Tensor):
    return x[0], x[-1], x[0, 1], x[:, 1], x[0:1], x[..., 0], x[None], x[:, None, 0], x[1, ::2], x[:, :]


def tensor_index_with_names(x: Tensor, i: int, j: int):
    return x[i % 2], x[i % 2, :j], x[:, i % 3:]


def tensor_index_with_tensors(x: Tensor, i: Tensor, mask: Tensor):
    return x[i], x[:, i], x[mask], x[i, i], x[mask, :], x[None, i]


def tensor_index_with_lists(x: Tensor):
    return x[[0, 1]], x[:, [1, 0]], x[[1], [2]]


def tensor_assignment(x: Tensor) -> Tensor:
    x[0] = 1
    x[1, 2] = 5.5
    x[:, 1] = torch.tensor([7.0, 8.0])
    x[..., 0] = -1
    return x


def tensor_assignment_indexed(x: Tensor, i: Tensor) -> Tensor:
    x[i] = 3
    x[:, i] = x[:, i] * 2
    x[x > 4] = 0
    return x


def tensor_augmented_items(x: Tensor, i: Tensor) -> Tensor:
    x[0] += 1
    x[:, 1] *= 2
    x[i] -= 3
    x[x > 1] /= 2
    x[0, 1:] += 4
    return x


def tensor_list(x: Tensor) -> List[List[float]]:
    y: List[List[float]] = x.tolist()
    return y


def tensors_of_lists(xs: List[int], ys: List[List[float]]):
    return torch.tensor(xs), torch.tensor(ys), torch.tensor([xs[0], 2]), torch.tensor(1.5), torch.tensor([True])


def optional_lists(xs: List[Optional[int]]) -> int:
    total = 0
    for x in xs:
        if x is not None:
            total += x
    return total


def shapes(x: Tensor):
    n, m = x.shape
    a, b = x.size()
    return n, m, a * b, x.shape[0], x.size(1), x.shape[-1], list(x.shape), x.numel(), len(x)


CALLS = {
    "comprehension_of_tuples": [([(1, "a"), (2, "b")],)],
    "nested_targets": [([(1, (2, 3)), (4, (5, 6))],)],
    "tensor_index_with_tensors": [(t(2, 2), torch.tensor([1, 0]), torch.tensor([True, False]))],
    "tensor_assignment_indexed": [(t(2, 2), torch.tensor([1]))],
    "tensor_augmented_items": [(t(2, 3), torch.tensor([1]))],
    "optional_lists": [([1, None, 3],)],
    "dict_membership": [({"a": 1}, "a"), ({"a": 1}, "b")],
    "list_unpacking": [([1, 2],), ([1, 2, 3],)],
    "dict_of_lists": [(["a", "b", "a"],)],
}
