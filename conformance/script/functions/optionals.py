"""Optional, Union and Any: refinement by None, isinstance and assert."""
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
from torch import Tensor


def if_not_none(x: Optional[int]) -> int:
    if x is not None:
        return x + 1
    return 0


def if_none(x: Optional[int]) -> int:
    if x is None:
        y = 0
    else:
        y = x * 2
    return y


def none_returns(x: Optional[int]) -> int:
    if x is None:
        return 1
    return x + 1


def none_raises(x: Optional[Tensor]) -> Tensor:
    if x is None:
        raise ValueError("x is needed")
    return x * 2


def assert_not_none(x: Optional[Tensor]) -> Tensor:
    assert x is not None
    return x + 1


def assert_not_none_message(x: Optional[List[int]]) -> int:
    assert x is not None, "x is needed"
    return len(x)


def none_gets_value(x: Optional[Tensor]) -> Tensor:
    if x is None:
        x = torch.ones(2)
    return x


def two_optionals(x: Optional[int], y: Optional[int]) -> int:
    if x is not None and y is not None:
        return x + y
    if x is not None or y is not None:
        return 1
    return 0


def optional_chain(x: Optional[int], y: int) -> bool:
    return x is not None and x > y


def optional_or(x: Optional[int]) -> bool:
    return x is None or x > 2


def optional_ternary(x: Optional[int]) -> int:
    return x if x is not None else -1


def optional_not(x: Optional[int]) -> int:
    if not (x is None):
        return x
    return 0


def optional_locals(flag: bool) -> Optional[int]:
    x: Optional[int] = None
    if flag:
        x = 3
    return x


def optional_in_loop(xs: List[int]) -> Optional[int]:
    best: Optional[int] = None
    for x in xs:
        if best is None:
            best = x
        elif x > best:
            best = x
    return best


def optional_annotate(flag: bool):
    x = torch.jit.annotate(Optional[Tensor], None)
    if flag:
        x = torch.zeros(1)
    return x


def optional_result(x: int) -> Optional[str]:
    if x > 2:
        return "large"
    return None


def optional_passed(x: Optional[Tensor]) -> int:
    return _size_or(x, 3) + _size_or(None, 1)


def _size_or(x: Optional[Tensor], other: int) -> int:
    return other if x is None else x.numel()


def optional_container(x: Optional[Dict[str, List[int]]]) -> int:
    if x is None:
        return 0
    total = 0
    for key in x:
        total += len(x[key])
    return total


def optional_tuple(x: Optional[Tuple[int, str]]) -> str:
    if x is not None:
        n, s = x
        return s if n < 0 else s + str(n)
    return ""


def unwrap(x: Optional[int]) -> int:
    y = torch.jit._unwrap_optional(x)
    return y + 1


def static_none() -> int:
    x = None
    if x is None:
        return 1
    return 2


def isinstance_of_any(x: Any) -> str:
    if isinstance(x, int):
        return str(x + 1)
    if isinstance(x, (float, str)):
        return "float or str"
    if isinstance(x, list):
        return "list"
    return "other"


def isinstance_of_tensor(x: Any) -> Tensor:
    if isinstance(x, Tensor):
        return x + 1
    elif isinstance(x, torch.Tensor):
        return x
    return torch.zeros(0)


def isinstance_static(x: int, y: List[int], z: Tuple[int, str]):
    a = isinstance(x, int)
    b = isinstance(x, float)
    c = isinstance(y, list)
    d = isinstance(z, tuple)
    e = isinstance(y, List[int])
    return a, b, c, d, e


def isinstance_of_optional(x: Optional[int]) -> int:
    if isinstance(x, int):
        return x
    return 0


def isinstance_refines_else(x: Union[int, str]) -> str:
    if isinstance(x, str):
        return x
    else:
        return str(x + 1)


def union_of_three(x: Union[int, float, List[int]]) -> int:
    if isinstance(x, List[int]):
        return len(x)
    elif isinstance(x, int):
        return x
    return -1


def union_with_none(x: Union[int, str, None]) -> int:
    if x is None:
        return 0
    if isinstance(x, int):
        return x
    return len(x)


def union_local(flag: bool) -> Union[int, str]:
    x: Union[int, str] = 1
    if flag:
        x = "one"
    return x


def union_in_list(xs: List[Union[int, str]]) -> int:
    total = 0
    for x in xs:
        if isinstance(x, int):
            total += x
    return total


def any_container(x: Any) -> List[Any]:
    return [x, 1, "a"]


def assert_isinstance(x: Any) -> int:
    assert isinstance(x, int)
    return x + 1


def not_isinstance(x: Union[int, str]) -> int:
    if not isinstance(x, int):
        return len(x)
    return x


def dict_get(d: Dict[str, int], key: str) -> int:
    got = d.get(key)
    if got is None:
        return -1
    return got


CALLS = {
    "isinstance_of_any": [(1,), (1.5,), ("s",), ([1],), (None,)],
    "isinstance_of_tensor": [(t(2),), (1,)],
    "isinstance_refines_else": [(1,), ("s",)],
    "union_of_three": [(1,), (1.5,), ([1],)],
    "union_with_none": [(1,), ("abc",), (None,)],
    "union_in_list": [([1, "a", 2],)],
    "any_container": [(1,)],
    "assert_isinstance": [(1,), ("a",)],
    "not_isinstance": [(1,), ("abc",)],
    "dict_get": [({"a": 1}, "a"), ({"a": 1}, "b")],
}
