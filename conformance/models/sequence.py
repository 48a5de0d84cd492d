"""Makes models of sequences as TorchScript archives, with what PyTorch gives for them.

    python sequence.py OUT [--only REGEX]

Recurrent, attention and word models, written here and of torch.nn, scripted and traced. Each becomes
a folder OUT/NAME with `model.pt` and `calls.pt` (arguments and results, after `torch.manual_seed(0)`),
which the `calls` example of sconce-runtime reads. Weights are random but the same every time. With
the package silero-vad installed, its voice activity detector is one of them.
"""

import argparse
import math
import os
import re
import shutil
import sys
import warnings
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

MODELS = {}


def model(*calls, how=("script",), train=False):
    """A model class, and functions that make the arguments of its calls."""

    def add(item):
        MODELS[item.__name__] = (item, calls, how, train)
        return item

    return add


def named(name, make, *calls, how=("script",), train=False):
    MODELS[name] = (make, calls, how, train)


def ids(*shape, top=50):
    return torch.randint(0, top, shape)


class Recurrent(nn.Module):
    """nn.RNN, nn.LSTM and nn.GRU cannot be called themselves once scripted."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class WithState(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, h):
        return self.layer(x, h)


class WithTwoStates(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.layer = nn.LSTM(8, 6, **options)

    def forward(self, x, h, c):
        return self.layer(x, (h, c))


for kind, make in {
    "rnn_tanh": lambda **o: nn.RNN(8, 6, **o),
    "rnn_relu": lambda **o: nn.RNN(8, 6, nonlinearity="relu", **o),
    "lstm": lambda **o: nn.LSTM(8, 6, **o),
    "gru": lambda **o: nn.GRU(8, 6, **o),
}.items():
    for what, options in {
        "plain": {},
        "no_bias": {"bias": False},
        "deep": {"num_layers": 3},
        "both_ways": {"bidirectional": True, "num_layers": 2, "batch_first": True},
        "batch_first": {"batch_first": True},
    }.items():
        named(
            f"{kind}_{what}",
            lambda make=make, options=options: Recurrent(make(**options)),
            lambda: (torch.randn(7, 3, 8),),
            lambda: (torch.randn(1, 1, 8),),
            lambda: (torch.randn(7, 8),),
            how=("script", "trace"),
        )
    named(
        f"{kind}_dropout_in_training",
        lambda make=make: Recurrent(make(num_layers=3, dropout=0.4)),
        lambda: (torch.randn(7, 3, 8),),
        train=True,
    )
    named(
        f"{kind}_double",
        lambda make=make: Recurrent(make(num_layers=2, bidirectional=True)).double(),
        lambda: (torch.randn(4, 2, 8).double(),),
    )

for kind in ("RNN", "GRU"):
    named(
        f"{kind.lower()}_with_state",
        lambda kind=kind: WithState(getattr(nn, kind)(8, 6, num_layers=2)),
        lambda: (torch.randn(5, 2, 8), torch.randn(2, 2, 6)),
    )
named("lstm_with_states", lambda: WithTwoStates(num_layers=2), lambda: (torch.randn(5, 2, 8), torch.randn(2, 2, 6), torch.randn(2, 2, 6)))
named("lstm_projected", lambda: Recurrent(nn.LSTM(8, 6, proj_size=3, num_layers=2, bidirectional=True)), lambda: (torch.randn(5, 2, 8),))
named("lstm_projected_with_states", lambda: WithTwoStates(proj_size=3), lambda: (torch.randn(5, 2, 8), torch.randn(1, 2, 3), torch.randn(1, 2, 6)))


class Packed(nn.Module):
    def __init__(self, layer: nn.Module, batch_first: bool, enforce_sorted: bool):
        super().__init__()
        self.layer = layer
        self.batch_first = batch_first
        self.enforce_sorted = enforce_sorted

    def forward(self, x: Tensor, lengths: Tensor):
        packed = pack_padded_sequence(x, lengths, batch_first=self.batch_first, enforce_sorted=self.enforce_sorted)
        out, last = self.layer(packed)
        padded, found = pad_packed_sequence(out, batch_first=self.batch_first, padding_value=-1.0)
        return padded, found, last


for kind in ("RNN", "LSTM", "GRU"):
    for batch_first in (False, True):
        sizes = (4, 5, 8) if batch_first else (5, 4, 8)
        named(
            f"{kind.lower()}_packed_{'batch_first' if batch_first else 'time_first'}",
            lambda kind=kind, b=batch_first: Packed(getattr(nn, kind)(8, 6, num_layers=2, bidirectional=True, batch_first=b), b, True),
            lambda sizes=sizes: (torch.randn(sizes), torch.tensor([5, 4, 4, 1])),
            lambda sizes=sizes: (torch.randn(sizes), torch.tensor([4, 3, 2, 2])),
            lambda sizes=sizes: (torch.randn(sizes), torch.tensor([4, 5, 2, 2])),
        )
        named(
            f"{kind.lower()}_packed_unsorted_{'batch_first' if batch_first else 'time_first'}",
            lambda kind=kind, b=batch_first: Packed(getattr(nn, kind)(8, 6, batch_first=b), b, False),
            lambda sizes=sizes: (torch.randn(sizes), torch.tensor([2, 5, 1, 4])),
        )


@model(lambda: (torch.randn(6, 3, 8),), how=("script",))
class Cells(nn.Module):
    """Each kind of cell in a loop of the program."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(8, 6)
        self.gru = nn.GRUCell(6, 5)
        self.tanh = nn.RNNCell(5, 4)
        self.relu = nn.RNNCell(4, 3, nonlinearity="relu", bias=False)

    def forward(self, x: Tensor):
        h, c = torch.zeros(x.size(1), 6), torch.zeros(x.size(1), 6)
        g, t, r = torch.zeros(x.size(1), 5), torch.zeros(x.size(1), 4), torch.zeros(x.size(1), 3)
        outputs: List[Tensor] = []
        for step in x.unbind(0):
            h, c = self.lstm(step, (h, c))
            g = self.gru(h, g)
            t = self.tanh(g, t)
            r = self.relu(t, r)
            outputs.append(r)
        return torch.stack(outputs), c


