"""The context of automatic casts, as TorchScript has it."""

from typing import Any, Optional

import torch


class autocast:
    def __init__(
        self,
        device_type: str,
        dtype: Optional[int] = None,
        enabled: bool = True,
        cache_enabled: Optional[bool] = None,
    ):
        if not isinstance(device_type, str):
            raise ValueError("the kind of a device is a string")
        self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = enabled
        self.device = device_type

    def __call__(self, func):
        return func

    def __enter__(self):
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any):
        return None
