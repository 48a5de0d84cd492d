"""Records calls of operators with every value of their string options, and with wrong ones.

    python options.py OUT [--pattern REGEX] [--every K]

Every operator of PyTorch's table that takes a string that chooses what it does (`reduce`, `mode`, `norm`,
`driver` …), and the functions of torch.nn.functional that turn such strings into numbers, become a folder
OUT/NAME.DTYPE.INDEX with `model.pt`, a scripted call that takes the string as an argument, and `calls.pt`: what
PyTorch gives for every documented value, for each in capitals, for none at all and for a wrong one. What it raises
counts as a result, its words too. Operators with strings that are in no line here, and are not in `NOT_OPTIONS`, are
an error, so that none is forgotten when PyTorch gets another.
"""

import argparse
import itertools
import os
import pathlib
import re
import shutil
import sys
import warnings

import torch

from generate import own, plain

# Strings that choose nothing: data, names and messages; and operators of other devices and of processes.
NOT_OPTIONS = re.compile(
    "_?c10d_functional.*|onnx_symbolic::.*|streams::.*|symm_mem::.*|profiler::.*|debug.*|export::.*|mkldnn.*|onednn::.*|prim::.*"
    "|aten::(Delete|Float|Int|__contains__|__getitem__|_.*assert.*|_linalg_check_errors|_print|_set_item|_test_.*|add"
    "|_mixed_dtypes_linear|_sparse.*|any|capitalize|center|count|device|endswith|eq|expandtabs|find|format|from_file|ge"
    "|get|get_autocast_dtype|gt|index|is\\w+|join|le|len|list|ljust|lower|lstrip|lt|ne|ord|partition|percentFormat|pop"
    "|remove|replace|rfind|rindex|rjust|rpartition|rsplit|rstrip|save|setdefault|slice|sort|sorted|split|splitlines"
    "|startswith|strip|swapcase|title|upper|warn|zfill)"
)
# What says nothing of the arguments.
NO_ANSWER = re.compile("INTERNAL ASSERT|please report")
FLOATS = [torch.float32, torch.float64]
ALL = [*FLOATS, torch.float16, torch.bfloat16, torch.int64, torch.complex64]