class SelfAttention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, **options)

    def forward(self, x: Tensor, padding: Optional[Tensor] = None, mask: Optional[Tensor] = None):
        return self.attention(x, x, x, key_padding_mask=padding, attn_mask=mask)


def padding(batch, length):
    return torch.arange(length).expand(batch, length) >= torch.arange(length - batch + 1, length + 1).unsqueeze(1)


def causal(length):
    return torch.triu(torch.ones(length, length, dtype=torch.bool), 1)


for what, options in {
    "plain": {"batch_first": True},
    "time_first": {},
    "extra_keys": {"add_bias_kv": True, "add_zero_attn": True},
}.items():
    first = options.get("batch_first", False)
    sizes = (2, 5, 16) if first else (5, 2, 16)
    named(
        f"attention_{what}",
        lambda options=options: SelfAttention(**options),
        lambda sizes=sizes: (torch.randn(sizes),),
        lambda sizes=sizes: (torch.randn(sizes), padding(2, 5)),
        lambda sizes=sizes: (torch.randn(sizes), padding(2, 5), causal(5)),
        lambda sizes=sizes: (torch.randn(sizes), None, torch.randn(5, 5)),
        lambda sizes=sizes: (torch.randn(5, 16),),
    )
named("attention_no_bias", lambda: SelfAttention(bias=False, batch_first=True), lambda: (torch.randn(2, 5, 16),), how=("trace",))
named("encoder_no_bias", lambda: Encoder(batch_first=True, bias=False), lambda: (torch.randn(2, 5, 16),), how=("trace",))
named("attention_traced", lambda: SelfAttention(batch_first=True), lambda: (torch.randn(2, 5, 16),), how=("trace",))
named("attention_training", lambda: SelfAttention(dropout=0.3), lambda: (torch.randn(5, 2, 16),), train=True)


