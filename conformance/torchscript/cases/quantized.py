"""Quantized modules, whose packed weights are objects of C++ classes."""
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from registry import made, t

image = t(1, 2, 4, 4) / 16


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.conv = nn.Conv2d(2, 3, 2)
        self.relu = nn.ReLU()
        self.linear = nn.Linear(27, 2)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.conv(self.quant(x)))
        return self.dequant(self.linear(x.reshape(1, -1)))


def calibrated(fuse):
    torch.backends.quantized.engine = "fbgemm"
    net = Net().eval()
    if fuse:
        net = torch.ao.quantization.fuse_modules(net, [["conv", "relu"]])
    net.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    prepared = torch.ao.quantization.prepare(net)
    prepared(image)
    return torch.ao.quantization.convert(prepared)


@made((image,))
def quantized_net():
    return torch.jit.script(calibrated(False))


@made((image,))
def quantized_fused():
    return torch.jit.script(calibrated(True))


@made((image,))
def quantized_traced():
    return torch.jit.trace(calibrated(True), image)


@made((t(2, 3),))
def quantized_dynamic():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    return torch.jit.script(torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8))


@made((t(2, 3),))
def quantized_half():
    net = nn.Sequential(nn.Linear(3, 4))
    return torch.jit.script(torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.float16))


class Sequence(nn.Module):
    """A recurrent layer in a module: by itself it has no `forward` once it is scripted."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor):
        return self.layer(x)


def sequence(layer, dtype):
    kinds = {type(layer)}
    return torch.jit.script(torch.ao.quantization.quantize_dynamic(Sequence(layer), kinds, dtype=dtype))


@made((t(2, 1, 3),))
def quantized_lstm():
    return sequence(nn.LSTM(3, 4), torch.qint8)


@made((t(2, 2),))
def quantized_tensors():
    class Tensors(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("whole", torch.quantize_per_tensor(t(2, 2), 0.5, 3, torch.quint8))
            scales, zeros = torch.tensor([0.5, 0.25]), torch.tensor([0, 1])
            self.register_buffer("channels", torch.quantize_per_channel(t(2, 2), scales, zeros, 0, torch.qint8))

        def forward(self, x: Tensor) -> Tensor:
            y = torch.quantize_per_tensor(x, 0.1, 5, torch.qint32)
            return self.whole.dequantize() + self.channels.dequantize() + y.dequantize() + y.q_scale() + y.q_zero_point()

    return torch.jit.script(Tensors())


@made((t(2, 1, 3),))
def quantized_gru():
    return sequence(nn.GRU(3, 4, bidirectional=True), torch.qint8)


@made((t(2, 1, 3),))
def quantized_lstm_half():
    return sequence(nn.LSTM(3, 4, 2, batch_first=True), torch.float16)


@made((t(2, 3),))
def quantized_cells():
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.gru = nn.LSTMCell(3, 4), nn.GRUCell(4, 2)
            self.tanh, self.relu = nn.RNNCell(2, 3), nn.RNNCell(3, 3, nonlinearity="relu")

        def forward(self, x: Tensor) -> Tensor:
            h, c = self.lstm(x)
            return self.relu(self.tanh(self.gru(h + c)))

    kinds = {nn.LSTMCell, nn.GRUCell, nn.RNNCell}
    return torch.jit.script(torch.ao.quantization.quantize_dynamic(Cells(), kinds, dtype=torch.qint8))


@made((torch.tensor([1, 0, 3, 2]), torch.tensor([0, 3])))
def quantized_embeddings():
    class Embeddings(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.bag = nn.Embedding(5, 8), nn.EmbeddingBag(5, 8, mode="sum", include_last_offset=False)

        def forward(self, x: Tensor, offsets: Tensor):
            return self.one(x), self.bag(x, offsets)

    net = Embeddings()
    net.qconfig = torch.ao.quantization.float_qparams_weight_only_qconfig
    return torch.jit.script(torch.ao.quantization.convert(torch.ao.quantization.prepare(net)))


@made((torch.tensor([0, 2]), torch.tensor([0, 1])))
def quantized_float_qparams():
    """Channels whose zero points are no integers, as a buffer and made anew. (PyTorch does not read the archives
    with tensors of four bits that it writes.)"""

    class Tensors(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales, self.zeros = torch.tensor([0.5, 0.25, 0.3]), torch.tensor([7.3, 1.5, 9.0])
            self.register_buffer("whole", torch.quantize_per_channel(t(3, 4), self.scales, self.zeros, 0, torch.quint8))
            self.packed = torch.ops.quantized.embedding_bag_prepack(self.whole)

        def forward(self, x: Tensor, offsets: Tensor):
            real = self.whole.dequantize()
            made = torch.quantize_per_channel(real * 1.5, self.scales, self.zeros, 0, torch.quint8)
            nibbles = torch.quantize_per_channel(real, self.scales, self.zeros, 0, torch.quint4x2)
            packed = torch.ops.quantized.embedding_bag_prepack(nibbles)
            found = torch.ops.quantized.embedding_4bit(packed, x), torch.ops.quantized.embedding_bag_4bit(packed, x, offsets)
            kept = torch.ops.quantized.embedding_bag_unpack(self.packed).dequantize()
            of = made.q_per_channel_scales(), made.q_per_channel_zero_points(), made.q_per_channel_axis()
            held = torch.ops.quantized.embedding_byte(self.packed, x), torch.ops.quantized.embedding_bag_byte(self.packed, x, offsets)
            return made.dequantize(), made.int_repr(), nibbles.dequantize(), nibbles.int_repr(), found, kept, held, of

    return torch.jit.script(Tensors())


class Layered(nn.Module):
    """Layers that have quantized forms of their own."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.up = nn.ConvTranspose2d(2, 4, 2, stride=2, output_padding=1)
        self.norm, self.elu = nn.BatchNorm2d(4), nn.ELU()
        self.group, self.instance, self.layer = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LayerNorm([9, 9])
        self.swish, self.leaky, self.sigmoid, self.six = nn.Hardswish(), nn.LeakyReLU(0.2), nn.Sigmoid(), nn.ReLU6()
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Tensor):
        x = self.up(self.quant(x))
        a, b = self.norm(x), self.elu(x)
        d, e, f = self.group(x), self.instance(x), self.layer(x)
        g, h, i, j = self.swish(x), self.leaky(x), self.sigmoid(x), self.six(x)
        return [self.dequant(y) for y in [a, b, d, e, f, g, h, i, j, self.pool(x)]]


