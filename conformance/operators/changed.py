"""Records calls of operators with arguments that somebody got wrong, or that are merely odd.

    python changed.py OUT [--pattern REGEX] [--dtypes float32,int64] [--calls N] [--every K] [--seed S]

The operators that the traced samples of PyTorch's operator database are made of, and their in-place
forms, are called with the samples' arguments, one or two of which are changed: another dtype, a dimension
more or less, of size nothing or one, transposed, expanded; numbers that are nothing, negative, enormous; lists
that are shorter or longer; options that are missing or set. Each operator and kinds of arguments become a
folder OUT/NAME.OVERLOAD.INDEX as `generate.py` makes them, of a scripted call that takes all arguments as
inputs, with N calls. What PyTorch raises is recorded, but its words are not compared. Calls that end the
process, or do not end, are left out.
"""

import argparse
import collections
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

from generate import UNINITIALIZED, call_of, own, plain

# What a call may take.
SECONDS = 4
BYTES = 12 << 30
# Calls that PyTorch gives no two equal answers to, or that are not about tensors.
LEFT_OUT = re.compile("^(_local_scalar_dense|to|set_|is_set_to|_.*cuda.*|_cslt.*|_sparse.*|_spdiags|to_sparse.*|_nested.*|sparse_.*|_jagged.*|_convert_weight.*)$")
# What an option is that is written into the program and never changed.
WRITTEN = {"Device", "Generator", "Optional[Device]", "Optional[Generator]", "Stream", "Optional[Layout]", "Layout"}

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64]
# What numbers with a meaning can be, and some that have none.
CODES = {"dtype": [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, -1, 64], "reduction": [0, 1, 2, 3, -1], "interpolation_mode": [0, 1, 2, 3, -1], "padding_mode": [0, 1, 2, 3, -1]}
INTS = [0, 1, -1, 2, -2, 3, 4, 5, 7, -100, 100, 2**31, -(2**31) - 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, -1.0, 1.0, 0.5, 2.0, -3.5, 1e-30, 1e30, float("nan"), float("inf"), float("-inf")]
WORDS = ["", "none", "mean", "sum", "constant", "reflect", "replicate", "circular", "floor", "trunc", "ij", "xy", "linear", "nearest", "ortho", "forward", "valid", "same", "left", "tanh", "bogus"]

Seed = collections.namedtuple("Seed", "schema values")


def nodes_of(traced, tensors):
    """The operators of a trace, each with its arguments."""
    graph = traced.inlined_graph
    values = dict(zip((value.debugName() for value in graph.inputs()), [traced, *tensors]))
    if len(list(graph.inputs())) == len(tensors):
        values = dict(zip((value.debugName() for value in graph.inputs()), tensors))
    for node in graph.nodes():
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
        elif kind.startswith("aten::"):
            schema = torch._C.parse_schema(node.schema())
            named = {a.name: g for a, g in zip(schema.arguments, given)}
            yield Seed(schema, {name: fresh(value) for name, value in named.items()})
            positional = [g for a, g in zip(schema.arguments, given) if not a.kwarg_only]
            named = {a.name: g for a, g in zip(schema.arguments, given) if a.kwarg_only}
            packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"))
            result = getattr(packet, schema.overload_name or "default")(*positional, **named)
            results = list(result) if len(outputs) > 1 else [result]
        else:
            return
        values.update(zip(outputs, results))


def fresh(value):
    if isinstance(value, torch.Tensor):
        return own(value)
    return [fresh(item) for item in value] if isinstance(value, list) else value


def kind_of(value):
    if isinstance(value, torch.Tensor):
        return f"Tensor{value.dim()}"
    if isinstance(value, list):
        return f"list{len(value)}"
    return value if isinstance(value, (bool, str)) else type(value).__name__


