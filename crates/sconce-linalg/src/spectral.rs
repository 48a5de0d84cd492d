//! Singular values and eigenvalues, by the steps of LAPACK for small matrices and through faer for others, and
//! what is made of them.

use faer::Side;
use num_complex::Complex64;
use sconce_kernels::layout::broadcast;
use sconce_kernels::{
    BinaryOp, DType, Error, Operand, Result, Scalar, Tensor, UnaryOp, amax, binary, complex_dtype,
    conj, count_nonzero, matmul, real_dtype, sum, unary, where_,
};

use crate::dense::{
    Batch, Matrix, MatrixNumber, Out, by_number, check_computed, check_float, check_matrices,
    check_square,
};
use crate::eigen::Eigen;
use crate::hessenberg::Decomposed;
use crate::rotations::Precision;
use crate::{bidiagonal, symmetric};

fn not_finite(function: &str, single: bool, at: usize) -> Error {
    let place = if single { String::new() } else { format!("(Batch element {at}): ") };
    Error::runtime(format!(
        "{function}: {place}The algorithm failed to converge because the input matrix contained \
         non-finite values."
    ))
}

fn no_convergence(function: &str) -> Error {
    Error::runtime(format!(
        "{function}: The algorithm failed to converge because the input matrix is ill-conditioned \
         or has too many repeated singular values (error code: 1)."
    ))
}

/// U, the singular values from the greatest, and the conjugate transpose of V.
struct Svd<T> {
    u: Matrix<T>,
    s: Vec<f64>,
    vh: Matrix<T>,
}

fn decompose<T: MatrixNumber>(a: &Matrix<T>, full: bool, precision: Precision) -> Result<Svd<T>> {
    let least = a.rows.min(a.cols);
    if least == 0 {
        let width = |n: usize| if full { n } else { 0 };
        let u = Matrix::identity(a.rows, width(a.rows));
        return Ok(Svd { u, s: Vec::new(), vh: Matrix::identity(width(a.cols), a.cols) });
    }
    if least <= bidiagonal::MOST {
        let unit = precision.unit(a.greatest());
        let found = bidiagonal::singular(&a.divided(unit), full, precision);
        let (u, mut s, vh) = found.ok_or_else(|| no_convergence("linalg.svd"))?;
        s.iter_mut().for_each(|value| *value *= unit);
        return Ok(Svd { u, s, vh });
    }
    let svd = if full { a.faer().svd() } else { a.faer().thin_svd() };
    let svd = svd.map_err(|_| no_convergence("linalg.svd"))?;
    let values = svd.S().column_vector();
    Ok(Svd {
        u: Matrix::of_faer(svd.U()),
        s: (0..least).map(|i| values[i].real_part()).collect(),
        vh: Matrix::of_faer(svd.V()).adjoint(),
    })
}

/// `torch.linalg.svd`: U, S and Vᴴ. Where one side has no more than 25 rows, vectors have PyTorch's signs but for
/// rare cases; those of greater matrices have signs of their own.
///
/// # Errors
/// For values that are not finite, tensors that are no matrices and dtypes without kernels.
pub fn svd(a: &Tensor, full: bool) -> Result<[Tensor; 3]> {
    check_matrices(a, "linalg.svd", "A")?;
    check_computed(a, "linalg.svd")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 8)?;
        let (m, n) = (matrices.rows, matrices.cols);
        let k = m.min(n);
        let mut u: Out<T> = matrices.out(&[if full { m } else { k }, m])?;
        let mut s: Out<f64> = matrices.out(&[k])?;
        let mut vh: Out<T> = matrices.out(&[n, if full { n } else { k }])?;
        for (at, matrix) in matrices.matrices().enumerate() {
            if !matrix.is_finite() {
                return Err(not_finite("linalg.svd", a.dim() == 2, at));
            }
            let svd = decompose(&matrix, full, Precision::of(a.dtype()))?;
            u.push(&svd.u.transpose().data);
            s.push(&svd.s);
            vh.push(&svd.vh.transpose().data);
        }
        Ok([u.columns(a.dtype())?, s.tensor(real_dtype(a.dtype()))?, vh.columns(a.dtype())?])
    })
}

