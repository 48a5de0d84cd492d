"""PyTorch's files without PyTorch: checkpoints as arrays, programs that run, and the command ``sconce``.

>>> import sconce
>>> checkpoint = sconce.load("model.ckpt")
>>> model = sconce.jit.load("classifier.pt")
"""

from __future__ import annotations

from . import jit
from ._errors import (
    ArgumentError,
    FormatError,
    InternalError,
    LimitError,
    MemoryLimitError,
    SconceError,
    ScriptError,
    TensorError,
    TimeLimitError,
    UnsupportedError,
    WeightsOnlyError,
)
from ._objects import Global, Identity, Object, Size, device, layout, qscheme
from ._scan import scan
from ._sconce import (
    File,
    Slice,
    Tensor,
    __version__,
    convert,
    dtype,
    get_num_threads,
    globals,
    identify,
    load,
    open,
    save,
    set_num_threads,
    verify,
)

safe_open = open

__all__ = [
    "ArgumentError",
    "File",
    "FormatError",
    "Global",
    "Identity",
    "InternalError",
    "LimitError",
    "MemoryLimitError",
    "Object",
    "SconceError",
    "ScriptError",
    "Size",
    "Slice",
    "Tensor",
    "TensorError",
    "TimeLimitError",
    "UnsupportedError",
    "WeightsOnlyError",
    "__version__",
    "convert",
    "device",
    "dtype",
    "get_num_threads",
    "globals",
    "identify",
    "jit",
    "layout",
    "load",
    "open",
    "qscheme",
    "safe_open",
    "save",
    "scan",
    "set_num_threads",
    "verify",
]

for _function in (convert, get_num_threads, globals, identify, load, open, save, scan, set_num_threads, verify):
    _function.__module__ = "sconce"
del _function