@model(lambda: (torch.randn(2, 5, 16), torch.randn(2, 7, 12), torch.randn(2, 7, 10)))
class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, kdim=12, vdim=10, batch_first=True)

    def forward(self, q: Tensor, k: Tensor, v: Tensor):
        out, weights = self.attention(q, k, v, need_weights=True, average_attn_weights=False)
        return out, weights


class Encoder(nn.Module):
    def __init__(self, nested=False, layers=2, norm=False, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, **options)
        last = nn.LayerNorm(16) if norm else None
        self.encoder = nn.TransformerEncoder(layer, layers, norm=last, enable_nested_tensor=nested)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None, padding: Optional[Tensor] = None):
        return self.encoder(x, mask=mask, src_key_padding_mask=padding)


for what, options in {
    "plain": {"batch_first": True},
    "time_first": {},
    "gelu_norm_first": {"batch_first": True, "activation": "gelu", "norm_first": True, "norm": True},
}.items():
    sizes = (2, 5, 16) if options.get("batch_first", False) else (5, 2, 16)
    named(
        f"encoder_{what}",
        lambda options=options: Encoder(**options),
        lambda sizes=sizes: (torch.randn(sizes),),
        lambda sizes=sizes: (torch.randn(sizes), causal(5)),
        lambda sizes=sizes: (torch.randn(sizes), None, padding(2, 5)),
        lambda sizes=sizes: (torch.randn(sizes), causal(5), padding(2, 5)),
    )
named("encoder_traced", lambda: Encoder(batch_first=True), lambda: (torch.randn(2, 5, 16),), how=("trace",))
named("encoder_training", lambda: Encoder(batch_first=True, dropout=0.2), lambda: (torch.randn(2, 5, 16),), train=True)
named("encoder_training_time_first", lambda: Encoder(dropout=0.2), lambda: (torch.randn(5, 2, 16),), train=True)
named("encoder_nested", lambda: Encoder(nested=True, batch_first=True), lambda: (torch.randn(2, 5, 16),), lambda: (torch.randn(2, 5, 16), None, padding(2, 5)))


@model(lambda: (torch.randn(2, 4, 16), torch.randn(2, 6, 16)), how=("script", "trace"))
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), 2)
        self.register_buffer("mask", causal(4))

    def forward(self, target: Tensor, memory: Tensor):
        return self.decoder(target, memory, tgt_mask=self.mask)


