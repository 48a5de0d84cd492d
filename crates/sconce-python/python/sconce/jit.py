"""Programs of TorchScript and ``torch.export``: loaded, compiled of Python source, and called."""

from __future__ import annotations

from ._sconce import ScriptMethod, ScriptModule, Session, _jit_load, _jit_script

__all__ = ["ScriptMethod", "ScriptModule", "Session", "load", "save", "script"]


def load(
    f,
    *,
    max_seconds=None,
    max_steps=None,
    max_memory=None,
    optimize=True,
    exact=False,
    strict=False,
    precision="full",
):
    """Loads a program: what ``torch.jit.save`` or ``torch.export.save`` wrote. Nothing runs before it is called.

    A call may take ``max_seconds``, run ``max_steps`` instructions and hold ``max_memory`` bytes (or ``"2GiB"``).
    ``exact`` computes every product of a convolution as it stands, where some would be saved by Winograd's algorithm.
    ``precision`` is that of products with constant weights in optimised code: ``"full"``, ``"bf16"``, or
    ``"int8-weights"`` of linear layers.
    ``strict`` refuses a method that has an operator that is not here before anything of it runs.
    """
    return _jit_load(f, max_seconds, max_steps, max_memory, optimize, exact, strict, precision)


def script(
    source,
    name=None,
    *,
    state=None,
    eval=False,
    paths=(),
    module_name=None,
    max_seconds=None,
    max_steps=None,
    max_memory=None,
    optimize=True,
    exact=False,
    strict=False,
    precision="full",
):
    """Compiles Python source as ``torch.jit.script`` does: the function or ``torch.nn.Module`` called ``name``, of the
    path or text ``source``. ``state`` is a checkpoint with the module's numbers, ``paths`` are folders that modules are
    imported from. Nothing of the source runs but constructors, in an interpreter of sconce's own.
    """
    limits = (max_seconds, max_steps, max_memory, optimize, exact, strict, precision)
    return _jit_script(source, name, state, eval, list(paths), module_name, *limits)


def save(module, f):
    """Saves a program as ``torch.jit.save`` does."""
    module.save(f)


for _function in (load, save, script):
    _function.__module__ = "sconce.jit"
del _function
