#!/usr/bin/env python3
"""The built-in bodies of torch.functional and torch.nn beside PyTorch's own, under PyTorch.

    built_in.py [--only REGEX] [--verbose]

`crates/sconce-script/builtins` holds bodies of torch.functional, torch.nn.functional and layers of torch.nn
that stand in where PyTorch's sources are not there. For every sample that PyTorch's databases have of a function
(`op_db`) or layer (`module_db`), and for every wrong one (`error_inputs`), this scripts ours with
torch.jit.script and says whether it computes what PyTorch's computes, or fails with the same words.
"""
import argparse
import collections
import contextlib
import importlib
import inspect
import linecache
import os
import pathlib
import re
import sys
import types
import warnings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1] / "crates" / "sconce-script" / "builtins" / "torch"
# The name under which ours are imported; torch itself is PyTorch's.
PACKAGE = "built_in_torch"
MOST_SAMPLES = 40
NEITHER = "TorchScript compiles neither"

sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != str(HERE)]

sys.path.insert(0, str(HERE.parent))
import run as environment  # noqa: E402

environment.in_environment_with_torch()

import torch  # noqa: E402
import torch.nn.functional  # noqa: E402

Outcome = collections.namedtuple("Outcome", "kind value")


def ours(name):
    """The module `torch.NAME` of ours."""
    # What only the interpreter can do, such as reading a state dict, has a module that Python lacks; no case calls it.
    sys.modules.setdefault("sconce", types.ModuleType("sconce"))
    for package, folder in ((PACKAGE, ROOT), (f"{PACKAGE}.nn", ROOT / "nn"), (f"{PACKAGE}.nn.modules", ROOT / "nn" / "modules")):
        if package not in sys.modules:
            module = types.ModuleType(package)
            module.__path__ = [str(folder)]
            sys.modules[package] = module
    return importlib.import_module(f"{PACKAGE}.{name}")


def outcome(call):
    """What a call gives, with gradients: without, PyTorch's transformers take a fused path, which gives
    other values where padding is."""
    torch.manual_seed(0)
    try:
        return Outcome("result", call())
    except Exception as error:  # whatever it is, it is the answer
        lines = [line for line in str(error).strip().splitlines() if line.strip()]
        # PyTorch puts the class of an exception that a program raises before its words.
        return Outcome("error", re.sub(r"^([\w.]+Error: )+", "", lines[-1] if lines else ""))


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(element) for element in value) if type(value) in (list, tuple) else value
    return value


def same(one, other):
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def shown(value):
    text = f"{value.dtype} {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)
    return text.replace("\n", " ")[:160]


# What is Python in `torch` though an operator has the name.
PYTHON = {"stft", "istft", "cdist", "norm", "tensordot", "unique", "unique_consecutive"}


def namespaces(name):
    """Ours and PyTorch's module of a function."""
    return (ours("functional"), torch) if name in PYTHON else (ours("nn.functional"), torch.nn.functional)


# --- functions ---------------------------------------------------------------------------------


class Formals:
    """The parameters of a generated function: tensors are handed in, all else is written out."""

    def __init__(self):
        self.names, self.values = [], []

    def text(self, value):
        if isinstance(value, torch.Tensor):
            self.names.append(f"i{len(self.names)}")
            self.values.append(value)
            return self.names[-1]
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return "[" + ", ".join(map(self.text, value)) + "]"
        if isinstance(value, torch.Size):
            return repr(list(value))
        if isinstance(value, float) and abs(value) == float("inf"):
            return f'float("{value}")'
        return repr(value)


def scripted_call(functional, name, arguments, keywords):
    """A function that calls one of `functional` with these arguments, and what to call it with."""
    formals = Formals()
    parts = [formals.text(value) for value in arguments]
    parts += [f"{key}={formals.text(value)}" for key, value in keywords.items()]
    source = f"def call({', '.join(formals.names)}):\n    return F.{name}({', '.join(parts)})\n"
    file = f"<call of {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"F": functional, "torch": torch, "__name__": "calls"}
    exec(compile(source, file, "exec"), space)
    return space["call"], formals.values


