from dataclasses import InitVar, dataclass, field
from enum import Enum, auto
from typing import Any, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor
from torch._jit_internal import _overload as overload


@torch.jit.script
@dataclass(order=True)
class _Version:
    major: int
    minor: int = 2
    label: Optional[str] = None
    weight: float = field(default=1e-5, compare=False)


@torch.jit.script
@dataclass
class _Scaled:
    base: int
    by: InitVar[int]
    total: int = 0

    def __post_init__(self, by: int):
        self.total = self.base * by


def dataclass_compared(n: int) -> Tuple[bool, bool, float]:
    a, b = _Version(n, 1), _Version(2, label="x")
    return a < b, a == b, a.weight


def dataclass_after_init(n: int) -> int:
    return _Scaled(n, 3).total


class _Base:
    def __init__(self, n: int):
        self.n = n


class _Derived(_Base):
    def __init__(self, n: int):
        self.n = n

    @torch.jit.ignore
    def compiled_all_the_same(self) -> int:
        return self.n

    @torch.jit.unused
    def raises(self, x):
        return [y for y in x if y]


def derived(n: int) -> int:
    return _Derived(n).compiled_all_the_same()


class _State(Enum):
    OFF = auto()
    ON = 5
    LAST = auto()


def automatic(n: int):
    return _State.LAST.value, str(_State.ON)


def member_returned(n: int) -> _State:
    if n > 1:
        return _State.OFF
    return _State.ON


@torch.jit.interface
class _Step:
    def run(self, x: Tensor) -> Tensor:
        pass

    def name(self) -> str:
        pass


@torch.jit.script
class _Adder:
    def __init__(self, by: int):
        self.by = by

    def run(self, x: Tensor) -> Tensor:
        return x + self.by

    def name(self) -> str:
        return "adder"


def _through(step: _Step, x: Tensor) -> Tensor:
    return step.run(x)


def interface(x: Tensor) -> Tensor:
    return _through(_Adder(2), x)


def _work(x: Tensor, n: int = 2, m: int = 2, s: str = "a", f: float = 1.5) -> Tensor:
    return x * n


def forked(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(_work, x))


def _make(function):
    def inner(x: Tensor, k: int = 3) -> Tensor:
        return function(x) * k

    return inner


_made = _make(torch.relu)
_other = torch.jit.script(_made)


def closure(x: Tensor) -> Tensor:
    return _made(x) + _made(x, 2)


@overload
def _count(x: Tensor) -> int:  # noqa: F811
    ...


@overload
def _count(x: List[Tensor]) -> int:  # noqa: F811
    ...


def _count(x):  # noqa: F811
    if isinstance(x, Tensor):
        return x.numel()
    else:
        return len(x)


def overloaded(x: Tensor) -> int:
    return _count(x) + _count([x, x])


class _Point(NamedTuple):
    x: int
    y: int = 3


def tuple_declared(n: int) -> Tuple[int, int]:
    return _Point(n)


def operator_result(x: Tensor):
    return x.max(0)


def optional_union(a: Optional[Union[int, str]]) -> int:
    if a is None:
        return 0
    elif isinstance(a, str):
        return len(a)
    return a


def known_early(n: int):
    device = torch.device("cuda:1")
    return hash("a"), hash((1, 2.5)), torch.device("cpu").type, str((1, "a")), n


def scripting(n: int) -> int:
    if torch.jit.is_scripting() and n > 1:
        return 1
    return 2
