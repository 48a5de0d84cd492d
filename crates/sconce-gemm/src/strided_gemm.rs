//! Products of any two strided matrices: by the `gemm` crate, or by kernels of this crate where those
//! are faster.
#![allow(unsafe_code, reason = "gemm::gemm takes raw pointers; see the safety comment")]

use std::ops::Range;

use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::{Error, Result};

use crate::dot::VectorSet;
use crate::gemv::gemv;
use crate::matrix::{Matrix, Multiply};

/// Multiply-adds below which other threads cost more than they bring.
pub const PARALLEL: usize = 1 << 20;

/// Contiguous rows and columns of this many numbers or more go to the dot product kernels where there are
/// few of one of them: the library would pack the other matrix.
pub const LONG: usize = 128;
/// How many times as many numbers rows have as there may be rows, or columns.
const FEW: usize = 4;

/// Where the long side of a product may be divided: at multiples of this, so that the tiles of the
/// library, of 4, 6 or up to 64 numbers, are those of the whole product. Narrower ones add in another
/// order.
const STEP: usize = 192;

/// `out = a · b`, or `out += a · b` where `accumulate`. `out` is row-major, m×n; a is m×k, b k×n.
///
/// # Errors
/// Where a matrix does not lie inside its slice.
pub fn gemm<T: Multiply>(
    [m, k, n]: [usize; 3],
    (a, a_at): (&[T], Matrix),
    (b, b_at): (&[T], Matrix),
    out: &mut [T],
    accumulate: bool,
) -> Result<()> {
    multiply([m, k, n], (a, a_at), (b, b_at), out, accumulate, true)
}

/// Where the parts of a product are written.
struct Out<T>(*mut T);

// SAFETY: threads write to parts that have no element in common, as `multiply` says.
unsafe impl<T: Send> Sync for Out<T> {}

/// Ranges that cover `0..len`: this many, or fewer where they would be short.
fn parts(len: usize, count: usize) -> impl Iterator<Item = Range<usize>> + Send {
    let count = count.min(len / STEP).max(1);
    let bound = move |at: usize| if at == count { len } else { at * len / count / STEP * STEP };
    (0..count).map(move |at| bound(at)..bound(at + 1))
}

/// [`gemm()`], on the calling thread alone unless `parallel`.
pub fn multiply<T: Multiply>(
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
        chose("GEMV");
        if gemv(x, matrix, &mut out[..m * n], accumulate) {
            return Ok(());
        }
    }
    let few = k >= LONG && k >= FEW * m.min(n) && T::has_dots();
    let by_dots = few && a_at.col_stride == 1 && b_at.row_stride == 1;
    if few && m <= n && !by_dots && b_at.row_stride == 1 {
        // Makes the rows contiguous: there are few of them.
        let position =
            |row: usize, i: usize| a_at.start + row * a_at.row_stride + i * a_at.col_stride;
        let Some(count) = m.checked_mul(k) else {
            return Err(Error::runtime("a matrix reaches beyond its storage"));
        };
        let rows: Vec<T> = (0..count).map(|at| a[position(at / k, at % k)]).collect();
        let rows_at = Matrix { start: 0, row_stride: k, col_stride: 1 };
        return multiply([m, k, n], (&rows, rows_at), (b, b_at), out, accumulate, parallel);
    }
    chose(if by_dots { "dot products" } else { "GEMM" });
    let out = Out(out.as_mut_ptr());
    let part = |rows: Range<usize>, cols: Range<usize>| {
        let out = &out;
        if by_dots {
            let (x, y) = (
                a_at.start + rows.start * a_at.row_stride,
                b_at.start + cols.start * b_at.col_stride,
            );
            let x = VectorSet { all: &a[x..], stride: a_at.row_stride, count: rows.len() };
            let y = VectorSet { all: &b[y..], stride: b_at.col_stride, count: cols.len() };
            let (vectors, strides) = if m <= n { ([x, y], [n, 1]) } else { ([y, x], [1, n]) };
            // SAFETY: the part lies in `out`, which is borrowed mutably, and no two parts have an element
            // in common.
            return unsafe {
                let first = out.0.add(rows.start * n + cols.start);
                T::dots(k, vectors, first, strides, accumulate);
            };
        }
        // SAFETY: `fits` above holds every element of the three matrices against the slices they are
        // in, and these are some of their rows and columns; `out` is borrowed mutably, so it overlaps
        // neither of the others, and no two parts have an element of it in common. Strides are below
        // isize::MAX since the elements they reach lie in slices. `T` is one of the four types that
        // the library knows, so it takes its own kernels.
        unsafe {
            gemm::gemm(
                rows.len(),
                cols.len(),
                k,
                out.0.add(rows.start * n + cols.start),
                1,
                n as isize,
                accumulate,
                a.as_ptr().add(a_at.start + rows.start * a_at.row_stride),
                a_at.col_stride as isize,
                a_at.row_stride as isize,
                b.as_ptr().add(b_at.start + cols.start * b_at.col_stride),
                b_at.col_stride as isize,
                b_at.row_stride as isize,
                T::ONE,
                T::ONE,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    };
    let work = m.saturating_mul(n).saturating_mul(k);
    let pieces = if parallel && work >= PARALLEL { partition::num_threads() } else { 1 };
    // The longer side is divided. An element's sum is made in the same order in every part.
    if pieces == 1 {
        part(0..m, 0..n);
    } else if n >= m {
        partition::for_each(parts(n, pieces), |cols| part(0..m, cols));
    } else {
        partition::for_each(parts(m, pieces), |rows| part(rows, 0..n));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once_and_none_is_short() {
        for len in (0..200).chain([1000, 1007, 4096]) {
            for count in 1..6 {
                let parts: Vec<_> = parts(len, count).collect();
                assert!(parts.len() <= count);
                assert!(parts.iter().all(|part| part.len() >= STEP.min(len)));
                let all: Vec<usize> = parts.into_iter().flatten().collect();
                assert!(all.into_iter().eq(0..len));
            }
        }
    }

    #[test]
    fn products_do_not_depend_on_the_number_of_threads() {
        let numbers = |n: usize| -> Vec<f32> { (0..n).map(|i| (i as f32 * 0.37).sin()).collect() };
        for [m, k, n] in [
            [2, 700, 900],
            [901, 700, 2],
            [33, 1200, 777],
            [700, 257, 190],
            [64, 3, 8000],
            [999, 30, 998],
        ] {
            let (a, b) = (numbers(m * k), numbers(k * n));
            let bits = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut out = vec![0f32; m * n];
                let a_at = Matrix { start: 0, row_stride: k, col_stride: 1 };
                let b_at = Matrix { start: 0, row_stride: 1, col_stride: k };
                pool.install(|| gemm([m, k, n], (&a, a_at), (&b, b_at), &mut out, false)).unwrap();
                out.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let one = bits(1);
            assert!((2..6).all(|threads| bits(threads) == one), "{m} x {k} x {n}");
        }
    }
}
