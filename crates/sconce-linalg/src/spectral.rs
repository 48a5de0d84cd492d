//! Singular values and eigenvalues, through faer, and what is made of them.

use faer::Side;
use num_complex::Complex64;
use sconce_kernels::{
    BinaryOp, DType, Error, Operand, Result, Scalar, Tensor, UnaryOp, amax, binary, complex_dtype,
    conj, count_nonzero, matmul, real_dtype, sum, unary, where_,
};

use crate::dense::{
    Batch, Matrix, Number, Out, by_number, check_float, check_matrices, check_square,
};
use crate::eigen::{Decomposed, Eigen};

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

fn decompose<T: Number>(a: &Matrix<T>, full: bool) -> Result<Svd<T>> {
    let least = a.rows.min(a.cols);
    if least == 0 {
        let width = |n: usize| if full { n } else { 0 };
        let u = Matrix::identity(a.rows, width(a.rows));
        return Ok(Svd { u, s: Vec::new(), vh: Matrix::identity(width(a.cols), a.cols) });
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

/// `torch.linalg.svd`: U, S and Vᴴ.
///
/// # Errors
/// For values that are not finite, tensors that are no matrices and dtypes without kernels.
pub fn svd(a: &Tensor, full: bool) -> Result<[Tensor; 3]> {
    check_matrices(a, "linalg.svd", "A")?;
    check_float(a, "linalg.svd")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read(a)?;
        let (m, n) = (matrices.rows, matrices.cols);
        let k = m.min(n);
        let mut u: Out<T> = matrices.out(&[m, if full { m } else { k }]);
        let mut s: Out<f64> = matrices.out(&[k]);
        let mut vh: Out<T> = matrices.out(&[if full { n } else { k }, n]);
        for (at, matrix) in matrices.matrices().enumerate() {
            if !matrix.is_finite() {
                return Err(not_finite("linalg.svd", a.dim() == 2, at));
            }
            let svd = decompose(&matrix, full)?;
            u.push(&svd.u.data);
            s.push(&svd.s);
            vh.push(&svd.vh.data);
        }
        Ok([u.tensor(a.dtype())?, s.tensor(real_dtype(a.dtype()))?, vh.tensor(a.dtype())?])
    })
}

/// `torch.linalg.svdvals`.
///
/// # Errors
/// As [`svd`].
pub fn svdvals(a: &Tensor) -> Result<Tensor> {
    check_matrices(a, "linalg.svdvals", "A")?;
    check_float(a, "linalg.svdvals")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read(a)?;
        let mut s: Out<f64> = matrices.out(&[matrices.rows.min(matrices.cols)]);
        for (at, matrix) in matrices.matrices().enumerate() {
            if !matrix.is_finite() {
                return Err(not_finite("linalg.svd", a.dim() == 2, at));
            }
            if !matrix.data.is_empty() {
                s.push(&matrix.faer().singular_values().map_err(|_| no_convergence("linalg.svd"))?);
            }
        }
        s.tensor(real_dtype(a.dtype()))
    })
}

/// Checks what [`eigh`] and [`eigvalsh`] take; whether the lower triangle is meant.
fn check_eigh(a: &Tensor, uplo: &str) -> Result<bool> {
    check_square(a, "linalg.eigh", "A")?;
    check_float(a, "linalg.eigh")?;
    match uplo {
        "L" | "l" => Ok(true),
        "U" | "u" => Ok(false),
        other => {
            Err(Error::runtime(format!("Expected UPLO argument to be 'L' or 'U', but got {other}")))
        }
    }
}

/// `torch.linalg.eigh`: eigenvalues from the least, and eigenvectors, of the triangle `uplo`.
///
/// # Errors
/// For tensors that are no square matrices and dtypes without kernels.
pub fn eigh(a: &Tensor, uplo: &str) -> Result<[Tensor; 2]> {
    let lower = check_eigh(a, uplo)?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read(a)?;
        let n = matrices.rows;
        let (mut values, mut vectors): (Out<f64>, Out<T>) = (matrices.out(&[n]), matrices.out(&[n, n]));
        for matrix in matrices.matrices() {
            let (w, v) = decompose_symmetric(&matrix, lower)?;
            values.push(&w);
            vectors.push(&v.data);
        }
        Ok([values.tensor(real_dtype(a.dtype()))?, vectors.tensor(a.dtype())?])
    })
}

fn decompose_symmetric<T: Number>(a: &Matrix<T>, lower: bool) -> Result<(Vec<f64>, Matrix<T>)> {
    let n = a.rows;
    if n == 0 {
        return Ok((Vec::new(), Matrix::zeros(0, 0)));
    }
    let Some(whole) = finite_hermitian(a, lower) else {
        let nan = T::of_real(f64::NAN);
        return Ok((vec![f64::NAN; n], Matrix::from_fn(n, n, |_, _| nan)));
    };
    let evd = whole.faer().self_adjoint_eigen(Side::Lower).map_err(|_| eigh_diverges())?;
    let values = evd.S().column_vector();
    Ok(((0..n).map(|i| values[i].real_part()).collect(), Matrix::of_faer(evd.U())))
}