/// `torch.linalg.svdvals`: not numbers where the matrix is infinite.
///
/// # Errors
/// As [`svd`], which refuses infinite ones.
pub fn svdvals(a: &Tensor) -> Result<Tensor> {
    check_matrices(a, "linalg.svdvals", "A")?;
    check_computed(a, "linalg.svdvals")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 3)?;
        let mut s: Out<f64> = matrices.out(&[matrices.rows.min(matrices.cols)])?;
        for (at, matrix) in matrices.matrices().enumerate() {
            if matrix.has_nan() {
                return Err(not_finite("linalg.svd", a.dim() == 2, at));
            }
            if !matrix.is_finite() {
                s.push(&vec![f64::NAN; matrix.rows.min(matrix.cols)]);
            } else if !matrix.data.is_empty() {
                s.push(&matrix.faer().singular_values().map_err(|_| no_convergence("linalg.svd"))?);
            }
        }
        s.tensor(real_dtype(a.dtype()))
    })
}

/// Checks what [`eigh`] and [`eigvalsh`] take; whether the lower triangle is meant.
fn check_eigh(a: &Tensor, uplo: &str) -> Result<bool> {
    check_square(a, "linalg.eigh", "A")?;
    check_computed(a, "linalg.eigh")?;
    match uplo {
        "L" | "l" => Ok(true),
        "U" | "u" => Ok(false),
        other => {
            Err(Error::runtime(format!("Expected UPLO argument to be 'L' or 'U', but got {other}")))
        }
    }
}

/// `torch.linalg.eigh`: eigenvalues from the least, and eigenvectors, of the triangle `uplo`. Signs are as for
/// [`svd`].
///
/// # Errors
/// For tensors that are no square matrices and dtypes without kernels.
pub fn eigh(a: &Tensor, uplo: &str) -> Result<[Tensor; 2]> {
    let lower = check_eigh(a, uplo)?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 6)?;
        let n = matrices.rows;
        let (mut values, mut vectors): (Out<f64>, Out<T>) = (matrices.out(&[n])?, matrices.out(&[n, n])?);
        for matrix in matrices.matrices() {
            let (w, v) = decompose_symmetric(&matrix, lower, Precision::of(a.dtype()))?;
            values.push(&w);
            vectors.push(&v.transpose().data);
        }
        Ok([values.tensor(real_dtype(a.dtype()))?, vectors.columns(a.dtype())?])
    })
}

fn decompose_symmetric<T: MatrixNumber>(
    a: &Matrix<T>,
    lower: bool,
    precision: Precision,
) -> Result<(Vec<f64>, Matrix<T>)> {
    let n = a.rows;
    if n == 0 {
        return Ok((Vec::new(), Matrix::zeros(0, 0)));
    }
    let Some(whole) = finite_hermitian(a, lower) else {
        refuse_nan(a, lower, 1)?;
        let nan = T::of_real(f64::NAN);
        return Ok((vec![f64::NAN; n], Matrix::from_fn(n, n, |_, _| nan)));
    };
    if n <= symmetric::MOST {
        let unit = precision.unit(whole.greatest());
        let found = symmetric::eigen(&whole.divided(unit), lower, precision);
        let (mut values, vectors) = found.ok_or_else(eigh_diverges)?;
        values.iter_mut().for_each(|value| *value *= unit);
        return Ok((values, vectors));
    }
    let evd = whole.faer().self_adjoint_eigen(Side::Lower).map_err(|_| eigh_diverges())?;
    let values = evd.S().column_vector();
    Ok(((0..n).map(|i| values[i].real_part()).collect(), Matrix::of_faer(evd.U())))
}

/// The Hermitian matrix of one triangle, if all of that is finite.
fn finite_hermitian<T: MatrixNumber>(a: &Matrix<T>, lower: bool) -> Option<Matrix<T>> {
    let whole = a.hermitian(lower);
    let diagonal = (0..a.rows).all(|i| a[(i, i)].imaginary_part().is_finite());
    (diagonal && whole.is_finite()).then_some(whole)
}

fn eigh_diverges() -> Error {
    eigh_diverges_by(1)
}

fn eigh_diverges_by(code: usize) -> Error {
    Error::runtime(format!(
        "linalg.eigh: The algorithm failed to converge because the input matrix is \
         ill-conditioned or has too many repeated eigenvalues (error code: {code})."
    ))
}

/// Refuses a matrix of more than two rows with NaN beside the diagonal of the triangle that is looked at: none of its
/// off-diagonals becomes small. All but so many of its rows are then what the code names.
fn refuse_nan<T: MatrixNumber>(a: &Matrix<T>, lower: bool, less: usize) -> Result<()> {
    let n = a.rows;
    let beside = |i: usize, j: usize| if lower { j < i } else { j > i };
    let mut places = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let is_nan = |x: T| x.real_part().is_nan() || x.imaginary_part().is_nan();
    match n > 2 && places.any(|(i, j)| beside(i, j) && is_nan(a[(i, j)])) {
        true => Err(eigh_diverges_by(n - less)),
        false => Ok(()),
    }
}

