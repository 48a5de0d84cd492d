"""Bodies of torch.nn.functional that TorchScript takes.

They stand in where PyTorch's own file is not on the path: the same names, parameters, defaults, results
and messages, over the same operators. What is an operator itself is bound to its name.
"""
import math
import warnings
from typing import List, Optional, Tuple, Union

import torch
from torch import Tensor
from torch._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3, _overload, boolean_dispatch

from . import _reduction

# --- operators under their own names ---

conv1d = torch.conv1d
conv2d = torch.conv2d
conv3d = torch.conv3d
conv_transpose1d = torch.conv_transpose1d
conv_transpose2d = torch.conv_transpose2d
conv_transpose3d = torch.conv_transpose3d
conv_tbc = torch.conv_tbc
avg_pool1d = torch.avg_pool1d
avg_pool2d = torch._C._nn.avg_pool2d
avg_pool3d = torch._C._nn.avg_pool3d
adaptive_avg_pool1d = torch.adaptive_avg_pool1d
linear = torch._C._nn.linear
bilinear = torch.bilinear
gelu = torch._C._nn.gelu
logsigmoid = torch._C._nn.log_sigmoid
softplus = torch._C._nn.softplus
softshrink = torch._C._nn.softshrink
hardshrink = torch.hardshrink
prelu = torch.prelu
relu_ = torch.relu_
selu_ = torch.selu_
celu_ = torch.celu_
rrelu_ = torch.rrelu_
threshold_ = torch.threshold_
elu_ = torch._C._nn.elu_
hardtanh_ = torch._C._nn.hardtanh_
leaky_relu_ = torch._C._nn.leaky_relu_
one_hot = torch._C._nn.one_hot
cosine_similarity = torch.cosine_similarity
pairwise_distance = torch.pairwise_distance
pdist = torch.pdist
pixel_shuffle = torch.pixel_shuffle
pixel_unshuffle = torch.pixel_unshuffle
channel_shuffle = torch.channel_shuffle
native_channel_shuffle = torch.native_channel_shuffle
scaled_dot_product_attention = torch._C._nn.scaled_dot_product_attention


# --- activations ---


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.relu_(input) if inplace else torch.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return torch._C._nn.relu6_(input) if inplace else torch._C._nn.relu6(input)


def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)


# In programs it goes by the other name.
threshold = _threshold


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return torch._C._nn.hardtanh_(input, min_val, max_val)
    return torch._C._nn.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return torch._C._nn.hardsigmoid_(input) if inplace else torch._C._nn.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch._C._nn.hardswish_(input) if inplace else torch._C._nn.hardswish(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch._C._nn.elu_(input, alpha) if inplace else torch._C._nn.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.selu_(input) if inplace else torch.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        return torch._C._nn.leaky_relu_(input, negative_slope)
    return torch._C._nn.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    return torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch._C._nn.silu_(input) if inplace else torch._C._nn.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch._C._nn.mish_(input) if inplace else torch._C._nn.mish(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return torch._C._nn.glu(input, dim)


def sigmoid(input):
    return input.sigmoid()


def tanh(input):
    return input.tanh()


def tanhshrink(input):
    return input - input.tanh()


def softsign(input):
    return input / (input.abs() + 1)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim, dtype=dtype)


def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.")
    exponential = torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_()
    soft = ((logits - exponential.log()) / tau).softmax(dim)
    if not hard:
        return soft
    largest = soft.argmax(dim, keepdim=True)
    one = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, largest, 1.0)
    return one - soft.detach() + soft


