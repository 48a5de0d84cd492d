"""Records operators on sparse tensors as TorchScript archives with what PyTorch gives for them.

    python sparse.py OUT [--pattern REGEX] [--dtypes float32,int64] [--samples N] [--every K]

Three kinds of cases, each a folder OUT/NAME.LAYOUT.DTYPE.INDEX as `generate.py` makes them:

    the sparse samples of PyTorch's operator database, where an operator has some;
    its dense samples of functions of elements that take sparse tensors, made sparse;
    the functions of `CALLS`, which make sparse tensors, take them apart and multiply them, scripted.

Values, indices, their order and whether a tensor counts as coalesced are compared. What PyTorch itself does not
trace, save or run is counted and left out; where it raises, the error is recorded with the functions of `CALLS`.
"""

import collections
import os
import re
import warnings

import torch

from generate import UNINITIALIZED, call_of, fill, operators, parser_of_samples, report

warnings.filterwarnings("ignore")

LAYOUTS = {
    "coo": torch.sparse_coo,
    "csr": torch.sparse_csr,
    "csc": torch.sparse_csc,
    "bsr": torch.sparse_bsr,
    "bsc": torch.sparse_bsc,
}

# What these give is drawn at random in an order of their own, or whatever memory held.
SHAPES = UNINITIALIZED | {"randn_like", "rand_like"}