def numbers(*sizes, dtype=torch.float32):
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(sizes, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    return torch.randint(-5, 6, sizes).to(dtype)


def words(text, none=False):
    """The values of an option, in capitals too, a wrong one and an empty one; and none."""
    values = text.split()
    return [*values, values[-1].upper(), values[-1].capitalize(), "bogus", "", *([None] if none else [])]


def positive(size, dtype=torch.float32):
    a = numbers(size, size, dtype=dtype)
    return a @ a.mH + torch.eye(size, dtype=dtype)


# Each gives lines (name, parameters, expression, list of argument tuples).


def of_rounding():
    modes = words("trunc floor", none=True)
    for dtype in [*ALL[:-1], torch.uint8]:
        a, b = numbers(6, dtype=dtype), torch.tensor([1, 2, 3, 4, 5, 7]).to(dtype)
        text = str(dtype)[6:]
        for name in ("div", "divide"):
            yield f"{name}_Tensor_mode.{text}", "a, b, m: Optional[str]", f"torch.ops.aten.{name}(a, b, rounding_mode=m)", [
                (a, b, mode) for mode in modes]
            yield f"{name}_Scalar_mode.{text}", "a, b: float, m: Optional[str]", f"torch.ops.aten.{name}(a, b, rounding_mode=m)", [
                (a, 2.5, mode) for mode in modes]
            yield f"{name}__Tensor_mode.{text}", "a, b, m: Optional[str]", f"torch.ops.aten.{name}_(a, b, rounding_mode=m)", [
                (a, b, mode) for mode in modes]


def of_transforms():
    x, half = numbers(4, 6), numbers(4, 4, dtype=torch.complex64)
    norms = words("backward ortho forward", none=True)
    for name in "fft ifft rfft irfft hfft ihfft".split():
        for ending in ("", "2", "n"):
            given = half if name in ("irfft", "hfft", "ifft") else x
            yield f"fft_{name}{ending}.float32", "x, m: Optional[str]", f"torch.ops.aten.fft_{name}{ending}(x, norm=m)", [
                (given, norm) for norm in norms]


def of_reductions_by_index():
    index = torch.tensor([0, 2, 0, 1])
    for dtype in ALL[:-1]:
        text = str(dtype)[6:]
        x, source = numbers(3, 2, dtype=dtype), numbers(4, 2, dtype=dtype)
        for ending in ("", "_"):
            yield f"index_reduce{ending}.{text}", "x, i, s, m: str, b: bool", (
                f"torch.ops.aten.index_reduce{ending}(x, 0, i, s, m, include_self=b)"), [
                (x, index, source, mode, own_too) for mode in words("prod mean amax amin") + ["sum"] for own_too in (True, False)]
            where = torch.randint(0, 3, (4, 2))
            yield f"scatter_reduce{ending}.{text}", "x, i, s, m: str, b: bool", (
                f"torch.ops.aten.scatter_reduce{ending}(x, 0, i, s, m, include_self=b)"), [
                (x, where, source, mode, own_too) for mode in words("sum prod mean amax amin") for own_too in (True, False)]
            modes = words("add multiply")
            yield f"scatter_reduce_option{ending}.{text}", "x, i, s, m: str", (
                f"torch.ops.aten.scatter{ending}(x, 0, i, s, reduce=m)"), [(x, where, source, mode) for mode in modes]
            yield f"scatter_value_reduce{ending}.{text}", "x, i, s: float, m: str", (
                f"torch.ops.aten.scatter{ending}(x, 0, i, s, reduce=m)"), [(x, where, 2.0, mode) for mode in modes]


def of_segments():
    """Every reduction by lengths and offsets, some empty, along each dimension, with and without a beginning."""
    reductions = words("max min mean sum prod amax amin")
    for dtype in [*FLOATS, torch.float16, torch.bfloat16, torch.int64]:
        x, text = numbers(6, dtype=dtype), str(dtype)[6:]
        rows = numbers(2, 6, 2, dtype=dtype)
        unknown = x.clone()
        if dtype.is_floating_point:
            unknown[1] = float("nan")
        by_length = [torch.tensor([2, 0, 3, 1]), torch.tensor([2, 0, 3, 1], dtype=torch.int32), torch.tensor([6]), torch.tensor([0, 6, 0])]
        call = "torch.segment_reduce(x, m, lengths=l, axis=a, unsafe=u, initial=i)"
        signature = "x, l, m: str, a: int, u: bool, i: Optional[float]"
        call = f"torch.ops.aten.{call[6:]}"
        options = list(itertools.product(reductions, (False, True), (None, 0.5, -2.0)))
        yield f"segment_reduce_lengths.{text}", signature, call, [
            *((given, lengths, mode, 0, unsafe, initial) for given in (x, unknown) for lengths in by_length for mode, unsafe, initial in options),
            *((rows, torch.tensor([[1, 5, 0], [2, 2, 2]]), mode, 1, unsafe, initial) for mode, unsafe, initial in options),
            *((x, torch.tensor([2, 1]), mode, 0, unsafe, initial) for mode, unsafe, initial in options),
            *((x, torch.tensor([2, 0, 3, 1]), "sum", axis, False, None) for axis in (1, -1, -2, 2)),
            (x, torch.tensor([8, -2]), "sum", 0, False, None)]
        call = call.replace("lengths=l", "offsets=l")
        by_offset = [torch.tensor([0, 2, 2, 5, 6]), torch.tensor([0, 6]), torch.tensor([1, 3, 5]), torch.tensor([0, 0, 6], dtype=torch.int32), torch.tensor([0])]
        yield f"segment_reduce_offsets.{text}", signature, call, [
            *((given, offsets, mode, 0, unsafe, initial) for given in (x, unknown) for offsets in by_offset for mode, unsafe, initial in options),
            *((rows, torch.tensor([[0, 1, 6, 6], [0, 2, 4, 6]]), mode, 1, unsafe, initial) for mode, unsafe, initial in options),
            *((x, torch.tensor([0, 2, 6]), "sum", axis, False, None) for axis in (1, -1, -2, 2))]
        yield f"segment_reduce_both.{text}", "x, l: Optional[Tensor], o: Optional[Tensor], m: str", (
            "torch.ops.aten.segment_reduce(x, m, lengths=l, offsets=o)"), [
            (x, lengths, offsets, mode) for lengths in (None, torch.tensor([3, 3])) for offsets in (None, torch.tensor([0, 1, 6]))
            for mode in reductions if lengths is not None or offsets is not None]


def of_factorisations():
    for dtype in [*FLOATS, torch.complex64]:
        a, square, text = numbers(4, 3, dtype=dtype), positive(3, dtype), str(dtype)[6:]
        for name in ("linalg_eigh", "linalg_eigvalsh"):
            yield f"{name}.{text}", "a, m: str", f"torch.ops.aten.{name}(a, m)", [(square, mode) for mode in words("L U l u")]
        yield f"linalg_qr.{text}", "a, m: str", "torch.ops.aten.linalg_qr(a, m)", [(a, mode) for mode in words("reduced complete r")]
        drivers = words("gesvd gesvdj gesvda", none=True)
        yield f"linalg_svd.{text}", "a, m: Optional[str]", "torch.ops.aten.linalg_svd(a, False, driver=m)", [(a, mode) for mode in drivers]
        yield f"linalg_svdvals.{text}", "a, m: Optional[str]", "torch.ops.aten.linalg_svdvals(a, driver=m)", [(a, mode) for mode in drivers]
        yield f"linalg_lstsq.{text}", "a, b, m: Optional[str]", "torch.ops.aten.linalg_lstsq(a, b, driver=m)", [
            (a, numbers(4, 2, dtype=dtype), mode) for mode in words("gelsy gels gelsd gelss", none=True)]
        orders = words("fro nuc")
        yield f"linalg_cond.{text}", "a, m: str", "torch.ops.aten.linalg_cond(a, m)", [(square, mode) for mode in orders]
        yield f"linalg_matrix_norm.{text}", "a, m: str, k: bool", "torch.ops.aten.linalg_matrix_norm(a, m, keepdim=k)", [
            (a, mode, keep) for mode in orders for keep in (False, True)]
        yield f"linalg_norm.{text}", "a, m: str, k: bool", "torch.ops.aten.linalg_norm(a, m, keepdim=k)", [
            (a, mode, keep) for mode in orders for keep in (False, True)]
    square = positive(3)
    for mode in ("L", "U"):
        yield "_linalg_eigh.float32", "a, m: str", "torch.ops.aten._linalg_eigh(a, m)[0]", [(square, mode)]
    yield "_linalg_svd.float32", "a, m: Optional[str]", "torch.ops.aten._linalg_svd(a, driver=m)[1]", [(square, mode) for mode in words("gesvd", none=True)]


def of_order():
    for dtype in FLOATS:
        x, text = numbers(3, 5, dtype=dtype), str(dtype)[6:]
        x[0, 1] = float("nan")
        at = torch.tensor([0.0, 0.3, 0.5, 1.0], dtype=dtype)
        modes = words("linear lower higher midpoint nearest")
        for name in ("quantile", "nanquantile"):
            for dim, keep in ((None, False), (1, True)):
                yield f"{name}.{text}", "x, q, m: str", f"torch.ops.aten.{name}(x, q, {dim}, {keep}, interpolation=m)", [(x, at, mode) for mode in modes]
                yield f"{name}_scalar.{text}", "x, q: float, m: str", f"torch.ops.aten.{name}(x, q, {dim}, {keep}, interpolation=m)", [
                    (x, q, mode) for mode in modes for q in (0.3, 0.5)]
    order = torch.tensor([1.0, 3.0, 3.0, 5.0])
    sides = words("left right", none=True)
    yield "searchsorted.float32", "o, x, r: bool, m: Optional[str]", "torch.ops.aten.searchsorted(o, x, right=r, side=m)", [
        (order, torch.tensor([0.0, 3.0, 4.0, 5.0]), right, side) for right in (False, True) for side in sides]
    yield "searchsorted_scalar.float32", "o, x: float, r: bool, m: Optional[str]", "torch.ops.aten.searchsorted(o, x, right=r, side=m)", [
        (order, 3.0, right, side) for right in (False, True) for side in sides]
    yield "meshgrid.float32", "a, b, m: str", "torch.ops.aten.meshgrid([a, b], indexing=m)", [(numbers(2), numbers(3), mode) for mode in words("ij xy")]


def of_activations():
    modes = words("none tanh")
    for dtype in ALL[:4]:
        x, text = numbers(3, 4, dtype=dtype), str(dtype)[6:]
        for name in ("gelu", "gelu_"):
            yield f"{name}.{text}", "x, m: str", f"torch.ops.aten.{name}(x, approximate=m)", [(x, mode) for mode in modes]
        yield f"gelu_backward.{text}", "g, x, m: str", "torch.ops.aten.gelu_backward(g, x, approximate=m)", [(x + 1, x, mode) for mode in modes]


def of_padding():
    modes = words("constant reflect replicate circular")
    for dtype in (torch.float32, torch.int64, torch.complex64):
        text = str(dtype)[6:]
        given = [numbers(*sizes, dtype=dtype) for sizes in ((5,), (2, 5), (2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 4, 5))]
        pads = [[1, 2], [1, 0, 2, 1], [1, 1, 0, 2, 1, 0], [-1, 1], [0, 0], [6, 0], [1]]
        calls = [(x, pad, mode, value) for x in given for pad in pads for mode in modes for value in (None, 2.0)]
        yield f"pad.{text}", "x, p: List[int], m: str, v: Optional[float]", "torch.ops.aten.pad(x, p, m, v)", calls
        yield f"functional_pad.{text}", "x, p: List[int], m: str, v: Optional[float]", "torch.nn.functional.pad(x, p, m, v)", calls[::3]
    parts = [numbers(2, 3), numbers(4, 3), numbers(1, 3)]
    yield "pad_sequence.float32", "a, b, c, f: bool, m: str", "torch.ops.aten.pad_sequence([a, b, c], f, 1.5, m)", [
        (*parts, first, mode) for first in (False, True) for mode in words("right left")]
    for dims in (1, 2, 3):
        x, weight = numbers(2, 2, *[5] * dims), numbers(3, 2, *[3, 2, 2][:dims])
        for stride, dilation in ((1, 1), (2, 1), (1, 2)):
            call = f"(x, w, None, [{stride}] * {dims}, p, [{dilation}] * {dims}, 1)".replace("] * 1", "]")
            given = [(x, weight, padding) for padding in words("valid same")]
            for name in (f"conv{dims}d", "_convolution_mode"):
                yield f"{name}_of_{dims}.float32", "x, w, p: str", f"torch.ops.aten.{name}{call}", given
    x = numbers(2, 40)
    yield "stft.float32", "x, w, c: bool, m: str", (
        "torch.ops.aten.stft(x, 8, 4, 8, w, center=c, pad_mode=m, normalized=False, onesided=True, return_complex=True)"), [
        (x, torch.hann_window(8), center, mode) for center in (True, False) for mode in modes]


def of_resampling():
    modes = words("nearest linear bilinear bicubic trilinear area nearest-exact")
    for dims in (1, 2, 3):
        x = numbers(1, 2, *[5] * dims)
        given = [(x, mode, corners, scale) for mode in modes for corners in (None, False, True) for scale in (1.5, 2.0)]
        yield f"interpolate_of_{dims}.float32", "x, m: str, c: Optional[bool], s: float", (
            "torch.nn.functional.interpolate(x, scale_factor=s, mode=m, align_corners=c)"), given
        yield f"__interpolate_of_{dims}.float32", "x, m: str, c: Optional[bool], s: float", (
            "torch.ops.aten.__interpolate(x, None, s, m, c, None, False)"), given
        yield f"__upsample_of_{dims}.float32", "x, m: str, c: Optional[bool], s: int", (
            "torch.ops.aten.__upsample(x, None, s, m, c)"), [(x, mode, corners, 2) for _, mode, corners, scale in given if scale == 2.0]
    for sizes in ((1, 2, 4, 5), (1, 2, 3, 4, 5)):
        x = numbers(*sizes)
        grid = torch.rand(1, *sizes[2:], len(sizes) - 2) * 2.4 - 1.2
        yield f"grid_sample_of_{len(sizes) - 2}.float32", "x, g, m: str, p: str, c: bool", (
            "torch.nn.functional.grid_sample(x, g, m, p, c)"), [
            (x, grid, mode, padding, corners) for mode in words("bilinear nearest bicubic") for padding in words("zeros border reflection")
            for corners in (False, True)]


def of_losses():
    """The losses of torch.nn.functional, whose reductions become numbers."""
    x, y = numbers(4, 3), numbers(4, 3)
    chance, classes, signs = torch.rand(4, 3), torch.tensor([0, 2, 1, 1]), torch.tensor([1.0, -1.0, 1.0, -1.0])
    kinds = torch.tensor([[1, 0, -1], [2, -1, 0], [0, 1, 2], [-1, 0, 0]])
    lines = {
        "l1_loss": ("x, y", (x, y)), "mse_loss": ("x, y", (x, y)), "smooth_l1_loss": ("x, y", (x, y)), "huber_loss": ("x, y", (x, y)),
        "nll_loss": ("x, y", (x, classes)), "cross_entropy": ("x, y", (x, classes)), "binary_cross_entropy": ("x, y", (chance, torch.rand(4, 3))),
        "binary_cross_entropy_with_logits": ("x, y", (x, chance)), "kl_div": ("x, y", (x.log_softmax(1), chance)),
        "poisson_nll_loss": ("x, y", (x, chance)), "hinge_embedding_loss": ("x, y", (x, numbers(4, 3).sign())),
        "margin_ranking_loss": ("x, y, z", (x[:, 0], x[:, 1], signs)), "multi_margin_loss": ("x, y", (x, classes)),
        "multilabel_margin_loss": ("x, y", (x, kinds)), "multilabel_soft_margin_loss": ("x, y", (x, chance.round())),
        "soft_margin_loss": ("x, y", (x, numbers(4, 3).sign())), "cosine_embedding_loss": ("x, y, z", (x, y, signs)),
        "triplet_margin_loss": ("x, y, z", (x, y, numbers(4, 3))),
    }
    reductions = words("none mean sum batchmean") + ["elementwise_mean"]
    for name, (parameters, given) in lines.items():
        yield f"{name}.float32", f"{parameters}, m: str", f"torch.nn.functional.{name}({parameters}, reduction=m)", [(*given, mode) for mode in reductions]
    yield "ctc_loss.float32", "x, y, a, b, m: str", "torch.nn.functional.ctc_loss(x, y, a, b, reduction=m)", [
        (numbers(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 1]]), torch.tensor([5, 4]), torch.tensor([2, 1]), mode) for mode in reductions]
    yield "embedding_bag.float32", "x, w, o, m: str", "torch.nn.functional.embedding_bag(x, w, o, mode=m)", [
        (torch.tensor([0, 2, 1, 3]), numbers(4, 3), torch.tensor([0, 1]), mode) for mode in words("sum mean max")]
    yield "cdist.float32", "x, y, m: str", "torch.cdist(x, y, compute_mode=m)", [
        (x, y, mode) for mode in words("use_mm_for_euclid_dist_if_necessary use_mm_for_euclid_dist donot_use_mm_for_euclid_dist")]
    yield "norm.float32", "x, m: str", "torch.norm(x, m)", [(x, mode) for mode in words("fro nuc")]
    yield "functional_stft.float32", "x, m: str", "torch.stft(x, 8, pad_mode=m, return_complex=True)", [
        (numbers(40), mode) for mode in words("constant reflect replicate circular")]
    for dims in (1, 2, 3):
        yield f"functional_conv{dims}d.float32", "x, w, p: str", f"torch.nn.functional.conv{dims}d(x, w, padding=p)", [
            (numbers(1, 2, *[5] * dims), numbers(3, 2, *[3] * dims), padding) for padding in words("valid same")]
    yield "gelu_functional.float32", "x, m: str", "torch.nn.functional.gelu(x, approximate=m)", [(x, mode) for mode in words("none tanh")]