/// The Hermitian matrix of one triangle, if all of that is finite.
fn finite_hermitian<T: Number>(a: &Matrix<T>, lower: bool) -> Option<Matrix<T>> {
    let whole = a.hermitian(lower);
    let diagonal = (0..a.rows).all(|i| a[(i, i)].imaginary_part().is_finite());
    (diagonal && whole.is_finite()).then_some(whole)
}

fn eigh_diverges() -> Error {
    Error::runtime(
        "linalg.eigh: The algorithm failed to converge because the input matrix is \
         ill-conditioned or has too many repeated eigenvalues (error code: 1).",
    )
}

/// `torch.linalg.eigvalsh`: the eigenvalues of [`eigh`] alone.
///
/// # Errors
/// As [`eigh`].
pub fn eigvalsh(a: &Tensor, uplo: &str) -> Result<Tensor> {
    let lower = check_eigh(a, uplo)?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read(a)?;
        let n = matrices.rows;
        let mut values: Out<f64> = matrices.out(&[n]);
        for matrix in matrices.matrices().filter(|_| n > 0) {
            match finite_hermitian(&matrix, lower) {
                Some(whole) => {
                    let found = whole.faer().self_adjoint_eigenvalues(Side::Lower);
                    values.push(&found.map_err(|_| eigh_diverges())?);
                }
                None => values.push(&vec![f64::NAN; n]),
            }
        }
        values.tensor(real_dtype(a.dtype()))
    })
}

/// `torch.linalg.eig`: eigenvalues and eigenvectors of length 1, complex.
///
/// # Errors
/// For values that are not finite, tensors that are no square matrices and dtypes without kernels.
pub fn eig(a: &Tensor) -> Result<[Tensor; 2]> {
    check_square(a, "linalg.eig", "A")?;
    check_float(a, "linalg.eig")?;
    let out = complex_dtype(a.dtype())?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read(a)?;
        let n = matrices.rows;
        let mut values: Out<Complex64> = matrices.out(&[n]);
        let mut vectors: Out<Complex64> = matrices.out(&[n, n]);
        for matrix in matrices.matrices() {
            let (w, v) = decompose_general(&matrix)?;
            values.push(&w);
            vectors.push(&v.data);
        }
        Ok([values.tensor(out)?, vectors.tensor(out)?])
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
        let matrices = Batch::<T>::read(a)?;
        let mut values: Out<Complex64> = matrices.out(&[matrices.rows]);
        for matrix in matrices.matrices().filter(|matrix| matrix.rows > 0) {
            check_eig(&matrix)?;
            values.push(&T::eigen(&matrix, false).ok_or_else(eig_diverges)?.0);
        }
        values.tensor(complex_dtype(a.dtype())?)
    })
}

fn check_eig<T: Number>(a: &Matrix<T>) -> Result<()> {
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

fn decompose_general<T: Number>(a: &Matrix<T>) -> Result<Decomposed> {
    let n = a.rows;
    if n == 0 {
        return Ok((Vec::new(), Matrix::zeros(0, 0)));
    }
    check_eig(a)?;
    let (values, mut vectors) = T::eigen(a, true).ok_or_else(eig_diverges)?;
    for j in 0..n {
        let length = (0..n).map(|i| vectors[(i, j)].norm_sqr()).sum::<f64>().sqrt();
        // The greatest component is real, as `geev` has it.
        let (mut phase, mut greatest) = (Complex64::new(1.0, 0.0), 0.0);
        for i in 0..n {
            let size = vectors[(i, j)].norm();
            if size > greatest * (1.0 + 1e-12) {
                (greatest, phase) = (size, vectors[(i, j)] / size);
            }
        }
        let is_real = (0..n).all(|i| vectors[(i, j)].im == 0.0);
        let by = if is_real { Complex64::new(length, 0.0) } else { phase * length };
        (0..n).for_each(|i| vectors[(i, j)] /= by);
    }
    Ok((values, vectors))
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
    let driver = driver.unwrap_or("gelsy");
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
    let vector = crate::lu::is_vector(a, b);
    let b = if vector { b.unsqueeze(-1)? } else { b.clone() };
    let (m, n) = (a.size(-2)?, a.size(-1)?);
    if b.size(-2)? != m {
        return Err(Error::runtime(format!(
            "{name}: input.size(-2) should match other.size(-{})",
            if vector { 1 } else { 2 }
        )));
    }
    let (a, b) = crate::dense::broadcast_batches(a, &b)?;
    let real = real_dtype(a.dtype());
    let epsilon = if real == DType::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
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
    let rank = if driver == "gels" { Tensor::zeros(&[0], DType::Int64)? } else { rank };
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
    check_float(a, "linalg.polar")?;
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