def layered():
    torch.backends.quantized.engine = "fbgemm"
    net = Layered().eval()
    net.qconfig = torch.ao.quantization.QConfig(
        activation=torch.ao.quantization.HistogramObserver.with_args(reduce_range=True), weight=torch.ao.quantization.default_weight_observer)
    prepared = torch.ao.quantization.prepare(net)
    prepared((image - 0.5) * 3)
    return torch.ao.quantization.convert(prepared)


@made(((image - 0.5) * 3,))
def quantized_layers():
    return torch.jit.trace(layered(), (image - 0.5) * 3)


def arithmetic(name, body):
    """A case of a program over two quantized tensors."""
    source = f"""def f(a, b):
  x = torch.quantize_per_tensor(a, 0.05, 60, torch.quint8)
  y = torch.quantize_per_tensor(b, 0.1, 10, torch.quint8)
  z = {body}
  return z.dequantize(), z.q_scale(), z.q_zero_point()
"""
    from registry import Case, register
    left, right = (t(2, 3, 4) - 5) / 3, (t(2, 3, 4) - 1) / 2
    register(f"quantized_op_{name}", Case(lambda: torch.jit.CompilationUnit(source).f, ((left, right),), ready=True))


for name, body in {
    "add_scalar": "torch.ops.quantized.add_scalar(x, 1.5)",
    "add_scalar_down": "torch.ops.quantized.add_scalar(x, -20)",
    "add_scalar_up": "torch.ops.quantized.add_scalar(x, 20.)",
    "add_scalar_relu": "torch.ops.quantized.add_scalar_relu(x, 0.5)",
    "add_number": "torch.ops.quantized.add(x, 2)",
    "mul_scalar": "torch.ops.quantized.mul_scalar(x, 1.5)",
    "mul_scalar_negative": "torch.ops.quantized.mul_scalar(x, -2)",
    "mul_scalar_zero": "torch.ops.quantized.mul_scalar(x, 0)",
    "mul_scalar_relu": "torch.ops.quantized.mul_scalar_relu(x, -0.5)",
    "mul_number": "torch.ops.quantized.mul(x, 2.5)",
    "celu": "torch.ops.quantized.celu(x, 0.05, 40, 1.5)",
    "elu": "torch.ops.quantized.elu(x, 0.05, 40, 1.5)",
    "clamp": "torch.ops.quantized.clamp(x, -0.5, 1.)",
    "clamp_method": "x.clamp(-0.5, 1.)",
    "relu6": "torch.ops.quantized.relu6(x)",
    "threshold": "torch.ops.quantized.threshold(x, 0.5, -1.0)",
    "softmax": "torch.ops.quantized.softmax(x, 1, 0.00390625, 0)",
    "matmul": "torch.ops.quantized.matmul(x, y.transpose(1, 2), 0.2, 50)",
    "max_pool1d": "torch.ops.quantized.max_pool1d(x, [2], [1], [1], [1], False)",
    "layer_norm": "torch.ops.quantized.layer_norm(x, [4], None, None, 1e-5, 0.02, 128)",
    "group_norm": "torch.ops.quantized.group_norm(x, 3, None, None, 1e-5, 0.02, 128)",
    "instance_norm": "torch.ops.quantized.instance_norm(x, None, None, 1e-5, 0.02, 128)",
    "hardtanh": "torch.ops.aten.hardtanh(x, -1, 1)",
    "mean": "torch.mean(x, [1])",
    "topk": "torch.topk(x, 2, 1)[0]",
    "sort": "torch.sort(x, 2)[0]",
    "cat_dim": "torch.ops.quantized.cat([x, y], 1, 0.1, 30)",
    "tanh": "torch.tanh(x)",
    "sigmoid": "torch.sigmoid(x)",
    "upsample": "torch.ops.aten.upsample_nearest2d(x.unsqueeze(0), [6, 8])",
    "stack": "torch.stack([x, x], 0)",
    "index": "x[:, 1:, ::2]",
    "flip": "torch.flip(x, [0, 2])",
    "max": "torch.max(x, 1)[0]",
    "index_select": "torch.index_select(x, 2, torch.tensor([0, 2]))",
    "clone": "x.clone()",
    "reshape": "x.reshape([6, 4]).permute([1, 0])",
    "hardsigmoid": "torch.ops.aten.hardsigmoid(x)",
    "leaky": "torch.ops.aten.leaky_relu(x, 0.3)",
    "pad": "torch.constant_pad_nd(x, [1, 1], 0.)",
}.items():
    arithmetic(name, body)


