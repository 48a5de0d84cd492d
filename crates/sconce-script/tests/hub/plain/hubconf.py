"""A module and a function that makes one."""
dependencies = ["torch"]

import torch.nn as nn


class Net(nn.Module):
    """A small network."""

    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(2, width)

    def forward(self, x):
        return self.fc(x)


def net(pretrained=False, **kwargs):
    """Makes a network."""
    model = Net(**kwargs)
    for parameter in model.parameters():
        parameter.data.fill_(0.5)
    return model
