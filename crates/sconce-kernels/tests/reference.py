"""Writes reference.json: inputs, and what PyTorch makes of them, for reference.rs to compare with.

Run it with a Python that has torch: python reference.py > reference.json
"""

import json
import torch
import torch.nn.functional as F

torch.manual_seed(0)
CASES = []
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.float64, torch.complex64]


def number(x):
    if isinstance(x, float) and (x != x or x in (float("inf"), float("-inf"))):
        return str(x)
    return x


def encode(value):
    if isinstance(value, torch.Tensor):
        data = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        # Nine digits hold every float32.
        digits = 9 if value.dtype not in (torch.float64, torch.complex128) else 17
        shorten = lambda x: float(f"{x:.{digits}g}") if isinstance(x, float) else x
        data = [number(shorten(x)) for x in data.contiguous().flatten().tolist()]
        return {"dtype": str(value.dtype)[6:], "sizes": list(value.shape), "data": data}
    if isinstance(value, (list, tuple)):
        return [encode(x) for x in value]
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return number(value)


def case(op, function, *args, transposed=False):
    """`transposed` stores the first tensor with its last two dimensions swapped, so that the reader
    makes a view of it that is not contiguous."""
    stored = [encode(a) for a in args]
    if transposed:
        stored[0] = encode(args[0].transpose(-1, -2).contiguous())
    entry = {"op": op, "transposed": transposed, "args": stored}
    try:
        entry["want"] = encode(function(*args))
    except Exception as error:
        entry["error"] = str(error).split("\n")[0]
    CASES.append(entry)


def sample(dtype, *sizes):
    if dtype == torch.bool:
        return torch.rand(sizes) > 0.5
    if dtype.is_complex:
        return torch.randn(sizes, dtype=dtype)
    if dtype.is_floating_point:
        return (torch.randn(sizes) * 2).to(dtype)
    low = 0 if dtype == torch.uint8 else -9
    return torch.randint(low, 10, sizes).to(dtype)


BINARY = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div,
    "DivTrunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "DivFloor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "Pow": torch.pow, "Remainder": torch.remainder, "Fmod": torch.fmod,
    "Maximum": torch.maximum, "Minimum": torch.minimum, "Fmax": torch.fmax, "Fmin": torch.fmin,
    "Atan2": torch.atan2, "Eq": torch.eq, "Ne": torch.ne, "Lt": torch.lt, "Le": torch.le,
    "Gt": torch.gt, "Ge": torch.ge, "BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor, "LeftShift": torch.bitwise_left_shift,
    "RightShift": torch.bitwise_right_shift, "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or, "LogicalXor": torch.logical_xor,
}
TENSORS_ONLY = {"Maximum", "Minimum", "Fmax", "Fmin", "Atan2", "LogicalAnd", "LogicalOr", "LogicalXor"}
for name, function in BINARY.items():
    for i, dtype in enumerate(DTYPES):
        a, b = sample(dtype, 2, 3), sample(dtype, 3)
        if name in ("DivTrunc", "DivFloor", "Remainder", "Fmod") and not dtype.is_floating_point:
            b = torch.ones(3, dtype=dtype) * 3
        case("binary:" + name, function, a, b)
        other = DTYPES[(i * 3 + 1) % len(DTYPES)]
        c = sample(other, 2, 1)
        if not other.is_floating_point:
            c = torch.ones(2, 1, dtype=other) * 2
        case("binary:" + name, function, a, c, transposed=True)
        case("binary:" + name, function, a, c[0, 0])
        if name not in TENSORS_ONLY:
            case("binary:" + name, function, a, 2)
            case("binary:" + name, function, a, 1.5)
    case("binary:" + name, function, torch.zeros(3), torch.zeros(4))
for name in ("DivTrunc", "DivFloor", "Remainder", "Fmod"):
    case("binary:" + name, BINARY[name], torch.tensor([5, -5]), torch.tensor([0, 1]))
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("nan"), 7.5, -7.5])
    case("binary:" + name, BINARY[name], special.unsqueeze(1), special)
for name in ("Maximum", "Minimum", "Fmax", "Fmin", "Lt", "Pow"):
    case("binary:" + name, BINARY[name], special.unsqueeze(1), special)
case("binary:Pow", torch.pow, torch.tensor([2]), -1)
case("binary:Pow", torch.pow, torch.tensor([2, 1, -1]), torch.tensor([-1, -2, -3]))
for a in DTYPES:
    for b in DTYPES:
        case("add_alpha", lambda x, y, s: torch.add(x, y, alpha=s), sample(a, 2), sample(b, 2), 2)

