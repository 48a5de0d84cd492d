# Activations, normalisations and rarer layers.

# Activations.


def softplus_grad(grad: Tensor, self: Tensor, beta: number, threshold: number) -> Tensor:
    scaled_self = self * beta
    return torch.where(scaled_self > threshold, grad, grad * scaled_self.sigmoid())


def elu_grad(grad: Tensor, self: Tensor, alpha: number, scale: number, input_scale: number) -> Tensor:
    # Where it turns, the second derivative is that of the straight side.
    below = grad * (self.clamp_max(0) * input_scale).exp() * (float(alpha) * float(scale) * float(input_scale))
    return torch.where(self <= 0, below, grad * scale)


def elu_back(grad: Tensor, self: Tensor, alpha: number, scale: number, input_scale: number, is_result: bool) -> Tensor:
    """`self` is the result or what it was computed of."""
    if not is_result:
        return elu_grad(grad, self, alpha, scale, input_scale)
    below = grad * input_scale * (self.clamp_max(0) + float(alpha) * float(scale))
    return torch.where(self <= 0, below, grad * scale)


def rrelu_grad(grad: Tensor, self: Tensor, noise: Tensor, lower: number, upper: number, training: bool) -> Tensor:
    if training and float(upper) - float(lower) > 1e-6:
        return grad * noise
    return torch.where(self > 0, grad, grad * ((float(lower) + float(upper)) / 2))


