"""Records derivatives of PyTorch's operator database as TorchScript archives with what PyTorch gives.

    python generate.py OUT [--pattern REGEX] [--dtypes float32:6,float64:2] [--second N] [--special] [--every K]

Each sample of each operator becomes a folder OUT/NAME.DTYPE.INDEX as `../operators/generate.py` makes
them, of a scripted module around the traced call: it asks for the derivatives of what the call gives,
weighted by arguments, by those tensors that the database derives by. So many samples of each dtype are
recorded. With `--second` so many samples are recorded as OUT/second_NAME.float64.INDEX as well: the derivatives of the sum of squares of the derivatives of squared results. With `--special`
the cases of `special.py` are, as OUT/at_NAME.float32.000.
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
from torch.utils import _pytree as pytree

from special import cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "operators"))
from generate import call_of, own, plain  # noqa: E402

# Their rounding is more than what is allowed: the derivatives of several factorisations in a row.
ROUNDS = re.compile("(svd|pca)_lowrank")
# What it gives is so large that of its second derivative little is left.
ROUNDS_TWICE = re.compile("matrix_exp")
SINGLE = (torch.float32, torch.complex64)


def program(asked, structure, outputs, second):
    """A method that calls `self.call`, a traced function, and derives what it gives."""
    names = [f"x{index}" for index in range(len(asked))]
    weights = [f"w{index}" for index in range(len(outputs))]
    lines = [f"def forward(self, {', '.join(f'{name}: Tensor' for name in names + weights)}):"]
    lines += [f"    {name} = {name}.detach().requires_grad_(True)" for name, need in zip(names, asked) if need]
    lines += [f"    result = self.call({', '.join(names)})"]
    parts = ["result" if structure is None else f"result[{index}]" for index in outputs]
    if second:
        # What is linear has no second derivative.
        parts = [f"{part} * {part}" for part in parts]
    inputs = ", ".join(name for name, need in zip(names, asked) if need)
    recorded = ", create_graph=True" if second else ""
    lines += [
        f"    weights = torch.jit.annotate(List[Optional[Tensor]], [{', '.join(weights)}])",
        f"    grads = torch.autograd.grad([{', '.join(parts)}], [{inputs}], grad_outputs=weights, allow_unused=True{recorded})",
    ]
    if second:
        lines += [
            "    total = torch.zeros([])",
            "    for grad in grads:",
            "        if grad is not None:",
            "            total = total + (grad * grad.conj()).real.sum()" if second == "complex" else
            "            total = total + (grad * grad).sum()",
            f"    grads = torch.autograd.grad([total], [{inputs}], allow_unused=True)",
        ]
    return "\n".join([*lines, "    return grads", ""])


def record_sample(op, sample, folder, second):
    call, tensors = call_of(op, sample)
    # What is not fixed, such as signs of vectors, is taken out.
    record(lambda *inputs: sample.output_process_fn_grad(call(*inputs)), tensors, folder, second)


def record(call, tensors, folder, second=False, exact=False):
    """A call's derivatives by those tensors that require gradients, those left out which are rounding
    but where it is `exact`."""
    asked = [tensor.requires_grad for tensor in tensors]
    if not any(asked):
        raise TypeError("nothing to derive by")
    if any(tensor.layout != torch.strided for tensor in tensors):
        raise TypeError("a tensor that is not strided")
    fresh = lambda: [own(tensor) for tensor in tensors]
    torch.manual_seed(0)
    traced = torch.jit.trace(call, tuple(fresh()), check_trace=False)
    torch.manual_seed(0)
    with torch.enable_grad():
        result = traced(*[tensor.requires_grad_(need) for tensor, need in zip(fresh(), asked)])
    several = None if isinstance(result, torch.Tensor) else result
    parts = [result] if several is None else list(result)
    if not all(isinstance(part, torch.Tensor) for part in parts):
        raise TypeError("results inside of results")
    outputs = [index for index, part in enumerate(parts) if part.requires_grad]
    if not outputs:
        raise TypeError("a result that needs no gradient")
    if second and not any(parts[index].numel() for index in outputs):
        raise TypeError("nothing to derive twice")
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(parts[index].shape, dtype=parts[index].dtype, generator=generator) for index in outputs]

    module = torch.nn.Module()
    module.call = traced
    scripted = torch.jit.script(module)
    complex_ones = any(tensor.is_complex() for tensor in tensors)
    scripted.define(program(asked, several, outputs, ("complex" if complex_ones else "real") if second else None))
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt")
    torch.jit.save(scripted, path)
    loaded = torch.jit.load(path)
    torch.manual_seed(0)
    with torch.enable_grad():
        result = plain(loaded(*fresh(), *weights))
    found = [grad for grad in result if grad is not None]
    if not found:
        raise TypeError("no derivatives")
    if not exact and any(grad.dtype in SINGLE and 0 < grad.abs().max() < 1e-4 for grad in found if grad.numel()):
        raise TypeError("what rounding leaves of terms that cancel")
    recorded = {"arguments": [*fresh(), *weights], "result": result, "compare": "numbers", "seed": 0}
    torch.save([recorded], os.path.join(folder, "calls.pt"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--pattern", default="")
    parser.add_argument("--dtypes", default="float32:6,float64:2,complex64:2")
    parser.add_argument("--second", type=int, default=2)
    parser.add_argument("--special", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th operator")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_grad_enabled(False)
    # What PyTorch derives when it optimises is not at issue.
    torch._C._set_graph_executor_optimize(False)
    wanted = [(getattr(torch, text), int(count), False) for text, count in (part.split(":") for part in options.dtypes.split(","))]
    wanted.append((torch.float64, options.second, True))
    counts = collections.Counter()
    for number, op in enumerate(op_db):
        name = op.formatted_name
        if not op.supports_autograd or number % options.every or not re.search(options.pattern, name):
            continue
        for dtype, most, second in wanted:
            if dtype == torch.complex64 and ROUNDS.match(name):
                continue
            if dtype not in op.supported_backward_dtypes("cpu") or second and (ROUNDS_TWICE.match(name) or not op.supports_gradgrad):
                continue
            torch.manual_seed(number)
            try:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=True))
            except Exception as error:
                print(f"no samples  {name}: {str(error).splitlines()[:1]}", file=sys.stderr)
                continue
            # Spread over all of them: the first are much alike.
            step = max(1, len(samples) // max(1, most))
            for index in range(0, len(samples), step)[:most]:
                prefix = "second_" if second else ""
                case = f"{prefix}{name}.{str(dtype).removeprefix('torch.')}.{index:03}"
                folder = os.path.join(options.out, case)
                shutil.rmtree(folder, ignore_errors=True)
                try:
                    record_sample(op, samples[index], folder, second)
                    counts["recorded"] += 1
                except Exception as error:
                    shutil.rmtree(folder, ignore_errors=True)
                    counts["not traced, saved or derived by PyTorch"] += 1
                    first = (str(error).strip().splitlines() or [type(error).__name__])[-1]
                    print(f"left out  {case}: {first}", file=sys.stderr)
    for name, function, tensors in cases():
        if not options.special or not re.search(options.pattern, name):
            continue
        folder = os.path.join(options.out, f"at_{name}.float32.000")
        shutil.rmtree(folder, ignore_errors=True)
        record(function, [tensor.requires_grad_() for tensor in tensors], folder, exact=True)
        counts["recorded"] += 1
    print(", ".join(f"{count} {what}" for what, count in counts.items()))


if __name__ == "__main__":
    main()