UNARY = {
    "Neg": torch.neg, "Abs": torch.abs, "Relu": torch.relu, "Relu6": F.relu6, "Sign": torch.sign,
    "Square": torch.square, "Exp": torch.exp, "Exp2": torch.exp2, "Expm1": torch.expm1, "Log": torch.log,
    "Log2": torch.log2, "Log10": torch.log10, "Log1p": torch.log1p, "Sqrt": torch.sqrt,
    "Rsqrt": torch.rsqrt, "Reciprocal": torch.reciprocal, "Sin": torch.sin, "Cos": torch.cos,
    "Tan": torch.tan, "Asin": torch.asin, "Acos": torch.acos, "Atan": torch.atan, "Sinh": torch.sinh,
    "Cosh": torch.cosh, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid, "Erf": torch.erf,
    "Erfc": torch.erfc, "Gelu": F.gelu, "GeluTanh": lambda x: F.gelu(x, approximate="tanh"),
    "Silu": F.silu, "Mish": F.mish, "Hardsigmoid": F.hardsigmoid, "Hardswish": F.hardswish,
    "Frac": torch.frac, "Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round,
    "Trunc": torch.trunc, "logical_not": torch.logical_not, "bitwise_not": torch.bitwise_not,
    "isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite,
}
COMPLEX = {"Neg", "Abs", "Square", "Exp", "Log", "Sqrt", "Reciprocal", "Sin", "Cos", "Tanh", "logical_not",
           "isnan", "isinf", "isfinite", "Relu", "Floor", "Gelu", "Erf", "bitwise_not"}
edge = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 20.0, -20.0, 100.0, -100.0,
                     float("inf"), float("-inf"), float("nan")])
for name, function in UNARY.items():
    for dtype in DTYPES:
        if not dtype.is_complex or name in COMPLEX:
            case("unary:" + name, function, sample(dtype, 2, 3), transposed=True)
    # PyTorch's gelu of infinity is NaN or infinity, depending on the processor.
    case("unary:" + name, function, edge[edge.isfinite()] if name == "Gelu" else edge)
    case("unary:" + name, function, edge.double())

x, y = sample(torch.float32, 2, 3), sample(torch.float64, 3)
mask = torch.tensor([True, False, True])
case("where", torch.where, mask, x, y)
case("where", torch.where, mask, x, 2)
case("where", torch.where, x, x, y)
case("masked_fill", torch.masked_fill, x, mask, float("-inf"))
case("masked_fill", torch.masked_fill, x, x, 1.0)
case("masked_fill", torch.masked_fill, torch.tensor([1, 2, 3]), mask, 1.5)
for low, high in [(-1, 1), (None, 0.5), (0, None), (None, None)]:
    case("clamp", torch.clamp, x, low, high)
    case("clamp", torch.clamp, edge, low, high)
    case("clamp", torch.clamp, torch.tensor([-5, 5]), low, high)
case("leaky_relu", F.leaky_relu, edge, 0.1)
case("elu", F.elu, edge, 1.5)
case("softplus", F.softplus, edge, 1.0, 20.0)

t = sample(torch.float32, 2, 3, 4)
for name, function in {"sum": torch.sum, "mean": torch.mean, "all": torch.all, "any": torch.any,
                       "logsumexp": torch.logsumexp, "amax": torch.amax}.items():
    for dims in ([0], [1], [-1], [0, 2], [0, 1, 2], [3], [0, 0]):
        for keepdim in (False, True):
            case(name, lambda a, d, k, f=function: f(a, d, keepdim=k), t, dims, keepdim, transposed=True)
    if name != "amax":
        for dtype in (torch.bool, torch.uint8, torch.int32, torch.float16):
            case(name, lambda a, d, k, f=function: f(a, d, keepdim=k), sample(dtype, 3, 4), [1], False)
case("sum", lambda a, d, k: torch.sum(a, d, keepdim=k), torch.randn(1100), [0], False)
for name in ("var", "std"):
    for correction in (0.0, 1.0):
        case(name, lambda a, d, c, k, f=getattr(torch, name): f(a, d, correction=c, keepdim=k), t, [1, 2], correction, True)
for p in (0.0, 1.0, 2.0, 3.0, float("inf"), float("-inf")):
    case("norm", lambda a, p, d, k: torch.linalg.vector_norm(a, p, d, k), t, p, [1], False)
