import torch
from models import InnerNet

dependencies = ["torch"]


def inner_net(pretrained=False):
    model = InnerNet()
    if pretrained:
        model.load_state_dict(torch.hub.load_state_dict_from_url("https://example.com/nested/inner.pth"))
    return model
