# What the expressions of derivatives.txt call. TorchScript, compiled by sconce's own compiler.


# Constants: by name only `torch`'s operators are known here.


def pi() -> float:
    return 3.141592653589793


def inf() -> float:
    return float("inf")


def nan() -> float:
    return float("nan")


def dtype_int64() -> int:
    return 4


def dtype_float64() -> int:
    return 7


def dtype_complex128() -> int:
    return 10


def dtype_bool() -> int:
    return 11


# Scalars.


def scaled(grad: Tensor, by: number) -> Tensor:
    """The gradient of x where x is multiplied by a number."""
    if grad.is_complex():
        return (grad.conj() * by).conj()
    if by == 1:
        return grad
    return grad * by


def whole(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    if dim < 0:
        return dim + max(rank, 1)
    return dim


def without(rank: int, dims: List[int]) -> List[int]:
    """The other dimensions."""
    rest: List[int] = []
    for d in range(rank):
        if d not in dims:
            rest.append(d)
    return rest


# Arithmetic.

def pow_self(grad: Tensor, self: Tensor, exponent: number) -> Tensor:
    if exponent == 0:
        return torch.zeros_like(grad)
    return grad * (self.pow(exponent - 1) * exponent).conj()


def pow_self_tensor(grad: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    slope = (self.pow(exponent - 1) * exponent).conj()
    return (grad * slope).masked_fill(exponent == 0, 0)


def pow_exponent(grad: Tensor, self: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    # Zero to a power stays zero while the power is positive.
    if exponent.is_complex():
        flat = (self == 0).logical_and(exponent.real > 0)
    else:
        flat = (self == 0).logical_and(exponent >= 0)
    return (grad * (result * self.to(result.dtype).log()).conj()).masked_fill(flat, 0)


def pow_number(grad: Tensor, self: number, exponent: Tensor, result: Tensor) -> Tensor:
    base = torch.full([], self, dtype=result.dtype, device=result.device)
    return pow_exponent(grad, base, exponent, result)


def float_power(self: Tensor, exponent: Tensor) -> Tensor:
    if self.is_complex() or exponent.is_complex():
        return self.to(dtype_complex128()).pow(exponent.to(dtype_complex128()))
    return self.to(dtype_float64()).pow(exponent.to(dtype_float64()))


def float_power_scalar(self: Tensor, exponent: number) -> Tensor:
    if self.is_complex() or isinstance(exponent, complex):
        return self.to(dtype_complex128()).pow(exponent)
    return self.to(dtype_float64()).pow(exponent)


def div_self(grad: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    if rounding_mode is not None:
        return torch.zeros_like(grad)
    return grad / other.conj()


def div_other(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    if rounding_mode is not None:
        return torch.zeros_like(grad)
    return -grad * (self / other / other).conj()


def div_number(grad: Tensor, other: number) -> Tensor:
    if grad.is_complex():
        return (grad.conj() / other).conj()
    return grad / other


def div_number_mode(grad: Tensor, other: number, rounding_mode: Optional[str]) -> Tensor:
    if rounding_mode is not None:
        return torch.zeros_like(grad)
    return div_number(grad, other)


def complement(grad: Tensor, weight: number) -> Tensor:
    return grad - scaled(grad, weight)


def atan2_part(grad: Tensor, part: Tensor, self: Tensor, other: Tensor) -> Tensor:
    squares = self * self + other * other
    return grad * (part / squares).masked_fill(squares == 0, 0)


def larger(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """What the greater one gets; equal ones get half each."""
    return torch.where(self == other, grad / 2, grad).masked_fill(self < other, 0)


def smaller(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self == other, grad / 2, grad).masked_fill(self > other, 0)


def xlogy_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    flat = (self == 0).logical_and(other <= 0)
    return grad * other.log().masked_fill(flat, 0)


def copysign_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * (result / self).masked_fill(self == 0, 0)


# Unary functions.

def acosh_grad(grad: Tensor, self: Tensor) -> Tensor:
    if self.is_complex():
        return grad * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()
    return grad * (self * self - 1).rsqrt()


def clamped(grad: Tensor, self: Tensor, low: Optional[number], high: Optional[number]) -> Tensor:
    if low is not None:
        grad = grad.masked_fill((self > low).logical_not(), 0)
    if high is not None:
        grad = grad.masked_fill((self < high).logical_not(), 0)
    return grad


def halved(grad: Tensor, where: Tensor) -> Tensor:
    return torch.where(where, grad / 2, grad)


def clamped_tensor(grad: Tensor, self: Tensor, low: Optional[Tensor], high: Optional[Tensor]) -> Tensor:
    """A bound that is met gets half."""
    if low is not None:
        grad = halved(grad, self == low).masked_fill(self < low, 0)
    if high is not None:
        grad = halved(grad, self == high).masked_fill(self > high, 0)
    return grad


def clamped_low(grad: Tensor, self: Tensor, low: Optional[Tensor], high: Optional[Tensor]) -> Tensor:
    """Where the lower bound is the result, which it is not where the upper bound is lower still."""
    if low is None:
        return grad
    grad = halved(grad, self == low).masked_fill(self > low, 0)
    return grad if high is None else grad.masked_fill(low >= high, 0)


def clamped_high(grad: Tensor, self: Tensor, low: Optional[Tensor], high: Optional[Tensor]) -> Tensor:
    if high is None:
        return grad
    taken = self > high
    met = self == high
    if low is not None:
        taken = taken.logical_or(high < low)
        met = met.logical_and(high >= low)
    return halved(grad, met).masked_fill(taken.logical_or(met).logical_not(), 0)


def sgn_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if not self.is_complex():
        return torch.zeros_like(grad)
    size = self.abs()
    along = (grad * result.conj()).real
    return ((grad - result * along) / size).masked_fill(size == 0, 0)


def angle_grad(grad: Tensor, self: Tensor) -> Tensor:
    if not self.is_complex():
        return torch.zeros_like(grad)
    squares = self.real * self.real + self.imag * self.imag
    turned = torch.complex(-self.imag, self.real)
    return turned * (grad / squares).masked_fill(squares == 0, 0)


def sinc_grad(grad: Tensor, self: Tensor) -> Tensor:
    x = self * pi()
    slope = (x * x.cos() - x.sin()) / (x * self)
    return grad * slope.masked_fill(self == 0, 0).conj()


def logit_grad(grad: Tensor, self: Tensor, eps: Optional[float]) -> Tensor:
    slope = grad / (self * (1 - self))
    if eps is not None:
        return slope.masked_fill((self < eps).logical_or(self > 1 - eps), 0)
    outside = (self < 0).logical_or(self > 1)
    return slope.masked_fill(outside, nan())


def polygamma_sum(grad: Tensor, self: Tensor, p: int) -> Tensor:
    slope = self.digamma()
    for index in range(1, p):
        slope = slope + (self - 0.5 * index).digamma()
    return grad * slope


def i1_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    # I1(x) / x tends to a half.
    zero = self == 0
    safe = self.masked_fill(zero, 1)
    slope = self.i0() - result / safe
    return grad * torch.where(zero, 0.5, slope)


def i1e_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    zero = self == 0
    safe = self.masked_fill(zero, 1)
    slope = self.special_i0e() - result * (self.sgn() + safe.reciprocal())
    return grad * torch.where(zero, 0.5, slope)


# Reductions.

def unreduced(grad: Tensor, rank: int, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    """With the dimensions that a reduction dropped, of size one."""
    if keepdim or dim is None:
        return grad
    if len(dim) == 0:
        return grad
    dims = [whole(d, rank) for d in dim]
    dims.sort()
    for d in dims:
        grad = grad.unsqueeze(d)
    return grad if rank > 0 else grad.squeeze()


def spread(grad: Tensor, sizes: List[int], dim: Optional[List[int]], keepdim: bool) -> Tensor:
    return unreduced(grad, len(sizes), dim, keepdim).expand(sizes)


def counted(sizes: List[int], dim: Optional[List[int]]) -> int:
    """How many elements are reduced to one."""
    dims: List[int] = []
    if dim is not None:
        dims = dim
    number = 1
    if len(dims) == 0:
        for size in sizes:
            number *= size
    elif len(sizes) > 0:
        for d in dims:
            number *= sizes[d]
    return number


def evenly(grad: Tensor, self: Tensor, result: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    """Equal extremes share their gradient."""
    mask = self == unreduced(result, self.dim(), dim, keepdim)
    return unreduced(grad, self.dim(), dim, keepdim) * mask / mask.sum(dim, True)


def evenly_all(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    mask = (self == result).logical_or(self.isnan().logical_and(result.isnan()))
    return mask * (grad / mask.sum())


def chosen(grad: Tensor, sizes: List[int], dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """Each gradient at the place along a dimension that its value was taken from."""
    if len(sizes) == 0:
        return grad.reshape(sizes)
    if not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices, grad)


def chosen_often(grad: Tensor, sizes: List[int], dim: int, indices: Tensor) -> Tensor:
    if len(sizes) == 0:
        return grad
    return grad.new_zeros(sizes).scatter_add(dim, indices, grad)


def aminmax_grad(low: Tensor, high: Tensor, self: Tensor, min: Tensor, max: Tensor, dim: Optional[int], keepdim: bool) -> Tensor:
    dims: Optional[List[int]] = None
    if dim is not None:
        dims = [dim]
    return evenly(low, self, min, dims, keepdim) + evenly(high, self, max, dims, keepdim)


def var_grad(grad: Tensor, self: Tensor, dim: Optional[List[int]], correction: float, keepdim: bool) -> Tensor:
    rest = counted(self.size(), dim) - correction
    return 2 * unreduced(grad, self.dim(), dim, keepdim) * (self - self.mean(dim, True)) / rest


def std_grad(grad: Tensor, self: Tensor, result: Tensor, dim: Optional[List[int]], correction: float, keepdim: bool) -> Tensor:
    half = (grad / (2 * result)).masked_fill(result == 0, 0)
    return var_grad(half, self, dim, correction, keepdim)


def mean_grad(grad: Tensor, sizes: List[int], dim: Optional[List[int]], keepdim: bool) -> Tensor:
    return spread(grad, sizes, dim, keepdim) / counted(sizes, dim)


def corrected(correction: Optional[number]) -> float:
    if correction is None:
        return 1.0
    return float(correction)


def nanmean(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    known = self.isnan().logical_not()
    return torch.nansum(self, dim, keepdim, dtype=dtype) / known.sum(dim, keepdim)


def norm_grad(grad: Tensor, self: Tensor, p: Optional[number], result: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    order = 2.0
    if p is not None:
        order = float(p)
    grad = unreduced(grad, self.dim(), dim, keepdim)
    norm = unreduced(result, self.dim(), dim, keepdim)
    if order == 0:
        return torch.zeros_like(self)
    if order == 1:
        return self.sgn() * grad
    if order == 2:
        return grad * (self / norm).masked_fill(norm == 0, 0)
    if abs(order) == inf():
        size = self.abs()
        extreme = (size == norm).logical_or(size.isnan().logical_and(norm.isnan()))
        return self.sgn() * (grad / extreme.sum(dim, True)).masked_fill(extreme.logical_not(), 0)
    if order < 1:
        slope = self.sgn() * self.abs().pow(order - 1).masked_fill(self == 0, 0)
        return slope * grad * norm.pow(1 - order)
    by = (grad / norm.pow(order - 1)).masked_fill(norm == 0, 0)
    if order < 2:
        return self.sgn() * self.abs().pow(order - 1) * by
    return self * self.abs().pow(order - 2) * by


def cumsum_grad(grad: Tensor, dim: int) -> Tensor:
    if grad.dim() == 0 or grad.size(dim) <= 1:
        return grad
    return grad.flip([dim]).cumsum(dim).flip([dim])


def cumprod_grad(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    if self.dim() == 0 or self.numel() == 0:
        return grad
    if not bool((self == 0).any()):
        return cumsum_grad(grad * result.conj(), dim) / self.conj()
    # What every product is without each of its factors in turn.
    x = self.movedim(dim, -1)
    n = x.size(-1)
    own = torch.eye(n, dtype=dtype_bool(), device=x.device)
    without = torch.where(own, 1, x.unsqueeze(-2)).cumprod(-1).triu()
    return (without.conj() * grad.movedim(dim, -1).unsqueeze(-2)).sum(-1).movedim(-1, dim)


def prod_dim(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    if self.dim() == 0:
        return grad
    if not keepdim:
        grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
    if not bool((self == 0).any()):
        return grad * (result / self).conj()
    # The product of those before and of those after.
    n = self.size(dim)
    one = torch.ones_like(self.narrow(dim, 0, 1))
    before = torch.cat([one, self.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    after = torch.cat([one, self.narrow(dim, 1, n - 1).flip([dim])], dim).cumprod(dim).flip([dim])
    return grad * (before * after).conj()


def prod_all(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if self.dim() == 0:
        return grad
    return prod_dim(grad, self.reshape([-1]), result, 0, False).reshape(self.size())


def logcumsumexp_grad(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    if grad.dim() == 0 or grad.numel() == 0:
        return grad
    if grad.is_complex():
        later = (grad.log() - result.conj()).flip([dim]).logcumsumexp(dim).flip([dim])
        return (later + self.conj()).exp()
    # As good as nothing, and finite as derivatives of this want it.
    least = -1e38
    positive = torch.where(grad > 0, grad, 1).log().masked_fill(grad <= 0, least)
    negative = torch.where(grad < 0, -grad, 1).log().masked_fill(grad >= 0, least)
    above = (positive - result).flip([dim]).logcumsumexp(dim).flip([dim])
    below = (negative - result).flip([dim]).logcumsumexp(dim).flip([dim])
    return (above + self).exp() - (below + self).exp()


def logsumexp_grad(grad: Tensor, self: Tensor, result: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    grad = unreduced(grad, self.dim(), dim, keepdim)
    return grad * (self - unreduced(result, self.dim(), dim, keepdim)).exp().conj()


# Shapes.

def permuted_back(grad: Tensor, dims: List[int]) -> Tensor:
    rank = len(dims)
    back = [0 for _ in dims]
    for at, dim in enumerate(dims):
        back[whole(dim, rank)] = at
    return grad.permute(back)


def sliced(grad: Tensor, sizes: List[int], dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    return grad.new_zeros(sizes).slice_scatter(grad, dim, start, end, step)


def narrowed(grad: Tensor, sizes: List[int], dim: int, start: int, length: int) -> Tensor:
    if start < 0:
        start += sizes[dim]
    return grad.new_zeros(sizes).slice_scatter(grad, dim, start, start + length)


def places(sizes: List[int], strides: List[int], offset: int, device: Device) -> Tensor:
    """Where in its storage each element of a strided tensor lies."""
    at = torch.full([], offset, dtype=dtype_int64(), device=device)
    for size, stride in zip(sizes, strides):
        at = at.unsqueeze(-1) + torch.arange(size, device=device) * stride
    return at


def as_strided_grad(grad: Tensor, self: Tensor, size: List[int], stride: List[int], storage_offset: Optional[int]) -> Tensor:
    own_offset = self.storage_offset()
    offset = own_offset
    if storage_offset is not None:
        offset = storage_offset
    if grad.numel() == 0 or self.numel() == 0:
        return grad.new_zeros(self.size())
    to = places(size, stride, offset, grad.device)
    of = places(self.size(), self.stride(), own_offset, grad.device).reshape([-1])
    room = max(int(to.max()), int(of.max())) + 1
    storage = grad.new_zeros([room]).index_add(0, to.reshape([-1]), grad.reshape([-1]))
    # An element that the argument has several times is one of each.
    times = grad.new_zeros([room]).index_add(0, of, torch.ones_like(of, dtype=grad.dtype))
    return (storage.index_select(0, of) / times.index_select(0, of)).reshape(self.size())


def unfolded(grad: Tensor, sizes: List[int], dimension: int, size: int, step: int) -> Tensor:
    if len(sizes) == 0:
        return grad.reshape(sizes)
    at = whole(dimension, len(sizes))
    index = torch.arange(sizes[at], device=grad.device).unfold(0, size, step).reshape([-1])
    windows = grad.movedim(-1, at + 1).flatten(at, at + 1)
    return grad.new_zeros(sizes).index_add(at, index, windows)


def repeated(grad: Tensor, sizes: List[int], repeats: List[int]) -> Tensor:
    extra = len(repeats) - len(sizes)
    split: List[int] = []
    dims: List[int] = []
    for at, times in enumerate(repeats):
        dims.append(len(split))
        split.append(times)
        split.append(sizes[at - extra] if at >= extra else 1)
    if len(dims) == 0:
        return grad
    return grad.reshape(split).sum(dims).reshape(sizes)


def tiled(self: Tensor, dims: List[int]) -> Tensor:
    missing = self.dim() - len(dims)
    if missing > 0:
        dims = [1 for _ in range(missing)] + dims
    return self.repeat(dims)


def repeat_interleaved(self: Tensor, repeats: int, dim: Optional[int]) -> Tensor:
    if dim is None:
        self = self.reshape([-1])
        at = 0
    else:
        if self.dim() == 0:
            self = self.unsqueeze(0)
        at = whole(dim, self.dim())
    sizes = self.size()
    sizes.insert(at + 1, repeats)
    return self.unsqueeze(at + 1).expand(sizes).clone().flatten(at, at + 1)


def repeat_interleaved_tensor(self: Tensor, repeats: Tensor, dim: Optional[int]) -> Tensor:
    if dim is None:
        self = self.reshape([-1])
        at = 0
    else:
        at = dim
    if repeats.dim() == 0 or repeats.numel() == 1:
        repeats = repeats.reshape([1]).expand([self.size(at)])
    return self.index_select(at, torch.repeat_interleave(repeats))


def negated(values: List[int]) -> List[int]:
    return [-value for value in values]


def diag(self: Tensor, diagonal: int) -> Tensor:
    if self.dim() == 1:
        return self.diag_embed(diagonal)
    return self.diagonal(diagonal).clone()


def cat_grads(grad: Tensor, tensors: List[Tensor], dim: int) -> List[Tensor]:
    grads: List[Tensor] = []
    start = 0
    for tensor in tensors:
        # An empty vector goes with anything.
        if tensor.dim() == 1 and tensor.size(0) == 0:
            grads.append(grad.new_zeros([0]))
        else:
            at = whole(dim, grad.dim())
            grads.append(grad.narrow(at, start, tensor.size(at)))
            start += tensor.size(at)
    return grads


def hstack(tensors: List[Tensor]) -> Tensor:
    parts = torch.atleast_1d(tensors)
    return torch.cat(parts, 0 if parts[0].dim() == 1 else 1)


def column_stack(tensors: List[Tensor]) -> Tensor:
    columns: List[Tensor] = []
    for tensor in tensors:
        columns.append(tensor.reshape([-1, 1]) if tensor.dim() <= 1 else tensor)
    return torch.cat(columns, 1)


def block_diag_grads(grad: Tensor, tensors: List[Tensor]) -> List[Tensor]:
    grads: List[Tensor] = []
    row = 0
    column = 0
    for tensor in tensors:
        rows, columns = 1, tensor.numel()
        if tensor.dim() == 2:
            rows, columns = tensor.size(0), tensor.size(1)
        grads.append(grad.narrow(0, row, rows).narrow(1, column, columns).reshape(tensor.size()))
        row += rows
        column += columns
    return grads


def meshgrid(tensors: List[Tensor], xy: bool) -> List[Tensor]:
    order = list(range(len(tensors)))
    if xy and len(tensors) >= 2:
        order[0], order[1] = 1, 0
    sizes = [1 for _ in tensors]
    for at, tensor in enumerate(tensors):
        sizes[order[at]] = tensor.numel()
    grids: List[Tensor] = []
    for at, tensor in enumerate(tensors):
        shape = [1 for _ in tensors]
        shape[order[at]] = tensor.numel()
        grids.append(tensor.reshape(shape).expand(sizes))
    return grids


def cartesian_prod(tensors: List[Tensor]) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([grid.reshape([-1]) for grid in meshgrid(tensors, False)], 1)


def kron(self: Tensor, other: Tensor) -> Tensor:
    rank = max(self.dim(), other.dim())
    left: List[int] = []
    right: List[int] = []
    sizes: List[int] = []
    for at in range(rank):
        a, b = at - rank + self.dim(), at - rank + other.dim()
        left.append(self.size(a) if a >= 0 else 1)
        left.append(1)
        right.append(1)
        right.append(other.size(b) if b >= 0 else 1)
        sizes.append(left[2 * at] * right[2 * at + 1])
    return (self.reshape(left) * other.reshape(right)).reshape(sizes)


def tensor_split_dim(rank: int) -> int:
    return 0 if rank == 1 else 1


def trace_grad(grad: Tensor, sizes: List[int]) -> Tensor:
    return grad * torch.eye(sizes[0], sizes[1], dtype=grad.dtype, device=grad.device)


def diff(self: Tensor, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]) -> Tensor:
    if n == 0:
        return self.clone()
    if prepend is not None:
        self = torch.cat([prepend, self], dim)
    if append is not None:
        self = torch.cat([self, append], dim)
    for _ in range(min(n, self.size(dim))):
        length = self.size(dim) - 1
        self = self.narrow(dim, 1, length) - self.narrow(dim, 0, length)
    return self


# Indexing.

def index_grad(grad: Tensor, sizes: List[int], indices: List[Optional[Tensor]]) -> Tensor:
    return grad.new_zeros(sizes).index_put(indices, grad, True)


def index_grad_all(grad: Tensor, sizes: List[int], indices: List[Tensor]) -> Tensor:
    return grad.new_zeros(sizes).index_put(indices, grad, True)


def index_put_self(grad: Tensor, indices: List[Optional[Tensor]], accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    return grad.index_put(indices, torch.zeros([], dtype=grad.dtype, device=grad.device))


def index_put_self_all(grad: Tensor, indices: List[Tensor], accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    return grad.index_put(indices, torch.zeros([], dtype=grad.dtype, device=grad.device))


def masked_select_grad(grad: Tensor, self: Tensor, mask: Tensor) -> Tensor:
    sizes = torch.broadcast_tensors([torch.empty_like(self, dtype=dtype_bool()), mask])[0].size()
    return grad.new_zeros(sizes).masked_scatter(mask.expand(sizes), grad)


def masked_scatter_source(grad: Tensor, mask: Tensor, sizes: List[int]) -> Tensor:
    number = 1
    for size in sizes:
        number *= size
    taken = grad.masked_select(mask.expand(grad.size()))
    return taken.constant_pad_nd([0, number - taken.numel()]).reshape(sizes)


def take_grad(grad: Tensor, sizes: List[int], index: Tensor) -> Tensor:
    return grad.new_zeros(sizes).put(index, grad.reshape(index.size()), True)


def put_self(grad: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    return grad.put(index, torch.zeros_like(source), False)


def take_along_dim(self: Tensor, indices: Tensor, dim: Optional[int]) -> Tensor:
    if dim is None:
        index = indices.reshape([-1])
        return self.reshape([-1]).gather(0, torch.where(index < 0, index + self.numel(), index))
    at = whole(dim, self.dim())
    sizes = self.size()
    index_sizes = indices.size()
    for d in range(self.dim()):
        if d != at:
            size = max(sizes[d], index_sizes[d]) if min(sizes[d], index_sizes[d]) > 0 else 0
            sizes[d] = size
            index_sizes[d] = size
    index = indices.expand(index_sizes)
    return self.expand(sizes).gather(at, torch.where(index < 0, index + self.size(at), index))


def scatter_reduce_grads(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, with_self: bool, result: Tensor) -> Tuple[Tensor, Tensor]:
    if self.dim() == 0:
        dim = 0
    if reduce == "sum":
        to_self, to_src = grad, grad.gather(dim, index)
    elif reduce == "mean":
        ones = torch.ones_like(grad) if with_self else torch.zeros_like(grad)
        number = ones.scatter_add(dim, index, torch.ones_like(src))
        number = number.masked_fill(number == 0, 1)
        to_self, to_src = grad / number, (grad / number).gather(dim, index)
    elif reduce == "amax" or reduce == "amin":
        from_self = self == result
        from_src = src == result.gather(dim, index)
        number = torch.zeros_like(grad)
        if with_self:
            number = from_self.to(grad.dtype)
        number = number.scatter_add(dim, index, from_src.to(grad.dtype))
        shared = grad / number.masked_fill(number == 0, 1)
        to_self, to_src = shared * from_self, shared.gather(dim, index) * from_src
    else:
        to_self, to_src = scatter_prod_grads(grad, self, dim, index, src, with_self, result)
    if not with_self:
        to_self = to_self.scatter(dim, index, 0)
    return to_self, to_src


def index_reduce(self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, with_self: bool) -> Tensor:
    if source.dim() > 0:
        sizes = [1 for _ in range(source.dim())]
        sizes[dim] = index.numel()
        index = index.reshape(sizes).expand(source.size())
    return self.scatter_reduce(dim, index, source, reduce, include_self=with_self)


def scatter_prod_grads(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, with_self: bool, result: Tensor) -> Tuple[Tensor, Tensor]:
    if not with_self:
        self = self.scatter(dim, index, 1)
    # The others' product: of those that are not zero where no other is zero.
    zero_self, zero_src = self == 0, src == 0
    zeros = zero_self.to(grad.dtype).scatter_add(dim, index, zero_src.to(grad.dtype))
    nonzero = self.masked_fill(zero_self, 1).scatter_reduce(dim, index, src.masked_fill(zero_src, 1), "prod")
    others_self = nonzero / self.masked_fill(zero_self, 1)
    others_src = nonzero.gather(dim, index) / src.masked_fill(zero_src, 1)
    none_self = zeros == zero_self.to(grad.dtype)
    none_src = zeros.gather(dim, index) == zero_src.to(grad.dtype)
    return grad * others_self * none_self, grad.gather(dim, index) * others_src * none_src


def embedding_grad(grad: Tensor, sizes: List[int], indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    index = indices.reshape([-1])
    rows = grad.reshape([index.numel(), sizes[1]])
    if scale_grad_by_freq:
        times = rows.new_zeros([sizes[0]]).index_add(0, index, torch.ones_like(index, dtype=rows.dtype))
        rows = rows / times.index_select(0, index).unsqueeze(1)
    if padding_idx >= 0:
        rows = rows.masked_fill((index == padding_idx).unsqueeze(1), 0)
    return rows.new_zeros(sizes).index_add(0, index, rows)


# Products.

def adjoint(matrix: Tensor) -> Tensor:
    return matrix.transpose(-2, -1).conj()


def matmul_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    if other.dim() == 1:
        if self.dim() == 1:
            return grad * other.conj()
        return grad.unsqueeze(-1) * other.conj()
    if self.dim() == 1:
        return grad.unsqueeze(-2).matmul(adjoint(other)).squeeze(-2)
    if self.dim() == 2 and other.dim() > 2:
        # Sums over the batch at once.
        rows = grad.movedim(-2, 0).flatten(1)
        return rows.matmul(adjoint(other.movedim(-2, 0).flatten(1)))
    return grad.matmul(adjoint(other))


def matmul_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 1:
        if other.dim() == 1:
            return grad * self.conj()
        if other.dim() == 2:
            return self.conj().unsqueeze(-1) * grad.unsqueeze(-2)
        return self.conj().unsqueeze(-1) * grad.unsqueeze(-2)
    if other.dim() == 1:
        rows = self.reshape([grad.numel(), other.size(0)])
        return adjoint(rows).mv(grad.reshape([-1]))
    if other.dim() == 2 and self.dim() > 2:
        rows = self.flatten(0, -2)
        return adjoint(rows).mm(grad.flatten(0, -2))
    return adjoint(self).matmul(grad)


def linear_input(grad: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() == 1:
        return grad.unsqueeze(-1) * weight.conj()
    return grad.matmul(weight.conj())


def linear_weight(grad: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    rows = input.flatten(0, -2) if input.dim() > 1 else input.unsqueeze(0)
    if weight.dim() == 1:
        return adjoint(rows).mv(grad.reshape([-1]))
    return grad.reshape([rows.size(0), weight.size(0)]).t().mm(rows.conj())


def inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    return tensordot(self, other, [-1], [-1])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    result = torch.einsum("...i,oij,...j->...o", [input1, weight, input2])
    if bias is not None:
        result = result + bias
    return result


def tensordot(self: Tensor, other: Tensor, dims_self: List[int], dims_other: List[int]) -> Tensor:
    left = [whole(d, self.dim()) for d in dims_self]
    right = [whole(d, other.dim()) for d in dims_other]
    a, b = self, other
    for l, r in zip(left, right):
        # A dimension of one goes with any.
        if a.size(l) == 1 and b.size(r) != 1:
            b = b.sum([r], True)
        elif b.size(r) == 1 and a.size(l) != 1:
            a = a.sum([l], True)
    rows = without(a.dim(), left)
    columns = without(b.dim(), right)
    sizes = [a.size(d) for d in rows] + [b.size(d) for d in columns]
    inside = 1
    for l in left:
        inside *= a.size(l)
    height, width = 1, 1
    for d in rows:
        height *= a.size(d)
    for d in columns:
        width *= b.size(d)
    a = a.permute(rows + left).reshape([height, inside])
    b = b.permute(right + columns).reshape([inside, width])
    return a.mm(b).reshape(sizes)


def cross_dim(sizes: List[int], other_sizes: List[int], dim: Optional[int]) -> int:
    if dim is not None:
        return dim
    for at, size in enumerate(sizes):
        if size == 3:
            return at
    return -1


def multi_dot(tensors: List[Tensor]) -> Tensor:
    result = tensors[0]
    for tensor in tensors[1:]:
        result = result.matmul(tensor)
    return result


# The labels of einsum, one character for each dimension, without ellipses.

def einsum_ellipsis(labels: str, rank: int, most: int, spare: str) -> str:
    """An operand's labels with its ellipsis spelled out. Dimensions of ellipses meet at their ends."""
    if "." not in labels:
        return labels
    length = rank - (len(labels) - 3)
    return labels.replace("...", spare[most - length:most])


def einsum_labels(equation: str, tensors: List[Tensor]) -> Tuple[List[str], str]:
    equation = equation.replace(" ", "")
    arrow = equation.find("->")
    left = equation if arrow < 0 else equation[:arrow]
    spare = ""
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
        if letter not in equation:
            spare += letter
    parts = left.split(",")
    most = 0
    for part, tensor in zip(parts, tensors):
        if "." in part:
            most = max(most, tensor.dim() - (len(part) - 3))
    if arrow >= 0:
        output = equation[arrow + 2:].replace("...", spare[:most])
    else:
        output = spare[:most]
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
            if left.count(letter) == 1:
                output += letter
    operands: List[str] = []
    for part, tensor in zip(parts, tensors):
        operands.append(einsum_ellipsis(part, tensor.dim(), most, spare))
    return operands, output


def einsum_spare(used: str) -> str:
    for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ":
        if letter not in used:
            return letter
    assert False, "einsum() has too many dimensions for a derivative"
    return ""


def einsum_grads(grad: Tensor, equation: str, tensors: List[Tensor]) -> List[Tensor]:
    operands, output = einsum_labels(equation, tensors)
    grads: List[Tensor] = []
    for at, tensor in enumerate(tensors):
        given: List[Tensor] = [grad]
        labels: List[str] = [output]
        for other in range(len(tensors)):
            if other != at:
                given.append(tensors[other].conj())
                labels.append(operands[other])
        used = ",".join(labels) + operands[at]
        wanted = ""
        for d in range(tensor.dim()):
            label = operands[at][d]
            size = tensor.size(d)
            if label in wanted:
                # A diagonal: zero beside it.
                new = einsum_spare(used)
                used += new
                given.append(torch.eye(size, dtype=grad.dtype, device=grad.device))
                labels.append(label + new)
                label = new
            elif label not in output:
                known = False
                for other in range(len(tensors)):
                    if other != at and label in operands[other]:
                        known = known or tensors[other].size(operands[other].find(label)) == size
                if not known:
                    # It was summed over by itself.
                    given.append(torch.ones([size], dtype=grad.dtype, device=grad.device))
                    labels.append(label)
            wanted += label
        grads.append(torch.einsum(",".join(labels) + "->" + wanted, given))
    return grads


# Activations.

def softplus_grad(grad: Tensor, self: Tensor, beta: number, threshold: number) -> Tensor:
    scaled_self = self * beta
    return torch.where(scaled_self > threshold, grad, grad * scaled_self.sigmoid())


def elu_grad(grad: Tensor, self: Tensor, alpha: number, scale: number, input_scale: number) -> Tensor:
    below = grad * (self * input_scale).exp() * (float(alpha) * float(scale) * float(input_scale))
    return torch.where(self <= 0, below, grad * scale)


def gelu_grad(grad: Tensor, self: Tensor, approximate: str) -> Tensor:
    if approximate == "tanh":
        factor = torch.sqrt(2 / pi())
        squares = self * self
        inner = (self * factor * (1 + 0.044715 * squares)).tanh()
        slope = factor * (1 + 3 * 0.044715 * squares)
        return grad * (0.5 * (1 + inner) + 0.5 * self * (1 - inner * inner) * slope)
    density = (-0.5 * self * self).exp() / torch.sqrt(2 * pi())
    return grad * (0.5 * (1 + (self / torch.sqrt(2.0)).erf()) + self * density)


def hardswish_grad(grad: Tensor, self: Tensor) -> Tensor:
    inside = torch.where(self < 3, grad * (self / 3 + 0.5), grad)
    return inside.masked_fill(self <= -3, 0)


def prelu(self: Tensor, weight: Tensor) -> Tensor:
    if weight.numel() != 1 and self.dim() > 1:
        weight = weight.reshape([weight.numel()] + [1 for _ in range(self.dim() - 2)])
    elif self.dim() == 0:
        weight = weight.reshape(self.size())
    return torch.where(self > 0, self, weight * self)


def kept_at_random(input: Tensor, p: float, whole_features: bool) -> Tensor:
    """One with the probability 1 - p, otherwise zero."""
    if whole_features:
        sizes = input.size()[:2] + [1 for _ in range(input.dim() - 2)]
        noise = (input.real if input.is_complex() else input).new_empty(sizes)
    else:
        noise = torch.empty_like(input.real if input.is_complex() else input)
    return noise.bernoulli_(1 - p)


def dropped(input: Tensor, p: float, train: bool, whole_features: bool) -> Tensor:
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * torch.zeros([], dtype=input.dtype, device=input.device)
    return input * (kept_at_random(input, p, whole_features) / (1 - p))


def alpha_dropped(input: Tensor, p: float, train: bool, whole_features: bool) -> Tensor:
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * torch.zeros([], dtype=input.dtype, device=input.device)
    alpha = 1.7580993408473766
    scale = 1 / torch.sqrt((alpha * alpha * p + 1) * (1 - p))
    noise = kept_at_random(input, p, whole_features)
    return input * (noise * scale) + ((noise - 1) * (alpha * scale) + alpha * scale * p)


def softmax_grad(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    product = grad * result
    return product - result * product.sum([dim], True)


# Normalisations.

def layer_norm_parts(input: Tensor, rank: int, eps: float) -> Tuple[Tensor, Tensor, List[int]]:
    dims = [-1 - at for at in range(rank)]
    centred = input - input.mean(dims, True)
    scale = (centred.square().mean(dims, True) + eps).rsqrt()
    return centred * scale, scale, dims


def layer_norm_input(grad: Tensor, input: Tensor, rank: int, weight: Optional[Tensor], eps: float) -> Tensor:
    if weight is not None:
        grad = grad * weight
    normal, scale, dims = layer_norm_parts(input, rank, eps)
    along = (grad * normal).mean(dims, True)
    return scale * (grad - grad.mean(dims, True) - normal * along)


def layer_norm_weight(grad: Tensor, input: Tensor, rank: int, eps: float) -> Tensor:
    normal, scale, dims = layer_norm_parts(input, rank, eps)
    return grad * normal


def normalized(input: Tensor, dims: List[int], eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    """Of mean zero and variance one, and the mean and the factor that made it so."""
    mean = input.mean(dims, True)
    centred = input - mean
    scale = (centred.square().mean(dims, True) + eps).rsqrt()
    return centred * scale, mean, scale


def affine(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor]) -> Tensor:
    """By channel."""
    shape = [1, -1] + [1 for _ in range(input.dim() - 2)]
    if weight is not None:
        input = input * weight.reshape(shape)
    if bias is not None:
        input = input + bias.reshape(shape)
    return input


def batch_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float) -> Tensor:
    if input.numel() == 0:
        if weight is not None:
            input = input * (weight.select(0, 0) if weight.numel() > 0 else weight)
        return input.clone()
    shape = [1, -1] + [1 for _ in range(input.dim() - 2)]
    if not training and running_mean is not None and running_var is not None:
        scale = (running_var + eps).rsqrt()
        if weight is not None:
            scale = scale * weight
        return affine((input - running_mean.reshape(shape)) * scale.reshape(shape), None, bias)
    dims = without(input.dim(), [1])
    if running_mean is not None:
        kept = input.detach()
        running_mean.mul_(1 - momentum).add_(kept.mean(dims), alpha=momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(kept.var(dims, True), alpha=momentum)
    normal, mean, scale = normalized(input, dims, eps)
    return affine(normal, weight, bias)


def instance_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], use_input_stats: bool, momentum: float, eps: float) -> Tensor:
    if not use_input_stats:
        return batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    dims = list(range(2, input.dim()))
    if running_mean is not None:
        kept = input.detach()
        running_mean.mul_(1 - momentum).add_(kept.mean(dims).mean(0), alpha=momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(kept.var(dims, True).mean(0), alpha=momentum)
    normal, mean, scale = normalized(input, dims, eps)
    return affine(normal, weight, bias)


def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tensor:
    if input.numel() == 0:
        return affine(input, weight, bias)
    groups = input.reshape([input.size(0), num_groups, -1])
    normal, mean, scale = normalized(groups, [2], eps)
    return affine(normal.reshape(input.size()), weight, bias)


def grouped(tensor: Tensor, like: Tensor) -> Tensor:
    """Each group's elements side by side, after the dimensions of what there is one for each group."""
    return tensor.reshape([like.size(0), like.size(1), tensor.numel() // max(like.numel(), 1)])


def by_channel(weight: Tensor, rank: int) -> Tensor:
    return weight.reshape([1, -1] + [1 for _ in range(rank - 2)])


def native_group_norm_input(grad: Tensor, grad_mean: Tensor, grad_scale: Tensor, input: Tensor, weight: Optional[Tensor], mean: Tensor, scale: Tensor) -> Tensor:
    if input.numel() == 0:
        return torch.zeros_like(input)
    if weight is not None:
        grad = grad * by_channel(weight, input.dim())
    grad = grouped(grad, mean)
    mean, scale = mean.unsqueeze(-1), scale.unsqueeze(-1)
    normal = (grouped(input, grad_mean) - mean) * scale
    along = (grad * normal).mean([2], True)
    result = scale * (grad - grad.mean([2], True) - normal * along)
    of_each = grad_mean.unsqueeze(-1) - grad_scale.unsqueeze(-1) * scale * scale * normal
    return (result + of_each / normal.size(2)).reshape(input.size())


def native_group_norm_weight(grad: Tensor, input: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    if input.numel() == 0:
        return grad.new_zeros([input.size(1)])
    normal = (grouped(input, mean) - mean.unsqueeze(-1)) * scale.unsqueeze(-1)
    return (grad * normal.reshape(input.size())).sum(without(input.dim(), [1]))


def native_layer_norm(input: Tensor, rank: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    normal, mean, scale = normalized(input, [-1 - at for at in range(rank)], eps)
    if weight is not None:
        normal = normal * weight
    if bias is not None:
        normal = normal + bias
    return normal, mean.detach(), scale.detach()


def rms_norm(input: Tensor, rank: int, weight: Optional[Tensor], eps: Optional[float]) -> Tensor:
    least = 1.1920928955078125e-07
    if eps is not None:
        least = eps
    elif input.dtype == dtype_float64():
        least = 2.220446049250313e-16
    dims = [-1 - at for at in range(rank)]
    result = input * (input.square().mean(dims, True) + least).rsqrt()
    if weight is not None:
        result = result * weight
    return result


def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    if dim == -1:
        return v.linalg_vector_norm(pow)
    return v.linalg_vector_norm(pow, without(v.dim(), [dim]), True)


# Losses.

def reduced(losses: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return losses.mean()
    if reduction == 2:
        return losses.sum()
    return losses


def smooth_l1(self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    far = (self - target).abs()
    if beta == 0:
        return reduced(far, reduction)
    return reduced(torch.where(far < beta, 0.5 * far * far / beta, far - 0.5 * beta), reduction)


def huber(self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    far = (self - target).abs()
    return reduced(torch.where(far <= delta, 0.5 * far * far, delta * (far - 0.5 * delta)), reduction)


def kl_div(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    if log_target:
        return reduced(target.exp() * (target - self), reduction)
    return reduced(target.xlogy(target) - target * self, reduction)


def per_element(grad: Tensor, self: Tensor, reduction: int) -> Tensor:
    """The gradient of each loss."""
    return grad / self.numel() if reduction == 1 else grad


def cross_entropy_self(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    slope = per_element(grad, self, reduction) * (self - target) / (self * (1 - self)).clamp_min(1e-12)
    if weight is not None:
        slope = slope * weight
    return slope


def cross_entropy_target(grad: Tensor, self: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    slope = per_element(grad, self, reduction) * ((1 - self).log().clamp_min(-100) - self.log().clamp_min(-100))
    if weight is not None:
        slope = slope * weight
    return slope


def with_logits(self: Tensor, target: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
    logarithm = self.log_sigmoid()
    if pos_weight is not None:
        logarithm = ((pos_weight - 1) * target + 1) * logarithm
    losses = (1 - target) * self - logarithm
    if weight is not None:
        losses = losses * weight
    return reduced(losses, reduction)


def nll_loss(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    classes = 0 if self.dim() == 1 else 1
    ignored = target == ignore_index
    index = target.masked_fill(ignored, 0)
    losses = -self.gather(classes, index.unsqueeze(classes)).squeeze(classes)
    weights = ignored.logical_not().to(self.dtype)
    if weight is not None:
        weights = weights * weight.index_select(0, index.reshape([-1])).reshape(index.size())
    # What is ignored may be infinite.
    losses = losses.masked_fill(ignored, 0) * weights
    if reduction == 1:
        return losses.sum() / weights.sum()
    return reduced(losses, reduction)


def cross_entropy(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, label_smoothing: float) -> Tensor:
    classes = 0 if self.dim() == 1 else 1
    count = self.size(classes)
    logarithms = self.log_softmax(classes)
    shape = [1 for _ in range(self.dim())]
    shape[classes] = count
    if target.is_floating_point():
        if label_smoothing > 0:
            target = target * (1 - label_smoothing) + label_smoothing / count
        terms = logarithms * target
        if weight is not None:
            terms = terms * weight.reshape(shape)
        if reduction == 1:
            return -terms.sum() / (self.numel() / count)
        if reduction == 2:
            return -terms.sum()
        return -terms.sum([classes])
    exact = nll_loss(logarithms, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return exact
    ignored = target == ignore_index
    if weight is not None:
        logarithms = logarithms * weight.reshape(shape)
    smooth = -logarithms.sum([classes]).masked_fill(ignored, 0)
    if reduction == 1:
        number = ignored.logical_not().to(self.dtype)
        if weight is not None:
            index = target.masked_fill(ignored, 0)
            number = number * weight.index_select(0, index.reshape([-1])).reshape(index.size())
        smooth = smooth.sum() / number.sum()
    else:
        smooth = reduced(smooth, reduction)
    return (1 - label_smoothing) * exact + label_smoothing / count * smooth


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    dtype = torch.result_type(x1, x2)
    a, b = torch.broadcast_tensors([x1.to(dtype), x2.to(dtype)])
    # The bound is no part of the derivative.
    length_a = a.linalg_vector_norm(2, [dim], True)
    length_b = b.linalg_vector_norm(2, [dim], True)
    bounded_a = torch.where(length_a < eps, eps, length_a)
    bounded_b = torch.where(length_b < eps, eps, length_b)
    return (a / bounded_a * (b / bounded_b)).sum([dim])


def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    return (x1 - x2 + eps).linalg_vector_norm(p, [-1], keepdim)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    dim = target.dim()
    small = 1e-12
    product = (input1 * input2).sum([dim])
    squares = ((input1 * input1).sum([dim]) + small) * ((input2 * input2).sum([dim]) + small)
    cosine = product / squares.sqrt()
    zeros = torch.zeros_like(cosine)
    like = torch.where(target == 1, 1 - cosine, zeros)
    unlike = torch.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return reduced(like + unlike, reduction)


def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    zeros = torch.zeros_like(self)
    apart = torch.where(target != 1, (margin - self).clamp_min(0), zeros)
    return reduced(apart + torch.where(target != -1, self, zeros), reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: int) -> Tensor:
    near = pairwise_distance(anchor, positive, p, eps, False)
    far = pairwise_distance(anchor, negative, p, eps, False)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps, False))
    return reduced((margin + near - far).clamp_min(0), reduction)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    if log_input:
        losses = input.exp() - target * input
    else:
        losses = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * pi() * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


# Distances.

def distance_slope(difference: Tensor, distance: Tensor, p: float) -> Tensor:
    """The derivative of the p-norm of differences along their last dimension by the differences."""
    distance = distance.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(difference)
    if p == 1:
        return difference.sgn()
    if p == 2:
        return (difference / distance).masked_fill(distance == 0, 0)
    size = difference.abs()
    if p == inf():
        return difference.sgn() * (size == distance)
    if p < 2:
        slope = difference.sgn() * size.pow(p - 1) / distance.pow(p - 1)
        return slope.masked_fill((distance == 0) if p >= 1 else (difference == 0), 0)
    return (difference * size.pow(p - 2) / distance.pow(p - 1)).masked_fill(distance == 0, 0)


def cdist_x1(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    if p == 2:
        # Without the differences of every pair.
        by = (grad / result).masked_fill(result == 0, 0)
        return x1 * by.sum([-1], True) - by.matmul(x2)
    slope = distance_slope(x1.unsqueeze(-2) - x2.unsqueeze(-3), result, p)
    return (grad.unsqueeze(-1) * slope).sum([-2])


def pdist_grad(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    n = self.size(0)
    pairs = torch.triu_indices(n, n, 1, device=self.device)
    first, second = pairs[0], pairs[1]
    slope = distance_slope(self.index_select(0, first) - self.index_select(0, second), result, p)
    parts = grad.unsqueeze(-1) * slope
    zeros = torch.zeros_like(self)
    return zeros.index_add(0, first, parts).index_add(0, second, -parts)


# Convolutions.

def filled(values: List[int], rank: int) -> List[int]:
    """One number for each dimension in space."""
    if len(values) == 1:
        return [values[0] for _ in range(rank)]
    return values


def cropped(input: Tensor, before: List[int], sizes: List[int]) -> Tensor:
    """What begins in each of the last dimensions at `before`, zero where there is nothing."""
    pad: List[int] = []
    rank = len(sizes)
    for at in range(rank):
        d = rank - 1 - at
        pad.append(-before[d])
        pad.append(sizes[d] - (input.size(d - rank) - before[d]))
    return input.constant_pad_nd(pad)


def conv_input(grad: Tensor, sizes: List[int], weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, groups: int) -> Tensor:
    rank = weight.dim() - 2
    batched = len(sizes) == rank + 2
    if not batched:
        grad = grad.unsqueeze(0)
    stride, padding, dilation = filled(stride, rank), filled(padding, rank), filled(dilation, rank)
    zeros = [0 for _ in range(rank)]
    wanted = sizes[len(sizes) - rank:]
    if grad.numel() == 0 or weight.numel() == 0:
        return grad.new_zeros(sizes)
    if transposed:
        result = torch.convolution(grad, weight.conj(), None, stride, padding, dilation, False, zeros, groups)
        result = cropped(result, zeros, wanted)
    else:
        result = torch.convolution(grad, weight.conj(), None, stride, zeros, dilation, True, zeros, groups)
        result = cropped(result, padding, wanted)
    return result if batched else result.squeeze(0)


def conv_weight(grad: Tensor, input: Tensor, sizes: List[int], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, groups: int) -> Tensor:
    rank = len(sizes) - 2
    if input.dim() == rank + 1:
        input, grad = input.unsqueeze(0), grad.unsqueeze(0)
    if transposed:
        input, grad = grad, input
    if grad.numel() == 0 or input.numel() == 0:
        return grad.new_zeros(sizes)
    stride, padding, dilation = filled(stride, rank), filled(padding, rank), filled(dilation, rank)
    zeros = [0 for _ in range(rank)]
    # Each channel in turn is a batch's item, each item a channel.
    batch, space = input.size(0), input.size()[2:]
    channels = input.size(1) // groups
    items = input.reshape([batch, groups, channels] + space).movedim([0, 1, 2], [2, 1, 0])
    items = items.reshape([channels, groups * batch] + space)
    conjugate = transposed and grad.is_complex()
    if conjugate:
        filters = grad.transpose(0, 1).conj()
    else:
        filters = grad.transpose(0, 1)
        items = items.conj()
    result = torch.convolution(items, filters, None, dilation, padding, stride, False, zeros, groups)
    return cropped(result, zeros, sizes[2:]).transpose(0, 1)


def conv_bias(grad: Tensor, rank: int) -> Tensor:
    """`rank` is the weight's."""
    return grad.sum(without(grad.dim(), [grad.dim() - rank + 1]))


def conv_padded(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    rank = weight.dim() - 2
    stride, dilation = filled(stride, rank), filled(dilation, rank)
    zeros = [0 for _ in range(rank)]
    batched = input.dim() == rank + 2
    if not batched:
        input = input.unsqueeze(0)
    if padding == "same":
        pad: List[int] = []
        for at in range(rank):
            d = rank - 1 - at
            total = dilation[d] * (weight.size(d + 2) - 1)
            pad.append(total // 2)
            pad.append(total - total // 2)
        input = input.constant_pad_nd(pad)
    result = torch.convolution(input, weight, bias, stride, zeros, dilation, False, zeros, groups)
    return result if batched else result.squeeze(0)


# Pooling.

def window_counts(size: int, out: int, kernel: int, stride: int, padding: int, with_padding: bool, device: Device) -> Tensor:
    """How many elements each window's mean is of, along one dimension."""
    start = torch.arange(out, device=device) * stride - padding
    end = (start + kernel).clamp_max(size + padding)
    if not with_padding:
        start, end = start.clamp_min(0), end.clamp_max(size)
    return end - start


def avg_pool_grad(grad: Tensor, sizes: List[int], kernel_size: List[int], stride: List[int], padding: List[int], count_include_pad: bool, divisor_override: Optional[int], rank: int) -> Tensor:
    kernel, padding = filled(kernel_size, rank), filled(padding, rank)
    stride = kernel if len(stride) == 0 else filled(stride, rank)
    if grad.numel() == 0:
        return grad.new_zeros(sizes)
    space = sizes[len(sizes) - rank:]
    if divisor_override is not None:
        grad = grad / divisor_override
    else:
        for d in range(rank):
            counts = window_counts(space[d], grad.size(d - rank), kernel[d], stride[d], padding[d], count_include_pad, grad.device)
            grad = grad / counts.reshape([-1] + [1 for _ in range(rank - 1 - d)])
    images = grad.reshape([-1, 1] + grad.size()[grad.dim() - rank:])
    zeros = [0 for _ in range(rank)]
    ones = [1 for _ in range(rank)]
    window = torch.ones([1, 1] + kernel, dtype=grad.dtype, device=grad.device)
    result = torch.convolution(images, window, None, stride, zeros, ones, True, zeros, 1)
    return cropped(result, padding, space).reshape(sizes)


def pooled_max_grad(grad: Tensor, sizes: List[int], indices: Tensor, rank: int) -> Tensor:
    """Each gradient at the place of its greatest element in the image."""
    if grad.numel() == 0:
        return grad.new_zeros(sizes)
    images = len(sizes) - rank
    flat = grad.new_zeros(sizes).flatten(images)
    return flat.scatter_add(images, indices.flatten(images), grad.flatten(images)).reshape(sizes)


def adaptive_weights(size: int, out: int, like: Tensor) -> Tensor:
    """Row by output the weights of the inputs along one dimension."""
    at = torch.arange(out, device=like.device)
    start = (at * size).div(out, rounding_mode="floor").unsqueeze(1)
    end = ((at + 1) * size + out - 1).div(out, rounding_mode="floor").unsqueeze(1)
    places = torch.arange(size, device=like.device)
    inside = (places >= start).logical_and(places < end)
    return inside.to(like.dtype) / (end - start)


def adaptive_avg_pool_grad(grad: Tensor, sizes: List[int], rank: int) -> Tensor:
    for at in range(rank):
        d = at - rank
        size = sizes[len(sizes) + d]
        grad = grad.movedim(d, -1).matmul(adaptive_weights(size, grad.size(d), grad)).movedim(-1, d)
    return grad


# Resampling is linear, dimension by dimension: what it makes of each unit vector is its matrix.

def resampled(grad: Tensor, dim: int, matrix: Tensor) -> Tensor:
    return grad.movedim(dim, -1).matmul(matrix.t()).movedim(-1, dim)


def factor(scale_factors: Optional[List[float]], at: int) -> Optional[float]:
    if scale_factors is None:
        return None
    return scale_factors[at]


def upsampled(grad: Tensor, sizes: List[int], mode: str, align_corners: bool, scales: List[Optional[float]]) -> Tensor:
    rank = len(scales)
    for at in range(rank):
        size, out = sizes[at + 2], grad.size(at + 2)
        if grad.numel() == 0:
            return grad.new_zeros(sizes)
        units = torch.eye(size, dtype=grad.dtype, device=grad.device)
        if mode == "nearest":
            matrix = units.unsqueeze(0).upsample_nearest1d([out], scales[at])[0]
        elif mode == "nearest-exact":
            matrix = units.unsqueeze(0)._upsample_nearest_exact1d([out], scales[at])[0]
        elif mode == "linear":
            matrix = units.unsqueeze(0).upsample_linear1d([out], align_corners, scales[at])[0]
        else:
            # Two columns, since PyTorch's antialiasing mixes up what has one.
            images = units.unsqueeze(0).unsqueeze(3).repeat([1, 1, 1, 2])
            if mode == "cubic":
                images = images.upsample_bicubic2d([out, 2], align_corners, scales[at], None)
            elif mode == "linear-aa":
                images = images._upsample_bilinear2d_aa([out, 2], align_corners, scales[at], None)
            else:
                images = images._upsample_bicubic2d_aa([out, 2], align_corners, scales[at], None)
            matrix = images.select(3, 0).squeeze(0)
        grad = resampled(grad, at + 2, matrix)
    return grad


def upsampled_by(grad: Tensor, sizes: List[int], mode: str, align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    scales: List[Optional[float]] = []
    for at in range(len(sizes) - 2):
        scales.append(factor(scale_factors, at))
    return upsampled(grad, sizes, mode, align_corners, scales)


# Padding by what is there.

def pad_index(size: int, before: int, after: int, mode: str, device: Device) -> Tensor:
    at = torch.arange(-before, size + after, device=device)
    if mode == "replicate":
        return at.clamp(0, size - 1)
    if mode == "circular":
        # Around what is left where padding takes away.
        first, last = max(-before, 0), size - max(-after, 0)
        return (at - first).remainder(last - first) + first
    return size - 1 - (size - 1 - at.abs()).abs()


def padded(self: Tensor, pad: List[int], mode: str) -> Tensor:
    for at in range(len(pad) // 2):
        d = self.dim() - 1 - at
        index = pad_index(self.size(d), pad[2 * at], pad[2 * at + 1], mode, self.device)
        self = self.index_select(d, index)
    return self


def padded_by(self: Tensor, pad: List[int], mode: str, value: Optional[float]) -> Tensor:
    if mode == "constant":
        filling = 0.0
        if value is not None:
            filling = value
        return self.constant_pad_nd(pad, filling)
    return padded(self, pad, mode)


# Attention.

def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, scale: Optional[float], enable_gqa: bool) -> Tensor:
    by = 1 / torch.sqrt(query.size(-1))
    if scale is not None:
        by = scale
    if enable_gqa:
        key = repeat_interleaved(key, query.size(-3) // key.size(-3), -3)
        value = repeat_interleaved(value, query.size(-3) // value.size(-3), -3)
    scores = query.matmul(key.transpose(-2, -1)) * by
    if is_causal:
        allowed = torch.ones([query.size(-2), key.size(-2)], dtype=dtype_bool(), device=query.device).tril()
        scores = scores.masked_fill(allowed.logical_not(), -inf())
    if attn_mask is not None:
        if attn_mask.dtype == dtype_bool():
            scores = scores.masked_fill(attn_mask.logical_not(), -inf())
        else:
            scores = scores + attn_mask
    # A row where nothing is allowed gives zeros.
    nothing = (scores == -inf()).all(-1, True)
    weights = scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0)
    return dropped(weights, dropout_p, True, False).matmul(value)


def gradient_of_places(grad: Tensor, size: List[int], places: Tensor):
    count = 1
    for n in size:
        count = count * n
    flat = torch.zeros([count], dtype=grad.dtype).index_add(0, places.reshape(-1), grad.reshape(-1))
    return flat.view(size)


# Fourier transforms. What undoes a transform but for its scale is its adjoint with the scale on the
# other side.

def other_side(norm: Optional[str]) -> str:
    if norm is None or norm == "backward":
        return "forward"
    if norm == "forward":
        return "backward"
    return norm


def fitted(input: Tensor, dim: int, size: int) -> Tensor:
    """Cut or filled with zeros at the end of a dimension."""
    missing = size - input.size(dim)
    if missing == 0:
        return input
    if missing < 0:
        return input.narrow(dim, 0, size)
    sizes = input.size()
    sizes[dim] = missing
    return torch.cat([input, input.new_zeros(sizes)], dim)


def fft_grad(grad: Tensor, sizes: List[int], dim: int, norm: Optional[str]) -> Tensor:
    return fitted(grad.fft_ifft(None, dim, other_side(norm)), dim, sizes[dim])


def ifft_grad(grad: Tensor, sizes: List[int], dim: int, norm: Optional[str]) -> Tensor:
    return fitted(grad.fft_fft(None, dim, other_side(norm)), dim, sizes[dim])


def rfft_grad(grad: Tensor, sizes: List[int], n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    length = sizes[dim]
    if n is not None:
        length = n
    whole_grad = fitted(grad, dim, length)
    return fitted(whole_grad.fft_ifft(None, dim, other_side(norm)).real, dim, sizes[dim])


def irfft_grad(grad: Tensor, sizes: List[int], dim: int, norm: Optional[str]) -> Tensor:
    # Each frequency but the first, and the last of an even number, stands for two.
    half = grad.fft_rfft(None, dim, other_side(norm))
    number = half.size(dim)
    single = 1 if grad.size(dim) % 2 == 1 else 2
    if number > single:
        parts = [half.narrow(dim, 0, 1), 2 * half.narrow(dim, 1, number - single)]
        if single == 2:
            parts.append(half.narrow(dim, number - 1, 1))
        half = torch.cat(parts, dim)
    return fitted(half, dim, sizes[dim])


def fft_dims(rank: int, s: Optional[List[int]], dim: Optional[List[int]]) -> List[int]:
    if dim is not None:
        return dim
    if s is not None:
        return list(range(rank - len(s), rank))
    return list(range(rank))


def fft_size(s: Optional[List[int]], at: int) -> Optional[int]:
    if s is None:
        return None
    if s[at] == -1:
        return None
    return s[at]


def fft_many(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], last: int, back: bool) -> Tensor:
    """Over all dimensions but so many of the last."""
    dims = fft_dims(self.dim(), s, dim)
    for at in range(len(dims) - last):
        if back:
            self = self.fft_ifft(fft_size(s, at), dims[at], norm)
        else:
            self = self.fft_fft(fft_size(s, at), dims[at], norm)
    return self


def fft_last(s: Optional[List[int]]) -> Optional[int]:
    if s is None:
        return None
    return fft_size(s, len(s) - 1)


def rfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return fft_many(self.fft_rfft(fft_last(s), dims[-1], norm), s, dims, norm, 1, False)


def irfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return fft_many(self, s, dims, norm, 1, True).fft_irfft(fft_last(s), dims[-1], norm)


def hfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return self.conj().fft_irfft(n, dim, other_side(norm))


def ihfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return self.fft_rfft(n, dim, other_side(norm)).conj()


def hfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return hfft(fft_many(self, s, dims, norm, 1, False), fft_last(s), dims[-1], norm)


def ihfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return fft_many(ihfft(self, fft_last(s), dims[-1], norm), s, dims, norm, 1, True)


def stft(self: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool]) -> Tensor:
    hop = n_fft // 4
    if hop_length is not None:
        hop = hop_length
    frames = self.unfold(-1, n_fft, hop)
    if window is not None:
        before = (n_fft - window.size(0)) // 2
        frames = frames * window.constant_pad_nd([before, n_fft - window.size(0) - before])
    elif win_length is not None:
        before = (n_fft - win_length) // 2
        ones = torch.ones([win_length], dtype=frames.dtype, device=frames.device)
        frames = frames * ones.constant_pad_nd([before, n_fft - win_length - before])
    norm = "ortho" if normalized else "backward"
    half = frames.is_complex() == False
    if onesided is not None:
        half = onesided
    if half:
        result = frames.fft_rfft(None, -1, norm)
    else:
        result = frames.fft_fft(None, -1, norm)
    result = result.transpose(-2, -1)
    if return_complex is not None:
        if return_complex:
            return result
    elif self.is_complex():
        return result
    return torch.view_as_real(result)


# Linear algebra.

def inverse_grad(grad: Tensor, result: Tensor) -> Tensor:
    back = adjoint(result)
    return -back.matmul(grad).matmul(back)


def det_grad(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    if bool((result == 0).any()):
        # The products of the other singular values are left of a matrix without an inverse.
        U, S, Vh = torch.linalg_svd(A, False)
        n = S.size(-1)
        own = torch.eye(n, dtype=dtype_bool(), device=A.device)
        others = torch.where(own, 1, S.unsqueeze(-2)).prod(-1)
        turns = (torch.linalg_det(U) * torch.linalg_det(Vh)).conj()
        cofactors = (U * others.unsqueeze(-2)).matmul(Vh)
        return (grad * turns).unsqueeze(-1).unsqueeze(-1) * cofactors
    return (grad * result.conj()).unsqueeze(-1).unsqueeze(-1) * adjoint(torch.linalg_inv(A))


def slogdet_grad(grad_sign: Tensor, grad_log: Tensor, A: Tensor, sign: Tensor) -> Tensor:
    by = grad_log
    if A.is_complex():
        by = torch.complex(grad_log, -(grad_sign.conj() * sign).imag)
    return by.unsqueeze(-1).unsqueeze(-1) * adjoint(torch.linalg_inv(A))


def solve_is_vector(sizes: List[int], other: List[int]) -> bool:
    """Whether the right side is a vector for each matrix."""
    return len(other) == 1 or (len(sizes) - 1 == len(other) and sizes[:-1] == other)


def solve_B(grad: Tensor, A: Tensor, sizes: List[int], left: bool) -> Tensor:
    if solve_is_vector(A.size(), sizes):
        return torch.linalg_solve(adjoint(A), grad.unsqueeze(-1)).squeeze(-1)
    return torch.linalg_solve(adjoint(A), grad, left=left)


def solve_A(grad: Tensor, A: Tensor, sizes: List[int], result: Tensor, left: bool) -> Tensor:
    back = solve_B(grad, A, sizes, left)
    if solve_is_vector(A.size(), sizes):
        return -back.unsqueeze(-1) * result.conj().unsqueeze(-2)
    if left:
        return -back.matmul(adjoint(result))
    return -adjoint(result).matmul(back)


def triangle(grad: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    by = 1 if unitriangular else 0
    return grad.triu(by) if upper else grad.tril(-by)


def triangular_B(grad: Tensor, A: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    return adjoint(A).linalg_solve_triangular(grad, upper=upper == False, left=left, unitriangular=unitriangular)


def triangular_A(grad: Tensor, A: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    back = triangular_B(grad, A, upper, left, unitriangular)
    if left:
        return triangle(-back.matmul(adjoint(result)), upper, unitriangular)
    return triangle(-adjoint(result).matmul(back), upper, unitriangular)


def triangular_solve(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Tuple[Tensor, Tensor]:
    if transpose:
        solution = A.transpose(-2, -1).linalg_solve_triangular(self, upper=upper == False, unitriangular=unitriangular)
    else:
        solution = A.linalg_solve_triangular(self, upper=upper, unitriangular=unitriangular)
    return solution, A.clone()


def cholesky_grad(grad: Tensor, result: Tensor, upper: bool) -> Tensor:
    if upper:
        grad, result = adjoint(grad), adjoint(result)
    product = adjoint(result).matmul(grad).tril()
    inner = product + adjoint(product.tril(-1))
    # From both sides with the inverse.
    back = adjoint(result)
    inner = back.linalg_solve_triangular(inner, upper=True)
    return 0.5 * result.linalg_solve_triangular(inner, upper=False, left=False)


def cholesky_factor_grad(product: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a factor of what `product` is the gradient of."""
    both = product + adjoint(product)
    return factor.matmul(both) if upper else both.matmul(factor)


def cholesky_solve_factor(grad: Tensor, factor: Tensor, upper: bool, result: Tensor) -> Tensor:
    back = grad.cholesky_solve(factor, upper)
    return cholesky_factor_grad(-back.matmul(adjoint(result)), factor, upper)


def cholesky_inverse_grad(grad: Tensor, self: Tensor, upper: bool, result: Tensor) -> Tensor:
    return cholesky_factor_grad(-result.matmul(grad).matmul(result), self, upper)


def gaps(values: Tensor) -> Tensor:
    """The differences between each two, one on the diagonal."""
    apart = values.unsqueeze(-2) - values.unsqueeze(-1)
    return apart + torch.eye(values.size(-1), dtype=values.dtype, device=values.device)


def over_gaps(product: Tensor, apart: Tensor) -> Tensor:
    """Where nothing is asked of vectors it does not matter that values are equal."""
    return (product / apart).masked_fill(product == 0, 0)


def with_diagonal(matrix: Tensor, diagonal: Tensor) -> Tensor:
    return matrix.diagonal_scatter(diagonal, 0, -2, -1)


def eigh_grad(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    back = adjoint(vectors)
    inner = over_gaps(0.5 * skew(back.matmul(grad_vectors)), gaps(values))
    return vectors.matmul(with_diagonal(inner, grad_values)).matmul(back)


def eig_grad(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    back = adjoint(vectors)
    product = back.matmul(grad_vectors)
    along = product.diagonal(0, -2, -1).real
    product = product - back.matmul(vectors) * along.unsqueeze(-2)
    inner = with_diagonal(over_gaps(product, gaps(values).conj()), grad_values)
    return torch.linalg_solve(back, inner.matmul(back))


def skew(matrix: Tensor) -> Tensor:
    return matrix - adjoint(matrix)


def svd_grad(grad_U: Tensor, grad_S: Tensor, grad_Vh: Tensor, full_U: Tensor, S: Tensor, full_Vh: Tensor) -> Tensor:
    k = S.size(-1)
    U, Vh = full_U.narrow(-1, 0, k), full_Vh.narrow(-2, 0, k)
    grad_U, grad_Vh = grad_U.narrow(-1, 0, k), grad_Vh.narrow(-2, 0, k)
    left = skew(adjoint(U).matmul(grad_U))
    right = skew(Vh.matmul(adjoint(grad_Vh)))
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    apart = gaps(S) * (row + column)
    inner = over_gaps(left * row + column * right, apart)
    diagonal = grad_S
    if U.is_complex():
        diagonal = grad_S + over_gaps(left.diagonal(0, -2, -1), 2 * S)
    result = U.matmul(with_diagonal(inner, diagonal)).matmul(Vh)
    if U.size(-2) > k:
        rest = grad_U / row
        result = result + (rest - U.matmul(adjoint(U).matmul(rest))).matmul(Vh)
    if Vh.size(-1) > k:
        rest = grad_Vh / column
        result = result + U.matmul(rest - rest.matmul(adjoint(Vh)).matmul(Vh))
    return result


def svd(self: Tensor, some: bool, compute_uv: bool) -> Tuple[Tensor, Tensor, Tensor]:
    if compute_uv:
        U, S, Vh = torch.linalg_svd(self, some == False)
        return U, S, adjoint(Vh)
    rows, columns = self.size(-2), self.size(-1)
    batch = self.size()[:-2]
    return self.new_zeros(batch + [rows, rows]), torch.linalg_svdvals(self), self.new_zeros(batch + [columns, columns])


def qr_square_grad(grad_Q: Tensor, grad_R: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    inner = R.matmul(adjoint(grad_R)) - adjoint(grad_Q).matmul(Q)
    lower = inner.tril(-1)
    diagonal = inner.diagonal(0, -2, -1)
    if Q.is_complex():
        diagonal = diagonal.real
    whole_inner = lower + adjoint(lower) + diagonal.diag_embed()
    return adjoint(R).linalg_solve_triangular(grad_Q + Q.matmul(whole_inner), upper=False, left=False)


def qr_grad(grad_Q: Tensor, grad_R: Tensor, A: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    rows, columns = A.size(-2), A.size(-1)
    if rows >= columns:
        assert Q.size(-1) == R.size(-1), "the derivative of aten::linalg_qr of a complete Q"
        return qr_square_grad(grad_Q, grad_R, Q, R)
    # The last columns are what they are by Q.
    grad_V = grad_R.narrow(-1, rows, columns - rows)
    Y = A.narrow(-1, rows, columns - rows)
    grad_X = qr_square_grad(
        grad_Q + Y.matmul(adjoint(grad_V)), grad_R.narrow(-1, 0, rows), Q, R.narrow(-1, 0, rows))
    return torch.cat([grad_X, Q.matmul(grad_V)], -1)


def pinv_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    back, turned = adjoint(result), adjoint(grad)
    first = turned.matmul(result).matmul(back)
    second = back.matmul(result).matmul(turned)
    return (first - self.matmul(result.matmul(first))) + (second - second.matmul(result).matmul(self)) - back.matmul(grad).matmul(back)


def matrix_power(self: Tensor, n: int) -> Tensor:
    if n == 0:
        return self * 0 + torch.eye(self.size(-1), dtype=self.dtype, device=self.device)
    base = self if n > 0 else torch.linalg_inv(self)
    result = base
    for _ in range(abs(n) - 1):
        result = result.matmul(base)
    return result if abs(n) > 1 or n < 0 else result.clone()


def matrix_exp_grad(grad: Tensor, self: Tensor) -> Tensor:
    # The exponential of a triangular block matrix has the derivative in its corner.
    n = self.size(-1)
    back = adjoint(self)
    above = torch.cat([back, grad], -1)
    below = torch.cat([torch.zeros_like(back), back], -1)
    return torch.cat([above, below], -2).linalg_matrix_exp().narrow(-2, 0, n).narrow(-1, n, n)


def matrix_norm(self: Tensor, order: float, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if dtype is not None:
        self = self.to(dtype)
    rows, columns = whole(dim[0], self.dim()), whole(dim[1], self.dim())
    size = abs(order)
    if size == 2:
        values = torch.linalg_svdvals(self.movedim([rows, columns], [-2, -1]))
        result = values.amax(-1) if order > 0 else values.amin(-1)
        if keepdim:
            for d in [min(rows, columns), max(rows, columns)]:
                result = result.unsqueeze(d)
        return result
    if size == 1:
        rows, columns = columns, rows
    # Sums along one, the extreme of them along the other.
    sums = self.abs().sum([columns], True)
    extremes = sums.amax([rows], True) if order > 0 else sums.amin([rows], True)
    return extremes if keepdim else extremes.squeeze([rows, columns])


def nuclear_norm(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    rows, columns = whole(dim[0], self.dim()), whole(dim[1], self.dim())
    result = torch.linalg_svdvals(self.movedim([rows, columns], [-2, -1])).sum([-1])
    if keepdim:
        for d in [min(rows, columns), max(rows, columns)]:
            result = result.unsqueeze(d)
    return result


def matrix_norm_named(self: Tensor, ord: str, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if dtype is not None:
        self = self.to(dtype)
    if ord == "nuc":
        return nuclear_norm(self, dim, keepdim)
    return self.linalg_vector_norm(2, dim, keepdim)


def linalg_norm(self: Tensor, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord is None:
        return self.linalg_vector_norm(2, dim, keepdim, dtype=dtype)
    order = float(ord)
    dims: List[int] = []
    if dim is not None:
        dims = dim
    elif self.dim() == 2:
        dims = [0, 1]
    if len(dims) == 2:
        return matrix_norm(self, order, dims, keepdim, dtype)
    return self.linalg_vector_norm(order, dim, keepdim, dtype=dtype)


def linalg_norm_named(self: Tensor, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    dims = [-2, -1]
    if dim is not None:
        dims = dim
    return matrix_norm_named(self, ord, dims, keepdim, dtype)


def cond(self: Tensor, p: Optional[number]) -> Tensor:
    order = 2.0
    if p is not None:
        order = float(p)
    if abs(order) == 2:
        values = torch.linalg_svdvals(self)
        largest, least = values.select(-1, 0), values.select(-1, -1)
        return largest / least if order > 0 else least / largest
    dims = [-2, -1]
    return matrix_norm(self, order, dims, False, None) * matrix_norm(torch.linalg_inv(self), order, dims, False, None)


def cond_named(self: Tensor, p: str) -> Tensor:
    dims = [-2, -1]
    return matrix_norm_named(self, p, dims, False, None) * matrix_norm_named(torch.linalg_inv(self), p, dims, False, None)


def tensorinv(self: Tensor, ind: int) -> Tensor:
    first, last = self.size()[:ind], self.size()[ind:]
    number = 1
    for size in last:
        number *= size
    return torch.linalg_inv(self.reshape([-1, number])).reshape(last + first)


def tensorsolve(self: Tensor, other: Tensor, dims: Optional[List[int]]) -> Tensor:
    if dims is not None:
        last = [at - len(dims) for at in range(len(dims))]
        self = self.movedim(dims, last)
    number = other.numel()
    solution = torch.linalg_solve(self.reshape([number, -1]), other.reshape([number]))
    return solution.reshape(self.size()[other.dim():])


def vander(x: Tensor, N: Optional[int]) -> Tensor:
    if x.dim() == 0:
        x = x.unsqueeze(0)
    number = x.size(-1)
    if N is not None:
        number = N
    powers = [torch.ones_like(x)]
    for _ in range(number - 1):
        powers.append(powers[-1] * x)
    return torch.stack(powers, -1)


# Statistics and integrals.

def cov(self: Tensor, correction: int, fweights: Optional[Tensor], aweights: Optional[Tensor]) -> Tensor:
    x = self.reshape([1, -1]) if self.dim() < 2 else self
    number = x.size(1)
    if fweights is None and aweights is None:
        centred = x - x.mean([1], True)
        result = centred.matmul(adjoint(centred)) / max(number - correction, 0)
        return result.squeeze()
    weights = torch.ones([number], device=x.device)
    if fweights is not None:
        weights = fweights
    if aweights is not None:
        weights = aweights if fweights is None else aweights * weights
    total = weights.sum()
    centred = x - ((x * weights).sum([1]) / total).unsqueeze(1)
    rest = total - correction
    if aweights is not None and correction != 0:
        rest = total - correction * (weights * aweights).sum() / total
    result = centred.matmul(adjoint(centred * weights)) / rest.clamp_min(0)
    return result.squeeze()


def corrcoef(self: Tensor) -> Tensor:
    if self.dim() < 2:
        result = cov(self, 1, None, None)
        return result / result
    result = cov(self, 1, None, None)
    if result.dim() == 0:
        return result / result
    deviation = result.diagonal()
    if deviation.is_complex():
        deviation = deviation.real
    deviation = deviation.sqrt()
    result = result / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if result.is_complex():
        return torch.complex(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)


def between(y: Tensor, dim: int) -> Tensor:
    """Sums of neighbours."""
    number = y.size(dim) - 1
    return y.narrow(dim, 0, number) + y.narrow(dim, 1, number)


def steps_of(y: Tensor, x: Tensor, dim: int) -> Tensor:
    if x.dim() == 1 and y.dim() > 1:
        sizes = [1 for _ in range(y.dim())]
        sizes[dim] = x.size(0)
        x = x.reshape(sizes)
    at = whole(dim, y.dim()) - y.dim()
    number = x.size(at) - 1
    return x.narrow(at, 1, number) - x.narrow(at, 0, number)


# Recurrent cells and layers.


def lstm_cell(input: Tensor, hidden: Tensor, cell: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    gates = torch.linear(input, w_ih, b_ih) + torch.linear(hidden, w_hh, b_hh)
    parts = gates.chunk(4, -1)
    cell = parts[1].sigmoid() * cell + parts[0].sigmoid() * parts[2].tanh()
    return parts[3].sigmoid() * cell.tanh(), cell


def gru_cell(input: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    x = torch.linear(input, w_ih, b_ih).chunk(3, -1)
    h = torch.linear(hidden, w_hh, b_hh).chunk(3, -1)
    reset, update = (x[0] + h[0]).sigmoid(), (x[1] + h[1]).sigmoid()
    new = (x[2] + reset * h[2]).tanh()
    return (hidden - new) * update + new


def rnn_cell(input: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor], relu: bool) -> Tensor:
    sums = torch.linear(input, w_ih, b_ih) + torch.linear(hidden, w_hh, b_hh)
    return sums.relu() if relu else sums.tanh()


def recurrent(input: Tensor, hx: Tensor, cx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, kind: str) -> Tuple[Tensor, Tensor, Tensor]:
    """Layers of cells over the steps of a sequence, `kind` of which they are."""
    batched = input.dim() == 3
    if batched and batch_first:
        input = input.transpose(0, 1)
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    finals: List[Tensor] = []
    cells: List[Tensor] = []
    steps = input.size(0)
    for layer in range(num_layers):
        outputs: List[Tensor] = []
        for direction in range(directions):
            at = layer * directions + direction
            w_ih, w_hh = params[at * each], params[at * each + 1]
            b_ih: Optional[Tensor] = None
            b_hh: Optional[Tensor] = None
            if has_biases:
                b_ih, b_hh = params[at * each + 2], params[at * each + 3]
            hidden, cell = hx.select(0, at), cx.select(0, at)
            results: List[Tensor] = []
            for step in range(steps):
                x = input.select(0, step if direction == 0 else steps - 1 - step)
                if kind == "lstm":
                    hidden, cell = lstm_cell(x, hidden, cell, w_ih, w_hh, b_ih, b_hh)
                elif kind == "gru":
                    hidden = gru_cell(x, hidden, w_ih, w_hh, b_ih, b_hh)
                else:
                    hidden = rnn_cell(x, hidden, w_ih, w_hh, b_ih, b_hh, kind == "relu")
                results.append(hidden)
            if direction == 1:
                results.reverse()
            outputs.append(torch.stack(results, 0))
            finals.append(hidden)
            cells.append(cell)
        input = torch.cat(outputs, -1) if directions == 2 else outputs[0]
        if train and dropout > 0 and layer < num_layers - 1:
            input = dropped(input, dropout, True, False)
    if batched and batch_first:
        input = input.transpose(0, 1)
    return input, torch.stack(finals, 0), torch.stack(cells, 0)


def recurrent_simple(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, kind: str) -> Tuple[Tensor, Tensor]:
    result, hidden, cell = recurrent(input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, kind)
    return result, hidden


# Bessel functions, whose orders are each other's derivatives.

def bessel_grad(grad: Tensor, lower: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Of the first order, `lower` of order zero; both of a kind that is zero at zero, or infinite."""
    zero = (self == 0).logical_and(result == 0)
    slope = lower - result / self.masked_fill(zero, 1)
    return grad * torch.where(zero, 0.5, slope)


# Factorisations into triangles.

def lu_square_grad(grad_L: Tensor, grad_U: Tensor, L: Tensor, U: Tensor) -> Tensor:
    inner = adjoint(L).matmul(grad_L).tril(-1) + grad_U.matmul(adjoint(U)).triu()
    inner = adjoint(U).linalg_solve_triangular(inner, upper=False, left=False)
    return adjoint(L).linalg_solve_triangular(inner, upper=True, unitriangular=True)


def lu_grad(grad_L: Tensor, grad_U: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    rows, columns = L.size(-2), U.size(-1)
    k = min(rows, columns)
    if columns > k:
        # The last columns are what they are by the others.
        U1, U2 = U.narrow(-1, 0, k), U.narrow(-1, k, columns - k)
        last = adjoint(L).linalg_solve_triangular(grad_U.narrow(-1, k, columns - k), upper=True, unitriangular=True)
        first = lu_square_grad(grad_L - last.matmul(adjoint(U2)), grad_U.narrow(-1, 0, k), L, U1)
        return P.matmul(torch.cat([first, last], -1))
    if rows > k:
        L1, L2 = L.narrow(-2, 0, k), L.narrow(-2, k, rows - k)
        last = adjoint(U).linalg_solve_triangular(grad_L.narrow(-2, k, rows - k), upper=False, left=False)
        first = lu_square_grad(grad_L.narrow(-2, 0, k), grad_U - adjoint(L2).matmul(last), L1, U)
        return P.matmul(torch.cat([first, last], -2))
    return P.matmul(lu_square_grad(grad_L, grad_U, L, U))


def lu_factor_grad(grad: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    P, L, U = torch.lu_unpack(LU, pivots, True, True)
    k = min(LU.size(-2), LU.size(-1))
    return lu_grad(grad.narrow(-1, 0, k).tril(-1), grad.narrow(-2, 0, k).triu(), P, L, U)


def lu_unpack(LU: Tensor, pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> Tuple[Tensor, Tensor, Tensor]:
    P, L, U = torch.lu_unpack(LU.detach(), pivots, unpack_data, unpack_pivots)
    if unpack_data:
        k = min(LU.size(-2), LU.size(-1))
        U = LU.narrow(-2, 0, k).triu()
        L = with_diagonal(LU.narrow(-1, 0, k).tril(), torch.ones_like(LU.narrow(-1, 0, k).diagonal(0, -2, -1)))
    return P, L, U


def linalg_lu(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor, Tensor]:
    LU, pivots = torch.linalg_lu_factor(A, pivot=pivot)
    return lu_unpack(LU, pivots, True, pivot)


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint_of: bool) -> Tensor:
    if left == False:
        return adjoint(lu_solve_left(LU, pivots, adjoint(B), adjoint_of == False))
    return lu_solve_left(LU, pivots, B, adjoint_of)


def lu_solve_left(LU: Tensor, pivots: Tensor, B: Tensor, adjoint_of: bool) -> Tensor:
    P, L, U = torch.lu_unpack(LU.detach(), pivots, True, True)
    if adjoint_of:
        half = adjoint(LU).linalg_solve_triangular(B, upper=False)
        return P.matmul(adjoint(LU).linalg_solve_triangular(half, upper=True, unitriangular=True))
    half = LU.linalg_solve_triangular(adjoint(P).matmul(B), upper=False, unitriangular=True)
    return LU.linalg_solve_triangular(half, upper=True)


# Quantiles.

def quantile(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str, skips: bool) -> Tensor:
    rank = self.dim()
    if dim is None:
        x = self.reshape([-1])
    else:
        x = self.movedim(dim, -1) if rank > 0 else self.reshape([1])
    x = x.sort(-1)[0]
    nans = x.isnan()
    if skips:
        last = (nans.logical_not().sum([-1], True) - 1).clamp_min(0)
        ranks = q.reshape([-1]) * last
    else:
        last = torch.full([], x.size(-1) - 1, dtype=dtype_int64(), device=x.device)
        # What has one that is not a number gives none: those are sorted last.
        ranks = (q.reshape([-1]) * last).masked_fill(nans.any(-1, True), float(x.size(-1) - 1))
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.detach().floor()
    sizes = x.size()[:-1] + [below.size(-1)]
    result = x.gather(-1, below.to(dtype_int64()).expand(sizes))
    if interpolation == "linear" or interpolation == "midpoint":
        above = x.gather(-1, ranks.detach().ceil().to(dtype_int64()).expand(sizes))
        weight = ranks - below
        if interpolation == "midpoint":
            weight = torch.full_like(below, 0.5)
        result = result.lerp(above, weight.to(x.dtype).expand(sizes))
    if keepdim:
        if dim is None:
            result = result.reshape([1 for _ in range(rank)] + [-1])
        elif rank > 0:
            result = result.unsqueeze(whole(dim, rank))
    result = result.movedim(-1, 0)
    return result if q.dim() > 0 else result.squeeze(0)


def quantile_of(self: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str, skips: bool) -> Tensor:
    return quantile(self, torch.full([], q, dtype=self.dtype, device=self.device), dim, keepdim, interpolation, skips)


# Rarer layers.

def renorm(self: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    norms = self.linalg_vector_norm(p, without(self.dim(), [whole(dim, self.dim())]), True)
    factor = torch.where(norms > maxnorm, (norms + 1e-7).reciprocal() * maxnorm, 1)
    return self * factor


def combinations(self: Tensor, r: int, with_replacement: bool) -> Tensor:
    index = torch.combinations(torch.arange(self.size(0), device=self.device), r, with_replacement)
    return self.index_select(0, index.reshape([-1])).reshape(index.size())


def bags(count: int, offsets: Tensor) -> Tensor:
    """Which bag each index is in."""
    at = torch.arange(count, device=offsets.device).unsqueeze(1)
    return (at >= offsets.unsqueeze(0)).sum([1]) - 1


def bag_offsets(offsets: Tensor, include_last_offset: bool) -> Tensor:
    return offsets.narrow(0, 0, offsets.size(0) - 1) if include_last_offset else offsets


def embedding_bag_weight(grad: Tensor, sizes: List[int], indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, per_sample_weights: Optional[Tensor], with_last: bool, padding_idx: Optional[int], chosen_index: Tensor) -> Tensor:
    zeros = grad.new_zeros(sizes)
    if mode == 2:
        taken = (chosen_index < 0).logical_not()
        return zeros.scatter_add(0, chosen_index.clamp_min(0), grad * taken)
    padding = -1
    if padding_idx is not None:
        padding = padding_idx if padding_idx >= 0 else padding_idx + sizes[0]
    bag = bags(indices.size(0), bag_offsets(offsets, with_last))
    used = (indices == padding).logical_not().to(grad.dtype)
    rows = grad.index_select(0, bag)
    if mode == 1:
        number = grad.new_zeros([grad.size(0)]).index_add(0, bag, used).clamp_min(1)
        rows = rows / number.index_select(0, bag).unsqueeze(1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if scale_grad_by_freq:
        times = grad.new_zeros([sizes[0]]).index_add(0, indices, torch.ones_like(used))
        rows = rows / times.index_select(0, indices).unsqueeze(1)
    return zeros.index_add(0, indices, rows * used.unsqueeze(1))


def embedding_bag_samples(grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, with_last: bool, padding_idx: Optional[int]) -> Tensor:
    bag = bags(indices.size(0), bag_offsets(offsets, with_last))
    products = (grad.index_select(0, bag) * weight.index_select(0, indices)).sum([1])
    if padding_idx is not None:
        padding = padding_idx if padding_idx >= 0 else padding_idx + weight.size(0)
        products = products.masked_fill(indices == padding, 0)
    return products


def native_batch_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    result = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    kept = input.detach()
    if training:
        dims = without(input.dim(), [1])
        return result, kept.mean(dims), (kept.var(dims, False) + eps).rsqrt()
    return result, kept.new_zeros([0]), kept.new_zeros([0])


# Samples of images at places.

def affine_grid_theta(grad: Tensor, align_corners: bool) -> Tensor:
    rank = grad.size(-1)
    sizes = grad.size()[1:-1]
    identity = torch.eye(rank, rank + 1, dtype=grad.dtype, device=grad.device).unsqueeze(0)
    base = torch.affine_grid_generator(identity, [1, 1] + sizes, align_corners).reshape([-1, rank])
    base = torch.cat([base, torch.ones_like(base.narrow(1, 0, 1))], 1)
    return grad.reshape([grad.size(0), -1, rank]).transpose(1, 2).matmul(base)



def reflected(at: Tensor, size: int, align_corners: bool) -> Tensor:
    first = 0.0 if align_corners else -0.5
    span = float(size - 1) if align_corners else float(size)
    if span == 0:
        return torch.zeros_like(at)
    away = (at - first).abs()
    turns = (away / span).floor().detach()
    rest = away - turns * span
    return torch.where(turns.remainder(2) == 0, rest + first, span - rest + first)


def padded_place(at: Tensor, size: int, padding_mode: int, align_corners: bool) -> Tensor:
    if padding_mode == 2:
        at = reflected(at, size, align_corners)
    if padding_mode > 0:
        at = at.clamp(0, size - 1)
    return at


def sampled(flat: Tensor, places: List[Tensor], sizes: List[int]) -> Tensor:
    """The elements at whole places, zero outside; `flat` has the dimensions in space as one."""
    index = torch.zeros_like(places[0], dtype=dtype_int64())
    inside = torch.ones_like(places[0], dtype=dtype_bool())
    for d, at in enumerate(places):
        inside = inside.logical_and((at >= 0).logical_and(at < sizes[d]))
        index = index * sizes[d] + at.clamp(0, sizes[d] - 1).to(dtype_int64())
    batch, channels = flat.size(0), flat.size(1)
    number = index.numel() // max(batch, 1)
    taken = flat.gather(2, index.reshape([batch, 1, number]).expand([batch, channels, number]))
    out = [batch, channels] + index.size()[1:]
    return taken.reshape(out).masked_fill(inside.logical_not().unsqueeze(1), 0)


def cubic_weights(t: Tensor) -> List[Tensor]:
    a = -0.75
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    s = 1 - t
    near_end = ((a + 2) * s - (a + 3)) * s * s + 1
    far, far_end = t + 1, s + 1
    before = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    after = ((a * far_end - 5 * a) * far_end + 8 * a) * far_end - 4 * a
    return [before, near, near_end, after]


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    rank = input.dim() - 2
    sizes = input.size()[2:]
    flat = input.flatten(2)
    places: List[Tensor] = []
    for d in range(rank):
        at = grid.select(-1, rank - 1 - d)
        if align_corners:
            at = (at + 1) / 2 * (sizes[d] - 1)
        else:
            at = ((at + 1) * sizes[d] - 1) / 2
        places.append(at)
    if interpolation_mode == 2:
        weights: List[List[Tensor]] = []
        for at in places:
            weights.append(cubic_weights(at - at.detach().floor()))
        result = torch.zeros([], dtype=input.dtype, device=input.device)
        for tap in range(16 if rank == 2 else 64):
            taps: List[Tensor] = []
            weight = torch.ones([], dtype=input.dtype, device=input.device)
            rest = tap
            for d in range(rank):
                at = places[d].detach().floor() + (rest % 4 - 1)
                taps.append(padded_place(at, sizes[d], padding_mode, align_corners))
                weight = weight * weights[d][rest % 4]
                rest = rest // 4
            result = result + sampled(flat, taps, sizes) * weight.unsqueeze(1)
        return result
    kept: List[Tensor] = []
    for d in range(rank):
        kept.append(padded_place(places[d], sizes[d], padding_mode, align_corners))
    if interpolation_mode == 1:
        # The places have a derivative, which is zero.
        nothing = grid.select(-1, 0).sign().nan_to_num() * 0
        return sampled(flat, [at.round() for at in kept], sizes) + nothing.unsqueeze(1)
    result = torch.zeros([], dtype=input.dtype, device=input.device)
    first = [at.detach().floor() for at in kept]
    for corner in range(4 if rank == 2 else 8):
        corners: List[Tensor] = []
        weight = torch.ones([], dtype=input.dtype, device=input.device)
        rest = corner
        for d in range(rank):
            part = kept[d] - first[d]
            if rest % 2 == 1:
                corners.append(first[d] + 1)
                weight = weight * part
            else:
                corners.append(first[d])
                weight = weight * (1 - part)
            rest = rest // 2
        result = result + sampled(flat, corners, sizes) * weight.unsqueeze(1)
    return result