# --- dropout ---


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_probability(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if inplace:
        return torch.feature_alpha_dropout_(input, p, training)
    return torch.feature_alpha_dropout(input, p, training)


def _channel_dropout(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    """Whole channels; an example that is alone is taken for a batch of one."""
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)
    if batched:
        return result
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    dims = input.dim()
    if dims != 2 and dims != 3:
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {dims}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension (i.e. 2D or 3D inputs)."
        )
    return _channel_dropout(input, p, training, inplace, dims == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    dims = input.dim()
    if dims != 3 and dims != 4:
        warnings.warn(
            f"dropout2d: Received a {dims}-D input to dropout2d, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            "dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, "
            "and an optional batch dimension (i.e. 3D or 4D inputs)."
        )
    if dims == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - "
            "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future "
            "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _channel_dropout(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    dims = input.dim()
    if dims != 4 and dims != 5:
        warnings.warn(
            f"dropout3d: Received a {dims}-D input to dropout3d, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            "dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, "
            "and an optional batch dimension (i.e. 4D or 5D inputs)."
        )
    return _channel_dropout(input, p, training, inplace, dims == 5)


# --- pooling ---


def _output_sizes(wanted: List[int], given: List[int]) -> List[int]:
    if len(wanted) >= len(given):
        raise ValueError(f"Input dimension should be at least {len(wanted) + 1}")
    return wanted


def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return torch._C._nn.adaptive_avg_pool2d(input, _output_sizes(output_size, input.size()))


def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    return torch._C._nn.adaptive_avg_pool3d(input, _output_sizes(output_size, input.size()))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> Tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool1d(input, output_size)


def _adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Tensor:
    return adaptive_max_pool1d_with_indices(input, output_size)[0]


adaptive_max_pool1d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=2,
    default=False,
    if_true=adaptive_max_pool1d_with_indices,
    if_false=_adaptive_max_pool1d,
    module_name=__name__,
    func_name="adaptive_max_pool1d",
)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> Tuple[Tensor, Tensor]:
    return torch._C._nn.adaptive_max_pool2d(input, _output_sizes(output_size, input.size()))


def _adaptive_max_pool2d(input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False) -> Tensor:
    return adaptive_max_pool2d_with_indices(input, output_size)[0]


adaptive_max_pool2d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=2,
    default=False,
    if_true=adaptive_max_pool2d_with_indices,
    if_false=_adaptive_max_pool2d,
    module_name=__name__,
    func_name="adaptive_max_pool2d",
)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> Tuple[Tensor, Tensor]:
    return torch._C._nn.adaptive_max_pool3d(input, _output_sizes(output_size, input.size()))


def _adaptive_max_pool3d(input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False) -> Tensor:
    return adaptive_max_pool3d_with_indices(input, output_size)[0]


adaptive_max_pool3d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=2,
    default=False,
    if_true=adaptive_max_pool3d_with_indices,
    if_false=_adaptive_max_pool3d,
    module_name=__name__,
    func_name="adaptive_max_pool3d",
)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:
    step = torch.jit.annotate(List[int], []) if stride is None else stride
    return torch.max_pool1d_with_indices(input, kernel_size, step, padding, dilation, ceil_mode)


def _max_pool1d(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    step = torch.jit.annotate(List[int], []) if stride is None else stride
    return torch.max_pool1d(input, kernel_size, step, padding, dilation, ceil_mode)


max_pool1d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=6,
    default=False,
    if_true=max_pool1d_with_indices,
    if_false=_max_pool1d,
    module_name=__name__,
    func_name="max_pool1d",
)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:
    step = torch.jit.annotate(List[int], []) if stride is None else stride
    return torch._C._nn.max_pool2d_with_indices(input, kernel_size, step, padding, dilation, ceil_mode)


def _max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    step = torch.jit.annotate(List[int], []) if stride is None else stride
    return torch.max_pool2d(input, kernel_size, step, padding, dilation, ceil_mode)


max_pool2d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=6,
    default=False,
    if_true=max_pool2d_with_indices,
    if_false=_max_pool2d,
    module_name=__name__,
    func_name="max_pool2d",
)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:
    step = torch.jit.annotate(List[int], []) if stride is None else stride
    return torch._C._nn.max_pool3d_with_indices(input, kernel_size, step, padding, dilation, ceil_mode)


def _max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    step = torch.jit.annotate(List[int], []) if stride is None else stride
    return torch.max_pool3d(input, kernel_size, step, padding, dilation, ceil_mode)


max_pool3d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=6,
    default=False,
    if_true=max_pool3d_with_indices,
    if_false=_max_pool3d,
    module_name=__name__,
    func_name="max_pool3d",
)


def _fractional_size(
    input: Tensor, output_size: Optional[List[int]], output_ratio: Optional[List[float]], dims: int
) -> List[int]:
    """The size of what a fractional pool of this many dimensions gives."""
    if output_size is not None:
        return output_size
    if output_ratio is None:
        raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
    sizes: List[int] = []
    for place in range(dims):
        sizes.append(int(input.size(place - dims) * output_ratio[place]))
    return sizes


