"""Python that TorchScript does not have."""
import contextlib
from typing import Dict, List, Tuple

import torch
from torch import Tensor


def try_except(x: int) -> int:
    y = x
    try:
        y = 1
    except ValueError:
        y = 2
    return y


def try_finally(x: int) -> int:
    try:
        return x
    finally:
        print(x)


def lambda_expression(x: int) -> int:
    f = lambda y: y + 1
    return f(x)


def nested_function(x: int) -> int:
    def inner(y: int) -> int:
        return y + 1

    return inner(x)


def nested_class(x: int) -> int:
    class Inner:
        pass

    return x


def generator(n: int):
    for i in range(n):
        yield i


def variable_arguments(*args: int) -> int:
    return 1


def variable_keywords(x: int, **kwargs: int) -> int:
    return x


def keyword_only_default(x: int, *, y: int = 1) -> int:
    return x + y


def set_literal(x: int):
    return {x, 1}


def set_comprehension(xs: List[int]):
    return {x for x in xs}


def comprehension_with_if(xs: List[int]) -> List[int]:
    return [x for x in xs if x > 1]


def comprehension_with_two_loops(xs: List[int]) -> List[int]:
    return [x * y for x in xs for y in xs]


def for_else(xs: List[int]) -> int:
    for x in xs:
        pass
    else:
        return 1
    return 0


def while_else(x: int) -> int:
    while x > 1:
        x -= 1
    else:
        x = 5
    return x


def walrus(x: int) -> int:
    if (y := x + 1) > 2:
        return y
    return x


def match_statement(x: int) -> int:
    match x:
        case 1:
            return 2
        case _:
            return 3


def global_statement(x: int) -> int:
    global y
    y = x
    return y


def import_inside(x: int) -> int:
    import math
    return x


def import_from(x: int) -> int:
    y = x
    from math import sin
    return y


def f_string_format(x: float) -> str:
    return f"{x:.2f}"


def f_string_conversion(x: str) -> str:
    return f"{x!r}"


def bytes_literal():
    return b"abc"


def ellipsis_value():
    x = ...
    return x


def starred_keywords(x: Tensor, d: Dict[str, int]):
    return torch.sum(x, **d)


def dict_unpacking(d: Dict[str, int]) -> Dict[str, int]:
    return {**d, "a": 1}


def list_unpacking_literal(xs: List[int]) -> List[int]:
    return [*xs, 1]


def floor_divide_assign(x: int) -> int:
    x //= 2
    return x


def matmul_assign(x: Tensor) -> Tensor:
    x @= x
    return x


def unary_plus(x: int) -> int:
    y = x
    return +y


def delete_attribute(x: Tensor):
    del x.grad
    return x


def annotation_alone(x: int) -> int:
    y: int
    y = x
    return y


def reserved_name(x: int) -> int:
    __jit_x = x
    return __jit_x


def break_outside(xs: Tuple[int, str]) -> int:
    for x in xs:
        break
    return 1


def continue_in_unrolled(xs: Tuple[int, str]) -> int:
    total = 0
    for x in xs:
        if total > 1:
            continue
        total += 1
    return total


def raise_nothing(x: int) -> int:
    raise x


def raise_again(x: int) -> int:
    if x > 1:
        raise
    return x


def decorated_context(x: Tensor) -> Tensor:
    with contextlib.suppress(ValueError):
        y = x
    return y


def list_as_target(xs: List[int]) -> int:
    xs[0], y = 1, 2
    (a, b), [c, d] = (1, 2), (3, 4)
    return a + b + c + d + y


def print_keywords(x: int) -> int:
    print(x, end="")
    return x


def two_type_comments(x, y):
    # type: (int, int) -> int
    # type: (str, str) -> int
    return x


def bad_type_comment(x, y):
    # type: (int) -> int
    return x + y


def unknown_type_comment(x):
    # type: (NoSuchType) -> int
    return 1


def shadowed_module(x: int) -> int:
    torch = x
    return torch.sin(x)


def lambda_in_index(x: int) -> int:
    y = [z for z in [1, 2, 3]]
    return y[(lambda: 0)()]


def slice_assign_list(xs: List[int]) -> List[int]:
    xs[0:1] = [2, 3]
    return xs
