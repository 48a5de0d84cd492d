//! QR factorisations and what is done with their reflections; triangular systems; Cholesky.

use faer::Side;
use sconce_kernels::{DType, Element, Error, Result, Tensor};

use crate::dense::{
    Batch, Matrix, MatrixNumber, Out, broadcast_batches, by_number, check_computed, check_float,
    check_info, check_matrices, check_square,
};
use crate::lapack::{apply_q, columns_of_q, geqrf as factor, substitute, upper};
use crate::lu::{check_fit, check_same_dtype};

/// `torch.linalg.qr`: Q and R; Q is empty in mode `r`.
///
/// # Errors
/// For unknown modes, tensors that are no matrices and dtypes without kernels.
pub fn qr(a: &Tensor, mode: &str) -> Result<[Tensor; 2]> {
    check_matrices(a, "linalg.qr", "A")?;
    check_float(a, "linalg.qr")?;
    let (with_q, complete) = match mode {
        "reduced" => (true, false),
        "complete" => (true, true),
        "r" => (false, false),
        other => {
            return Err(Error::runtime(format!(
                "qr received unrecognized mode '{other}' but expected one of 'reduced' (default), \
                 'r', or 'complete'"
            )));
        }
    };
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 3)?;
        let (m, n) = (matrices.rows, matrices.cols);
        let width = if complete { m } else { m.min(n) };
        let mut q: Out<T> = if with_q { matrices.out(&[m, width])? } else { Out::new(&[], &[0])? };
        let mut r: Out<T> = matrices.out(&[width, n])?;
        for matrix in matrices.matrices() {
            let (packed, factors) = factor(matrix);
            r.push(&upper(&packed, width).data);
            if with_q {
                q.push(&columns_of_q(&packed, &factors, width).data);
            }
        }
        Ok([q.tensor(a.dtype())?, r.tensor(a.dtype())?])
    })
}

/// `torch.geqrf`: R with the reflections below it, and their factors.
///
/// # Errors
/// For tensors that are no matrices and dtypes without kernels.
pub fn geqrf(a: &Tensor) -> Result<[Tensor; 2]> {
    check_matrices(a, "torch.geqrf", "input")?;
    check_float(a, "torch.geqrf")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 2)?;
        let (m, n) = (matrices.rows, matrices.cols);
        let mut packed: Out<T> = matrices.out(&[m, n])?;
        let mut factors: Out<T> = matrices.out(&[m.min(n)])?;
        for matrix in matrices.matrices() {
            let (reflections, tau) = factor(matrix);
            packed.push(&reflections.data);
            factors.push(&tau);
        }
        Ok([packed.tensor(a.dtype())?, factors.tensor(a.dtype())?])
    })
}

