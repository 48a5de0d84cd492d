"""Records calls of operators with arguments that somebody got wrong, or that are merely odd.

    python changed.py OUT [--pattern REGEX] [--dtypes float32,int64] [--calls N] [--every K] [--seed S]

The operators that the traced samples of PyTorch's operator database are made of, and their in-place
forms, are called with the samples' arguments, one or two of which are changed: another dtype, a dimension
more or less, of size nothing or one, transposed, expanded; numbers that are nothing, negative, enormous; lists
that are shorter or longer; options that are missing or set. Each operator and kinds of arguments become a
folder OUT/NAME.OVERLOAD.INDEX as `generate.py` makes them, of a scripted call that takes all arguments as
inputs, with N calls. What PyTorch raises is recorded, but its words are not compared.

Left out is what PyTorch itself does not stand by: calls that end the process or do not end, assertions within
PyTorch, memory that it has not, and results that are another the next time or that rounding decides.
"""

import argparse
import collections
import math
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sys
import warnings

import torch
import torchvision
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from generate import UNINITIALIZED, call_of, own, plain, rounds

# What a call may take.
SECONDS = 4
BYTES = 12 << 30
# Operators of other layouts and devices, and of storages.
LEFT_OUT = re.compile("^(_local_scalar_dense|to|set_|is_set_to|_.*cuda.*|_cslt.*|_sparse.*|_spdiags|to_sparse.*|_nested.*|sparse_.*|_jagged.*|_convert_weight.*)$")
# Errors that say nothing of the arguments.
NO_ANSWER = re.compile("INTERNAL ASSERT|please report|SymInt|can't allocate memory|UnknownQuantizer|clone for quantized Tensor|DispatchKey|backend fallback")
# Arguments that are written into the program and never changed.
WRITTEN = {"layout", "memory_format", "device", "generator", "pin_memory", "non_blocking"}

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64]
INTS = [0, 1, -1, 2, -2, 3, 4, 5, 7, -100, 100, 2**31, -(2**31) - 1, 2**61, 2**63 - 1, -(2**61)]
# Numbers that stand for something: those that do, and some that do not.
CODES = {
    "dtype": [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, -1, 64],
    "reduction": [0, 1, 2, 3, -1],
    "interpolation_mode": [0, 1, 2, 3, -1],
    "padding_mode": [0, 1, 2, 3, -1],
}
FLOATS = [0.0, -0.0, -1.0, 1.0, 0.5, 2.0, -3.5, 1e-30, 1e30, float("nan"), float("inf"), float("-inf")]
WORDS = "none mean sum constant reflect replicate circular floor trunc ij xy linear nearest ortho forward valid same left tanh bogus".split()
# What stands in for an option that is missing.
SET = {"int": 1, "float": 0.5, "bool": True, "str": "mean", "List[int]": [1, 2]}

Seed = collections.namedtuple("Seed", "schema values")


def fresh(value):
    """The same value in memory of its own."""
    return pytree.tree_map_only(torch.Tensor, own, value)


def nodes_of(traced, tensors):
    """The operators of a trace, each with its arguments."""
    inputs = [value.debugName() for value in traced.inlined_graph.inputs()]
    values = dict(zip(inputs, [traced, *tensors] if len(inputs) > len(tensors) else tensors))
    for node in traced.inlined_graph.nodes():
        given = [values[value.debugName()] for value in node.inputs()]
        outputs = [value.debugName() for value in node.outputs()]
        kind = node.kind()
        if kind == "prim::Constant":
            results = [node.output().toIValue()]
        elif kind == "prim::ListConstruct":
            results = [list(given)]
        elif kind == "prim::TupleConstruct":
            results = [tuple(given)]
        elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
            results = list(given[0])
        elif kind == "prim::NumToTensor":
            results = [torch.tensor(given[0])]
        elif kind.startswith(("aten::", "torchvision::")):
            schema = torch._C.parse_schema(node.schema())
            pairs = list(zip(schema.arguments, given))
            yield Seed(schema, {argument.name: fresh(value) for argument, value in pairs})
            packet = getattr(getattr(torch.ops, namespace(schema.name)), schema.name.split("::")[1])
            positional = [value for argument, value in pairs if not argument.kwarg_only]
            named = {argument.name: value for argument, value in pairs if argument.kwarg_only}
            result = getattr(packet, schema.overload_name or "default")(*positional, **named)
            results = list(result) if len(outputs) > 1 else [result]
        else:
            return
        values.update(zip(outputs, results))


def namespace(symbol):
    return symbol.split("::")[0]


def traced_seeds(call, tensors):
    """The operators that a call comes down to."""
    if sum(tensor.numel() for tensor in tensors) > 4_000:
        return
    try:
        traced = torch.jit.trace(call, tuple(map(own, tensors)), check_trace=False)
        yield from nodes_of(traced, fresh(tensors))
    except Exception:  # noqa: BLE001
        return