def log_sigmoid_grad(grad: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """`buffer` is what the forward pass has saved, if anything."""
    small = (-self.abs()).exp()
    if buffer.numel() > 0:
        small = buffer + (small - small.detach())
    slope = small / (1 + small)
    return grad * torch.where(self < 0, 1 - slope, slope)


def mish_grad(grad: Tensor, self: Tensor) -> Tensor:
    rise = self.softplus().tanh()
    return grad * (rise + self * self.sigmoid() * (1 - rise * rise))


def glu_grad(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    first, second = self.chunk(2, dim)
    gate = second.sigmoid()
    return torch.cat([grad * gate, grad * first * gate * (1 - gate)], dim)


def gelu_grad(grad: Tensor, self: Tensor, approximate: str) -> Tensor:
    if approximate == "tanh":
        factor = torch.sqrt(2 / pi())
        squares = self * self
        inner = (self * factor * (1 + 0.044715 * squares)).tanh()
        slope = factor * (1 + 3 * 0.044715 * squares)
        return grad * (0.5 * (1 + inner) + 0.5 * self * (1 - inner * inner) * slope)
    if approximate != "none":
        # There is no other, as the operator says.
        return self.gelu(approximate=approximate)
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


def times(grad: Tensor, weight: Optional[Tensor]) -> Tensor:
    return grad if weight is None else grad * weight


def norm_input(grad: Tensor, normal: Tensor, scale: Tensor, dims: List[int]) -> Tensor:
    """Through what is of mean zero and variance one along these dimensions."""
    return scale * (grad - grad.mean(dims, True) - normal * (grad * normal).mean(dims, True))


def layer_norm_input(grad: Tensor, input: Tensor, rank: int, weight: Optional[Tensor], eps: float) -> Tensor:
    normal, scale, dims = layer_norm_parts(input, rank, eps)
    return norm_input(times(grad, weight), normal, scale, dims)


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


def rms_scale(input: Tensor, rank: int, eps: Optional[float]) -> Tensor:
    least = 1.1920928955078125e-07
    if eps is not None:
        least = eps
    elif input.dtype == dtype_float64():
        least = 2.220446049250313e-16
    return (input.square().mean([-1 - at for at in range(rank)], True) + least).rsqrt()


def rms_norm(input: Tensor, rank: int, weight: Optional[Tensor], eps: Optional[float]) -> Tensor:
    result = input * rms_scale(input, rank, eps)
    if weight is not None:
        result = result * weight
    return result


# The same by what the forward pass has saved, those results alone that the mask asks for.


def of_input(input: Tensor, mean: Tensor, scale: Tensor, dims: List[int]) -> Tuple[Tensor, Tensor]:
    """The same mean and factor, of which derivatives know that they are the input's."""
    found = input.mean(dims, True)
    mean = mean + (found - found.detach())
    return mean, scale_of_input((input - mean).square().mean(dims, True), scale)


def scale_of_input(squares: Tensor, scale: Tensor) -> Tensor:
    return scale - 0.5 * scale.pow(3) * (squares - squares.detach())


def over_rows(grad: Tensor, rank: int) -> Tensor:
    """The sum over all but the last dimensions."""
    outer = list(range(grad.dim() - rank))
    return grad if len(outer) == 0 else grad.sum(outer)


def layer_norm_back(grad: Tensor, input: Tensor, rank: int, mean: Tensor, scale: Tensor, weight: Optional[Tensor], mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    dims = [-1 - at for at in range(rank)]
    mean, scale = of_input(input, mean, scale, dims)
    normal = (input - mean) * scale
    return (
        norm_input(times(grad, weight), normal, scale, dims) if mask[0] else None,
        over_rows(grad * normal, rank) if mask[1] else None,
        over_rows(grad, rank) if mask[2] else None,
    )


def group_norm_back(grad: Tensor, input: Tensor, mean: Tensor, scale: Tensor, weight: Optional[Tensor], sizes: List[int], group: int, mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    groups = input.reshape([sizes[0], group, sizes[1] // group, sizes[2]])
    slope = grad.reshape(groups.size())
    of_each = [sizes[0], group, 1, 1]
    mean, scale = of_input(groups, mean.reshape(of_each), scale.reshape(of_each), [2, 3])
    normal = (groups - mean) * scale
    weights = None if weight is None else weight.reshape([1, group, -1, 1])
    return (
        norm_input(times(slope, weights), normal, scale, [2, 3]).reshape(input.size()) if mask[0] else None,
        (slope * normal).sum([0, 3]).reshape([sizes[1]]) if mask[1] else None,
        slope.sum([0, 3]).reshape([sizes[1]]) if mask[2] else None,
    )


def batch_norm_back(grad: Tensor, input: Tensor, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], mean: Optional[Tensor], scale: Optional[Tensor], train: bool, eps: float, mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    if not train and running_mean is not None and running_var is not None:
        mean, scale = running_mean, (running_var + eps).rsqrt()
    assert mean is not None and scale is not None
    rank = input.dim()
    dims = without(rank, [1])
    middle, factor = by_channel(mean, rank), by_channel(scale, rank)
    if train:
        middle, factor = of_input(input, middle, factor, dims)
    normal = (input - middle) * factor
    slope = times(grad, None if weight is None else by_channel(weight, rank))
    return (
        (norm_input(slope, normal, factor, dims) if train else slope * factor) if mask[0] else None,
        (grad * normal).sum(dims) if mask[1] else None,
        grad.sum(dims) if mask[2] else None,
    )


def rms_norm_back(grad: Tensor, input: Tensor, rank: int, scale: Tensor, weight: Optional[Tensor], mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    dims = [-1 - at for at in range(rank)]
    scale = scale_of_input(input.square().mean(dims, True), scale)
    normal = input * scale
    slope = times(grad, weight)
    return (
        scale * (slope - normal * (slope * normal).mean(dims, True)) if mask[0] else None,
        over_rows(grad * normal, rank) if mask[1] else None,
    )


def weight_norm_back(grad: Tensor, v: Tensor, g: Tensor, norms: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    along = (grad * v).sum(without(v.dim(), [whole(dim, v.dim())]), True)
    return g / norms * (grad - v * (along / (norms * norms))), along / norms


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


def batch_norm_with_update(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    result, mean, scale = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return result, mean, scale, torch.empty([0], dtype=dtype_uint8(), device=input.device)


def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    if dim == -1:
        return v.linalg_vector_norm(pow)
    return v.linalg_vector_norm(pow, without(v.dim(), [dim]), True)