def functions():
    """(name, arguments, keywords) of PyTorch's samples, and of its wrong samples."""
    from torch.testing._internal.common_methods_invocations import op_db

    wanted = {"native_layer_norm"}
    for info in op_db:
        name = info.name.removeprefix("nn.functional.")
        if not info.name.startswith("nn.functional.") and info.name not in {"softmax", "log_softmax", *PYTHON}:
            continue
        if not hasattr(namespaces(name)[0], name) or name in wanted:
            continue
        dtype = torch.float32 if torch.float32 in info.supported_dtypes("cpu") else torch.int64
        torch.manual_seed(0)
        with contextlib.suppress(Exception):
            for sample in list(info.sample_inputs("cpu", dtype))[:MOST_SAMPLES]:
                yield name, (sample.input, *sample.args), sample.kwargs
        if info.error_inputs_func is not None:
            with contextlib.suppress(Exception):
                for wrong in list(info.error_inputs("cpu"))[:MOST_SAMPLES]:
                    sample = wrong.sample_input
                    yield name, (sample.input, *sample.args), sample.kwargs
    yield from scripted_functions()
    yield from more_functions()


def scripted_functions():
    """PyTorch's own script tests."""
    import torch.testing._internal.jit_metaprogramming_utils as tables

    torch.manual_seed(0)
    for name, size, arguments, *_ in tables.get_nn_functional_tests():
        if hasattr(ours("nn.functional"), name):
            value = tables.create_input((size,))[0][0]
            yield name, (value, *tables.create_input(arguments)[0]), {}


