#!/usr/bin/env python3
"""Makes the networks that tests/optimize.rs runs, and records what PyTorch makes of each call.

    generate.py FOLDER

Programs are given as text, so that no file's path gets into the archives.
"""
import pathlib
import random
import sys

import torch

# Of the random numbers that networks draw.
SEED = 7

STEM = """
    x = torch.conv2d(x, self.w0, None, [2, 2], [3, 3], [1, 1], 1)
    x = torch.batch_norm(x, self.g0, self.b0, self.m0, self.v0, self.training, 0.1, 1e-5, True)
    x = torch.relu_(x)
"""


def unrolled(steps, batch, width, name, w, b, backwards=False):
    """Statements of an LSTM step by step, as PyTorch's decomposition writes one."""
    four = 4 * width
    lines = [
        f"    rows = torch.addmm(self.{b}0, x.view([{steps * batch}, 12]), self.{w}0.permute([1, 0]))",
        f"    rows = rows.view([{steps}, {batch}, {four}])",
        "    rows = torch.flip(rows, [0])" if backwards else "    rows = rows",
        f"    h, c = torch.full([2, {batch}, {width}], 0.5), torch.ones([2, {batch}, {width}])",
        "    h, c = h[:1].squeeze([0]).unsqueeze(0), c[1:2].squeeze([0]).unsqueeze(0)",
    ]
    for step in range(steps):
        lines += [
            f"    gates = torch.addmm(self.{b}1, h.view([{batch}, {width}]), self.{w}1.permute([1, 0])).view([1, {batch}, {four}])",
            f"    gates = gates + torch.squeeze(rows[{step}:{step + 1}], [0])",
            f"    i, f, g, o = torch.split_with_sizes(gates, [{width}, {width}, {width}, {width}], 2)",
            "    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)",
            "    h = torch.sigmoid(o) * torch.tanh(c)",
            f"    {name}{step} = h",
        ]
    order = range(steps)[::-1] if backwards else range(steps)
    joined = ", ".join(f"{name}{step}" for step in order)
    return "\n".join([*lines, f"    {name} = torch.cat([{joined}], 0)", f"    {name}h, {name}c = h.squeeze(0), c.squeeze(0)", ""])


def chains(seed, count):
    """Statements at random: element-wise operators on a matrix, a row, a column and numbers, some in
    place, some of whose results are wanted later."""
    dice = random.Random(seed)
    lines, values, given = [], ["x", "p", "q"], []
    rows = ["self.c0", "column", "one", "0.7", "2", "-1.3"]
    one = ["-{}", "torch.abs({})", "torch.exp(-torch.abs({}))", "torch.tanh({})", "torch.sigmoid({})",
           "torch.relu({})", "torch.sqrt(torch.abs({}))", "torch.ops.aten.silu({})", "torch.erf({})",
           "torch.log(torch.abs({}) + 0.5)", "torch.ops.aten.gelu({})", "torch.clamp({}, -1., 1.5)",
           "torch.ops.aten.hardtanh({}, -2., 2.)", "torch.ops.aten.leaky_relu({}, 0.1)",
           "torch.ops.aten.hardswish({})", "torch.ops.aten.gelu({}, approximate='tanh')",
           "torch.clamp({}, min=-0.5)", "torch.pow({}, 2)", "torch.sin({})", "torch.floor({})",
           "torch.rsqrt(torch.abs({}) + 0.1)", "torch.reciprocal(torch.abs({}) + 1)", "1 - {}"]
    two = ["{} + {}", "{} - {}", "{} * {}", "{0} / (torch.abs(torch.add({0}, {1})) + 1)",
           "torch.add({}, {}, alpha=3)", "torch.maximum({0}, {1} * torch.ones_like({0}))",
           "torch.where({0} > {1}, {0}, 0.5)", "torch.where(mask, {0}, {1} * {0})",
           "torch.add({0}, {1}).masked_fill({0} < 0, -2.)", "torch.add({0}, {1}).masked_fill(mask, 0.25)"]
    for at in range(count):
        a = dice.choice(values[-3:])
        if dice.random() < 0.4:
            made = dice.choice(one).format(a)
        else:
            made = dice.choice(two).format(a, dice.choice(values[-4:] + rows))
        lines.append(f"    v{at} = {made}")
        values.append(f"v{at}")
        if dice.random() < 0.1:
            lines.append(f"    v{at}.add_({dice.choice(['1', 'self.c0', 'x'])})")
        elif dice.random() < 0.15:
            given.append(values[-1])
    return "\n".join(lines) + f"\n    return {', '.join(given)}\n"