def collect(options):
    """Some unlike calls of each operator."""
    seeds = collections.defaultdict(dict)
    for number, op in enumerate(op_db):
        if number % options.every:
            continue
        for text in options.dtypes.split(","):
            dtype = getattr(torch, text)
            if dtype not in op.supported_dtypes("cpu"):
                continue
            torch.manual_seed(number)
            try:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            except Exception:  # noqa: BLE001
                continue
            for sample in samples[:: max(1, len(samples) // options.samples)]:
                for variant in (op, op.inplace_variant):
                    if variant is None or (variant is not op and text != "float32"):
                        continue
                    try:
                        call, tensors = call_of(variant, sample)
                        if sum(tensor.numel() for tensor in tensors) > 100_000:
                            continue
                        tensors = [tensor.detach() for tensor in tensors]
                        traced = torch.jit.trace(call, tuple(map(own, tensors)), check_trace=False)
                        for seed in nodes_of(traced, [own(tensor) for tensor in tensors]):
                            add(seeds, seed, options)
                    except Exception:  # noqa: BLE001
                        pass
    return seeds


def add(seeds, seed, options):
    name = seed.schema.name.removeprefix("aten::")
    if LEFT_OUT.match(name) or not re.search(options.pattern, name):
        return
    if any(isinstance(v, torch.Tensor) and v.layout != torch.strided for v in seed.values.values()):
        return
    key = (name, seed.schema.overload_name, tuple(annotation(a, seed.values[a.name]) for a in seed.schema.arguments))
    seeds[key].setdefault(tuple((n, kind_of(v)) for n, v in seed.values.items()), seed)


def annotation(argument, value):
    """How the program declares an argument; None where it is written into it."""
    text = str(argument.type)
    if text in WRITTEN or argument.name in ("layout", "memory_format", "device", "generator", "pin_memory", "non_blocking"):
        return None
    if "number" in text:
        number = type(value).__name__ if isinstance(value, (bool, int, float, complex)) else "float"
        if isinstance(value, list):
            number = type(value[0]).__name__ if value else "float"
        text = text.replace("number", number)
    return text


def literal(value):
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    return repr(value)


def program(name, seed):
    declared, given = [], []
    for argument in seed.schema.arguments:
        text = annotation(argument, seed.values[argument.name])
        if text is None:
            place = literal(seed.values[argument.name])
        else:
            place = f"x{len(declared)}"
            declared.append(f"{place}: {text}")
        given.append(f"{argument.name}={place}" if argument.kwarg_only else place)
    module = torch.jit.script(type("Call", (torch.nn.Module,), {})())
    module.define(f"def forward(self, {', '.join(declared)}):\n    return torch.ops.aten.{name}({', '.join(given)})\n")
    return module


def numbers(sizes, dtype, dice):
    """Random numbers of any dtype: small ones, for they may be indices."""
    generator = torch.Generator().manual_seed(dice.randrange(1 << 30))
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(sizes, generator=generator, dtype=torch.float32 if dtype.is_floating_point else dtype).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 4, sizes, generator=generator).to(dtype)


def changed_tensor(tensor, dice):
    sizes = list(tensor.shape)
    at = dice.randrange(len(sizes)) if sizes else None
    way = dice.randrange(14)
    if way <= 1:
        return tensor.to(dice.choice(DTYPES))
    if way == 2 and sizes:
        sizes[at] = 0
    elif way == 3 and sizes:
        sizes[at] = 1
    elif way == 4 and sizes:
        sizes[at] += dice.choice([1, -1, 2]) if sizes[at] else 1
    elif way == 5 and sizes:
        del sizes[at]
    elif way == 6:
        sizes.insert(dice.randrange(len(sizes) + 1), dice.choice([0, 1, 1, 2, 3]))
    elif way == 7:
        sizes = []
    elif way == 8:
        sizes = [0]
    elif way == 9 and len(sizes) > 1:
        order = list(range(len(sizes)))
        dice.shuffle(order)
        return tensor.permute(order)
    elif way == 10 and sizes:
        return tensor.narrow(at, 0, min(1, sizes[at])).expand(sizes if sizes[at] else tensor.shape)
    elif way == 11 and tensor.numel():
        tensor = tensor.clone(memory_format=torch.contiguous_format)
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.view(-1)[dice.randrange(tensor.numel())] = dice.choice(FLOATS)
        elif tensor.dtype != torch.bool:
            tensor.view(-1)[dice.randrange(tensor.numel())] = dice.choice([-1, 5, 100] if tensor.dtype != torch.uint8 else [0, 255])
        return tensor
    elif way == 12 and tensor.dtype != torch.bool:
        return -tensor
    elif way == 13 and sizes:
        return tensor.select(at, 0) if sizes[at] else tensor
    else:
        return tensor
    sizes = [max(size, 0) for size in sizes]
    return numbers(sizes, tensor.dtype, dice)


def changed(value, text, dice):
    """Another value of the type that `text` names."""
    if text.startswith("Optional["):
        if dice.random() < 0.25:
            return None
        text = text[len("Optional["):-1]
        if value is None:
            value = {"int": 1, "float": 0.5, "bool": True, "str": "mean"}.get(text)
            if text.startswith("List[int"):
                value = [1, 2]
            if text == "Tensor":
                value = numbers(dice.choice([[], [1], [3], [2, 3]]), dice.choice([torch.float32, torch.int64, torch.bool]), dice)
            if value is None:
                return None
    if isinstance(value, torch.Tensor):
        return changed_tensor(value, dice)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.choice([value + 1, value - 1, -value, 2 * value, *INTS]) if -(2**60) < value < 2**60 else 0
    if isinstance(value, float):
        return dice.choice([-value, 2 * value, *FLOATS])
    if isinstance(value, complex):
        return complex(dice.choice(FLOATS), dice.choice(FLOATS))
    if isinstance(value, str):
        return dice.choice(WORDS)
    if isinstance(value, list):
        value = list(value)
        way = dice.randrange(6)
        if way == 0:
            return value[1:]
        if way == 1:
            return value + value[-1:]
        if way == 2:
            return []
        if value:
            at = dice.randrange(len(value))
            inner = text[len("List["):-1] if text.startswith("List[") else text
            value[at] = changed(value[at], inner, dice)
        return value
    return value


def run(loaded, arguments, name):
    given = fresh(arguments)
    torch.manual_seed(0)
    recorded = {"arguments": fresh(arguments), "seed": 0, "compare": "outcome shapes" if name in UNINITIALIZED else "outcome"}
    try:
        recorded["result"] = plain(loaded(*given))
    except Exception as error:  # noqa: BLE001
        recorded["error"] = str(error)
    return recorded


def work(name, variants, folder, start, count, seed_number):
    """Makes the program where it is not there yet, and calls from `start` on."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    path = os.path.join(folder, "model.pt")
    if start == 0:
        torch.jit.save(program(name, variants[0]), path)
    loaded = torch.jit.load(path)
    for index in range(start, count):
        with open(os.path.join(folder, "at"), "w") as at:
            at.write(str(index))
        dice = random.Random(f"{seed_number} {os.path.basename(folder)} {index}")
        variant = dice.choice(variants)
        texts = [annotation(argument, variant.values[argument.name]) for argument in variant.schema.arguments]
        inputs = [argument.name for argument, text in zip(variant.schema.arguments, texts) if text]
        values = {name: fresh(variant.values[name]) for name in inputs}
        types = dict(zip(inputs, filter(None, texts)))
        for _ in range(dice.choice([0, 1, 1, 1, 1, 2, 2, 3]) if index else 0):
            if inputs:
                which = dice.choice(inputs)
                values[which] = dice.choice(CODES[which]) if which in CODES and types[which].endswith(("int", "int]")) else changed(values[which], types[which], dice)
        signal.alarm(SECONDS)
        recorded = run(loaded, [values[which] for which in inputs], name)
        signal.alarm(0)
        torch.save(recorded, os.path.join(folder, f"{index:04}.call"))


def record(name, variants, folder, options):
    os.makedirs(folder)
    start = 0
    while start < options.calls:
        child = os.fork()
        if child == 0:
            try:
                work(name, variants, folder, start, options.calls, options.seed)
                os._exit(0)
            except BaseException as error:  # noqa: BLE001
                print(f"left out {folder}: {error}".splitlines()[0])
                sys.stdout.flush()
                os._exit(3)
        _, status = os.waitpid(child, 0)
        if status == 0:
            break
        if os.WIFEXITED(status) or not os.path.exists(os.path.join(folder, "at")):
            break
        with open(os.path.join(folder, "at")) as at:
            start = int(at.read()) + 1
    made = sorted(entry for entry in os.listdir(folder) if entry.endswith(".call"))
    calls = []
    for entry in made:
        try:
            calls.append(torch.load(os.path.join(folder, entry)))
        except Exception:  # noqa: BLE001
            pass
        os.remove(os.path.join(folder, entry))
    if os.path.exists(os.path.join(folder, "at")):
        os.remove(os.path.join(folder, "at"))
    if not calls:
        shutil.rmtree(folder)
        return 0
    torch.save(calls, os.path.join(folder, "calls.pt"))
    return len(calls)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--pattern", default="")
    parser.add_argument("--dtypes", default="float32,int64,complex64,bool")
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--every", type=int, default=1, help="only every so many-th operator")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    seeds = collect(options)
    print(f"{len(seeds)} programs of {len({key[:2] for key in seeds})} operators", file=sys.stderr)
    total, indices = 0, collections.Counter()
    for (name, overload, _), variants in sorted(seeds.items(), key=lambda item: str(item[0])):
        base = f"{name}.{overload or 'default'}"
        folder = os.path.join(options.out, f"{base}.{indices[base]:03}")
        indices[base] += 1
        shutil.rmtree(folder, ignore_errors=True)
        total += record(name, list(variants.values()), folder, options)
    print(f"{total} calls recorded")


if __name__ == "__main__":
    main()