def more_functions():
    """What the databases have no samples of."""
    x = torch.randn(2, 3, 8, 8)
    target = torch.rand(2, 3, 8, 8)
    weight = torch.rand(2, 3, 8, 8)
    for loss in ("l1_loss", "mse_loss", "huber_loss"):
        for reduction in ("mean", "sum", "none", "wrong"):
            yield loss, (x, target), {"reduction": reduction}
            yield loss, (x, target), {"reduction": reduction, "weight": weight}
    for loss in ("l1_loss", "mse_loss", "smooth_l1_loss", "soft_margin_loss", "kl_div", "binary_cross_entropy_with_logits"):
        for averaged, reduced in ((True, True), (False, True), (None, False), (False, None)):
            yield loss, (x, target), {"size_average": averaged, "reduce": reduced}
    for name in ("relu", "relu6", "hardtanh", "hardswish", "hardsigmoid", "elu", "selu", "celu", "leaky_relu", "silu", "mish"):
        yield name, (x,), {"inplace": True}
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        for shape in ((2, 3), (2, 3, 4), (2, 3, 4, 4), (2, 3, 4, 4, 4)):
            for p in (0.3, 1.5):
                yield name, (torch.randn(shape),), {"p": p, "training": True}
    for name in ("softmax", "softmin", "log_softmax"):
        for shape in ((4,), (2, 4), (2, 3, 4), (2, 3, 4, 4)):
            yield name, (torch.randn(shape),), {}
            yield name, (torch.randn(shape),), {"dim": 0, "dtype": torch.float64}
    for hard in (False, True):
        yield "gumbel_softmax", (torch.randn(3, 4),), {"tau": 0.5, "hard": hard}
    for mode in ("nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic", "trilinear", "lanczos", "none"):
        for shape in ((1, 2, 6), (1, 2, 6, 5), (1, 2, 6, 5, 4), (3, 4)):
            image = torch.randn(shape)
            yield "interpolate", (image,), {"scale_factor": 1.7, "mode": mode}
            yield "interpolate", (image,), {"scale_factor": 2.0, "mode": mode, "recompute_scale_factor": True}
            yield "interpolate", (image,), {"size": 3, "mode": mode}
            yield "interpolate", (image,), {"size": [3] * (image.dim() - 2), "mode": mode, "align_corners": True}
            yield "interpolate", (image,), {"size": 3, "mode": mode, "antialias": True}
            yield "interpolate", (image,), {"size": [3, 3, 3, 3], "mode": mode}
            yield "interpolate", (image,), {"mode": mode}
    for name in ("upsample", "upsample_nearest", "upsample_bilinear"):
        yield name, (x,), {"scale_factor": 2.0}
        yield name, (x,), {"size": 5}
        yield name, (x,), {"size": [4, 5]}
    for dims in (1, 2, 3):
        image = torch.randn(2, 3, *[8] * dims)
        maximum = getattr(torch.nn.functional, f"max_pool{dims}d")
        kept, places = maximum(image, 2, return_indices=True)
        yield f"max_pool{dims}d", (image, 2), {"return_indices": True}
        yield f"max_pool{dims}d", (image, 3, 2, 1, 1, True), {}
        yield f"max_pool{dims}d_with_indices", (image, 3, 2, 1), {}
        yield f"max_unpool{dims}d", (kept, places, 2), {}
        yield f"max_unpool{dims}d", (kept, places, 2, 2, 0, [8] * dims), {}
        yield f"max_unpool{dims}d", (kept, places, 2, 2, 0, [2, 3, *[9] * dims]), {}
        yield f"max_unpool{dims}d", (kept, places, 2, 2, 0, [20] * dims), {}
        yield f"max_unpool{dims}d", (kept, places, 2, 2, 0, [8] * (dims + 1)), {}
        yield f"adaptive_max_pool{dims}d", (image, 3), {}
        yield f"adaptive_max_pool{dims}d", (image, 3, True), {}
        yield f"adaptive_avg_pool{dims}d", (image, [3] * dims), {}
        for power in (2.0, 3.0, float("inf"), -float("inf"), 0.0):
            yield f"lp_pool{dims}d", (image.abs(), power, 2), {}
            yield f"lp_pool{dims}d", (image.abs(), power, 3, 2, True), {}
        yield f"dropout{dims}d", (image, 0.4), {}
        yield "local_response_norm", (image, 3), {"k": 2.0}
        yield "local_response_norm", (image, 2), {}
    for dims in (2, 3):
        image = torch.randn(2, 3, *[9] * dims)
        samples = torch.rand(2, 3, dims)
        for indices in (False, True):
            yield f"fractional_max_pool{dims}d", (image, 2), {"output_size": 4, "return_indices": indices, "_random_samples": samples}
            yield f"fractional_max_pool{dims}d", (image, 2), {"output_ratio": [0.5] * dims, "return_indices": indices}
        yield f"fractional_max_pool{dims}d", (image, 2), {}
        theta = torch.randn(2, dims, dims + 1)
        for align in (True, False, None):
            yield "affine_grid", (theta, [2, 3, *[4] * dims]), {"align_corners": align}
            yield "affine_grid", (theta, [2, 3, *[1] * dims]), {"align_corners": align}
        yield "affine_grid", (theta, [2, 3, 4]), {}
        yield "affine_grid", (theta[:, :1], [2, 3, *[4] * dims]), {}
        grid = torch.rand(2, *[4] * dims, dims) * 2 - 1
        for mode in ("bilinear", "nearest", "bicubic", "wrong"):
            for padding in ("zeros", "border", "reflection", "wrong"):
                yield "grid_sample", (image, grid), {"mode": mode, "padding_mode": padding, "align_corners": False}
    yield "grid_sample", (x, torch.rand(2, 4, 4, 2)), {}
    table = torch.randn(10, 4)
    tokens = torch.tensor([[1, 2, 4], [3, 0, 9]])
    for padding in (None, 0, -1, 10, -11):
        yield "embedding", (tokens, table), {"padding_idx": padding}
    yield "embedding", (tokens, table.clone()), {"max_norm": 0.5}
    for mode in ("sum", "mean", "max", "wrong"):
        yield "embedding_bag", (tokens, table), {"mode": mode}
        yield "embedding_bag", (tokens.view(-1), table), {"mode": mode, "offsets": torch.tensor([0, 2])}
        yield "embedding_bag", (tokens, table), {"mode": mode, "per_sample_weights": torch.rand(2, 3)}
        yield "embedding_bag", (tokens.view(-1), table), {"mode": mode}
    yield "embedding_bag", (tokens, table), {"offsets": torch.tensor([0])}
    variance = torch.rand(2, 3) + 0.1
    for full in (False, True):
        for reduction in ("mean", "sum", "none", "wrong"):
            options = {"full": full, "reduction": reduction}
            yield "gaussian_nll_loss", (torch.randn(2, 3), torch.randn(2, 3), variance), options
            yield "gaussian_nll_loss", (torch.randn(2, 3), torch.randn(2, 3), variance[:, :1]), options
            yield "gaussian_nll_loss", (torch.randn(2, 3), torch.randn(2, 3), variance[:, 0]), options
            yield "gaussian_nll_loss", (torch.randn(2, 3), torch.randn(2, 3), 0.5), options
            yield "gaussian_nll_loss", (torch.randn(2, 3), torch.randn(2, 3), -variance), options
            yield "gaussian_nll_loss", (torch.randn(2, 3), torch.randn(2, 3), variance.view(3, 2)), options
    yield "binary_cross_entropy", (torch.rand(2, 3), torch.rand(2, 3), torch.rand(3)), {}
    yield "binary_cross_entropy", (torch.rand(2, 3), torch.rand(2, 1)), {}
    yield "normalize", (torch.randn(3, 4),), {"p": 1.0, "dim": 0}
    for shape in ((4, 3), (4, 3, 5), (1, 3), (2, 4, 1), (5,)):
        image = torch.randn(shape)
        yield "group_norm", (image, 1), {}
        yield "instance_norm", (image,), {}
        yield "batch_norm", (image, None, None), {"training": True}
        yield "batch_norm", (image, torch.zeros(3), torch.ones(3)), {"eps": -1.0}
    yield from attention_calls()
    yield from python_calls()


