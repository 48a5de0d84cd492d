"""Makes shapes.pt2: the network of shapes.pt as torch.export saves it, for pictures of any size and number. Its larger
weights are float16, so that the file is small; it computes in float32. Needs torch; run it in this folder.
"""

import torch
from torch import nn
from torch.export import Dim, export, save

from make_shapes import Shapes


class Small(nn.Module):
    """The network with convolutions' weights in float16."""

    def __init__(self, model: Shapes):
        super().__init__()
        self.blocks = nn.ModuleList([model.first, model.second, model.third])
        self.weight, self.bias = model.weight, model.bias
        for block in self.blocks:
            block.weight = nn.Parameter(block.weight.half(), requires_grad=False)

    def forward(self, pictures):
        x = nn.functional.adaptive_avg_pool2d(pictures, [32, 32])
        for block in self.blocks:
            x = torch.conv2d(x, block.weight.float(), None, [1, 1], [1, 1])
            x = torch.batch_norm(x, block.scale, block.shift, block.mean, block.variance, False, 0.1, 1e-5, False)
            x = torch.max_pool2d(torch.relu(x), [2, 2])
        return nn.functional.linear(x.mean([2, 3]), self.weight, self.bias)


def without_paths(program):
    """The program without the lines of source that its nodes come from: those name folders of this machine."""
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            for name in ["stack_trace", "nn_module_stack", "source_fn_stack", "from_node", "torch_fn"]:
                node.meta.pop(name, None)
    return program


def main():
    torch.manual_seed(0)
    model = Shapes()
    model.load_state_dict(torch.jit.load("shapes.pt").state_dict())
    sizes = {0: Dim("batch", max=64), 2: Dim("height", max=4096), 3: Dim("width", max=4096)}
    # Any sizes but 0 and 1, for which torch.export takes these.
    program = export(Small(model.eval()), (torch.rand(2, 3, 96, 96),), dynamic_shapes=(sizes,))
    # The example is not to hold the picture that it was exported with.
    program.example_inputs = None
    save(without_paths(program), "shapes.pt2")


if __name__ == "__main__":
    main()
