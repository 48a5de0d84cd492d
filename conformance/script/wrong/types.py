"""Values of types that do not fit."""
from typing import Any, Dict, List, Optional, Set, Tuple, Union

import torch
from torch import Tensor


def wrong_result(x: int) -> str:
    y = x + 1
    return y


def wrong_result_in_branch(x: int) -> int:
    if x > 1:
        return 1
    return "one"


def missing_result(x: int) -> int:
    if x > 1:
        return 1


def results_differ(x: int):
    if x > 1:
        return 1
    else:
        return "one"


def nothing_returned(x: int) -> int:
    x = x + 1


def branches_differ(x: int) -> int:
    if x > 1:
        y = 1
    else:
        y = "one"
    return y


def ternary_differs(x: int):
    y = 1 if x > 1 else "one"
    return y


def reassigned_in_branch(x: int) -> int:
    y = 1
    if x > 1:
        y = "one"
    return 1


def reassigned_in_loop(n: int):
    y = 1
    for i in range(n):
        y = 1.5
    return y


def annotated_wrongly():
    x: int = "one"
    return x


def annotated_again(x: int):
    if x > 1:
        x: float = 1.5
    return x


def annotate_wrongly():
    return torch.jit.annotate(int, "one")


def add_text_and_int(x: int, s: str):
    return s + x


def add_list_and_int(xs: List[int]):
    y = xs
    return y + 1


def multiply_text(s: str) -> str:
    return s * 2


def negative_text(s: str):
    return -s


def compare_text_and_int(s: str, x: int) -> bool:
    return s < x


def compare_tuples(x: Tuple[int, str], y: Tuple[int, str]) -> bool:
    return x == y


def mixed_list(x: int) -> List[int]:
    return [x, "a"]


def mixed_dict_keys():
    return {"a": 1, 2: 2}


def bad_dict_key(xs: List[int]):
    return {xs: 1}


def list_item_type(xs: List[int]) -> List[int]:
    xs.append("a")
    return xs


def list_assignment_type(xs: List[int]) -> List[int]:
    xs[0] = 1.5
    return xs


def dict_assignment_type(d: Dict[str, int]) -> Dict[str, int]:
    d["a"] = "b"
    return d


def dict_key_type(d: Dict[str, int]) -> int:
    return d[1]


def empty_list_of_ints() -> List[int]:
    xs = []
    xs.append(1)
    return xs


def index_of_int(x: int) -> int:
    return x[0]


def index_of_tuple(x: Tuple[int, str], i: int):
    return x[i]


def tuple_index_too_large(x: Tuple[int, str]):
    return x[2]


def text_index(xs: List[int]) -> int:
    return xs["a"]


def unpack_too_many(x: Tuple[int, int]):
    a, b, c = x
    return a


def unpack_too_few(x: Tuple[int, int, int]):
    a, b = x
    return a


def unpack_int(x: int):
    a, b = x
    return a


def iterate_int(n: int) -> int:
    total = 0
    for i in n:
        total += i
    return total


def iterate_optional(xs: Optional[List[int]]) -> int:
    total = 0
    for x in xs:
        total += x
    return total


def range_of_float(x: float) -> int:
    total = 0
    for i in range(x):
        total += i
    return total


def range_as_value(n: int) -> int:
    return len(range(n))


def none_to_int() -> int:
    x: int = None
    return x


def optional_arithmetic(x: Optional[int]) -> int:
    return x + 1


def optional_after_loop(x: Optional[int]) -> int:
    while x is not None:
        x = x + 1
    return 0


def optional_to_int(x: Optional[int]) -> int:
    return x


def union_arithmetic(x: Union[int, str]) -> int:
    return x + 1


def any_arithmetic(x: Any):
    return x + 1


def torch_wrong_type(x: Tensor):
    y = torch.relu(x)
    return torch.cat(y, 0.5)


def torch_missing_argument(x: Tensor):
    return torch.matmul(x)


def torch_unknown_keyword(x: Tensor):
    return torch.sum(x, dims=1)


def torch_text(x: Tensor):
    return torch.add(x, "one")


def float_of_list(xs: List[int]) -> float:
    return float(xs)


def set_annotation(x: Set[int]) -> int:
    return 1


def bad_key_annotation(x: Dict[List[int], int]) -> int:
    return 1


def bare_list(x: list) -> int:
    return x[0]


def bare_dict(x: Dict) -> int:
    return 1


def mutable_default(xs: List[int] = [1]) -> int:
    return xs[0]


def wrong_default(x: int = "one") -> int:
    return x


def tolist_without_annotation(x: Tensor):
    return x.tolist()


def isinstance_unknown(x: Any) -> bool:
    return isinstance(x, set)


def invert_int(x: int) -> int:
    return ~x


class _Plain:
    def __init__(self, x: int):
        self.x = x


def attribute_type():
    plain = _Plain(1)
    plain.x = "a"
    return plain.x


def constructor_type():
    return _Plain("a").x


def class_without_add():
    return _Plain(1) + _Plain(2)


def with_plain_class():
    with _Plain(1) as x:
        pass
    return 1
