"""Makes digits.ckpt: what a small training run leaves behind. Needs torch."""

import collections
import os

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    collections.OrderedDict(
        conv1=nn.Conv2d(1, 8, 3, padding=1),
        norm1=nn.BatchNorm2d(8),
        relu1=nn.ReLU(),
        pool1=nn.MaxPool2d(2),
        conv2=nn.Conv2d(8, 16, 3, padding=1),
        norm2=nn.BatchNorm2d(16),
        relu2=nn.ReLU(),
        pool2=nn.MaxPool2d(2),
        flatten=nn.Flatten(),
        classifier=nn.Linear(64, 10),
    )
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(20):
    images = torch.randn(32, 1, 8, 8)
    labels = (images.mean((1, 2, 3)) * 40 + 5).long().clamp(0, 9)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
torch.save(
    {
        "epoch": 20,
        "classes": [str(digit) for digit in range(10)],
        "state_dict": model.state_dict(),
        "optimizer": optimizer.state_dict(),
    },
    "digits.ckpt",
)