def python_calls():
    """Calls of what is Python in `torch`."""
    x = torch.arange(24.0).reshape(2, 3, 4)
    for p in ("fro", "nuc", "abc", None, 1, 2.5, float("inf")):
        for dim in (None, 1, [0], [0, 2], [0, 1, 2]):
            yield "norm", (x, p, dim), {"keepdim": True}
    yield "norm", (x[0], "nuc"), {"dtype": torch.float64}
    for dims in (1, 3, -1, 5, ([0, 1], [0, 1]), [[2], [2]], torch.tensor(3), torch.tensor(-1), torch.tensor([[0, 2], [0, 2]])):
        yield "tensordot", (x, x, dims), {}
    yield "tensordot", (x, x.permute(2, 1, 0)), {}
    for mode in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "no"):
        yield "cdist", (x, x + 1), {"compute_mode": mode}
    for inverse in (False, True):
        for counts in (False, True):
            for dim in (None, 1):
                options = {"return_inverse": inverse, "return_counts": counts, "dim": dim}
                yield "unique", (x // 5,), options
                yield "unique_consecutive", (x // 5,), options
    yield "unique_consecutive", (x // 5, True), {}
    for window in (None, torch.ones(8)):
        for center in (False, True):
            for align in (None, True):
                options = {"center": center, "return_complex": True, "align_to_window": align}
                yield "stft", (x.flatten(), 8, 2, 8, window), options
                yield "stft", (x.reshape(2, 12), 8, None, None, window), {**options, "onesided": False}
    yield "stft", (x.flatten(), 8), {"return_complex": True, "pad_mode": "constant"}


def attention_calls():
    """Calls of multi_head_attention_forward, by name as PyTorch's layer makes them."""
    width, heads = 8, 2
    biases = {"bias_k": torch.randn(1, 1, width), "bias_v": torch.randn(1, 1, width)}
    separate = {
        "in_proj_weight": None,
        "use_separate_proj_weight": True,
        "q_proj_weight": torch.randn(width, width),
        "k_proj_weight": torch.randn(width, width),
        "v_proj_weight": torch.randn(width, width),
    }
    bools = torch.zeros(5, 5, dtype=torch.bool).triu_(1) | torch.ones(5, 5, dtype=torch.bool).triu(1)
    for batch in (None, 3):
        shape = (5, width) if batch is None else (5, batch, width)
        padded = torch.zeros(shape[1:-1] + (5,), dtype=torch.bool)
        padded[..., -1] = True
        for changes in (
            {},
            {"training": False},
            {"need_weights": False},
            {"average_attn_weights": False},
            {"attn_mask": bools},
            {"attn_mask": torch.randn(5, 5), "need_weights": False},
            {"attn_mask": torch.randn((batch or 1) * heads, 5, 5)},
            {"attn_mask": torch.randn((batch or 1) * heads, 5, 5), "need_weights": False},
            {"attn_mask": bools, "is_causal": True, "need_weights": False},
            {"attn_mask": bools, "is_causal": True},
            {"is_causal": True},
            {"key_padding_mask": padded},
            {"key_padding_mask": padded, "attn_mask": torch.randn(5, 5)},
            {"key_padding_mask": padded, "attn_mask": bools, "need_weights": False},
            {"add_zero_attn": True, "key_padding_mask": padded, "attn_mask": bools},
            {"dropout_p": 0.5},
            {"in_proj_bias": None, "out_proj_bias": None},
            biases,
            {**biases, "attn_mask": bools, "key_padding_mask": padded},
            separate,
            {**separate, "in_proj_bias": None},
            {"embed_dim_to_check": 9},
            {"num_heads": 3},
            {"attn_mask": torch.randn(4, 5)},
            {"attn_mask": torch.randn(7, 5, 5)},
            {"bias_k": torch.randn(1, 1, width)},
            {"key_padding_mask": torch.zeros(5, 5, 5)},
            {"attn_mask": torch.zeros(5, 5, dtype=torch.int64)},
            {"value": torch.randn(4, *shape[1:])},
            {"key": torch.randn(2, 2, 2, 2)},
        ):
            given = {
                "query": torch.randn(shape),
                "key": torch.randn(shape),
                "value": torch.randn(shape),
                "embed_dim_to_check": width,
                "num_heads": heads,
                "in_proj_weight": torch.randn(3 * width, width),
                "in_proj_bias": torch.randn(3 * width),
                "bias_k": None,
                "bias_v": None,
                "add_zero_attn": False,
                "dropout_p": 0.0,
                "out_proj_weight": torch.randn(width, width),
                "out_proj_bias": torch.randn(width),
            }
            yield "multi_head_attention_forward", (), {**given, **changes}


def check_function(name, arguments, keywords):
    """None where ours and PyTorch's agree, else what differs."""
    def theirs():
        given = {key: copied(value) for key, value in keywords.items()}
        return getattr(namespaces(name)[1], name)(*copied(tuple(arguments)), **given)

    def scripted(functional):
        call, tensors = scripted_call(functional, name, arguments, keywords)
        return scripted_outcome(lambda: torch.jit.script(call), tensors)

    mine, pytorch = namespaces(name)
    found = scripted(mine)
    different = compared(found, outcome(theirs))
    # TorchScript's own ways, of PyTorch's as of ours: types that are not converted, other words.
    return different and of_scripts(compared(found, scripted(pytorch)), different)


def of_scripts(different, from_eager):
    """What differs, where what ours gives beside PyTorch's scripted one differs so."""
    return different if different in (None, NEITHER) else from_eager


def scripted_outcome(script, arguments):
    try:
        program = script()
    except Exception as error:
        return Outcome("does not compile", " / ".join(str(error).strip().splitlines()))
    return outcome(lambda: program(*copied(tuple(arguments))))


def compared(found, wanted):
    if found.kind != wanted.kind:
        return f"{found.kind} {shown(found.value)}, not the {wanted.kind} {shown(wanted.value)}"
    if found.kind == "does not compile":
        return NEITHER
    if found.kind == "error":
        return None if alike(found.value, wanted.value) else f"says {found.value[:300]!r}, not {wanted.value[:300]!r}"
    return None if same(found.value, wanted.value) else f"{shown(found.value)}, not {shown(wanted.value)}"


def alike(found, wanted):
    """Whether two messages say the same; sizes and dtypes are shown otherwise by TorchScript."""
    def words(text):
        text = re.sub(r"(\d)\.0?(?!\d)", r"\1", text)
        text = re.sub(r"torch\.Size\((\[.*?\])\)", r"\1", text).replace("(", "[").replace(")", "]").replace(",]", "]")
        return re.sub(r"torch\.\w+", "0", re.sub(r"got \d+\b", "got 0", text))

    return words(found) == words(wanted)


# --- layers ------------------------------------------------------------------------------------


def our_layers():
    """Name and class of every layer of ours."""
    for path in sorted((ROOT / "nn" / "modules").glob("*.py")):
        if path.stem == "__init__":
            continue
        module = ours(f"nn.modules.{path.stem}")
        for name, item in vars(module).items():
            if inspect.isclass(item) and item.__module__ == module.__name__ and not name.startswith("_") and "Base" not in name:
                yield name, item


def layers():
    """(class name, constructor input, forward input) of PyTorch's samples."""
    from torch.testing._internal.common_modules import module_db

    found = dict(our_layers())
    for info in module_db:
        name = info.module_cls.__name__
        if name not in found or getattr(torch.nn, name, None) is not info.module_cls:
            continue
        for training in (False, True):
            torch.manual_seed(0)
            with contextlib.suppress(Exception):
                for sample in info.module_inputs_func(info, "cpu", torch.float32, False, training=training):
                    if sample.forward_input is not None:
                        yield name, sample.constructor_input, sample.forward_input, training
    yield from more_layers()


def more_layers():
    """Layers of which the database has no samples."""
    Input = collections.namedtuple("Input", "args kwargs")
    x4, x5, x3 = torch.randn(2, 4, 6, 6), torch.randn(2, 4, 6, 6, 6), torch.randn(2, 4, 8)
    pooled = {dims: getattr(torch.nn.functional, f"max_pool{dims}d")(x, 2, return_indices=True) for dims, x in ((1, x3), (2, x4), (3, x5))}
    causal = torch.ones(2, 2, dtype=torch.bool).triu(1)
    padded = torch.tensor([[False, False]] * 3 + [[False, True]])
    encoder = ("TransformerEncoderLayer", (8, 2, 16, 0.0))
    decoder = ("TransformerDecoderLayer", (8, 2, 16, 0.0))
    table = [
        ("Dropout", (0.3,), (x3,)), ("Dropout1d", (0.3,), (x3,)), ("Dropout2d", (0.3,), (x4,)), ("Dropout3d", (0.3,), (x5,)),
        ("AlphaDropout", (0.3,), (x3,)), ("FeatureAlphaDropout", (0.3,), (x3,)), ("Identity", (), (x3,)),
        ("Flatten", (), (x4,)), ("Flatten", (0, 2), (x4,)), ("Unflatten", (1, (2, 2)), (x4,)),
        ("PixelShuffle", (2,), (x4,)), ("PixelUnshuffle", (2,), (x4,)), ("ChannelShuffle", (2,), (x4,)),
        ("Fold", ((4, 4), 2), (torch.randn(2, 8, 9),)), ("Unfold", (2,), (x4,)), ("Unfold", ((2, 3), 1, 1, 2), (x4,)),
        ("Upsample", (None, 2), (x4,)), ("Upsample", (5,), (x4,)), ("Upsample", ((5, 4), None, "bilinear", True), (x4,)),
        ("Upsample", (None, (2.0, 1.5), "bicubic"), (x4,)), ("UpsamplingNearest2d", (None, 2), (x4,)),
        ("UpsamplingBilinear2d", (5,), (x4,)), ("CosineSimilarity", (), (x3, x3 + 1)), ("PairwiseDistance", (1.0,), (x3, x3 + 1)),
        ("RMSNorm", (8,), (x3,)), ("RMSNorm", ((4, 8), 1e-3), (x3,)), ("Softmax2d", (), (x4,)), ("PReLU", (4,), (x4,)),
        ("MaxUnpool1d", (2,), pooled[1]), ("MaxUnpool2d", (2,), pooled[2]), ("MaxUnpool3d", (2,), pooled[3]),
        ("RNN", (8, 3, 2), (x3,)), ("RNN", (8, 3, 1, "relu"), (x3,)), ("LSTM", (8, 3, 2), (x3,)),
        ("LSTM", (8, 3, 1, True, True, 0.0, True, 2), (x3,)), ("GRU", (8, 3, 2, False, True), (x3,)),
        ("GRU", (8, 3), (x3[0],)), ("LSTM", (8, 3), (x3[0], (torch.randn(1, 3), torch.randn(1, 3)))),
        ("LSTM", (8, 3), (x3, (torch.randn(1, 3), torch.randn(1, 3)))), ("LSTM", (8, 3), (x3, (torch.randn(2, 4, 3), torch.randn(1, 4, 3)))),
        ("RNN", (7, 3), (x3,)), ("GRU", (8, 3), (x3, torch.randn(1, 4, 3))), ("LSTM", (8, 3, 2, True, False, 0.5), (x3,)),
        ("Conv2d", (4, 2, 3, 1, "same"), (x4,)), ("Conv2d", (4, 2, 3, 1, 1, 1, 1, True, "circular"), (x4,)),
        ("Conv2d", (4, 2, 3, 1, "same", 2, 1, True, "reflect"), (x4,)), ("Conv1d", (4, 2, 3, 1, "valid"), (x3,)),
        ("ConvTranspose2d", (4, 2, 3, 2), (x4, [14, 14])), ("ConvTranspose2d", (4, 2, 3, 2), (x4, [20, 20])),
        ("BatchNorm2d", (4, 1e-5, None), (x4,)), ("BatchNorm2d", (4, 1e-5, 0.1, True, False), (x4,)), ("BatchNorm2d", (4,), (x3,)),
        ("InstanceNorm2d", (4, 1e-5, 0.1, True, True), (x4,)), ("InstanceNorm1d", (5, 1e-5, 0.1, True), (x3,)),
        ("MultiheadAttention", (8, 2), (x3, x3, x3)), ("MultiheadAttention", (8, 2, 0.0, True, True, True, None, None, True), (x3, x3, x3)),
        ("EmbeddingBag", (10, 3), (torch.tensor([[1, 2], [3, 4]]),)), ("Embedding", (10, 3, -1), (torch.tensor([1, 9]),)),
        ("FractionalMaxPool2d", (2, 3), (x4,)), ("FractionalMaxPool2d", (2, None, 0.5, True), (x4,)), ("FractionalMaxPool3d", (2, 3), (x5,)),
        ("TransformerEncoderLayer", (8, 2, 16, 0.0, "gelu", 1e-5, True, True), (x3,)),
        ("TransformerEncoderLayer", (8, 2, 16), (x3, causal, None, True)),
        ("TransformerDecoderLayer", (8, 2, 16, 0.0), (x3, x3 + 1, causal)),
        ("TransformerEncoder", (encoder, 2), (x3, causal)), ("TransformerEncoder", (encoder, 2), (x3, None, padded)),
        ("TransformerEncoder", (encoder, 1), (x3, None, padded.long())), ("TransformerDecoder", (decoder, 2), (x3, x3 + 1)),
        ("Transformer", (8, 2, 1, 2, 16, 0.0), (x3, x3 + 1)), ("Transformer", (8, 2, 1, 2, 16, 0.0), (x3, x3 + 1, causal, causal)),
        ("Transformer", (8, 2, 1, 1, 16), (x3, x3[:, :2])), ("Transformer", (6, 2, 1, 1, 16), (x3, x3)),
        ("RReLU", (), (x3,)), ("Hardsigmoid", (), (x3,)), ("TripletMarginLoss", (0.5,), (x3, x3 + 1, x3 * 2)),
        ("NLLLoss2d", (), (x4.log_softmax(1), torch.zeros(2, 6, 6, dtype=torch.int64))),
        ("CTCLoss", (), (torch.randn(6, 2, 5).log_softmax(2), torch.tensor([[1, 2], [3, 4]]), torch.tensor([6, 6]), torch.tensor([2, 2]))),
    ]
    for mode in ("Circular", "Reflection", "Replication", "Zero"):
        for dims, x in ((1, x3), (2, x4), (3, x5)):
            table.append((f"{mode}Pad{dims}d", (1,), (x,)))
    for dims, x in ((1, x3), (2, x4), (3, x5)):
        table.append((f"ConstantPad{dims}d", (tuple(range(1, 2 * dims + 1)), 2.5), (x,)))
        table.append((f"MaxPool{dims}d", (2, None, 0, 1, True), (x,)))
        table.append((f"AdaptiveMaxPool{dims}d", (3, True), (x,)))
    for name, made, called in table:
        for training in (False, True):
            yield name, Input(made, {}), Input(called, {}), training


def with_layers(arguments, classes):
    """A constructor's arguments, with a layer for each pair of its class's name and arguments."""
    def made(value):
        named = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
        return classes[value[0]](*value[1]) if named else value

    return [made(value) for value in arguments]


def check_layer(name, made, called, training, classes):
    torch.manual_seed(0)
    try:
        theirs = getattr(torch.nn, name)(*with_layers(made.args, vars(torch.nn)), **made.kwargs)
    except Exception:
        return None  # an example of what cannot be made
    torch.manual_seed(0)
    our = classes[name](*with_layers(made.args, classes), **made.kwargs)
    unlike = {key for key, value in our.state_dict().items() if value.shape != theirs.state_dict().get(key, torch.empty(0)).shape}
    if our.state_dict().keys() != theirs.state_dict().keys() or unlike:
        return f"the state has {list(our.state_dict())}, not {list(theirs.state_dict())}"
    our.load_state_dict(theirs.state_dict())
    theirs.train(training)
    our.train(training)
    arguments, keywords = copied(tuple(called.args)), {key: copied(value) for key, value in called.kwargs.items()}
    before = {key: value.clone() for key, value in theirs.state_dict().items()}
    wanted = outcome(lambda: theirs(*copied(arguments), **keywords))
    found = scripted_layer(our, arguments, keywords)
    different = compared(found, wanted)
    if different is None and found.kind == "result":
        return None if same(list(our.state_dict().values()), list(theirs.state_dict().values())) else "the state afterwards differs"
    theirs.load_state_dict(before)
    return different and of_scripts(compared(found, scripted_layer(theirs, arguments, keywords)), different)


def scripted_layer(layer, arguments, keywords):
    try:
        program = torch.jit.script(layer)
    except Exception as error:
        return Outcome("does not compile", " / ".join(str(error).strip().splitlines()))
    return outcome(lambda: program(*copied(arguments), **keywords))


# --- all of them -------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="every difference, not the first of each name")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    import edit

    for package in ("expecttest", "scipy"):
        edit.import_or_install(package)
    torch.set_num_threads(1)
    tally, said = collections.defaultdict(collections.Counter), []

    def check(kind, name, call):
        if not re.search(options.only, name):
            return
        try:
            different = call()
        except Exception as error:  # of the check itself: as bad
            different = f"{type(error).__name__}: {error}"
        if different == NEITHER:
            tally[kind, name][NEITHER] += 1
            return
        if different and (options.verbose or not tally[kind, name]["different"]):
            said.append(f"{kind} {name}: {different}".replace("\n", " "))
        tally[kind, name]["different" if different else "equal"] += 1

    for name, arguments, keywords in functions():
        check("function", name, lambda: check_function(name, arguments, keywords))
    classes = dict(our_layers())
    for name, made, called, training in layers():
        check("layer", name, lambda: check_layer(name, made, called, training, classes))
    untried = [name for name in classes if not tally["layer", name] and re.search(options.only, name)]
    for (kind, name), counts in sorted(tally.items()):
        if counts:
            print(f"{kind:9} {name:32} {counts['equal']:4} equal {counts['different']:4} different {counts[NEITHER]:4} compiled by neither")
    for kind in ("function", "layer"):
        counts = collections.Counter()
        for (of, _), more in tally.items():
            if of == kind:
                counts.update(more)
        print(f"{kind}s: {counts['equal']} equal, {counts['different']} different, {counts[NEITHER]} that TorchScript compiles neither of")
    if untried:
        print("not tried: " + ", ".join(untried))
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
