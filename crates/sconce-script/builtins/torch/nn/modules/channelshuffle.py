"""Shuffling of channels."""
from torch import Tensor
from torch.nn import Module

from .. import functional as F


class ChannelShuffle(Module):
    __constants__ = ["groups"]
    groups: int

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
