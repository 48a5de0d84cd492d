"""Between channels and pixels."""
from torch import Tensor
from torch.nn import Module

from .. import functional as F


class PixelShuffle(Module):
    __constants__ = ["upscale_factor"]
    upscale_factor: int

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    __constants__ = ["downscale_factor"]
    downscale_factor: int

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
