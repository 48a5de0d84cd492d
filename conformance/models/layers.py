"""Records the layers of PyTorch's module database as TorchScript archives with what PyTorch gives for them.

    python layers.py OUT [--pattern REGEX] [--dtypes float32,float64] [--samples N] [--every K]

Each sample of each layer of `torch.testing._internal.common_modules.module_db` becomes, scripted and
traced, in evaluation and in training, a folder OUT/NAME_MODE_HOW.DTYPE.INDEX with `model.pt` and
`calls.pt`, which the `calls` example of sconce-runtime reads. Layers that PyTorch itself does not script,
trace, save or run are counted and left out.
"""

import argparse
import collections
import copy
import inspect
import os
import pathlib
import re
import shutil
import sys
import warnings

import torch
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "operators"))
from generate import own, plain


def scripted(layer, args, kwargs):
    """The layer and its arguments, all of them by place."""
    bound = inspect.signature(layer.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return torch.jit.script(layer), list(bound.arguments.values())


def traced(layer, args, kwargs):
    """The layer as a function of the tensors among its arguments."""
    leaves, structure = pytree.tree_flatten((args, kwargs))
    at = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    class OfTensors(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, *tensors):
            filled = list(leaves)
            for index, tensor in zip(at, tensors):
                filled[index] = tensor
            args, kwargs = pytree.tree_unflatten(filled, structure)
            return self.layer(*args, **kwargs)

    tensors = [own(leaves[index]) for index in at]
    module = OfTensors().train(layer.training)
    return torch.jit.trace(module, tuple(copy.deepcopy(tensors)), check_trace=False), tensors


def record(info, sample, dtype, training, way, folder):
    made = sample.constructor_input
    torch.manual_seed(1)
    layer = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
    given = sample.forward_input
    program, arguments = way(layer, given.args, given.kwargs)
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt")
    torch.jit.save(program, path)
    loaded = torch.jit.load(path)
    kept = copy.deepcopy(arguments)
    torch.manual_seed(0)
    result = plain(loaded(*arguments))
    torch.save([{"arguments": kept, "result": result, "seed": 0}], os.path.join(folder, "calls.pt"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--pattern", default="")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--samples", type=int, default=1000, help="at most so many of a layer and mode")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th layer")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore")
    counts = collections.Counter()
    for number, info in enumerate(module_db):
        name = info.name.removeprefix("nn.").replace(".", "_")
        if number % options.every or not re.search(options.pattern, name):
            continue
        for text in options.dtypes.split(","):
            dtype = getattr(torch, text)
            for training in (False, True):
                torch.manual_seed(0)
                samples = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=training)
                samples = [sample for sample in samples if sample.forward_input is not None]
                for index, sample in enumerate(samples[: options.samples]):
                    for way in (scripted, traced):
                        mode = "train" if training else "eval"
                        folder = os.path.join(options.out, f"{name}_{mode}_{way.__name__}.{text}.{index:03}")
                        shutil.rmtree(folder, ignore_errors=True)
                        try:
                            record(info, sample, dtype, training, way, folder)
                            counts["recorded"] += 1
                        except Exception as error:
                            shutil.rmtree(folder, ignore_errors=True)
                            counts["not scripted, traced, saved or run by PyTorch"] += 1
                            first = (str(error).splitlines() or [type(error).__name__])[0]
                            print(f"left out  {os.path.basename(folder)}: {first}", file=sys.stderr)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))


if __name__ == "__main__":
    main()