def _samples_of(input: Tensor, given: Optional[Tensor], dims: int) -> Tensor:
    if given is not None:
        return given
    batch = 1 if input.dim() == dims + 1 else input.size(0)
    return torch.rand(batch, input.size(-dims - 1), dims, dtype=input.dtype, device=input.device)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:
    size = _fractional_size(input, output_size, output_ratio, 2)
    return torch._C._nn.fractional_max_pool2d(input, kernel_size, size, _samples_of(input, _random_samples, 2))


def _fractional_max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tensor:
    size = _fractional_size(input, output_size, output_ratio, 2)
    return torch._C._nn.fractional_max_pool2d(input, kernel_size, size, _samples_of(input, _random_samples, 2))[0]


fractional_max_pool2d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=4,
    default=False,
    if_true=fractional_max_pool2d_with_indices,
    if_false=_fractional_max_pool2d,
    module_name=__name__,
    func_name="fractional_max_pool2d",
)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:
    size = _fractional_size(input, output_size, output_ratio, 3)
    return torch._C._nn.fractional_max_pool3d(input, kernel_size, size, _samples_of(input, _random_samples, 3))


def _fractional_max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tensor:
    size = _fractional_size(input, output_size, output_ratio, 3)
    return torch._C._nn.fractional_max_pool3d(input, kernel_size, size, _samples_of(input, _random_samples, 3))[0]


fractional_max_pool3d = boolean_dispatch(
    arg_name="return_indices",
    arg_index=4,
    default=False,
    if_true=fractional_max_pool3d_with_indices,
    if_false=_fractional_max_pool3d,
    module_name=__name__,
    func_name="fractional_max_pool3d",
)


def _unpool_output_size(
    input: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], output_size: Optional[List[int]]
) -> List[int]:
    dims = len(kernel_size)
    sizes: List[int] = []
    for place in range(dims):
        sizes.append((input.size(place - dims) - 1) * stride[place] + kernel_size[place] - 2 * padding[place])
    if output_size is not None:
        wanted = output_size[2:] if len(output_size) == dims + 2 else output_size
        if len(wanted) != dims:
            raise ValueError(
                f"output_size should be a sequence containing {dims} or {dims + 2} elements, "
                f"but it has a length of '{len(wanted)}'"
            )
        for place in range(dims):
            least = sizes[place] - stride[place]
            most = sizes[place] + stride[place]
            if wanted[place] <= least or wanted[place] >= most:
                raise ValueError(f'invalid output_size "{wanted}" (dim {place} must be between {least} and {most})')
        sizes = wanted
    for place, size in enumerate(sizes):
        if size < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, "
                f"but got output_size[{place}]={size}"
            )
    return sizes


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    output_size: Optional[BroadcastingList1[int]] = None,
) -> Tensor:
    step = kernel_size if stride is None else stride
    size = _unpool_output_size(input, kernel_size, step, padding, output_size)
    wide = torch._C._nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [size[0], 1])
    return wide.squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    output_size: Optional[BroadcastingList2[int]] = None,
) -> Tensor:
    step = kernel_size if stride is None else stride
    size = _unpool_output_size(input, kernel_size, step, padding, output_size)
    return torch._C._nn.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    output_size: Optional[BroadcastingList3[int]] = None,
) -> Tensor:
    step = kernel_size if stride is None else stride
    size = _unpool_output_size(input, kernel_size, step, padding, output_size)
    return torch._C._nn.max_unpool3d(input, indices, size, step, padding)


def _root_of_mean(mean: Tensor, count: int, norm_type: float) -> Tensor:
    """From the mean of powers over windows of `count` elements to the norm over them."""
    return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)


def _check_norm_type(norm_type: float) -> None:
    if norm_type == 0:
        raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")


