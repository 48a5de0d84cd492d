//! A vector times a matrix: what matrix libraries do worst and recurrent networks do most.
//!
//! Either the matrix's columns or its rows lie in one piece; nothing is copied. The order of
//! additions depends on the sizes alone.

use crate::gemm::{Matrix, Multiply};
use crate::simd::dispatch;
use crate::threads;

/// Numbers that are added side by side.
const LANES: usize = 16;

/// Elements of the matrix below which other threads cost more than they bring.
const PARALLEL: usize = 1 << 19;

/// `out = x · b`, or `out += x · b`, for `b` of k×n inside `bs`. Gives `false`, and does nothing,
/// where neither rows nor columns of `b` are contiguous. The caller has checked that `b` lies
/// inside its slice, that `x` has k elements and `out` n.
pub(crate) fn gemv<T: Multiply>(
    x: &[T],
    (bs, at): (&[T], Matrix),
    out: &mut [T],
    accumulate: bool,
) -> bool {
    let (k, n) = (x.len(), out.len());
    let serial = PARALLEL / k.max(1);
    if at.row_stride == 1 {
        threads::pieces(out, LANES, serial, |start, out| {
            columns(x, &bs[at.start + start * at.col_stride..], at.col_stride, out, accumulate);
        });
        return true;
    }
    if at.col_stride == 1 || n == 1 {
        threads::pieces(out, LANES, serial, |start, out| {
            rows(x, &bs[at.start + start..], at.row_stride, out, accumulate);
        });
        return true;
    }
    false
}

/// Columns of `b` in one piece each: a scalar product for every element of `out`.
fn columns<T: Multiply>(x: &[T], bs: &[T], stride: usize, out: &mut [T], accumulate: bool) {
    let column = |j: usize| &bs[j * stride..j * stride + x.len()];
    dispatch(
        #[inline(always)]
        || {
            let mut j = 0;
            let mut quads = out.chunks_exact_mut(4);
            for quad in &mut quads {
                let sums = dots([column(j), column(j + 1), column(j + 2), column(j + 3)], x);
                put(quad, sums, accumulate);
                j += 4;
            }
            for out in quads.into_remainder() {
                put(std::slice::from_mut(out), dots([column(j)], x), accumulate);
                j += 1;
            }
        },
    );
}

#[inline(always)]
fn put<T: Multiply, const N: usize>(out: &mut [T], sums: [T; N], accumulate: bool) {
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = if accumulate { *out + sum } else { sum };
    }
}

/// Scalar products of several vectors with `x`.
#[inline(always)]
fn dots<T: Multiply, const N: usize>(rows: [&[T]; N], x: &[T]) -> [T; N] {
    let mut lanes = [[T::ZERO; LANES]; N];
    let (xs, rest) = x.as_chunks::<LANES>();
    let whole = rows.map(|row| row.as_chunks::<LANES>().0);
    for (i, x) in xs.iter().enumerate() {
        for (lanes, row) in lanes.iter_mut().zip(&whole) {
            let Some(row) = row.get(i) else { continue };
            for l in 0..LANES {
                lanes[l] = lanes[l] + row[l] * x[l];
            }
        }
    }
    let start = xs.len() * LANES;
    std::array::from_fn(|n| {
        let tail = rows[n].iter().skip(start).zip(rest);
        let tail = tail.fold(T::ZERO, |sum, (&a, &b)| sum + a * b);
        halve(lanes[n]) + tail
    })
}

/// The sum of the lanes, by halves.
#[inline(always)]
fn halve<T: Multiply>(mut lanes: [T; LANES]) -> T {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            lanes[l] = lanes[l] + lanes[l + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Rows of `b` in one piece each: `out` is their sum, weighted by `x`.
fn rows<T: Multiply>(x: &[T], bs: &[T], stride: usize, out: &mut [T], accumulate: bool) {
    /// So many elements of `out` stay in registers while `x` is walked.
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