@model(lambda: (torch.randn(6, 2, 16), torch.randn(4, 2, 16)), how=("script", "trace"))
class WholeTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(16, 4, 2, 2, 32)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(4))

    def forward(self, source: Tensor, target: Tensor):
        return self.transformer(source, target, tgt_mask=self.mask, tgt_is_causal=True)


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: Tensor, past: Optional[Tuple[Tensor, Tensor]]):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).split(width, dim=2)
        q = q.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        k = k.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + self.out(y.transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.mlp(self.norm_2(x)), (k, v)


@model(lambda: (ids(2, 6), 3), lambda: (ids(1, 1), 5))
class Gpt(nn.Module):
    """Generates greedily, with what it has seen kept."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.blocks = nn.ModuleList([GptBlock(32, 4) for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 50, bias=False)

    def forward(self, tokens: Tensor, steps: int):
        past: List[Tuple[Tensor, Tensor]] = []
        seen, current, at = tokens, tokens, 0
        logits = torch.zeros(1)
        for step in range(steps):
            places = torch.arange(at, at + current.size(1))
            x = self.words(current) + self.places(places)
            now: List[Tuple[Tensor, Tensor]] = []
            for index, block in enumerate(self.blocks):
                before: Optional[Tuple[Tensor, Tensor]] = None
                if step > 0:
                    before = past[index]
                x, kept = block(x, before)
                now.append(kept)
            past = now
            at += current.size(1)
            logits = self.head(self.norm(x))[:, -1]
            current = logits.argmax(-1, keepdim=True)
            seen = torch.cat([seen, current], dim=1)
        return seen, logits


@model(lambda: (ids(2, 7), torch.ones(2, 7)), lambda: (ids(2, 7), (~padding(2, 7)).float()), how=("script", "trace"))
class Bert(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4):
        super().__init__()
        self.heads, self.width = heads, width
        self.words, self.places, self.kinds = nn.Embedding(50, width, padding_idx=0), nn.Embedding(16, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out, self.norm_1 = nn.Linear(width, width), nn.LayerNorm(width)
        self.up, self.down, self.norm_2 = nn.Linear(width, 64), nn.Linear(64, width), nn.LayerNorm(width)
        self.pool = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, self.width // self.heads).permute(0, 2, 1, 3)

    def forward(self, tokens: Tensor, seen: Tensor):
        places = torch.arange(tokens.size(1)).unsqueeze(0)
        x = self.norm(self.words(tokens) + self.places(places) + self.kinds(torch.zeros_like(tokens)))
        bias = (1.0 - seen)[:, None, None, :] * -10000.0
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) + bias, dim=-1)
        y = (weights @ v).permute(0, 2, 1, 3).reshape(tokens.size(0), tokens.size(1), self.width)
        x = self.norm_1(x + self.out(y))
        x = self.norm_2(x + self.down(F.gelu(self.up(x))))
        return x, torch.tanh(self.pool(x[:, 0]))


@model(lambda: (torch.randn(2, 5, 32),))
class LlamaBlock(nn.Module):
    """Rotated positions, grouped heads, root-mean-square norms, gated linear units."""

    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.RMSNorm(32), nn.RMSNorm(32, eps=1e-6)
        self.q, self.k, self.v, self.o = nn.Linear(32, 32, False), nn.Linear(32, 16, False), nn.Linear(32, 16, False), nn.Linear(32, 32, False)
        self.gate, self.up, self.down = nn.Linear(32, 48, False), nn.Linear(32, 48, False), nn.Linear(48, 32, False)

    def rotate(self, x: Tensor) -> Tensor:
        steps = torch.arange(x.size(2), dtype=torch.float32)
        rates = 1.0 / (10000.0 ** (torch.arange(0, 8, 2, dtype=torch.float32) / 8))
        angles = torch.outer(steps, rates)
        cos, sin = torch.cat([angles.cos(), angles.cos()], -1), torch.cat([angles.sin(), angles.sin()], -1)
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x: Tensor):
        batch, length, _ = x.shape
        y = self.norm_1(x)
        q = self.rotate(self.q(y).view(batch, length, 4, 8).transpose(1, 2))
        k = self.rotate(self.k(y).view(batch, length, 2, 8).transpose(1, 2))
        v = self.v(y).view(batch, length, 2, 8).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, 32))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@model(lambda: (torch.randn(4, 10),), how=("script", "trace"))
class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(10, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 32), nn.Tanh(), nn.Dropout(0.5), nn.Linear(32, 3), nn.LogSoftmax(-1))


@model(lambda: (torch.randn(2, 1, 28, 28),), how=("script", "trace"))
class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return F.log_softmax(self.head(torch.flatten(self.features(x), 1)), dim=1)


@model(lambda: (ids(5, 3), None), lambda: (ids(5, 3), (torch.randn(2, 3, 12), torch.randn(2, 3, 12))))
class WordLstm(nn.Module):
    """The word language model of PyTorch's examples."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(50, 12)
        self.rnn = nn.LSTM(12, 12, 2, dropout=0.2)
        self.decoder = nn.Linear(12, 50)
        self.decoder.weight = self.encoder.weight

    def forward(self, words: Tensor, state: Optional[Tuple[Tensor, Tensor]]):
        out, state = self.rnn(self.encoder(words), state)
        return F.log_softmax(self.decoder(out).view(-1, 50), dim=1), state


@model(lambda: (ids(9), torch.tensor([0, 4, 6])), lambda: (ids(4), torch.tensor([0, 0, 4])))
class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.most = nn.EmbeddingBag(50, 8), nn.EmbeddingBag(50, 8, mode="max")
        self.total = nn.EmbeddingBag(50, 8, mode="sum", padding_idx=3)
        self.head = nn.Linear(24, 4)

    def forward(self, words: Tensor, offsets: Tensor):
        return self.head(torch.cat([self.mean(words, offsets), self.most(words, offsets), self.total(words, offsets)], 1))


@model(lambda: ({"a": ids(4), "bb": ids(2)},))
class Tagger(nn.Module):
    """Sentences by name, padded, read both ways, scored."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 8, max_norm=1.0)
        self.rnn = nn.GRU(8, 6, bidirectional=True, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, sentences: Dict[str, Tensor]) -> Dict[str, Tensor]:
        padded = nn.utils.rnn.pad_sequence(list(sentences.values()), batch_first=True)
        scores = self.head(self.rnn(self.words(padded))[0])
        found: Dict[str, Tensor] = {}
        for row, (name, words) in enumerate(sentences.items()):
            found[name] = scores[row, : words.size(0)].argmax(-1)
        return found


@model(lambda: (torch.randn(2, 5, 8), ids(2, 5, top=6)), train=True)
class Trained(nn.Module):
    """What a step of training computes before it goes back: dropout and losses."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 6))

    def forward(self, x: Tensor, y: Tensor):
        scores = self.layers(x)
        loss = F.cross_entropy(scores.flatten(0, 1), y.flatten(), label_smoothing=0.1)
        margin = F.multi_margin_loss(scores.flatten(0, 1), y.flatten())
        return loss, margin, F.kl_div(F.log_softmax(scores, -1), F.softmax(torch.randn_like(scores), -1), reduction="batchmean")


def silero():
    """The detector of the package silero-vad, which is a scripted archive."""
    import importlib.util

    place = os.path.dirname(importlib.util.find_spec("silero_vad").origin)
    return torch.jit.load(os.path.join(place, "data", "silero_vad.jit"))


def plain(value):
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, PackedSequence):
        return tuple(plain(part) for part in value)
    if isinstance(value, (tuple, list)):
        return type(value)(plain(part) for part in value)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value