NETWORKS = {
    # A residual block with a sum in place, a step of two, a pool, a classifier.
    "residual": ("""
def forward(self, x: Tensor):
""" + STEM + """
    if x.dim() != 4:
        raise ValueError("expected a picture")
    x = torch.max_pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1], False)
    y = torch.conv2d(x, self.w1, self.c1, [1, 1], [1, 1], [1, 1], 1)
    y = torch.batch_norm(y, None, None, self.m1, self.v1, False, 0.1, 1e-5, True)
    y = y.add_(x)
    y = torch.relu_(y)
    z = torch.conv2d(y, self.w2, None, [2, 2], [0, 0], [1, 1], 1)
    z = torch.dropout(z, 0.5, self.training)
    z = torch.ops.aten.adaptive_avg_pool2d(z, [1, 1])
    return torch.flatten(z, 1)
""", dict(w0=(20, 3, 7, 7), n0=20, w1=(20, 20, 3, 3), c1=(20,), n1=20, w2=(33, 20, 1, 1))),
    # Filters by channel, bounded activations, a gate, joined pictures.
    "inverted": ("""
def forward(self, x: Tensor):
""" + STEM + """
    y = torch.conv2d(x, self.w1, None, [1, 1], [1, 1], [1, 1], 24)
    y = torch.batch_norm(y, self.g1, self.b1, self.m1, self.v1, False, 0.1, 1e-5, True)
    y = torch.ops.aten.hardtanh_(y, 0., 6.)
    g = torch.ops.aten.adaptive_avg_pool2d(y, [1, 1])
    g = torch.conv2d(g, self.w2, self.c2, [1, 1], [0, 0], [1, 1], 1)
    g = torch.ops.aten.hardsigmoid(g)
    y = torch.mul(y, g)
    z = torch.conv2d(y, self.w3, None, [1, 1], [1, 1], [1, 1], 1)
    a = torch.sigmoid(z)
    b = torch.ops.aten.hardswish(torch.conv2d(z, self.w4, None, [1, 1], [2, 2], [2, 2], 2))
    both = torch.cat([torch.mul(a, z), b], 1)
    c = torch.conv2d(both, self.w5, None, [1, 1], [1, 1], [1, 1], 8)
    return c + torch.conv2d(x, self.w6, None, [1, 1], [2, 2], [1, 1], 1), z
""", dict(w0=(24, 3, 3, 3), n0=24, w1=(24, 1, 3, 3), n1=24, w2=(24, 24, 1, 1), c2=(24,),
          w3=(32, 24, 3, 3), w4=(32, 16, 3, 3), w5=(16, 8, 3, 3), w6=(16, 24, 5, 5))),
    # What must not be moved or folded: values written in place while others see them.
    "written": ("""
def forward(self, x: Tensor):
    y = torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1)
    z = torch.relu(y)
    y.mul_(2.)
    view = z[:, 1:3]
    view.add_(1.)
    u = torch.conv2d(z, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    w = torch.batch_norm(u, None, None, self.m1, self.v1, False, 0.1, 1e-5, True)
    return y, z, u, torch.relu_(w), w
""", dict(w0=(16, 3, 3, 3), w1=(16, 16, 3, 3), n1=16)),
    # It gives what the module keeps: that may not be packed, while the rest may.
    "lent": ("""
def forward(self, x: Tensor):
    y = torch.conv2d(x, self.w0, self.c0, [1, 1], [0, 0], [1, 1], 1)
    z = torch.conv2d(x, self.w1, None, [1, 1], [0, 0], [1, 1], 1)
    return torch.relu(y), torch.relu(z), self.c0, self.w0

def change(self):
    self.c1.mul_(2.)
""", dict(w0=(16, 3, 1, 1), c0=(16,), w1=(16, 3, 1, 1), c1=(2,))),
    # Its result is what the module keeps: nothing may be frozen.
    "kept": ("""
def forward(self, x: Tensor):
    return torch.conv2d(x, self.w0, self.c0, [1, 1], [0, 0], [1, 1], 1), self.c0

def change(self):
    self.w0.mul_(2.)
""", dict(w0=(16, 3, 1, 1), c0=(16,))),
    "changed": ("""
def forward(self, x: Tensor):
    return torch.conv2d(x, self.w0, self.d0, [1, 1], [0, 0], [1, 1], 1)

def change(self):
    self.w0.mul_(2.)
""", dict(w0=(16, 3, 1, 1), d0=(16,))),
    # Layers with activations that can be theirs and ones that cannot, and element-wise arithmetic.
    "dense": ("""
def forward(self, x: Tensor):
    a = torch.relu(torch.ops.aten.linear(x, self.w0, self.c0))
    b = torch.ops.aten.linear(a, self.w1, None)
    c = torch.ops.aten.gelu(b, approximate="tanh")
    row = torch.sigmoid(self.c1)
    d = torch.tanh(c * b + 0.5) / row - torch.mul(b, 2) - torch.add(b, c, alpha=3)
    e = torch.ops.aten.silu(torch.ops.aten.linear(d, self.w2, self.c2))
    f = torch.ops.aten.linear(torch.ops.aten.gelu(e), self.w3, self.c3)
    return a, b, d, f, torch.relu(torch.abs(f) - 0.25)
""", dict(w0=(40, 12), c0=(40,), w1=(33, 40), c1=(33,), w2=(7, 33), c2=(7,), w3=(1, 7), c3=(1,))),
    # Arithmetic that must stay where it is: what it reads is written later, in a loop or a branch.
    "moved": ("""
def forward(self, x: Tensor):
    e = torch.ops.aten.linear(x, self.w5, self.d0)
    f = e * 2.
    e.add_(1.)
    g = f + e
    h = torch.relu(torch.ops.aten.linear(x, self.w5, self.d0))
    k = h * h
    h[0].zero_()
    total = k - h
    for i in range(3):
        part = torch.tanh(total * 0.5) + i
        if i == 1:
            part = torch.exp(-torch.abs(part)) * g
        total = total + part
    return e, f, g, h, k, total
""", dict(w5=(20, 12), d0=(20,))),
    "cells": ("""
def forward(self, x: Tensor):
    h = torch.zeros([x.size(1), 21])
    c = torch.ones([x.size(1), 21])
    for i in range(x.size(0)):
        h, c = torch.lstm_cell(x[i], [h, c], self.w0, self.w1, self.c0, self.c1)
    a, b = torch.lstm_cell(h, [c, h], self.w1, self.w1)
    return h, c, a, b
""", dict(w0=(84, 12), w1=(84, 21), c0=(84,), c1=(84,))),
    # Layers over sequences: two in both directions, a batch that comes first, none with biases, a
    # projection, which is left alone; and one step of each cell.
    "layers": ("""
def forward(self, x: Tensor):
    h = torch.full([4, x.size(1), 21], 0.5)
    c = torch.ones([4, x.size(1), 21])
    both = [self.w0, self.w1, self.c0, self.c1, self.w2, self.w3, self.c2, self.c3,
            self.w4, self.w1, self.c0, self.c1, self.w4, self.w3, self.c2, self.c3]
    a, b, d = torch.lstm(x, [h, c], both, True, 2, 0., False, True, False)
    gates = [self.w5, self.w6, self.c5, self.c6]
    e, f = torch.gru(x.transpose(0, 1), h[:1], gates, True, 1, 0., False, False, True)
    g, k = torch.gru(x, h[:1], [self.w5, self.w6], False, 1, 0., False, False, False)
    m, n = torch.rnn_tanh(x, h[:2], [self.w7, self.w8, self.w7, self.w8], False, 1, 0., False, True, False)
    p, q = torch.rnn_relu(x, h[:1], [self.w7, self.w8, self.c7, self.c8], True, 1, 0., False, False, False)
    r, s, t = torch.lstm(x, [h[:1, :, :5], c[:1]], [self.w0, self.w9, self.w10], False, 1, 0., False, False, False)
    u = torch.gru_cell(x[0], h[0], self.w5, self.w6, self.c5, self.c6)
    v = torch.rnn_tanh_cell(x[0], h[0], self.w7, self.w8, None, self.c8)
    w = torch.rnn_relu_cell(x[0], h[0], self.w7, self.w8)
    return a, b, d, e, f, g, k, m, n, p, q, r, s, t, u, v, w
""", dict(w0=(84, 12), w1=(84, 21), c0=(84,), c1=(84,), w2=(84, 12), w3=(84, 21), c2=(84,), c3=(84,),
          w4=(84, 42), w5=(63, 12), w6=(63, 21), c5=(63,), c6=(63,), w7=(21, 12), w8=(21, 21),
          c7=(21,), c8=(21,), w9=(84, 5), w10=(5, 21))),
    # Weights in lists, as `torch.nn.LSTM` keeps them.
    "listed": ("""
def forward(self, x: Tensor):
    h = torch.zeros([1, x.size(1), 6])
    a, b, c = torch.lstm(x, [h, h], self.weights, True, 1, 0., False, False, False)
    return a, b * self.scales[1], c * self.scales[0]
""", dict(weights=[(24, 12), (24, 6), (24,), (24,)], scales=[(1,), (6,)])),
    # Activations and arithmetic of more operands, on what lies in memory in any order.
    "several": ("""
def forward(self, x: Tensor):
    y = torch.ops.aten.elu(x * 2 + 0.5, 0.7, 1.3, 0.9)
    z = torch.ops.aten.softplus(y - x, 1.5, 3)
    u = torch.addcmul(y + 1, z * 2, self.c0 - 1, value=0.25)
    v = torch.addcdiv(u * 0.5, y + 2, z + 3, value=-2)
    w = torch.lerp(u + v, y * z, 0.3)
    t = torch.lerp(w * 2, v + 1, torch.sigmoid(u))
    s = torch.relu(t + 1)
    s.mul_(torch.sigmoid(x) + 0.5)
    s.add_(t * 2)
    return y, v, w, torch.tanh(s) + t, x.transpose(0, -1) * 2 + 1
""", dict(c0=(12,))),
    # A cell by hand whose states are both wanted, in a loop, and an activation by hand.
    "pointwise": ("""
def forward(self, x: Tensor):
    rows = torch.ops.aten.linear(x, self.w0, self.c0)
    h, c = torch.tanh(rows[..., :12]), rows[..., 12:24]
    for i in range(3):
        a, b, d, e = torch.ops.aten.linear(x + h, self.w0, self.c0).chunk(4, -1)
        c = torch.sigmoid(b + 1) * c + torch.sigmoid(a) * torch.tanh(d)
        h = torch.sigmoid(e) * torch.tanh(c) + i
    g = 0.5 * c * (1 + torch.tanh(0.7978845608 * (c + 0.044715 * torch.pow(c, 3))))
    gate = torch.sigmoid(x * self.c1 + self.d0) * x
    return h, c, g, gate, torch.where(gate > x, gate, torch.zeros([1])) - x
""", dict(w0=(48, 12), c0=(48,), c1=(12,), d0=())),
} | {
    f"chains{seed}": (f"""
def forward(self, x: Tensor):
    column = x.sum(-1, keepdim=True)
    p, q, one = torch.cos(x), torch.matmul(x, self.w0), torch.ones([])
    mask = x.transpose(0, -1).transpose(0, -1) > 0.3
{chains(seed, 48)}""", dict([("w0", (12, 12)), ("c0", (12,)), (f"k{seed}", (1,))])) for seed in range(3)
} | {
    # A list of features that is put together piece by piece, changed and taken apart.
    "features": ("""
def forward(self, x: Tensor):
    features = [x]
    y = torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1)
    y = torch.relu_(torch.batch_norm(y, self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True))
    features.append(y)
    y = torch.relu_(torch.conv2d(y, self.w1, None, [2, 2], [1, 1], [1, 1], 1))
    features.append(y)
    features[2] = torch.add(features[2], 1.)
    last, rest = features[::-1][0], features[1:]
    skip: Optional[Tensor] = None
    if len(rest) > 1:
        skip = rest[0]
    up = torch.ops.aten.upsample_nearest2d(last, [y.size(2) * 2, y.size(3) * 2])
    if skip is not None:
        up = up[:, :, :skip.size(2), :skip.size(3)]
        up = torch.cat([up, skip], 1)
    z = torch.relu_(torch.conv2d(up, self.w2, None, [1, 1], [1, 1], [1, 1], 1))
    if isinstance(features, Tensor):
        z = z * 2
    features.append(z)
    total = torch.zeros([1])
    for feature in features:
        total = total + feature.mean()
    return z, features[0], total, features[-2] + 1
""", dict(w0=(16, 3, 3, 3), n0=(16,), w1=(32, 16, 3, 3), w2=(16, 48, 3, 3))),
    # What lies between convolutions: means, gates, parts, sums, checks, and words for padding.
    "gated": ("""
def forward(self, x: Tensor):
    y = torch.conv2d(x, self.w0, None, [1, 1], "same", [1, 1], 1)
    gate = torch.mean(y, [2, 3], True)
    gate = torch.sigmoid(torch.conv2d(gate, self.w1, None, [1, 1], [0, 0], [1, 1], 1))
    y = torch.conv2d(y * gate, self.w1, None, [1, 1], [0, 0], [1, 1], 1)
    assert y.dim() == 4, "pictures, but {} dimensions".format(y.dim())
    y = torch.batch_norm(y, self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True)
    a, b = torch.chunk(y, 2, 1)
    parts = torch.stack([torch.conv2d(a, self.w2, None, [1, 1], [1, 1], [1, 1], 1), torch.relu(b)], 1)
    z = torch.sum(parts, [1]) * self.c0.reshape([1, -1, 1, 1]) / self.d0
    z = torch._convolution(z, self.w2, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)
    z = torch._convolution_mode(z, self.w2, None, [1, 1], "valid", [1, 1], 1)
    return z, torch._convolution(z, self.w2, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1, False, False, True, True)
""", dict(w0=(32, 3, 3, 3), w1=(32, 32, 1, 1), n0=(32,), w2=(16, 16, 3, 3), c0=(16,), d0=())),
    # What is made of constants alone; some of it is given.
    "scaled": ("""
def forward(self, x: Tensor):
    w = self.w0 - self.w0.mean([1, 2, 3], True)
    w = w / torch.sqrt(w.pow(2).sum([1, 2, 3], True) + 1e-5)
    given = self.w0 * 2.
    seen = torch.exp(self.c0)
    kept = [torch.tanh(self.c0)]
    kept.append(seen.view([4, 4]))
    y = torch.conv2d(x, w, torch.sin(self.c0), [1, 1], [1, 1], [1, 1], 1)
    drawn = torch.rand_like(self.c0) < 2.
    return y, given, kept[1], kept[0], torch.where(drawn, torch.cos(self.c0), 0.).add_(1.)
""", dict(w0=(16, 3, 3, 3), c0=(16,), k9=(1,))),
    # What says where a pixel is, made of its counts as DETR does, lies between convolutions.
    "placed": ("""
def forward(self, x: Tensor):
    x = torch.conv2d(x, self.w0, None, [2, 2], [1, 1], [1, 1], 1)
    seen = torch.bitwise_not(torch.zeros([x.size(0), x.size(2), x.size(3)]).to(torch.bool))
    rows = torch.cumsum(seen, 1, dtype=torch.float32)
    rows = rows / (rows[:, -1:, :] + 1e-6) * 6.28
    parts = torch.arange(8, dtype=torch.float32)
    parts = torch.pow(100., 2. * torch.div(parts, 2., rounding_mode="floor") / 8.)
    angles = rows.unsqueeze(-1) / parts
    both = [torch.sin(angles[:, :, :, 0::2]), torch.cos(angles[:, :, :, 1::2])]
    places = torch.flatten(torch.stack(both, 4), 3).permute([0, 3, 1, 2])
    x = x + torch.cat([places, places], 1)
    return torch.conv2d(x, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
""", dict(w0=(16, 3, 3, 3), w1=(16, 16, 3, 3), k7=(1,))),
    # In training mode: draws, warns, and sometimes raises after that.
    "drawn": ("""
def forward(self, x: Tensor):
    y = torch.dropout(x + self.c0, 0.5, self.training)
    torch.ops.aten.warn("drawn", 2)
    assert bool(x.sum() > 0), "a sum below zero"
    return y
""", dict(c0=(12,), k8=(1,))),
    # What keeps the channels side by side: pools, joined pictures that are normalised, parts whose
    # channels begin anywhere, gates.
    "flows": ("""
def forward(self, x: Tensor):
    x = torch.ops.aten.silu(torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1))
    a = torch.ops.aten.avg_pool2d(x, [3, 3], [1, 1], [1, 1], False, False, None)
    y = torch.cat([a, torch.ops.aten.max_pool2d(x, [3, 3], [1, 1], [1, 1])], 1)
    y = torch.relu(torch.batch_norm(y, self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True))
    y = torch.conv2d(y, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    z = torch.cat([y, torch.relu(y)], 1)
    y = torch.cat([z, torch.tanh(y)], 1)
    n = torch.relu_(torch.batch_norm(y, self.g1, self.b1, self.m1, self.v1, False, 0.1, 1e-5, True))
    p, q, r = torch.split(n, [24, 24, 48], 1)
    y = torch.conv2d(q, self.w2, None, [1, 1], [1, 1], [1, 1], 1) * 2 - p
    y = y[:, 3:19]
    mean = y.mean([2, 3])
    y = torch.sigmoid(torch.ops.aten.adaptive_avg_pool2d(y, [1, 1])) * y
    b, c = torch.chunk(torch.conv2d(y, self.w3, None, [1, 1], [0, 0], [1, 1], 1), 2, 1)
    y = torch.ops.aten.hardswish(torch.batch_norm(b + c, self.g2, self.b2, self.m2, self.v2, False, 0.1, 1e-5, True))
    return torch.ops.aten.adaptive_avg_pool2d(y, [3, 2]), mean, r, a, z
""", dict(w0=(20, 3, 3, 3), n0=(40,), w1=(32, 40, 3, 3), n1=(96,), w2=(24, 24, 3, 3), w3=(36, 16, 1, 1), n2=(18,))),
    # Channels that are shuffled: with sizes of the picture, with some left over, and with numbers, which do not fit every
    # picture.
    "shuffled": ("""
def forward(self, x: Tensor):
    x = torch.relu(torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1))
    y = torch.cat([x, torch.conv2d(x, self.w1, None, [1, 1], [0, 0], [1, 1], 1)], 1)
    n, c, h, w = y.size()
    y = y.view([n, 2, c // 2, h, w])
    y = torch.transpose(y, 1, 2).contiguous()
    y = y.view([n, c, h, w])
    p, q = torch.chunk(y, 2, 1)
    q = torch.conv2d(q, self.w2, None, [1, 1], [1, 1], [1, 1], 1)
    z = torch.cat([p, q], 1)
    z = torch.reshape(z, [z.size(0), 3, -1, z.size(2), z.size(3)])
    z = torch.reshape(torch.transpose(z, -3, 1), [-1, 45, y.size(2), y.size(3)])
    a = torch.conv2d(z, self.w3, None, [1, 1], [0, 0], [1, 1], 1)
    b = torch.transpose(a.view([1, 4, 5, 14, 18]), 1, 2).contiguous()
    b = b.view([1, 20, 14, 18])
    return torch.conv2d(b, self.w1, None, [1, 1], [0, 0], [1, 1], 1), p, b
""", dict(w0=(20, 3, 3, 3), w1=(22, 20, 1, 1), w2=(24, 21, 3, 3), w3=(20, 45, 1, 1))),
    # Pictures that are made larger, with sizes of their own, of others and with factors, and padded ones.
    "enlarged": ("""
def forward(self, x: Tensor):
    x = torch.relu(torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1))
    y = torch.conv2d(x, self.w1, None, [2, 2], [1, 1], [1, 1], 1)
    y = torch.ops.aten.mish(torch.ops.aten.upsample_nearest2d(y, None, [2.0, 2.0]))
    x = torch.ops.aten.upsample_nearest2d(x, [y.size(2), y.size(3)], None)
    y = torch.cat([y, x], 1)
    y = torch.conv2d(y, self.w2, None, [1, 1], [0, 0], [1, 1], 1)
    z = torch.ops.aten.max_pool2d(y, [2, 2], [2, 2])
    z = torch.ops.aten.upsample_bilinear2d(z, [y.size(2), y.size(-1)], False, None, None)
    z = torch.clamp(z + y, 0.0, 6.0)
    z = torch.ops.aten.reflection_pad2d(z, [1, 2, 0, 1])
    z = torch.conv2d(z, self.w1, None, [1, 1], [0, 0], [1, 1], 1)
    z = torch.ops.aten.replication_pad2d(torch.rsub(z, 1.5), [2, 0, 1, 1])
    u = torch.ops.aten.constant_pad_nd(z, [1, -2, -1, 1], 0.25)
    u = torch.conv2d(u, self.w1, None, [1, 1], [0, 0], [1, 1], 1)
    n, c, h, w = u.size()
    u = torch.ops.aten._upsample_nearest_exact2d(u, [h + 3, w - 2], None, None)
    v = torch.ops.aten.pad(u, [3, 1], "constant", None)
    v = torch.conv2d(v, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    v = torch.ops.aten.upsample_bicubic2d(v, [9, 7], True, None, None)
    return torch.ops.aten.constant_pad_nd(v, [1, 1, 1, 1], -float("inf")), u, torch.tensor([n, c, x.shape[1]])
""", dict(w0=(20, 3, 3, 3), w1=(20, 20, 3, 3), w2=(20, 40, 1, 1), k9=(1,))),
    # Attention with many heads as layers call it: of one value, and of two.
    "heads": ("""
def forward(self, x: Tensor):
    y, w = torch._native_multi_head_attention(x, x, x, 12, 3, self.w0, self.c0, self.w1, self.c1, None, False, True, None)
    z, v = torch._native_multi_head_attention(y, x, x, 12, 4, self.w0, self.c0, self.w1, self.c1, None, True, True, None)
    return y, z, v
""", dict(w0=(36, 12), c0=(36,), w1=(12, 12), c1=(12,), k6=(1,))),
    # Branches that are added up, as networks that are merged for deployment have them.
    "branches": ("""
def forward(self, x: Tensor):
    x = torch.relu(torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1))
    a = torch.conv2d(x, self.w1, self.c0, [1, 1], [1, 1], [1, 1], 1)
    a = torch.batch_norm(a, self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True)
    b = torch.conv2d(x, self.w2, None, [1, 1], [0, 0], [1, 1], 1)
    b = torch.batch_norm(b, self.g1, self.b1, self.m1, self.v1, False, 0.1, 1e-5, True)
    c = torch.batch_norm(x, self.g2, self.b2, self.m2, self.v2, False, 0.1, 1e-5, True)
    y = torch.relu_(a + b + c)
    d = torch.conv2d(y, self.w3, None, [2, 2], [2, 2], [2, 2], 16)
    d = d + torch.conv2d(y, self.w4, self.c1, [2, 2], [0, 0], [2, 2], 16)
    z = torch.conv2d(y, self.w2, None, [2, 2], [0, 0], [1, 1], 1) + d
    e = torch.relu(z)
    e = (torch.conv2d(e, self.w2, None, [1, 1], [0, 0], [1, 1], 1) + z) + torch.conv2d(e, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    f = torch.conv2d(e, self.w5, None, [1, 1], [0, 1], [1, 1], 1)
    h = torch.batch_norm(e, self.g2, self.b2, self.m2, self.v2, False, 0.1, 1e-5, True)
    h = h + torch.conv2d(e, self.w2, None, [1, 1], [0, 0], [1, 1], 1)
    return e, f + torch.conv2d(e, self.w6, None, [1, 1], [1, 0], [1, 1], 1), h
""", dict(w0=(16, 3, 3, 3), w1=(16, 16, 3, 3), c0=(16,), n0=(16,), w2=(16, 16, 1, 1), n1=(16,), n2=(16,), w3=(16, 1, 3, 3), w4=(16, 1, 1, 1), c1=(16,), w5=(16, 16, 1, 3), w6=(16, 16, 3, 1))),
    # Layers that were exported step by step: one, one backwards, and one of which a state between is wanted.
    "unrolled": (f"""
def forward(self, x: Tensor):
{unrolled(3, 2, 5, "a", "u", "e")}{unrolled(3, 2, 5, "b", "u", "e", backwards=True)}{unrolled(2, 3, 5, "d", "u", "e")}
    return torch.cat([a, b], 2).transpose(0, 1), ah, ac, bh, bc, d, dh, dc, d0 * 2
""", dict(u0=(20, 12), u1=(20, 5), e0=(20,), e1=(20,))),
    # Sums in parts of joined pictures, with nothing and with scaled ones, groups that are normalised, padding that is
    # known when the program runs, and what is made of counts.
    "ghosts": ("""
def forward(self, x: Tensor):
    x = torch.relu(torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1))
    y = torch.relu_(torch.conv2d(x, self.w1, None, [1, 1], [0, 0], [1, 1], 1))
    z = torch.cat([y, torch.conv2d(y, self.w2, None, [1, 1], [1, 1], [1, 1], 24)], 1)
    z = z[:, :40, :, :]
    z += torch.conv2d(x, self.w3, None, [1, 1], [0, 0], [1, 1], 1)
    u = torch.conv2d(z, self.w4, self.c0, [1, 1], [1, 1], [1, 1], 1) * self.c1.reshape([1, -1, 1, 1])
    u = torch.relu_(u.add_(0))
    g = torch.group_norm(u, 1, self.c2, self.c3, 1e-5, True)
    p = torch.ops.aten.avg_pool2d(g, [3, 3], [1, 1], [1, 1], False, False, None) - g
    v = u + self.c1.view([16, 1, 1]) * p
    h, w = v.size(2), v.size(3)
    v = torch.ops.aten.pad(v, [w % 2, 1, h % 2, 0], "constant", 0.)
    v = torch._convolution(v, self.w5, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)
    rows = torch.div((torch.arange(1, v.size(2) + 1) * 2).to(torch.float32), 7).unsqueeze(-1)
    rows = rows + torch.arange(v.size(3)) * 3 // 2
    v = torch.addcmul(self.c2.view([1, 16, 1, 1]), self.c3.view([1, 16, 1, 1]), v * rows)
    v = torch._convolution(v, self.w5, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)
    q = torch.cat([v, v], 1)[:, 4:20]
    q += v
    r = torch.cat([v, v], 1)
    s = r[:, 4:20]
    s *= v
    return v, q, u, r
""", dict(w0=(20, 3, 3, 3), w1=(24, 20, 1, 1), w2=(24, 1, 3, 3), w3=(40, 20, 1, 1), w4=(16, 40, 3, 3), c0=(16,), c1=(16,), c2=(16,), c3=(16,), w5=(16, 16, 3, 3))),
    # Linear layers whose rows are normalised and scaled; of the last one others see what it gives.
    "rows": ("""
def forward(self, x: Tensor):
    y = torch.ops.aten.linear(x, self.w0, self.c0)
    n = torch.batch_norm(torch.flatten(y, 0, 1), self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True)
    y = torch.ops.aten.hardswish(torch.ops.aten.reshape_as(n, y))
    z = torch.ops.aten.linear(y, self.w1, None) * self.c1
    m = torch.ops.aten.linear(torch.flatten(z, 0, -2), self.w2, None)
    m = torch.batch_norm(m, self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True)
    k = torch.ops.aten.linear(z, self.w2, self.c0)
    l = torch.batch_norm(torch.flatten(k, 0, 1), self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True)
    return x.transpose(0, 1) + z.transpose(0, 1), m, k, l
""", dict(w0=(20, 12), c0=(20,), n0=(20,), w1=(12, 20), c1=(12,), w2=(20, 12))),
    # Transposed convolutions with what follows them, and GELU behind convolutions and normalisation. Groups, dilation and
    # few channels leave the blocks.
    "transposed": ("""
def forward(self, x: Tensor):
    x = torch.ops.aten.gelu(torch.conv2d(x, self.w0, None, [2, 2], [1, 1], [1, 1], 1))
    x = torch.batch_norm(x, self.g1, self.b1, self.m1, self.v1, False, 0.1, 1e-5, True)
    x = torch.ops.aten.gelu(x)
    y = torch.conv2d(x, self.w1, None, [2, 2], [1, 1], [1, 1], 1)
    y = torch.batch_norm(y, self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True)
    y = torch.ops.aten.gelu(y, approximate="tanh")
    z = torch.conv_transpose2d(y, self.w2, self.c0, [2, 2], [0, 0], [0, 0], 1, [1, 1])
    z = torch.batch_norm(z, self.g1, self.b1, self.m1, self.v1, False, 0.1, 1e-5, True)
    z = torch.relu_(z)
    z = torch.ops.aten.gelu(torch.conv_transpose2d(y, self.w2, None, [2, 2], [0, 0], [0, 0], 1, [1, 1]) + z)
    z = torch.ops.aten.silu(torch.conv_transpose2d(z, self.w3, None, [2, 2], [1, 1], [0, 0], 1, [1, 1]))
    z = torch._convolution(z, self.w4, self.c1, [1, 2], [1, 1], [1, 1], True, [0, 1], 1, False, False, True, True)
    a = torch.conv_transpose2d(z, self.w5, None, [2, 2], [1, 1], [0, 0], 2, [1, 1])
    a = torch.batch_norm(a, self.g2, self.b2, self.m2, self.v2, False, 0.1, 1e-5, True)
    b = torch.conv_transpose2d(z, self.w6, None, [2, 2], [1, 1], [0, 0], 1, [1, 1])
    return a, z, torch.conv_transpose2d(z, self.w6, None, [2, 2], [1, 1], [1, 1], 1, [2, 2]), b
""", dict(w0=(20, 3, 3, 3), n1=(20,), w1=(33, 20, 3, 3), n0=(33,), w2=(33, 20, 2, 2), c0=(20,), w3=(20, 16, 4, 4), w4=(16, 16, 3, 3), c1=(16,), w5=(16, 1, 3, 3), n2=(2,), w6=(16, 1, 3, 3))),
    # Volumes: windows of many shapes and steps, of few channels and of many; groups, and padding that no element of the
    # window is in the middle of, stay as they are.
    "volumes": ("""
def forward(self, x: Tensor):
    y = torch.conv3d(x, self.w0, None, [1, 2, 2], [1, 3, 3], [1, 1, 1], 1)
    y = torch.relu_(torch.batch_norm(y, self.g0, self.b0, self.m0, self.v0, False, 0.1, 1e-5, True))
    z = torch.conv3d(y, self.w1, self.c0, [1], [1], [1], 1)
    z = torch.relu_(z + y)
    a = torch.conv3d(z, self.w2, None, [2, 1, 1], [1, 0, 0], [1, 1, 1], 1)
    b = torch.conv3d(z, self.w3, None, [1, 1, 1], [0, 1, 1], [1, 2, 2], 1)
    c = torch.conv3d(z, self.w4, self.c0, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1)
    d = torch.conv3d(z, self.w1, None, [2, 2, 2], [2, 1, 1], [2, 1, 1], 1)
    e = torch.conv3d(z, self.w1, None, [1, 1, 1], [2, 1, 1], [1, 1, 1], 1)
    f = torch.conv3d(z, self.w5, None, [1, 1, 1], [1, 1, 1], [1, 1, 1], 20)
    g = torch._convolution(z, self.w1, None, [3, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 1, False, False, True, True)
    return a, b, c, d, e, f, g
""", dict(w0=(20, 3, 3, 7, 7), n0=(20,), w1=(20, 20, 3, 3, 3), c0=(20,), w2=(33, 20, 3, 1, 1), w3=(16, 20, 1, 3, 3), w4=(20, 20, 2, 2, 2), w5=(20, 1, 3, 3, 3))),
    # Pictures whose pixels were normalised or went through linear layers, so that their channels lie last, and what is
    # computed of them.
    "pixels": ("""
def forward(self, x: Tensor):
    y = torch.relu(torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1))
    rows = torch.layer_norm(torch.permute(y, [0, 2, 3, 1]), [20], self.c0, self.c1, 1e-5, True)
    p = torch.permute(rows, [0, 3, 1, 2])
    a = torch.ops.aten.gelu(torch.conv2d(p, self.w1, None, [1, 1], [0, 0], [1, 1], 1))
    b = torch.conv2d(a, self.w2, None, [1, 1], [1, 1], [1, 1], 20)
    s = torch.add(b, y)
    t = torch.add(y, b)
    g = torch.permute(torch.ops.aten.linear(rows, self.w3), [0, 3, -3, -2])
    g = torch.conv2d(torch.mul(self.c2.view([20, 1, 1]), g), self.w2, None, [1, 1], [1, 1], [1, 1], 20)
    u, v = torch.chunk(s, 2, 1)
    v = torch.conv2d(torch.abs(v), self.w4, None, [1, 1], [1, 1], [1, 1], 1)
    q = torch.conv2d(torch.ops.aten.contiguous(t, memory_format=2), self.w1, None, [1, 1], [0, 0], [1, 1], 1)
    e = torch.sigmoid(torch.conv2d(torch.mean(s, [2, 3], True), self.w1, None, [1, 1], [0, 0], [1, 1], 1))
    z = torch.conv2d(s[:, :, 1:] * e, self.w1, None, [1, 1], [0, 0], [1, 1], 1)
    r = torch.permute(torch.ops.aten.linear(rows, self.w5), [0, 3, 1, 2])
    r = torch.conv2d(r, self.w6, None, [1, 1], [1, 1], [1, 1], 1)
    return a, s, t, g, v, q, e, z, r
""", dict(w0=(20, 3, 3, 3), c0=(20,), c1=(20,), w1=(20, 20, 1, 1), w2=(20, 1, 3, 3), w3=(20, 20), c2=(20,), w4=(20, 10, 3, 3), w5=(1, 20), w6=(20, 1, 3, 3))),
    # Pictures with numbers for each channel that are computed of their norms, and constants for each channel.
    "responses": ("""
def forward(self, x: Tensor):
    y = torch.ops.aten.gelu(torch.conv2d(x, self.w0, None, [1, 1], [1, 1], [1, 1], 1))
    m = torch.ops.aten.linalg_vector_norm(y, 2, [2, 3], True)
    r = m / (torch.mean(m, [1], True) + 1e-6)
    y = y + torch.addcmul(self.c0.view([1, 20, 1, 1]), self.c1.view([1, 20, 1, 1]), y * r)
    z = torch._convolution(y, self.w1, self.c0, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)
    p = torch.permute(torch.layer_norm(torch.permute(z, [0, 2, 3, 1]), [20], self.c0, self.c1, 1e-5, True), [0, 3, 1, 2])
    a = torch.ops.aten.gelu(torch.conv2d(p, self.w2, None, [1, 1], [0, 0], [1, 1], 1))
    n = torch.norm(a, 2, [-1, -2], True)
    q = torch.sigmoid(n - torch.mean(n, [-3], True)) * 2.
    b = a + torch.addcmul(self.c0.view([1, 20, 1, 1]), self.c1.view([20, 1, 1]), q * a)
    c = torch.conv2d(b, self.w1, None, [1, 1], [1, 1], [1, 1], 1) - self.c0.view([20, 1, 1])
    d = torch.conv2d(c * self.c1.view([20, 1, 1]) + c, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    e = torch.conv2d(torch.addcmul(d, c, d, value=0.5) * torch.mean(q, [1], True), self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    f = torch.norm(e, 1, [2, 3], True) + torch.norm(e, 2, [2, 3], False).sum()
    g = torch.conv1d(torch.mean(d, [2, 3]).view([d.size(0), 1, -1]), self.w3, None, [1], [1])
    g = torch.sigmoid(g).view([d.size(0), -1, 1, 1])
    h = torch.conv2d(torch.mul(d, g.expand_as(d)), self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    i = torch.conv2d(torch.mul(g, y) * 0.5 + y, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    p = torch.mean(y, [2, 3], True)
    j = torch.mul(p, g.expand_as(y)) + y
    return z, b, c, d, e, f, n, q, h, i, j
""", dict(w0=(20, 3, 3, 3), c0=(20,), c1=(20,), w1=(20, 20, 3, 3), w2=(20, 20, 1, 1), w3=(1, 1, 3))),
    # Linear layers of one input, with and without a normalisation that only they read. One input is written between two
    # layers, one layer is in a branch, one normalisation is of two dimensions, and some are read by others as well.
    "gathered": ("""
def forward(self, x: Tensor):
    n = torch.layer_norm(x, [12], self.g0, self.b0, 1e-5)
    q = torch.ops.aten.linear(n, self.w0, self.c0)
    k = torch.ops.aten.linear(n, self.w1, None)
    v = torch.relu(torch.ops.aten.linear(n, self.w2, self.c0))
    m = torch.layer_norm(q * k, [20], None, None, 1e-3)
    up = torch.ops.aten.linear(m, self.w3, self.c1) * torch.ops.aten.silu(torch.ops.aten.linear(m, self.w3, None))
    one = torch.ops.aten.gelu(torch.ops.aten.linear(torch.layer_norm(up, [12], self.g0, None, 1e-5), self.w1, self.c0))
    kept = torch.layer_norm(v, [20], None, None, 1e-5)
    first, second = torch.ops.aten.linear(kept, self.w3, None), torch.ops.aten.linear(kept, self.w3, self.c1)
    t = x + 1
    before = torch.ops.aten.linear(t, self.w0, self.c0)
    t.mul_(2)
    after = torch.ops.aten.linear(t, self.w0, self.c0)
    l = torch.layer_norm(one, [20], None, None, 1e-5)
    if x.size(0) > 2:
        u = torch.ops.aten.linear(l, self.w3, None)
    else:
        u = torch.ops.aten.linear(l, self.w3, self.c1)
    two = torch.ops.aten.linear(torch.layer_norm(x, [2, 12], None, None, 1e-5), self.w0, None)
    return q, k, v, up, one, kept, first, second, before, after, u, two
""", dict(w0=(20, 12), c0=(20,), n0=(12,), w1=(20, 12), w2=(20, 12), w3=(12, 20), c1=(12,))),
    # What encoder layers of transformers ask before they choose how they compute.
    "asked": ("""
def forward(self, x: Tensor):
    why = ""
    if torch.is_autocast_enabled():
        why = "autocast is on"
    elif x.is_nested:
        why = "sequences of different lengths"
    elif any([len({}), 0]):
        why = "hooks"
    if not len(why) > 0:
        places = ["cpu", "cuda"]
        if not all([x.device.type in places, self.w0.device.type in places]):
            why = "tensors lie elsewhere"
        elif torch.is_grad_enabled() and any([x.requires_grad, self.w0.requires_grad]):
            why = "gradients are recorded"
    if not len(why) > 0:
        y = torch.ops.aten.linear(x, self.w0, self.c0)
    else:
        y = torch.ops.aten.linear(x * 2, self.w0, None)
    return y, torch.ops.aten.linear(y, self.w1, None)
""", dict(w0=(20, 12), c0=(20,), w1=(12, 20))),
}