/// `torch.linalg.eigvalsh`: the eigenvalues of [`eigh`] alone.
///
/// # Errors
/// As [`eigh`].
pub fn eigvalsh(a: &Tensor, uplo: &str) -> Result<Tensor> {
    let lower = check_eigh(a, uplo)?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 2)?;
        let n = matrices.rows;
        let mut values: Out<f64> = matrices.out(&[n])?;
        for matrix in matrices.matrices().filter(|_| n > 0) {
            match finite_hermitian(&matrix, lower) {
                Some(whole) => {
                    let found = whole.faer().self_adjoint_eigenvalues(Side::Lower);
                    values.push(&found.map_err(|_| eigh_diverges())?);
                }
                None => {
                    refuse_nan(&matrix, lower, 2)?;
                    values.push(&vec![f64::NAN; n]);
                }
            }
        }
        values.tensor(real_dtype(a.dtype()))
    })
}

/// `torch.linalg.eig`: eigenvalues and eigenvectors of length 1, complex. Those of a real matrix of up to 75 rows
/// have PyTorch's order, and its signs but for some pairs.
///
/// # Errors
/// For values that are not finite, tensors that are no square matrices and dtypes without kernels.
pub fn eig(a: &Tensor) -> Result<[Tensor; 2]> {
    check_square(a, "linalg.eig", "A")?;
    check_float(a, "linalg.eig")?;
    let out = complex_dtype(a.dtype())?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 6)?;
        let n = matrices.rows;
        let mut values: Out<Complex64> = matrices.out(&[n])?;
        let mut vectors: Out<Complex64> = matrices.out(&[n, n])?;
        for matrix in matrices.matrices() {
            let (w, v) = decompose_general(&matrix, Precision::of(a.dtype()))?;
            values.push(&w);
            vectors.push(&v.transpose().data);
        }
        Ok([values.tensor(out)?, vectors.columns(out)?])
    })
}

/// `torch.linalg.eigvals`: the eigenvalues of [`eig`] alone.
///
/// # Errors
/// As [`eig`].
pub fn eigvals(a: &Tensor) -> Result<Tensor> {
    check_square(a, "linalg.eig", "A")?;
    check_float(a, "linalg.eig")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 2)?;
        let mut values: Out<Complex64> = matrices.out(&[matrices.rows])?;
        for matrix in matrices.matrices().filter(|matrix| matrix.rows > 0) {
            check_eig(&matrix)?;
            values.push(&T::eigen(&matrix, false, Precision::of(a.dtype())).ok_or_else(eig_diverges)?.0);
        }
        values.tensor(complex_dtype(a.dtype())?)
    })
}

fn check_eig<T: MatrixNumber>(a: &Matrix<T>) -> Result<()> {
    match a.is_finite() {
        true => Ok(()),
        false => {
            Err(Error::runtime("torch.linalg.eig: input tensor should not contain infs or NaNs."))
        }
    }
}

fn eig_diverges() -> Error {
    Error::runtime(
        "torch.linalg.eig: The algorithm failed to converge because the input matrix is \
         ill-conditioned or has too many repeated eigenvalues (error code: 1).",
    )
}

fn decompose_general<T: MatrixNumber + Eigen>(
    a: &Matrix<T>,
    precision: Precision,
) -> Result<Decomposed> {
    if a.rows == 0 {
        return Ok((Vec::new(), Matrix::zeros(0, 0)));
    }
    check_eig(a)?;
    T::eigen(a, true, precision).ok_or_else(eig_diverges)
}

/// What counts as zero among singular values: the greater of `atol` and `rtol` times the greatest.
#[derive(Debug, Clone, Default)]
pub struct Tolerance {
    /// Absolute; 0 by default.
    pub atol: Option<Tensor>,
    /// Relative; the epsilon of the dtype times the longer side by default, or 0 where the
    /// absolute one is above 0.
    pub rtol: Option<Tensor>,
}

