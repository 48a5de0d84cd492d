//! Functions of square matrices, and inverses and systems of equations of tensors.

use sconce_kernels::layout::wrap_dim;
use sconce_kernels::{DType, Error, Result, Tensor, UnaryOp, eye, matmul, unary};

use crate::dense::{Batch, Matrix, MatrixNumber, Out, by_number, check_float, check_square};
use crate::lu::{inv, solve};

/// `torch.linalg.matrix_power`.
///
/// # Errors
/// For what is no square matrix, and singular ones for negative powers.
pub fn matrix_power(a: &Tensor, n: i64) -> Result<Tensor> {
    check_square(a, "linalg.matrix_power", "A")?;
    if n < 0 {
        check_float(a, "linalg.matrix_power")?;
    }
    let mut base = if n < 0 { inverse_in_columns(a)? } else { a.clone() };
    let size = a.size(-1)?;
    let identity = eye(size, size, a.dtype())?.expand(a.sizes())?.copy()?;
    let (mut left, mut result) = (n.unsigned_abs(), None::<Tensor>);
    while left > 0 {
        if left % 2 == 1 {
            result = Some(match result {
                Some(result) => matmul(&result, &base)?,
                None => base.clone(),
            });
        }
        left /= 2;
        if left > 0 {
            base = matmul(&base, &base)?;
        }
    }
    match result {
        Some(result) if n == 1 => result.copy(),
        Some(result) => Ok(result),
        None => Ok(identity),
    }
}

/// `torch.linalg.matrix_exp`: a Taylor series of the matrix halved until it is small, then squared.
///
/// # Errors
/// For what is no square matrix and dtypes without kernels.
pub fn matrix_exp(a: &Tensor) -> Result<Tensor> {
    check_square(a, "linalg.matrix_exp", "A")?;
    if matches!(a.dtype(), DType::Float16 | DType::BFloat16) {
        // PyTorch gives whatever memory held.
        return match a.size(-1)? {
            0 | 1 => unary(UnaryOp::Exp, a),
            _ => Err(Error::not_implemented("linalg.matrix_exp in half precision")),
        };
    }
    check_float(a, "linalg.matrix_exp")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 8)?;
        let n = matrices.rows;
        let mut out: Out<T> = matrices.out(&[n, n])?;
        for matrix in matrices.matrices() {
            out.push(&exponential(matrix).data);
        }
        out.tensor(a.dtype())
    })
}

fn exponential<T: MatrixNumber>(mut a: Matrix<T>) -> Matrix<T> {
    let n = a.rows;
    let norm = (0..n).map(|j| (0..n).map(|i| a[(i, j)].length()).sum::<f64>()).fold(0.0, f64::max);
    if n == 0 || !a.is_finite() {
        let nan = T::of_real(f64::NAN);
        return Matrix::from_fn(n, n, |_, _| nan);
    }
    // Numbers beyond 2^1024 are infinite in any case.
    let halvings = if norm > 0.5 { ((norm / 0.5).log2().ceil() as i32).clamp(0, 1100) } else { 0 };
    let scale = T::of_real(0.5f64.powi(halvings));
    a.data.iter_mut().for_each(|x| *x *= scale);
    let (mut term, mut result) = (Matrix::identity(n, n), Matrix::<T>::identity(n, n));
    for k in 1..=18 {
        term = term.times(&a);
        let by = T::of_real(1.0 / f64::from(k));
        term.data.iter_mut().for_each(|x| *x *= by);
        result.data.iter_mut().zip(&term.data).for_each(|(sum, &x)| *sum += x);
    }
    for _ in 0..halvings {
        result = result.times(&result);
    }
    result
}

/// `torch.linalg.tensorinv`.
///
/// # Errors
/// Where the two halves of the dimensions have different sizes, and for singular tensors.
pub fn tensorinv(a: &Tensor, ind: i64) -> Result<Tensor> {
    if ind <= 0 {
        return Err(Error::runtime(format!(
            "Expected a strictly positive integer for 'ind', but got {ind}"
        )));
    }
    let at = ind as usize;
    if at > a.dim() {
        let message = format!("ArrayRef: invalid slice, N = {ind}; size = {}", a.dim());
        return Err(Error::runtime(message));
    }
    let (head, tail) = a.sizes().split_at(at);
    let (rows, cols): (i64, i64) = (head.iter().product(), tail.iter().product());
    if rows != cols {
        return Err(Error::runtime(format!(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == \
             prod(self.shape[:ind]), but got {cols} != {rows}"
        )));
    }
    let sizes: Vec<i64> = tail.iter().chain(head).copied().collect();
    inverse_in_columns(&a.reshape(&[rows, cols])?)?.reshape(&sizes)
}

/// The inverse, column-major as LAPACK leaves it.
fn inverse_in_columns(a: &Tensor) -> Result<Tensor> {
    inv(a)?.transpose(-2, -1)?.contiguous()?.transpose(-2, -1)
}

/// `torch.linalg.tensorsolve`.
///
/// # Errors
/// Where sizes do not fit, and for singular tensors.
pub fn tensorsolve(a: &Tensor, b: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    let mut order: Vec<i64> = (0..a.dim() as i64).collect();
    let dims = dims.unwrap_or_default();
    for (at, &dim) in dims.iter().enumerate() {
        let dim = wrap_dim(dim, a.dim())? as i64;
        if order[order.len() - at..].contains(&dim) {
            let message = format!("movedim: repeated dim in `source` ({dims:?})");
            return Err(Error::runtime(message));
        }
        order.retain(|&d| d != dim);
        order.push(dim);
    }
    let moved = a.permute(&order)?;
    let solution = moved.sizes()[b.dim().min(moved.dim())..].to_vec();
    let (rows, cols) = (b.numel(), solution.iter().product::<i64>());
    if rows.checked_mul(cols) != Some(a.numel()) || rows != cols {
        return Err(Error::runtime(format!(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == \
             prod(self.shape[:other.ndim]), but got {cols} != {rows}"
        )));
    }
    solve(&moved.reshape(&[rows, cols])?, &b.reshape(&[rows])?, true)?.reshape(&solution)
}
