"""Operations and calls with what they do not take."""
import math
from enum import Enum
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor


class _Color(Enum):
    RED = 1
    GREEN = 2

    def lighter(self):
        return self


class _Base:
    def __init__(self, n: int):
        self.n = n

    def inherited(self) -> int:
        return self.n


class _Derived(_Base):
    def __init__(self, n: int):
        self.n = n


class _Child(torch.nn.Module):
    def forward(self, x):
        return x


@torch.jit.ignore
def _stays(x: Tensor) -> Tensor:
    return x


@torch.jit.unused
def _unused(x: Tensor, n: int = 2) -> Tensor:
    return x


def _helper(a: int, b: str = "x", *, c: float) -> int:
    return a


def text_of_key(x: Tensor):
    return x["a"]


def float_of_key(x: Tensor):
    return x[1.5]


def list_of_text_key(x: List[int]):
    return x["a"]


def dict_of_other_key(x: Dict[str, int]):
    return x[0]


def tuple_of_text_key(x: Tuple[int, int]):
    return x["a"]


def list_plus_int(x: List[int]):
    return x + 1


def optional_method(x: Optional[Tensor]):
    return x.sum()


def any_plus_int(x: Any):
    return x + 1


def float_for_int(x: float) -> int:
    return x


def int_for_tensor(x: int) -> Tensor:
    return x


def int_for_nothing(x: int) -> None:
    return x


def list_of_others(x: List[int]) -> List[float]:
    return x


def function_of_int(x: int):
    return F.relu(x)


def function_of_too_many(x: Tensor):
    return F.relu(x, True, 2)


def keyword_only_missing(x: int):
    return _helper(x)


def keyword_only_by_place(x: int):
    return _helper(x, "a", 1.5)


def keyword_only_of_other_type(x: int):
    return _helper(x, c=1)


def module_as_value(x: int):
    return math


def function_as_value(x: int):
    return _helper


def type_as_value(x: int):
    return int


def isinstance_of_one(x: int):
    return isinstance(x)


def isinstance_of_number(x: int):
    return isinstance(x, 3)


def attribute_by_variable(x: int, s: str):
    return getattr(x, s)


def unknown_local_type(x: int):
    y: Nope = x  # noqa: F821
    return y


def bare_list_annotation(x: List):
    return 1


def bare_optional_annotation(x: Optional):
    return 1


def tuple_annotation(x: int) -> (int, int):
    return x, x


def list_annotation(x: [int]) -> int:
    return 1


def number_annotation(x: 3) -> int:
    return 1


def either_annotation(x: float or int) -> int:
    return 1


def quoted_unknown(x: "List[Nope]") -> int:
    return 1


def text_item_assigned(x: str):
    x[0] = "a"
    return x


def tuple_item_assigned(x: Tuple[int, int]):
    x[0] = 3
    return x


def slice_assigned(x: List[int]):
    x[0:2] = [1, 2]
    return x


def attribute_of_int_assigned(x: int):
    x.y = 3
    return x


def math_function_without_operator(x: float):
    return math.trunc(x)


def torch_function_without_operator(x: Tensor):
    return torch.is_tensor(x)


def type_called(x: int):
    return type(x)


def reversed_list(x: List[int]):
    return reversed(x)


def set_made(x: int):
    return set([x])


def module_made(x: Tensor):
    return _Child()(x)


def enum_called(n: int):
    return _Color(1)


def enum_indexed(n: int):
    return _Color["RED"]


def enum_method(n: int):
    return _Color.RED.lighter()


def enum_member_missing(n: int):
    return _Color.BLUE


def enum_as_key(c: _Color):
    return {c: 1}


def inherited_method(n: int):
    return _Derived(n).inherited()


def ignored_of_other_type(x: Tensor):
    return _stays(3)


def ignored_of_too_many(x: Tensor):
    return _stays(x, 4)


def unused_without_default(x: Tensor):
    return _unused(x)


def union_unrefined(x: Union[int, str]):
    return x + 1


def break_in_unrolled(n: int):
    for i in (1, 2):
        if n > 1:
            break
    return n


def endless_without_result(n: int) -> int:
    while True:
        pass


def assert_without_result(n: int) -> int:
    assert n > 0
