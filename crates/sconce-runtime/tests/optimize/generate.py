#!/usr/bin/env python3
"""Makes the networks that tests/optimize.rs runs, and records what PyTorch makes of each call.

    generate.py FOLDER

Programs are given as text, so that no file's path gets into the archives.
"""
import pathlib
import sys

import torch

STEM = """
    x = torch.conv2d(x, self.w0, None, [2, 2], [3, 3], [1, 1], 1)
    x = torch.batch_norm(x, self.g0, self.b0, self.m0, self.v0, self.training, 0.1, 1e-5, True)
    x = torch.relu_(x)
"""

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
}


def network(source, tensors):
    module = torch.nn.Module()
    for name, shape in tensors.items():
        if name.startswith("n"):
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
    return module.eval()


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


def main():
    out = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    for name, (source, tensors) in NETWORKS.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        torch.jit.save(network(source, tensors), str(folder / "model.pt"))
        said = []
        for picture in pictures(name):
            module = torch.jit.load(str(folder / "model.pt"))
            try:
                result = module(picture)
                result = result if isinstance(result, tuple) else (result,)
                said.append({"input": picture, "result": [part.clone() for part in result]})
            except Exception as error:  # whatever it is, it is the answer
                said.append({"input": picture, "error": str(error)})
        torch.save(said, folder / "calls.pt")


if __name__ == "__main__":
    main()
