import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", __import__("torch").zeros(3))
        self.register_buffer("scratch", __import__("torch").zeros(3), persistent=False)
        self.gru = nn.GRU(2, 3, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0] + self.mean


def make_tools(size):
    def tool(x):
        return x * size

    return tool
