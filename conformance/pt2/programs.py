"""Exports small models with real PyTorch, and keeps what PyTorch says of them.

    python conformance/pt2/programs.py OUT [NAME...]

OUT then holds, for each program: NAME.pt2; NAME.txt, what print(torch.export.load(FILE)) prints; and
again/NAME.pt2, what torch.export.save(torch.export.load(FILE)) writes. Programs are exported as they are (NAME) and
decomposed to core ATen (NAME_core).
"""

import collections
import dataclasses
import logging
import pathlib
import sys
import warnings

import torch
from torch import nn
from torch.export import Dim, export
from torch.utils._pytree import register_dataclass

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

F = nn.functional


class Of(nn.Module):
    """A module of a function and other modules."""

    def __init__(self, function, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)

    def forward(self, x, *, gain):
        return {"y": self.fc(x) * gain, "n": x.shape[0]}


class Pick(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


class Count(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.register_buffer("hidden", torch.ones(2), persistent=False)

    def forward(self, x):
        self.seen.add_(x.sum(0))
        value, index = self.seen.max(0)
        return value, index + self.hidden.long()


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(11, 4)
        self.head = nn.Linear(4, 11, bias=False)
        self.head.weight = self.e.weight
        self.view = nn.Parameter(torch.arange(100.0)[10:20])

    def forward(self, ids):
        return self.head(self.e(ids)) + self.view.sum()


class Loop(nn.Module):
    def forward(self, x, n):
        def more(i, x):
            return i < n

        def body(i, x):
            return i + 1, x * 1.5

        return torch._higher_order_ops.while_loop(more, body, (torch.tensor(0), x))


class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            y = self.fc(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = self.fc(x)
        return y + z


class Names(nn.Module):
    """Values called as Python's own names are."""

    def forward(self, input, max, lambda_, x_1, x):
        return input + max * lambda_ - x_1 / x, None, 3


class Unbacked(nn.Module):
    def forward(self, x, n):
        u = n.item()
        torch._check(u >= 2)
        torch._check(u <= 9)
        return torch.zeros(u) + x.sum(), x.new_ones(u * 2 + 1)


class Strings(nn.Module):
    def forward(self, x):
        y = torch.einsum("ij,jk->ik", x, x)
        z = torch.nn.functional.gelu(y, approximate="tanh").to(torch.float64).contiguous(memory_format=torch.contiguous_format)
        w = torch.div(z, 3, rounding_mode="floor")
        return torch.full((2,), float("inf")), w, torch.complex(x, x) * (1 + 2j), x * 2j, torch.arange(3, device="cpu")


class Shapes(nn.Module):
    def forward(self, x, y):
        a = torch.cat([x, x]).reshape(x.shape[0] * 2, -1)
        b = F.pad(y, (1, y.shape[2]))
        c = torch.cat([x[: x.shape[0] // 3], x[x.shape[0] // 3 :]])
        d = x.new_zeros((x.shape[0] + 3) // 4, (x.shape[0] ** 2) % 7 + 1)
        e = torch.ones(torch.sym_max(x.shape[0], 3), int(x.shape[0] * 0.5) + 1)
        return a, b, c, d, e, x.shape[0] // 2


class Lists(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2)
        v, i = torch.topk(a, 2)
        u, s, w = torch.linalg.svd(x)
        m = torch.meshgrid(x[0], x[1], indexing="ij")
        return [a, (b, v)], i, m[0], u + w.sum() + s.sum(), torch.stack([*x.unbind()])


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor | None


register_dataclass(Pair, serialized_type_name="shapes.Pair")
Point = collections.namedtuple("Point", ["first", "second"])
torch.utils._pytree._register_namedtuple(Point, serialized_type_name="shapes.Point")


class Trees(nn.Module):
    def forward(self, pair, named, mapping, k=3):
        return Pair(pair.first + named.first, None), Point(mapping["a"][0], k), collections.OrderedDict(z=mapping["b"])


class Noted(nn.Module):
    def forward(self, x):
        with torch.fx.traceback.annotate({"stage": "first, with a text that is longer than forty characters", "at": 3}):
            y = x + 1
        return y.relu()


class Scan(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops import scan

        return scan(lambda c, v: (c + v, c * v), torch.zeros(3), x, dim=0)


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4, dtype=torch.bfloat16)
        self.fc.weight.requires_grad_(False)
        self.register_buffer("u", torch.arange(4).to(torch.uint16))
        self.register_buffer("none", torch.zeros(0))

    def forward(self, x):
        self.extra = torch.tensor([1.0, 2.0, 3.0, 4.0])
        return self.fc(x.bfloat16()) + self.u.float() + torch.tensor([1.0, 2.0, 3.0, 4.0])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        b, n, _ = x.shape
        split = lambda t: t.view(b, n, 4, 4).transpose(1, 2)  # noqa: E731
        y = F.scaled_dot_product_attention(split(self.q(x)), split(self.k(x)), split(self.v(x)), is_causal=True)
        return y.transpose(1, 2).reshape(b, n, 16)


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)) + x, inplace=True)


def guarded(_, a, b):
    c = a.reshape(-1, 3)
    return c, b + a[: b.shape[0]] if b.shape[0] * 2 > a.shape[0] + 3 else b


def image():
    return torch.randn(2, 3, 16, 16)


def convnet():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Block(), nn.MaxPool2d(2), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))


BATCH = Dim("batch", max=64)


def programs():
    """name: (module, args, kwargs, dynamic shapes)."""
    x = torch.randn
    ids = torch.randint(0, 11, (2, 5))
    wide = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    yield "scale", Scale(), (x(2, 2),), {"gain": torch.tensor(2.0)}, {"x": {0: Dim("batch", max=8)}, "gain": None}
    yield "pick", Pick(), (x(3),), {}, None
    yield "count", Count(), (x(4, 2),), {}, None
    yield "tied", Tied(), (ids,), {}, None
    yield "loop", Loop(), (x(3), torch.tensor(4)), {}, None
    yield "no_grad", NoGrad(), (x(3, 4),), {}, None
    yield "names", Names(), tuple(x(3) for _ in range(5)), {}, None
    yield "unbacked", Unbacked(), (x(3), torch.tensor(4)), {}, None
    yield "strings", Strings(), (x(3, 3),), {}, None
    yield "shapes", Shapes(), (x(9, 4), x(1, 2, 6)), {}, {"x": {0: Dim.AUTO}, "y": {2: Dim.AUTO}}
    yield "derived", Of(lambda m, a, b: a[1:] + b), (x(6), x(5)), {}, (({0: Dim("p") + 1}, {0: Dim("p")}),)
    yield "even", Of(lambda m, a: a.reshape(2, -1)), (x(6),), {}, (({0: 2 * Dim("h", max=20)},),)
    yield "guards", Of(guarded), (x(9), x(7)), {}, (({0: Dim.AUTO}, {0: Dim.AUTO}),)
    yield "lists", Lists(), (x(4, 4),), {}, None
    yield "trees", Trees(), (Pair(x(2), None), Point(x(2), x(3)), {"a": [x(1)], "b": x(4)}), {"k": 7}, None
    yield "noted", Noted(), (x(3),), {}, None
    yield "scan", Scan(), (x(5, 3),), {}, None
    yield "half", Half(), (x(2, 4),), {}, None
    yield "attention", Attention().eval(), (x(2, 5, 16),), {}, ({0: BATCH},)
    yield "convnet", convnet().eval(), (image(),), {}, ({0: BATCH},)
    yield "convnet_train", convnet().train(), (image(),), {}, None
    yield "linear", nn.Linear(3, 2), (x(4, 3),), {}, ({0: BATCH},)
    yield "mlp", nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 4), nn.Softmax(-1)), (x(3, 8),), {}, ({0: BATCH},)
    yield "lstm", nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), (x(2, 6, 4),), {}, None
    yield "gru", nn.GRU(4, 5), (x(6, 2, 4),), {}, None
    yield "rnn", nn.RNN(4, 5), (x(6, 2, 4),), {}, None
    yield "encoder", wide.eval(), (x(2, 6, 16),), {}, ({0: BATCH},)
    yield "mha", nn.MultiheadAttention(16, 4, batch_first=True), (x(2, 5, 16),) * 3, {}, None
    yield "embedding_bag", nn.EmbeddingBag(11, 4, mode="mean"), (ids,), {}, None
    yield "group_norm", nn.Sequential(nn.GroupNorm(2, 8), nn.SiLU(), nn.PixelShuffle(2)), (x(1, 8, 4, 4),), {}, None
    yield "layer_norm", nn.Sequential(nn.LayerNorm(8), nn.Hardswish(), nn.LogSoftmax(-1)), (x(2, 8),), {}, ({0: BATCH},)
    yield "conv1d", nn.Sequential(nn.Conv1d(2, 4, 3, dilation=2), nn.ConvTranspose1d(4, 2, 3, stride=2), nn.ELU()), (x(2, 2, 12),), {}, None
    yield "conv3d", nn.Sequential(nn.Conv3d(1, 2, 3), nn.InstanceNorm3d(2, affine=True, track_running_stats=True)), (x(1, 1, 6, 6, 6),), {}, None
    yield "upsample", nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.ReflectionPad2d(1), nn.AvgPool2d(2)), (x(2, 2, 4, 4),), {}, ({0: BATCH},)
    yield "map", Of(lambda m, xs, y: torch._higher_order_ops.map(lambda a, b: a + b, xs, y)), (x(3, 2), x(2)), {}, None
    yield "printed", Of(lambda m, a: (torch.ops.higher_order.print("a {}", 1), a + 1)[1]), (x(2),), {}, None
    yield "solve", Of(lambda m, a, b: torch.linalg.solve(a @ a.mT + torch.eye(3), b)), (x(3, 3), x(3, 2)), {}, None
    yield "vmap", Of(lambda m, a: torch.vmap(lambda r: r * r.sum())(a)), (x(3, 2),), {}, None
    yield "random", Of(lambda m, a: torch.rand_like(a) + F.dropout(a, 0.5, True) + torch.randn(2)), (x(2),), {}, None
    yield "index", Of(lambda m, a: (a[:, [0, 2]], a.index_put((torch.tensor([0]),), torch.tensor(1.0)), a[a > 0].shape[0])), (x(3, 4),), {}, None
    yield "mutate", Of(lambda m, a: (a.add_(1), a.view(-1)[0])[1]), (x(2, 2),), {}, None
    yield "same_out", Of(lambda m, a: (a, a.t())), (x(2, 3),), {}, None
    yield "constants", Of(lambda m, a, n, flag, text, nothing: a * n if flag and text == "up" else a), (x(2), 3, True, "up", None), {}, None
    yield "kwargs", Of(lambda m, a, beta, alpha: a * beta + alpha), (x(2),), {"beta": x(2), "alpha": 2.5}, None
    yield "floats", Of(lambda m, a: a * 1e-7 + 1e22 - 0.1 + float("-inf") * 0.30000000000000004), (x(2),), {}, None
    yield "quoted", Of(lambda m, a: {"it's": a, 'a "b"': a + 1}), (x(2),), {}, None
    yield "dtypes", Of(lambda m, a: (a.to(torch.float8_e4m3fn), a.to(torch.int8), a.bool(), a.half(), a.to(torch.complex64), a.to(torch.uint32))), (x(2),), {}, None
    yield "empty", Of(lambda m: torch.ones(2)), (), {}, None