/// `torch.linalg.householder_product`, `torch.orgqr`: the first columns of the product of
/// reflections.
///
/// # Errors
/// For sizes that do not fit and dtypes that differ or have no kernels.
pub fn householder_product(a: &Tensor, tau: &Tensor) -> Result<Tensor> {
    let name = "torch.linalg.householder_product";
    if a.dim() < 2 {
        return Err(Error::runtime(format!("{name}: input must have at least 2 dimensions.")));
    }
    let (m, n, k) = (a.size(-2)?, a.size(-1)?, tau.size(-1)?);
    if m < n {
        return Err(Error::runtime(format!(
            "{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )));
    }
    if n < k {
        return Err(Error::runtime(format!(
            "{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )));
    }
    check_reflections(a, tau, name)?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 3)?;
        let factors = tau.to_dtype(T::DTYPE)?.to_vec::<T>()?;
        let mut q: Out<T> = matrices.out(&[m as usize, n as usize])?;
        for (at, matrix) in matrices.matrices().enumerate() {
            let factors = &factors[at * k as usize..(at + 1) * k as usize];
            q.push(&columns_of_q(&matrix, factors, n as usize).data);
        }
        q.tensor(a.dtype())
    })
}

fn check_reflections(a: &Tensor, tau: &Tensor, name: &str) -> Result<()> {
    if a.dim() != tau.dim() + 1 {
        return Err(Error::runtime(format!(
            "{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to \
             {} and input.ndim is equal to {}",
            tau.dim(),
            a.dim()
        )));
    }
    let batch = &a.sizes()[..a.dim() - 2];
    if tau.sizes()[..tau.dim() - 1] != *batch {
        return Err(Error::runtime(format!(
            "{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {:?}",
            &tau.sizes()[..tau.dim() - 1]
        )));
    }
    if tau.dtype() != a.dtype() {
        return Err(Error::runtime(format!(
            "{name}: tau dtype {} does not match input dtype {}",
            tau.dtype().scalar_type_name(),
            a.dtype().scalar_type_name()
        )));
    }
    check_float(a, name)
}

/// `torch.ormqr`: Q, or its conjugate transpose, times `other` from one side.
///
/// # Errors
/// For sizes that do not fit and dtypes that differ or have no kernels.
pub fn ormqr(
    a: &Tensor,
    tau: &Tensor,
    other: &Tensor,
    left: bool,
    adjoint: bool,
) -> Result<Tensor> {
    let name = "torch.ormqr";
    check_matrices(a, name, "input")?;
    check_matrices(other, name, "other")?;
    let (m, k) = (a.size(-2)?, tau.size(-1)?);
    if other.size(if left { -2 } else { -1 })? != m {
        return Err(Error::runtime(format!(
            "{name}: other.shape[{}] must be equal to input.shape[-2]",
            if left { -2 } else { -1 }
        )));
    }
    if k != m.min(a.size(-1)?) {
        let message = format!(
            "{name}: tau.shape[-1] must be equal to min(other.shape[{}], input.shape[-1])",
            if left { -2 } else { -1 }
        );
        return Err(Error::runtime(message));
    }
    check_reflections(a, tau, name)?;
    check_same_dtype(a, other, name, "input", "other")?;
    if a.sizes()[..a.dim() - 2] != other.sizes()[..other.dim() - 2] {
        return Err(Error::runtime(format!(
            "{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got {:?}",
            &other.sizes()[..other.dim() - 2]
        )));
    }
    by_number!(a, T => {
        let [matrices, others] = Batch::<T>::read_both((a, 1), (other, 2))?;
        let factors = tau.to_dtype(T::DTYPE)?.to_vec::<T>()?;
        let mut out: Out<T> = others.out(&[others.rows, others.cols])?;
        for (at, (matrix, other)) in matrices.matrices().zip(others.matrices()).enumerate() {
            let factors = &factors[at * k as usize..(at + 1) * k as usize];
            // C Q is (Qᴴ Cᴴ)ᴴ.
            out.push(&match left {
                true => apply_q(&matrix, factors, adjoint, other),
                false => apply_q(&matrix, factors, !adjoint, other.adjoint()).adjoint(),
            }.data);
        }
        out.tensor(other.dtype())
    })
}

/// `torch.linalg.solve_triangular`.
///
/// # Errors
/// For sizes that do not fit and dtypes that differ or have no kernels.
pub fn solve_triangular(
    a: &Tensor,
    b: &Tensor,
    upper: bool,
    left: bool,
    unit: bool,
) -> Result<Tensor> {
    let name = "linalg.solve_triangular";
    check_square(a, name, "A")?;
    check_float(a, name)?;
    check_fit(a, b, left, name)?;
    let (a, b) = broadcast_batches(a, &b.to_dtype(a.dtype())?)?;
    by_number!(a, T => {
        let [systems, sides] = Batch::<T>::read_both((&a, 1), (&b, 2))?;
        let mut x: Out<T> = sides.out(&[sides.rows, sides.cols])?;
        for (system, mut side) in systems.matrices().zip(sides.matrices()) {
            if left {
                substitute(&system, upper, unit, &mut side);
                x.push(&side.data);
            } else {
                let mut turned = side.transpose();
                substitute(&system.transpose(), !upper, unit, &mut turned);
                x.push(&turned.transpose().data);
            }
        }
        x.tensor(b.dtype())
    })
}

/// `torch.triangular_solve`: the solution and a copy of the coefficients.
///
/// # Errors
/// As [`solve_triangular`].
pub fn triangular_solve(
    b: &Tensor,
    a: &Tensor,
    upper: bool,
    transpose: bool,
    unit: bool,
) -> Result<[Tensor; 2]> {
    for (tensor, what) in [(b, "b"), (a, "A")] {
        if tensor.dim() < 2 {
            return Err(Error::runtime(format!(
                "torch.triangular_solve: Expected {what} to have at least 2 dimensions, but it has {} \
                 dimensions instead",
                tensor.dim()
            )));
        }
    }
    check_same_dtype(b, a, "triangular_solve", "b", "A")?;
    let (wide, columns) = broadcast_batches(a, b)?;
    let system = if transpose { wide.transpose(-2, -1)? } else { wide.clone() };
    let x = solve_triangular(&system, &columns, upper != transpose, true, unit)?;
    Ok([x, wide.copy()?])
}

/// `torch.linalg.cholesky_ex`: the factor and info.
///
/// # Errors
/// For tensors that are no square matrices and dtypes without kernels.
pub fn cholesky_ex(a: &Tensor, upper: bool) -> Result<[Tensor; 2]> {
    check_square(a, "linalg.cholesky", "A")?;
    check_computed(a, "linalg.cholesky")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 4)?;
        let n = matrices.rows;
        let (mut factors, mut info): (Out<T>, Out<i32>) = (matrices.out(&[n, n])?, matrices.out(&[])?);
        for matrix in matrices.matrices() {
            let (factor, code) = match upper {
                true => lower_factor(&matrix.adjoint()),
                false => lower_factor(&matrix),
            };
            factors.push(&if upper { factor.adjoint() } else { factor }.data);
            info.push(&[code]);
        }
        Ok([factors.tensor(a.dtype())?, info.tensor(DType::Int32)?])
    })
}

