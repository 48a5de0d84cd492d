"""Writes the golden files of sconce-tensor with a real PyTorch (2.15) and NumPy.

    python generate.py    # writes dtypes.txt, print.txt, codes.txt, casts.txt, stats.txt and npy.txt beside it

print.txt: one block a case. Lines of a block, in order:
    case NAME
    option NAME VALUE                  any number
    parameter                          if the text is that of a torch.nn.Parameter
    LAYOUT ...                         how to build the tensor; its parts follow, a line each
    |TEXT                              the lines of str(tensor)
A strided line is `strided DTYPE SIZES STRIDES OFFSET FLAGS DATA`, where a list is numbers with commas
or `-`, FLAGS are some of `c` conj, `n` neg, `g` requires_grad or `-`, and DATA is the storage in
hexadecimal, or `lcg:SEED:BYTES` for the pseudo-random bytes that `lcg` below makes.
"""

import io
import os
import random
import struct

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def lcg(seed, count):
    out = bytearray()
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        out.append((seed >> 16) & 255)
    return bytes(out)


def numbers(values):
    return ",".join(str(int(v)) for v in values) or "-"


def storage_hex(t):
    storage = t.untyped_storage()
    raw = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
    return raw.numpy().tobytes().hex() or "-"


def strided(t, data=None):
    flags = ("c" if t.is_conj() else "") + ("n" if t.is_neg() else "") + ("g" if t.requires_grad else "")
    name = str(t.dtype)[6:]
    if data is None:
        data = storage_hex(t.detach())
    return (
        f"strided {name} {numbers(t.shape)} {numbers(t.stride())} {t.storage_offset()} {flags or '-'} {data}"
    )


def describe(t, data=None):
    grad = "g" if t.requires_grad else "-"
    if t.is_nested:
        d = t.detach()
        parts = [
            d._nested_tensor_size(),
            d._nested_tensor_strides(),
            d._nested_tensor_storage_offsets(),
        ]
        buffer = torch.empty(0, dtype=d.dtype).set_(d.untyped_storage())
        return [f"nested {grad}", strided(buffer)] + [strided(p.contiguous()) for p in parts]
    if t.is_meta and t.layout == torch.strided:
        return [f"meta {str(t.dtype)[6:]} {numbers(t.shape)} {numbers(t.stride())} {grad}"]
    if t.layout == torch.sparse_coo:
        d = t.detach()
        return [f"coo {numbers(t.shape)} {grad}", strided(d._indices()), strided(d._values())]
    if t.layout != torch.strided:
        d = t.detach()
        rows = t.layout in (torch.sparse_csr, torch.sparse_bsr)
        c, p = (d.crow_indices(), d.col_indices()) if rows else (d.ccol_indices(), d.row_indices())
        name = str(t.layout)[6:]
        return [f"compressed {name} {numbers(t.shape)} {grad}", strided(c), strided(p), strided(d.values())]
    if t.is_quantized:
        if t.qscheme() == torch.per_tensor_affine:
            scale = struct.pack("<d", t.q_scale()).hex()
            return [f"quantized {scale} {t.q_zero_point()}", strided(t)]
        return [
            f"channels {t.q_per_channel_axis()}",
            strided(t.q_per_channel_scales()),
            strided(t.q_per_channel_zero_points()),
            strided(t),
        ]
    return [strided(t, data)]


class Printer:
    def __init__(self):
        self.out = []
        self.count = 0

    def case(self, name, t, data=None, **options):
        self.count += 1
        lines = [f"case {name}"]
        for key, value in options.items():
            lines.append(f"option {key} {value}")
        if isinstance(t, torch.nn.Parameter):
            lines.append("parameter")
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**options)
        text = repr(t)
        torch.set_printoptions(profile="default")
        plain = t.data.requires_grad_(t.requires_grad) if isinstance(t, torch.nn.Parameter) else t
        lines += describe(plain, data)
        lines += ["|" + line for line in text.split("\n")]
        self.out.append("\n".join(lines))


