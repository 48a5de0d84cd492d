//! The one call into the matrix multiplication library.
#![allow(unsafe_code, reason = "gemm::gemm takes raw pointers; see the safety comment")]

use crate::gemv::gemv;
use crate::{Error, Result, threads};

/// A matrix inside a slice: where it starts and how far apart rows and columns are, in elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) start: usize,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

impl Matrix {
    /// The same elements, rows and columns swapped.
    fn transposed(self) -> Matrix {
        Matrix { start: self.start, row_stride: self.col_stride, col_stride: self.row_stride }
    }

    /// Whether every element lies in a slice of this length.
    fn fits(self, rows: usize, cols: usize, len: usize) -> bool {
        if rows == 0 || cols == 0 {
            return true;
        }
        let last = (rows - 1)
            .checked_mul(self.row_stride)
            .zip((cols - 1).checked_mul(self.col_stride))
            .and_then(|(row, col)| row.checked_add(col)?.checked_add(self.start));
        last.is_some_and(|last| last < len)
    }
}

/// Element types the library multiplies.
pub(crate) trait Multiply:
    crate::Element + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;

    /// A vector times columns in one piece each, where the type has a kernel for it.
    fn columns(_: &[Self], _: &[Self], _: usize, _: &mut [Self], _accumulate: bool) -> bool {
        false
    }
}

impl Multiply for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    fn columns(x: &[f32], bs: &[f32], stride: usize, out: &mut [f32], accumulate: bool) -> bool {
        crate::dots::columns(x, bs, stride, out, accumulate)
    }
}

impl Multiply for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

impl Multiply for num_complex::Complex<f32> {
    const ZERO: Self = num_complex::Complex { re: 0.0, im: 0.0 };
    const ONE: Self = num_complex::Complex { re: 1.0, im: 0.0 };
}

impl Multiply for num_complex::Complex<f64> {
    const ZERO: Self = num_complex::Complex { re: 0.0, im: 0.0 };
    const ONE: Self = num_complex::Complex { re: 1.0, im: 0.0 };
}

/// Multiply-adds below which other threads cost more than they bring.
pub(crate) const PARALLEL: usize = 1 << 22;

/// `out = a · b`, or `out += a · b` where `accumulate`. `out` is row-major, m×n; a is m×k, b k×n.
///
/// # Errors
/// Where a matrix does not lie inside its slice.
pub(crate) fn gemm<T: Multiply>(
    [m, k, n]: [usize; 3],
    (a, a_at): (&[T], Matrix),
    (b, b_at): (&[T], Matrix),
    out: &mut [T],
    accumulate: bool,
) -> Result<()> {
    multiply([m, k, n], (a, a_at), (b, b_at), out, accumulate, true)
}

/// [`gemm`], on the calling thread alone unless `parallel`.
pub(crate) fn multiply<T: Multiply>(
    [m, k, n]: [usize; 3],
    (a, a_at): (&[T], Matrix),
    (b, b_at): (&[T], Matrix),
    out: &mut [T],
    accumulate: bool,
    parallel: bool,
) -> Result<()> {
    let out_at = Matrix { start: 0, row_stride: n, col_stride: 1 };
    let fits = a_at.fits(m, k, a.len()) && b_at.fits(k, n, b.len()) && out_at.fits(m, n, out.len());
    if !fits {
        return Err(Error::runtime("a matrix reaches beyond its storage"));
    }
    if m == 0 || n == 0 {
        return Ok(());
    }
    if k == 0 {
        if !accumulate {
            out[..m * n].fill(T::ZERO);
        }
        return Ok(());
    }
    if m == 1 || n == 1 {
        // A row times b, or the transpose of a times a column.
        let (x, x_step, matrix) = match m {
            1 => (&a[a_at.start..], a_at.col_stride, (b, b_at)),
            _ => (&b[b_at.start..], b_at.row_stride, (a, a_at.transposed())),
        };
        let gathered: Vec<T>;
        let x = if x_step == 1 || k == 1 {
            &x[..k]
        } else {
            gathered = (0..k).map(|i| x[i * x_step]).collect();
            &gathered
        };
        if gemv(x, matrix, &mut out[..m * n], accumulate) {
            return Ok(());
        }
    }
    let work = m.saturating_mul(n).saturating_mul(k);
    let threads = match parallel && work >= PARALLEL {
        true if threads::get() > 1 => gemm::Parallelism::Rayon(threads::get()),
        _ => gemm::Parallelism::None,
    };
    // SAFETY: `fits` above holds every element of the three matrices against the slices they are
    // in; `out` is borrowed mutably, so it overlaps neither of the others; strides are below
    // isize::MAX since the elements they reach lie in slices. `T` is one of the four types that the
    // library knows, so it takes its own kernels.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            accumulate,
            a.as_ptr().add(a_at.start),
            a_at.col_stride as isize,
            a_at.row_stride as isize,
            b.as_ptr().add(b_at.start),
            b_at.col_stride as isize,
            b_at.row_stride as isize,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            threads,
        );
    }
    Ok(())
}
