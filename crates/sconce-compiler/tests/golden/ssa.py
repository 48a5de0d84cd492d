"""Writes the golden file of sconce-compiler's conversion to static single assignments with a real
PyTorch (2.15) and a C++ compiler.

    python ssa.py                  # writes ssa.txt beside it
    python ssa.py FILE COUNT SEED  # writes FILE with COUNT random programs besides

A case is `==before`, a graph as PyTorch's emitter made it, `==after`, and the same after ConvertToSSA.
"""

import importlib.util
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Optional

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
warnings.simplefilter("ignore")

TEXT = '''
def early(x: Tensor, y: int):
    a = x
    for i in range(y):
        if i > 3:
            return a
        a = a + i
    return a

def exits(n: int):
    total = 0
    i = 0
    while i < n:
        i += 1
        if i == 3:
            continue
        if i == 7:
            break
        total += i
    return total

def optional(x: Optional[int], c: bool):
    if x is None:
        return 1
    return x + 1

def raises(c: bool):
    if c:
        raise ValueError("a")
    return 1

def only_raises():
    raise ValueError("a")

def forever(x: Tensor):
    while True:
        x = x + 1
        if bool(x.sum() > 3):
            break
    return x

def comprehension(l: List[int]):
    i = 3
    a = [i * 2 for i in l]
    return a, i

def nested(n: int, m: int):
    total = 0
    for i in range(n):
        for j in range(m):
            if j == i:
                continue
            if j > 4:
                return total
            total += j
        if total > 9:
            break
    else_ = total
    return else_

def lists(c: bool, d: bool):
    if c:
        return [1]
    if d:
        raise ValueError("d")
    return [2, 3]

def unions(x: Union[int, str], c: bool):
    if c:
        if isinstance(x, int):
            return x
        y = x
    else:
        y = "s"
    return len(y)

def after_exit(n: int):
    i = 0
    while i < n:
        i += 1
        break
        i += 2
    return i
    return n
'''


# --- random programs -------------------------------------------------------------------------------

NAMES = "abcd"


@torch.jit.script
class Context:
    def __init__(self):
        self.n = 0

    def __enter__(self) -> int:
        return self.n

    def __exit__(self, kind: Any, value: Any, trace: Any):
        pass


def condition():
    name, other = random.choice(NAMES), random.choice(NAMES)
    return random.choice(
        [
            f"{name} > 2 and {other} < 9",
            f"not ({name} == 1)",
            f"{name} < {random.randint(0, 9)}",
            f"{name} != {other}",
        ]
    )


def expression():
    if random.random() < 0.2:
        return f"({random.choice(NAMES)} if {condition()} else {random.choice(NAMES)})"
    return f"{random.choice(NAMES)} {random.choice('+-*')} {random.randint(0, 9)}"


def statement(depth, in_loop, indent):
    pad = "  " * indent
    inner = lambda loop: block(depth - 1, loop, indent + 1)
    kinds = {
        "if": 14 * (depth > 0),
        "if-else": 14 * (depth > 0),
        "for": 10 * (depth > 0),
        "while": 10 * (depth > 0),
        "with": 3 * (depth > 0),
        "break": 6 * in_loop,
        "continue": 6 * in_loop,
        "return": 6,
        "raise": 3,
        "optional": 4,
        "list": 3,
        "assert": 4,
        "refine": 3,
        "assign": 14,
    }
    kind = random.choices(list(kinds), list(kinds.values()))[0]
    name = random.choice(NAMES)
    if kind == "if":
        return [f"{pad}if {condition()}:"] + inner(in_loop)
    if kind == "if-else":
        return [f"{pad}if {condition()}:"] + inner(in_loop) + [f"{pad}else:"] + inner(in_loop)
    if kind == "for":
        return [f"{pad}for i{indent} in range({name}):"] + inner(True)
    if kind == "while":
        return [f"{pad}while {condition()}:"] + inner(True)
    if kind == "with":
        return [f"{pad}with context as e{indent}:"] + inner(in_loop)
    if kind == "refine":
        return [f"{pad}if o is not None:", f"{pad}  {name} = o + 1"]
    simple = {
        "break": "break",
        "continue": "continue",
        "return": f"return {name}",
        "raise": "raise ValueError('x')",
        "optional": f"o = {random.choice(['None', name])}",
        "list": f"l = [{name} for z in range(3)]",
        "assert": f"assert {condition()}",
        "assign": f"{name} = {expression()}",
    }
    return [pad + simple[kind]]


def block(depth, in_loop, indent):
    return [
        line
        for _ in range(random.randint(1, 4))
        for line in statement(depth, in_loop, indent)
    ]


def random_program(folder, number):
    path = os.path.join(folder, f"program{number}.py")
    with open(path, "w", encoding="utf-8") as out:
        out.write("import torch\nfrom typing import *\n")
        out.write("def f(a: int, b: int, c: int, d: int, context: Context, o: Optional[int]) -> int:\n")
        out.write("  l: List[int] = []\n")
        out.write("\n".join(block(random.randint(1, 4), False, 1)))
        out.write("\n  return a + len(l)\n")
    spec = importlib.util.spec_from_file_location(f"program{number}", path)
    module = importlib.util.module_from_spec(spec)
    module.Context = Context
    spec.loader.exec_module(module)
    try:
        torch.jit.script(module.f)
    except RuntimeError:
        pass  # no program; or one PyTorch itself fails on


# --- running ---------------------------------------------------------------------------------------


def compile_programs(count, seed, folder):
    unit = torch.jit.CompilationUnit(TEXT)
    assert len(re.findall(r"^def ", TEXT, re.M)) == len(unit.get_functions())
    random.seed(seed)
    for number in range(count):
        random_program(folder, number)


def main(path, count, seed, longest):
    torch_folder = os.path.dirname(torch.__file__)
    include = os.path.join(torch_folder, "include")
    library = os.path.join(torch_folder, "lib")
    with tempfile.TemporaryDirectory() as folder:
        shim, record = os.path.join(folder, "ssa.so"), os.path.join(folder, "record.txt")
        source = os.path.join(HERE, "ssa.cpp")
        build = ["g++", "-std=c++20", "-fPIC", "-shared", "-I" + include, source, "-o", shim]
        subprocess.run(build + ["-L" + library, "-ltorch_cpu", "-lc10", "-ldl"], check=True)
        environment = dict(os.environ, LD_PRELOAD=shim, LD_LIBRARY_PATH=library, SSA_GOLDEN=record)
        child = [sys.executable, os.path.abspath(__file__), "--child", str(count), str(seed), folder]
        subprocess.run(child, env=environment, check=True)
        with open(record, encoding="utf-8") as lines:
            cases = lines.read().split("==before\n")[1:]
    # PyTorch's own helpers come first and are the same each time; source places say where I ran.
    cases = dict.fromkeys(re.sub(r" # \S+:\d+:\d+$", "", case, flags=re.M) for case in cases)
    with open(path, "w", encoding="utf-8") as out:
        for case in cases:
            if case.count("\n") <= longest:
                out.write("==before\n" + case)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        compile_programs(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    elif len(sys.argv) == 4:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.maxsize)
    else:
        main(os.path.join(HERE, "ssa.txt"), 60, 7, 110)