def raw(dtype, sizes, seed):
    """A contiguous tensor of pseudo-random bytes, and its data field."""
    count = 1
    for size in sizes:
        count *= size
    nbytes = count * dtype.itemsize
    t = torch.frombuffer(bytearray(lcg(seed, nbytes)), dtype=torch.uint8).view(dtype).view(sizes)
    return t, f"lcg:{seed}:{nbytes}"


PRINTABLE = """uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool
bfloat16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64 float8_e8m0fnu
float4_e2m1fn_x2 bcomplex32""".split()


def print_cases():
    p = Printer()
    rng = random.Random(2)
    seed = 0
    for name in PRINTABLE:
        dtype = getattr(torch, name)
        for sizes in [(), (3,), (4, 6), (2, 2, 3), (40, 30)]:
            if name == "float4_e2m1fn_x2" and sizes == ():
                continue  # PyTorch cannot print it
            seed += 1
            t, data = raw(dtype, sizes, seed)
            p.case(f"random {name} {sizes}", t, data)
        p.case(f"empty {name}", torch.empty(0, dtype=dtype))
        p.case(f"empty matrix {name}", torch.empty((0, 3), dtype=dtype))
        p.case(f"meta {name}", torch.empty((2, 3), dtype=dtype, device="meta"))

    nan, inf = float("nan"), float("inf")
    lists = [
        [0.0], [-0.0], [1.0], [-1.0], [0.5], [nan], [inf], [-inf], [nan, inf, -inf], [0.0, nan],
        [1.0, nan], [1.5, nan, -inf], [1.0, 2.0, 3.0], [1.0, 1000.0], [1.0, 1001.0], [1.0, 1000.5],
        [0.5, 500.0], [0.5, 500.5], [1e8], [1.1e8], [100000001.0, 100000002.0], [1e-4], [9.9e-5],
        [0.0001, 0.05], [0.00009, 0.05], [1e-45], [1e30, 1e30], [123456.0, 234567.0],
        [123456.5, 234567.5], [-0.0, 0.0, 1.0], [-0.0, 0.0, 0.25], [1e10, nan, -inf, 0.0],
        [99999999.0, 99999998.0], [3.14159265, 2.71828182, -1.41421356], [1 / 3] * 30,
        [-1 / 3] * 30, [1.0] * 60, [12345.678] * 20, [0.99995, 0.99994], [2.00005, 3.00015],
        [0.1, 0.2, 1e-3], [16777216.0, 33554432.0],
    ]
    for i, values in enumerate(lists):
        p.case(f"list {i}", torch.tensor(values))
        p.case(f"list {i} double", torch.tensor(values, dtype=torch.float64))
    for i, values in enumerate(lists[:24]):
        p.case(f"scalar {i}", torch.tensor(values[0], dtype=torch.float64))
    for values in [[1 + 2j], [1.5 - 2j, 3], [complex(nan, -inf), 1j], [-1 - 1j, 0j], [1e6 + 1j, 1 + 1e-6j],
                   [complex(-0.0, -0.0)], [complex(1, nan), complex(0.5, -nan)]]:
        for dtype in (torch.complex64, torch.complex128):
            t = torch.tensor(values, dtype=dtype)
            p.case(f"complex {values} {dtype}", t)
            p.case(f"conjugate {values} {dtype}", t.conj())
            p.case(f"imaginary of conjugate {values} {dtype}", t.conj().imag)
            p.case(f"complex scalar {values} {dtype}", t[0])
    p.case("ints of one width", torch.tensor([[1, -100], [1000, 5]]))
    p.case("int limits", torch.tensor([2**63 - 1, -(2**63)]))
    p.case("bools", torch.tensor([[True, False], [False, False]]))
    p.case("all true", torch.tensor([True] * 40))
    p.case("many ints", torch.arange(100))
    p.case("many ints in rows", torch.arange(300).view(3, 100))
    p.case("ones", torch.ones(2, 3, 4))
    p.case("deep", torch.ones(2, 1, 1, 2, 1, 3))
    p.case("deep ints", torch.arange(24).view(2, 1, 3, 4))
    p.case("transposed", torch.arange(12).view(3, 4).t())
    p.case("view with an offset", torch.arange(12).view(3, 4)[1:, ::2])
    p.case("expanded", torch.tensor([1.5, 2.0]).expand(3, 2))
    p.case("expanded far", torch.tensor([7]).expand(2000))
    p.case("gradient", torch.ones(3, requires_grad=True))
    p.case("gradient of a long line", torch.full((12,), 0.123, requires_grad=True))
    p.case("half with gradient", torch.ones(3, dtype=torch.half, requires_grad=True))
    p.case("meta with gradient", torch.ones(3, device="meta", requires_grad=True))
    p.case("scalar with gradient", torch.tensor(2.5, requires_grad=True))
    p.case("empty with zeros", torch.empty(2, 0, 5, dtype=torch.bool))
    p.case("parameter", torch.nn.Parameter(torch.ones(3)))
    p.case("frozen parameter", torch.nn.Parameter(torch.ones(2, 2), requires_grad=False))
    p.case("integer parameter", torch.nn.Parameter(torch.ones(2, dtype=torch.int8), requires_grad=False))

    for sizes in [(1001,), (1000,), (2000, 1), (1, 2000), (7, 200), (6, 200), (10, 10, 20), (3, 4, 5, 30),
                  (2, 1000), (500, 3), (1, 1, 1, 1100), (2, 7, 9, 9)]:
        n = int(np.prod(sizes))
        seed += 1
        bytes8, data = raw(torch.int8, sizes, seed)
        p.case(f"summary {sizes} int8", bytes8, data)
        seed += 1
        half, data = raw(torch.bfloat16, sizes, seed)
        p.case(f"summary {sizes} bfloat16", half, data)
        base = torch.tensor([0.125 * (n % 97)])
        p.case(f"summary {sizes} expanded", base.expand(sizes))
    seed += 1
    t, data = raw(torch.complex64, (1001,), seed)
    p.case("summary complex", t, data)
    p.case("summary complex conjugate", t.conj(), data)
    seed += 1
    t, data = raw(torch.int16, (60, 60), seed)
    p.case("summary transposed", t.t(), data)

    option_sets = [
        dict(profile="short"), dict(profile="full"), dict(precision=0), dict(precision=1),
        dict(precision=8), dict(linewidth=20), dict(linewidth=40), dict(linewidth=120), dict(linewidth=1),
        dict(edgeitems=1), dict(edgeitems=0), dict(edgeitems=5), dict(sci_mode=True),
        dict(sci_mode=False), dict(threshold=0), dict(threshold=5), dict(threshold=5, edgeitems=0),
        dict(threshold=5, edgeitems=1, precision=2), dict(precision=2, sci_mode=True, linewidth=60),
    ]
    for options in option_sets:
        label = " ".join(f"{k}={v}" for k, v in options.items())
        for name, t in [
            ("thirds", torch.arange(20).double() / 3),
            ("integral", torch.tensor([1.0, 2.0, nan, 3.0])),
            ("range", torch.tensor([[1e-5, 1.0, 1e5], [nan, 0.0, -2.0]])),
            ("ints", torch.arange(24, dtype=torch.int32).view(4, 6)),
            ("complex", torch.tensor([[1 + 2j, 0.5], [3j, 1e4]])),
            ("scalar", torch.tensor(0.123456789, dtype=torch.float64, requires_grad=True)),
        ]:
            p.case(f"{name} {label}", t, **options)

    i = torch.tensor([[0, 1, 1], [2, 0, 2]])
    v = torch.tensor([3.0, 4.5, 5.0])
    sparse = [
        ("plain", torch.sparse_coo_tensor(i, v, (2, 3))),
        ("half", torch.sparse_coo_tensor(i, v.half(), (2, 3))),
        ("int", torch.sparse_coo_tensor(i, v.long(), (2, 3))),
        ("hybrid", torch.sparse_coo_tensor(i, torch.arange(12.0).view(3, 4), (2, 3, 4))),
        ("gradient", torch.sparse_coo_tensor(i, v, (2, 3), requires_grad=True)),
        ("empty", torch.sparse_coo_tensor(torch.empty(2, 0).long(), torch.empty(0), (2, 3))),
        ("empty half", torch.sparse_coo_tensor(torch.empty(1, 0).long(), torch.empty(0, 2).half(), (5, 2))),
        ("scalar", torch.sparse_coo_tensor(torch.empty(0, 1).long(), torch.tensor([2.5]), ())),
        ("complex", torch.sparse_coo_tensor(i, v * 1j, (2, 3))),
        ("many", torch.sparse_coo_tensor(torch.arange(50)[None], torch.arange(50.0) / 7, (100,))),
        ("huge", torch.sparse_coo_tensor(torch.zeros(1, 1).long().expand(2, 1200),
                                         torch.tensor([1.25]).expand(1200), (30000, 40000))),
    ]
    for name, t in sparse:
        p.case(f"coo {name}", t)
    p.case("coo parameter", torch.nn.Parameter(torch.sparse_coo_tensor(i, v, (2, 3))))
    dense = torch.tensor([[0, 1.5, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0], [0, 0, 4, 5]])
    for layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
        blocks = {"blocksize": (2, 2)} if "bs" in str(layout) else {}
        for name, d in [("float", dense), ("int32", dense.int()), ("zeros", dense * 0)]:
            p.case(f"{layout} {name}", d.to_sparse(layout=layout, **blocks))
        p.case(f"{layout} gradient", dense.to_sparse(layout=layout, **blocks).requires_grad_())
        batch = torch.stack([dense, dense.flip(0)])
        p.case(f"{layout} batch", batch.to_sparse(layout=layout, **blocks))
    csr = dense.to_sparse_csr()
    p.case("csr int32 indices", torch.sparse_csr_tensor(csr.crow_indices().int(), csr.col_indices().int(),
                                                       csr.values().double(), (4, 4)))

    q = torch.tensor([[-1.0, 0.0, 1.0], [2.0, 0.3, 0.77]])
    for dtype in (torch.qint8, torch.quint8, torch.qint32):
        p.case(f"quantized {dtype}", torch.quantize_per_tensor(q, 0.1, 10, dtype))
        p.case(f"quantized finely {dtype}", torch.quantize_per_tensor(q, 1 / 255, 0, dtype))
        p.case(f"quantized by channel {dtype}", torch.quantize_per_channel(
            q, torch.tensor([0.1, 0.2, 0.05]).double(), torch.tensor([1, 2, 3]), 1, dtype))
    p.case("quantized scalar", torch.quantize_per_tensor(torch.tensor(1.0), 1e-5, 0, torch.qint32))
    p.case("quantized empty", torch.quantize_per_tensor(torch.empty(0, 2), 2.0, 0, torch.qint8))
    p.case("quantized long", torch.quantize_per_tensor(torch.arange(1200.0), 10.0, 5, torch.quint8))
    p.case("quantized transposed", torch.quantize_per_tensor(q, 0.1, 10, torch.quint8).t())
    for dtype in (torch.quint8, torch.quint4x2, torch.quint2x4):
        p.case(f"float parameters {dtype}", torch.quantize_per_channel(
            torch.arange(10.0).view(2, 5), torch.tensor([0.5, 1.0]), torch.tensor([0.0, 1.5]), 0, dtype))
    p.case("many channels", torch.quantize_per_channel(
        torch.arange(40.0).view(20, 2), torch.rand(20, generator=torch.manual_seed(1)).double() + 0.1,
        torch.arange(20), 0, torch.quint8))

    nested = torch.nested.nested_tensor
    for name, t in [
        ("vectors", nested([torch.arange(3.0), torch.arange(5.0)])),
        ("matrices", nested([torch.arange(6.0).view(2, 3), torch.arange(5.0).view(1, 5)], requires_grad=True)),
        ("ints", nested([torch.arange(3), torch.arange(5)], dtype=torch.int32)),
        ("one empty", nested([torch.arange(0.0), torch.arange(2.0)])),
        ("deep", nested([torch.ones(2, 2, 2), torch.ones(1, 2, 3) / 3])),
        ("none", nested([])),
    ]:
        p.case(f"nested {name}", t)

    for n in range(120):
        dims = rng.randrange(4)
        sizes = tuple(rng.choice([1, 2, 3, 5, 9]) for _ in range(dims))
        count = int(np.prod(sizes)) if sizes else 1
        if count > 60:
            sizes = sizes[:1]
            count = sizes[0]
        spread = rng.choice([0, 1, 3, 6, 20])
        digits = rng.choice([0, 1, 3, 17])
        values = [round(rng.uniform(-1, 1) * 10 ** rng.uniform(-spread, spread), digits) for _ in range(count)]
        dtype = rng.choice([torch.float32, torch.float64, torch.float16, torch.bfloat16])
        options = rng.choice([{}, {}, {"precision": 2}, {"linewidth": 50}, {"threshold": 10, "edgeitems": 2}])
        p.case(f"fuzz {n}", torch.tensor(values).reshape(sizes).to(dtype), **options)

    with open(os.path.join(HERE, "print.txt"), "w") as f:
        f.write("\n\n".join(p.out) + "\n")
    print(p.count, "print cases")