for dim in (0, 1, -1, None, 5):
    for name in ("max", "min"):
        f = getattr(torch, name)
        if dim is None:
            g = lambda a, d, k, f=f, n=name: [f(a), getattr(torch, "arg" + n)(a)]
        else:
            g = lambda a, d, k, f=f: list(f(a, d, k))
        case(name, g, t, dim, False, transposed=True)
        case(name, g, torch.tensor([[1.0, float("nan"), 3.0], [3.0, 3.0, 1.0]]), dim, dim is not None)
case("max", lambda a, d, k: list(torch.max(a, d, k)), torch.zeros(0), 0, False)
for dim in (0, 1, -1):
    for name in ("cumsum", "softmax", "log_softmax"):
        f = getattr(torch, name)
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64):
            case(name, f, sample(dtype, 3, 4), dim, transposed=True)
case("softmax", torch.softmax, torch.tensor([[0.0, float("-inf")], [float("-inf")] * 2]), 1)
for dim in (0, 1, None):
    case("prod", lambda a, d: a.prod() if d is None else a.prod(d), sample(torch.int32, 3, 2), dim)

MATRIX = [((2, 3), (3, 4)), ((2, 3), (2, 3)), ((3,), (3,)), ((2,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)),
          ((2, 2, 3), (3, 4)), ((2, 2, 3), (3,)), ((2, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 2)), ((), (2,)),
          ((2, 0), (0, 3)), ((17, 33), (33, 9)), ((2, 2, 3), (3, 3, 2))]
for a, b in MATRIX:
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.complex64):
        case("matmul", torch.matmul, sample(dtype, *a), sample(dtype, *b), transposed=len(a) > 1)
case("mm", torch.mm, x, sample(torch.int64, 3, 2))
case("mm", torch.mm, torch.zeros(2), x)
case("bmm", torch.bmm, torch.zeros(2, 3, 4), torch.zeros(2, 3, 4))
case("bmm", torch.bmm, torch.zeros(3, 4), torch.zeros(2, 3, 4))
for beta, alpha in ((1, 1), (0.5, 2)):
    f = lambda i, a, b, beta, alpha: torch.addmm(i, a, b, beta=beta, alpha=alpha)
    case("addmm", f, torch.randn(4), torch.randn(2, 3), torch.randn(3, 4), beta, alpha)
f = lambda i, a, b, beta, alpha: torch.addmm(i, a, b, beta=beta, alpha=alpha)
case("addmm", f, torch.full((4,), float("nan")), torch.randn(2, 3), torch.randn(3, 4), 0, 1)
for sizes in ((3,), (2, 3), (2, 2, 3)):
    case("linear", F.linear, torch.randn(sizes), torch.randn(4, 3), torch.randn(4))
    case("linear", F.linear, torch.randn(sizes), torch.randn(4, 3), None)
case("linear", F.linear, torch.randn(2, 3), torch.randn(4, 2), None)

case("cat", lambda l, d: torch.cat(l, d), [x, sample(torch.int64, 1, 3), torch.zeros(0)], 0)
case("cat", lambda l, d: torch.cat(l, d), [x, x.double()], -1)
case("cat", lambda l, d: torch.cat(l, d), [x, torch.zeros(3, 2)], 0)
case("cat", lambda l, d: torch.cat(l, d), [x, torch.zeros(2)], 0)
for d in (0, 1, -1):
    case("stack", lambda l, d: torch.stack(l, d), [x, x + 1], d)
case("stack", lambda l, d: torch.stack(l, d), [x, y], 0)
for n in (1, 2, 3, 7, 0, -1):
    case("split", lambda a, n, d: list(torch.split(a, n, d)), torch.arange(7.0), n, 0)
    case("chunk", lambda a, n, d: list(torch.chunk(a, n, d)), torch.arange(7.0), n, 0)
case("split_with_sizes", lambda a, n, d: list(torch.split(a, n, d)), torch.arange(7.0), [3, 4], 0)
case("split_with_sizes", lambda a, n, d: list(torch.split(a, n, d)), torch.arange(7.0), [3, 3], 0)
index = torch.tensor([2, 0, 0])
for d in (0, 1, 2):
    case("index_select", torch.index_select, torch.randn(3, 3, 3), d, index, transposed=True)
