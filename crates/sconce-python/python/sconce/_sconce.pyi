# The extension. What is public of it is described in `__init__.pyi` and `jit.pyi`.
from typing import Any

def __getattr__(name: str) -> Any: ...
