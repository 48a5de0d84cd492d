"""Records PyTorch's operator database as TorchScript archives with what PyTorch gives for them.

    python generate.py OUT [--pattern REGEX] [--dtypes float32,int64] [--samples N] [--every K] [--strides] [--infinite]

Each sample of each operator of `torch.testing._internal.common_methods_invocations.op_db` becomes a
folder OUT/NAME.DTYPE.INDEX with `model.pt` (the call, traced) and `calls.pt` (its tensors, and the
result of running the traced function after `torch.manual_seed(0)`), which the `calls` example of
sconce-runtime reads. Samples that PyTorch itself does not trace, save or run are counted and left out.

With `--strides` the tensors of samples lie in memory in another way than they did: with their dimensions
in another order, channels last, or with gaps. What is recorded tells what strides results take from that.

With `--infinite` some of their numbers are infinite or NaN.
"""

import argparse
import collections
import os
import random
import re
import shutil
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")

# What these return is whatever memory held: only dtypes and shapes can be compared.
UNINITIALIZED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
}

# What PyTorch gives for these is wrong where the last dimension does not lie side by side.
NEEDS_ROWS = {"torch_ops_aten__scaled_dot_product_flash_attention_for_cpu"}


# What is infinite here, and what NaN, hangs on the order in which a library puts terms together.
OF_THEIR_OWN = re.compile(
    "linalg_|cholesky|geqrf|ormqr|lu|qr|svd|pca|matrix_exp|pinverse|norm_nuc|fft_(irfft|hfft)n?$"
    "|native_(group|layer)_norm|.*scaled_dot_product"
)


def plain(value):
    """The same value out of what torch.save writes with nothing but tensors and containers."""
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().clone()
    if isinstance(value, (tuple, torch.Size)):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise TypeError(f"a result of {type(value)}")


def own(tensor):
    """A copy that lies in memory as the tensor does, gaps and repetitions included."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.layout != torch.strided or tensor.is_quantized:
        return tensor.clone()
    storage = tensor.untyped_storage().clone()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())


def rounds(result, call, arguments):
    """Whether PyTorch itself is far from what it gives in double precision."""
    widened = lambda tensor: tensor.double() if tensor.dtype == torch.float32 else tensor
    try:
        with torch.no_grad():
            exact = pytree.tree_leaves(call(*pytree.tree_map_only(torch.Tensor, widened, list(arguments))))
    except (RuntimeError, IndexError):
        return False

    def near(found, exact):
        numbers = found.isfinite()
        if not torch.equal(numbers, exact.isfinite()):
            return False
        found, exact = found[numbers], exact[numbers]
        return not found.numel() or (found - exact).abs().max() <= 4e-6 * exact.abs().max()

    kinds = (torch.float32, torch.float64)
    compared = lambda found, exact: isinstance(found, torch.Tensor) and (found.dtype, exact.dtype) == kinds
    pairs = [pair for pair in zip(pytree.tree_leaves(result), exact) if compared(*pair)]
    return any(found.shape != exact.shape or not near(found, exact) for found, exact in pairs)


def laid_out(tensor, dice):
    """The same numbers with their dimensions in another order in memory, now and then with gaps."""
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.dim() < 2:
        return tensor
    order = list(range(tensor.dim()))
    if dice.random() < 0.25:
        order = [0, *order[2:], 1]
    else:
        dice.shuffle(order)
    sizes = [tensor.size(dim) + dice.choice([0, 0, 0, 0, 0, 1]) for dim in order]
    place = torch.zeros(sizes, dtype=tensor.dtype).permute([order.index(dim) for dim in range(tensor.dim())])
    for dim, size in enumerate(tensor.shape):
        place = place.narrow(dim, place.size(dim) - size, size)
    return place.copy_(tensor)


def with_infinite(tensor, dice):
    """The same numbers, some of which are infinite or NaN."""
    fits = tensor.layout == torch.strided and (tensor.is_floating_point() or tensor.is_complex())
    if not fits or not tensor.is_contiguous() or not tensor.numel():
        return tensor
    tensor = tensor.detach().clone()
    for _ in range(1 + int(tensor.numel() * dice.choice([0, 0.02, 0.2]))):
        numbers = [float(number) for number in ("nan", "inf", "-inf")]
        number = complex(dice.choice([*numbers, 0.5]), dice.choice(numbers)) if tensor.is_complex() else dice.choice(numbers)
        tensor.view(-1)[dice.randrange(tensor.numel())] = number
    return tensor


def call_of(op, sample):
    """The call of a sample as a function of its tensors, and those."""
    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    at = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(*inputs):
        filled = list(leaves)
        for index, tensor in zip(at, inputs):
            filled[index] = tensor
        first, args, kwargs = pytree.tree_unflatten(filled, structure)
        return op(first, *args, **kwargs)

    return call, [leaves[index] for index in at]


def record(op, sample, folder, change):
    call, tensors = call_of(op, sample)
    tensors = [change(tensor.detach()) for tensor in tensors]
    if any(tensor.layout != torch.strided for tensor in tensors):
        raise TypeError("a tensor that is not strided")
    fresh = lambda: [own(tensor) for tensor in tensors]
    torch.manual_seed(0)
    traced = torch.jit.trace(call, tuple(fresh()), check_trace=False)
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt")
    torch.jit.save(traced, path)
    loaded = torch.jit.load(path)
    torch.manual_seed(0)
    result = plain(loaded(*fresh()))
    kind = "shapes" if op.name in UNINITIALIZED else "values"
    recorded = {"arguments": fresh(), "result": result, "compare": kind, "seed": 0}
    torch.save([recorded], os.path.join(folder, "calls.pt"))


def parser_of_samples():
    """The arguments that say which samples of which operators are recorded, and where."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--pattern", default="")
    parser.add_argument("--dtypes", default="float32,int64")
    parser.add_argument("--samples", type=int, default=1000, help="at most so many for an operator and dtype")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th operator")
    return parser


