"""The exceptions. ``str()`` of each is the command line's text without colour."""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "FormatError",
    "InternalError",
    "LimitError",
    "MemoryLimitError",
    "ScriptError",
    "SconceError",
    "TensorError",
    "TimeLimitError",
    "UnsupportedError",
    "WeightsOnlyError",
]


def _rebuild(cls, message, fields):
    return cls(message, **fields)


class SconceError(Exception):
    """What sconce raises. ``path`` is the file, ``kind`` whose fault it is, ``hints`` what led to it, and ``help``
    what to do next."""

    def __init__(self, message="", *, path=None, kind=None, help=None, hints=()):
        super().__init__(message)
        self.path = path
        self.kind = kind
        self.help = help
        self.hints = tuple(hints)

    def __str__(self):
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):
        return _rebuild, (type(self), str(self), dict(self.__dict__))


class FormatError(SconceError, ValueError):
    """A file that is not what it should be, or damaged."""


class WeightsOnlyError(FormatError):
    """A file that needs more than ``weights_only=True`` admits, in PyTorch's words."""


class UnsupportedError(SconceError, NotImplementedError):
    """Something that is not here, or that another library does not have."""


class ScriptError(SconceError, RuntimeError):
    """A program that does not compile, or that raised. ``exception`` is the class that it raised, and ``traceback``
    TorchScript's traceback."""

    def __init__(self, message="", *, exception=None, traceback=None, **fields):
        super().__init__(message, **fields)
        self.exception = exception
        self.traceback = traceback


class TensorError(ScriptError, ValueError):
    """A tensor that cannot be had as what is asked for: one of many elements as a number."""


class ArgumentError(ScriptError, TypeError):
    """Arguments that do not fit a method."""


class LimitError(ScriptError):
    """A limit of the caller was reached: ``limit`` says which (``"time"``, ``"steps"``, ``"memory"``, ...)."""

    def __init__(self, message="", *, limit=None, **fields):
        super().__init__(message, **fields)
        self.limit = limit


class TimeLimitError(LimitError, TimeoutError):
    """A call took longer than ``max_seconds``."""


class MemoryLimitError(LimitError, MemoryError):
    """A call would have held more than ``max_memory``."""


class InternalError(SconceError):
    """An error of sconce itself. Please report it."""


for _name in __all__:
    globals()[_name].__module__ = "sconce"
