//! Products of vectors, matrices and tensors beyond `matmul`.

use sconce_kernel_core::layout::{broadcast, wrap_dim};
use sconce_kernel_core::{DType, Error, Operand, Result, Scalar, Tensor, promote_types};

use crate::elementwise::binary::{binary, sub};
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::complex::conj;
use crate::matmul::{addmm, baddbmm, check_batches, dot, is_extreme, matmul, mm, mv, sum_of_parts};
use crate::reduction::reduce::sum;
use crate::reduction::statistics;
use crate::shape::join::stack;

fn mul(a: &Tensor, b: Operand<'_>) -> Result<Tensor> {
    binary(BinaryOp::Mul, a.into(), b)
}

/// A factor as integer tensors take it: fractions cut off.
fn whole(factor: Scalar, dtype: DType) -> Scalar {
    if dtype.is_integral() { Scalar::Int(factor.to_i64()) } else { factor }
}

/// `beta * input + alpha * product`. With `beta` 0 the input is not looked at.
fn combine(input: &Tensor, product: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let scaled = |tensor: &Tensor, by: Scalar| match whole(by, tensor.dtype()) {
        // A complex 1 makes NaN of what is infinite.
        Scalar::Int(1) => Ok(tensor.clone()),
        by => mul(tensor, by.into()),
    };
    let product = scaled(product, alpha)?;
    let input = input.expand(product.sizes())?;
    if !beta.to_bool() {
        return Ok(product);
    }
    let input = scaled(&input, beta)?;
    sum_of_parts(&input, &product)
}