/// The Cholesky factor of the lower triangle, of which the diagonal counts as real, or the order (from
/// 1) of the minor that is not positive.
fn lower_factor<T: MatrixNumber>(lower: &Matrix<T>) -> (Matrix<T>, i32) {
    if lower.rows <= FEW {
        return factor_columns(lower);
    }
    match lower.hermitian(true).faer().llt(Side::Lower) {
        Ok(factor) => (Matrix::of_faer(factor.L()), 0),
        Err(_) => factor_columns(lower),
    }
}

/// Matrices of so few rows are factored here: preparing a call takes longer.
const FEW: usize = 16;

/// As [`lower_factor`]. Where there is none: the columns before, and the others as they were.
fn factor_columns<T: MatrixNumber>(lower: &Matrix<T>) -> (Matrix<T>, i32) {
    let n = lower.rows;
    let mut factor: Matrix<T> = Matrix::zeros(n, n);
    for j in 0..n {
        let mut pivot = lower[(j, j)].real_part();
        for k in 0..j {
            pivot -= (factor[(j, k)] * factor[(j, k)].conjugate()).real_part();
        }
        if pivot <= 0.0 || pivot.is_nan() {
            for column in j..n {
                for row in column..n {
                    factor[(row, column)] = lower[(row, column)];
                }
            }
            factor[(j, j)] = T::of_real(pivot);
            return (factor, j as i32 + 1);
        }
        let root = T::of_real(pivot.sqrt());
        factor[(j, j)] = root;
        for i in j + 1..n {
            let mut x = lower[(i, j)];
            for k in 0..j {
                x -= factor[(i, k)] * factor[(j, k)].conjugate();
            }
            factor[(i, j)] = x / root;
        }
    }
    (factor, 0)
}

/// `torch.linalg.cholesky`.
///
/// # Errors
/// As [`cholesky_ex`], and for matrices that are not positive-definite.
pub fn cholesky(a: &Tensor, upper: bool) -> Result<Tensor> {
    let [factor, info] = cholesky_ex(a, upper)?;
    check_info(&info, "linalg.cholesky", a.dim() == 2)?;
    Ok(factor)
}

