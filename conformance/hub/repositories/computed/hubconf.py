import math
import torch
from torch import nn

dependencies = ["torch"]


class Positions(nn.Module):
    def __init__(self, dim=6, length=5):
        super().__init__()
        pe = torch.zeros(length, dim)
        position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 6, padding_idx=0)
        self.positions = Positions()
        self.head = nn.Linear(6, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.positions(self.embedding(x)))


def positions():
    return Positions().eval()


def tied(pretrained=True):
    """Weights in two places."""
    model = Tied()
    if pretrained:
        model.load_state_dict(torch.hub.load_state_dict_from_url("https://example.com/computed/tied.pth"))
    return model.half().to("cpu")
