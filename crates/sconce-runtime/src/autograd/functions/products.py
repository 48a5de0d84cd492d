# Products of vectors and matrices, and einsum.

# Products.


def adjoint(matrix: Tensor) -> Tensor:
    return matrix.transpose(-2, -1).conj()


def matmul_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    if other.dim() == 1:
        if self.dim() == 1:
            return grad * other.conj()
        return grad.unsqueeze(-1) * other.conj()
    if self.dim() == 1:
        return grad.unsqueeze(-2).matmul(adjoint(other)).squeeze(-2)
    if self.dim() == 2 and other.dim() > 2:
        # Sums over the batch at once.
        rows = grad.movedim(-2, 0).flatten(1)
        return rows.matmul(adjoint(other.movedim(-2, 0).flatten(1)))
    return grad.matmul(adjoint(other))


def matmul_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 1:
        if other.dim() == 1:
            return grad * self.conj()
        if other.dim() == 2:
            return self.conj().unsqueeze(-1) * grad.unsqueeze(-2)
        return self.conj().unsqueeze(-1) * grad.unsqueeze(-2)
    if other.dim() == 1:
        rows = self.reshape([grad.numel(), other.size(0)])
        return adjoint(rows).mv(grad.reshape([-1]))
    if other.dim() == 2 and self.dim() > 2:
        rows = self.flatten(0, -2)
        return adjoint(rows).mm(grad.flatten(0, -2))
    return adjoint(self).matmul(grad)


def linear_input(grad: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() == 1:
        return grad.unsqueeze(-1) * weight.conj()
    return grad.matmul(weight.conj())


def linear_weight(grad: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    rows = input.flatten(0, -2) if input.dim() > 1 else input.unsqueeze(0)
    if weight.dim() == 1:
        return adjoint(rows).mv(grad.reshape([-1]))
    return grad.reshape([rows.size(0), weight.size(0)]).t().mm(rows.conj())


def inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    return tensordot(self, other, [-1], [-1])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    result = torch.einsum("...i,oij,...j->...o", [input1, weight, input2])
    if bias is not None:
        result = result + bias
    return result


def tensordot(self: Tensor, other: Tensor, dims_self: List[int], dims_other: List[int]) -> Tensor:
    left = [whole(d, self.dim()) for d in dims_self]
    right = [whole(d, other.dim()) for d in dims_other]
    a, b = self, other
    for l, r in zip(left, right):
        # A dimension of one goes with any.
        if a.size(l) == 1 and b.size(r) != 1:
            b = b.sum([r], True)
        elif b.size(r) == 1 and a.size(l) != 1:
            a = a.sum([l], True)
    rows = without(a.dim(), left)
    columns = without(b.dim(), right)
    sizes = [a.size(d) for d in rows] + [b.size(d) for d in columns]
    inside = 1
    for l in left:
        inside *= a.size(l)
    height, width = 1, 1
    for d in rows:
        height *= a.size(d)
    for d in columns:
        width *= b.size(d)
    a = a.permute(rows + left).reshape([height, inside])
    b = b.permute(right + columns).reshape([inside, width])
    return a.mm(b).reshape(sizes)


def cross_dim(sizes: List[int], other_sizes: List[int], dim: Optional[int]) -> int:
    if dim is not None:
        return dim
    for at, size in enumerate(sizes):
        if size == 3:
            return at
    return -1


def multi_dot(tensors: List[Tensor]) -> Tensor:
    result = tensors[0]
    for tensor in tensors[1:]:
        result = result.matmul(tensor)
    return result


# The labels of einsum, one character for each dimension, without ellipses.


def grouped_mm(self: Tensor, mat2: Tensor, offs: Optional[Tensor], bias: Optional[Tensor], out_dtype: Optional[int]) -> Tensor:
    """Products of groups: `offs` says where each of them ends, in rows, columns or what is summed over."""
    assert bias is None, "Bias not supported yet"
    assert out_dtype is None or out_dtype == self.dtype, "Grouped gemm output dtype must match `mat_a` dtype"
    if offs is None:
        return self.bmm(mat2)
    ends: List[int] = []
    for at in range(offs.size(0)):
        ends.append(int(offs[at]))
    start = 0
    parts: List[Tensor] = []
    for at, end in enumerate(ends):
        if self.dim() == 2 and mat2.dim() == 2:
            parts.append(self.narrow(1, start, end - start).mm(mat2.narrow(0, start, end - start)))
        elif self.dim() == 2:
            parts.append(self.narrow(0, start, end - start).mm(mat2[at]))
        else:
            parts.append(self[at].mm(mat2.narrow(1, start, end - start)))
        start = end
    if self.dim() == 2 and mat2.dim() == 2:
        return torch.stack(parts)
    if self.dim() == 2:
        return torch.cat(parts, 0).constant_pad_nd([0, 0, 0, self.size(0) - start])
    return torch.cat(parts, 1).constant_pad_nd([0, mat2.size(1) - start])


def einsum_ellipsis(labels: str, rank: int, most: int, spare: str) -> str:
    """An operand's labels with its ellipsis spelled out. Dimensions of ellipses meet at their ends."""
    if "." not in labels:
        return labels
    length = rank - (len(labels) - 3)
    return labels.replace("...", spare[most - length:most])


def einsum_labels(equation: str, tensors: List[Tensor]) -> Tuple[List[str], str]:
    equation = equation.replace(" ", "")
    arrow = equation.find("->")
    left = equation if arrow < 0 else equation[:arrow]
    spare = ""
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
        if letter not in equation:
            spare += letter
    parts = left.split(",")
    most = 0
    for part, tensor in zip(parts, tensors):
        if "." in part:
            most = max(most, tensor.dim() - (len(part) - 3))
    if arrow >= 0:
        output = equation[arrow + 2:].replace("...", spare[:most])
    else:
        output = spare[:most]
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
            if left.count(letter) == 1:
                output += letter
    operands: List[str] = []
    for part, tensor in zip(parts, tensors):
        operands.append(einsum_ellipsis(part, tensor.dim(), most, spare))
    return operands, output


def einsum_spare(used: str) -> str:
    for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ":
        if letter not in used:
            return letter
    assert False, "einsum() has too many dimensions for a derivative"
    return ""


def einsum_grads(grad: Tensor, equation: str, tensors: List[Tensor]) -> List[Tensor]:
    operands, output = einsum_labels(equation, tensors)
    grads: List[Tensor] = []
    for at, tensor in enumerate(tensors):
        given: List[Tensor] = [grad]
        labels: List[str] = [output]
        for other in range(len(tensors)):
            if other != at:
                given.append(tensors[other].conj())
                labels.append(operands[other])
        used = ",".join(labels) + operands[at]
        wanted = ""
        for d in range(tensor.dim()):
            label = operands[at][d]
            size = tensor.size(d)
            if label in wanted:
                # A diagonal: zero beside it.
                new = einsum_spare(used)
                used += new
                given.append(torch.eye(size, dtype=grad.dtype, device=grad.device))
                labels.append(label + new)
                label = new
            elif label not in output:
                known = False
                for other in range(len(tensors)):
                    if other != at and label in operands[other]:
                        known = known or tensors[other].size(operands[other].find(label)) == size
                if not known:
                    # It was summed over by itself.
                    given.append(torch.ones([size], dtype=grad.dtype, device=grad.device))
                    labels.append(label)
            wanted += label
        grads.append(torch.einsum(",".join(labels) + "->" + wanted, given))
    return grads
