"""What is known of a value's type where."""
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor


class _Pair(NamedTuple):
    left: Optional[int]
    right: Optional[Tensor]


def both_and(a: Optional[int], b: Optional[int]) -> int:
    if a is not None and b is not None:
        return a + b
    return 0


def neither_or(a: Optional[int], b: Optional[int]) -> int:
    if a is None or b is None:
        return 0
    return a + b


def used_in_condition(a: Optional[int]) -> int:
    if a is not None and a > 2:
        return a
    return -1


def used_in_or(a: Optional[int]) -> bool:
    return a is None or a > 2


def negated(a: Optional[int]) -> int:
    if not (a is None):
        return a
    return 0


def negated_and(a: Optional[int], b: Optional[int]) -> int:
    if not (a is None or b is None):
        return a * b
    return 0


def in_ternary(a: Optional[int]) -> int:
    return a + 1 if a is not None else 0


def in_ternary_negated(a: Optional[List[int]]) -> int:
    return 0 if a is None else len(a)


def in_assert(a: Optional[Tensor]) -> Tensor:
    assert a is not None, "missing"
    return a + 1


def in_assert_and(a: Optional[int], b: Optional[int]) -> int:
    assert a is not None and b is not None
    return a + b


def by_return(a: Optional[str]) -> str:
    if a is None:
        return "none"
    return a + "!"


def by_raise(a: Optional[str]) -> str:
    if a is None:
        raise ValueError("none")
    return a + "!"


def by_continue(xs: List[Optional[int]]) -> int:
    total = 0
    for x in xs:
        if x is not None:
            total += x
        else:
            continue
    return total


def by_assignment(a: Optional[int]) -> int:
    if a is None:
        a = 5
    return a


def by_assignment_nested(a: Optional[int], flag: bool) -> int:
    if a is None:
        if flag:
            a = 1
        else:
            a = 2
    return a


def reassigned_none(a: Optional[int]) -> Optional[int]:
    if a is not None:
        b: Optional[int] = a
        b = None
        return b
    return a


def in_elif(a: Optional[int], b: Optional[str]) -> str:
    if a is not None:
        return str(a)
    elif b is not None:
        return b
    else:
        return "neither"


def of_field(p: _Pair) -> int:
    left = p.left
    if left is not None:
        return left
    return 0


def of_item(d: Dict[str, Optional[int]]) -> int:
    x = d["sample text"]
    if x is None:
        return 0
    return x


def of_get(d: Dict[str, int]) -> int:
    x = d.get("none")
    if x is None:
        return d.get("sample text", 7)
    return x


def in_while(a: Optional[int]) -> int:
    total = 0
    while a is not None:
        total += 1
        a = None
    return total


def loop_keeps(xs: List[int]) -> Optional[int]:
    best: Optional[int] = None
    for x in xs:
        if best is None:
            best = x
        elif x > best:
            best = x
    return best


def loop_unwraps(xs: List[int]) -> int:
    best: Optional[int] = None
    for x in xs:
        if best is None or x > best:
            best = x
    if best is None:
        raise RuntimeError("empty")
    return best


def union_isinstance(a: Union[int, str, Tensor]) -> int:
    if isinstance(a, int):
        return a
    elif isinstance(a, str):
        return len(a)
    else:
        return a.numel()


def union_tuple_isinstance(a: Union[int, str, float]) -> str:
    if isinstance(a, (int, float)):
        return "number"
    return a


def union_not(a: Union[int, List[int]]) -> int:
    if not isinstance(a, int):
        return len(a)
    return a


def union_and(a: Union[int, str], b: Union[int, str]) -> int:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return 0


def union_or(a: Union[int, str]) -> bool:
    return isinstance(a, int) or a == "x"


def union_assert(a: Union[int, str]) -> int:
    assert isinstance(a, int), "an int"
    return a


def union_of_lists(a: Union[List[int], List[str]]) -> int:
    if torch.jit.isinstance(a, List[int]):
        return sum(a)
    return 0


def union_passed(a: Union[int, str]) -> int:
    return _takes(a) + _takes(3) + _takes("x")


def _takes(a: Union[int, str]) -> int:
    if isinstance(a, int):
        return a
    return len(a)


def union_returned(n: int) -> Union[int, str]:
    if n > 1:
        return n
    return "small"


def union_reassigned(n: int) -> Union[int, str]:
    x: Union[int, str] = n
    if n > 2:
        x = "large"
    return x


def union_dict(d: Dict[str, Union[int, str]]) -> int:
    total = 0
    for v in d.values():
        if isinstance(v, int):
            total += v
        else:
            total += len(v)
    return total


def any_isinstance(a: Any) -> int:
    if isinstance(a, int):
        return a
    if isinstance(a, str):
        return len(a)
    return -1


def any_generic(a: Any) -> int:
    if torch.jit.isinstance(a, List[int]):
        return a[0]
    if torch.jit.isinstance(a, Dict[str, int]):
        return len(a)
    if torch.jit.isinstance(a, Optional[Tensor]):
        return 5
    if torch.jit.isinstance(a, Tuple[int, str]):
        return a[0]
    return -1


def any_several(a: Any) -> int:
    if torch.jit.isinstance(a, (List[str], List[Tensor])):
        return 1
    return 0


def static_isinstance(a: int, b: List[int], c: Tuple[int, int], d: float, e: Tensor):
    return (isinstance(a, int), isinstance(a, float), isinstance(b, list), isinstance(c, tuple), isinstance(d, (int, float)),
            isinstance(e, Tensor), isinstance(e, torch.Tensor), isinstance(a, (list, tuple)), isinstance(b, List[int]))


def static_branch(a: int) -> int:
    if isinstance(a, str):
        return a.nothing()
    return a


def list_isinstance(a: List[int]) -> int:
    if isinstance(a, list):
        return len(a)
    return a


def optional_isinstance(a: Optional[int]) -> int:
    if isinstance(a, int):
        return a
    return 0


def optional_default(a: Optional[int] = None, b: Optional[Tensor] = None) -> int:
    total = 1
    if a is not None:
        total += a
    if b is not None:
        total += b.numel()
    return total


def optional_unwrapped(a: Optional[int]) -> int:
    return torch.jit._unwrap_optional(a)


def optional_list_built(xs: List[Optional[Tensor]]) -> List[Tensor]:
    out: List[Tensor] = []
    for x in xs:
        if x is not None:
            out.append(x)
    return out


def none_literal_compared(x: int) -> int:
    if None is None:
        return x
    return 0


def static_not_none(x: int) -> int:
    if x is None:
        return x.nothing
    if x is not None:
        return x + 1
    return 2


def tensor_not_none(x: Tensor) -> Tensor:
    if x is not None:
        return x
    return x + 1


CALLS = {
    "union_isinstance": [(1,), ("abc",), (t(2, 3),)],
    "union_of_lists": [([1, 2],), (["a"],)],
    "any_isinstance": [(1,), ("ab",), (1.5,)],
    "any_generic": [([1],), ({"a": 1},), (t(2),), ((3, "x"),)],
    "any_several": [(["a"],), ([t(2)],), (1,)],
    "of_field": [],
    "union_tuple_isinstance": [(1,), (1.5,), ("s",)],
}
