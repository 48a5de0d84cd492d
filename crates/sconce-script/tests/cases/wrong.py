from typing import Dict, List, Optional

import torch
from torch import Tensor

GLOBAL = 3


def variadic(*args):
    return args


def keyword_default(x, *, y=3):
    return x


def expansion(x: Tensor):
    return torch.sum(**x)


def with_lambda(x: Tensor):
    f = lambda y: y
    return f(x)


def with_try(x: int) -> int:
    try:
        return x
    except ValueError:
        return 1


def nested_function(x: int) -> int:
    def inner(y: int) -> int:
        return y
    return inner(x)


def while_else(x: int) -> int:
    while x > 3:
        x -= 1
    else:
        x = 0
    return x


def comprehension_if(xs: List[int]) -> List[int]:
    return [x for x in xs if x > 3]


def format_spec(x: float) -> str:
    a = x
    return f"{a:.2f}"


def floor_assign(x: int) -> int:
    x //= 2
    return x


def walrus(x: int) -> int:
    if (y := x) > 3:
        return y
    return x


def set_literal(x: int):
    return {x, 1}


def no_value(x: int):
    y: int
    return x


def global_variable(x: int) -> int:
    return x + GLOBAL


def undefined_name(x: int) -> int:
    return x + nowhere


def wrong_type(x: int) -> int:
    y = "a"
    return x + y


def wrong_return(x: int) -> str:
    return x


def missing_return(x: int) -> int:
    if x > 3:
        return 1


def unknown_method(x: Tensor):
    return x.no_such_method()


def unknown_operator(x: Tensor):
    return torch.no_such_operator(x)


def builtin_of_python(x: int):
    return open("x")


def reassigned(x: int):
    y = 1
    if x > 2:
        y = "a"
    return y


def recursive(x: int) -> int:
    return recursive(x - 1)


def optional_unchecked(x: Optional[int]) -> int:
    return x + 1


def unpacked(x: int):
    a, b = x
    return a


def dict_of_lists(x: List[int]) -> Dict[str, int]:
    return {x: 1}


def reserved_name(x: int):
    __jit_x = x
    return __jit_x


def breaks(x: int) -> int:
    break_here = x
    for i in (1, 2):
        if i > x:
            break
    return x


def called(x: Tensor) -> Tensor:
    return _callee(x)


def _callee(x: Tensor) -> Tensor:
    return x.no_such_method()


def imports(x: int) -> int:
    import math
    return x


def yields(x: int):
    yield x


def star_in_dict(x: Dict[str, int]):
    return {**x}


def unary_plus(x: int) -> int:
    return +x