def of_equations():
    a, b = numbers(2, 3), numbers(3, 2)
    equations = ["ij,jk", "ij,jk->ik", "ij,jk->ki", "ij,ji->", "i...,...i", "...j,jk->...k", "ij,jk->ikk", "ij,jk->il", "ij", "ij,jk,kl", "ij,kk->", "Ij,jk->kI",
                 " i j , j k -> i k ", "ij,jk->", "i1,jk", "ij;jk", "ij,jk->->ik", "ij,jk-ik", "....j,jk", "", "bogus", "ij,jk->i...k", "ii,jk->ijk", "ij,jk,"]
    yield "einsum.float32", "a, b, e: str", "torch.ops.aten.einsum(e, [a, b])", [(a, b, equation) for equation in equations]


GROUPS = [of_rounding, of_transforms, of_reductions_by_index, of_segments, of_factorisations, of_order, of_activations, of_padding,
          of_resampling, of_losses, of_equations]
# Operators of which another line here calls the only form that a program has.
WITHIN = {"aten::_segment_reduce_backward"}


def forgotten(lines):
    """Operators with strings that no line calls."""
    called = {name for _, _, expression, _ in lines for name in re.findall(r"torch\.ops\.aten\.(\w+)", expression)}
    found = set()
    for schema in torch._C._jit_get_all_schemas():
        strings = [argument for argument in schema.arguments if str(argument.type) in ("str", "Optional[str]")]
        name = schema.name.removeprefix("aten::")
        if strings and name not in called and not NOT_OPTIONS.fullmatch(schema.name) and schema.name not in WITHIN:
            found.add(schema.name)
    return sorted(found)