case("index_select", torch.index_select, x, 0, torch.tensor([7]))
case("gather", torch.gather, x, 1, torch.tensor([[2, 0], [1, 1]]), transposed=True)
case("gather", torch.gather, x, 0, torch.tensor([[1, 0]]))
case("gather", torch.gather, x, 0, torch.tensor([[5]]))
case("gather", torch.gather, x, 0, torch.tensor([5]))
case("scatter", torch.scatter, x, 1, torch.tensor([[2, 0], [1, 2]]), torch.randn(2, 3))
case("scatter", torch.scatter, x, 1, torch.tensor([[2, 0], [1, 2]]), 9.0)
case("embedding", torch.embedding, torch.randn(5, 3), torch.tensor([[0, 4], [2, 2]]))
case("embedding", torch.embedding, torch.randn(5, 3), torch.tensor([5]))
case("embedding", torch.embedding, torch.randn(5, 3), torch.tensor([1.0]))
cube = torch.arange(24.0).view(2, 3, 4)
INDICES = [[index], [None, index - 1], [torch.tensor([0, 1]), torch.tensor([[2], [1]])],
           [torch.tensor([0, 1]), None, torch.tensor([3, -1])], [None, torch.tensor([0, 2]), torch.tensor([1, 1])],
           [torch.tensor([True, False])], [cube > 12], [None, torch.tensor([True, False, True])],
           [torch.tensor([5])], [torch.tensor([1.0])], [torch.tensor([True])],
           [torch.tensor([0, 1]), torch.tensor([0, 1, 2])], [torch.tensor([0])] * 4]
index_of = lambda a, l: torch.ops.aten.index(a, l)
for l in INDICES:
    case("index", index_of, cube, l, transposed=True)
put = lambda a, l, v, acc: torch.ops.aten.index_put(a, l, v, acc)
case("index_put", put, cube, [None, torch.tensor([0, 2])], torch.tensor([[7.0]]), False)
case("index_put", put, cube, [torch.tensor([0, 0])], torch.tensor(1.0), True)
case("index_put", put, cube, [torch.tensor([0, 0])], torch.zeros(3), False)
case("nonzero", torch.nonzero, torch.tensor([[0, 1], [2, 0]]))

case("batch_norm", lambda a, w, b, m, v, e: F.batch_norm(a, m, v, w, b, False, 0.1, e),
     torch.randn(2, 3, 4), torch.randn(3), torch.randn(3), torch.randn(3), torch.rand(3), 1e-5, transposed=True)
case("batch_norm", lambda a, w, b, m, v, e: F.batch_norm(a, m, v, w, b, False, 0.1, e),
     torch.randn(2, 3), None, None, torch.randn(3), torch.rand(3), 1e-5)
case("layer_norm", F.layer_norm, torch.randn(2, 3, 4), [4], torch.randn(4), torch.randn(4), 1e-5, transposed=True)
case("layer_norm", F.layer_norm, torch.randn(2, 3, 4), [3, 4], None, None, 1e-5)
case("layer_norm", F.layer_norm, torch.randn(2, 3), [4], None, None, 1e-5)
case("group_norm", F.group_norm, torch.randn(2, 4, 3), 2, torch.randn(4), torch.randn(4), 1e-5)
case("group_norm", F.group_norm, torch.randn(2, 3), 2, None, None, 1e-5)

CONVS = [((1, 3, 6, 7), (4, 3, 3, 3), 1, 0, 1, 1), ((2, 3, 6, 7), (4, 3, 3, 3), 2, 1, 1, 1),
         ((2, 4, 6, 7), (4, 2, 3, 2), [1, 2], [0, 1], [2, 1], 2), ((2, 4, 7, 6), (4, 1, 3, 3), 2, 1, 1, 4),
         ((1, 2, 5, 5), (4, 1, 3, 3), 1, 2, 2, 2), ((2, 4, 5, 5), (3, 4, 1, 1), 1, 0, 1, 1),
         ((2, 4, 5, 5), (3, 4, 1, 1), 2, 0, 1, 1), ((3, 6, 6), (4, 3, 3, 3), 1, 1, 1, 1),
         ((2, 3, 9), (4, 3, 3), 2, 1, 2, 1), ((3, 9), (6, 1, 4), 1, 3, 1, 3), ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), [1, 2, 1], 1, 1, 1),
         ((1, 3, 4, 4), (2, 3, 3, 3), 1, 5, 1, 1),
         ((1, 3, 4, 4), (2, 2, 3, 3), 1, 0, 1, 1), ((1, 3, 2, 2), (2, 3, 3, 3), 1, 0, 1, 1),
         ((3, 3), (2, 3, 3, 3), 1, 0, 1, 1), ((1, 3, 4, 4), (2, 3, 3, 3), 0, 0, 1, 1),
         ((1, 3, 4, 4), (2, 3, 3, 3), 1, -1, 1, 1), ((1, 4, 4, 4), (3, 2, 3, 3), 1, 0, 1, 2),
         ((1, 3, 4, 4), (2, 3, 3, 3), [1, 1, 1], 0, 1, 1)]
