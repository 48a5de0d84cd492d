# Losses and distances.

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


def nll_loss_grad(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, total_weight: Tensor) -> Tensor:
    classes = 0 if self.dim() == 1 else 1
    ignored = target == ignore_index
    index = target.masked_fill(ignored, 0)
    slope = -grad
    if reduction == 1:
        slope = slope / total_weight
    if weight is not None:
        slope = slope * weight.index_select(0, index.reshape([-1])).reshape(index.size())
    slope = slope.expand(index.size()).masked_fill(ignored, 0)
    return torch.zeros_like(self).scatter(classes, index.unsqueeze(classes), slope.unsqueeze(classes))


def smooth_l1_grad(grad: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    far = self - target
    slope = far.sign() if beta == 0 else (far / beta).clamp(-1, 1)
    return per_element(grad, self, reduction) * slope


def rows_of(self: Tensor) -> Tensor:
    """One row for each sample."""
    return self.reshape([-1, self.size(-1) if self.dim() > 0 else 1])


def multi_margin_grad(grad: Tensor, self: Tensor, target: Tensor, p: number, margin: number, weight: Optional[Tensor], reduction: int) -> Tensor:
    rows = rows_of(self)
    index = target.reshape([-1, 1])
    far = (rows - rows.gather(1, index) + margin).clamp_min(0).scatter(1, index, 0)
    slope = (far > 0).to(self.dtype) if p == 1 else 2 * far
    if weight is not None:
        slope = slope * weight.index_select(0, index.reshape([-1])).unsqueeze(1)
    slope = slope.scatter(1, index, -slope.sum([1], True)) / rows.size(1)
    slope = slope * (grad / rows.size(0) if reduction == 1 else grad).reshape([-1, 1])
    return slope.reshape(self.size())


def multilabel_margin_grad(grad: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor) -> Tensor:
    rows = rows_of(self)
    # Targets end with the first that is none.
    index = target.reshape(rows.size())
    valid = (index >= 0).to(self.dtype).cumprod(1)
    index = index.clamp_min(0)
    others = 1 - is_target.reshape(rows.size()).to(self.dtype)
    near = (1 - rows.gather(1, index).unsqueeze(2) + rows.unsqueeze(1) > 0).to(self.dtype)
    pairs = near * valid.unsqueeze(2) * others.unsqueeze(1)
    slope = pairs.sum([1]).scatter_add(1, index, -pairs.sum([2])) / rows.size(1)
    slope = slope * (grad / rows.size(0) if reduction == 1 else grad).reshape([-1, 1])
    return slope.reshape(self.size())


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
    # The bound is not part of the derivative.
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
