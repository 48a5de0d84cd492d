//! Softmax, its logarithm and the logarithm of summed exponentials, over contiguous rows.

use num_traits::{Float, Zero};
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::vecmath::{double, single};

use crate::reduction::reduction_order::{LEAF, OrderedFold};

/// Numbers that are added side by side.
const LANES: usize = 16;

/// The sum of at most some thousand numbers: lanes first, then the lanes by halves.
#[inline(always)]
pub(crate) fn short_sum<T: Copy + Zero>(row: &[T]) -> T {
    OrderedFold::new(T::zero(), |x: T| x, |a, b| a + b).short(row)
}

/// The sum of a row of any length: short pieces first, then their sums in `f64`.
#[inline(always)]
pub(crate) fn sum(row: &[f32]) -> f64 {
    row.chunks(LEAF).map(|piece| f64::from(short_sum(piece))).sum()
}

/// The greatest number; NaN is passed over.
#[inline(always)]
fn greatest<F: Float>(row: &[F]) -> F {
    let mut lanes = [F::neg_infinity(); LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    let greater = |a: F, b: F| if b > a { b } else { a };
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = greater(lanes[l], chunk[l]);
        }
    }
    // The end once more with numbers before it, which change nothing.
    match row.last_chunk::<LANES>() {
        Some(end) => (0..LANES).for_each(|l| lanes[l] = greater(lanes[l], end[l])),
        None => rest.iter().for_each(|&x| lanes[0] = greater(lanes[0], x)),
    }
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = greater(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Replaces each number of a row by what a function gives for it. Loops over whole rows take up to 63 numbers of their
/// ends one by one; here they are taken by [`LANES`], the last of them from the row's end.
#[inline(always)]
fn map_in_place(row: &mut [f32], function: impl Fn(f32) -> f32) {
    // As they were, since some of them are among what comes before.
    let end = row.last_chunk::<LANES>().copied();
    let (chunks, rest) = row.as_chunks_mut::<{ 4 * LANES }>();
    for chunk in chunks {
        chunk.iter_mut().for_each(|x| *x = function(*x));
    }
    let (chunks, rest) = rest.as_chunks_mut::<LANES>();
    for chunk in chunks {
        chunk.iter_mut().for_each(|x| *x = function(*x));
    }
    match (rest.is_empty(), end) {
        (true, _) => {}
        (false, None) => rest.iter_mut().for_each(|x| *x = function(*x)),
        (false, Some(mut end)) => {
            end.iter_mut().for_each(|x| *x = function(*x));
            if let Some(to) = row.last_chunk_mut::<LANES>() {
                *to = end;
            }
        }
    }
}

/// The exponentials of what is left of a row without its greatest number, in place, and that number.
pub(crate) fn exponentials_below_greatest(row: &mut [f64]) -> f64 {
    dispatch(
        #[inline(always)]
        move || {
            let max = greatest(row);
            for x in row.iter_mut() {
                *x = double::exp(*x - max);
            }
            max
        },
    )
}

/// Softmax of every row of `len` elements, in place. A NaN makes its whole row NaN.
pub(crate) fn softmax_rows(all: &mut [f32], len: usize) {
    dispatch(
        #[inline(always)]
        || {
            for row in all.chunks_exact_mut(len) {
                let max = greatest(row);
                softmax_row(row, max);
            }
        },
    );
}

/// [`softmax_rows`], but rows of nothing but negative infinity give zeros.
pub(crate) fn safe_softmax_rows(all: &mut [f32], len: usize) {
    dispatch(
        #[inline(always)]
        || {
            for row in all.chunks_exact_mut(len) {
                let max = greatest(row);
                if max == f32::NEG_INFINITY && !row.iter().any(|x| x.is_nan()) {
                    row.fill(0.0);
                } else {
                    softmax_row(row, max);
                }
            }
        },
    );
}

#[inline(always)]
fn softmax_row(row: &mut [f32], max: f32) {
    map_in_place(
        row,
        #[inline(always)]
        |x| single::exp_of_negative(x - max),
    );
    let scale = (1.0 / sum(row)) as f32;
    map_in_place(
        row,
        #[inline(always)]
        |x| x * scale,
    );
}

/// The logarithm of the softmax of every row of `len` elements, in place.
pub(crate) fn log_softmax_rows(all: &mut [f32], len: usize) {
    let mut scratch = vec![0f32; len];
    dispatch(
        #[inline(always)]
        || {
            for row in all.chunks_exact_mut(len) {
                let max = greatest(row);
                for (e, &x) in scratch.iter_mut().zip(&*row) {
                    *e = single::exp_of_negative(x - max);
                }
                let log = single::log(sum(&scratch) as f32);
                for x in row.iter_mut() {
                    *x = *x - max - log;
                }
            }
        },
    );
}

/// The logarithm of the sum of the exponentials of a row.
#[inline(always)]
pub(crate) fn log_sum_exp(row: &[f32]) -> f32 {
    // Infinite where one of them is, and where there is none.
    let max = greatest(row);
    if max.is_infinite() {
        return if row.iter().any(|x| x.is_nan()) { f32::NAN } else { max };
    }
    let of = |x: f32| single::exp(x - max);
    let fold = OrderedFold::new(0.0, of, |a, b| a + b);
    let total: f64 = row.chunks(LEAF).map(|piece| f64::from(fold.short(piece))).sum();
    (total.ln() + f64::from(max)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softmax_of_large_numbers_infinities_and_nan() {
        let inf = f32::INFINITY;
        let mut rows = [1000.0, 1000.0, -inf, 0.0, -inf, -inf, f32::NAN, 1.0, 2.0, inf, 1.0, 1.0];
        softmax_rows(&mut rows, 3);
        assert_eq!(rows[..6], [0.5, 0.5, 0.0, 1.0, 0.0, 0.0]);
        assert!(rows[6..].iter().take(3).all(|x| x.is_nan()));
        assert!(rows[9].is_nan());
        let mut low = [-inf; 3];
        softmax_rows(&mut low, 3);
        assert!(low.iter().all(|x| x.is_nan()));
        let mut safe = [-inf, -inf, -inf, f32::NAN, 0.0, -inf];
        safe_softmax_rows(&mut safe, 2);
        assert_eq!((safe[0], safe[1]), (0.0, 0.0));
        assert!(safe[2].is_nan() && safe[3].is_nan());
        assert_eq!(safe[4..], [1.0, 0.0]);
        let mut logs = [1000.0, 0.0];
        log_softmax_rows(&mut logs, 2);
        assert_eq!(logs, [0.0, -1000.0]);
    }
}