impl Tolerance {
    fn resolve(&self, a: &Tensor, function: &str) -> Result<(Tensor, Tensor)> {
        let real = real_dtype(a.dtype());
        for (given, name) in [(&self.atol, "atol"), (&self.rtol, "rtol")] {
            if given.as_ref().is_some_and(|given| given.dtype().is_complex()) {
                return Err(Error::runtime(format!(
                    "{function}: {name} tensor of complex type is not supported. Got {}",
                    given.as_ref().map_or("", |given| given.dtype().scalar_type_name())
                )));
            }
        }
        let zero = Tensor::zeros(&[], real)?;
        let longest = a.size(-2)?.max(a.size(-1)?) as f64;
        let epsilon = if real == DType::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let usual = Tensor::scalar(Scalar::Float(longest * epsilon), real)?;
        let atol = self.atol.clone().unwrap_or_else(|| zero.clone());
        let rtol = match (&self.rtol, &self.atol) {
            (Some(rtol), _) => rtol.clone(),
            (None, None) => usual,
            (None, Some(atol)) => {
                let above = binary(BinaryOp::Gt, atol.into(), Scalar::Int(0).into())?;
                where_(&above, (&zero).into(), (&usual).into())?
            }
        };
        Ok((atol, rtol))
    }
}

/// Which of `values` (last dimension) are above the tolerance.
fn above(values: &Tensor, a: &Tensor, tolerance: &Tolerance, function: &str) -> Result<Tensor> {
    let (atol, rtol) = tolerance.resolve(a, function)?;
    let greatest = amax(values, &[-1], true)?;
    let relative = binary(BinaryOp::Mul, (&rtol.unsqueeze(-1)?).into(), (&greatest).into())?;
    let limit = binary(BinaryOp::Maximum, (&atol.unsqueeze(-1)?).into(), (&relative).into())?;
    binary(BinaryOp::Gt, values.into(), (&limit).into())
}

/// Singular values, or the sizes of the eigenvalues of a Hermitian matrix.
fn magnitudes(a: &Tensor, hermitian: bool) -> Result<Tensor> {
    match hermitian {
        true => unary(UnaryOp::Abs, &eigh(a, "L")?[0]),
        false => svdvals(a),
    }
}

/// `torch.linalg.matrix_rank`.
///
/// # Errors
/// As [`svd`].
pub fn matrix_rank(a: &Tensor, tolerance: &Tolerance, hermitian: bool) -> Result<Tensor> {
    check_matrices(a, "linalg.matrix_rank", "A")?;
    check_float(a, "linalg.matrix_rank")?;
    tolerance.resolve(a, "torch.linalg.matrix_rank")?;
    if a.numel() == 0 {
        return Tensor::zeros(&a.sizes()[..a.dim() - 2], DType::Int64);
    }
    let values = magnitudes(a, hermitian)?;
    sum(
        &above(&values, a, tolerance, "torch.linalg.matrix_rank")?,
        &[-1],
        false,
        Some(DType::Int64),
    )
}

fn adjoint(a: &Tensor) -> Result<Tensor> {
    conj(&a.transpose(-2, -1)?)
}

fn times(a: &Tensor, b: Operand<'_>) -> Result<Tensor> {
    binary(BinaryOp::Mul, a.into(), b)
}

/// `torch.linalg.pinv`.
///
/// # Errors
/// As [`svd`].
pub fn pinv(a: &Tensor, tolerance: &Tolerance, hermitian: bool) -> Result<Tensor> {
    check_matrices(a, "linalg.pinv", "A")?;
    check_float(a, "linalg.pinv")?;
    tolerance.resolve(a, "torch.linalg.pinv")?;
    if a.numel() == 0 {
        let mut sizes = a.sizes().to_vec();
        let dims = sizes.len();
        sizes.swap(dims - 1, dims - 2);
        return Tensor::zeros(&sizes, a.dtype());
    }
    // In double precision until the end, since reciprocals are large.
    let wide =
        a.to_dtype(if a.dtype().is_complex() { DType::Complex128 } else { DType::Float64 })?;
    let factors = match hermitian {
        true => {
            let [values, vectors] = eigh(&wide, "L")?;
            [vectors.clone(), values, adjoint(&vectors)?]
        }
        false => svd(&wide, false)?,
    };
    let sizes = unary(UnaryOp::Abs, &factors[1])?;
    let kept = above(&sizes, a, tolerance, "torch.linalg.pinv")?;
    inverse_of(&factors, &kept)?.to_dtype(a.dtype())
}

/// The pseudoinverse of a singular value decomposition, of the values of which some are kept.
fn inverse_of([u, values, vh]: &[Tensor; 3], kept: &Tensor) -> Result<Tensor> {
    let inverse = unary(UnaryOp::Reciprocal, values)?;
    let inverse = where_(kept, (&inverse).into(), Scalar::Float(0.0).into())?;
    let scaled = times(&adjoint(vh)?, (&inverse.unsqueeze(-2)?).into())?;
    matmul(&scaled, &adjoint(u)?)
}