/// `torch.addmv`.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
pub fn addmv(
    input: &Tensor,
    a: &Tensor,
    v: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<Tensor> {
    if input.dtype() != a.dtype() || a.dtype() != v.dtype() {
        let [input, a, v] = [input, a, v].map(|tensor| tensor.dtype().scalar_type_name());
        return Err(Error::runtime(format!(
            "addmv input tensors must have the same dtype, but got {input}, {a}, and {v}"
        )));
    }
    combine(input, &mv(a, v)?, beta, alpha)
}

/// `torch.addbmm`: the products of a batch, added up.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
pub fn addbmm(
    input: &Tensor,
    a: &Tensor,
    b: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<Tensor> {
    for (name, tensor) in [("self", input), ("mat1", a)] {
        if tensor.dtype() != b.dtype() {
            return Err(Error::runtime(format!(
                "{name} and mat2 must have the same dtype, but got {} and {}",
                tensor.dtype().scalar_type_name(),
                b.dtype().scalar_type_name()
            )));
        }
    }
    check_batches(a, b)?;
    let (alpha, beta) = (whole(alpha, a.dtype()), whole(beta, a.dtype()));
    let sizes = [a.sizes()[1], b.sizes()[2]];
    let mut total = input.expand(&sizes)?;
    if a.sizes()[0] == 0 {
        return if beta.to_bool() {
            mul(&total, beta.into())
        } else {
            Tensor::zeros(&sizes, a.dtype())
        };
    }
    // One product after the other, each scaled, as PyTorch adds them.
    for at in 0..a.sizes()[0] {
        let beta = if at == 0 { beta } else { Scalar::Int(1) };
        total = addmm(&total, &a.select(0, at)?, &b.select(0, at)?, beta, alpha)?;
    }
    Ok(total)
}

/// `torch.baddbmm`, with factors as integers take them.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
pub fn batch_addmm(
    input: &Tensor,
    a: &Tensor,
    b: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<Tensor> {
    baddbmm(input, a, b, whole(beta, a.dtype()), whole(alpha, a.dtype()))
}

/// `torch.addr`: `beta * input + alpha * outer(a, b)`.
///
/// # Errors
/// Where they are no vectors or sizes do not fit.
pub fn addr(input: &Tensor, a: &Tensor, b: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    if a.dim() != 1 || b.dim() != 1 {
        return Err(Error::runtime(format!(
            "addr: Expected 1-D argument vec1, but got {}-D",
            if a.dim() == 1 { b.dim() } else { a.dim() }
        )));
    }
    let dtype = promote_types(input.dtype(), promote_types(a.dtype(), b.dtype())?)?;
    let integral = dtype.is_integral() || dtype == DType::Bool;
    for (factor, name) in [(beta, "beta"), (alpha, "alpha")] {
        if integral && matches!(factor, Scalar::Float(_) | Scalar::Complex(_)) {
            return Err(Error::runtime(format!(
                "For integral input tensors, argument {name} must not be a floating point number."
            )));
        }
    }
    let (a, b) = (a.to_dtype(dtype)?, b.to_dtype(dtype)?);
    if dtype.is_complex() || is_extreme(alpha) {
        // The first vector is scaled, which shows where numbers become infinite.
        return combine(
            &input.to_dtype(dtype)?,
            &outer(&mul(&a, alpha.into())?, &b)?,
            beta,
            1.into(),
        );
    }
    let product = outer(&a, &b)?;
    if dtype == DType::Bool {
        let both = |a: &Tensor, b: Scalar| binary(BinaryOp::LogicalAnd, a.into(), b.into());
        let (kept, product) = (both(input, beta)?, both(&product, alpha)?);
        return binary(BinaryOp::LogicalOr, (&kept).into(), (&product).into());
    }
    combine(&input.to_dtype(dtype)?, &product, beta, alpha)
}

/// `torch.outer`.
///
/// # Errors
/// Where they are no vectors.
pub fn outer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    for (tensor, name) in [(a, "self"), (b, "vec2")] {
        if tensor.dim() != 1 {
            return Err(Error::runtime(format!(
                "outer: Expected 1-D argument {name}, but got {}-D",
                tensor.dim()
            )));
        }
    }
    mul(&a.unsqueeze(1)?, b.into())
}

/// `torch.vdot`: the first vector is conjugated.
///
/// # Errors
/// As `torch.dot`.
pub fn vdot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "dot : expected both vectors to have same dtype, but found {} and {}",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    dot(&conj(a)?, b)
}

/// `torch.inner`: the last dimensions contracted.
///
/// # Errors
/// Where they differ.
pub fn inner(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dim() == 0 || b.dim() == 0 {
        return mul(a, b.into());
    }
    if a.size(-1)? != b.size(-1)? {
        return Err(Error::runtime(format!(
            "inner() the last dimension must match on both input tensors but got shapes {:?} and {:?}",
            a.sizes(),
            b.sizes()
        )));
    }
    tensordot(a, b, &[-1], &[-1])
}

/// `torch.tensordot` over pairs of dimensions.
///
/// # Errors
/// Where their sizes differ and neither is 1.
pub fn tensordot(a: &Tensor, b: &Tensor, a_dims: &[i64], b_dims: &[i64]) -> Result<Tensor> {
    if a_dims.len() != b_dims.len() {
        return Err(Error::runtime("both dimension lists should have same length"));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime("both inputs should have same dtype"));
    }
    let (mut left, mut right) = (a.clone(), b.clone());
    let wrap = |dims: &[i64], tensor: &Tensor| {
        let wrap = |&dim: &i64| tensor.size(dim).and_then(|_| wrap_dim(dim, tensor.dim()));
        dims.iter().map(wrap).collect::<Result<Vec<usize>>>()
    };
    let (a_dims, b_dims) = (wrap(a_dims, a)?, wrap(b_dims, b)?);
    let own = Some(a.dtype());
    for (&x, &y) in a_dims.iter().zip(&b_dims) {
        match (a.sizes()[x], b.sizes()[y]) {
            (1, n) if n != 1 => right = sum(&right, &[y as i64], true, own)?,
            (n, 1) if n != 1 => left = sum(&left, &[x as i64], true, own)?,
            (n, m) if n != m => {
                return Err(Error::runtime(format!(
                    "contracted dimensions need to match, but first has size {n} in dim {x} and \
                     second has size {m} in dim {y}"
                )));
            }
            _ => {}
        }
    }
    let rest =
        |count: usize, dims: &[usize]| (0..count).filter(|d| !dims.contains(d)).collect::<Vec<_>>();
    let (a_rest, b_rest) = (rest(a.dim(), &a_dims), rest(b.dim(), &b_dims));
    let order = |dims: &[usize], more: &[usize]| {
        dims.iter().chain(more).map(|&d| d as i64).collect::<Vec<i64>>()
    };
    let product = |tensor: &Tensor, dims: &[usize]| {
        dims.iter().fold(1i64, |n, &dim| n.saturating_mul(tensor.sizes()[dim]))
    };
    let inner = product(&left, &a_dims);
    let (rows, cols) = (product(&left, &a_rest), product(&right, &b_rest));
    let left_matrix = left.permute(&order(&a_rest, &a_dims))?.reshape(&[rows, inner])?;
    let right_matrix = right.permute(&order(&b_dims, &b_rest))?.reshape(&[inner, cols])?;
    let sizes: Vec<i64> = a_rest
        .iter()
        .map(|&d| left.sizes()[d])
        .chain(b_rest.iter().map(|&d| right.sizes()[d]))
        .collect();
    mm(&left_matrix, &right_matrix)?.reshape(&sizes)
}

