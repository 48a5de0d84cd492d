"""What is loaded of each repository, and the weights that it is given.

A weight is made of an entry of the repository itself: its state dict with numbers of every size, wrapped as the
file of a URL would be.
"""

import re

# repository, entry, arguments, {file: (entry, arguments, what is made of its state dict)}
CASES = [
    ("functions", "small", "pretrained=True", {"small-1.pth": ("small", "", None)}),
    ("functions", "wide", "pretrained=True progress=False", {"wide-1.pth": ("wide", "", None)}),
    ("imports", "first", "pretrained=True bias=False", {"first.pth": ("first", "bias=False", None)}),
    ("stars", "tiny", "pretrained=True", {"tiny.pth": ("tiny", "", lambda state: {"model": state, "epoch": 3})}),
    ("loops", "linear_md", "pretrained=True", {"linear-3.pth": ("linear_md", "", None)}),
    ("loops", "alias_sm", "pretrained=True", {"linear-2.pth": ("linear_sm", "", None)}),
    ("decorators", "decorated", "pretrained='v1' width=3", {"v1.pth": ("decorated", "width=3", None)}),
    ("enums", "net", "weights='NetWeights.V1'", {"v1.pth": ("net", "weights='V1'", None)}),
    ("enums", "net", "'DEFAULT'", {"v2.pth": ("net", "weights='V2'", None)}),
    ("dictionary", "small", "", {"small.pth": ("small", "pretrained=False", None)}),
    ("keys", "replaced", "", {"parallel.pth": ("Encoder", "", lambda state: parallel(state))}),
    ("keys", "filtered", "", {"parallel.pth": ("Encoder", "", lambda state: parallel(state))}),
    ("keys", "popped", "", {"other.pth": ("Encoder", "", lambda state: parallel(state))}),
    ("configuration", "configured", "'large'", {"@weights/large.pth": ("configured", "'large', pretrained=False", None)}),
    ("nested", "wrapped", "", {"inner.pth": ("@inner", "", None), "head.pth": ("@head", "", None)}),
    ("archive", "detector", "", {"@files/model.jit": ("@archive", "", None)}),
    ("archive", "alone", "", {"@files/model.jit": ("@archive", "", None)}),
    ("classes", "Classifier", "num_classes=4", {"classifier-4.pth": ("Classifier", "4, pretrained=False", None)}),
    ("classes", "classifier", "pretrained=True", {"classifier-3.pth": ("Classifier", "pretrained=False", None)}),
    ("classes", "from_pretrained", "pretrained=False", {"base.pth": ("Classifier", "pretrained=False", None)}),
    ("inside", "pair", "", {"pair.pth": ("pair", "pretrained=False, with_tools=False", lambda state: {"generator": state})}),
    ("inside", "pair", "with_tools=False", {"pair.pth": ("pair", "pretrained=False, with_tools=False", None)}),
    ("pickled", "weights_only_dict", "", {"whole.pth": ("@whole", "", None)}),
    ("pickled", "rebuilt", "", {"whole.pth": ("@whole", "", None)}),
    ("outside", "core", "", {"core.pth": ("core", "pretrained=False", None)}),
    ("legacy", "resnet10", "pretrained=True num_classes=3", {"resnet10.pth": ("resnet10", "num_classes=3", None)}),
    ("variants", "tower_s", "", {"s_base.pth": ("tower_s", "pretrained=None", lambda state: {"model_state": state})}),
    ("variants", "tower_b", "'base' dim=3", {"b_base.pth": ("tower_b", "pretrained=None, dim=3", None)}),
    ("patterns", "dense", "pretrained=True", {"dense.pth": ("dense", "", lambda state: {
        re.sub(r"layer(\d+)\.(norm|conv)1", r"old_layer\1.\2.1", k): v for k, v in state.items()
        if not k.endswith(("running_mean", "running_var", "num_batches_tracked"))} | {
        "features.old_" + k[9:]: v for k, v in state.items() if k.endswith(("running_mean", "running_var"))})}),
    ("computed", "positions", "", {}),
    ("computed", "tied", "", {"tied.pth": ("tied", "pretrained=False", lambda state: {k: v.float() for k, v in state.items()})}),
    ("settings", "tower", "", {"tower.pth": ("tower", "pretrained=False", None)}),
    ("registries", "head", "'large'", {"norm_head-large.pth": ("head", "'large', pretrained=False", None)}),
    ("registries", "head", "name='plain_head'", {"plain_head-small.pth": ("head", "name='plain_head', pretrained=False", None)}),
    ("registries", "small_head", "", {"norm_head-small.pth": ("head", "pretrained=False", None)}),
    ("converted", "net", "", {"old.pth": ("Net", "", lambda state: old(state))}),
    ("converted", "net", "'new'", {"new.pth": ("Net", "", None)}),
    ("converted", "partly", "", {"old.pth": ("Net", "", lambda state: old(state))}),
    ("averaged", "net_a", "", {"0.pth": ("net_a", "pretrained=False", lambda state: {"ema": state}),
                               "1.pth": ("net_a", "pretrained=False", lambda state: {"ema": state})}),
]


def parallel(state):
    wrapped = {"module." + key: value for key, value in state.items()}
    wrapped["module.head.weight"] = next(iter(state.values()))
    return {"state_dict": wrapped, "epoch": 1}


def old(state):
    names = {"layer": "fc", "scale.weight": "scale.gamma"}
    return {re.sub("^layer|scale.weight", lambda found: names[found[0]], key): value for key, value in state.items()}