# Functions in TorchScript, and the calls of each.
CALLS = '''
def make(i: Tensor, v: Tensor): return torch.sparse_coo_tensor(i, v)
def make_sized(i: Tensor, v: Tensor): return torch.sparse_coo_tensor(i, v, [4, 5])
def make_double(i: Tensor, v: Tensor): return torch.sparse_coo_tensor(i, v, [4, 5], dtype=torch.float64)
def make_empty(i: Tensor, v: Tensor): return torch.sparse_coo_tensor([4, 5])
def make_coalesced(i: Tensor, v: Tensor): return torch.sparse_coo_tensor(i, v, [4, 5]).coalesce()
def parts(x: Tensor): return x._indices(), x._values(), x._nnz(), x.is_coalesced(), x.sparse_dim(), x.dense_dim()
def coalesced_parts(x: Tensor):
    x = x.coalesce()
    return x.indices(), x.values()
def indices(x: Tensor): return x.indices()
def attributes(x: Tensor): return x.shape, x.dtype, x.layout == torch.sparse_coo, x.is_sparse, x.is_sparse_csr, x.dim(), x.numel(), len(x), x.size(0), x.device, x.requires_grad, x.is_floating_point()
def rows(x: Tensor): return x.crow_indices(), x.col_indices(), x.values()
def columns(x: Tensor): return x.ccol_indices(), x.row_indices(), x.values()
def dense(x: Tensor): return x.to_dense()
def coo(x: Tensor): return x.to_sparse()
def coo_one(x: Tensor): return x.to_sparse(1)
def csr(x: Tensor): return x.to_sparse_csr()
def csc(x: Tensor): return x.to_sparse_csc()
def bsr(x: Tensor): return x.to_sparse_bsr([2, 1])
def bsc(x: Tensor): return x.to_sparse_bsc([1, 5])
def bad_block(x: Tensor): return x.to_sparse_bsr([3, 1])
def by_layout(x: Tensor): return x.to_sparse(layout=torch.sparse_csr)
def double(x: Tensor): return x.to(torch.float64)
def copied(x: Tensor): return x.clone(), x.detach()
def turned(x: Tensor): return x.t()
def swapped(x: Tensor): return x.transpose(0, 1)
def permuted(x: Tensor): return x.permute([1, 0])
def wide(x: Tensor): return x.unsqueeze(0), x.unsqueeze(1), x.unsqueeze(-1)
def one_row(x: Tensor): return x.select(0, 1), x.select(1, -1), x[2]
def some_rows(x: Tensor): return x.index_select(0, torch.tensor([3, 0, 3])), x.index_select(1, torch.tensor([1, 4]))
def narrow(x: Tensor): return x.narrow_copy(0, 1, 2), x.narrow_copy(1, 0, 3)
def joined(x: Tensor): return torch.cat([x, x + x]), torch.cat([x, x], 1), torch.stack([x, x])
def plus(x: Tensor, y: Tensor): return x + y, x - y, torch.add(x, y, alpha=2), x + x
def times(x: Tensor, y: Tensor): return x * y, y * x, x * x
def scaled(x: Tensor): return x * 2, 3 * x, x / 2, x * 0.5, -x, x.pow(2), x.abs(), x.sqrt(), x.relu()
def scaled_rows(x: Tensor): return x * 2, 3 * x, x * 0.5, -x, x.abs(), x.relu(), x.sin()
def plus_rows(x: Tensor, y: Tensor): return x + y, torch.add(x, y, alpha=2), x + x, y.to_dense() + x
def halved(x: Tensor): return x / 2
def squared(x: Tensor): return x.pow(2)
def minus(x: Tensor, y: Tensor): return x - y
def to_dense_add(x: Tensor, y: Tensor): return y.to_dense() + x, y.to_dense() - x
def times_dense(x: Tensor, y: Tensor): return x * y.to_dense(), y.to_dense() * x
def add_dense(x: Tensor, y: Tensor): return x + y.to_dense()
def divided(x: Tensor, y: Tensor): return x / y.to_dense()
def in_place(x: Tensor, y: Tensor):
    z = x.clone()
    z.mul_(2)
    z.add_(y)
    w = z
    w.neg_()
    d = y.to_dense()
    d.add_(x)
    return z, w, d
def zeroed(x: Tensor):
    y = x.clone()
    y.zero_()
    return y, torch.zeros_like(x)
def product(x: Tensor, d: Tensor): return x @ d, torch.mm(x, d), torch.sparse.mm(x, d)
def from_left(x: Tensor, d: Tensor): return d.t() @ x.t(), torch.matmul(d.t(), x.t())
def vector(x: Tensor, d: Tensor): return x @ d[:, 0], torch.mv(x, d[:, 1])
def both_sparse(x: Tensor, d: Tensor): return x @ x.t()
def both_csr(x: Tensor, d: Tensor): return x @ x.to_dense().t().to_sparse_csr()
def summed_product(x: Tensor, d: Tensor): return torch.addmm(torch.ones(4, 3), x, d, beta=0.5, alpha=2), torch.sparse.addmm(torch.ones(4, 3), x, d)
def reduced(x: Tensor, d: Tensor): return torch.sparse.mm(x, d, "mean"), torch.sparse.mm(x, d, "amax"), torch.sparse.mm(x, d, "amin"), torch.sparse.mm(x, d, "sum")
def special_products(x: Tensor, d: Tensor): return torch.hspmm(x, d), torch.smm(x, d)
def sampled(x: Tensor, d: Tensor): return torch.sparse.sampled_addmm(x, torch.ones(4, 3), d.t(), beta=0.5, alpha=2.0)
def wrong_product(x: Tensor, d: Tensor): return x @ d.t()
def total(x: Tensor): return x.sum(), torch.sparse.sum(x), x.any()
def sums(x: Tensor): return x.sum(0), x.sum(1), x.sum([0, 1]), torch._sparse_sum(x, [0]), x.sum([0], keepdim=True)
def sums_kept(x: Tensor): return x.sum([0], keepdim=True), x.sum([1], keepdim=True), x.sum([0, 1], keepdim=True), x.sum()
def soft(x: Tensor): return torch.sparse.softmax(x, 0), torch.sparse.softmax(x, 1), torch.sparse.log_softmax(x, 1)
def norm(x: Tensor): return x.norm()
def masked(x: Tensor, y: Tensor): return y.to_dense().sparse_mask(x), y.sparse_mask(x)
def converted(x: Tensor): return torch._convert_indices_from_coo_to_csr(x._indices()[0].sort()[0], 4), torch._convert_indices_from_coo_to_csr(x._indices()[0].sort()[0], 4, out_int32=True)
def expanded(x: Tensor): return torch._convert_indices_from_csr_to_coo(x.crow_indices(), x.col_indices()), torch._convert_indices_from_csr_to_coo(x.crow_indices(), x.col_indices(), transpose=True)
def make_csr(c: Tensor, p: Tensor, v: Tensor): return torch.sparse_csr_tensor(c, p, v), torch.sparse_csr_tensor(c, p, v, [4, 5]), torch.sparse_compressed_tensor(c, p, v, [4, 5], layout=torch.sparse_csr)
def make_csc(c: Tensor, p: Tensor, v: Tensor): return torch.sparse_csc_tensor(c, p, v, [5, 4]).to_dense()
def resized(x: Tensor): return x.clone().sparse_resize_([6, 7], 2, 0)
def shown(x: Tensor): return str(x)
def like(x: Tensor): return torch.zeros_like(x), torch.ones_like(x)
def unsupported(x: Tensor): return x.view([20])
def message_adjacency(e: Tensor, w: Tensor, h: Tensor):
    a = torch.sparse_coo_tensor(e, w, [4, 4]).coalesce()
    row, col = a.indices()[0], a.indices()[1]
    degree = torch.zeros(4).scatter_add_(0, row, a.values()).clamp(min=1)
    norm = degree.pow(-0.5)
    a = torch.sparse_coo_tensor(a.indices(), norm[row] * a.values() * norm[col], a.shape)
    return torch.sparse.mm(a, h), a.t() @ h
'''

