"""How the names of reductions, and the two flags that came before them, become numbers."""
import warnings
from typing import Optional


def get_enum(reduction: str) -> int:
    number = -1
    if reduction == "none":
        number = 0
    elif reduction == "mean":
        number = 1
    elif reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        number = 1
    elif reduction == "sum":
        number = 2
    else:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return number


def legacy_get_string(size_average: Optional[bool], reduce: Optional[bool], emit_warning: bool = True) -> str:
    averaged = True if size_average is None else size_average
    reduced = True if reduce is None else reduce
    name = "none"
    if reduced:
        name = "mean" if averaged else "sum"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.")
    return name


def legacy_get_enum(size_average: Optional[bool], reduce: Optional[bool], emit_warning: bool = True) -> int:
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def chosen(size_average: Optional[bool], reduce: Optional[bool], reduction: str) -> str:
    """The name that a loss goes by: that of the old flags where one is given."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def chosen_enum(size_average: Optional[bool], reduce: Optional[bool], reduction: str) -> int:
    return get_enum(chosen(size_average, reduce, reduction))
