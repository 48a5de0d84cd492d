"""Exports small programs with PyTorch, runs them with sconce, and compares with `ep.module()(...)`.

    python run_models.py SCONCE [--filter TEXT] [--core] [--keep FOLDER] [--torchvision]

Every program is called twice in one session where it has state. Results must have PyTorch's structure, dtypes and
sizes, and its numbers within 1e-4. Exit status 0 if all are equal.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run as environment  # noqa: E402

environment.in_environment_with_torch()

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim
from torch.utils import _pytree as pytree

from running import summary

CASES = {}


@dataclasses.dataclass
class Case:
    make: object
    args: tuple
    kwargs: dict
    dynamic: object = None
    # Further calls of the same session.
    more: tuple = ()
    seed: int = None
    train: bool = False
    # Python that decomposes less or more is tried as well.
    dialects: tuple = ("training", "core")


def case(name, make, *args, kwargs=None, dynamic=None, more=(), **rest):
    assert name not in CASES, name
    CASES[name] = Case(make, args, kwargs or {}, dynamic, more, **rest)


def function(body):
    """A module whose forward is a function."""

    class Function(nn.Module):
        def forward(self, *args, **kwargs):
            return body(*args, **kwargs)

    return Function


def module(forward, **attributes):
    """A module with attributes made by functions, whose forward is a function of it and the arguments."""

    class Made(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in attributes.items():
                made = value()
                if isinstance(made, torch.Tensor) and not isinstance(made, nn.Parameter):
                    self.register_buffer(name, made)
                else:
                    setattr(self, name, made)

    Made.forward = forward
    return Made


def randn(*sizes, dtype=torch.float32):
    return torch.randn(*sizes, dtype=dtype)


# Layers and small networks.
case("mlp", lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), randn(2, 8))
case(
    "convnet",
    lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5),
    ),
    randn(2, 3, 16, 16),
)
case("batch_norm_train", lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4)), randn(4, 3, 5),
     more=((randn(4, 3, 5),),), train=True)
case(
    "hard_activations",
    lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 8, 3), nn.SiLU(), nn.Conv2d(8, 8, 1), nn.Hardsigmoid()
    ),
    randn(1, 3, 8, 8),
)
case("instance_norm", lambda: nn.InstanceNorm2d(3, affine=True), randn(2, 3, 5, 5))
case("instance_norm_train", lambda: nn.InstanceNorm2d(3, track_running_stats=True), randn(2, 3, 5, 5),
     more=((randn(2, 3, 5, 5),),), train=True)
case("group_norm", lambda: nn.GroupNorm(2, 4), randn(2, 4, 5))
case("layer_norm", lambda: nn.LayerNorm([4, 5]), randn(2, 4, 5))
case("rms_norm", lambda: nn.RMSNorm(5), randn(2, 4, 5))
case("lstm", lambda: nn.LSTM(6, 8, 2, batch_first=True), randn(2, 5, 6))
case("lstm_both_ways", lambda: nn.LSTM(6, 8, bidirectional=True), randn(5, 2, 6))
case("gru", lambda: nn.GRU(6, 8), randn(5, 2, 6))
case("rnn", lambda: nn.RNN(6, 8), randn(5, 2, 6))
case("lstm_cell", lambda: nn.LSTMCell(4, 6), randn(2, 4))
case("gru_cell", lambda: nn.GRUCell(4, 6), randn(2, 4))
case("embedding", lambda: nn.Embedding(10, 4, padding_idx=0), torch.tensor([[1, 2], [0, 9]]))
case("embedding_bag", lambda: nn.EmbeddingBag(10, 4, mode="mean"), torch.tensor([[1, 2], [0, 9]]))
case("attention", lambda: nn.MultiheadAttention(8, 2, batch_first=True), *[randn(2, 4, 8)] * 3)
case("encoder_layer", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), randn(2, 4, 8))
case("decoder_layer", lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), randn(2, 4, 8), randn(2, 3, 8))
case("transformer", lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), randn(2, 4, 8), randn(2, 3, 8))
case("conv1d", lambda: nn.Conv1d(3, 4, 3, stride=2), randn(2, 3, 11))
case("conv3d", lambda: nn.Conv3d(2, 3, 2), randn(1, 2, 4, 4, 4))
case("conv_transpose", lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1), randn(1, 3, 5, 5))
case("depthwise", lambda: nn.Conv2d(4, 4, 3, groups=4, dilation=2), randn(1, 4, 8, 8))
case("unet", module(
    lambda self, x: self.up(torch.cat([F.interpolate(self.down(x), scale_factor=2), x], 1)),
    down=lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1), up=lambda: nn.Conv2d(7, 2, 1)), randn(1, 3, 8, 8))
case("upsample_bilinear", lambda: nn.Upsample(scale_factor=1.5, mode="bilinear"), randn(1, 2, 4, 6))
case("upsample_bicubic", lambda: nn.Upsample(size=(7, 5), mode="bicubic"), randn(1, 2, 4, 6))
case("pixel_shuffle", lambda: nn.PixelShuffle(2), randn(1, 8, 3, 3))
case("pools", function(lambda x: (F.avg_pool2d(x, 2), F.max_pool2d(x, 3, 1, 1), F.adaptive_max_pool2d(x, 2), F.lp_pool2d(x, 2, 2))), randn(1, 2, 6, 6))
case("pads", function(lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 1, 1, 1), mode="reflect"), F.pad(x, (1, 1), value=3.0), F.pad(x, (1, 1, 2, 0), mode="replicate"))), randn(1, 2, 4, 4))
for name in ["relu", "relu6", "gelu", "silu", "elu", "selu", "celu", "mish", "hardswish", "hardsigmoid", "hardtanh",
             "leaky_relu", "softplus", "softsign", "logsigmoid", "tanhshrink", "glu", "sigmoid", "tanh"]:
    case(f"activation_{name}", function(getattr(F, name)), randn(3, 4))
case("softmaxes", function(lambda x: (F.softmax(x, 0), F.log_softmax(x, -1), F.softmin(x, 1))), randn(3, 4))
case("prelu", lambda: nn.PReLU(4), randn(2, 4, 3))
case("losses", function(lambda x, y, k: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y),
     F.cross_entropy(x, k), F.nll_loss(F.log_softmax(x, 1), k, reduction="sum"), F.kl_div(x, y.softmax(1)))),
     randn(3, 4), randn(3, 4), torch.tensor([0, 3, 1]))
case("dropout_eval", lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), randn(2, 4))
case("dropout_train", lambda: nn.Dropout(0.5), randn(2, 40), seed=7, train=True)
case("sdpa", function(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), *[randn(1, 2, 5, 4)] * 3)

# Structure of arguments and results.
Pair = collections.namedtuple("Pair", "first second")
case("dict_in_out", function(lambda x, d: {"sum": x + d["a"], "more": [d["b"][0], (x, d["b"][1])]}),
     randn(3), {"a": randn(3), "b": [randn(2), randn(1)]})
case("keywords", function(lambda x, *, alpha, beta=None: x * alpha + (beta if beta is not None else 0)), randn(3),
     kwargs={"beta": randn(3), "alpha": randn(1)})
case("ordered_dict", function(lambda x: collections.OrderedDict(b=x, a=x + 1)), randn(2))
case("nothing", function(lambda x: (x, None, [None, x * 2])), randn(2))
case("one_in_tuple", function(lambda x: (x + 1,)), randn(2))
case("empty_things", function(lambda x: ((), [], {}, x)), randn(2))
case("constants_out", function(lambda x: (x, 3, 2.5, True)), randn(2))
case("constants_in", function(lambda x, n, scale, flag: x * n * scale if flag else x), randn(2), 3, 2.5, True)
case("text_in", function(lambda x, mode: x + 1 if mode == "up" else x - 1), randn(2), "up")
case("same_out", function(lambda x: (x, x, x + 1)), randn(2))
case("view_out", function(lambda x: (x.view(-1), x.t())), randn(2, 3))
case("many_leaves", function(lambda a, b: [a[0] + b["x"]["y"], a[1][0] - b["z"]]),
     (randn(2), [randn(2)]), {"x": {"y": randn(2)}, "z": randn(2)})
case("return_type", function(lambda x: torch.max(x, 1)), randn(3, 4))
case("return_sort", function(lambda x: torch.sort(x, 1, descending=True)), randn(3, 4))
case("int_tensor", function(lambda x: (x + 1, x // 2, x % 3, x / 2)), torch.arange(6))

# Sizes that are not known.
batch = Dim("batch", min=1, max=64)
case("dynamic_batch", lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU()), randn(3, 4), dynamic=({0: batch},), more=((randn(7, 4),),))
case("dynamic_sizes", function(lambda x: (x.reshape(x.shape[0] * x.shape[1], -1), x.shape[0] + 1)), randn(3, 4, 2),
     dynamic=({0: Dim("n", min=3, max=9), 1: Dim("m")},), more=((randn(5, 6, 2),),))
case("dynamic_equal", function(lambda x, y: x + y), randn(3), randn(3), dynamic=({0: batch}, {0: batch}), more=((randn(5), randn(5)),))
case("dynamic_derived", function(lambda x, y: x + y[1:]), randn(3), randn(4), dynamic=({0: batch}, {0: batch + 1}), more=((randn(5), randn(6)),))
case("dynamic_arange", function(lambda x: torch.arange(x.shape[0]).float() + x * (x.shape[0] ** 2 // 3) - x.shape[0] % 4), randn(5),
     dynamic=({0: Dim("n", min=2)},), more=((randn(9),),))
case("dynamic_float", function(lambda x: F.interpolate(x, scale_factor=1.5)), randn(1, 2, 4, 4), dynamic=({2: Dim("h", min=3, max=99)},), more=((randn(1, 2, 6, 4),),))
case("dynamic_min_max", function(lambda x, y: x[: min(x.shape[0], y.shape[0])].sum() + max(x.shape[0], y.shape[0])), randn(5), randn(7),
     dynamic=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}), more=((randn(4), randn(9)),))
case("dynamic_int", function(lambda x, n: x * n), randn(3), 4, dynamic=(None, Dim.DYNAMIC), more=((randn(3), 7),))
case("dynamic_positions", module(lambda self, x: self.e(x) + self.p[: x.shape[1]], e=lambda: nn.Embedding(9, 4), p=lambda: nn.Parameter(randn(16, 4))),
     torch.tensor([[1, 2, 3]]), dynamic=({1: Dim("t", max=16)},), more=((torch.tensor([[1, 2, 3, 4, 5]]),),))


def unbacked(x, n):
    k = n.item()
    torch._check(k >= 2)
    torch._check(k <= 9)
    return x[:k] * k


case("unbacked", function(unbacked), randn(10), torch.tensor(4), more=((randn(10), torch.tensor(7)),))
case("nonzero", function(lambda x: (x.nonzero(), x[x > 0])), torch.tensor([1.0, -2, 0, 3]))
case("item_float", function(lambda x, s: x * s.item()), randn(3), torch.tensor(2.5))


# State.
def counted(self, x):
    self.seen.add_(x.sum(0))
    return self.seen + 1


def cached(self, x, at):
    self.cache[:, at] = x
    return self.cache.sum(1)


def written(x):
    x.mul_(2)
    return x + 1


case("buffer_mutation", module(counted, seen=lambda: torch.zeros(2)), randn(4, 2), more=((randn(4, 2),),))
case("cache", module(cached, cache=lambda: torch.zeros(2, 5)), randn(2), torch.tensor(1), more=((randn(2), torch.tensor(3)),))
case("input_mutation", function(written), randn(3))
case("view_mutation", function(lambda x: (lambda y: (y[0].add_(1), y.relu_(), y)[2])(x.clone())), randn(3, 2))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.e.weight

    def forward(self, x):
        return self.head(self.e(x))


class Lifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("hidden", torch.arange(3.0), persistent=False)
        self.k = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x):
        return x + self.hidden + self.k + torch.tensor([1.0, 0.0, 0.5])


case("tied", Tied, torch.tensor([[1, 2]]))
case("lifted", Lifted, randn(3))
case("random", function(lambda x: torch.rand_like(x) + torch.randn(3) + torch.randint(0, 9, (3,)) + torch.bernoulli(x.sigmoid())), randn(3), seed=7)

# Control flow.
case("cond", function(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))), torch.ones(3), more=((-torch.ones(3),),))
case("cond_sizes", function(lambda x: torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))), randn(3),
     dynamic=({0: Dim("n", min=2)},), more=((randn(6),),))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        def inner(x):
            return torch.cond(x.mean() > 1, lambda x: self.b(x), lambda x: x - 1, (x,))

        return torch.cond(x.sum() > 0, inner, lambda x: self.a(x), (x,))


case("cond_nested", Branches, torch.ones(2, 3), more=((5 * torch.ones(2, 3),), (-torch.ones(2, 3),)))


def loop(x, n):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2), (n, x))


def mapped(xs, y):
    from torch._higher_order_ops.map import map as hop_map

    return hop_map(lambda x, y: x.sin() + y, xs, y)


def scanned(xs, init):
    from torch._higher_order_ops.scan import scan

    return scan(lambda c, x: (c + x, c * x), init, xs, dim=0)


case("while_loop", function(loop), randn(3), torch.tensor(0))
case("map", function(mapped), randn(4, 3), randn(3))
case("scan", function(scanned), randn(4, 3), randn(3))


def no_grad_region(x):
    with torch.no_grad():
        y = x * 2
    return y + x


def autocast_region(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (x @ w).softmax(-1) + F.mse_loss(x, x + 1)


case("no_grad", function(no_grad_region), randn(3))


class Float8(nn.Module):
    """A product with weights of `float8`, each row with a scale of its own or all with one."""

    def __init__(self, each_row, dtype, with_bias=False):
        super().__init__()
        weight = torch.randn(32, 16)
        scale = weight.abs().amax(1, keepdim=True) / 448 if each_row else weight.abs().max() / 448
        self.register_buffer("weight", (weight / scale).to(torch.float8_e4m3fn))
        self.register_buffer("scale", scale.t().contiguous() if each_row else scale)
        self.bias = nn.Parameter(torch.randn(32).to(dtype)) if with_bias else None
        self.each_row, self.dtype = each_row, dtype

    def forward(self, x):
        scale = (x.abs().amax(1, keepdim=True) if self.each_row else x.abs().max()) / 448
        small = (x / scale).to(torch.float8_e4m3fn)
        return torch._scaled_mm(small, self.weight.t(), scale_a=scale, scale_b=self.scale, bias=self.bias, out_dtype=self.dtype)


def float8_storage(self, x):
    return x @ self.weight.to(x.dtype).t(), self.wide.to(torch.float32) + x.sum(), self.weight[:2], x.to(torch.float8_e5m2)


case("float8_product", lambda: Float8(False, torch.float32), randn(8, 16))
case("float8_product_bf16", lambda: Float8(False, torch.bfloat16, True), randn(8, 16))
case("float8_rows", lambda: Float8(True, torch.bfloat16), randn(8, 16))
case("float8_storage", module(float8_storage, weight=lambda: randn(8, 16).to(torch.float8_e4m3fn),
     wide=lambda: randn(3).to(torch.float8_e5m2)), randn(2, 16))


class Constants(nn.Module):
    """Weights and constants that the program converts."""

    def __init__(self):
        super().__init__()
        self.k = torch.tensor([1, 2, 3])
        self.register_buffer("b", randn(3))
        self.register_buffer("h", randn(3).half(), persistent=False)
        self.p = nn.Parameter(randn(3))

    def forward(self, x):
        return (x * self.k.to(torch.float32), x + self.b.to(torch.float64), self.h.to("cpu") * x, self.k.to(x.device).to(x.dtype),
                self.p.to(torch.bfloat16) * 2, torch.tensor([1.5, 2.5]).to(torch.int64), self.k.to(x), self.b.to(torch.float32),
                self.b.type_as(self.h), self.k.float(), self.b.half().to(copy=True, dtype=torch.float32))


case("converted_constants", Constants, randn(3))
case("autocast", function(autocast_region), randn(3, 4), randn(4, 4))
case("to_half", function(lambda x: (x.half() * 2.5, x.to(torch.bfloat16) + 1, x.double() / 3)), randn(3))

# Numbers and operators by families.
case("wrapped", function(lambda x, k: (1 - x, 2 + x, 3 * x, x / 2, 1 / x, k + 1.5, k * 2, x ** 2, 2 ** x, x - 1, k // 2, -x, x % 2)), randn(3), torch.arange(1, 4))
case("compare", function(lambda x, y: (x > 0, x == y, x.ge(y), (x > 0) & (y < 0), ~(x > 0), torch.where(x > 0, x, y), torch.where(x > 0, x, 0.0))), randn(4), randn(4))
case("reduce", function(lambda x: (x.sum(), x.mean(1), x.amax((0, 1)), x.prod(0), x.std(1), x.var(0, unbiased=False), x.argmax(1), x.norm(dim=1), x.logsumexp(1), x.cumsum(0), x.median(), x.any(), x.all(1), x.min(0))), randn(3, 4))
case("index", function(lambda x, i: (x[i], x[:, i], x[..., None], x[1:, ::2], x[-1], x.gather(1, i[None]), x.index_select(0, i), x.take(i), x.flip(0), x.roll(1, 1))), randn(4, 4), torch.tensor([0, 2]))
case("scatter", function(lambda x, i: (x.scatter(0, i, 1.0), x.scatter_add(0, i, x), x.index_add(0, i[0], x[:2]), x.masked_fill(x > 0, 3), x.index_put((i[0],), torch.zeros(4)))), randn(4, 4), torch.tensor([[0, 2], [1, 3]]))
case("shapes", function(lambda x: (x.view(2, -1), x.permute(1, 0), x.unsqueeze(1), x.squeeze(), x.expand(2, 4, 6), x.repeat(1, 2), x.chunk(3, 1), x.split([2, 4], 1), x.unbind(0), x.unfold(1, 2, 2), x.flatten(), torch.stack([x, x]), torch.cat([x, x], 1), x.tril(), x.diagonal(), x.movedim(0, 1))), randn(4, 6))
case("linear_algebra", function(lambda a, b: (a @ b, torch.bmm(a[None], b[None]), torch.einsum("ij,jk->ik", a, b), a.mv(b[:, 0]), torch.outer(a[0], b[0]), a.addmm(a, b), torch.kron(a, b), a.trace())), randn(3, 3), randn(3, 3))
case("solvers", function(lambda a: (torch.linalg.inv(a), torch.linalg.det(a), torch.linalg.solve(a, a[0]), torch.linalg.cholesky(a @ a.T + torch.eye(3)), torch.linalg.svdvals(a), torch.linalg.vector_norm(a), torch.linalg.matrix_norm(a))), randn(3, 3) + 3 * torch.eye(3))
case("fft", function(lambda x: (torch.fft.fft(x), torch.fft.rfft(x).abs(), torch.fft.ifft(torch.fft.fft(x)).real)), randn(8))
case("complex", function(lambda x: (torch.view_as_real(torch.polar(x.abs(), x)), torch.complex(x, x) * 2, (torch.complex(x, x)).conj().imag)), randn(4))
case("factories", function(lambda x: (torch.zeros(2), torch.ones_like(x), torch.full((2,), 3.5), torch.eye(2), torch.linspace(0, 1, 3), torch.empty(0), x.new_zeros(2), torch.arange(1, 9, 3))), randn(2))
case("sorts", function(lambda x: (x.topk(2), x.sort(0), x.argsort(1), x.kthvalue(2), torch.unique(x.round()), x.mode(), torch.searchsorted(x.sort().values, x))), randn(3, 4))
case("special", function(lambda x: (x.erf(), x.lgamma(), x.digamma(), x.sigmoid().logit(), x.expm1(), x.abs().log1p(), x.sinc(), torch.special.i0(x), x.frac(), x.sign(), x.round(decimals=1))), randn(4))
case("bits", function(lambda k: (k & 3, k | 4, k ^ 1, k << 1, k >> 1, ~k)), torch.arange(6))
case("assertions", function(lambda x: (torch._assert_async((x > -9).all(), "too small"), x + 1)[1]), randn(3))
case("grid", function(lambda x, g: F.grid_sample(x, g, align_corners=False)), randn(1, 2, 4, 4), torch.rand(1, 3, 3, 2))
case("rope", function(lambda x, p: (lambda f: x * f.cos() + torch.cat([-x[..., 2:], x[..., :2]], -1) * f.sin())(torch.cat([p[:, None] * torch.tensor([1.0, 0.1])] * 2, -1))), randn(2, 5, 4), torch.arange(5.0))
case("mask", function(lambda x: x.masked_fill(torch.ones(4, 4).tril() == 0, float("-inf")).softmax(-1)), randn(2, 4, 4))
case("cdist", function(lambda a, b: torch.cdist(a, b)), randn(3, 4), randn(5, 4))
case("one_hot", function(lambda k: F.one_hot(k, 5)), torch.tensor([0, 4, 2]))
case("normalize", function(lambda x: (F.normalize(x, dim=1), F.cosine_similarity(x, x.flip(0)))), randn(3, 4))
case("bucketize", function(lambda x: torch.bucketize(x, torch.tensor([-1.0, 0, 1]))), randn(5))
case("meshgrid", function(lambda x, y: torch.meshgrid(x, y, indexing="ij")), randn(2), randn(3))
case("clamp", function(lambda x: (x.clamp(-1, 1), x.clamp_min(0), x.clamp(max=0.5), x.clip(min=torch.zeros(3)))), randn(3))
case("lerp", function(lambda a, b: (torch.lerp(a, b, 0.3), torch.addcmul(a, a, b, value=2), torch.addcdiv(a, a, b.abs() + 1))), randn(3), randn(3))


def torchvision_cases():
    import torchvision.models as models

    for name, size in [("resnet18", 64), ("mobilenet_v2", 64), ("mobilenet_v3_small", 64), ("squeezenet1_1", 64),
                       ("shufflenet_v2_x0_5", 64), ("efficientnet_b0", 64), ("vgg11_bn", 64), ("densenet121", 64),
                       ("regnet_y_400mf", 64), ("convnext_tiny", 64), ("vit_b_32", 224), ("swin_t", 64)]:
        make = lambda name=name: getattr(models, name)(weights=None)
        case(f"torchvision_{name}", make, randn(2, 3, size, size), dynamic=({0: Dim("batch", min=1, max=8)},),
             more=((randn(3, 3, size, size),),))


def plain(tree):
    """What of a result is there without its classes: named tuples are tuples, data classes dicts."""
    if isinstance(tree, (list, collections.deque)):
        return [plain(item) for item in tree]
    if isinstance(tree, tuple):
        return tuple(plain(item) for item in tree)
    if isinstance(tree, dict):
        return {key: plain(item) for key, item in tree.items()}
    if dataclasses.is_dataclass(tree):
        return {key: plain(item) for key, item in vars(tree).items()}
    return tree.detach() if isinstance(tree, torch.Tensor) else tree


def kinds(tree):
    """The classes that a result is made of."""
    if isinstance(tree, dict):
        return type(tree).__name__, {key: kinds(item) for key, item in tree.items()}
    if isinstance(tree, (list, tuple, collections.deque)):
        return type(tree).__name__, [kinds(item) for item in tree]
    if dataclasses.is_dataclass(tree):
        return type(tree).__name__, {key: kinds(item) for key, item in vars(tree).items()}
    return None


def difference(found, want, at="result"):
    """What is wrong with a result, or None."""
    if isinstance(want, torch.Tensor):
        if not isinstance(found, torch.Tensor):
            return f"{at} is a {type(found).__name__}"
        if found.dtype != want.dtype or found.shape != want.shape:
            return f"{at} is {found.dtype} {list(found.shape)} instead of {want.dtype} {list(want.shape)}"
        try:
            if want.dtype.itemsize == 1 and want.is_floating_point():
                # Floats of 8 bits are compared by their numbers.
                found, want = found.to(torch.float32), want.to(torch.float32)
            torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4, equal_nan=True)
        except AssertionError as error:
            return f"{at}: {str(error).splitlines()[-2] if len(str(error).splitlines()) > 2 else error}"
        return None
    if type(found) is not type(want):
        return f"{at} is a {type(found).__name__} instead of a {type(want).__name__}"
    if isinstance(want, dict):
        if list(found) != list(want):
            return f"{at} has the keys {list(found)} instead of {list(want)}"
        return next((d for k in want if (d := difference(found[k], want[k], f"{at}[{k!r}]"))), None)
    if isinstance(want, (list, tuple)):
        if len(found) != len(want):
            return f"{at} has {len(found)} items instead of {len(want)}"
        pairs = enumerate(zip(found, want))
        return next((d for i, (a, b) in pairs if (d := difference(a, b, f"{at}[{i}]"))), None)
    return None if found == want or found != found else f"{at} is {found!r} instead of {want!r}"


def export(case, dialect):
    torch.manual_seed(0)
    model = case.make()
    model.train(case.train)
    program = torch.export.export(model, case.args, case.kwargs, dynamic_shapes=dynamic(case), strict=False)
    return program.run_decompositions() if dialect == "core" else program


def dynamic(case):
    shapes = case.dynamic
    if shapes is None:
        return None
    # Modules made of functions take *args.
    star = "*args" if False else None
    return (shapes,) if takes_star(case) else shapes


def takes_star(case):
    import inspect

    parameters = inspect.signature(case.make().forward).parameters.values()
    return any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)


def run(case, name, dialect, folder, sconce):
    """None where the results are equal, or what is wrong."""
    base = folder / f"{name}.{dialect}"
    try:
        program = export(case, dialect)
        torch.export.save(program, f"{base}.pt2")
    except Exception as error:
        return "cannot be exported", f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
    calls = [(case.args, case.kwargs)] + [(args, case.kwargs) for args in case.more]
    files, expected, classes = [], [], []
    called = program.module()
    if case.seed is not None:
        torch.manual_seed(case.seed)
    for index, (args, kwargs) in enumerate(calls):
        file = f"{base}.in{index}.pt"
        torch.save({"args": list(args), "kwargs": kwargs}, file)
        files += ["--inputs", file]
        args, kwargs = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs))
        with torch.no_grad():
            result = called(*args, **kwargs)
            classes.append(kinds(result))
            result = plain(result)
        expected.append(pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, result))
    want = expected if len(expected) > 1 else expected[0]
    torch.save(want, f"{base}.want.pt")
    out = f"{base}.out.pt"
    command = [sconce, "run", f"{base}.pt2", *files, "--output", out, "--force", "--quiet"]
    if case.seed is not None:
        command += ["--seed", str(case.seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return "fails", " | ".join(lines)[:400]
    # Of classes that are known here.
    found = torch.load(out, weights_only=False)
    wrong = difference(plain(found), want)
    made = kinds(found)
    expected = classes[0] if len(classes) == 1 else ("list", classes)
    if not wrong and made != expected:
        wrong = f"result is made of {made} instead of {expected}"
    return ("differs", wrong) if wrong else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sconce")
    parser.add_argument("--filter", default="")
    parser.add_argument("--dialect", choices=["training", "core"])
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--torchvision", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    if options.torchvision:
        torchvision_cases()
    counts, lines = collections.Counter(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, case in CASES.items():
            if options.filter not in name:
                continue
            for dialect in case.dialects:
                if options.dialect not in (None, dialect):
                    continue
                wrong = run(case, name, dialect, folder, options.sconce)
                counts[wrong[0] if wrong else "equal"] += 1
                if wrong:
                    print(f"{name} ({dialect}) {wrong[0]}: {wrong[1]}", flush=True)
    return summary(counts)


if __name__ == "__main__":
    sys.exit(main())