def rows(name, bits, call, *calls):
    """A case of a bag over a matrix quantized row by row, as rows of bytes."""
    source = f"""def f(w, x, offsets: Optional[Tensor], factors: Optional[Tensor], mapping: Optional[Tensor]):
  p = torch.ops.quantized.embedding_bag_{bits}_prepack(w)
  y = torch.ops.quantized.embedding_bag_{bits}_rowwise_offsets(p, x, offsets{call})
  return p, torch.ops.quantized.embedding_bag_{bits}_unpack(p), y
"""
    from registry import Case, register
    weight = (t(5, 8) * 7).sin()
    calls = tuple((weight, *arguments, *[None] * (4 - len(arguments))) for arguments in calls)
    register(f"quantized_rows_{name}_{bits}", Case(lambda: torch.jit.CompilationUnit(source).f, calls, ready=True))


indices, offsets, factors = torch.tensor([1, 0, 3, 2]), torch.tensor([0, 3]), torch.tensor([0.5, 1, 2, -1])
mapping = torch.tensor([0, -1, 1, 2, -1], dtype=torch.int32)
for bits in ("byte", "4bit", "2bit"):
    rows("sum", bits, "", (indices, offsets), (indices.int(), offsets.int()), (indices, torch.tensor([0, 0, 4])),
         (indices, torch.tensor([1, 2])), (indices[:0], torch.tensor([0, 0])), (indices.reshape(2, 2),), (indices,),
         (indices.reshape(2, 2), offsets), (indices + 4, torch.tensor([0])), (indices.float(), offsets), (indices.reshape(1, 2, 2),))
    rows("mean", bits, ", False, 1", (indices, offsets))
    rows("factors", bits, ", False, 0, False, factors", (indices, offsets, factors))
    rows("pruned", bits, ", False, 0, True, None, mapping", (indices, offsets, None, mapping), (indices, offsets))
    rows("last", bits, ", False, 0, False, None, None, True", (indices, torch.tensor([0, 3, 4])))


class Pools(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        last = x.contiguous(memory_format=torch.channels_last)
        found = [F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(last, 3, 2, 1, count_include_pad=False),
                 F.avg_pool2d(x, 2, ceil_mode=True, divisor_override=3)]
        return torch.cat([pooled.int_repr().flatten() for pooled in found])


@made((torch.quantize_per_tensor(t(1, 2, 5, 5) - 25, 1.0, 101, torch.quint8),))
def quantized_pools():
    return torch.jit.script(Pools())


class Packs(nn.Module):
    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        packed = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(weight, 0.5, 0, torch.qint8), None)
        return torch.ops.quantized.linear_dynamic(x, packed)


@made((t(2, 3), t(4, 3)))
def quantized_packs():
    """No type of the program names the class of the packed weight."""
    return torch.jit.script(Packs())


class OldCalls(nn.Module):
    """Convolutions as older archives call them; PyTorch writes them anew when it loads a module."""

    def __init__(self):
        super().__init__()
        weight = torch.quantize_per_tensor(torch.arange(54.0).reshape(3, 2, 3, 3) / 50 - 0.5, 0.01, 0, torch.qint8)
        bias = torch.tensor([0.5, -0.25, 0.0])
        self.packed = torch.ops.quantized.conv2d_prepack(weight, bias, [1, 1], [1, 1], [1, 1], 1)

    def forward(self, x: Tensor, again: bool) -> Tensor:
        q = torch.quantize_per_tensor(x, 0.02, 3, 13)
        y = torch.ops.quantized.conv2d(q, self.packed, [1, 1], [1, 1], [1, 1], 1, 0.05, 2)
        if again:
            y = torch.ops.quantized.conv2d_relu(q, self.packed, [1, 1], [1, 1], [1, 1], 1, 0.05, 2)
        new = torch.ops.quantized.conv2d(q, self.packed, 0.05, 2)
        return y.dequantize() + self.helper(q) + new.dequantize()

    def helper(self, q: Tensor) -> Tensor:
        return torch.ops.quantized.conv2d(q, self.packed, [1, 1], [1, 1], [1, 1], 1, 0.05, 2).dequantize()


@made()
def quantized_old_calls():
    """Not called: engines round differently, and cases before this one choose theirs."""
    return torch.jit.script(OldCalls())
