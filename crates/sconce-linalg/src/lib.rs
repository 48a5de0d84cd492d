//! Factorizations and Fourier transforms over [`sconce_kernels`]' tensors: numerical routines from
//! well-kept crates (faer for factorisations, rustfft for transforms) behind PyTorch's interface.
//!
//! Singular vectors and eigenvectors of small matrices, which are free in sign, are computed by LAPACK's own
//! steps: they come out with PyTorch's signs, and real eigenvalues and pairs in its order.
//!
//! A crate of its own so that what it depends on is compiled apart. All but Fourier transforms is
//! computed in double precision and rounded once, in one order, so results do not depend on threads.

mod bidiagonal;
mod dense;
mod eigen;
mod fft;
mod hessenberg;
mod lapack;
mod ldl;
mod lines;
mod lu;
mod matrix_functions;
mod norms;
mod orthogonal;
mod rotations;
mod spectral;
mod stft;
mod symmetric;

pub use fft::{
    Kind, Scale, Transform, fft, fft_c2c, fft_c2r, fft_r2c, fftfreq, fftn, fftshift, rfftfreq,
};
pub use ldl::{ldl_factor, ldl_factor_ex, ldl_solve};
pub use lu::{
    det, inv, inv_ex, logdet, lu, lu_factor, lu_factor_ex, lu_solve, lu_unpack, slogdet, solve,
    solve_ex,
};
pub use matrix_functions::{matrix_exp, matrix_power, tensorinv, tensorsolve};
pub use norms::{Order, cond, linalg_norm, matrix_norm};
pub use orthogonal::{
    cholesky, cholesky_ex, cholesky_inverse, cholesky_solve, geqrf, householder_product, ormqr, qr,
    solve_triangular, triangular_solve,
};
pub use spectral::{
    Tolerance, eig, eigh, eigvals, eigvalsh, lstsq, matrix_rank, matrix_sqrth, pinv,
    polar_decomposition, svd, svdvals,
};
pub use stft::{StftOptions, istft, stft};

/// Refuses a batch of which one has an `info` other than 0, naming `function`:
/// `torch._linalg_check_errors`.
///
/// # Errors
/// PyTorch's message for what went wrong.
pub fn check_errors(
    info: &sconce_kernels::Tensor,
    function: &str,
    single: bool,
) -> sconce_kernels::Result<()> {
    dense::check_info(info, function, single)
}

#[cfg(test)]
mod tests {
    use sconce_kernels::{DType, Result, Tensor};

    use super::*;

    fn zeros(sizes: &[i64]) -> Tensor {
        Tensor::zeros(sizes, DType::Float32).unwrap()
    }

    fn words<T>(result: Result<T>) -> String {
        result.err().map(|error| error.message().to_owned()).unwrap_or_default()
    }

    #[test]
    fn what_does_not_fit_is_refused_in_pytorch_words() {
        let square = zeros(&[3, 3]);
        let ints = |sizes: &[i64]| Tensor::zeros(sizes, DType::Int32).unwrap();
        for (found, expected) in [
            (
                words(linalg_norm(&square, None, Some(&[]), false, None)),
                "linalg.norm: If dim is specified, it must be of length 1 or 2. Got []",
            ),
            (
                words(cond(&zeros(&[0, 5]), Some(&Order::Number(-3.5)))),
                "linalg.cond got an invalid norm type: -3.5",
            ),
            (
                words(lu_unpack(&square, &ints(&[3, 3]), true, true)),
                "Expected LU_pivots to have shape [3] but got [3, 3] instead.",
            ),
            (
                words(ldl_solve(&square, &ints(&[]), &square, false)),
                "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but \
                 got pivots with shape [] instead",
            ),
            (
                words(ormqr(&square, &zeros(&[2]), &square, true, false)),
                "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])",
            ),
            (
                words(polar_decomposition(&zeros(&[1, 2]))),
                "linalg.polar: input must have at least as many rows as columns, but got 1 by 2 \
                 matrices",
            ),
            (words(tensorinv(&square, 3)), "ArrayRef: invalid slice, N = 3; size = 2"),
            (
                words(tensorsolve(&square, &zeros(&[3]), Some(&[0, -2]))),
                "movedim: repeated dim in `source` ([0, -2])",
            ),
            (words(fftshift(&square, Some(&[]), false)), "`shifts` required"),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn no_elements_are_factored_in_any_precision() {
        let none = Tensor::zeros(&[0, 2, 2], DType::Float16).unwrap();
        assert_eq!(det(&none).unwrap()[0].sizes(), [0]);
        assert_eq!(svdvals(&none).unwrap().sizes(), [0, 2]);
        assert_eq!(lu_factor(&none, false).unwrap()[1].sizes(), [0, 2]);
        assert!(inv(&none).is_err());
    }

    #[test]
    fn infinite_matrices_have_singular_values_that_are_no_numbers() {
        for (number, is_refused) in [(f32::NAN, true), (f32::INFINITY, false)] {
            let matrix = Tensor::from_slice(&[1.0, number, 0.0, 1.0], &[2, 2]).unwrap();
            assert!(svd(&matrix, true).is_err());
            match svdvals(&matrix).map(|values| values.to_vec::<f32>().unwrap()) {
                Ok(values) => assert!(!is_refused && values.iter().all(|x| x.is_nan())),
                Err(_) => assert!(is_refused),
            }
        }
    }
}
