"""Makes the models whose speed is measured: `infer_models.py FOLDER`.

For each NAME: `NAME.pt`, scripted, in eval mode, with seeded weights; `NAME.args.pt`, a list of
arguments; `NAME.expect.pt`, what PyTorch gives for them; `NAME.onnx`, the same network for ONNX Runtime and
OpenVINO, where the package onnx is installed. What is there already is left as it is.
"""

import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Tuple

import torch
import torchvision
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Bert(nn.Module):
    """Embeddings and blocks that are normalised after each sum."""

    def __init__(self, width: int, heads: int, depth: int):
        super().__init__()
        self.words, self.places = nn.Embedding(8192, width), nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width)
        layers = [nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True) for _ in range(depth)]
        self.layers = nn.ModuleList(layers)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.words(words) + self.places(torch.arange(words.size(1))))
        for layer in self.layers:
            x = layer(x)
        return x


def twice(inputs: int, outputs: int) -> nn.Module:
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class Unet(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.down1, self.down2, self.down3 = twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)
        self.middle, self.pool = twice(4 * width, 8 * width), nn.MaxPool2d(2)
        self.to3, self.up3 = nn.ConvTranspose2d(8 * width, 4 * width, 2, 2), twice(8 * width, 4 * width)
        self.to2, self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), twice(4 * width, 2 * width)
        self.to1, self.up1 = nn.ConvTranspose2d(2 * width, width, 2, 2), twice(2 * width, width)
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.down3(self.pool(b))
        x = self.middle(self.pool(c))
        x = self.up3(torch.cat([c, self.to3(x)], 1))
        x = self.up2(torch.cat([b, self.to2(x)], 1))
        return self.out(self.up1(torch.cat([a, self.to1(x)], 1)))


class RepVgg(nn.Module):
    """A block as it is trained: branches of one value that are added up."""

    def __init__(self, width: int):
        super().__init__()
        self.large = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))
        self.small = nn.Sequential(nn.Conv2d(width, width, 1, bias=False), nn.BatchNorm2d(width))
        self.same = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.large(x) + self.small(x) + self.same(x))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(128, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x)[0]


class LstmCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(128, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(x.size(1), 128)
        c = torch.zeros(x.size(1), 128)
        for i in range(x.size(0)):
            h, c = self.cell(x[i], (h, c))
        return h


class TensorLoop(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = x + y
        return x


class IntLoop(nn.Module):
    def forward(self, n: int) -> int:
        a = 1
        for i in range(n):
            a = (a * 3 + i) & 1048575
        return a


class Pointwise(nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * w + b) * torch.sigmoid(y) + x


class HandMlp(nn.Module):
    """A gated layer with its activation spelled out, as programs of others have it."""

    def __init__(self):
        super().__init__()
        self.up, self.gate, self.down = nn.Linear(256, 1024), nn.Linear(256, 1024), nn.Linear(1024, 256)
        self.scale = nn.Parameter(torch.rand(256))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        up, gate = self.up(x), self.gate(x)
        gelu = 0.5 * up * (1 + torch.tanh(0.7978845608 * (up + 0.044715 * torch.pow(up, 3))))
        return self.down(gelu * gate * torch.sigmoid(gate)) * self.scale + x


def brain_linear(columns, rows):
    """A layer in bfloat16 of which every sum is exact, in whatever order it is made."""
    layer = nn.Linear(columns, rows, dtype=torch.bfloat16)
    for parameter in layer.parameters():
        parameter.copy_(torch.randint(-8, 9, parameter.shape) / 64)
    return layer


def image(size, channels=3):
    return [torch.rand(1, channels, size, size)]


MODELS = {
    "resnet18": (lambda: torchvision.models.resnet18(), lambda: image(224)),
    "mobilenet_v2": (lambda: torchvision.models.mobilenet_v2(), lambda: image(224)),
    **{
        name: ((lambda name=name: getattr(torchvision.models, name)()), (lambda: image(224)))
        for name in (
            "resnet50",
            "vgg11",
            "densenet121",
            "regnet_y_400mf",
            "efficientnet_b0",
            "shufflenet_v2_x1_0",
            "mobilenet_v3_large",
            "convnext_tiny",
            "swin_t",
            "vit_b_16",
        )
    },
    "inception_v3": (lambda: torchvision.models.inception_v3(init_weights=False), lambda: image(299)),
    "unet": (lambda: Unet(32), lambda: image(160)),
    "bert": (lambda: Bert(256, 4, 4), lambda: [torch.randint(0, 8192, (1, 128))]),
    "repvgg_block": (
        lambda: nn.Sequential(nn.Conv2d(3, 64, 3, 2, 1), *[RepVgg(64) for _ in range(4)]),
        lambda: image(112),
    ),
    "encoder": (
        lambda: nn.Sequential(*[Block(384, 6) for _ in range(6)]),
        lambda: [torch.randn(1, 128, 384)],
    ),
    "nn_encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True), 6),
        lambda: [torch.randn(1, 128, 384)],
    ),
    "lstm": (Lstm, lambda: [torch.randn(100, 1, 128)]),
    "lstm_batch": (Lstm, lambda: [torch.randn(50, 32, 128)]),
    "lstm_cell": (LstmCell, lambda: [torch.randn(100, 1, 128)]),
    "small_cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 7 * 7, 10),
        ),
        lambda: image(28, 1),
    ),
    "mlp": (
        lambda: nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)),
        lambda: [torch.randn(1, 32)],
    ),
    "tensor_loop": (TensorLoop, lambda: [torch.randn(16), torch.randn(16), 10_000]),
    "pointwise": (Pointwise, lambda: [torch.randn(65_536) for _ in range(4)]),
    "hand_mlp": (HandMlp, lambda: [torch.randn(64, 256)]),
    "brain_token": (
        lambda: brain_linear(2048, 8192),
        lambda: [torch.randint(-4, 5, (1, 2048)).to(torch.bfloat16)],
    ),
    "brain_prompt": (
        lambda: brain_linear(1024, 1024),
        lambda: [torch.randint(-4, 5, (128, 1024)).to(torch.bfloat16)],
    ),
    "int_loop": (IntLoop, lambda: [100_000]),
}

# Networks that are not exported to ONNX: loops, in bfloat16, or twice the same.
NOT_ONNX = ["nn_encoder", "lstm_cell", "tensor_loop", "brain_token", "brain_prompt", "int_loop"]
# Whose type of result depends on whether it is scripted.
TRACED = ["inception_v3"]

warnings.filterwarnings("ignore")
torch.set_grad_enabled(False)
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, (make, arguments) in MODELS.items():
    path = folder / f"{name}.pt"
    if path.exists():
        continue
    torch.manual_seed(0)
    model = make().eval()
    # Random weights let values grow from block to block: keep them in range.
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    arguments = arguments()
    if name not in NOT_ONNX and importlib.util.find_spec("onnx"):
        onnx = str(folder / f"{name}.onnx")
        # ONNX has no operator for whole encoder layers, which layers use where no gradients are asked for.
        torch.backends.mha.set_fastpath_enabled(False)
        torch.onnx.export(model, tuple(arguments), onnx, dynamo=False, opset_version=17)
        torch.backends.mha.set_fastpath_enabled(True)
    model = torch.jit.trace(model, tuple(arguments)) if name in TRACED else torch.jit.script(model)
    torch.save(arguments, folder / f"{name}.args.pt")
    torch.save(model(*arguments), folder / f"{name}.expect.pt")
    model.save(str(folder / f"{name}.tmp"))
    (folder / f"{name}.tmp").rename(path)
