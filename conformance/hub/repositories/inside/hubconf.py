dependencies = ["torch", "collections"]


def _entry(function):
    return function


def pair(pretrained=True, with_tools=True):
    """A model and tools."""
    from lib.net import Net, make_tools
    import torch as th

    net = Net()
    if pretrained:
        checkpoint = th.hub.load_state_dict_from_url("https://example.com/inside/pair.pth")
        net.load_state_dict(checkpoint["generator"] if "generator" in checkpoint else checkpoint)
    net.eval()
    if not with_tools:
        return net
    return net, make_tools(size=3), {"a": 1}


def tools_first():
    from lib import net
    return net.make_tools(1), net.Net()
