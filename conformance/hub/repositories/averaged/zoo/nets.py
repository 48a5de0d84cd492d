from torch import nn


class Net(nn.Module):
    def __init__(self, width, bias=True):
        super().__init__()
        self.layer = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        return self.layer(x)
