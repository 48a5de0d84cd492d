"""Names, attributes and calls that are not there."""
import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

THREE = 3
SIZES = [1, 2]


def undefined_name(x):
    y = x + 1
    return y + z


def undefined_in_branch(x: int) -> int:
    if x > 1:
        y = 1
    return y


def undefined_in_both(x: int) -> int:
    if x > 1:
        y = 1
    else:
        z = 2
    return y + z


def undefined_after_loop(n: int) -> int:
    for i in range(n):
        inside = i
    return inside


def loop_variable_after_loop(n: int) -> int:
    for i in range(n):
        pass
    return i


def deleted_name(x: int) -> int:
    y = x
    del y
    return y


def used_before(x: int) -> int:
    y = later + x
    later = 1
    return y


def global_number(x: int) -> int:
    return x + THREE


def global_list(x: int) -> int:
    return x + SIZES[0]


def missing_torch_function(x: Tensor) -> Tensor:
    return torch.no_such_function(x)


def missing_functional(x: Tensor) -> Tensor:
    y = x + 1
    return F.no_such_function(y)


def missing_math_function(x: float) -> float:
    return math.no_such_function(x)


def missing_tensor_method(x: Tensor) -> Tensor:
    return x.no_such_method()


def missing_tensor_attribute(x: Tensor):
    y = x * 2
    return y.no_such_attribute


def missing_int_attribute(x: int):
    return x.bit_length()


def missing_list_method(xs: List[int]):
    xs.append(1)
    xs.prepend(2)
    return xs


def missing_text_method(s: str) -> str:
    return s.casefold()


def missing_dict_method(d: Dict[str, int]) -> int:
    return d.first()


def missing_tuple_attribute(x: Tuple[int, int]) -> int:
    return x.first


def attribute_of_optional(x: Optional[Tensor]) -> Tensor:
    return x.relu()


class _Holder:
    def __init__(self):
        self.x = 1


def missing_class_attribute() -> int:
    holder = _Holder()
    return holder.y


def missing_class_method() -> int:
    holder = _Holder()
    return holder.get()


def new_class_attribute() -> int:
    holder = _Holder()
    holder.y = 2
    return holder.x


def calls_number(x: int) -> int:
    return x(1)


def calls_tensor(x: Tensor) -> Tensor:
    return x(x)


def _helper(x: Tensor, n: int, scale: float = 1.0) -> Tensor:
    return x * n * scale


def too_few_arguments(x: Tensor) -> Tensor:
    return _helper(x)


def too_many_arguments(x: Tensor) -> Tensor:
    return _helper(x, 1, 2.0, 3)


def unknown_keyword(x: Tensor) -> Tensor:
    return _helper(x, n=1, other=2)


def keyword_twice(x: Tensor) -> Tensor:
    return _helper(x, 1, n=2)


def wrong_argument_type(x: Tensor) -> Tensor:
    y = x + 1
    return _helper(y, "one")


def _wrong_inside(x: Tensor) -> int:
    y = x + 1
    return y.foo()


def error_in_callee(x: Tensor) -> int:
    z = x
    return _wrong_inside(z)


def _wrong_deeper(x: Tensor) -> int:
    return _wrong_inside(x)


def error_two_calls_away(x: Tensor) -> int:
    return _wrong_deeper(x)


def numpy_function(x: Tensor):
    return x.numpy()


def python_builtin(xs: List[int]):
    return list(map(str, xs))


def python_open(name: str):
    return open(name)


def starred_list(x: Tensor, rest: List[int]) -> Tensor:
    return _helper(x, *rest)


def hasattr_of_name(x: Tensor, name: str) -> bool:
    return hasattr(x, name)


def getattr_of_name(x: Tensor, name: str):
    return getattr(x, name)
