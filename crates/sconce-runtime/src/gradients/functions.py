def powered(grad: Tensor, base: Tensor, exponent: number):
    return grad * (exponent * base.pow(exponent - 1))

def selected(grad: Tensor, size: List[int], dim: int, index: int):
    zeros = torch.zeros(size, dtype=grad.dtype)
    return torch.select_scatter(zeros, grad, dim, index)

def gradient_of_places(grad: Tensor, size: List[int], places: Tensor):
    count = 1
    for n in size:
        count = count * n
    flat = torch.zeros([count], dtype=grad.dtype).index_add(0, places.reshape(-1), grad.reshape(-1))
    return flat.view(size)
