"""Sizes that are given once for all dimensions."""


def _repeated(x, count):
    if isinstance(x, (list, tuple)):
        return tuple(x)
    return (x,) * count


def _single(x):
    return _repeated(x, 1)


def _pair(x):
    return _repeated(x, 2)


def _triple(x):
    return _repeated(x, 3)


def _quadruple(x):
    return _repeated(x, 4)


def _ntuple_of(x, count):
    return _repeated(x, count)


def _reversed_twice(sizes):
    """(a, b) as [b, b, a, a]: paddings in the order of torch.nn.functional.pad."""
    turned = []
    for size in reversed(sizes):
        turned.append(size)
        turned.append(size)
    return turned
