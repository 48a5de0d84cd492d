"""Writes built.pt beside this file: the checkpoint that tests/built.rs makes from nothing."""
import os

import torch

module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
with torch.no_grad():
    module[0].weight.copy_(torch.arange(6.0).reshape(2, 3))
    module[0].bias.copy_(torch.tensor([0.5, -0.5]))
torch.save({"model": module.state_dict(), "epoch": 3, "config": {"lr": 1e-3, "tags": ["lr", None], "shape": (1, True)}},
           os.path.join(os.path.dirname(os.path.abspath(__file__)), "built.pt"))
