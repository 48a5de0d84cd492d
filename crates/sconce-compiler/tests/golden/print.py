"""Writes the golden file of sconce-compiler's printer with a real PyTorch (2.15).

    python print.py                # writes print.txt beside it: the constructs
    python print.py --all FILE     # writes FILE: also torch.nn.functional and the modules of torch.nn

One block a case. Lines of a block, in order:
    case NAME
    kind function|method
    schema TEXT        FunctionSchema; the types of arguments are those of the graph's inputs
    tuple NAME         the name of the NamedTuple in it, if any
    |TEXT              the lines of str(graph), with qualified names of functions
    >TEXT              the lines of code
"""

import enum
import inspect
import os
import re
import sys
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
warnings.simplefilter("ignore")


def nodes(block):
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes(inner)


def function_names(graph):
    """The qualified names of the functions in a graph's constants, in order."""
    for node in nodes(graph):
        if node.kind() == "prim::Constant" and node.output().type().kind() == "FunctionType":
            yield node.output().type().annotation_str
    for node in nodes(graph):
        if node.hasAttribute("Subgraph"):
            yield from function_names(node.g("Subgraph"))


def graph_text(graph):
    names = function_names(graph)
    text = re.sub(
        r'(: Function = prim::Constant\[name=)"[^"]*"',
        lambda match: f'{match[1]}"{next(names)}"',
        str(graph),
    )
    return re.sub(r" # \S+:\d+:\d+$", "", text, flags=re.M)


def schema_text(schema):
    try:
        return str(schema)
    except RuntimeError:
        # PyTorch cannot write a single number as the default of a list.
        parts = []
        for argument in schema.arguments:
            text = re.sub(r"List\[(\w+)\]", r"\1[]", str(argument.type))
            text = re.sub(r"Optional\[(.*)\]$", r"\1?", text)
            if argument.N is not None:
                text = text.replace("[]", f"[{argument.N}]")
            text += " " + argument.name
            if argument.has_default_value():
                text += f"={argument.default_value}"
            parts.append(text)
        return f"{schema.name}({', '.join(parts)}) -> {schema.returns[0].type}"


def named_tuple(graph):
    """The name of the NamedTuple in a graph, of which the text has only the fields."""
    values = list(graph.inputs()) + [v for node in nodes(graph) for v in node.outputs()]
    tuples = [v.type() for v in values if v.type().kind() == "TupleType"]
    names = {t.annotation_str for t in tuples if not t.annotation_str.startswith("Tuple[")}
    assert len(names) <= 1, names
    return [f"tuple {name}" for name in names]


def block(name, kind, function):
    schema = schema_text(function.schema)
    lines = [f"case {name}", f"kind {kind}", f"schema {schema}"] + named_tuple(function.graph)
    lines += ["|" + line for line in graph_text(function.graph).rstrip("\n").split("\n")]
    lines += [">" + line for line in function.code.rstrip("\n").split("\n")]
    return "\n".join(lines) + "\n\n"


# --- constructs ------------------------------------------------------------------------------------