def operators(options):
    """The operators of the database that were asked for: number, operator, the name of a dtype and the dtype."""
    for number, op in enumerate(op_db):
        if number % options.every or not re.search(options.pattern, op.formatted_name):
            continue
        for text in options.dtypes.split(","):
            dtype = getattr(torch, text)
            if dtype in op.supported_dtypes("cpu"):
                yield number, op, text, dtype


def fill(options, case, record, counts, what):
    """Makes the folder of a case anew by `record(folder)`, or none where PyTorch does not trace, save or run it."""
    folder = os.path.join(options.out, case)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        record(folder)
        counts[what] += 1
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        counts["not traced, saved or run by PyTorch"] += 1
        first = (str(error).splitlines() or [type(error).__name__])[0]
        print(f"left out  {case}: {first}", file=sys.stderr)


def report(counts):
    print(", ".join(f"{count} {what}" for what, count in counts.items()))


def main():
    parser = parser_of_samples()
    parser.add_argument("--strides", action="store_true", help="lay tensors out in memory in other ways")
    parser.add_argument("--infinite", action="store_true", help="make some numbers infinite or NaN")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    counts = collections.Counter()
    for number, op, text, dtype in operators(options):
        name = op.formatted_name
        if options.strides and name in NEEDS_ROWS or options.infinite and OF_THEIR_OWN.match(name):
            continue
        torch.manual_seed(number)
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
        except Exception as error:
            counts["operators without samples"] += 1
            print(f"no samples  {name}.{text}: {str(error).splitlines()[:1]}", file=sys.stderr)
            continue
        for index, sample in enumerate(samples[: options.samples]):
            dice = random.Random(index)
            change = lambda tensor: (
                laid_out(tensor, dice) if options.strides else
                with_infinite(tensor, dice) if options.infinite else tensor
            )
            recorded = lambda folder: record(op, sample, folder, change)
            fill(options, f"{name}.{text}.{index:03}", recorded, counts, "recorded")
    report(counts)


if __name__ == "__main__":
    main()
