import torch
from torch import nn
from torch.utils.model_zoo import load_url

dependencies = ["torch"]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 1)

    def forward(self, x):
        return self.second(self.first(x))


def replaced():
    """Keys without module."""
    model = Encoder()
    state = load_url("https://example.com/keys/parallel.pth", progress=True)["state_dict"]
    state = {k.replace("module.", ""): v for k, v in state.items() if not k.startswith("module.head")}
    message = model.load_state_dict(state, strict=False)
    print("loaded with", message)
    return model


def filtered():
    model = Encoder()
    own = model.state_dict()
    given = torch.hub.load_state_dict_from_url("https://example.com/keys/parallel.pth")["state_dict"]
    given = {k[7:]: v for k, v in given.items()}
    kept = {k: v for k, v in given.items() if k in own and v.shape == own[k].shape}
    assert len(kept) == 4, f"only {len(kept)} keys"
    own.update(kept)
    model.load_state_dict(own)
    return model.eval()


def popped():
    model = Encoder()
    state = dict(torch.hub.load_state_dict_from_url("https://example.com/keys/parallel.pth", file_name="other.pth"))
    inner = state.pop("state_dict")
    for key in list(inner.keys()):
        new = key[len("module."):] if key.startswith("module.") else key
        inner[new] = inner.pop(key)
    missing, unexpected = model.load_state_dict(inner, strict=False)
    assert not missing and sorted(unexpected) == ["head.weight"]
    for parameter in model.parameters():
        parameter.requires_grad = False
    return model
