//! Vector times matrix, which general matrix libraries are slow at and recurrent networks consist of.
//!
//! Either the matrix's columns or its rows are contiguous; nothing is copied. The order of additions
//! depends on the sizes alone.

use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;

use crate::matrix::{Matrix, Multiply};

/// Numbers that are added side by side.
const LANES: usize = 16;

/// Elements of the matrix below which several threads cost more than they gain.
const PARALLEL: usize = 1 << 17;

/// `out = x · b`, or `out += x · b`, for `b` of k×n inside `bs`. Gives `false`, and does nothing,
/// where neither rows nor columns of `b` are contiguous. The caller has checked that `b` lies
/// inside its slice, that `x` has k elements and `out` n.
pub fn gemv<T: Multiply>(
    x: &[T],
    (bs, at): (&[T], Matrix),
    out: &mut [T],
    accumulate: bool,
) -> bool {
    let (k, n) = (x.len(), out.len());
    let serial = PARALLEL / k.max(1);
    if at.row_stride == 1 {
        partition::for_each_chunk(out, LANES, serial, |start, out| {
            let bs = &bs[at.start + start * at.col_stride..];
            if !T::columns(x, bs, at.col_stride, out, accumulate) {
                columns(x, bs, at.col_stride, out, accumulate);
            }
        });
        return true;
    }
    if at.col_stride == 1 || n == 1 {
        partition::for_each_chunk(out, LANES, serial, |start, out| {
            rows(x, &bs[at.start + start..], at.row_stride, out, accumulate);
        });
        return true;
    }
    false
}

/// The columns of `b` are contiguous: every element of `out` is a dot product.
fn columns<T: Multiply>(x: &[T], bs: &[T], stride: usize, out: &mut [T], accumulate: bool) {
    dispatch(
        #[inline(always)]
        || {
            for (j, out) in out.iter_mut().enumerate() {
                let sum = dot(&bs[j * stride..][..x.len()], x);
                *out = if accumulate { *out + sum } else { sum };
            }
        },
    );
}

/// The dot product: the lanes are summed first, then joined by halves.
#[inline(always)]
fn dot<T: Multiply>(a: &[T], b: &[T]) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [T::ZERO; LANES];
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            lanes[l] = lanes[l] + a[l] * b[l];
        }
    }
    let eight: [T; 8] = std::array::from_fn(|l| lanes[l] + lanes[l + 8]);
    let four: [T; 4] = std::array::from_fn(|l| eight[l] + eight[l + 4]);
    let sum = (four[0] + four[2]) + (four[1] + four[3]);
    a_rest.iter().zip(b_rest).fold(sum, |sum, (&a, &b)| sum + a * b)
}

/// The rows of `b` are contiguous: `out` is their sum, weighted by `x`.
fn rows<T: Multiply>(x: &[T], bs: &[T], stride: usize, out: &mut [T], accumulate: bool) {
    /// This many elements of `out` stay in registers while `x` is walked.
    const BLOCK: usize = 4 * LANES;
    dispatch(
        #[inline(always)]
        || {
            let n = out.len();
            let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
            for (block, out) in blocks.iter_mut().enumerate() {
                let mut sums = if accumulate { *out } else { [T::ZERO; BLOCK] };
                for (i, &x) in x.iter().enumerate() {
                    let at = i * stride + block * BLOCK;
                    let Some(row) = bs.get(at..).and_then(|row| row.first_chunk::<BLOCK>()) else {
                        continue;
                    };
                    for l in 0..BLOCK {
                        sums[l] = sums[l] + row[l] * x;
                    }
                }
                *out = sums;
            }
            let start = n - rest.len();
            if !accumulate {
                rest.fill(T::ZERO);
            }
            for (i, &x) in x.iter().enumerate() {
                let at = i * stride + start;
                for (out, &b) in rest.iter_mut().zip(bs.get(at..).unwrap_or_default()) {
                    *out = *out + b * x;
                }
            }
        },
    );
}
