"""What TorchScript asks of tracing."""

import torch


def is_tracing():
    if torch.jit.is_scripting():
        return False
    return torch._C._is_tracing()