/// `torch.linalg.lstsq`: solution, residuals, rank and singular values. The driver says which of
/// the last three there are.
///
/// # Errors
/// For sizes that do not fit, unknown drivers and dtypes that differ or have no kernels.
pub fn lstsq(
    a: &Tensor,
    b: &Tensor,
    rcond: Option<f64>,
    driver: Option<&str>,
) -> Result<[Tensor; 4]> {
    let name = "torch.linalg.lstsq";
    // In any case of letters.
    let driver = &*driver.unwrap_or("gelsy").to_ascii_lowercase();
    if a.dim() < 2 {
        return Err(Error::runtime(format!("{name}: input must have at least 2 dimensions.")));
    }
    if b.dim() < 1 {
        return Err(Error::runtime(format!("{name}: other must have at least 1 dimension.")));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "{name}: Expected input and other to have the same dtype, but got input's dtype {} and \
             other's dtype {}",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    check_float(a, name)?;
    if !["gels", "gelsy", "gelsd", "gelss"].contains(&driver) {
        return Err(Error::runtime(format!(
            "{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )));
    }
    if b.dim() > a.dim() || a.dim() - b.dim() > 1 {
        return Err(Error::runtime(format!(
            "{name}: input.dim() must be greater or equal to other.dim() and \
             (input.dim() - other.dim()) <= 1"
        )));
    }
    let vector = crate::lu::is_vector(a, b);
    if a.dim() != b.dim() && !vector {
        // PyTorch takes them for vectors all the same.
        broadcast(&a.sizes()[..a.dim() - 2], &b.sizes()[..b.dim() - 1])?;
    }
    let b = if vector { b.unsqueeze(-1)? } else { b.clone() };
    let (m, n) = (a.size(-2)?, a.size(-1)?);
    if b.size(-2)? != m {
        return Err(Error::runtime(format!(
            "{name}: input.size(-2) should match other.size(-{})",
            if vector { 1 } else { 2 }
        )));
    }
    crate::dense::broadcast_batches(a, &b)?;
    let real = real_dtype(a.dtype());
    let epsilon = if real == DType::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    if rcond.is_some_and(f64::is_nan) {
        return Err(Error::runtime(format!("{name}: rcond must be a number, but got NaN")));
    }
    let rcond = rcond.unwrap_or(epsilon * m.max(n) as f64);
    let relative = if driver == "gels" { 0.0 } else { rcond.max(0.0) };
    let tolerance = Tolerance {
        atol: None,
        rtol: Some(Tensor::scalar(Scalar::Float(relative), DType::Float64)?),
    };
    let wide =
        a.to_dtype(if a.dtype().is_complex() { DType::Complex128 } else { DType::Float64 })?;
    let wide_b = b.to_dtype(wide.dtype())?;
    let (inverse, rank) = match wide.numel() {
        0 => (pinv(&wide, &tolerance, false)?, matrix_rank(&wide, &tolerance, false)?),
        _ => {
            let factors = svd(&wide, false)?;
            let kept = above(&factors[1], &wide, &tolerance, name)?;
            let rank = sum(&kept, &[-1], false, Some(DType::Int64))?;
            (inverse_of(&factors, &kept)?, rank)
        }
    };
    let x = matmul(&inverse, &wide_b)?;
    let full = driver == "gels"
        || count_nonzero(&binary(BinaryOp::Ne, (&rank).into(), Scalar::Int(n).into())?)?
            .item()?
            .to_i64()
            == 0;
    let residuals = match m > n && full && driver != "gelsy" {
        true => {
            let off =
                sconce_kernels::sub((&matmul(&wide, &x)?).into(), (&wide_b).into(), 1.into())?;
            let off = unary(UnaryOp::Square, &unary(UnaryOp::Abs, &off)?)?;
            sum(&off, &[-2], false, None)?
        }
        false => Tensor::zeros(&[0], DType::Float64)?,
    };
    let rank = match driver {
        "gels" => Tensor::zeros(&[0], DType::Int64)?,
        _ if x.numel() == 0 => Tensor::zeros(rank.sizes(), DType::Int64)?,
        _ => rank,
    };
    let values = match driver {
        "gelsd" | "gelss" => svdvals(&wide)?,
        _ => Tensor::zeros(&[0], DType::Float64)?,
    };
    let x = if vector { x.squeeze(Some(&[-1]))? } else { x };
    Ok([x.to_dtype(a.dtype())?, residuals.to_dtype(real)?, rank, values.to_dtype(real)?])
}

/// `torch.linalg.polar`: U and H with `A = U H`.
///
/// # Errors
/// As [`svd`].
pub fn polar_decomposition(a: &Tensor) -> Result<[Tensor; 2]> {
    check_matrices(a, "linalg.polar", "A")?;
    check_computed(a, "linalg.polar")?;
    let (rows, cols) = (a.size(-2)?, a.size(-1)?);
    if rows < cols {
        return Err(Error::runtime(format!(
            "linalg.polar: input must have at least as many rows as columns, but got {rows} by {cols} \
             matrices"
        )));
    }
    let wide =
        a.to_dtype(if a.dtype().is_complex() { DType::Complex128 } else { DType::Float64 })?;
    let [u, s, vh] = svd(&wide, false)?;
    let unitary = matmul(&u, &vh)?;
    let scaled = times(&adjoint(&vh)?, (&s.unsqueeze(-2)?).into())?;
    Ok([unitary.to_dtype(a.dtype())?, matmul(&scaled, &vh)?.to_dtype(a.dtype())?])
}

/// `torch.linalg.matrix_sqrth`: the square root of a Hermitian matrix; eigenvalues below 0
/// count as 0.
///
/// # Errors
/// As [`eigh`].
pub fn matrix_sqrth(a: &Tensor) -> Result<Tensor> {
    check_square(a, "linalg.matrix_sqrth", "A")?;
    check_float(a, "linalg.matrix_sqrth")?;
    let wide =
        a.to_dtype(if a.dtype().is_complex() { DType::Complex128 } else { DType::Float64 })?;
    let [values, vectors] = eigh(&wide, "L")?;
    let values = sconce_kernels::clamp(&values, Some(Scalar::Int(0).into()), None)?;
    let roots = unary(UnaryOp::Sqrt, &values)?;
    let scaled = times(&vectors, (&roots.unsqueeze(-2)?).into())?;
    matmul(&scaled, &adjoint(&vectors)?)?.to_dtype(a.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(i: usize, j: usize) -> f64 {
        ((i * 37 + j * 91 + i * j) % 29) as f64 * 0.1 - 1.4
    }

    fn matrix(rows: usize, cols: usize) -> Tensor {
        let data: Vec<f64> = (0..rows * cols).map(|at| number(at / cols, at % cols)).collect();
        Tensor::from_slice(&data, &[rows as i64, cols as i64]).unwrap()
    }

    fn symmetric(n: usize) -> Tensor {
        let data: Vec<f64> =
            (0..n * n).map(|at| (number(at / n, at % n) + number(at % n, at / n)) / 2.0).collect();
        Tensor::from_slice(&data, &[n as i64, n as i64]).unwrap()
    }

    /// A Hermitian matrix of which [`symmetric`] is the real part.
    fn hermitian(n: usize) -> Tensor {
        let data: Vec<Complex64> = (0..n * n)
            .map(|at| (number(at / n, at % n), number(at % n, at / n)))
            .map(|(a, b)| Complex64::new((a + b) / 2.0, (a - b) / 2.0))
            .collect();
        Tensor::from_slice(&data, &[n as i64, n as i64]).unwrap()
    }

    fn complex(tensor: &Tensor) -> Vec<Complex64> {
        tensor.to_dtype(DType::Complex128).unwrap().to_vec().unwrap()
    }

    fn assert_near(found: &Tensor, expected: &Tensor, what: &str) {
        assert_eq!(found.sizes(), expected.sizes(), "{what}");
        for (at, (a, b)) in complex(found).iter().zip(complex(expected)).enumerate() {
            assert!((a - b).norm() < 1e-9, "{what}, {at}: {a} instead of {b}");
        }
    }

    fn assert_orthonormal(q: &Tensor, what: &str) {
        let n = q.size(-1).unwrap();
        let identity = sconce_kernels::eye(n, n, q.dtype()).unwrap();
        assert_near(&matmul(&adjoint(q).unwrap(), q).unwrap(), &identity, what);
    }

    /// The first row of a matrix against what PyTorch 2.15 computes on x86-64.
    fn assert_begins(found: &Tensor, expected: &[(f64, f64)]) {
        assert_eq!(found.size(-1).unwrap() as usize, expected.len());
        for (a, &(re, im)) in complex(found).iter().zip(expected) {
            assert!((a - Complex64::new(re, im)).norm() < 2e-6, "{found:?}: {a}, not {re}, {im}");
        }
    }

    fn real(numbers: &[f64]) -> Vec<(f64, f64)> {
        numbers.iter().map(|&x| (x, 0.0)).collect()
    }

    #[test]
    fn what_is_not_finite_counts_in_the_triangle_that_is_looked_at() {
        let a = symmetric(5);
        let place = |number: f64| {
            let a = a.copy().unwrap();
            a.select(0, 1).unwrap().select(0, 4).unwrap().fill(Scalar::Float(number)).unwrap();
            a
        };
        // torch.linalg.eigh(a, "U") and eigvalsh with a[1, 4] = nan
        for (code, error) in [
            (4, eigh(&place(f64::NAN), "U").unwrap_err()),
            (3, eigvalsh(&place(f64::NAN), "U").unwrap_err()),
        ] {
            assert!(error.message().ends_with(&format!("(error code: {code}).")), "{error}");
        }
        let plain = |tensor: &Tensor| tensor.to_vec::<f64>().unwrap();
        let found = eigvalsh(&place(f64::NAN), "L").unwrap();
        assert_eq!(plain(&found), plain(&eigvalsh(&a, "L").unwrap()));
        let found = eigvalsh(&place(f64::INFINITY), "U").unwrap();
        assert!(plain(&found).iter().all(|x| x.is_nan()));
        // torch.linalg.cond(a, inf) with the same
        let infinite = crate::norms::Order::Number(f64::INFINITY);
        let found = crate::norms::cond(&place(f64::NAN), Some(&infinite)).unwrap();
        assert_eq!(plain(&found), [f64::INFINITY]);
        let b = matrix(5, 1);
        assert!(lstsq(&a, &b, Some(f64::NAN), None).unwrap_err().message().contains("rcond"));
    }

    #[test]
    fn vectors_have_the_signs_of_pytorch() {
        let signs = [-0.891987, 0.086957, 0.408248, -0.173584];
        assert_begins(&eigh(&symmetric(4), "L").unwrap()[1], &real(&signs));
        assert_begins(&eigh(&symmetric(4), "U").unwrap()[1], &real(&signs.map(f64::abs)));
        assert_begins(
            &eigh(&hermitian(4), "L").unwrap()[1],
            &[(0.892813, 0.0), (-0.223797, 0.0), (0.330530, 0.0), (-0.208685, 0.0)],
        );
        assert_begins(
            &eigh(&hermitian(4), "U").unwrap()[1],
            &[
                (0.728081, -0.516734),
                (-0.181732, -0.130609),
                (-0.055589, -0.325822),
                (0.189680, -0.087010),
            ],
        );
        for (m, n, u, vh) in [
            (4, 4, &[-0.560503, -0.605270, -0.514326, 0.234422][..], &[0.249295, 0.675157][..]),
            (4, 3, &[-0.639528, 0.579219, -0.298064, -0.408248], &[0.272762, 0.706792]),
            (3, 4, &[0.689499, 0.693376, -0.209336], &[-0.526981, -0.553277]),
            (1, 1, &[-1.0], &[1.0]),
        ] {
            let [left, _, right] = svd(&matrix(m, n), true).unwrap();
            assert_begins(&left, &real(u));
            assert_begins(&right.narrow(-1, 0, vh.len() as i64).unwrap(), &real(vh));
        }
        let pair = [(0.005303, 0.242286), (0.005303, -0.242286)];
        let expected = [(0.831554, 0.0), pair[0], pair[1], (-0.156196, 0.0)];
        assert_begins(&eig(&matrix(4, 4)).unwrap()[1], &expected);
        let single = matrix(4, 4).to_dtype(DType::Float32).unwrap();
        let [a, b, c, d] = expected;
        let turned = [a, b, c].map(|(re, im)| (-re, -im));
        assert_begins(&eig(&single).unwrap()[1], &[turned[0], turned[1], turned[2], d]);
    }

    #[test]
    fn vectors_of_equal_values_have_the_order_of_pytorch() {
        // The row in which each column of U has its number.
        let diagonals: [(&[f64], &[usize]); 4] = [
            (&[1.0, 1.0, 1.0, 0.0, 0.0], &[2, 0, 1, 4, 3]),
            (&[1.0, 1.0, 0.0], &[1, 0, 2]),
            (&[-2.0, 2.0, 0.0, 2.0], &[1, 3, 0, 2]),
            (&[3.0, 0.0, 0.0], &[0, 2, 1]),
        ];
        for (diagonal, rows) in diagonals {
            let n = diagonal.len();
            let at = |i: usize| if i.is_multiple_of(n + 1) { diagonal[i / n] } else { 0.0 };
            let data: Vec<f64> = (0..n * n).map(at).collect();
            let a = Tensor::from_slice(&data, &[n as i64, n as i64]).unwrap();
            let u: Vec<f64> = svd(&a, true).unwrap()[0].to_vec().unwrap();
            let is_set = |column: usize| (0..n).find(|row| u[row * n + column] != 0.0).unwrap();
            assert_eq!((0..n).map(is_set).collect::<Vec<_>>(), rows, "{diagonal:?}");
        }
    }

    #[test]
    fn factors_give_the_matrix_again() {
        // Sides on both sides of where matrices are divided.
        for (m, n) in
            [(1, 5), (2, 2), (5, 3), (3, 5), (8, 8), (25, 25), (25, 60), (60, 25), (30, 27)]
        {
            for full in [false, true] {
                let what = format!("{m} x {n}, {full}");
                let a = matrix(m, n);
                let [u, s, vh] = svd(&a, full).unwrap();
                let k = m.min(n) as i64;
                let scaled = times(&u.narrow(-1, 0, k).unwrap(), (&s).into()).unwrap();
                let product = matmul(&scaled, &vh.narrow(-2, 0, k).unwrap()).unwrap();
                assert_near(&product, &a, &what);
                assert_orthonormal(&u, &what);
                assert_orthonormal(&adjoint(&vh).unwrap(), &what);
            }
        }
        for n in [1, 2, 3, 9, 25, 30] {
            for (a, uplo) in [symmetric(n), hermitian(n)].iter().zip(["L", "U"]) {
                let [w, v] = eigh(a, uplo).unwrap();
                let scaled = times(&v, (&w).into()).unwrap();
                assert_near(&matmul(&scaled, &adjoint(&v).unwrap()).unwrap(), a, uplo);
                assert_orthonormal(&v, uplo);
            }
        }
    }

    #[test]
    fn great_and_small_numbers_are_decomposed_alike() {
        let sizes = [
            (DType::Float64, [1e-300, 1e-120, 1e150, 1e300]),
            (DType::Float32, [1e-37, 1e-18, 1e-6, 1e37]),
        ];
        for (dtype, factors) in sizes {
            let scaled = |a: &Tensor, by: f64| {
                times(a, Scalar::Float(by).into()).unwrap().to_dtype(dtype).unwrap()
            };
            for factor in factors {
                let close = |found: &Tensor, expected: &Tensor, by: f64| {
                    for (a, b) in complex(found).iter().zip(complex(expected)) {
                        assert!((a / by - b).norm() < 1e-5, "{dtype:?}, {factor:e}: {a}, {b}");
                    }
                };
                let a = scaled(&matrix(5, 4), factor);
                let [u, s, _] = svd(&a, false).unwrap();
                let [u_expected, s_expected, _] = svd(&matrix(5, 4), false).unwrap();
                close(&s, &s_expected, factor);
                close(&u, &u_expected, 1.0);
                let [w, v] = eigh(&scaled(&symmetric(5), factor), "L").unwrap();
                let [w_expected, v_expected] =
                    eigh(&symmetric(5).to_dtype(dtype).unwrap(), "L").unwrap();
                close(&w, &w_expected, factor);
                close(&v, &v_expected, 1.0);
                let values = eigvals(&scaled(&matrix(5, 5), factor)).unwrap();
                close(&values, &eigvals(&matrix(5, 5)).unwrap(), factor);
            }
        }
    }

    #[test]
    fn matrices_with_zeros_are_decomposed() {
        for n in [1, 2, 6, 25] {
            let zeros = Tensor::zeros(&[n, n], DType::Float64).unwrap();
            let identity = sconce_kernels::eye(n, n, DType::Float64).unwrap();
            for a in [&zeros, &identity] {
                assert_orthonormal(&svd(a, true).unwrap()[0], "svd");
                assert_orthonormal(&eigh(a, "L").unwrap()[1], "eigh");
                assert_near(&eig(a).unwrap()[1], &complex_of(&identity), "eig");
            }
            // Ones above the diagonal: no eigenvalue but 0, and one eigenvector.
            let data: Vec<f64> =
                (0..n * n).map(|at| f64::from(u8::from(at % n == at / n + 1))).collect();
            let jordan = Tensor::from_slice(&data, &[n, n]).unwrap();
            let [w, v] = eig(&jordan).unwrap();
            assert_near(&w, &complex_of(&Tensor::zeros(&[n], DType::Float64).unwrap()), "jordan");
            assert!(complex(&v).iter().all(|x| x.re.is_finite() && x.im == 0.0));
        }
    }

    fn complex_of(tensor: &Tensor) -> Tensor {
        tensor.to_dtype(DType::Complex128).unwrap()
    }
}
