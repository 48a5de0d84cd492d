"""Whether two loaded objects are the same: types, values, order, and what is shared with what."""

import copyreg
import types

import expect

PRIMITIVE = (type(None), bool, int, str, bytes, bytearray, type(...), type(NotImplemented), range, slice)
NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


class Difference(Exception):
    """Where two objects differ, and how."""


def check(one, other):
    """Raises `Difference` if they are not the same."""
    partner, taken, keep, groups, work = {}, {}, [], ({}, {}), [("", one, other)]
    while work:
        path, one, other = work.pop()
        if type(one) is not type(other):
            raise Difference(f"{path or 'the object'}: {type(one).__name__} and {type(other).__name__}")
        if isinstance(one, NAMED) and isinstance(getattr(one, "__self__", None), (types.ModuleType, type, type(None))):
            if one is not other:
                raise Difference(f"{path}: {one!r} and {other!r}")
            continue
        if type(one) in PRIMITIVE + (float, complex):
            if repr(one) != repr(other):
                raise Difference(f"{path}: {one!r:.50} and {other!r:.50}")
            continue
        if one is other:
            continue
        if id(one) in partner or id(other) in taken:
            if partner.get(id(one)) != id(other):
                raise Difference(f"{path}: one object is two")
            continue
        keep += [one, other]
        if type(one) is not tuple or one:
            partner[id(one)], taken[id(other)] = id(other), id(one)
        parts = [list(parts_of(obj, group)) for obj, group in zip((one, other), groups)]
        if len(parts[0]) != len(parts[1]):
            raise Difference(f"{path}: {len(parts[0])} parts and {len(parts[1])}")
        keep += parts
        for (name, first), (_, second) in zip(*parts):
            work.append((f"{path}.{name}", first, second))


def parts_of(obj, groups):
    """(name, part) of everything that makes an object what it is."""
    import torch

    kind = type(obj)
    if isinstance(obj, torch.Tensor):
        yield "tensor", repr(expect.row("", obj, groups))
        yield "attributes", dict(obj.__dict__)
    elif kind.__module__.startswith("torch") and kind.__name__ in ("UntypedStorage", "TypedStorage", "_TypedStorage", "_UntypedStorage"):
        yield "dtype", str(getattr(obj, "dtype", None))
        yield "items", [] if obj.device.type == "meta" else obj.tolist()
    elif kind.__name__ == "NestedIntNode":
        # A ragged size is called by a number that PyTorch counts up.
        yield "factor", obj.coeff
    elif isinstance(obj, torch.Generator):
        yield "state", obj.get_state()
    elif isinstance(obj, (torch.dtype, torch.device, torch.layout)) or kind is torch.Size:
        yield "name", repr(obj)
    elif kind in (list, tuple):
        yield from enumerate(obj)
    elif kind in (set, frozenset):
        if all(type(item) in PRIMITIVE + (float, complex, frozenset, tuple) for item in obj):
            yield "items", sorted(map(repr, obj))
        else:
            yield from ((f"item {i}", item) for i, item in enumerate(sorted(obj, key=lambda item: type(item).__name__)))
    elif kind is dict:
        for i, (key, value) in enumerate(obj.items()):
            yield f"key {i}", key
            yield f"[{key!r:.30}]", value
    elif kind.__module__.split(".")[0] == "numpy":
        yield from parts_of_numpy(obj)
    else:
        yield from reduced(obj)


def reduced(obj):
    """What pickle would be told of it."""
    made = copyreg.dispatch_table[type(obj)](obj) if type(obj) in copyreg.dispatch_table else obj.__reduce_ex__(4)
    if isinstance(made, str):
        yield "name", made
        return
    for name, part in zip(("callable", "args", "state"), made):
        yield name, part
    for name, part in zip(("items", "entries"), made[3:]):
        yield name, None if part is None else list(part)


def parts_of_numpy(obj):
    import numpy

    if isinstance(obj, numpy.dtype):
        yield "dtype", repr(obj)
        yield "aligned", obj.isalignedstruct
        yield "rest", repr((obj.fields and dict(obj.fields), obj.itemsize, obj.alignment, obj.flags, obj.metadata and dict(obj.metadata)))
    elif type(obj) is numpy.ndarray or isinstance(obj, numpy.generic):
        yield "dtype", obj.dtype
        yield "shape", obj.shape
        yield "order", (obj.flags.c_contiguous, obj.flags.f_contiguous)
        yield "elements", obj.tolist() if obj.dtype.hasobject else obj.tobytes()
    else:
        yield from reduced(obj)
