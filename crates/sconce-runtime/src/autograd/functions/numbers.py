# Numbers and dimensions: what the others count with.

# Constants: by name only `torch`'s operators are known here.


def pi() -> float:
    return 3.141592653589793


def inf() -> float:
    return float("inf")


def nan() -> float:
    return float("nan")


def dtype_uint8() -> int:
    return 0


def dtype_int64() -> int:
    return 4


def dtype_float64() -> int:
    return 7


def dtype_complex128() -> int:
    return 10


def dtype_bool() -> int:
    return 11


# Scalars.


def scaled(grad: Tensor, by: number) -> Tensor:
    """The gradient of x where x is multiplied by a number."""
    if grad.is_complex():
        return (grad.conj() * by).conj()
    if by == 1:
        return grad
    return grad * by


def whole(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    if dim < 0:
        return dim + max(rank, 1)
    return dim


def without(rank: int, dims: List[int]) -> List[int]:
    """The other dimensions."""
    rest: List[int] = []
    for d in range(rank):
        if d not in dims:
            rest.append(d)
    return rest
