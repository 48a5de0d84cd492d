# Sums, extremes, statistics and quantiles.

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
