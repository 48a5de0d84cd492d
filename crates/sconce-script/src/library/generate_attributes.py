"""Writes attributes.tsv: the public members of modules of torch and Python that files ask for before they use them.

Those with `?` before them are modules that are members once something imports them.
"""

import os
import pkgutil
import sys
import warnings

warnings.simplefilter("ignore")

import torch

MODULES = {
    "sys": sys, "torch": torch, "torch.Tensor": torch.Tensor, "torch.amp": torch.amp, "torch.autograd": torch.autograd,
    "torch.backends": torch.backends, "torch.compiler": torch.compiler, "torch.fft": torch.fft, "torch.jit": torch.jit,
    "torch.linalg": torch.linalg, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional,
    "torch.special": torch.special, "torch.utils": torch.utils,
}

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "attributes.tsv"), "w") as out:
    for name, module in MODULES.items():
        members = [member for member in dir(module) if not member.startswith("_")]
        for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
            if not found.name.startswith("_") and found.name not in members:
                members.append(found.name if hasattr(module, found.name) else "?" + found.name)
        out.write(f"{name}\t{' '.join(members)}\n")
