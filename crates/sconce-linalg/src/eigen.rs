//! Eigenvalues and eigenvectors of square matrices that need not be symmetric: small real ones by the steps of
//! LAPACK, others through faer.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, EvdParams, evd_cplx, evd_real, evd_scratch};
use faer::traits::ComplexField;
use faer::{Auto, Mat, Par, Spec};
use num_complex::Complex64;

use crate::dense::Matrix;
use crate::hessenberg::{self, Decomposed};
use crate::rotations::Precision;

/// Numbers that there are general matrices of.
pub(crate) trait Eigen: Sized {
    /// The decomposition of a square matrix of finite numbers; `None` where it does not converge.
    fn eigen(matrix: &Matrix<Self>, with_vectors: bool, precision: Precision)
    -> Option<Decomposed>;
}

impl Eigen for f64 {
    fn eigen(matrix: &Matrix<f64>, with_vectors: bool, precision: Precision) -> Option<Decomposed> {
        let n = matrix.rows;
        if n <= hessenberg::MOST {
            let unit = precision.unit(matrix.greatest());
            let (mut values, vectors) =
                hessenberg::eigen(&matrix.divided(unit), with_vectors, precision)?;
            values.iter_mut().for_each(|value| *value *= unit);
            return Some((values, vectors));
        }
        let (mut re, mut im) = (Diag::zeros(n), Diag::zeros(n));
        let mut right = Mat::<f64>::zeros(n, if with_vectors { n } else { 0 });
        evd_real(
            matrix.faer(),
            re.as_mut(),
            im.as_mut(),
            None,
            with_vectors.then_some(right.as_mut()),
            Par::Seq,
            MemStack::new(&mut memory::<f64>(n, with_vectors)),
            parameters(),
        )
        .ok()?;
        let mut vectors = Matrix::zeros(n, right.ncols());
        let mut j = 0;
        while j < right.ncols() {
            // Of a pair of conjugate vectors the first column has the real parts, the second the others.
            let is_pair = im[j] != 0.0;
            for i in 0..n {
                let imaginary = if is_pair { right[(i, j + 1)] } else { 0.0 };
                let number = Complex64::new(right[(i, j)], imaginary);
                vectors[(i, j)] = number;
                if is_pair {
                    vectors[(i, j + 1)] = number.conj();
                }
            }
            j += if is_pair { 2 } else { 1 };
        }
        normalize(&mut vectors);
        Some(((0..n).map(|i| Complex64::new(re[i], im[i])).collect(), vectors))
    }
}

impl Eigen for Complex64 {
    fn eigen(
        matrix: &Matrix<Complex64>,
        with_vectors: bool,
        _precision: Precision,
    ) -> Option<Decomposed> {
        let n = matrix.rows;
        let mut values = Diag::zeros(n);
        let mut right = Mat::zeros(n, if with_vectors { n } else { 0 });
        evd_cplx(
            matrix.faer(),
            values.as_mut(),
            None,
            with_vectors.then_some(right.as_mut()),
            Par::Seq,
            MemStack::new(&mut memory::<Complex64>(n, with_vectors)),
            parameters(),
        )
        .ok()?;
        let mut vectors = Matrix::of_faer(right.as_ref());
        normalize(&mut vectors);
        Some(((0..n).map(|i| values[i]).collect(), vectors))
    }
}

/// Makes vectors 1 long, and the greatest component of complex ones real, as `geev` has it.
fn normalize(vectors: &mut Matrix<Complex64>) {
    let n = vectors.rows;
    for j in 0..vectors.cols {
        let length = (0..n).map(|i| vectors[(i, j)].norm_sqr()).sum::<f64>().sqrt();
        let (mut phase, mut greatest) = (Complex64::ONE, 0.0);
        for i in 0..n {
            let size = vectors[(i, j)].norm();
            if size > greatest * (1.0 + 1e-12) {
                (greatest, phase) = (size, vectors[(i, j)] / size);
            }
        }
        let is_real = (0..n).all(|i| vectors[(i, j)].im == 0.0);
        let by = if is_real { Complex64::from(length) } else { phase * length };
        (0..n).for_each(|i| vectors[(i, j)] /= by);
    }
}

/// What a decomposition works in.
fn memory<T: ComplexField>(n: usize, with_vectors: bool) -> MemBuffer {
    let right = if with_vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let size = evd_scratch::<T>(n, ComputeEigenvectors::No, right, Par::Seq, parameters());
    MemBuffer::new(size)
}

/// faer's parameters, but for the window: without its `std` the one it has is too small for matrices of
/// a few hundred rows, which then take several times as long.
fn parameters<T: ComplexField>() -> Spec<EvdParams, T> {
    let mut parameters = <EvdParams as Auto<T>>::auto();
    parameters.schur.recommended_deflation_window = deflation_window;
    parameters.into()
}

/// In how many of the last rows eigenvalues are looked for that can be split off at once: LAPACK's
/// numbers (`iparmq`).
extern "C" fn deflation_window(rows: usize, _active: usize) -> usize {
    match rows {
        0..30 => 2,
        30..60 => 4,
        60..150 => 10,
        150..590 => (rows as f64 / (rows as f64).log2()) as usize,
        590..3000 => 96,
        3000..6000 => 192,
        _ => 384,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_turned_into_multiples_of_themselves() {
        // Sizes of each kind of window, with the values real, complex or both.
        for n in [1, 2, 7, 45, 75, 100, 170] {
            let number = |i: usize, j: usize| ((i * 37 + j * 91 + i * j) % 29) as f64 * 0.1 - 1.4;
            let real = Matrix::from_fn(n, n, number);
            let whole =
                Matrix::from_fn(n, n, |i, j| Complex64::new(number(i, j), number(j, i) * 0.5));
            check(&real, &Matrix::from_fn(n, n, |i, j| real[(i, j)].into()));
            check(&whole, &whole);
        }
    }

    fn check<T: Eigen>(matrix: &Matrix<T>, wide: &Matrix<Complex64>) {
        let n = wide.rows;
        let (values, vectors) = T::eigen(matrix, true, Precision::Double).unwrap();
        let product = wide.times(&vectors);
        for j in 0..n {
            let length = (0..n).map(|i| vectors[(i, j)].norm()).fold(0.0, f64::max);
            assert!(length > 0.0);
            for i in 0..n {
                let gap = (product[(i, j)] - values[j] * vectors[(i, j)]).norm();
                assert!(gap <= 1e-10 * length * n as f64, "{n}, {i}, {j}: {gap:e}");
            }
        }
        let trace: Complex64 = (0..n).map(|i| wide[(i, i)]).sum();
        let (alone, none) = T::eigen(matrix, false, Precision::Double).unwrap();
        assert!((alone.iter().sum::<Complex64>() - trace).norm() <= 1e-10 * n as f64);
        assert!(none.data.is_empty());
    }
}
