"""Makes gain.pt2: a small program of torch.export with a dynamic batch, a keyword argument and a buffer. Needs torch.
So that the file has no path of the machine, run it as

    python -c "import runpy; runpy.run_path('make_gain.py', run_name='__main__')"
"""

import re

import torch
from torch import nn
from torch.export import Dim, export, save


class Gain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.register_buffer("limit", torch.tensor(4.0))

    def forward(self, x, *, gain):
        y = torch.minimum(self.fc(x) * gain, self.limit)
        return {"y": y, "rows": x.shape[0]}


torch.manual_seed(0)
shapes = {"x": {0: Dim("batch", max=64)}, "gain": None}
program = export(Gain(), (torch.ones(4, 2),), {"gain": torch.tensor(2.0)}, dynamic_shapes=shapes)
for node in program.graph.nodes:
    # Where nodes come from holds addresses and folders of the machine.
    node.meta.pop("from_node", None)
    if node.meta.get("stack_trace"):
        node.meta["stack_trace"] = re.sub(r'"/[^"]*/(site-packages/)?', '"', node.meta["stack_trace"])
save(program, "gain.pt2", extra_files={"labels.txt": "low,middle,high"})