def lp_pool1d(
    input: Tensor,
    norm_type: Union[int, float],
    kernel_size: int,
    stride: Optional[BroadcastingList1[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    power = float(norm_type)
    _check_norm_type(power)
    step = [kernel_size] if stride is None else stride
    if power == math.inf:
        return torch.max_pool1d(input.abs(), [kernel_size], step, [0], [1], ceil_mode)
    if power == -math.inf:
        return -torch.max_pool1d(-input.abs(), [kernel_size], step, [0], [1], ceil_mode)
    return _root_of_mean(torch.avg_pool1d(input.pow(power), [kernel_size], step, [0], ceil_mode), kernel_size, power)


def lp_pool2d(
    input: Tensor,
    norm_type: Union[int, float],
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    power = float(norm_type)
    _check_norm_type(power)
    step = kernel_size if stride is None else stride
    if power == math.inf:
        return torch.max_pool2d(input.abs(), kernel_size, step, [0, 0], [1, 1], ceil_mode)
    if power == -math.inf:
        return -torch.max_pool2d(-input.abs(), kernel_size, step, [0, 0], [1, 1], ceil_mode)
    mean = torch._C._nn.avg_pool2d(input.pow(power), kernel_size, step, [0, 0], ceil_mode)
    return _root_of_mean(mean, kernel_size[0] * kernel_size[1], power)


def lp_pool3d(
    input: Tensor,
    norm_type: Union[int, float],
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    power = float(norm_type)
    _check_norm_type(power)
    step = kernel_size if stride is None else stride
    if power == math.inf:
        return torch.max_pool3d(input.abs(), kernel_size, step, [0, 0, 0], [1, 1, 1], ceil_mode)
    if power == -math.inf:
        return -torch.max_pool3d(-input.abs(), kernel_size, step, [0, 0, 0], [1, 1, 1], ceil_mode)
    mean = torch._C._nn.avg_pool3d(input.pow(power), kernel_size, step, [0, 0, 0], ceil_mode)
    return _root_of_mean(mean, kernel_size[0] * kernel_size[1] * kernel_size[2], power)


# --- normalization ---


def _verify_batch_size(size: List[int]) -> None:
    count = size[0]
    for length in size[2:]:
        count *= length
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: List[int]) -> None:
    count = 1
    for length in size[2:]:
        count *= length
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def batch_norm(
    input: Tensor,
    running_mean: Optional[Tensor],
    running_var: Optional[Tensor],
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Optional[Tensor] = None,
    running_var: Optional[Tensor] = None,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor,
    normalized_shape: List[int],
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    eps: float = 1e-5,
) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(
    input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, eps: Optional[float] = None
) -> Tensor:
    return torch.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    eps: float = 1e-5,
) -> Tensor:
    size = input.size()
    if len(size) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}")
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups] + size[2:])
    return torch.group_norm(input, num_groups, weight, bias, eps, True)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    shape = input.size()
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {len(shape)} dimensions)"
        )
    if input.numel() == 0:
        return input
    # Channels are averaged over a window around each; what lies beyond them counts as zero.
    before = size // 2
    after = (size - 1) // 2
    squares = (input * input).view(shape[0], 1, shape[1], -1)
    squares = torch._C._nn.pad(squares, [0, 0, before, after])
    mean = torch._C._nn.avg_pool2d(squares, [size, 1], [1, 1]).view(shape)
    return input / (mean * alpha + k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Optional[Tensor] = None
) -> Tensor:
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / norm
    return torch.div(input, norm, out=out)


# --- embeddings ---


def _no_grad_embedding_renorm_(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with torch.no_grad():
        torch.embedding_renorm_(weight, input, max_norm, norm_type)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: Optional[int] = None,
    max_norm: Optional[float] = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    padding = -1
    if padding_idx is not None:
        rows = weight.size(0)
        assert padding_idx < rows and padding_idx >= -rows, "Padding_idx must be within num_embeddings"
        padding = padding_idx + rows if padding_idx < 0 else padding_idx
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return torch.embedding(weight, input, padding, scale_grad_by_freq, sparse)


def _bag_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> int:
    number = -1
    if mode == "sum":
        number = 0
    elif mode == "mean":
        number = 1
    elif mode == "max":
        number = 2
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    else:
        raise ValueError("mode has to be one of sum, mean or max")
    return number


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Optional[Tensor] = None,
    max_norm: Optional[float] = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Optional[Tensor] = None,
    include_last_offset: bool = False,
    padding_idx: Optional[int] = None,
) -> Tensor:
    if weight.dtype == torch.long and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                "sequences. However, found offsets of type <unknown>"
            )
        # Each row is a bag.
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    number = _bag_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    bags = torch.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, number, sparse, per_sample_weights, include_last_offset, padding_idx
    )
    return bags[0]


# --- losses ---


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    elif reduction != "none":
        raise ValueError(reduction + " is not valid")
    return loss


