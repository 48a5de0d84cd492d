"""Bodies of torch.functional that TorchScript takes.

They stand in where PyTorch's own file is not on the path, for the functions of `torch` that are Python
though an operator has the same name: the same parameters, defaults, results and messages, for tensors
that are strided and on the CPU.
"""
from typing import List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, _VF
from torch._jit_internal import _overload, boolean_dispatch


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: Optional[int] = None,
    win_length: Optional[int] = None,
    window: Optional[Tensor] = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Optional[bool] = None,
    return_complex: Optional[bool] = None,
    align_to_window: Optional[bool] = None,
) -> Tensor:
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        half = n_fft // 2
        sizes = input.size()
        while len(sizes) < 3:
            sizes = [1] + sizes
        padded = F.pad(input.view(sizes), [half, half], pad_mode)
        input = padded.view(padded.size()[3 - input.dim():])
    return _VF.stft(
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window
    )


istft = torch.istft


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"):
    mode: Optional[int] = None
    if compute_mode == "use_mm_for_euclid_dist":
        mode = 1
    elif compute_mode == "donot_use_mm_for_euclid_dist":
        mode = 2
    elif compute_mode != "use_mm_for_euclid_dist_if_necessary":
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _VF.cdist(x1, x2, p, mode)


# --- norms ---


@_overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):  # noqa: F811
    # type: (Tensor, str, Optional[List[int]], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


@_overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):  # noqa: F811
    # type: (Tensor, Optional[number], Optional[List[int]], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


@_overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):  # noqa: F811
    # type: (Tensor, Optional[number], Optional[int], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


@_overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):  # noqa: F811
    # type: (Tensor, str, Optional[int], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):  # noqa: F811
    if dim is None:
        dims = None
    elif isinstance(dim, int):
        dims = [dim]
    else:
        dims = dim
    if not isinstance(p, str):
        order = 2.0 if p is None else p
        if out is None:
            return torch.linalg.vector_norm(input, order, dims, keepdim, dtype=dtype)
        return torch.linalg.vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)
    if p == "fro" and (dims is None or len(dims) <= 2):
        if out is None:
            return torch.linalg.vector_norm(input, 2, dims, keepdim, dtype=dtype)
        return torch.linalg.vector_norm(input, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is None:
        dims = list(range(input.ndim))
    if out is None:
        return torch.linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype)
    return torch.linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)


# --- products ---


@_overload
def tensordot(a, b, dims: int = 2, out: Optional[Tensor] = None):  # noqa: F811
    pass


@_overload
def tensordot(a, b, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None):  # noqa: F811
    pass


@_overload
def tensordot(a, b, dims: List[List[int]], out: Optional[Tensor] = None):  # noqa: F811
    pass


@_overload
def tensordot(a, b, dims: Tensor, out: Optional[Tensor] = None):  # noqa: F811
    pass


def tensordot(a, b, dims=2, out: Optional[Tensor] = None):  # noqa: F811
    left: List[int] = []
    right: List[int] = []
    if isinstance(dims, (tuple, list)):
        left, right = dims
    if isinstance(dims, Tensor):
        if dims.numel() > 1:
            if dims.size(0) != 2:
                raise AssertionError(f"dims tensor must have size 2 in first dimension, got {dims.size(0)}")
            left = torch.jit.annotate(List[int], dims[0].tolist())
            right = torch.jit.annotate(List[int], dims[1].tolist())
        else:
            count = int(dims.item())
            if count < 0:
                raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
            left, right = list(range(-count, 0)), list(range(count))
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(-dims, 0)), list(range(dims))
    if out is None:
        return _VF.tensordot(a, b, left, right)
    return _VF.tensordot(a, b, left, right, out=out)


# --- distinct elements ---


def _unique_impl(
    input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool, dim: Optional[int]
) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is None:
        return torch._unique2(input, sorted, return_inverse, return_counts)
    return _VF.unique_dim(input, dim, sorted, return_inverse, return_counts)


def _return_inverse_and_counts(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    return _unique_impl(input, sorted, return_inverse, return_counts, dim)


def _return_inverse(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    values, inverse, _ = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return values, inverse


def _return_counts(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    values, _, counts = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return values, counts


def _return_output(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tensor:
    values, _, _ = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return values


_return_inverse_true = boolean_dispatch(
    arg_name="return_counts",
    arg_index=3,
    default=False,
    if_true=_return_inverse_and_counts,
    if_false=_return_inverse,
    module_name=__name__,
    func_name="unique",
)
_return_inverse_false = boolean_dispatch(
    arg_name="return_counts",
    arg_index=3,
    default=False,
    if_true=_return_counts,
    if_false=_return_output,
    module_name=__name__,
    func_name="unique",
)
unique = boolean_dispatch(
    arg_name="return_inverse",
    arg_index=2,
    default=False,
    if_true=_return_inverse_true,
    if_false=_return_inverse_false,
    module_name=__name__,
    func_name="unique",
)


def _consecutive_return_inverse_and_counts(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor, Tensor]:
    return _VF.unique_consecutive(input, return_inverse, return_counts, dim)


def _consecutive_return_inverse(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    values, inverse, _ = _VF.unique_consecutive(input, return_inverse, return_counts, dim)
    return values, inverse


def _consecutive_return_counts(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    values, _, counts = _VF.unique_consecutive(input, return_inverse, return_counts, dim)
    return values, counts


def _consecutive_return_output(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tensor:
    values, _, _ = _VF.unique_consecutive(input, return_inverse, return_counts, dim)
    return values


# PyTorch takes these two the wrong way round where they are given by place.
_consecutive_return_inverse_true = boolean_dispatch(
    arg_name="return_counts",
    arg_index=1,
    default=False,
    if_true=_consecutive_return_inverse_and_counts,
    if_false=_consecutive_return_inverse,
    module_name=__name__,
    func_name="unique_consecutive",
)
_consecutive_return_inverse_false = boolean_dispatch(
    arg_name="return_counts",
    arg_index=1,
    default=False,
    if_true=_consecutive_return_counts,
    if_false=_consecutive_return_output,
    module_name=__name__,
    func_name="unique_consecutive",
)
unique_consecutive = boolean_dispatch(
    arg_name="return_inverse",
    arg_index=2,
    default=False,
    if_true=_consecutive_return_inverse_true,
    if_false=_consecutive_return_inverse_false,
    module_name=__name__,
    func_name="unique_consecutive",
)
