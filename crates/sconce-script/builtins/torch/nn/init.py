"""torch.nn.init, for constructors to run: what is random leaves tensors without known numbers."""
import math
import warnings

import torch


def calculate_gain(nonlinearity, param=None):
    plain = ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
    if nonlinearity in plain or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for size in tensor.shape[2:]:
        field *= size
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ["fan_in", "fan_out"]:
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    return tensor.uniform_(a, b)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    return tensor.normal_(mean, std)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    return tensor.normal_(mean, std)


def constant_(tensor, val):
    return tensor.fill_(val)


def ones_(tensor):
    return tensor.fill_(1.0)


def zeros_(tensor):
    return tensor.zero_()


def eye_(tensor):
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(torch.eye(tensor.size(0), tensor.size(1)))


def dirac_(tensor, groups=1):
    dimensions = tensor.ndimension()
    if dimensions not in [3, 4, 5]:
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    outputs = tensor.size(0) // groups
    tensor.zero_()
    for g in range(groups):
        for d in range(min(outputs, tensor.size(1))):
            middle = [size // 2 for size in tensor.shape[2:]]
            if dimensions == 3:
                tensor[g * outputs + d, d, middle[0]] = 1
            elif dimensions == 4:
                tensor[g * outputs + d, d, middle[0], middle[1]] = 1
            else:
                tensor[g * outputs + d, d, middle[0], middle[1], middle[2]] = 1
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    _calculate_fan_in_and_fan_out(tensor)
    return tensor.uniform_()


def xavier_normal_(tensor, gain=1.0, generator=None):
    _calculate_fan_in_and_fan_out(tensor)
    return tensor.normal_()


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        return tensor
    _calculate_correct_fan(tensor, mode)
    calculate_gain(nonlinearity, a)
    return tensor.uniform_()


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        return tensor
    _calculate_correct_fan(tensor, mode)
    calculate_gain(nonlinearity, a)
    return tensor.normal_()


def orthogonal_(tensor, gain=1, generator=None):
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    return tensor.normal_()


def sparse_(tensor, sparsity, std=0.01, generator=None):
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.normal_()


xavier_uniform = xavier_uniform_
xavier_normal = xavier_normal_
kaiming_uniform = kaiming_uniform_
kaiming_normal = kaiming_normal_
orthogonal = orthogonal_
uniform = uniform_
normal = normal_
constant = constant_
