# Arithmetic and functions of one number.

# Arithmetic.


def pow_self(grad: Tensor, self: Tensor, exponent: number) -> Tensor:
    if exponent == 0:
        return torch.zeros_like(grad)
    return grad * (self.pow(exponent - 1) * exponent).conj()


def pow_self_tensor(grad: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    slope = (self.pow(exponent - 1) * exponent).conj()
    return (grad * slope).masked_fill(exponent == 0, 0)


def pow_exponent(grad: Tensor, self: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    # Zero to a power stays zero while the power is positive.
    if exponent.is_complex():
        flat = (self == 0).logical_and(exponent.real > 0)
    else:
        flat = (self == 0).logical_and(exponent >= 0)
    return (grad * (result * self.to(result.dtype).log()).conj()).masked_fill(flat, 0)


def pow_number(grad: Tensor, self: number, exponent: Tensor, result: Tensor) -> Tensor:
    base = torch.full([], self, dtype=result.dtype, device=result.device)
    return pow_exponent(grad, base, exponent, result)


def float_power(self: Tensor, exponent: Tensor) -> Tensor:
    if self.is_complex() or exponent.is_complex():
        return self.to(dtype_complex128()).pow(exponent.to(dtype_complex128()))
    return self.to(dtype_float64()).pow(exponent.to(dtype_float64()))


def float_power_scalar(self: Tensor, exponent: number) -> Tensor:
    if self.is_complex() or isinstance(exponent, complex):
        return self.to(dtype_complex128()).pow(exponent)
    return self.to(dtype_float64()).pow(exponent)


def div_self(grad: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    if rounding_mode is not None:
        return torch.zeros_like(grad)
    return grad / other.conj()


def div_other(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    if rounding_mode is not None:
        return torch.zeros_like(grad)
    return -grad * (self / other / other).conj()


def div_number(grad: Tensor, other: number) -> Tensor:
    if grad.is_complex():
        return (grad.conj() / other).conj()
    return grad / other


def div_number_mode(grad: Tensor, other: number, rounding_mode: Optional[str]) -> Tensor:
    if rounding_mode is not None:
        return torch.zeros_like(grad)
    return div_number(grad, other)


def complement(grad: Tensor, weight: number) -> Tensor:
    return grad - scaled(grad, weight)


def atan2_part(grad: Tensor, part: Tensor, self: Tensor, other: Tensor) -> Tensor:
    squares = self * self + other * other
    return grad * (part / squares).masked_fill(squares == 0, 0)


def larger(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """What the greater one gets; equal ones get half each."""
    return torch.where(self == other, grad / 2, grad).masked_fill(self < other, 0)


def smaller(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self == other, grad / 2, grad).masked_fill(self > other, 0)


def xlogy_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    flat = (self == 0).logical_and(other <= 0)
    return grad * other.log().masked_fill(flat, 0)


def copysign_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * (result / self).masked_fill(self == 0, 0)


# Unary functions.


def acosh_grad(grad: Tensor, self: Tensor) -> Tensor:
    if self.is_complex():
        return grad * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()
    return grad * (self * self - 1).rsqrt()


def clamped(grad: Tensor, self: Tensor, low: Optional[number], high: Optional[number]) -> Tensor:
    if low is not None:
        grad = grad.masked_fill((self > low).logical_not(), 0)
    if high is not None:
        grad = grad.masked_fill((self < high).logical_not(), 0)
    return grad


def halved(grad: Tensor, where: Tensor) -> Tensor:
    return torch.where(where, grad / 2, grad)


def clamped_tensor(grad: Tensor, self: Tensor, low: Optional[Tensor], high: Optional[Tensor]) -> Tensor:
    """A bound that is met gets half."""
    if low is not None:
        grad = halved(grad, self == low).masked_fill(self < low, 0)
    if high is not None:
        grad = halved(grad, self == high).masked_fill(self > high, 0)
    return grad


def clamped_low(grad: Tensor, self: Tensor, low: Optional[Tensor], high: Optional[Tensor]) -> Tensor:
    """Where the lower bound is the result, which it is not where the upper bound is lower still."""
    if low is None:
        return grad
    grad = halved(grad, self == low).masked_fill(self > low, 0)
    return grad if high is None else grad.masked_fill(low >= high, 0)


def clamped_high(grad: Tensor, self: Tensor, low: Optional[Tensor], high: Optional[Tensor]) -> Tensor:
    if high is None:
        return grad
    taken = self > high
    met = self == high
    if low is not None:
        taken = taken.logical_or(high < low)
        met = met.logical_and(high >= low)
    return halved(grad, met).masked_fill(taken.logical_or(met).logical_not(), 0)


def sgn_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if not self.is_complex():
        return torch.zeros_like(grad)
    size = self.abs()
    along = (grad * result.conj()).real
    return ((grad - result * along) / size).masked_fill(size == 0, 0)


def angle_grad(grad: Tensor, self: Tensor) -> Tensor:
    if not self.is_complex():
        return torch.zeros_like(grad)
    squares = self.real * self.real + self.imag * self.imag
    turned = torch.complex(-self.imag, self.real)
    return turned * (grad / squares).masked_fill(squares == 0, 0)


def sinc_grad(grad: Tensor, self: Tensor) -> Tensor:
    x = self * pi()
    slope = (x * x.cos() - x.sin()) / (x * self)
    return grad * slope.masked_fill(self == 0, 0).conj()


def logit_grad(grad: Tensor, self: Tensor, eps: Optional[float]) -> Tensor:
    slope = grad / (self * (1 - self))
    if eps is not None:
        return slope.masked_fill((self < eps).logical_or(self > 1 - eps), 0)
    outside = (self < 0).logical_or(self > 1)
    return slope.masked_fill(outside, nan())


def polygamma_sum(grad: Tensor, self: Tensor, p: int) -> Tensor:
    slope = self.digamma()
    for index in range(1, p):
        slope = slope + (self - 0.5 * index).digamma()
    return grad * slope


def i1_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    # I1(x) / x tends to a half.
    zero = self == 0
    safe = self.masked_fill(zero, 1)
    slope = self.i0() - result / safe
    return grad * torch.where(zero, 0.5, slope)


def i1e_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    zero = self == 0
    safe = self.masked_fill(zero, 1)
    slope = self.special_i0e() - result * (self.sgn() + safe.reciprocal())
    return grad * torch.where(zero, 0.5, slope)


# Bessel functions, whose orders are each other's derivatives.


def bessel_grad(grad: Tensor, lower: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Of the first order, `lower` of order zero; both of a kind that is zero at zero, or infinite."""
    zero = (self == 0).logical_and(result == 0)
    slope = lower - result / self.masked_fill(zero, 1)
    return grad * torch.where(zero, 0.5, slope)
