//! Linear algebra and Fourier transforms over [`sconce_kernels`]' tensors: numerical routines from
//! well-kept crates (faer for factorisations, rustfft for transforms) behind PyTorch's interface.
//!
//! Singular vectors and eigenvectors of small matrices, which are free in sign, are computed by LAPACK's own
//! steps: they come out with PyTorch's signs, and real eigenvalues and pairs in its order.
//!
//! A crate of its own so that what it depends on is compiled apart. All but Fourier transforms is
//! computed in double precision and rounded once, in one order, so results do not depend on threads.

mod bidiagonal;
mod definition;
mod dense;
mod eigen;
mod einsum;
mod fft;
mod hessenberg;
mod lapack;
mod ldl;
mod lines;
mod lu;
mod norms;
mod orthogonal;
mod products;
mod rotations;
mod spectral;
mod stft;
mod symmetric;
mod window;

pub use einsum::einsum;
pub use fft::{
    Kind, Scale, Transform, fft, fft_c2c, fft_c2r, fft_r2c, fftfreq, fftn, fftshift, rfftfreq,
};
pub use ldl::{ldl_factor, ldl_factor_ex, ldl_solve};
pub use lu::{
    det, inv, inv_ex, logdet, lu, lu_factor, lu_factor_ex, lu_solve, lu_unpack, slogdet, solve,
    solve_ex,
};
pub use norms::{Order, cond, linalg_norm, matrix_norm, vector_norm};
pub use orthogonal::{
    cholesky, cholesky_ex, cholesky_inverse, cholesky_solve, geqrf, householder_product, ormqr, qr,
    solve_triangular, triangular_solve,
};
pub use products::{
    addbmm, addmv, addr, batch_addmm, cross, inner, kron, linalg_cross, matrix_exp, matrix_power,
    multi_dot, outer, tensordot, tensorinv, tensorsolve, trace, vander, vdot, vecdot,
};
pub use spectral::{
    Tolerance, eig, eigh, eigvals, eigvalsh, lstsq, matrix_rank, matrix_sqrth, pinv,
    polar_decomposition, svd, svdvals,
};
pub use stft::{StftOptions, istft, stft};
pub use window::{Window, window};

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
