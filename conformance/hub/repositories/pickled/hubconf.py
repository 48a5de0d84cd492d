import torch

dependencies = ["torch", "yaml"]


def weights_only_dict():
    """A state dict of a whole pickled module."""
    checkpoint = torch.hub.load_state_dict_from_url("https://example.com/pickled/whole.pth", weights_only=False)
    return checkpoint["model"].float().state_dict()


def rebuilt(classes=2):
    from torch import nn
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, classes))
    checkpoint = torch.hub.load_state_dict_from_url("https://example.com/pickled/whole.pth")
    args = checkpoint["args"]
    assert args.classes == classes and vars(args)["name"] == "net"
    model.load_state_dict(checkpoint["model"].float().state_dict())
    model.names = checkpoint["names"]
    return model