def layers():
    """Calls of what is not in the operator database, each with its tensors."""
    torch.manual_seed(0)
    image, boxes = torch.randn(2, 4, 8, 8), torch.tensor([[0, 0.5, 0.5, 4, 5], [1, 1, 0, 6, 3.5]])
    x, h = torch.randn(3, 2, 4), torch.randn(1, 2, 5)
    vision = torchvision.ops
    yield lambda boxes, scores: vision.nms(boxes, scores, 0.5), [boxes[:, 1:], torch.rand(2)]
    for pooled in (vision.roi_pool, vision.ps_roi_pool):
        yield lambda image, boxes, pooled=pooled: pooled(image, boxes, 2, 0.5), [image, boxes]
    for pooled in (vision.roi_align, vision.ps_roi_align):
        yield lambda image, boxes, pooled=pooled: pooled(image, boxes, 2, 0.5, 2), [image, boxes]
    weight, offset = torch.randn(3, 4, 3, 3), torch.randn(2, 18, 6, 6)
    yield lambda *given: vision.deform_conv2d(*given), [image, offset, weight]
    yield lambda *given: vision.deform_conv2d(*given[:3], mask=given[3]), [image, offset, weight, torch.rand(2, 9, 6, 6)]
    for name, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)):
        weights = [torch.randn(gates * 5, 4), torch.randn(gates * 5, 5), torch.randn(gates * 5), torch.randn(gates * 5)]
        states = (h, h + 1) if name == "lstm" else h
        run = lambda x, *w, name=name, states=states: getattr(torch, name)(x, states, w, True, 1, 0.0, False, False, False)
        yield run, [x, *weights]
    scale = torch.tensor([0.1, 0.2]), torch.tensor([0, 1])
    yield lambda x: torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).dequantize(), [x]
    yield lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255), [x]
    yield lambda x, *given: torch.fake_quantize_per_channel_affine(x, *given, 1, 0, 255), [x, scale[0], scale[1].int()]
    yield lambda x: torch.quantize_per_channel(x, *scale, 1, torch.qint8).dequantize(), [x]
    lengths = torch.tensor([3, 2])
    yield lambda x: torch._pack_padded_sequence(x, lengths, False), [x]
    yield lambda x, sizes: torch._pad_packed_sequence(x, sizes, False, 0.0, 4), [torch.randn(5, 4), torch.tensor([2, 2, 1])]


def seeds_of(op, dtype, number, most):
    """The operators that some samples of an operator, and of its in-place form, come down to."""
    torch.manual_seed(number)
    try:
        samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    except Exception:  # noqa: BLE001
        return
    variants = [op, op.inplace_variant] if dtype == torch.float32 and op.inplace_variant else [op]
    for sample in samples[:: max(1, len(samples) // most)]:
        for variant in variants:
            call, tensors = call_of(variant, sample)
            yield from traced_seeds(call, [tensor.detach() for tensor in tensors])


def all_seeds(options):
    for call, tensors in layers():
        yield from traced_seeds(call, tensors)
    for number, op in enumerate(op_db):
        for text in options.dtypes.split(","):
            if getattr(torch, text) in op.supported_dtypes("cpu"):
                yield from seeds_of(op, getattr(torch, text), number, options.samples)


def collect(options):
    """Calls of each operator, unlike in the kinds of their arguments."""
    seeds = collections.defaultdict(dict)
    for seed in all_seeds(options):
        name = seed.schema.name.removeprefix("aten::")
        tensors = [leaf for leaf in pytree.tree_leaves(seed.values) if isinstance(leaf, torch.Tensor)]
        if LEFT_OUT.match(name) or not re.search(options.pattern, name):
            continue
        if any(tensor.layout != torch.strided for tensor in tensors):
            continue
        declared = tuple(annotation(a, seed.values[a.name]) for a in seed.schema.arguments)
        kinds = tuple((name, kind_of(value)) for name, value in seed.values.items())
        seeds[name, seed.schema.overload_name, declared].setdefault(kinds, seed)
    return seeds


def kind_of(value):
    if isinstance(value, torch.Tensor):
        return f"Tensor{value.dim()}"
    if isinstance(value, list):
        return f"list{len(value)}"
    return value if isinstance(value, (bool, str)) else type(value).__name__


def annotation(argument, value):
    """How the program declares an argument; None where it is written into it."""
    if argument.name in WRITTEN:
        return None
    text = str(argument.type)
    numbers = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, (bool, int, float, complex))]
    return text.replace("number", type(numbers[0]).__name__ if numbers else "float")


