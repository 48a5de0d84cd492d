"""Operators where their derivatives are special: at zero, at bounds, where values are equal or infinite."""

import torch
import torch.nn.functional as F

inf, nan = float("inf"), float("nan")
X = [-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, inf, -inf, nan]
FINITE = [-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0]
TIES = [[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [3.0, 3.0, -1.0]]
ZEROS = [[0.0, 2.0, 3.0], [0.0, 0.0, 2.0], [1.0, 2.0, -3.0], [0.0, 0.0, 0.0]]

POINTWISE = {
    "abs": torch.abs,
    "sgn": torch.sgn,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "log": torch.log,
    "asin": torch.asin,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "erfinv": torch.erfinv,
    "sinc": torch.sinc,
    "logit": torch.logit,
    "logit_eps": lambda x: torch.logit(x, 0.5),
    "clamp": lambda x: torch.clamp(x, -1.0, 1.0),
    "clamp_low": lambda x: torch.clamp(x, min=0.5),
    "clamp_high": lambda x: torch.clamp(x, max=0.5),
    "clamp_min": lambda x: torch.clamp_min(x, 0.5),
    "clamp_max": lambda x: torch.clamp_max(x, 0.5),
    "nan_to_num": torch.nan_to_num,
    "relu": torch.relu,
    "relu6": lambda x: F.relu6(x * 2),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": lambda x: F.elu(x, 0.7),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.7),
    "silu": F.silu,
    "gelu": F.gelu,
    "mish": F.mish,
    "softplus": lambda x: F.softplus(x, 1.0, 1.0),
    "logsigmoid": F.logsigmoid,
    "hardtanh": F.hardtanh,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.5, 0.1),
    "pow_0": lambda x: torch.pow(x, 0.0),
    "pow_half": lambda x: torch.pow(x, 0.5),
    "pow_1": lambda x: torch.pow(x, 1.0),
    "pow_2": lambda x: torch.pow(x, 2),
    "pow_minus": lambda x: torch.pow(x, -1.5),
    "pow_of": lambda x: torch.pow(0.0, x),
    "pow_of_2": lambda x: torch.pow(2.0, x),
    "fmod": lambda x: torch.fmod(x, 0.5),
    "remainder": lambda x: torch.remainder(x, 0.5),
    "copysign": lambda x: torch.copysign(x, -1.0),
    "digamma": torch.digamma,
    "lgamma": torch.lgamma,
    "entr": torch.special.entr,
    "i1": torch.special.i1,
    "i1e": torch.special.i1e,
    "glu": lambda x: F.glu(x, 0),
    "softmax": lambda x: torch.softmax(x[:7], 0),
    "softmax_infinite": lambda x: torch.softmax(x[5:9], 0),
    "log_softmax_infinite": lambda x: torch.log_softmax(x[5:9], 0),
    "logsumexp_infinite": lambda x: torch.logsumexp(x[8:9], 0),
    "logcumsumexp": lambda x: torch.logcumsumexp(x[:7], 0),
}
TWO = {
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "xlogy": torch.xlogy,
    "xlog1py": torch.special.xlog1py,
    "pow": torch.pow,
    "div": torch.div,
    "fmod": torch.fmod,
    "remainder": torch.remainder,
    "logaddexp": torch.logaddexp,
    "where": lambda a, b: torch.where(a > b, a / b, a * b),
    "clamp_by": lambda a, b: torch.clamp(a, min=b),
    "clamp_under": lambda a, b: torch.clamp(a, max=b),
    "clamp_between": lambda a, b: torch.clamp(a, b - 0.5, b),
    "clamp_twisted": lambda a, b: torch.clamp(a, b + 0.5, b),
    "prelu": lambda a, b: F.prelu(a, b[:1]),
    "smooth_l1": lambda a, b: F.smooth_l1_loss(a, b, beta=0.5, reduction="none"),
    "smooth_l1_0": lambda a, b: F.smooth_l1_loss(a, b, beta=0.0, reduction="none"),
    "huber": lambda a, b: F.huber_loss(a, b, delta=0.5, reduction="none"),
    "l1": lambda a, b: F.l1_loss(a, b, reduction="none"),
    "kl_div": lambda a, b: F.kl_div(a, b.abs(), reduction="none"),
    "cosine_similarity": lambda a, b: F.cosine_similarity(a[2:5].unsqueeze(1), b[2:5].unsqueeze(1), 1),
    "dist": lambda a, b: torch.dist(a, a * 1),
    "lerp": lambda a, b: torch.lerp(a, b, 0.5),
}
ROWS = {
    "max": torch.max,
    "min": torch.min,
    "max_dim": lambda x: torch.max(x, 1).values,
    "amax": lambda x: torch.amax(x, 1),
    "amin_all": lambda x: torch.amin(x, (0, 1)),
    "aminmax": lambda x: torch.aminmax(x, dim=1).max,
    "median": torch.median,
    "median_dim": lambda x: torch.median(x, 1).values,
    "mode": lambda x: torch.mode(x, 1).values,
    "kthvalue": lambda x: torch.kthvalue(x, 2, 1).values,
    "sort": lambda x: torch.sort(x, 1).values,
    "topk": lambda x: torch.topk(x, 2, 1).values,
    "cummax": lambda x: torch.cummax(x, 1).values,
    "norm": lambda x: torch.norm(x, dim=1),
    "norm_0": lambda x: torch.linalg.vector_norm(x, 0.5, dim=1),
    "norm_1": lambda x: torch.linalg.vector_norm(x, 1, dim=1),
    "norm_3": lambda x: torch.linalg.vector_norm(x, 3, dim=1),
    "norm_between": lambda x: torch.linalg.vector_norm(x, 1.5, dim=1),
    "norm_inf": lambda x: torch.linalg.vector_norm(x, inf, dim=1),
    "norm_minus_inf": lambda x: torch.linalg.vector_norm(x, -inf, dim=1),
    "std": lambda x: torch.std(x, 1),
    "std_of_one": lambda x: torch.std(x[:, :1], 1),
    "var_of_one": lambda x: torch.var(x[:, :1], 1),
    "prod": torch.prod,
    "prod_dim": lambda x: torch.prod(x, 1),
    "cumprod": lambda x: torch.cumprod(x, 1),
    "cdist": lambda x: torch.cdist(x, x * 1),
    "cdist_1": lambda x: torch.cdist(x, x * 1, p=1.0),
    "cdist_3": lambda x: torch.cdist(x, x * 1, p=3.0),
    "pdist": lambda x: F.pdist(x),
    "normalize": lambda x: F.normalize(x, dim=1),
    "max_pool": lambda x: F.max_pool1d(x.unsqueeze(0), 2, 1),
    "adaptive_max_pool": lambda x: F.adaptive_max_pool1d(x.unsqueeze(0), 2),
    "scatter_amax": lambda x: torch.zeros(3, 3).scatter_reduce(1, torch.tensor([[0, 0, 1]] * 3), x[:3], "amax"),
    "scatter_prod": lambda x: torch.ones(3, 3).scatter_reduce(1, torch.tensor([[0, 0, 1]] * 3), x[:3], "prod"),
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "embedding_of_rows": lambda x: F.embedding(torch.tensor([0, 1, 1]), x, padding_idx=0),
    "index_put_twice": lambda x: torch.zeros(4, 3).index_put((torch.tensor([1, 1, 2]),), x[:3], accumulate=True),
    "cross_entropy_ignored": lambda x: F.cross_entropy(x[:3], torch.tensor([0, -100, 2])),
}


def cases():
    """Name, function, and tensors to derive by."""
    for name, function in POINTWISE.items():
        yield name, function, [torch.tensor(X)]
    first = [a for a in FINITE for _ in FINITE]
    second = [b for _ in FINITE for b in FINITE]
    for name, function in TWO.items():
        yield f"two_{name}", function, [torch.tensor(first), torch.tensor(second)]
    for name, function in ROWS.items():
        yield f"ties_{name}", function, [torch.tensor(TIES)]
        yield f"zeros_{name}", function, [torch.tensor(ZEROS)]