def code_cases():
    """The value of every code of the 8-bit types, as the bits of a float32."""
    lines = []
    for name in ["float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu"]:
        values = torch.arange(256).to(torch.uint8).view(getattr(torch, name)).float().tolist()
        bits = ["nan" if v != v else struct.pack(">f", v).hex() for v in values]
        lines.append(f"{name} {' '.join(bits)}")
    q = torch.arange(256).to(torch.uint8)
    for scale, zero in [(0.1, 10), (1 / 255, 128), (3.7e-3, 0)]:
        t = torch._make_per_tensor_quantized_tensor(q, scale, zero)
        bits = [struct.pack(">f", v).hex() for v in t.dequantize().tolist()]
        lines.append(f"quint8:{struct.pack('<d', scale).hex()}:{zero} {' '.join(bits)}")
    with open(os.path.join(HERE, "codes.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def cast_cases():
    """How float32 rounds to narrower types: bits of the number, colon, bits of the result."""
    def bits(x):
        return struct.unpack("<I", struct.pack("<f", x))[0]

    lines = []
    special = [0, 1, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, bits(1e30), bits(1e-30)]
    for name in ["float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float16", "bfloat16"]:
        dtype = getattr(torch, name)
        wide = not name.startswith("float8")
        codes = torch.arange(0, 2**15, 97).to(torch.int16).view(dtype) if wide else \
            torch.arange(128).to(torch.uint8).view(dtype)
        nexts = torch.arange(1, 2**15 + 1, 97).to(torch.int16).view(dtype) if wide else \
            torch.arange(1, 129).to(torch.uint8).view(dtype)
        numbers = set(special)
        for a, b in zip(codes.double().tolist(), nexts.double().tolist()):
            if abs(a) < float("inf") and abs(b) < float("inf"):
                between = bits((a + b) / 2)
                numbers.update([bits(a), between - 1, between, between + 1])
        # Beyond the largest number, where the next one would have been.
        top = max(v for v in codes.double().tolist() if abs(v) < float("inf"))
        numbers.update(bits(top * f) + d for f in [1 + 1 / 32, 1 + 1 / 28, 1.0625, 1 + 1 / 14, 1.125, 2.0]
                       for d in (-1, 0, 1) if top * f < 3e38)
        numbers = sorted(n for n in numbers if n >= 0)
        numbers += [n | 2**31 for n in numbers[::3]]
        floats = torch.tensor(numbers).to(torch.int32).view(torch.float32)
        one_by_one = [x.to(dtype) for x in floats]
        for n, x in zip(numbers, one_by_one):
            nan = x.float().item() != x.float().item()
            code = x.view(torch.int16 if wide else torch.uint8).item() & (0xFFFF if wide else 0xFF)
            lines.append((name, f"{n:08x}:{'nan' if wide and nan else format(code, 'x')}"))
        together, alone = floats.to(dtype).float(), torch.stack(one_by_one).float()
        assert torch.equal(together.nan_to_num(123.0), alone.nan_to_num(123.0)), name
    with open(os.path.join(HERE, "casts.txt"), "w") as f:
        for name in dict.fromkeys(name for name, _ in lines):
            f.write(" ".join([name] + [case for own, case in lines if own == name]) + "\n")


def stats_cases():
    """DTYPE LCG-SEED COUNT and, of the finite elements: min max mean std (unbiased) norm."""
    lines = []
    for seed, (name, count) in enumerate(
        [("int8", 100), ("uint8", 5000), ("int16", 4097), ("int32", 1000), ("float16", 5000),
         ("bfloat16", 5000), ("float8_e4m3fn", 3000), ("bool", 500), ("float32", 2), ("uint16", 999),
         ("float8_e5m2", 777), ("int8", 1)], 1000):
        t, _ = raw(getattr(torch, name), (count,), seed)
        d = t.double() if name != "bool" else t.view(torch.uint8).ne(0).double()
        finite = d[torch.isfinite(d)]
        values = [d.isnan().sum().item(), d.eq(float("inf")).sum().item(), d.eq(-float("inf")).sum().item(),
                  d.eq(0).sum().item(), finite.min().item(), finite.max().item(), finite.mean().item(),
                  finite.std().item() if len(finite) > 1 else float("nan"), finite.norm().item()]
        lines.append(f"{name} {seed} {count} " + " ".join(repr(v) for v in values))
    with open(os.path.join(HERE, "stats.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def npy_cases():
    """NAME and the whole file in hexadecimal, as numpy.save writes it."""
    arrays = [
        ("f4", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("f2", np.array([1.5, -2], dtype=np.float16)),
        ("f8-scalar", np.array(2.5)),
        ("i8", np.arange(3)),
        ("i4", np.arange(4, dtype=np.int32).reshape(2, 2)),
        ("i2", np.array([1, -1], dtype=np.int16)),
        ("i1", np.array([1, -1], dtype=np.int8)),
        ("u1", np.array([1, 255], dtype=np.uint8)),
        ("u2", np.array([1, 65535], dtype=np.uint16)),
        ("u4", np.array([7], dtype=np.uint32)),
        ("u8", np.array([2**63], dtype=np.uint64)),
        ("b1", np.array([True, False])),
        ("c8", np.array([1 + 2j], dtype=np.complex64)),
        ("c16", np.array([[1 + 2j]])),
        ("empty", np.zeros((0, 4), dtype=np.float32)),
        ("deep", np.zeros((1,) * 20, dtype=np.int8)),
        ("fortran", np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3))),
        ("big-endian", np.arange(3, dtype=">i4")),
        ("big-endian-complex", np.array([1 + 2j], dtype=">c8")),
    ]
    lines = []
    for name, array in arrays:
        buffer = io.BytesIO()
        np.save(buffer, array)
        lines.append(f"{name} {buffer.getvalue().hex()}")
    for version in [(2, 0), (3, 0)]:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.arange(3, dtype=np.int16), version=version)
        lines.append(f"version-{version[0]} {buffer.getvalue().hex()}")
    buffer = io.BytesIO()
    np.save(buffer, np.array([None]), allow_pickle=True)
    lines.append(f"object {buffer.getvalue().hex()}")
    with open(os.path.join(HERE, "npy.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def dtype_cases():
    """NAME BYTES FLOATING COMPLEX SIGNED STORAGE-CLASS SAFETENSORS NUMPY, with `-` for none."""
    import safetensors.torch
    from torch.storage import _dtype_to_storage_type_map

    classes = _dtype_to_storage_type_map()
    safe = {dtype: name for name, dtype in safetensors.torch._TYPES.items()}
    lines = []
    for name in sorted({str(d)[6:] for d in vars(torch).values() if isinstance(d, torch.dtype)}):
        dtype = getattr(torch, name)
        try:
            signed = int(dtype.is_signed)
        except RuntimeError:
            signed = "-"  # quantized and bits types
        try:
            descr = torch.empty(0, dtype=dtype).numpy().dtype.str
        except (TypeError, RuntimeError):
            descr = "-"
        lines.append(f"{name} {dtype.itemsize} {int(dtype.is_floating_point)} {int(dtype.is_complex)} "
                     f"{signed} {classes.get(dtype, '-')} {safe.get(dtype, '-')} {descr}")
    with open(os.path.join(HERE, "dtypes.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    dtype_cases()
    print_cases()
    code_cases()
    cast_cases()
    stats_cases()
    npy_cases()
