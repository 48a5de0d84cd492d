# Elements picked and put by place.


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


def dense(grad: Tensor, sparse: bool) -> Tensor:
    assert not sparse, "sparse gradients are not supported"
    return grad


def embedding_grad(grad: Tensor, sizes: List[int], indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    index = indices.reshape([-1])
    rows = grad.reshape([index.numel(), sizes[1]])
    if scale_grad_by_freq:
        times = rows.new_zeros([sizes[0]]).index_add(0, index, torch.ones_like(index, dtype=rows.dtype))
        rows = rows / times.index_select(0, index).unsqueeze(1)
    if padding_idx >= 0:
        rows = rows.masked_fill((index == padding_idx).unsqueeze(1), 0)
    return rows.new_zeros(sizes).index_add(0, index, rows)
