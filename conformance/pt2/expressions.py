"""Symbolic expressions with what sympy prints of them: crates/sconce-export-program/src/expression/shown.tsv.

    python conformance/pt2/expressions.py > crates/sconce-export-program/src/expression/shown.tsv

One expression a line: what sympy.srepr writes, a tab, what str gives. They are made at random from the functions that
PyTorch's shapes have, and read back as torch.export.load reads them, so that all are as simple as sympy makes them.
"""

import random

import sympy
from torch.utils._sympy import functions as F

SYMBOLS = [sympy.Symbol(name, positive=True, integer=True) for name in ("s0", "s5", "s17", "s27", "s77")]
SYMBOLS.append(sympy.Symbol("u0", integer=True))
FLOATS = [sympy.Symbol("zf1", real=True)]
NAMES = {name: getattr(F, name) for name in dir(F) if isinstance(getattr(F, name), sympy.core.function.FunctionClass)}
NAMES |= {name: getattr(F, name) for name in dir(F) if name.startswith("OpaqueUnaryFn_")}


def integer(pick, depth):
    if depth == 0 or pick.random() < 0.2:
        return pick.choice(SYMBOLS) if pick.random() < 0.7 else sympy.Integer(pick.randint(-4, 9))
    a, b = integer(pick, depth - 1), integer(pick, depth - 1)
    number = sympy.Integer(pick.randint(2, 8))
    kind = pick.randrange(13)
    if kind <= 2:
        return a + b
    if kind == 3:
        return a - b
    if kind <= 5:
        return a * b
    if kind == 6:
        return number * a
    if kind == 7:
        return F.FloorDiv(a, number)
    if kind == 8:
        return F.FloorDiv(a, pick.choice(SYMBOLS[:5]))
    if kind == 9:
        return F.Mod(a * a, number)
    if kind == 10:
        return pick.choice((F.Max, F.Min))(a, b)
    if kind == 11:
        return a**2
    return F.TruncToInt(real(pick, depth - 1))


def real(pick, depth):
    if depth == 0:
        return pick.choice(FLOATS) if pick.random() < 0.3 else F.ToFloat(pick.choice(SYMBOLS))
    a = F.ToFloat(integer(pick, depth - 1))
    kind = pick.randrange(5)
    if kind == 0:
        return a * sympy.Float(pick.choice((0.5, 1.5, 0.1 + 0.2, 1e-7, 1 / 3, 2.0)))
    if kind == 1:
        return a + sympy.Float(pick.choice((0.5, -1.5, 1e16)))
    if kind == 2:
        return F.IntTrueDiv(integer(pick, depth - 1), pick.choice(SYMBOLS))
    if kind == 3:
        return F.FloatTrueDiv(a, F.ToFloat(pick.choice(SYMBOLS)))
    return F.OpaqueUnaryFn_sqrt(a)


def boolean(pick, depth):
    a, b = integer(pick, depth - 1), integer(pick, depth - 1)
    kind = pick.choice((sympy.Ge, sympy.Gt, sympy.Le, sympy.Lt, sympy.Eq, sympy.Ne))
    first = kind(a, b)
    if pick.random() < 0.2:
        return pick.choice((sympy.And, sympy.Or))(first, sympy.Gt(pick.choice(SYMBOLS), 3))
    return first


def main():
    pick = random.Random(15)
    seen = {}
    while len(seen) < 400:
        make = pick.choice((integer, integer, integer, real, boolean))
        try:
            text = sympy.srepr(make(pick, pick.randint(1, 3)))
            read = sympy.sympify(text, locals=NAMES)
            written = sympy.srepr(read)
        except Exception:  # what PyTorch's own functions refuse
            continue
        if len(written) < 500 and "zoo" not in written and "nan" not in written:
            seen[written] = str(read)
    for text in sorted(seen):
        print(f"{text}\t{seen[text]}")


if __name__ == "__main__":
    main()
