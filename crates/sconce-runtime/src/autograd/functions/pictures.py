# Convolutions, pooling, padding and resampling.

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
    return cropped(result, zeros, sizes[2:]).transpose(0, 1).contiguous()


def conv_bias(grad: Tensor, rank: int) -> Tensor:
    """`rank` is the weight's."""
    return grad.sum(without(grad.dim(), [grad.dim() - rank + 1]))


def conv_back(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, groups: int, mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    return (
        conv_input(grad, input.size(), weight, stride, padding, dilation, transposed, groups) if mask[0] else None,
        conv_weight(grad, input, weight.size(), stride, padding, dilation, transposed, groups) if mask[1] else None,
        conv_bias(grad, weight.dim()) if mask[2] else None,
    )


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


def padded_grad(grad: Tensor, sizes: List[int], pad: List[int], mode: str) -> Tensor:
    for at in range(len(pad) // 2):
        d = len(sizes) - 1 - at
        index = pad_index(sizes[d], pad[2 * at], pad[2 * at + 1], mode, grad.device)
        of_dim = grad.size()
        of_dim[d] = sizes[d]
        grad = grad.new_zeros(of_dim).index_add(d, index, grad)
    return grad


def padded_by(self: Tensor, pad: List[int], mode: str, value: Optional[float]) -> Tensor:
    if mode == "constant":
        filling = 0.0
        if value is not None:
            filling = value
        return self.constant_pad_nd(pad, filling)
    return padded(self, pad, mode)


# Samples of images at places.


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


def grid_sampler_back(grad: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    image = input if input.requires_grad else input.detach().requires_grad_()
    places = grid if grid.requires_grad else grid.detach().requires_grad_()
    enabled = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    result = grid_sampler(image, places, interpolation_mode, padding_mode, align_corners)
    weights: List[Optional[Tensor]] = [grad]
    grads = torch.grad([result], [image, places], weights, None, True, True)
    torch.set_grad_enabled(enabled)
    of_grid = grads[1] if mask[1] else None
    if of_grid is None and mask[1]:
        of_grid = torch.zeros_like(grid)
    return grads[0] if mask[0] else None, of_grid


def affine_grid_theta(grad: Tensor, align_corners: bool) -> Tensor:
    rank = grad.size(-1)
    sizes = grad.size()[1:-1]
    identity = torch.eye(rank, rank + 1, dtype=grad.dtype, device=grad.device).unsqueeze(0)
    base = torch.affine_grid_generator(identity, [1, 1] + sizes, align_corners).reshape([-1, rank])
    base = torch.cat([base, torch.ones_like(base.narrow(1, 0, 1))], 1)
    return grad.reshape([grad.size(0), -1, rank]).transpose(1, 2).matmul(base)