/// `torch.cholesky_inverse`: the inverse of the matrix of which the factor is given.
///
/// # Errors
/// For tensors that are no square matrices and dtypes without kernels.
pub fn cholesky_inverse(factor: &Tensor, upper: bool) -> Result<Tensor> {
    check_square(factor, "cholesky_inverse", "A")?;
    check_float(factor, "cholesky_inverse")?;
    by_number!(factor, T => {
        let matrices = Batch::<T>::read_for(factor, 3)?;
        let n = matrices.rows;
        let mut out: Out<T> = matrices.out(&[n, n])?;
        for matrix in matrices.matrices() {
            out.push(&solve_factored(&matrix, upper, Matrix::identity(n, n)).data);
        }
        out.tensor(factor.dtype())
    })
}

fn solve_factored<T: MatrixNumber>(factor: &Matrix<T>, upper: bool, mut b: Matrix<T>) -> Matrix<T> {
    let other = factor.adjoint();
    let (lower, raised) = if upper { (&other, factor) } else { (factor, &other) };
    substitute(lower, false, false, &mut b);
    substitute(raised, true, false, &mut b);
    b
}

/// `torch.cholesky_solve`: the solution for the matrix of which the factor is given.
///
/// # Errors
/// For sizes that do not fit and dtypes that differ or have no kernels.
pub fn cholesky_solve(b: &Tensor, factor: &Tensor, upper: bool) -> Result<Tensor> {
    for (tensor, name) in [(b, "b"), (factor, "u")] {
        if tensor.dim() < 2 {
            return Err(Error::runtime(format!(
                "{name} should have at least 2 dimensions, but has {} dimensions instead",
                tensor.dim()
            )));
        }
    }
    check_square(factor, "cholesky_solve", "A")?;
    check_float(factor, "cholesky_solve")?;
    check_same_dtype(b, factor, "cholesky_solve", "b", "A")?;
    check_fit(factor, b, true, "cholesky_solve")?;
    let (factor, b) = broadcast_batches(factor, b)?;
    by_number!(factor, T => {
        let [factors, sides] = Batch::<T>::read_both((&factor, 2), (&b, 1))?;
        let mut x: Out<T> = sides.out(&[sides.rows, sides.cols])?;
        for (factor, side) in factors.matrices().zip(sides.matrices()) {
            x.push(&solve_factored(&factor, upper, side).data);
        }
        x.tensor(b.dtype())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_matrices_are_factored_alike() {
        for n in [1, 2, 5, FEW, FEW + 1, 20] {
            let root = Matrix::<f64>::from_fn(n, n, |i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0);
            let mut matrix = root.times(&root.adjoint());
            (0..n).for_each(|i| matrix[(i, i)] += 1.0);
            for (factor, code) in [lower_factor(&matrix), factor_columns(&matrix)] {
                assert_eq!(code, 0);
                let again = factor.times(&factor.adjoint());
                let near = again.data.iter().zip(&matrix.data).all(|(a, b)| (a - b).abs() < 1e-9);
                assert!(near, "{n} rows");
            }
            matrix[(n - 1, n - 1)] = -1.0;
            assert_eq!(lower_factor(&matrix).1, n as i32);
            assert_eq!(factor_columns(&matrix).1, n as i32);
        }
    }

    #[test]
    fn what_has_no_factor_keeps_the_columns_that_follow() {
        // As torch.linalg.cholesky_ex gives.
        let numbers = [4.0, 2.0, 6.0, 2.0, -3.0, 5.0, 6.0, 5.0, 30.0];
        let matrix = Tensor::from_slice(&numbers, &[3, 3]).unwrap();
        let [factor, info] = cholesky_ex(&matrix, false).unwrap();
        let expected = [2.0, 0.0, 0.0, 1.0, -4.0, 0.0, 3.0, 5.0, 30.0];
        assert_eq!(factor.to_vec::<f64>().unwrap(), expected);
        assert_eq!(info.to_vec::<i32>().unwrap(), [2]);
    }
}