def program(name, seed):
    """A module that calls the operator with what it is given."""
    declared, given = [], []
    for argument in seed.schema.arguments:
        value = seed.values[argument.name]
        text = annotation(argument, value)
        if text:
            place = f"x{len(declared)}"
            declared.append(f"{place}: {text}")
        else:
            place = f'torch.device("{value}")' if isinstance(value, torch.device) else repr(value)
        given.append(f"{argument.name}={place}" if argument.kwarg_only else place)
    # A class of its own: what is scripted of one is shared.
    module = torch.jit.script(type("Call", (torch.nn.Module,), {})())
    called = "torch.ops." + (name if "::" in name else f"aten::{name}").replace("::", ".")
    module.define(f"def forward(self, {', '.join(declared)}):\n    return {called}({', '.join(given)})\n")
    return module


def numbers(sizes, dtype, dice):
    """Random numbers of any dtype: small ones, for they may be indices."""
    generator = torch.Generator().manual_seed(dice.randrange(1 << 30))
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(sizes, generator=generator, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 4, sizes, generator=generator).to(dtype)


def with_number(tensor, dice):
    """The same tensor but for one number."""
    tensor = tensor.clone(memory_format=torch.contiguous_format)
    if tensor.is_floating_point() or tensor.is_complex():
        choices = FLOATS
    else:
        choices = {torch.bool: [True], torch.uint8: [0, 255]}.get(tensor.dtype, [-1, 5, 100])
    tensor.view(-1)[dice.randrange(tensor.numel())] = dice.choice(choices)
    return tensor


def changed_tensor(tensor, dice):
    """Another dtype, other sizes, another place in memory or other numbers."""
    sizes = list(tensor.shape)
    way = dice.choice("dtype dtype none one longer fewer more scalar empty turned expanded number negative part".split())
    if way == "dtype":
        return tensor.to(dice.choice(DTYPES))
    if way == "negative" and tensor.dtype != torch.bool:
        return -tensor
    if way == "number" and tensor.numel():
        return with_number(tensor, dice)
    if way == "more":
        sizes.insert(dice.randrange(len(sizes) + 1), dice.choice([0, 1, 1, 2, 3]))
        return numbers(sizes, tensor.dtype, dice)
    if way in ("scalar", "empty"):
        return numbers([] if way == "scalar" else [0], tensor.dtype, dice)
    if not sizes:
        return tensor
    at = dice.randrange(len(sizes))
    if way == "turned":
        return tensor.permute(dice.sample(range(len(sizes)), len(sizes)))
    if way == "expanded" and sizes[at]:
        return tensor.narrow(at, 0, 1).expand(sizes)
    if way == "part" and sizes[at]:
        return tensor.select(at, 0)
    if way == "none":
        sizes[at] = 0
    elif way == "one":
        sizes[at] = 1
    elif way == "longer":
        sizes[at] = max(sizes[at] + dice.choice([1, -1, 2]), 0)
    elif way == "fewer":
        del sizes[at]
    else:
        return tensor
    return numbers(sizes, tensor.dtype, dice)


def changed_list(value, element, dice):
    """A list that is shorter, longer or empty, or has another element."""
    way = dice.randrange(6)
    if way < 3 or not value:
        return [value[1:], value + value[-1:], []][way % 3]
    at = dice.randrange(len(value))
    return value[:at] + [changed(value[at], element, dice)] + value[at + 1 :]


def changed(value, text, dice):
    """Another value of the type that `text` names."""
    option = re.fullmatch(r"Optional\[(.*)\]", text)
    if option:
        text = option[1]
        if value is None and text == "Tensor":
            value = numbers(dice.choice([[], [1], [3], [2, 3]]), dice.choice([torch.float32, torch.int64, torch.bool]), dice)
        elif value is None:
            value = SET.get(text)
        if value is None or dice.random() < 0.25:
            return None
    if isinstance(value, torch.Tensor):
        return changed_tensor(value, dice)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = [value + 1, value - 1, -value, 2 * value]
        return dice.choice(INTS if abs(value) >= 2**60 else [*near, *INTS])
    if isinstance(value, float):
        return dice.choice([-value, 2 * value, *FLOATS])
    if isinstance(value, complex):
        return complex(dice.choice(FLOATS), dice.choice(FLOATS))
    if isinstance(value, str):
        return dice.choice(WORDS)
    return changed_list(value, re.sub(r"List\[(.*)\]", r"\1", text), dice)


def changed_arguments(variants, dice, as_they_are):
    """The arguments of one of some calls, up to three of them changed."""
    seed = dice.choice(variants)
    declared = {argument.name: annotation(argument, seed.values[argument.name]) for argument in seed.schema.arguments}
    declared = {name: text for name, text in declared.items() if text}
    values = {name: fresh(seed.values[name]) for name in declared}
    for _ in range(0 if as_they_are or not declared else dice.choice([0, 1, 1, 1, 1, 2, 2, 3])):
        name = dice.choice(list(declared))
        is_code = name in CODES and declared[name] in ("int", "Optional[int]")
        values[name] = dice.choice(CODES[name]) if is_code else changed(values[name], declared[name], dice)
    return list(values.values())