/// `torch.kron`.
///
/// # Errors
/// Where memory is short.
pub fn kron(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dims = a.dim().max(b.dim());
    let padded = |tensor: &Tensor| {
        let ones = std::iter::repeat_n(1, dims - tensor.dim());
        ones.chain(tensor.sizes().iter().copied()).collect::<Vec<i64>>()
    };
    let (x, y) = (padded(a), padded(b));
    let spread = |tensor: &Tensor, sizes: &[i64], first: bool| {
        let sizes: Vec<i64> =
            sizes.iter().flat_map(|&n| if first { [n, 1] } else { [1, n] }).collect();
        tensor.reshape(&sizes)
    };
    // The last dimensions of both are made one, so that rows are long. Otherwise the result lies in
    // memory as the operands do.
    let last = [x.last().copied().unwrap_or(1), y.last().copied().unwrap_or(1)];
    let long = |tensor: Tensor| {
        if dims == 0 || !a.is_contiguous() || !b.is_contiguous() {
            return Ok(tensor);
        }
        let outer = tensor.dim() - 2;
        let sizes: Vec<i64> = tensor.sizes()[..outer].iter().copied().chain(last).collect();
        tensor.expand(&sizes)?.contiguous()
    };
    let (left, right) = (long(spread(a, &x, true)?)?, long(spread(b, &y, false)?)?);
    let product = mul(&left, (&right).into())?;
    let sizes: Vec<i64> = x.iter().zip(&y).map(|(a, b)| a.saturating_mul(*b)).collect();
    product.view(&sizes)
}

/// `torch.trace`.
///
/// # Errors
/// For what is no matrix.
pub fn trace(input: &Tensor) -> Result<Tensor> {
    if input.dim() != 2 {
        return Err(Error::runtime(format!(
            "trace: expected a matrix, but got tensor with dim {}",
            input.dim()
        )));
    }
    if input.dtype() == DType::Bool {
        return Err(Error::not_implemented("\"trace\" not implemented for 'Bool'"));
    }
    let n = input.size(0)?.min(input.size(1)?);
    let step = input.strides().iter().sum();
    sum(&input.as_strided(&[n], &[step], None)?, &[], false, None)
}

/// `torch.linalg.cross` along a dimension of size 3.
///
/// # Errors
/// Where that has another size.
pub fn linalg_cross(a: &Tensor, b: &Tensor, dim: i64) -> Result<Tensor> {
    if a.dim() != b.dim() {
        return Err(Error::runtime(
            "linalg.cross: inputs must have the same number of dimensions.",
        ));
    }
    if a.size(dim)? != 3 || b.size(dim)? != 3 {
        return Err(Error::runtime(format!(
            "linalg.cross: inputs dimension {dim} must have length 3. Got {} and {}",
            a.size(dim)?,
            b.size(dim)?
        )));
    }
    let sizes = broadcast(a.sizes(), b.sizes())?;
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "expected scalar type {} but found {}",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    let (a, b) = (a.expand(&sizes)?, b.expand(&sizes)?);
    let at = wrap_dim(dim, sizes.len())? as i64;
    let part = |i: i64, j: i64| {
        let (x, y) = (
            mul(&a.select(at, i)?, (&b.select(at, j)?).into())?,
            mul(&a.select(at, j)?, (&b.select(at, i)?).into())?,
        );
        sub((&x).into(), (&y).into(), 1.into())
    };
    stack(&[part(1, 2)?, part(2, 0)?, part(0, 1)?], at)
}