def record(program, calls, folder):
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt")
    torch.jit.save(program, path)
    said = []
    for arguments in calls:
        kept = plain(arguments)
        loaded = torch.jit.load(path)
        torch.manual_seed(0)
        try:
            said.append({"arguments": kept, "result": plain(loaded(*arguments)), "seed": 0})
        except RuntimeError as error:  # what PyTorch says is the answer
            said.append({"arguments": kept, "error": str(error), "seed": 0})
    torch.save(said, os.path.join(folder, "calls.pt"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore")
    made, failed = 0, []
    try:
        MODELS["silero_vad"] = (silero, tuple(lambda rate=rate: (torch.randn(1, rate // 31 - rate // 31 % 256) / 4, rate) for rate in (8000, 16000)), ("as it is",), False)
        MODELS["silero_vad"][0]()
    except (ImportError, AttributeError, ValueError) as error:
        del MODELS["silero_vad"]
        print(f"silero_vad left out: {error}", file=sys.stderr)
    for name, (make, calls, ways, train) in MODELS.items():
        if not re.search(options.only, name):
            continue
        for how in ways:
            folder = os.path.join(options.out, f"{name}.{how.replace(' ', '_')}")
            shutil.rmtree(folder, ignore_errors=True)
            try:
                torch.manual_seed(1)
                built = make()
                arguments = [call() for call in calls]
                if how == "script":
                    built = torch.jit.script(built.train(train))
                elif how == "trace":
                    arguments = arguments[:1]
                    built = torch.jit.trace(built.eval(), arguments[0], check_trace=False)
                record(built, arguments, folder)
                made += 1
            except Exception as error:  # the others are made all the same
                shutil.rmtree(folder, ignore_errors=True)
                failed.append(f"{name}.{how}")
                print(f"{name}.{how}: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"{made} made, {len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