COO = ("parts coalesced_parts indices attributes dense coo csr csc bsr bsc double copied turned swapped permuted wide one_row "
       "some_rows narrow joined scaled zeroed total sums soft norm converted resized shown by_layout like unsupported")
TWO_COO = "plus times to_dense_add times_dense add_dense divided in_place masked"
COO_DENSE = ("product from_left vector both_sparse summed_product reduced special_products wrong_product")
CSR = "attributes rows dense coo csr csc bsr double copied turned scaled_rows halved squared sums_kept expanded zeroed like joined one_row shown"
TWO_CSR = "plus_rows minus times times_dense add_dense masked"
CSR_DENSE = "product from_left vector both_csr summed_product reduced sampled"


def named_calls():
    """The names of functions, and the tensors that each is called with."""
    torch.manual_seed(0)
    dense = torch.randn(4, 5) * (torch.rand(4, 5) < 0.4)
    other = torch.randn(4, 5) * (torch.rand(4, 5) < 0.5)
    whole = torch.randint(-5, 6, (4, 5)) * (torch.rand(4, 5) < 0.5)
    indices = torch.tensor([[2, 0, 2, 3, 0, 2], [1, 4, 1, 0, 2, 3]])
    loose = torch.sparse_coo_tensor(indices, torch.randn(6), (4, 5))
    hybrid = torch.sparse_coo_tensor(torch.tensor([[3, 1, 3]]), torch.randn(3, 5), (4, 5))
    none = torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.int64), torch.empty(0), (4, 5))
    right = torch.randn(5, 3)
    coos = {"float32": dense.to_sparse(), "loose": loose, "int64": whole.to_sparse(), "none": none, "hybrid": hybrid,
            "bool": (dense != 0).to_sparse(), "complex64": (dense + 1j * other).to_sparse()}
    for name in COO.split():
        for kind, tensor in coos.items():
            yield name, "coo." + kind, (tensor,)
    for name in TWO_COO.split():
        for kind in coos:
            for second in ("float32", "loose") if kind != "hybrid" else ("hybrid",):
                yield name, f"coo.{kind}_{second}", (coos[kind], coos[second])
    for name in COO_DENSE.split():
        for kind in ("float32", "loose", "none", "int64"):
            yield name, "coo." + kind, (coos[kind], right if kind != "int64" else right.to(torch.int64))
    csrs = {"float32": dense.to_sparse_csr(), "int64": whole.to_sparse_csr(), "float64": other.double().to_sparse_csr()}
    for name in CSR.split():
        for kind, tensor in csrs.items():
            yield name, "csr." + kind, (tensor,)
    for name in TWO_CSR.split():
        yield name, "csr.float32", (csrs["float32"], other.to_sparse_csr())
    for name in CSR_DENSE.split():
        yield name, "csr.float32", (csrs["float32"], right)
    for layout, make in (("csc", dense.to_sparse_csc), ("bsr", lambda: dense.to_sparse_bsr((2, 5))),
                         ("bsc", lambda: dense.to_sparse_bsc((2, 1)))):
        for name in "dense coo csr csc bsr bsc attributes copied double turned columns rows".split():
            yield name, layout + ".float32", (make(),)
    for name in "coo coo_one csr csc bsr bsc bad_block by_layout indices dense".split():
        for kind, tensor in (("float32", dense), ("int64", whole), ("bool", dense != 0)):
            yield name, "dense." + kind, (tensor,)
    for name in "coo csr csc bsr".split():
        yield name, "dense.batch", (torch.stack([torch.ones(4, 6), 2 * torch.ones(4, 6)]),)
    for name in "make make_sized make_double make_empty make_coalesced".split():
        yield name, "dense.float32", (indices, torch.randn(6))
        yield name, "dense.int32", (indices.to(torch.int32), torch.arange(6))
    yield "make", "dense.negative", (-indices, torch.randn(6))
    yield "make", "dense.hybrid", (indices[:1], torch.randn(6, 2))
    csr = csrs["float32"]
    yield "make_csr", "dense.float32", (csr.crow_indices(), csr.col_indices(), csr.values())
    yield "make_csr", "dense.int32", (csr.crow_indices().int(), csr.col_indices().int(), csr.values())
    yield "make_csc", "dense.float32", (csr.crow_indices(), csr.col_indices(), csr.values())
    edges = torch.tensor([[0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 2, 2]])
    yield "message_adjacency", "coo.float32", (edges, torch.rand(6), torch.randn(4, 3))