def program(parameters, expression):
    module = torch.jit.script(type("Call", (torch.nn.Module,), {})())
    module.define(f"def forward(self, {parameters}):\n    return {expression}\n")
    return module


def outcome(loaded, arguments):
    given = [own(value) if isinstance(value, torch.Tensor) else value for value in arguments]
    torch.manual_seed(0)
    try:
        return {"result": plain(loaded(*given))}
    except Exception as error:  # noqa: BLE001
        return {"error": str(error).split("\n\nAt:\n")[0]}


def record(folder, parameters, expression, calls):
    os.makedirs(folder)
    path = folder / "model.pt"
    torch.jit.save(program(parameters, expression), str(path))
    loaded = torch.jit.load(str(path))
    recorded = []
    for arguments in calls:
        found = outcome(loaded, arguments)
        if NO_ANSWER.search(found.get("error", "")):
            continue
        given = [own(value) if isinstance(value, torch.Tensor) else value for value in arguments]
        recorded.append({"arguments": given, "seed": 0, "compare": "values", **found})
    torch.save(recorded, str(folder / "calls.pt"))
    return len(recorded)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pattern", default="")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th program")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines = [line for group in GROUPS for line in group()]
    missing = forgotten(lines)
    if missing:
        raise SystemExit(f"options of these operators are not tried: {', '.join(missing)}")
    indices, total, left_out = {}, 0, 0
    for number, (name, parameters, expression, calls) in enumerate(lines):
        index = indices[name] = indices.get(name, -1) + 1
        if number % options.every or not re.search(options.pattern, name):
            continue
        folder = options.out / f"{name}.{index:03}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            total += record(folder, parameters, expression, calls)
        except Exception as error:  # noqa: BLE001
            shutil.rmtree(folder, ignore_errors=True)
            left_out += 1
            print(f"left out  {name}: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
    print(f"{total} calls recorded, {left_out} programs left out")


if __name__ == "__main__":
    main()