TEXT = '''
def early_return(x, y: int):
    a = x
    for i in range(y):
        if i > 3:
            return a
        a = a + i
    return a

def while_break(x, n: int):
    total = 0
    i = 0
    while i < n:
        i += 1
        if i == 3:
            continue
        if i == 7:
            break
        total += i
    return x + total, total

def while_true(x):
    while True:
        x = x + 1
        if bool(x.sum() > 3):
            break
    return x

def optional_loop(x: Optional[Tensor], n: int):
    y: Optional[Tensor] = None
    for i in range(n):
        y = x
    if y is not None:
        return y
    return torch.zeros([n])

def unions(x: Union[int, str], c: bool):
    y: Union[int, str] = 1
    if isinstance(x, int):
        y = x
    if c:
        y = "s"
    return y

def optional_if(c: bool):
    x: Optional[int] = None
    if c:
        x = 3
    return x

def strings(c: bool):
    a = "a fairly long string that does not fit into a line of forty"
    b = "short"
    d = "quote \\" and \\' and \\n"
    e = "caf\u00e9"
    if c:
        return [a, b, d, e]
    return [a + b]

def containers(x: Tensor, y: Optional[int]):
    a: List[Optional[int]] = [y, 1]
    b: Dict[str, Tensor] = {}
    c = {"k": x, "l": x + 1}
    d: List[int] = []
    e = (x,)
    f = ()
    c["m"] = x
    d.append(len(a))
    g, = e
    return a, b, c, d, g, f

def operators(x: Tensor, l: List[int], s: str):
    a = x.sum(0, keepdim=True) / 2
    b = torch.full([2], 1)
    c = torch.add(x, x, alpha=2)
    torch.add(x, x, out=c)
    d = int(x) + l[0] + len(s)
    e = float(x)
    f = "{} {}".format(s, d)
    print(f, d)
    g = sorted(l)
    h = min(l[0], l[1])
    k = x.dtype
    m = x.float()
    return a, b, c, d, e, f, g, h, k, m, x[l[0]], x.shape, bool(x)

def long_lines(x: Tensor, y: Tensor):
    z = torch.add(torch.mul(torch.sub(x, y), torch.div(x, y)), torch.matmul(torch.transpose(x, 0, 1), torch.relu(torch.sigmoid(torch.tanh(y)))))
    return torch.cat([torch.relu(z), torch.sigmoid(torch.tanh(z)), torch.add(z, torch.mul(x, y))], 1)

def asserts(x: Tensor, n: int):
    assert n > 0, "n must be positive"
    if n > 5:
        raise ValueError("large")
    return x

def none(x: Tensor):
    pass

def numbers():
    return [1e-5, 1.0, 1e20, 0.1, -0.0], 2 + 3j, 10000000000.0, True, None

def implicit(x: Tensor) -> int:
    return x

def tuples(x: Tuple[int, str, Tensor]):
    a, b, c = x
    return x[1:], x[0], (a, b) + (c,)

def comprehension(l: List[int], d: Dict[str, int]):
    a = [i * 2 for i in l]
    b = {k: k + 1 for k in l}
    return a, b

def ternary(c: bool, x: Tensor, y: Optional[Tensor]):
    z = x if c else x + 1
    w = c and y is not None or not c
    return z, w

def keyword_names(in_: int, _0: int, x: int, x0: int):
    x = x + 1
    x = x + x0
    return x

def nested_loops(n: int, m: int):
    total = 0
    for i in range(n):
        for j in range(i, m, 2):
            if j > 4:
                break
            total += i * j
        else_ = total
    return total

def tolist(x: Tensor):
    y: List[float] = x.tolist()
    return y

def zip_enumerate(a: List[int], b: List[str]):
    out: List[str] = []
    for i, (x, y) in enumerate(zip(a, b)):
        out.append(y * 1 if i > x else y)
    return out
'''
TEXT = TEXT.replace("y * 1 if i > x else y", "y if i > x else str(x)")


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: torch.Tensor
    y: int = 3


@torch.jit.script
class Counter:
    def __init__(self, n: int):
        self.n = n

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.n -= 1

    def up(self, by: int = 1) -> int:
        self.n = self.n + by
        return self.n


def helper(x, k: int = 2, s: str = 'it\'s "q"\n\x01'):
    return x * k


def enums(x: Color):
    if x == Color.RED:
        return x.value
    return len(x.name)


def points(x: torch.Tensor):
    p = Point(x, 4)
    return p, p.x, p.y


def counters(n: int, x: torch.Tensor):
    c = Counter(n)
    with c as d:
        y = d.up()
    with c:
        pass
    with torch.no_grad():
        x = x + c.up(y)
    return x, c


def forks(x: torch.Tensor, n: int):
    y = x + n
    futures = torch.jit.annotate(List[torch.jit.Future[torch.Tensor]], [])
    for _ in range(n):
        futures.append(torch.jit.fork(helper, y))
    return [torch.jit.wait(f) for f in futures]


def calls(x: torch.Tensor, y: Optional[torch.Tensor] = None):
    if y is None:
        y = helper(x)
    return helper(y, 3, "t") + helper(x, s="u")


def awaits(x: torch.Tensor, n: int):
    y = x + n
    w = torch.jit._awaitable(helper, y.sum(), n)
    return torch.jit._awaitable_wait(w) + y


def fork_in_fork(x: torch.Tensor, n: int):
    f = torch.jit.fork(fork_helper, x.sum(), n * 2)
    return torch.jit.wait(f)


def fork_helper(x: torch.Tensor, n: int):
    f = torch.jit.fork(helper, (x + n).sum(), n)
    return torch.jit.wait(f)


def carried_unions(n: int, x: Optional[int], u: Union[int, str, None]):
    y = x
    z = u
    for i in range(n):
        y = i
        z = "s"
    while n > 3 and y is not None:
        n -= 1
        y = None
    return y, z


def indexing(l: List[torch.Tensor], t: Tuple[int, int], d: Dict[str, List[int]]):
    for i, v in enumerate(l):
        l[i] = v[i] + t[0]
    for k in d:
        d[k][0] += 1
    return l[0][0], (l + l)[1], d["k"][0], t[0:1]


def constants():
    a = [1.0, 1e-7, -0.0, float("inf"), -float("inf"), float("nan"), 1e300, 123456789012.0]
    b = ("a", (1, (True, None)))
    c = "t\t\x07\x0b\\ \x7f"
    return a, b, c, 1j, torch.device("cuda:1"), torch.float32, 2.5 - 1e-3j


def unwrap(x: Optional[torch.Tensor]):
    return torch.jit._unwrap_optional(x)


