# Fourier transforms. What undoes a transform but for its scale is its adjoint with the scale on the
# other side.


def other_side(norm: Optional[str]) -> str:
    if norm is None or norm == "backward":
        return "forward"
    if norm == "forward":
        return "backward"
    return norm


def fitted(input: Tensor, dim: int, size: int) -> Tensor:
    """Cut or filled with zeros at the end of a dimension."""
    missing = size - input.size(dim)
    if missing == 0:
        return input
    if missing < 0:
        return input.narrow(dim, 0, size)
    sizes = input.size()
    sizes[dim] = missing
    return torch.cat([input, input.new_zeros(sizes)], dim)


def fft_grad(grad: Tensor, sizes: List[int], dim: int, norm: Optional[str]) -> Tensor:
    return fitted(grad.fft_ifft(None, dim, other_side(norm)), dim, sizes[dim])


def ifft_grad(grad: Tensor, sizes: List[int], dim: int, norm: Optional[str]) -> Tensor:
    return fitted(grad.fft_fft(None, dim, other_side(norm)), dim, sizes[dim])


def rfft_grad(grad: Tensor, sizes: List[int], n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    length = sizes[dim]
    if n is not None:
        length = n
    whole_grad = fitted(grad, dim, length)
    return fitted(whole_grad.fft_ifft(None, dim, other_side(norm)).real, dim, sizes[dim])


def irfft_grad(grad: Tensor, sizes: List[int], dim: int, norm: Optional[str]) -> Tensor:
    # Each frequency but the first, and the last of an even number, stands for two.
    half = grad.fft_rfft(None, dim, other_side(norm))
    number = half.size(dim)
    single = 1 if grad.size(dim) % 2 == 1 else 2
    if number > single:
        parts = [half.narrow(dim, 0, 1), 2 * half.narrow(dim, 1, number - single)]
        if single == 2:
            parts.append(half.narrow(dim, number - 1, 1))
        half = torch.cat(parts, dim)
    return fitted(half, dim, sizes[dim])


def fft_dims(rank: int, s: Optional[List[int]], dim: Optional[List[int]]) -> List[int]:
    if dim is not None:
        return dim
    if s is not None:
        return list(range(rank - len(s), rank))
    return list(range(rank))


def fft_size(s: Optional[List[int]], at: int) -> Optional[int]:
    if s is None:
        return None
    if s[at] == -1:
        return None
    return s[at]


def fft_many(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], last: int, back: bool) -> Tensor:
    """Over all dimensions but so many of the last."""
    dims = fft_dims(self.dim(), s, dim)
    for at in range(len(dims) - last):
        if back:
            self = self.fft_ifft(fft_size(s, at), dims[at], norm)
        else:
            self = self.fft_fft(fft_size(s, at), dims[at], norm)
    return self


def fft_last(s: Optional[List[int]]) -> Optional[int]:
    if s is None:
        return None
    return fft_size(s, len(s) - 1)


def rfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return fft_many(self.fft_rfft(fft_last(s), dims[-1], norm), s, dims, norm, 1, False)


def irfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return fft_many(self, s, dims, norm, 1, True).fft_irfft(fft_last(s), dims[-1], norm)


def hfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return self.conj().fft_irfft(n, dim, other_side(norm))


def ihfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return self.fft_rfft(n, dim, other_side(norm)).conj()


def hfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return hfft(fft_many(self, s, dims, norm, 1, False), fft_last(s), dims[-1], norm)


def ihfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = fft_dims(self.dim(), s, dim)
    return fft_many(ihfft(self, fft_last(s), dims[-1], norm), s, dims, norm, 1, True)


def stft(self: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool]) -> Tensor:
    hop = n_fft // 4
    if hop_length is not None:
        hop = hop_length
    frames = self.unfold(-1, n_fft, hop)
    if window is not None:
        before = (n_fft - window.size(0)) // 2
        frames = frames * window.constant_pad_nd([before, n_fft - window.size(0) - before])
    elif win_length is not None:
        before = (n_fft - win_length) // 2
        ones = torch.ones([win_length], dtype=frames.dtype, device=frames.device)
        frames = frames * ones.constant_pad_nd([before, n_fft - win_length - before])
    norm = "ortho" if normalized else "backward"
    half = frames.is_complex() == False
    if onesided is not None:
        half = onesided
    if half:
        result = frames.fft_rfft(None, -1, norm)
    else:
        result = frames.fft_fft(None, -1, norm)
    result = result.transpose(-2, -1)
    if return_complex is not None:
        if return_complex:
            return result
    elif self.is_complex():
        return result
    return torch.view_as_real(result)
