"""Fork and wait, interfaces, overloads, contexts."""
from typing import Any, Dict, List, Optional, Tuple, overload

import torch
from torch import Tensor
from torch.jit import Future


def _work(x: Tensor, n: int = 2) -> Tensor:
    return x * n


def _pair(x: Tensor) -> Tuple[Tensor, int]:
    return x, x.numel()


def fork_default(x: Tensor) -> Tensor:
    f = torch.jit.fork(_work, x)
    return torch.jit.wait(f)


def fork_keywords(x: Tensor) -> Tensor:
    f = torch.jit.fork(_work, x, n=5)
    return torch.jit.wait(f) + f.wait()


def fork_pair(x: Tensor) -> int:
    f = torch.jit.fork(_pair, x)
    y, n = torch.jit.wait(f)
    return n


def fork_list(x: Tensor) -> Tensor:
    fs: List[Future[Tensor]] = []
    for i in range(3):
        fs.append(torch.jit.fork(_work, x, i))
    total = x
    for f in fs:
        total = total + torch.jit.wait(f)
    return total


def fork_typed(x: Tensor) -> Tensor:
    f: torch.jit.Future[Tensor] = torch.jit.fork(_work, x)
    return _waits(f)


def _waits(f: Future[Tensor]) -> Tensor:
    return torch.jit.wait(f)


def _nested(x: Tensor) -> Tensor:
    f = torch.jit.fork(_work, x, 3)
    return torch.jit.wait(f) + 1


def fork_nested(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(_nested, x))


def fork_dict(x: Tensor) -> Tensor:
    d: Dict[str, Future[Tensor]] = {}
    d["a"] = torch.jit.fork(_work, x)
    return torch.jit.wait(d["a"])


def fork_operator(x: Tensor) -> Tensor:
    f = torch.jit._fork(torch.neg, x)
    return torch.jit._wait(f)


@torch.jit.script
class _Adder:
    def __init__(self, by: int):
        self.by = by

    def run(self, x: Tensor) -> Tensor:
        return x + self.by

    def name(self) -> str:
        return "adder"


@torch.jit.script
class _Multiplier:
    def __init__(self, by: int):
        self.by = by

    def run(self, x: Tensor) -> Tensor:
        return x * self.by

    def name(self) -> str:
        return "multiplier"


@torch.jit.interface
class _Step:
    def run(self, x: Tensor) -> Tensor:
        pass

    def name(self) -> str:
        pass


def _through(step: _Step, x: Tensor) -> Tensor:
    return step.run(x)


def interface_passed(x: Tensor) -> Tensor:
    return _through(_Adder(2), x) + _through(_Multiplier(3), x)


def interface_in_list(x: Tensor) -> Tensor:
    steps: List[_Step] = [_Adder(1), _Multiplier(2)]
    for step in steps:
        x = step.run(x)
    return x


def fork_method(x: Tensor) -> Tensor:
    a = _Adder(4)
    f = torch.jit.fork(a.run, x)
    return torch.jit.wait(f)


@torch.jit._overload
def _size(x: int) -> int:  # noqa: F811
    ...


@torch.jit._overload
def _size(x: str) -> int:  # noqa: F811
    ...


@torch.jit._overload
def _size(x: List[Tensor]) -> int:  # noqa: F811
    ...


def _size(x):  # noqa: F811
    if isinstance(x, int):
        return x
    elif isinstance(x, str):
        return len(x) * 2
    else:
        return len(x) * 3


def overloads_called(n: int, s: str, xs: List[Tensor]) -> int:
    return _size(n) + _size(s) + _size(xs)


@torch.jit.script
class _Context:
    def __init__(self, log: List[str], name: str):
        self.log = log
        self.name = name

    def __enter__(self):
        self.log.append("enter " + self.name)
        return self.name

    def __exit__(self, type: Any, value: Any, traceback: Any):
        self.log.append("exit " + self.name)


def context_plain(n: int) -> List[str]:
    log: List[str] = []
    with _Context(log, "a"):
        log.append("in")
    return log


def context_target(n: int) -> List[str]:
    log: List[str] = []
    with _Context(log, "a") as name:
        log.append(name)
    return log


def context_two(n: int) -> List[str]:
    log: List[str] = []
    with _Context(log, "a") as a, _Context(log, "b") as b:
        log.append(a + b)
    return log


def context_variable(n: int) -> List[str]:
    log: List[str] = []
    c = _Context(log, "c")
    with c:
        x = n + 1
    log.append(str(x))
    return log


def context_returns(n: int) -> int:
    log: List[str] = []
    with _Context(log, "a"):
        if n > 1:
            return len(log)
        log.append("later")
    return len(log) * 10


def context_in_loop(n: int) -> List[str]:
    log: List[str] = []
    for i in range(n):
        with _Context(log, str(i)):
            if i == 1:
                log.append("one")
    return log


def context_breaks(n: int) -> List[str]:
    log: List[str] = []
    for i in range(n):
        if i == 2:
            break
        with _Context(log, str(i)):
            log.append("x")
    return log


def record_function(x: Tensor) -> Tensor:
    with torch.autograd.profiler.record_function("block"):
        y = x + 1
    return y


def no_grad_nested(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
        with torch.no_grad():
            y = y + 1
    return y


CALLS = {
    "overloads_called": [(1, "ab", [t(2)])],
}