def network(source, tensors):
    module = torch.nn.Module()
    for name, shape in tensors.items():
        if isinstance(shape, list):
            setattr(module, name, [torch.randn(shape) for shape in shape])
        elif name.startswith("n"):
            index = name[1:]
            module.register_buffer("g" + index, torch.rand(shape) + 0.5)
            module.register_buffer("b" + index, torch.randn(shape) * 0.1)
            module.register_buffer("m" + index, torch.randn(shape) * 0.1)
            module.register_buffer("v" + index, torch.rand(shape) + 0.5)
        else:
            fan = max(1, int(torch.tensor(shape[1:]).prod()))
            module.register_buffer(name, torch.randn(shape) * fan**-0.5)
    module = torch.jit.script(module.eval())
    module.define(source)
    return module.train("torch.dropout" in source)


def matrices():
    yield torch.randn(5, 12)
    yield torch.randn(1, 12)
    yield torch.randn(12)
    yield torch.randn(2, 3, 12)
    yield torch.randn(40, 2, 12)
    yield torch.randn(12, 3, 12).transpose(0, 2)
    yield torch.randn(0, 12)
    yield torch.full((2, 1, 12), float("nan"))
    yield torch.randn(2, 3, 13)


def inputs(name):
    if name in ("cells", "heads", "rows"):
        return (x for x in matrices() if x.dim() == 3 and x.size(2) == 12)
    if name == "gathered":
        return layers_of_rows()
    if name == "drawn":
        return iter([torch.rand(4, 12) - shift for shift in (0, 1, 0, 1, 1, 0)])
    if name == "unrolled":
        return iter([torch.randn(3, 2, 12), torch.randn(2, 3, 12), torch.randn(12, 2, 3).transpose(0, 2), torch.randn(6, 12), torch.randn(3, 3, 12)])
    if name in ("layers", "listed"):
        return sequences()
    if name == "volumes":
        return volumes()
    flat = name in ("dense", "moved", "pointwise", "several", "asked") or name.startswith("chains")
    return matrices() if flat else pictures(name)


