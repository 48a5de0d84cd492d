# Linear algebra.


def inverse_grad(grad: Tensor, result: Tensor) -> Tensor:
    back = adjoint(result)
    return -back.matmul(grad).matmul(back)


def det_grad(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    if bool((result == 0).any()):
        # The products of the other singular values are left of a matrix without an inverse.
        U, S, Vh = torch.linalg_svd(A, False)
        n = S.size(-1)
        own = torch.eye(n, dtype=dtype_bool(), device=A.device)
        others = torch.where(own, 1, S.unsqueeze(-2)).prod(-1)
        turns = (torch.linalg_det(U) * torch.linalg_det(Vh)).conj()
        cofactors = (U * others.unsqueeze(-2)).matmul(Vh)
        return (grad * turns).unsqueeze(-1).unsqueeze(-1) * cofactors
    return (grad * result.conj()).unsqueeze(-1).unsqueeze(-1) * adjoint(torch.linalg_inv(A))


def slogdet_grad(grad_sign: Tensor, grad_log: Tensor, A: Tensor, sign: Tensor) -> Tensor:
    by = grad_log
    if A.is_complex():
        by = torch.complex(grad_log, -(grad_sign.conj() * sign).imag)
    return by.unsqueeze(-1).unsqueeze(-1) * adjoint(torch.linalg_inv(A))


def solve_is_vector(sizes: List[int], other: List[int]) -> bool:
    """Whether the right side is a vector for each matrix."""
    return len(other) == 1 or (len(sizes) - 1 == len(other) and sizes[:-1] == other)


def solve_B(grad: Tensor, A: Tensor, sizes: List[int], left: bool) -> Tensor:
    if solve_is_vector(A.size(), sizes):
        return torch.linalg_solve(adjoint(A), grad.unsqueeze(-1)).squeeze(-1)
    return torch.linalg_solve(adjoint(A), grad, left=left)


def solve_A(grad: Tensor, A: Tensor, sizes: List[int], result: Tensor, left: bool) -> Tensor:
    back = solve_B(grad, A, sizes, left)
    if solve_is_vector(A.size(), sizes):
        return -back.unsqueeze(-1) * result.conj().unsqueeze(-2)
    if left:
        return -back.matmul(adjoint(result))
    return -adjoint(result).matmul(back)


def triangle(grad: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    by = 1 if unitriangular else 0
    return grad.triu(by) if upper else grad.tril(-by)


def triangular_B(grad: Tensor, A: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    return adjoint(A).linalg_solve_triangular(grad, upper=upper == False, left=left, unitriangular=unitriangular)


def triangular_A(grad: Tensor, A: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    back = triangular_B(grad, A, upper, left, unitriangular)
    if left:
        return triangle(-back.matmul(adjoint(result)), upper, unitriangular)
    return triangle(-adjoint(result).matmul(back), upper, unitriangular)


def triangular_solve(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Tuple[Tensor, Tensor]:
    if transpose:
        solution = A.transpose(-2, -1).linalg_solve_triangular(self, upper=upper == False, unitriangular=unitriangular)
    else:
        solution = A.linalg_solve_triangular(self, upper=upper, unitriangular=unitriangular)
    return solution, A.clone()


def cholesky_grad(grad: Tensor, result: Tensor, upper: bool) -> Tensor:
    if upper:
        grad, result = adjoint(grad), adjoint(result)
    product = adjoint(result).matmul(grad).tril()
    inner = product + adjoint(product.tril(-1))
    # From both sides with the inverse.
    back = adjoint(result)
    inner = back.linalg_solve_triangular(inner, upper=True)
    return 0.5 * result.linalg_solve_triangular(inner, upper=False, left=False)


def cholesky_factor_grad(product: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a factor of what `product` is the gradient of."""
    both = product + adjoint(product)
    return factor.matmul(both) if upper else both.matmul(factor)


def cholesky_solve_factor(grad: Tensor, factor: Tensor, upper: bool, result: Tensor) -> Tensor:
    back = grad.cholesky_solve(factor, upper)
    return cholesky_factor_grad(-back.matmul(adjoint(result)), factor, upper)


def cholesky_inverse_grad(grad: Tensor, self: Tensor, upper: bool, result: Tensor) -> Tensor:
    return cholesky_factor_grad(-result.matmul(grad).matmul(result), self, upper)


def gaps(values: Tensor) -> Tensor:
    """The differences between each two, one on the diagonal."""
    apart = values.unsqueeze(-2) - values.unsqueeze(-1)
    return apart + torch.eye(values.size(-1), dtype=values.dtype, device=values.device)


def over_gaps(product: Tensor, apart: Tensor) -> Tensor:
    """Where nothing is asked of vectors it does not matter that values are equal."""
    return (product / apart).masked_fill(product == 0, 0)


def with_diagonal(matrix: Tensor, diagonal: Tensor) -> Tensor:
    return matrix.diagonal_scatter(diagonal, 0, -2, -1)


def eigh_grad(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    back = adjoint(vectors)
    inner = over_gaps(0.5 * skew(back.matmul(grad_vectors)), gaps(values))
    return vectors.matmul(with_diagonal(inner, grad_values)).matmul(back)


def eig_grad(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    back = adjoint(vectors)
    product = back.matmul(grad_vectors)
    along = product.diagonal(0, -2, -1).real
    product = product - back.matmul(vectors) * along.unsqueeze(-2)
    inner = with_diagonal(over_gaps(product, gaps(values).conj()), grad_values)
    return torch.linalg_solve(back, inner.matmul(back))


def skew(matrix: Tensor) -> Tensor:
    return matrix - adjoint(matrix)


def svd_grad(grad_U: Tensor, grad_S: Tensor, grad_Vh: Tensor, full_U: Tensor, S: Tensor, full_Vh: Tensor) -> Tensor:
    k = S.size(-1)
    U, Vh = full_U.narrow(-1, 0, k), full_Vh.narrow(-2, 0, k)
    grad_U, grad_Vh = grad_U.narrow(-1, 0, k), grad_Vh.narrow(-2, 0, k)
    left = skew(adjoint(U).matmul(grad_U))
    right = skew(Vh.matmul(adjoint(grad_Vh)))
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    apart = gaps(S) * (row + column)
    inner = over_gaps(left * row + column * right, apart)
    diagonal = grad_S
    if U.is_complex():
        diagonal = grad_S + over_gaps(left.diagonal(0, -2, -1), 2 * S)
    result = U.matmul(with_diagonal(inner, diagonal)).matmul(Vh)
    if U.size(-2) > k:
        rest = grad_U / row
        result = result + (rest - U.matmul(adjoint(U).matmul(rest))).matmul(Vh)
    if Vh.size(-1) > k:
        rest = grad_Vh / column
        result = result + U.matmul(rest - rest.matmul(adjoint(Vh)).matmul(Vh))
    return result


def svd(self: Tensor, some: bool, compute_uv: bool) -> Tuple[Tensor, Tensor, Tensor]:
    if compute_uv:
        U, S, Vh = torch.linalg_svd(self, some == False)
        return U, S, adjoint(Vh)
    rows, columns = self.size(-2), self.size(-1)
    batch = self.size()[:-2]
    return self.new_zeros(batch + [rows, rows]), torch.linalg_svdvals(self), self.new_zeros(batch + [columns, columns])


def qr_square_grad(grad_Q: Tensor, grad_R: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    inner = R.matmul(adjoint(grad_R)) - adjoint(grad_Q).matmul(Q)
    lower = inner.tril(-1)
    diagonal = inner.diagonal(0, -2, -1)
    if Q.is_complex():
        diagonal = diagonal.real
    whole_inner = lower + adjoint(lower) + diagonal.diag_embed()
    return adjoint(R).linalg_solve_triangular(grad_Q + Q.matmul(whole_inner), upper=False, left=False)


def qr_grad(grad_Q: Tensor, grad_R: Tensor, A: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    rows, columns = A.size(-2), A.size(-1)
    if rows >= columns:
        assert Q.size(-1) == R.size(-1), "the derivative of aten::linalg_qr of a complete Q"
        return qr_square_grad(grad_Q, grad_R, Q, R)
    # The last columns are what they are by Q.
    grad_V = grad_R.narrow(-1, rows, columns - rows)
    Y = A.narrow(-1, rows, columns - rows)
    grad_X = qr_square_grad(
        grad_Q + Y.matmul(adjoint(grad_V)), grad_R.narrow(-1, 0, rows), Q, R.narrow(-1, 0, rows))
    return torch.cat([grad_X, Q.matmul(grad_V)], -1)


def pinv_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    back, turned = adjoint(result), adjoint(grad)
    first = turned.matmul(result).matmul(back)
    second = back.matmul(result).matmul(turned)
    return (first - self.matmul(result.matmul(first))) + (second - second.matmul(result).matmul(self)) - back.matmul(grad).matmul(back)


def matrix_power(self: Tensor, n: int) -> Tensor:
    if n == 0:
        return self * 0 + torch.eye(self.size(-1), dtype=self.dtype, device=self.device)
    base = self if n > 0 else torch.linalg_inv(self)
    result = base
    for _ in range(abs(n) - 1):
        result = result.matmul(base)
    return result if abs(n) > 1 or n < 0 else result.clone()


def matrix_exp_grad(grad: Tensor, self: Tensor) -> Tensor:
    # The exponential of a triangular block matrix has the derivative in its corner.
    n = self.size(-1)
    back = adjoint(self)
    above = torch.cat([back, grad], -1)
    below = torch.cat([torch.zeros_like(back), back], -1)
    return torch.cat([above, below], -2).linalg_matrix_exp().narrow(-2, 0, n).narrow(-1, n, n)


def matrix_norm(self: Tensor, order: float, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if dtype is not None:
        self = self.to(dtype)
    rows, columns = whole(dim[0], self.dim()), whole(dim[1], self.dim())
    size = abs(order)
    if size == 2:
        values = torch.linalg_svdvals(self.movedim([rows, columns], [-2, -1]))
        result = values.amax(-1) if order > 0 else values.amin(-1)
        if keepdim:
            for d in [min(rows, columns), max(rows, columns)]:
                result = result.unsqueeze(d)
        return result
    if size == 1:
        rows, columns = columns, rows
    # Sums along one, the extreme of them along the other.
    sums = self.abs().sum([columns], True)
    extremes = sums.amax([rows], True) if order > 0 else sums.amin([rows], True)
    return extremes if keepdim else extremes.squeeze([rows, columns])


def nuclear_norm(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    rows, columns = whole(dim[0], self.dim()), whole(dim[1], self.dim())
    result = torch.linalg_svdvals(self.movedim([rows, columns], [-2, -1])).sum([-1])
    if keepdim:
        for d in [min(rows, columns), max(rows, columns)]:
            result = result.unsqueeze(d)
    return result


def matrix_norm_named(self: Tensor, ord: str, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if dtype is not None:
        self = self.to(dtype)
    if ord == "nuc":
        return nuclear_norm(self, dim, keepdim)
    return self.linalg_vector_norm(2, dim, keepdim)


def linalg_norm(self: Tensor, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord is None:
        return self.linalg_vector_norm(2, dim, keepdim, dtype=dtype)
    order = float(ord)
    dims: List[int] = []
    if dim is not None:
        dims = dim
    elif self.dim() == 2:
        dims = [0, 1]
    if len(dims) == 2:
        return matrix_norm(self, order, dims, keepdim, dtype)
    return self.linalg_vector_norm(order, dim, keepdim, dtype=dtype)


def linalg_norm_named(self: Tensor, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    dims = [-2, -1]
    if dim is not None:
        dims = dim
    return matrix_norm_named(self, ord, dims, keepdim, dtype)


def cond(self: Tensor, p: Optional[number]) -> Tensor:
    order = 2.0
    if p is not None:
        order = float(p)
    if abs(order) == 2:
        values = torch.linalg_svdvals(self)
        largest, least = values.select(-1, 0), values.select(-1, -1)
        return largest / least if order > 0 else least / largest
    dims = [-2, -1]
    return matrix_norm(self, order, dims, False, None) * matrix_norm(torch.linalg_inv(self), order, dims, False, None)


def cond_named(self: Tensor, p: str) -> Tensor:
    dims = [-2, -1]
    return matrix_norm_named(self, p, dims, False, None) * matrix_norm_named(torch.linalg_inv(self), p, dims, False, None)


def tensorinv(self: Tensor, ind: int) -> Tensor:
    first, last = self.size()[:ind], self.size()[ind:]
    number = 1
    for size in last:
        number *= size
    return torch.linalg_inv(self.reshape([-1, number])).reshape(last + first)


def tensorsolve(self: Tensor, other: Tensor, dims: Optional[List[int]]) -> Tensor:
    if dims is not None:
        last = [at - len(dims) for at in range(len(dims))]
        self = self.movedim(dims, last)
    number = other.numel()
    solution = torch.linalg_solve(self.reshape([number, -1]), other.reshape([number]))
    return solution.reshape(self.size()[other.dim():])


def vander(x: Tensor, N: Optional[int]) -> Tensor:
    if x.dim() == 0:
        x = x.unsqueeze(0)
    number = x.size(-1)
    if N is not None:
        number = N
    powers = [torch.ones_like(x)]
    for _ in range(number - 1):
        powers.append(powers[-1] * x)
    return torch.stack(powers, -1)


# Factorisations into triangles.


def lu_square_grad(grad_L: Tensor, grad_U: Tensor, L: Tensor, U: Tensor) -> Tensor:
    inner = adjoint(L).matmul(grad_L).tril(-1) + grad_U.matmul(adjoint(U)).triu()
    inner = adjoint(U).linalg_solve_triangular(inner, upper=False, left=False)
    return adjoint(L).linalg_solve_triangular(inner, upper=True, unitriangular=True)


def lu_grad(grad_L: Tensor, grad_U: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    rows, columns = L.size(-2), U.size(-1)
    k = min(rows, columns)
    if columns > k:
        # The last columns are what they are by the others.
        U1, U2 = U.narrow(-1, 0, k), U.narrow(-1, k, columns - k)
        last = adjoint(L).linalg_solve_triangular(grad_U.narrow(-1, k, columns - k), upper=True, unitriangular=True)
        first = lu_square_grad(grad_L - last.matmul(adjoint(U2)), grad_U.narrow(-1, 0, k), L, U1)
        return P.matmul(torch.cat([first, last], -1))
    if rows > k:
        L1, L2 = L.narrow(-2, 0, k), L.narrow(-2, k, rows - k)
        last = adjoint(U).linalg_solve_triangular(grad_L.narrow(-2, k, rows - k), upper=False, left=False)
        first = lu_square_grad(grad_L.narrow(-2, 0, k), grad_U - adjoint(L2).matmul(last), L1, U)
        return P.matmul(torch.cat([first, last], -2))
    return P.matmul(lu_square_grad(grad_L, grad_U, L, U))


def lu_factor_grad(grad: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    P, L, U = torch.lu_unpack(LU, pivots, True, True)
    k = min(LU.size(-2), LU.size(-1))
    return lu_grad(grad.narrow(-1, 0, k).tril(-1), grad.narrow(-2, 0, k).triu(), P, L, U)


def lu_unpack(LU: Tensor, pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> Tuple[Tensor, Tensor, Tensor]:
    P, L, U = torch.lu_unpack(LU.detach(), pivots, unpack_data, unpack_pivots)
    if unpack_data:
        k = min(LU.size(-2), LU.size(-1))
        U = LU.narrow(-2, 0, k).triu()
        L = with_diagonal(LU.narrow(-1, 0, k).tril(), torch.ones_like(LU.narrow(-1, 0, k).diagonal(0, -2, -1)))
    return P, L, U


def linalg_lu(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor, Tensor]:
    LU, pivots = torch.linalg_lu_factor(A, pivot=pivot)
    return lu_unpack(LU, pivots, True, pivot)


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint_of: bool) -> Tensor:
    if left == False:
        return adjoint(lu_solve_left(LU, pivots, adjoint(B), adjoint_of == False))
    return lu_solve_left(LU, pivots, B, adjoint_of)


def lu_solve_left(LU: Tensor, pivots: Tensor, B: Tensor, adjoint_of: bool) -> Tensor:
    P, L, U = torch.lu_unpack(LU.detach(), pivots, True, True)
    if adjoint_of:
        half = adjoint(LU).linalg_solve_triangular(B, upper=False)
        return P.matmul(adjoint(LU).linalg_solve_triangular(half, upper=True, unitriangular=True))
    half = LU.linalg_solve_triangular(adjoint(P).matmul(B), upper=False, unitriangular=True)
    return LU.linalg_solve_triangular(half, upper=True)
