# The last line ends with the file.
import torch


def last(x: torch.Tensor):
    if x.dim() > 1:
        x = x[:, 0]
    return x * 2