for a, w, *rest in CONVS:
    f = [F.conv1d, F.conv2d, F.conv3d][len(w) - 3]
    lists = [r if isinstance(r, list) else [r] for r in rest[:3]]
    case("conv", f, torch.randn(a), torch.randn(w), torch.randn(w[0]), *lists, rest[3])
    case("conv", f, torch.randn(a).double(), torch.randn(w).double(), None, *lists, rest[3])
case("conv", F.conv2d, torch.randn(1, 3, 4, 4), torch.randn(2, 3, 3, 3), torch.randn(3), [1], [0], [1], 1)

for size in ((1, 2, 6, 7), (2, 5, 5)):
    for kernel, stride, padding, dilation, ceil in (((2, 2), (2, 2), (0, 0), (1, 1), False), ((3, 3), (2, 2), (1, 1), (1, 1), False),
                                                    ((3, 2), (2, 2), (1, 0), (1, 2), True), ((2, 2), (2, 2), (0, 0), (1, 1), True),
                                                    ((3, 3), (3, 3), (1, 1), (1, 1), True), ((9, 9), (1, 1), (0, 0), (1, 1), False), ((2, 2), (2, 2), (2, 2), (1, 1), False)):
        case("max_pool2d", lambda a, k, s, p, d, c: list(F.max_pool2d(a, k, s, p, d, c, return_indices=True)),
             torch.randn(size), kernel, stride, padding, dilation, ceil)
        for include in (False, True):
            case("avg_pool2d", F.avg_pool2d, torch.randn(size), kernel, stride, padding, ceil, include)
    for output in ([1, 1], [3, 4], [7, 9]):
        case("adaptive_avg_pool2d", F.adaptive_avg_pool2d, torch.randn(size), output)

for bounds in ((0, 5, 1), (5, 0, -2), (0, 1.0, 0.3), (0, 5, 0), (0, 5, -1), (3, 3, 1)):
    case("arange", torch.arange, *bounds)
for start, end, steps in ((0.0, 1.0, 5), (3.0, -3.0, 4), (1.0, 2.0, 1), (1.0, 2.0, 0), (0.0, 1.0, -1)):
    case("linspace", torch.linspace, start, end, steps)
for sizes in ((2, 3), (3, 3), (2, 3, 4)):
    for k in (-1, 0, 1):
        case("tril", torch.tril, torch.ones(sizes), k)
        case("triu", torch.triu, torch.ones(sizes), k)
case("eye", torch.eye, 2, 3)
case("eye", torch.eye, 3, 2)

for d, down in ((0, False), (1, True), (-1, False)):
    case("sort", lambda a, d, r: list(torch.sort(a, dim=d, descending=r, stable=True)), torch.randint(0, 4, (3, 4)), d, down, transposed=True)
    case("sort", lambda a, d, r: list(torch.sort(a, dim=d, descending=r, stable=True)), edge.view(2, 7), d, down)
    case("topk", lambda a, k, d, l: list(torch.topk(a, k, d, l)), torch.randn(3, 4), 2, d, down)
case("topk", lambda a, k, d, l: list(torch.topk(a, k, d, l)), torch.randn(3), 4, 0, True)
for padding in ((1, 2), (2, 1, 0, 3), (-1, 2), (5, 0), (0, -9)):
    case("pad_constant", lambda a, p, v: F.pad(a, p, "constant", v), torch.randn(2, 3, 4), padding, 1.5)
for padding in ((1, 2), (3, 3), (4, 0)):
    case("pad_reflect", lambda a, p: F.pad(a, p, "reflect"), torch.randn(2, 3, 4), padding)
    case("pad_replicate", lambda a, p: F.pad(a, p, "replicate"), torch.randn(2, 3, 4), padding)
case("pad_reflect", lambda a, p: F.pad(a, p, "reflect"), torch.randn(1, 2, 3, 4), (1, 2, 2, 1))
for output in ([6, 8], [2, 3], [7, 5], [1, 1]):
    case("nearest", lambda a, o: torch.ops.aten.upsample_nearest2d(a, o), torch.randn(1, 2, 3, 4), output)
    for corners in (False, True):
        case("bilinear", lambda a, o, c: torch.ops.aten.upsample_bilinear2d(a, o, c), torch.randn(1, 2, 3, 4), output, corners)

print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]")
