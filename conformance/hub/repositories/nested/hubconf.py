import torch
import torch.nn as nn
import models

dependencies = ["torch"]


class Wrapped(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


def wrapped(pretrained=True, **kwargs):
    """Loads from another repository."""
    backbone = torch.hub.load("someone/inner", "inner_net", pretrained=pretrained, trust_repo=True)
    model = Wrapped(backbone)
    model.head.load_state_dict(torch.hub.load_state_dict_from_url("https://example.com/nested/head.pth"))
    return model