/// `torch.cross`: along the first dimension of size 3 where none is given.
///
/// # Errors
/// As [`linalg_cross`].
pub fn cross(a: &Tensor, b: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    match dim.or_else(|| a.sizes().iter().position(|&n| n == 3).map(|d| d as i64)) {
        Some(dim) => linalg_cross(a, b, dim),
        None => Err(Error::runtime("no dimension of size 3 in input")),
    }
}

/// `torch.linalg.vecdot`: the first is conjugated.
///
/// # Errors
/// Where dtypes differ or sizes do not broadcast.
pub fn vecdot(a: &Tensor, b: &Tensor, dim: i64) -> Result<Tensor> {
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "linalg.vecdot: Expected vectors with the same dtype, but found {} and {}",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    if !a.dtype().is_floating_point() && !a.dtype().is_complex() {
        return Err(Error::runtime(format!(
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got {}",
            a.dtype().scalar_type_name()
        )));
    }
    if a.dim() == 1 && b.dim() == 1 {
        // Whatever the dimension.
        return vdot(a, b);
    }
    sum(&mul(&conj(a)?, b.into())?, &[dim], false, Some(a.dtype()))
}

/// `torch.linalg.vander`: powers from 0 to `count - 1` of the last dimension.
///
/// # Errors
/// For counts below 2 and tensors without dimensions.
pub fn linalg_vander(x: &Tensor, count: Option<i64>) -> Result<Tensor> {
    if matches!(x.dtype(), DType::Bool | DType::Float16 | DType::BFloat16) {
        return Err(Error::runtime(format!(
            "linalg.vander supports floating point, complex, and integer tensors, but got {}",
            x.dtype().scalar_type_name()
        )));
    }
    let x = if x.dim() == 0 { x.unsqueeze(0)? } else { x.clone() };
    let count = count.unwrap_or(x.size(-1)?);
    if count < 2 {
        return Err(Error::runtime("N must be greater than 1."));
    }
    statistics::vander(&x, Some(count), true)
}

/// `torch.linalg.multi_dot` and `torch.chain_matmul`: the first and the last may be vectors.
///
/// # Errors
/// Where sizes do not fit or there are fewer than two.
pub fn multi_dot(tensors: &[Tensor]) -> Result<Tensor> {
    let [first, middle @ .., last] = tensors else {
        return Err(Error::runtime(format!(
            "multi_dot(): expected at least 2 tensors but got {}",
            tensors.len()
        )));
    };
    for (tensor, name) in [(first, "first"), (last, "last")] {
        if !(1..=2).contains(&tensor.dim()) {
            return Err(Error::runtime(format!(
                "multi_dot(): the {name} tensor must be 1D or 2D but got {}D",
                tensor.dim()
            )));
        }
    }
    for (at, tensor) in middle.iter().enumerate() {
        if tensor.dim() != 2 {
            return Err(Error::runtime(format!(
                "multi_dot(): tensor {} must be 2D but got {}D",
                at + 1,
                tensor.dim()
            )));
        }
    }
    let dims = std::iter::once(if first.dim() == 1 { 1 } else { first.size(0)? })
        .chain(tensors.iter().map(|t| t.sizes().last().copied().unwrap_or(1)))
        .collect::<Vec<i64>>();
    let count = tensors.len();
    let dims = if last.dim() == 1 { [&dims[..count], &[1]].concat() } else { dims };
    for (at, pair) in tensors.windows(2).enumerate() {
        let (left, right) = (pair[0].size(-1)?, pair[1].size(0)?);
        if left != right {
            return Err(Error::runtime(format!(
                "multi_dot(): tensors {at} and {} with shapes {:?} and {:?} cannot be multiplied",
                at + 1,
                pair[0].sizes(),
                pair[1].sizes()
            )));
        }
    }
    evaluate(tensors, &cheapest_splits(&dims))
}

