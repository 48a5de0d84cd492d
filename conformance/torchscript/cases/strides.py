"""How results lie in memory: the strides of what operators give, for operands whose dimensions are in
another order, channels last, repeated or with gaps."""
import random
from typing import List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from registry import Case, case, register, t


def tensors(count, seed, rank=0):
    """Tensors whose sizes broadcast, laid out at random."""
    dice = random.Random(seed)
    rank = rank or dice.choice([1, 2, 3, 3, 4, 4, 4, 5])
    sizes = [dice.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
    return tuple(tensor(dice, sizes) for _ in range(count))


def tensor(dice, sizes):
    own = [1 if dice.random() < 0.15 else size for size in sizes]
    if dice.random() < 0.2:
        own = own[dice.randint(0, len(own)):]
    rank = len(own)
    order = list(range(rank))
    if rank == 4 and dice.random() < 0.25:
        order = [0, 2, 3, 1]
    elif dice.random() < 0.7:
        dice.shuffle(order)
    held = [own[dim] + dice.choice([0, 0, 0, 1]) for dim in order]
    count = 1
    for size in held:
        count *= size
    whole = (torch.arange(count, dtype=torch.float32) % 7 - 2.5).reshape(held)
    view = whole.permute([order.index(dim) for dim in range(rank)])
    for dim, size in enumerate(own):
        view = view.narrow(dim, view.size(dim) - size, size)
    if dice.random() < 0.25:
        view = view.expand([sizes[dim - rank] if size == 1 and dice.random() < 0.6 else size for dim, size in enumerate(own)])
    return view


# Programs of one, two and three tensors; each line gives results whose strides are told.
ONE = {
    "arithmetic": ["x + 2", "2 - x", "x * 0.5", "x / 3", "1 / x", "x // 2", "x % 2", "x ** 2", "x ** 0.5", "2 ** x", "-x", "torch.add(x, 1, alpha=2)", "torch.rsub(x, 1)"],
    "functions": ["x.exp()", "x.sin()", "x.abs()", "x.sqrt()", "x.sigmoid()", "x.floor()", "x.sign()", "torch.erf(x)", "torch.lgamma(x)", "torch.nan_to_num(x)", "torch.deg2rad(x)", "torch.square(x)", "torch.frexp(x)[0]", "torch.logit(x)", "torch.special.entr(x)"],
    "activations": ["torch.relu(x)", "F.relu6(x)", "F.gelu(x)", "F.silu(x)", "F.hardtanh(x)", "F.leaky_relu(x)", "F.elu(x)", "F.softplus(x)", "F.hardswish(x)", "F.logsigmoid(x)", "F.threshold(x, 0.1, 2.0)", "F.celu(x)", "F.mish(x)", "torch.rrelu(x)"],
    "comparisons": ["x > 0", "x == 1", "torch.isnan(x)", "torch.logical_not(x)", "torch.isposinf(x)", "torch.signbit(x)", "torch.isclose(x, x)", "torch.isin(x, 1.0)"],
    "casts": ["x.to(torch.float64)", "x.int()", "x.half()", "x.to(torch.complex64)", "x.int() + x", "x.double() * x", "x.int() / x.int()", "torch.float_power(x, 2)"],
    "copies": ["x.clone()", "torch.empty_like(x).zero_()", "torch.zeros_like(x)", "torch.full_like(x, 2.0)", "torch.rand_like(x)", "x.contiguous()", "x.clone(memory_format=torch.contiguous_format)", "x.new_zeros(x.shape)", "torch.fill(x, 1.0)"],
    "choices": ["x.clamp(0, 1)", "x.clamp(min=0.5)", "torch.where(x > 0, x, 0.0)", "torch.where(x > 0, 1.0, x)", "x.masked_fill(x > 0, 2.0)", "torch.clamp_max(x, 1)"],
    "moves": ["x.flip([0])", "x.sort(0)[0]", "x.sort(-1)[1]", "torch.argsort(x, 0)", "x.cumsum(0)", "x.softmax(0)", "torch.cat([x, x], 0)", "x.repeat([2] + [1] * (x.dim() - 1))", "x.index_select(0, torch.tensor([0]))"],
    "reductions": ["x.sum(0)", "x.mean(-1)", "x.amax(0, keepdim=True)", "x.argmax(0)", "x.norm(2.0, [0])", "x.var(0)", "x.max(0)[0]", "x.any(0)", "x.logsumexp(0)", "x.prod(0)"],
    "chains": ["((x + 1) * 2).relu()", "torch.sigmoid(x * 3) - x", "(x.exp() + x).clamp(0, 4).tanh()", "torch.where(x > 0, x * 2, -x)", "(x * x + 1.5).sqrt() / 2", "F.hardtanh(x + 1)", "F.elu(x * 2) + F.softplus(x)", "torch.lerp(x * 2, x + 1, 0.3)", "torch.addcmul(x, x + 1, x * 2, value=0.5)", "torch.addcdiv(x * 2, x, x + 3)"],
    "in_place": ["x.clone().add_(1)", "x.clone().relu_()", "x.clone().mul_(x)", "x.clone().clamp_(0, 1)", "x.clone().zero_()"],
}
TWO = {
    "arithmetic": ["x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** y", "torch.add(x, y, alpha=2)", "torch.rsub(x, y)", "torch.atan2(x, y)", "torch.fmod(x, y)"],
    "comparisons": ["x < y", "x == y", "torch.maximum(x, y)", "torch.fmin(x, y)", "torch.logical_and(x, y)", "torch.isclose(x, y)", "torch.max(x, y)"],
    "functions": ["torch.hypot(x, y)", "torch.xlogy(x, y)", "torch.copysign(x, y)", "torch.logaddexp(x, y)", "torch.nextafter(x, y)", "torch.heaviside(x, y)", "torch.complex(x, y)", "torch.polar(x, y)", "torch.igamma(x, y)"],
    "choices": ["torch.where(x > 0, x, y)", "torch.clamp(x, min=y)", "x.masked_fill(y > 0, 1.0)", "torch.lerp(x, y, 0.25)", "torch.where(y > 0, x, 1.0)"],
    "dtypes": ["x.int() + y", "x * y.double()", "x.int() / y.int()", "x.int() & y.int()", "x.half() - y", "torch.where(x > 0, x.int(), y)"],
    "chains": ["(x + y).relu() * 2", "torch.sigmoid(x) * y + x", "((x - y) * (x + y)).tanh()", "torch.where(x > y, x * 2, y / 3)", "(x * 2).clamp(-1, 1) - y.exp()", "torch.lerp(x * 2, y + 1, 0.3) * x"],
}
THREE = {
    "functions": ["torch.addcmul(x, y, z)", "torch.addcdiv(x, y, z, value=2)", "torch.lerp(x, y, z)", "torch.where(x > 0, y, z)", "torch.clamp(x, y, z)"],
    "chains": ["(x * y + z).relu()", "torch.where(x > 0, y * 2, z - 1)", "((x + y) * (y + z)).exp() - x", "torch.addcmul(x * 2, y + 1, z.neg(), value=0.25)"],
}


CONVOLUTIONS = {
    "conv": ["F.conv2d(x, w)", "F.conv2d(x, w, padding=1)", "F.conv_transpose2d(x, w.transpose(0, 1))", "F.conv2d(x, torch.ones(x.size(1), 1, 2, 2), groups=x.size(1))"],
    "pool": ["F.max_pool2d(x, 2)", "F.avg_pool2d(x, 2)", "F.adaptive_avg_pool2d(x, 2)", "F.adaptive_avg_pool2d(x, 1)", "F.adaptive_max_pool2d(x, 2)"],
    "norm": ["F.batch_norm(x, torch.zeros(x.size(1)), torch.ones(x.size(1)))", "F.group_norm(x, 1)", "F.layer_norm(x, [x.size(3)])"],
    "resize": ["F.interpolate(x, scale_factor=2.0)", "F.interpolate(x, scale_factor=2.0, mode='bilinear')", "F.pad(x, [1, 1, 0, 1])", "F.pad(x, [1, 0, 1, 0], mode='reflect')", "torch.cat([x, x], 1)", "torch.channel_shuffle(x, 1)"],
    "block": ["F.relu(F.conv2d(x, w, padding=1)) + 1", "F.max_pool2d(F.relu(x + 1), 2) * 2", "torch.cat([F.relu(x), x * 2], 1)", "F.dropout(x, 0.5, False)"],
}


def pictures():
    """Pictures with their channels first, last, last with gaps, and with dimensions in other orders."""
    whole = t(2, 3, 5, 6) / 9 - 4
    yield whole
    yield whole.contiguous(memory_format=torch.channels_last)
    yield (t(2, 5, 6, 5) / 9 - 4).permute(0, 3, 1, 2)[:, :3]
    yield whole.transpose(2, 3)
    yield whole[:, :, ::2, 1:]
    yield whole[:, :1].contiguous(memory_format=torch.channels_last).expand(2, 3, 5, 6)


def program(parameters, lines):
    """A scripted function that gives results, and how they lie in memory."""
    strides = ", ".join(f"r{place}.stride()" for place in range(len(lines)))
    results = ", ".join(f"r{place}" for place in range(len(lines)))
    body = "".join(f"  r{place} = {line}\n" for place, line in enumerate(lines))
    source = f"def f({', '.join(parameters)}):\n{body}  return [{strides}], [{results}]\n"
    return torch.jit.CompilationUnit(source).f


def add(name, parameters, lines, calls):
    register(name, Case(lambda: program(parameters, lines), calls, ready=True))


for parameters, programs in (("x", ONE), ("xy", TWO), ("xyz", THREE)):
    for name, lines in programs.items():
        calls = tuple(tensors(len(parameters), f"{name} {seed}") for seed in range(40))
        add(f"strides_{len(parameters)}_{name}", parameters, lines, calls)

weight = (t(2, 3, 2, 2) - 5) / 8
for name, lines in CONVOLUTIONS.items():
    formats = (weight, weight.contiguous(memory_format=torch.channels_last))
    calls = tuple((picture, kernel) for picture in pictures() for kernel in formats)
    add(f"strides_pictures_{name}", "xw", lines, calls)


@case(*((picture,) for picture in pictures()))
def strides_what_they_allow(x: Tensor) -> Tuple[List[bool], Tensor]:
    y = (x + 1) * 2
    return [y.is_contiguous(), y.is_contiguous(memory_format=torch.channels_last)], torch.as_strided(y, [7], [2], 1)


@case(*((picture,) for picture in pictures()))
def strides_views_of_results(x: Tensor) -> Tensor:
    return torch.relu(x * 2).view(x.size(0), -1)


@case(*((picture,) for picture in list(pictures())[:5]))
def strides_of_what_is_given_back(x: Tensor) -> Tuple[Tensor, Tensor]:
    """What needs no conversion is the tensor itself, gaps and all."""
    y = x[:, :, 1:].type_as(x).conj()
    y.add_(1)
    return x.clone(), y.clone()


EQUATIONS = """ij,jk->ik ij,jk->ki xij,xjk->xki xij,xjk->kxi xij,xjk->kix xyij,xyjk->yxki xyij,xyjk->yxik xij,jk->xki
    ij,xjk->xik ij,jk,kl->li xij,xjk,xkl->xli ij,jk,il->lk i,j->ji ij,ij->ji xij,xi->jx xij->jix xij->jx"""
LENGTHS = dict(x=2, y=3, i=4, j=5, k=6, l=7)


def operand(labels, is_turned):
    sizes = [LENGTHS[label] for label in labels]
    if is_turned and len(sizes) > 1:
        return (t(*sizes[::-1]) % 3).permute(list(range(len(sizes)))[::-1])
    return t(*sizes) % 3


@case(*((equation, [operand(labels, turned) for labels in equation.split("->")[0].split(",")])
        for equation in EQUATIONS.split() for turned in (False, True)))
def strides_contracted(equation: str, operands: List[Tensor]) -> Tuple[Tensor, List[int]]:
    result = torch.einsum(equation, operands)
    return result, result.stride()


def heads(batch, length, count, width):
    return (t(batch, length, count, width) % 5 - 2).transpose(1, 2)


ATTENDED = (
    (heads(2, 5, 3, 8), heads(2, 7, 3, 8), heads(2, 7, 3, 8)),
    tuple((t(2, 5, 3, 3, 8) % 7 - 3).permute(2, 0, 3, 1, 4).unbind(0)),
    (heads(2, 5, 3, 8), heads(2, 7, 3, 8), heads(2, 7, 3, 4)),
    (heads(2, 5, 3, 8).contiguous(), heads(2, 7, 3, 8), heads(2, 7, 3, 8)),
    (heads(2, 5, 3, 8), heads(1, 7, 3, 8), heads(1, 7, 3, 8)),
    (heads(2, 5, 3, 8), heads(2, 7, 1, 8), heads(2, 7, 1, 8)),
    (heads(1, 5, 3, 8)[0], heads(1, 7, 3, 8)[0], heads(1, 7, 3, 8)[0]),
    (heads(2, 1, 3, 8), heads(2, 7, 3, 8), heads(2, 7, 3, 8)),
    (heads(2, 5, 3, 8).double(), heads(2, 7, 3, 8).double(), heads(2, 7, 3, 8).double()),
    (heads(2, 5, 3, 8), heads(2, 7, 3, 8).transpose(2, 3).contiguous().transpose(2, 3), heads(2, 7, 3, 8)),
)


@case(*ATTENDED)
def strides_attended(q: Tensor, k: Tensor, v: Tensor) -> Tuple[Tensor, Tensor]:
    plain = F.scaled_dot_product_attention(q, k, v)
    mask = torch.ones([5, 7], dtype=torch.bool)[:q.size(-2)].tril()
    return plain, F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


WAVES = tuple((wave,) for wave in (t(3, 4, 6), t(4, 3, 6).transpose(0, 1), t(3, 6, 4).transpose(1, 2)))


@case(*WAVES)
def strides_transformed(x: Tensor) -> List[Tensor]:
    z = torch.complex(x, x.flip([0]))
    return [
        torch.fft.fft(x), torch.fft.fft(x, dim=1), torch.fft.fft2(z), torch.fft.fftn(z), torch.fft.ifft(z),
        torch.fft.rfft(x), torch.fft.rfft(x, dim=1), torch.fft.rfft2(x), torch.fft.rfftn(x, dim=[1, 2]),
        torch.fft.irfft(z), torch.fft.irfft(z, dim=1), torch.fft.irfft2(z), torch.fft.hfft(z), torch.fft.ihfft(x).resolve_conj(),
        torch.fft.hfft(x, 7), torch.fft.fftshift(x),
    ]


@case(*((wave[0].contiguous().view(2, 36),) for wave in WAVES), (t(36),))
def strides_of_spectra(x: Tensor) -> List[Tensor]:
    window = torch.hann_window(8)
    z = torch.stft(x, n_fft=8, hop_length=2, window=window, return_complex=True)
    whole = torch.stft(x, n_fft=8, hop_length=2, window=window, return_complex=True, onesided=False)
    return [z, whole, torch.view_as_real(z).clone(), z.abs(), torch.istft(z, n_fft=8, hop_length=2, window=window)]


@case(*((picture,) for picture in pictures()))
def strides_stacked(x: Tensor) -> List[Tensor]:
    return [torch.stack([x, x + 1], dim) for dim in [0, 1, -1]]