def keywords(x: torch.Tensor):
    return torch.arange(4, dtype=torch.int64), torch.zeros(2, device=torch.device("cpu")), x.to("cpu")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 3), torch.nn.ReLU()])
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("steps", torch.zeros(1))
        self.scale: float = 2.0
        self.last = torch.jit.Attribute(None, Optional[torch.Tensor])

    def forward(self, x: torch.Tensor, times: int = 1):
        for layer in self.layers:
            x = layer(x)
        self.steps += 1
        self.last = x
        for _ in range(times):
            x = self.norm(x) * self.scale
        return self.helper(x)

    def helper(self, x):
        return x + self.steps


def constructs():
    unit = torch.jit.CompilationUnit(TEXT)
    names = re.findall(r"^def (\w+)", TEXT, re.M)
    for name in names:
        yield block(name, "function", getattr(unit, name))
    functions = (helper, enums, points, counters, forks, calls, keywords, unwrap, awaits)
    functions += (fork_in_fork, fork_helper, carried_unions, indexing, constants)
    for function in functions:
        scripted = torch.jit.script(function)
        yield block(function.__name__, "function", scripted)
    yield from methods("Net", torch.jit.script(Net()))
    x = torch.tensor([[1.0, 2.0]])
    traced = torch.jit.trace(Net().eval(), x)
    yield from methods("traced", traced)


def methods(name, module):
    seen = set()
    for path, inner in module.named_modules():
        kind = inner._c._type().qualified_name()
        for method in inner._c._method_names():
            if (kind, method) not in seen:
                seen.add((kind, method))
                yield block(f"{name}.{path}.{method}", "method", inner._c._get_method(method))


# --- everything ------------------------------------------------------------------------------------


def functional():
    for name in sorted(dir(torch.nn.functional)):
        function = getattr(torch.nn.functional, name)
        if not inspect.isfunction(function):
            continue
        try:
            scripted = torch.jit.script(function)
        except Exception as error:
            print("not scriptable:", name, str(error).split("\n")[0][:80], file=sys.stderr)
            continue
        if isinstance(scripted, torch.jit.ScriptFunction):
            yield block("functional." + name, "function", scripted)


def modules():
    nn = torch.nn
    arguments = {
        "Linear": (2, 3), "Bilinear": (2, 3, 4), "Embedding": (5, 2), "EmbeddingBag": (5, 2),
        "LSTM": (2, 3, 2), "GRU": (2, 3), "RNN": (2, 3), "LSTMCell": (2, 3), "GRUCell": (2, 3),
        "RNNCell": (2, 3), "MultiheadAttention": (4, 2), "TransformerEncoderLayer": (4, 2),
        "TransformerDecoderLayer": (4, 2), "Transformer": (4, 2, 1, 1), "GroupNorm": (2, 4),
        "LayerNorm": (4,), "RMSNorm": (4,), "LocalResponseNorm": (2,), "CrossMapLRN2d": (2,),
        "Upsample": (None, 2), "PixelShuffle": (2,), "PixelUnshuffle": (2,), "Threshold": (0.1, 2),
        "ChannelShuffle": (2,), "Flatten": (), "Unflatten": (1, (2, 2)), "Fold": (4, 2),
        "Unfold": (2,), "AdaptiveLogSoftmaxWithLoss": (4, 6, [2, 4]), "Softmax2d": (),
        "MaxUnpool1d": (2,), "MaxUnpool2d": (2,), "MaxUnpool3d": (2,), "LPPool1d": (2, 2),
        "LPPool2d": (2, 2), "LPPool3d": (2, 2), "FractionalMaxPool2d": (2, 3),
        "FractionalMaxPool3d": (2, 3), "UpsamplingBilinear2d": (None, 2),
        "UpsamplingNearest2d": (None, 2),
    }
    for name in sorted(dir(nn)):
        kind = getattr(nn, name)
        if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
            continue
        for given in [arguments.get(name), (), (2,), (4,), (2, 2), (2, 3, 1)]:
            if given is None:
                continue
            try:
                module = kind(*given)
                scripted = torch.jit.script(module)
            except Exception as error:
                reason = str(error).split("\n")[0][:80]
                continue
            yield from methods(name, scripted)
            break
        else:
            print("not scriptable:", name, reason, file=sys.stderr)
    layer = nn.TransformerEncoderLayer(4, 2, batch_first=True)
    yield from methods("TransformerEncoder", torch.jit.script(nn.TransformerEncoder(layer, 2)))
    yield from methods("Bidirectional", torch.jit.script(nn.LSTM(2, 3, 2, bidirectional=True)))


if __name__ == "__main__":
    everything = sys.argv[1:2] == ["--all"]
    path = sys.argv[2] if everything else os.path.join(HERE, "print.txt")
    with open(path, "w", encoding="utf-8") as out:
        for case in constructs():
            out.write(case)
        if everything:
            for source in (functional(), modules()):
                for case in source:
                    out.write(case)