def _weighted(loss: Tensor, input: Tensor, weight: Tensor, reduction: str, by_weights: bool) -> Tensor:
    """A loss of elements that have weights; `by_weights`: their sum divides the mean."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction != "none" and reduction != "sum" and reduction != "mean":
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    loss = loss * weight
    if reduction == "mean" and by_weights:
        return loss.sum() / weight.sum()
    return _reduced(loss, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    weight: Optional[Tensor] = None,
) -> Tensor:
    _warn_of_sizes(input, target)
    reduction = _reduction.chosen(size_average, reduce, reduction)
    ours, theirs = torch.broadcast_tensors(input, target)
    if weight is not None:
        return _weighted((ours - theirs).abs(), input, weight, reduction, True)
    return torch._C._nn.l1_loss(ours, theirs, _reduction.get_enum(reduction))


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    weight: Optional[Tensor] = None,
) -> Tensor:
    _warn_of_sizes(input, target)
    reduction = _reduction.chosen(size_average, reduce, reduction)
    ours, theirs = torch.broadcast_tensors(input, target)
    if weight is not None:
        return _weighted((ours - theirs).pow(2), input, weight, reduction, True)
    return torch._C._nn.mse_loss(ours, theirs, _reduction.get_enum(reduction))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Optional[Tensor] = None
) -> Tensor:
    _warn_of_sizes(input, target)
    ours, theirs = torch.broadcast_tensors(input, target)
    if weight is not None:
        return _weighted(torch._C._nn.huber_loss(ours, theirs, 0, delta), input, weight, reduction, False)
    return torch._C._nn.huber_loss(ours, theirs, _reduction.get_enum(reduction), delta)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    _warn_of_sizes(input, target)
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    ours, theirs = torch.broadcast_tensors(input, target)
    if beta == 0.0:
        return torch._C._nn.l1_loss(ours, theirs, number)
    return torch._C._nn.smooth_l1_loss(ours, theirs, number, beta)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    ignore_index: int = -100,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    return torch._C._nn.nll_loss_nd(input, target, weight, number, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    ignore_index: int = -100,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    return torch._C._nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Optional[bool] = None,
    eps: float = 1e-8,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    reduction = _reduction.chosen(size_average, reduce, reduction)
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _reduction.get_enum(reduction))


def _is_variance_of(var: Tensor, input: Tensor) -> bool:
    """Whether sizes differ in one dimension alone, where there is one variance for all."""
    if var.dim() != input.dim():
        return False
    differing = 0
    product = 0
    for ours, theirs in zip(input.size(), var.size()):
        if ours != theirs:
            differing += 1
            product += theirs
    return differing == 1 and product == 1


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Union[Tensor, float],
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    if isinstance(var, float):
        variance = var * torch.ones_like(input)
    else:
        variance = var
    if bool((variance < 0).any()):
        raise ValueError("var has negative entry/entries")
    if variance.size() != input.size():
        if input.size()[:-1] == variance.size():
            variance = variance.unsqueeze(-1)
        elif not _is_variance_of(variance, input):
            raise ValueError("var is of incorrect size")
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not valid")
    variance = variance.clone()
    with torch.no_grad():
        variance.clamp_(min=eps)
    loss = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    by_batch = reduction == "batchmean"
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )
    number = _reduction.chosen_enum(size_average, reduce, "sum" if by_batch else reduction)
    loss = torch.kl_div(input, target, number, log_target=log_target)
    if by_batch and input.dim() != 0:
        loss = loss / input.size(0)
    return loss


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        # The weights stretch to the target, or the two to each other.
        weight = torch.broadcast_tensors(target, weight)[1]
    return torch._C._nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    pos_weight: Optional[Tensor] = None,
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    return torch.hinge_embedding_loss(input, target, margin, _reduction.chosen_enum(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    return torch.cosine_embedding_loss(input1, input2, target, margin, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    return torch._C._nn.multilabel_margin_loss(input, target, number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    return torch._C._nn.soft_margin_loss(input, target, _reduction.chosen_enum(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    reduction = _reduction.chosen(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(dim=-1) / input.size(-1), reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return torch._C._nn.multi_margin_loss(input, target, p, margin, weight, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction.chosen_enum(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    number = _reduction.get_enum(reduction)
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


# --- images ---


def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return torch._C._nn.pad(input, pad, mode, value)


def unfold(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return torch._C._nn.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: BroadcastingList2[int],
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return torch._C._nn.col2im(input, output_size, kernel_size, dilation, padding, stride)


def _check_interpolation(dims: int, mode: str) -> None:
    """Refuses a mode that is not of inputs with so many dimensions."""
    named = 3 if mode == "linear" else 4 if mode == "bilinear" else 5 if mode == "trilinear" else 0
    if named != 0 and named != dims and dims in (3, 4, 5):
        raise NotImplementedError(f"Got {dims}D input, but {mode} mode needs {named}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims}D) for the modes: nearest | linear | "
        f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _interpolated(
    input: Tensor, sizes: Optional[List[int]], scales: Optional[List[float]], mode: str, align: bool, antialias: bool
) -> Tensor:
    """What `interpolate` gives; one of sizes and scales is there."""
    dims = input.dim()
    if mode == "nearest":
        if dims == 3:
            return torch._C._nn.upsample_nearest1d(input, sizes, scales)
        if dims == 4:
            return torch._C._nn.upsample_nearest2d(input, sizes, scales)
        if dims == 5:
            return torch._C._nn.upsample_nearest3d(input, sizes, scales)
    elif mode == "nearest-exact":
        if dims == 3:
            return torch._C._nn._upsample_nearest_exact1d(input, sizes, scales)
        if dims == 4:
            return torch._C._nn._upsample_nearest_exact2d(input, sizes, scales)
        if dims == 5:
            return torch._C._nn._upsample_nearest_exact3d(input, sizes, scales)
    elif mode == "area" and sizes is not None:
        if dims == 3:
            return torch.adaptive_avg_pool1d(input, sizes)
        if dims == 4:
            return torch._C._nn.adaptive_avg_pool2d(input, sizes)
        if dims == 5:
            return torch._C._nn.adaptive_avg_pool3d(input, sizes)
    elif mode == "linear" and dims == 3:
        return torch._C._nn.upsample_linear1d(input, sizes, align, scales)
    elif mode == "trilinear" and dims == 5:
        return torch._C._nn.upsample_trilinear3d(input, sizes, align, scales)
    elif mode == "bilinear" and dims == 4:
        if antialias:
            return torch._C._nn._upsample_bilinear2d_aa(input, sizes, align, scales)
        return torch._C._nn.upsample_bilinear2d(input, sizes, align, scales)
    elif mode == "bicubic" and dims == 4:
        if antialias:
            return torch._C._nn._upsample_bicubic2d_aa(input, sizes, align, scales)
        return torch._C._nn.upsample_bicubic2d(input, sizes, align, scales)
    elif mode == "lanczos" and dims == 4:
        if align:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        return torch._C._nn._upsample_lanczos2d_aa(input, sizes, align, scales)
    _check_interpolation(dims, mode)
    return input


@_overload
def interpolate(  # noqa: F811
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[List[float]] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


@_overload
def interpolate(  # noqa: F811
    input: Tensor,
    size: Optional[List[int]] = None,
    scale_factor: Optional[List[float]] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


@_overload
def interpolate(  # noqa: F811
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


@_overload
def interpolate(  # noqa: F811
    input: Tensor,
    size: Optional[List[int]] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


def interpolate(  # noqa: F811
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[List[float]] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    if align_corners is not None and (mode == "nearest" or mode == "area" or mode == "nearest-exact"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    dims = input.dim() - 2
    spatial = input.size()[2:]
    sizes: Optional[List[int]] = None
    scales: Optional[List[float]] = None
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    elif size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dims:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got input with spatial "
                    f"dimensions of {spatial} and output size of {size}. Please provide input tensor in "
                    "(N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
                )
            sizes = size
        else:
            sizes = [size for _ in range(dims)]
    elif scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != dims:
                raise ValueError(
                    "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                    f"dimensions of {spatial} and scale_factor of shape {scale_factor}. Please provide input tensor in "
                    "(N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
                )
            scales = scale_factor
        else:
            scales = [scale_factor for _ in range(dims)]
    else:
        raise ValueError("either size or scale_factor should be defined")
    recompute = recompute_scale_factor is not None and recompute_scale_factor
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None and (recompute or mode == "area"):
        sizes = [math.floor(float(length) * scale) for length, scale in zip(spatial, scales)]
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and dims == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    align = align_corners is not None and align_corners
    return _interpolated(input, sizes, scales, mode, align, antialias)


@_overload
def upsample(  # noqa: F811
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
) -> Tensor:
    pass


@_overload
def upsample(  # noqa: F811
    input: Tensor,
    size: Optional[List[int]] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
) -> Tensor:
    pass


def upsample(  # noqa: F811
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
):
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@_overload
def upsample_nearest(  # noqa: F811
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


@_overload
def upsample_nearest(  # noqa: F811
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


def upsample_nearest(input, size=None, scale_factor=None):  # noqa: F811
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@_overload
def upsample_bilinear(  # noqa: F811
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


@_overload
def upsample_bilinear(  # noqa: F811
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


@_overload
def upsample_bilinear(  # noqa: F811
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None
) -> Tensor:
    pass


@_overload
def upsample_bilinear(  # noqa: F811
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None
) -> Tensor:
    pass


def upsample_bilinear(input, size=None, scale_factor=None):  # noqa: F811
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_of_corners() -> None:
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
    )


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: Optional[bool] = None,
) -> Tensor:
    interpolation = 0 if mode == "bilinear" else 1 if mode == "nearest" else 2 if mode == "bicubic" else -1
    if interpolation < 0:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    outside = 0 if padding_mode == "zeros" else 1 if padding_mode == "border" else 2 if padding_mode == "reflection" else -1
    if outside < 0:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_corners()
    return torch.grid_sampler(input, grid, interpolation, outside, align_corners is not None and align_corners)


def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    if align_corners is None:
        _warn_of_corners()
    align = align_corners is not None and align_corners
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims != 2 and dims != 3:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    if theta.dim() != 3 or theta.size(-2) != dims or theta.size(-1) != dims + 1:
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    if align and min(size[-dims:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is "
            "not an intended use case of affine_grid. See the documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align)


# --- attention ---


def _check_attention(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor], attn_mask: Optional[Tensor], num_heads: int
) -> bool:
    """Whether there is a batch; refuses numbers of dimensions that do not go together."""
    dims = query.dim()
    batched = dims == 3
    assert batched or dims == 2, f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    assert (
        key.dim() == dims and value.dim() == dims
    ), f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
    if key_padding_mask is not None:
        assert (
            key_padding_mask.dim() == dims - 1
        ), f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
    if attn_mask is not None:
        assert attn_mask.dim() in (
            2,
            3,
        ), f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        if not batched and attn_mask.dim() == 3:
            wanted = [num_heads, query.size(0), key.size(0)]
            assert attn_mask.size() == wanted, f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}"
    return batched


def _additive_mask(mask: Tensor, name: str, dtype: int) -> Tensor:
    """A mask to be added to scores: of a boolean one, minus infinity where it is true."""
    if torch.is_floating_point(mask):
        return mask
    assert mask.dtype == torch.bool, f"only bool and floating types of {name} are supported"
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def _projected(x: Tensor, weight: Tensor, bias: Optional[Tensor], part: int, width: int) -> Tensor:
    """By one of the three parts of a packed projection."""
    rows = weight[part * width : (part + 1) * width]
    if bias is None:
        return linear(x, rows)
    return linear(x, rows, bias[part * width : (part + 1) * width])


def _check_projection(x: Tensor, weight: Tensor, width: int, name: str) -> None:
    wanted = [width, x.size(-1)]
    assert weight.size() == wanted, f"expecting {name} weights shape of {wanted}, but got {weight.shape}"


def _heads(x: Tensor, given: Optional[Tensor], batches: int, head_dim: int, name: str) -> Tensor:
    """(length, batch, width) as (batch and head, length, width of a head), or what is given instead."""
    if given is None:
        return x.contiguous().view(x.size(0), batches, head_dim).transpose(0, 1)
    assert given.size(0) == batches, f"expecting {name}.size(0) of {batches}, but got {given.size(0)}"
    assert given.size(2) == head_dim, f"expecting {name}.size(2) of {head_dim}, but got {given.size(2)}"
    return given


def _one_more(mask: Optional[Tensor]) -> Optional[Tensor]:
    """A mask that lets through one key more."""
    if mask is None:
        return None
    return pad(mask, [0, 1])


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Optional[Tensor],
    in_proj_bias: Optional[Tensor],
    bias_k: Optional[Tensor],
    bias_v: Optional[Tensor],
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Optional[Tensor],
    training: bool = True,
    key_padding_mask: Optional[Tensor] = None,
    need_weights: bool = True,
    attn_mask: Optional[Tensor] = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Optional[Tensor] = None,
    k_proj_weight: Optional[Tensor] = None,
    v_proj_weight: Optional[Tensor] = None,
    static_k: Optional[Tensor] = None,
    static_v: Optional[Tensor] = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Tuple[Tensor, Optional[Tensor]]:
    batched = _check_attention(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.size(0), query.size(1), query.size(2)
    keys = key.size(0)

    if key_padding_mask is not None:
        if attn_mask is not None and key_padding_mask.dtype != attn_mask.dtype:
            warnings.warn(
                "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead."
            )
        key_padding_mask = _additive_mask(key_padding_mask, "key_padding_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        # The kernel makes the mask itself.
        attn_mask = None
    else:
        if attn_mask is not None:
            attn_mask = _additive_mask(attn_mask, "attn_mask", query.dtype)
        if key_padding_mask is not None:
            is_causal = False

    assert width == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
    head_dim = width // num_heads
    assert head_dim * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}"
    if use_separate_proj_weight:
        assert (
            key.size()[:2] == value.size()[:2]
        ), f"key's sequence and batch dims {key.size()[:2]} do not match value's {value.size()[:2]}"
        assert q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        _check_projection(query, q_proj_weight, width, "query")
        _check_projection(key, k_proj_weight, width, "key")
        _check_projection(value, v_proj_weight, width, "value")
        if in_proj_bias is None:
            q, k, v = linear(query, q_proj_weight), linear(key, k_proj_weight), linear(value, v_proj_weight)
        else:
            q = linear(query, q_proj_weight, in_proj_bias[:width])
            k = linear(key, k_proj_weight, in_proj_bias[width : 2 * width])
            v = linear(value, v_proj_weight, in_proj_bias[2 * width :])
    else:
        assert key.size() == value.size(), f"key shape {key.shape} does not match value shape {value.shape}"
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        q = _projected(query, in_proj_weight, in_proj_bias, 0, width)
        k = _projected(key, in_proj_weight, in_proj_bias, 1, width)
        v = _projected(value, in_proj_weight, in_proj_bias, 2, width)

    batches = batch * num_heads
    if attn_mask is not None:
        if attn_mask.dim() == 2:
            if attn_mask.size() != [length, keys]:
                raise RuntimeError(
                    f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(length, keys)}."
                )
            attn_mask = attn_mask.unsqueeze(0)
        elif attn_mask.dim() == 3:
            if attn_mask.size() != [batches, length, keys]:
                raise RuntimeError(
                    f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {(batches, length, keys)}."
                )
        else:
            raise RuntimeError(f"attn_mask's dimension {attn_mask.dim()} is not supported")

    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask = _one_more(attn_mask)
        key_padding_mask = _one_more(key_padding_mask)
    else:
        assert bias_k is None, "bias_k is set but bias_v is None"
        assert bias_v is None, "bias_v is set but bias_k is None"

    q = _heads(q, None, batches, head_dim, "query")
    k = _heads(k, static_k, batches, head_dim, "static_k")
    v = _heads(v, static_v, batches, head_dim, "static_v")
    if add_zero_attn:
        nothing = torch.zeros(batches, 1, head_dim, dtype=k.dtype, device=k.device)
        k = torch.cat([k, nothing], dim=1)
        v = torch.cat([v, nothing.to(v.dtype)], dim=1)
        attn_mask = _one_more(attn_mask)
        key_padding_mask = _one_more(key_padding_mask)
    keys = k.size(1)

    if key_padding_mask is not None:
        spread = key_padding_mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(batches, 1, keys)
        attn_mask = spread if attn_mask is None else attn_mask + spread
    dropped = dropout_p if training else 0.0

    if need_weights:
        scaled = q * math.sqrt(1.0 / float(head_dim))
        assert not (is_causal and attn_mask is None), "FIXME: is_causal not implemented for need_weights"
        if attn_mask is None:
            scores = torch.bmm(scaled, k.transpose(-2, -1))
        else:
            scores = torch.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
        weights = scores.softmax(-1)
        if dropped > 0.0:
            weights = dropout(weights, dropped)
        mixed = torch.bmm(weights, v).transpose(0, 1).reshape(length * batch, width)
        output = linear(mixed, out_proj_weight, out_proj_bias)
        output = output.view(length, batch, output.size(1))
        weights = weights.view(batch, num_heads, length, keys)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            output, weights = output.squeeze(1), weights.squeeze(0)
        return output, weights

    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(batch, num_heads, -1, keys)
    mixed = scaled_dot_product_attention(
        q.view(batch, num_heads, length, head_dim),
        k.view(batch, num_heads, keys, head_dim),
        v.view(batch, num_heads, keys, head_dim),
        attn_mask,
        dropped,
        is_causal,
    )
    output = linear(mixed.permute(2, 0, 1, 3).reshape(batch * length, width), out_proj_weight, out_proj_bias)
    output = output.view(length, batch, output.size(1))
    if not batched:
        output = output.squeeze(1)
    return output, None