def outcome(loaded, arguments):
    """What PyTorch gives or raises."""
    given = fresh(arguments)
    torch.manual_seed(0)
    try:
        return {"result": plain(loaded(*given))}
    except Exception as error:  # noqa: BLE001
        # Without the Python that led there.
        return {"error": str(error).split("\n\nAt:\n")[0]}


def same(a, b):
    """Whether two results are the same bits."""
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        return type(a) is type(b)
    bits = lambda tensor: (tensor.int_repr() if tensor.is_quantized else tensor).flatten().contiguous().view(torch.uint8)
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(bits(a), bits(b))


def stands(loaded, arguments, found, name):
    """Whether PyTorch gives the same again, and near what it gives in double precision."""
    if "attention" in name and any(isinstance(value, float) and math.isnan(value) for value in arguments):
        # What comes of a scale that is NaN hangs on how many keys the processor takes at once.
        return False
    if "error" in found:
        return not NO_ANSWER.search(found["error"])
    if name in UNINITIALIZED:
        return True
    # Where memory is read that nobody wrote, other numbers are there now.
    junk = [torch.full((size,), 1.25e3) for size in (1, 4, 16, 64, 256, 1024)]
    del junk
    again = outcome(loaded, arguments)
    pairs = [pytree.tree_leaves(answer.get("result")) for answer in (found, again)]
    return len(pairs[0]) == len(pairs[1]) and all(map(same, *pairs)) and not rounds(found["result"], loaded, fresh(arguments))


def checked_call(name, loaded, arguments):
    """What is recorded of a call; nothing where PyTorch does not stand by it."""
    found = outcome(loaded, arguments)
    if not stands(loaded, arguments, found, name):
        return None
    compared = "outcome shapes" if name in UNINITIALIZED else "outcome"
    return {"arguments": fresh(arguments), "seed": 0, "compare": compared, **found}


def work(name, variants, folder, start, options):
    """Makes the program where it is not there yet, and calls from `start` on."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_grad_enabled(False)
    path = folder / "model.pt"
    if start == 0:
        torch.jit.save(program(name, variants[0]), str(path))
    loaded = torch.jit.load(str(path))
    for index in range(start, options.calls):
        (folder / "at").write_text(str(index))
        dice = random.Random(f"{options.seed} {folder.name} {index}")
        signal.alarm(SECONDS)
        try:
            call = checked_call(name, loaded, changed_arguments(variants, dice, as_they_are=index == 0))
        except Exception:  # noqa: BLE001
            # Arguments that cannot be copied, or results.
            call = None
        if call:
            torch.save(call, str(folder / f"{index:04}.call"))
        signal.alarm(0)


def record(name, variants, folder, options):
    """The calls of one program, made by processes that may end before the last; how many there are."""
    folder.mkdir(parents=True)
    place, start = folder / "at", 0
    while start < options.calls:
        child = os.fork()
        if child == 0:
            try:
                work(name, variants, folder, start, options)
                os._exit(0)
            except BaseException as error:  # noqa: BLE001
                print(f"left out  {folder.name}: {(str(error).splitlines() or ['?'])[0]}", flush=True)
                os._exit(3)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) or not place.exists():
            break
        start = int(place.read_text()) + 1
    made = sorted(folder.glob("*.call"))
    calls = [torch.load(path) for path in made if path.stat().st_size]
    for path in [*made, place]:
        path.unlink(missing_ok=True)
    if calls:
        torch.save(calls, str(folder / "calls.pt"))
    else:
        shutil.rmtree(folder)
    return len(calls)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pattern", default="")
    parser.add_argument("--dtypes", default="float32,int64,complex64,bool")
    parser.add_argument("--calls", type=int, default=40, help="so many of each program")
    parser.add_argument("--samples", type=int, default=12, help="of each operator and dtype, to begin with")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th program")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    seeds = collect(options)
    total, indices = 0, collections.Counter()
    for number, ((name, overload, _), variants) in enumerate(sorted(seeds.items(), key=lambda item: str(item[0]))):
        base = f"{name.replace('::', '_')}.{overload or 'default'}"
        folder = options.out / f"{base}.{indices[base]:03}"
        indices[base] += 1
        if number % options.every == 0:
            shutil.rmtree(folder, ignore_errors=True)
            total += record(name, list(variants.values()), folder, options)
    print(f"{total} calls of {len(seeds)} programs recorded")


if __name__ == "__main__":
    main()