def write(folder, name, program):
    path = folder / f"{name}.pt2"
    torch.export.save(program, path)
    loaded = torch.export.load(path)
    (folder / f"{name}.txt").write_text(str(loaded))
    torch.export.save(loaded, folder / "again" / f"{name}.pt2")


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "again").mkdir(parents=True, exist_ok=True)
    failed = []
    for name, module, args, kwargs, dynamic in programs():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        torch.manual_seed(7)
        try:
            program = export(module, args, kwargs, dynamic_shapes=dynamic)
            write(folder, name, program)
        except Exception as error:  # PyTorch cannot export or save it
            failed.append((name, error))
            continue
        try:
            write(folder, f"{name}_core", program.run_decompositions())
        except Exception as error:
            failed.append((f"{name}_core", error))
    for name, error in failed:
        print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}", file=sys.stderr)
    from torch.export.pt2_archive._package import package_pt2

    if not sys.argv[2:]:
        one, two = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        models = {"one": export(one, (torch.randn(1, 3),)), "dir/two": export(two, (torch.randn(1, 2),))}
        package_pt2(str(folder / "several.pt2"), exported_programs=models, extra_files={"notes/why.txt": "two models"})
        torch.save({"w": torch.ones(2)}, folder / "only_called.pt2")
    print(len(list(folder.glob("*.txt"))), "programs,", len(failed), "that PyTorch cannot export or save")


if __name__ == "__main__":
    main()
