#!/usr/bin/env python3
"""Makes the archive `mobile` that tests/programs.rs runs, and records what PyTorch makes of each call.

    generate_mobile.py FOLDER

Needs a PyTorch that is built with XNNPACK, as Debian's 1.13 is; that of today's wheels is not.
"""
import pathlib
import sys

import torch
from torch.utils.mobile_optimizer import MobileOptimizerType, optimize_for_mobile

LAYERS = """
def forward(self, x: Tensor):
    y = torch._C._nn.hardtanh(torch.conv2d(x, self.conv, self.bias, [2, 1], [1, 0], [1, 2]), -2.5, 6.)
    y = torch.relu(torch.conv_transpose2d(y, self.transposed, None, [2, 2], [1, 1], [1, 1], 2))
    y = torch._C._nn.linear(y.contiguous(), self.linear, self.linear_bias)
    return y, self.packs(x)
"""

PACKS = """
def packs(self, x: Tensor):
    packed = torch.ops.prepacked.conv2d_clamp_prepack(self.conv, None, [1, 1], [0, 0], [1, 1], 1, 0, 3)
    linear = torch.ops.prepacked.linear_clamp_prepack(self.linear[:, :7], self.linear_bias)
    sizes = torch.ops.prepacked.unpack_prepacked_sizes_conv2d(packed)
    shape = torch.ops.prepacked.unpack_prepacked_sizes_linear(linear)
    both = torch.ops.prepacked.conv2d_clamp_run(x, packed), torch.ops.prepacked.linear_clamp_run(x[0, 0], linear)
    return both, sizes, shape
"""


def main():
    generator = torch.Generator().manual_seed(0)

    def whole(*sizes):
        return torch.randint(-2, 3, sizes, generator=generator).float()

    module = torch.nn.Module()
    for name, sizes in [("conv", (4, 2, 3, 2)), ("bias", (4,)), ("transposed", (4, 3, 3, 3)),
                        ("linear", (2, 10)), ("linear_bias", (2,))]:
        module.register_buffer(name, whole(*sizes))
    script = torch.jit._recursive.wrap_cpp_module(torch.jit.script(module)._c)
    script.define(PACKS)
    script.define(LAYERS)
    script.eval()
    mobile = optimize_for_mobile(script, {MobileOptimizerType.CONV_BN_FUSION})
    folder = pathlib.Path(sys.argv[1], "mobile")
    folder.mkdir(parents=True, exist_ok=True)
    mobile.save(str(folder / "model.pt"))
    mobile = torch.jit.load(str(folder / "model.pt"))
    calls = []
    for x in (whole(1, 2, 6, 7), whole(2, 2, 6, 7).contiguous(memory_format=torch.channels_last)):
        calls.append({"arguments": (x,), "result": mobile(x)})
    for x in (whole(2, 6, 7), whole(1, 2, 6, 7).double()):
        try:
            mobile(x)
        except RuntimeError as error:
            calls.append({"arguments": (x,), "error": str(error)})
    torch.save(calls, folder / "calls.pt")


main()
