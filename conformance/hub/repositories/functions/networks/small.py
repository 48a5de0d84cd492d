import torch
from torch import nn
import torch.nn.functional as F


class SmallNet(nn.Module):
    """Two layers."""

    def __init__(self, width: int = 4):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))
