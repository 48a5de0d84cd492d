"""Records calls of the operators of backward passes as TorchScript archives with what PyTorch gives.

    python backwards.py OUT [--pattern REGEX] [--dtypes float32:2,float64:1] [--every K]

PyTorch's operator and module databases are derived, and what their backward passes call is noted, with its
operands. So many calls of each operator and dtype, all unlike in what is not a tensor, become folders
OUT/NAME.DTYPE.INDEX as `../operators/generate.py` makes them, of a scripted call of `torch.ops.aten.NAME`.
Results that are nothing but what rounding leaves of terms that cancel are left out.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "operators"))
from generate import own, plain, rounds  # noqa: E402

# Of what the module database has, which is not in the operator database.
MODULES = re.compile("Loss|Norm|Pad|Pool|Upsample|Embedding|ReLU|GLU|Shrink|Sigmoid|Mish|Conv")


class Calls(TorchDispatchMode):
    """Notes what is called whose name says that it is of a backward pass."""

    def __init__(self, most, pattern):
        super().__init__()
        self.most, self.pattern = most, pattern
        self.noted = collections.defaultdict(dict)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        schema = func._schema
        result = func(*args, **kwargs)
        name = schema.name.removeprefix("aten::")
        if "backward" in name and not schema.overload_name and re.search(self.pattern, name):
            self.note(name, schema, args, kwargs)
        return result

    def note(self, name, schema, args, kwargs):
        values = dict(zip((argument.name for argument in schema.arguments), args)) | kwargs
        tensors = [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]
        if any(tensor.layout != torch.strided for tensor in tensors):
            return
        dtype = str(next(tensor.dtype for tensor in tensors if tensor.is_floating_point() or tensor.is_complex()))
        kind = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.dim(), values)
        noted = self.noted[name, dtype.removeprefix("torch.")]
        if len(noted) < self.most.get(dtype.removeprefix("torch."), 0):
            noted.setdefault(repr(sorted(kind.items())), (schema, pytree.tree_map_only(torch.Tensor, own, values)))


def literal(value):
    if isinstance(value, float):
        return f'float("{value}")'
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


def record(name, schema, values, folder):
    """The call as a program of its tensors, all else written out."""
    tensors, given = [], []
    for argument in schema.arguments:
        if argument.name not in values:
            continue
        value = values[argument.name]
        if isinstance(value, torch.Tensor):
            text = f"x{len(tensors)}"
            tensors.append(value)
        else:
            text = literal(value)
        given.append(f"{argument.name}={text}" if argument.kwarg_only else text)
    names = ", ".join(f"x{index}: Tensor" for index in range(len(tensors)))
    # A class of its own: what is scripted of one is shared.
    module = torch.jit.script(type("Call", (torch.nn.Module,), {})())
    module.define(f"def forward(self, {names}):\n    return torch.ops.aten.{name}({', '.join(given)})\n")
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt")
    torch.jit.save(module, path)
    fresh = lambda: [own(tensor) for tensor in tensors]
    with torch.no_grad():
        result = plain(torch.jit.load(path)(*fresh()))
    if rounds(result, module, fresh()):
        raise TypeError("what rounding leaves of terms that cancel")
    recorded = {"arguments": fresh(), "result": result, "compare": "numbers", "seed": 0}
    torch.save([recorded], os.path.join(folder, "calls.pt"))


def derive(call):
    """Runs a backward pass for the mode to note; samples without one have nothing to note."""
    try:
        leaves = [leaf for leaf in pytree.tree_leaves(call()) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        # Of those elements alone that are numbers.
        sum(torch.nan_to_num(leaf).abs().sum() for leaf in leaves).backward()
    except Exception:  # noqa: BLE001
        pass


def derive_operators(calls, every):
    for number, op in enumerate(op_db):
        if number % every or not op.supports_autograd:
            continue
        for text in calls.most:
            dtype = getattr(torch, text)
            if dtype not in op.supported_backward_dtypes("cpu"):
                continue
            torch.manual_seed(number)
            try:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=True))
            except Exception as error:  # noqa: BLE001
                print(f"no samples  {op.formatted_name}: {str(error).splitlines()[:1]}", file=sys.stderr)
                continue
            with calls:
                for sample in samples[:: max(1, len(samples) // 12)]:
                    derive(lambda: op(sample.input, *sample.args, **sample.kwargs))


def derive_modules(calls, every):
    for number, info in enumerate(module_db):
        if number % every or not MODULES.search(info.name):
            continue
        for training in (True, False):
            torch.manual_seed(number)
            inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
            for given in inputs:
                constructed, forward = given.constructor_input, given.forward_input
                module = info.module_cls(*constructed.args, **constructed.kwargs).train(training)
                with calls:
                    derive(lambda: module(*forward.args, **forward.kwargs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--pattern", default="")
    parser.add_argument("--dtypes", default="float32:4,float64:2,complex64:1")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th operator")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    most = {text: int(count) for text, count in (part.split(":") for part in options.dtypes.split(","))}
    calls = Calls(most, options.pattern)
    derive_operators(calls, options.every)
    derive_modules(calls, options.every)
    counts = collections.Counter()
    for (name, dtype), noted in sorted(calls.noted.items()):
        for index, (schema, values) in enumerate(noted.values()):
            case = f"{name}.{dtype}.{index:03}"
            folder = os.path.join(options.out, case)
            shutil.rmtree(folder, ignore_errors=True)
            try:
                record(name, schema, values, folder)
                counts["recorded"] += 1
            except Exception as error:  # noqa: BLE001
                shutil.rmtree(folder, ignore_errors=True)
                counts["not scripted, saved or run by PyTorch"] += 1
                print(f"left out  {case}: {(str(error).strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))


if __name__ == "__main__":
    main()
