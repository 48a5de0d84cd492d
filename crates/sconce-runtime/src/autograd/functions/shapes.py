# Views and copies in another shape.


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
