import torch.nn as nn


class Block(nn.Sequential):
    def __init__(self, width, bias=True):
        super().__init__(nn.Linear(width, width, bias=bias), nn.ReLU(), nn.Linear(width, 1))


def helper(x):
    return x