def layers_of_rows():
    for sizes in ((3, 2, 12), (2, 12), (1, 2, 12), (30, 2, 2, 12), (0, 2, 12), (3, 2, 13), (12,)):
        yield torch.randn(sizes)
    yield torch.randn(12, 2, 3).transpose(0, 2)
    yield torch.full((3, 2, 12), float("nan"))
    yield torch.randn(3, 2, 12).double()


def sequences():
    for steps, batch in ((1, 1), (4, 1), (5, 1), (13, 1), (25, 1), (1, 2), (7, 3)):
        yield torch.randn(steps, batch, 12)
    yield torch.randn(12, 1, 6).transpose(0, 2)
    yield torch.full((6, 1, 12), float("nan"))


def volumes():
    yield torch.randn(1, 3, 5, 14, 18)
    yield torch.randn(2, 3, 4, 9, 12)
    yield torch.randn(1, 4, 3, 12, 9).transpose(1, 2)
    yield torch.full((1, 3, 3, 9, 9), float("nan"))
    yield torch.randn(3, 3, 9, 9)
    yield torch.randn(1, 3, 1, 9, 9)
    yield torch.randn(1, 4, 3, 9, 9)
    yield torch.randn(1, 3, 3, 9, 9).double()
    yield torch.randn(2, 3, 4, 9, 12).to(memory_format=torch.channels_last_3d)