def plain(value):
    """The same value out of what torch.save writes with nothing but tensors and containers."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (tuple, torch.Size)):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, torch.device):
        return value
    if isinstance(value, torch.dtype):
        return value
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise TypeError(f"a result of {type(value)}")


def record(folder, module, tensors, compare, with_errors, eager=None):
    """Saves a module and what it gives for tensors; what it raises where errors count.

    The profiler of TorchScript's executor takes no compressed tensors, so those calls are made by `eager`. They fail without gradients, too, for the same reason."""
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt")
    torch.jit.save(module, path)
    loaded = torch.jit.load(path)
    torch.manual_seed(0)
    recorded = {"arguments": plain(list(tensors)), "compare": compare, "seed": 0}
    failures = (RuntimeError, NotImplementedError, IndexError)
    try:
        try:
            recorded["result"] = plain(loaded(*plain(list(tensors))))
        except failures as error:
            if not eager or "unsupported tensor layout" not in str(error):
                raise
            with torch.enable_grad():
                recorded["result"] = plain(eager(*plain(list(tensors))))
    except failures as error:
        if not with_errors:
            raise
        # Which words depend on what is registered where, and the place is not compared.
        recorded.update(error=str(error), compare="outcome")
    torch.save([recorded], os.path.join(folder, "calls.pt"))


def database(options):
    """The samples of the operator database: name, layout, dtype, call and tensors."""
    for number, op, text, dtype in operators(options):
        for layout, of in LAYOUTS.items():
            if not op.supports_sparse_layout(of) if hasattr(op, "supports_sparse_layout") else not getattr(
                op, "supports_sparse" + ("" if layout == "coo" else "_" + layout), False
            ):
                continue
            torch.manual_seed(number)
            try:
                samples = list(op.sample_inputs_sparse(of, "cpu", dtype, requires_grad=False))
            except BaseException:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
                samples = [made for sample in samples if (made := made_sparse(sample, layout))]
            for index, sample in enumerate(samples[: options.samples]):
                yield f"{op.formatted_name}.{layout}.{text}.{index:03}", op, sample


def made_sparse(sample, layout):
    """The same sample with a sparse first tensor, of which some elements are 0; nothing where it has too few dimensions."""
    dense = sample.input
    if not isinstance(dense, torch.Tensor) or dense.layout != torch.strided:
        return None
    if layout != "coo" and dense.dim() != 2 or dense.dim() < 1 or not dense.numel():
        return None
    kept = torch.arange(dense.numel()).reshape(dense.shape) % 3 != 1
    dense = torch.where(kept, dense, torch.zeros((), dtype=dense.dtype))
    block = {"blocksize": (1, 1)} if layout in ("bsr", "bsc") else {}
    sample.input = dense.to_sparse(layout=LAYOUTS[layout], **block)
    return sample


def scripted(name):
    """One of `CALLS` as the method `forward` of a module."""

    class Holder(torch.nn.Module):
        pass

    holder = torch.jit.script(Holder())
    body = re.search(rf"^def {name}\(.*?(?=^def |\Z)", CALLS, re.S | re.M).group(0)
    holder.define(body.replace(f"def {name}(", "def forward(self, ", 1))
    return holder


def traced(op, sample, folder):
    """Records a sample of the database."""
    call, tensors = call_of(op, sample)
    module = torch.jit.trace(call, tuple(plain(list(tensors))), check_trace=False)
    record(folder, module, tensors, "shapes" if op.name in SHAPES else "values", False)


def main():
    options = parser_of_samples().parse_args()
    torch.set_grad_enabled(False)
    counts = collections.Counter()
    python = {"torch": torch, "Tensor": torch.Tensor}
    exec(CALLS, python)
    for index, (name, kind, tensors) in enumerate(named_calls()):
        if not re.search(options.pattern, name) or index % min(options.every, 3):
            continue
        recorded = lambda folder: record(folder, scripted(name), tensors, "values", True, python[name])
        fill(options, f"call_{name}.{kind}.000", recorded, counts, "calls")
    for case, op, sample in database(options):
        fill(options, case, lambda folder: traced(op, sample, folder), counts, "samples")
    report(counts)


if __name__ == "__main__":
    main()
