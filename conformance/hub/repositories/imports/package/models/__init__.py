from .blocks import Block
from ._factory import first, second, MODELS

__all__ = ["first", "second", "Block"]