/// For each run of matrices `i..=j` the matrix after which it is best split: the matrix chain order.
fn cheapest_splits(dims: &[i64]) -> Vec<Vec<usize>> {
    let count = dims.len() - 1;
    let (mut cost, mut split) = (vec![vec![0f64; count]; count], vec![vec![0; count]; count]);
    for width in 1..count {
        for i in 0..count - width {
            let j = i + width;
            cost[i][j] = f64::INFINITY;
            for k in i..j {
                let here = dims[i] as f64 * dims[k + 1] as f64 * dims[j + 1] as f64;
                let total = cost[i][k] + cost[k + 1][j] + here;
                if total < cost[i][j] {
                    (cost[i][j], split[i][j]) = (total, k);
                }
            }
        }
    }
    split
}

/// Multiplies in the order of the splits, without recursion.
fn evaluate(tensors: &[Tensor], split: &[Vec<usize>]) -> Result<Tensor> {
    enum Step {
        Open(usize, usize),
        Join,
    }
    let (mut steps, mut done) = (vec![Step::Open(0, tensors.len() - 1)], Vec::new());
    while let Some(step) = steps.pop() {
        match step {
            Step::Open(i, j) if i == j => done.push(tensors[i].clone()),
            Step::Open(i, j) => {
                let k = split[i][j];
                steps.extend([Step::Join, Step::Open(k + 1, j), Step::Open(i, k)]);
            }
            Step::Join => {
                let (right, left) = (done.pop(), done.pop());
                if let (Some(left), Some(right)) = (left, right) {
                    done.push(matmul(&left, &right)?);
                }
            }
        }
    }
    done.pop().ok_or_else(|| Error::runtime("multi_dot(): expected at least 2 tensors but got 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_dimensions_has_none_to_contract() {
        let scalar = Tensor::scalar(3.0.into(), DType::Float32).unwrap();
        let vector = Tensor::from_slice(&[1f32], &[1]).unwrap();
        for (a, b) in [(&scalar, &vector), (&vector, &scalar), (&scalar, &scalar)] {
            let error = tensordot(a, b, &[0], &[0]).unwrap_err();
            assert_eq!(error.message(), "Dimension specified as 0 but tensor has no dimensions");
        }
    }

    fn zeros(sizes: &[i64], dtype: DType) -> Tensor {
        Tensor::zeros(sizes, dtype).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_refused_in_pytorch_words() {
        let words = |result: Result<Tensor>| result.unwrap_err().message().to_owned();
        let floats = |sizes: &[i64]| zeros(sizes, DType::Float32);
        let ints = |sizes: &[i64]| zeros(sizes, DType::Int32);
        let (square, one) = (floats(&[3, 3]), || 1.into());
        for (found, expected) in [
            (
                words(addmv(&ints(&[3]), &square, &floats(&[3]), one(), one())),
                "addmv input tensors must have the same dtype, but got Int, Float, and Float",
            ),
            (
                words(addbmm(&ints(&[1]), &floats(&[1, 3, 3]), &floats(&[1, 3, 3]), one(), one())),
                "self and mat2 must have the same dtype, but got Int and Float",
            ),
            (
                words(linalg_cross(&square, &ints(&[3, 3]), -1)),
                "expected scalar type Float but found Int",
            ),
            (
                words(vecdot(&ints(&[3]), &ints(&[3]), -1)),
                "linalg.vecdot: Expected a floating point or complex tensor as input. Got Int",
            ),
            (
                words(linalg_vander(&Tensor::zeros(&[2], DType::Bool).unwrap(), Some(1 << 62))),
                "linalg.vander supports floating point, complex, and integer tensors, but got Bool",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