def pictures(name):
    yield torch.randn(1, 3, 14, 18)
    yield torch.randn(3, 3, 11, 9)
    yield torch.randn(1, 3, 14, 18).transpose(2, 3)
    yield torch.full((1, 3, 9, 9), float("nan"))
    yield torch.randn(1, 4, 9, 9)
    yield torch.randn(1, 3, 9, 9).double()
    yield torch.randn(9, 9)
    if name not in ("residual", "inverted", "written"):
        yield torch.randn(3, 9, 9)
    if name in ("enlarged", "transposed"):
        yield torch.randn(2, 3, 10, 12).to(memory_format=torch.channels_last)


def main():
    out = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    for name, (source, tensors) in NETWORKS.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        torch.jit.save(network(source, tensors), str(folder / "model.pt"))
        said = []
        arguments = inputs(name)
        if name == "drawn":
            torch.manual_seed(SEED)
        for given in arguments:
            module = torch.jit.load(str(folder / "model.pt"))
            try:
                result = module(given)
                result = result if isinstance(result, tuple) else (result,)
                said.append({"input": given, "result": [part.clone() for part in result], "strides": [part.stride() for part in result]})
            except Exception as error:  # whatever it is, it is the answer
                said.append({"input": given, "error": str(error)})
        torch.save(said, folder / "calls.pt")


if __name__ == "__main__":
    main()
