"""What one would not expect TorchScript to take, and it does."""
from typing import List, Tuple


def raise_from(x: int) -> int:
    if x > 1:
        raise ValueError("a") from None
    return x


def slice_step_of_tuple(x: Tuple[int, int, int]):
    return x[::2]


def and_of_ints(x: int, s: str):
    return x > 1 and s


def condition_of_list(xs: List[int]) -> int:
    while xs:
        xs.pop()
    return 0


def condition_of_text(s: str) -> int:
    if s:
        return 1
    return 0


def len_of_int(x: int) -> int:
    return len(x)
