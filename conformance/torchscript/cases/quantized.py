"""Quantized modules, whose packed weights are objects of C++ classes."""
import torch
from torch import Tensor, nn

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


@made((t(2, 1, 3),))
def quantized_lstm():
    net = nn.LSTM(3, 4)
    return torch.jit.script(torch.ao.quantization.quantize_dynamic(net, {nn.LSTM}, dtype=torch.qint8))


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
