"""What the files of `cases/` declare: programs, and what to call them with."""
import dataclasses
import inspect

import torch

CASES = {}


@dataclasses.dataclass
class Case:
    """A function or a module class to script, or (`ready`) what makes a scripted or traced one.
    `derived` ones ask for derivatives."""

    item: object
    calls: tuple
    ready: bool = False
    derived: bool = False

    def build(self):
        torch.manual_seed(0)
        if self.ready:
            return self.item()
        if inspect.isclass(self.item):
            return torch.jit.script(self.item().eval())
        return torch.jit.script(self.item)


def register(name, found):
    if name in CASES:
        raise ValueError(f"two cases are named {name}")
    CASES[name] = found


def case(*calls):
    """Scripts the function or module class below; each call is a tuple of arguments."""

    def add(item):
        register(item.__name__, Case(item, calls))
        return item

    return add


def derived(*calls):
    """As `case`, of a program that asks for derivatives."""

    def add(item):
        register(item.__name__, Case(item, calls, derived=True))
        return item

    return add


def made(*calls, derived=False):
    """The function below gives a scripted or traced module."""

    def add(item):
        register(item.__name__, Case(item, calls, ready=True, derived=derived))
        return item

    return add


def t(*shape):
    """A tensor of 0, 0.5, 1…, the same every time."""
    count = 1
    for size in shape:
        count *= size
    return torch.arange(count, dtype=torch.float32).reshape(shape) / 2
