//! Softmax along a dimension that is not the last one, without transposing.

use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::vecmath::single;

use crate::reduction::reduction_order::{LANES, LEAF};
use crate::{Result, Tensor};

/// What becomes of columns: a factor of the sum of the exponentials of each, and of that what becomes of an
/// element: itself, the exponential of what it is below the greatest where these are kept, the greatest,
/// and the factor.
pub(crate) struct Finish<F, V> {
    pub(crate) keeps_exponentials: bool,
    pub(crate) factor: F,
    pub(crate) value: V,
}

/// Columns that are gone through side by side: this many that rows are read as they lie, and what is known
/// of them stays in the first cache.
const WIDTH: usize = 512;

/// Columns of `len` elements, `inner` of them side by side, of a row-major tensor of `float32`. Every
/// result has the bits that [`softmax_rows`](crate::reduction::softmax_rows) gives the same elements as a row.
pub(crate) fn columns(
    input: &Tensor,
    len: usize,
    inner: usize,
    finish: &Finish<impl Fn(f64) -> f32 + Sync, impl Fn(f32, f32, f32, f32) -> f32 + Sync>,
) -> Result<Tensor> {
    let result = Tensor::for_overwrite(input.sizes(), input.dtype())?;
    let from = input.read::<f32>()?;
    let from: &[f32] = &from;
    let mut to = result.write::<f32>()?;
    let serial =
        from.len() < sconce_kernel_core::parallel::grain::ROWS || partition::num_threads() == 1;
    // This many columns of a block together, as the parts of the rows that they go through.
    let together = if serial { inner } else { inner.min(WIDTH) };
    let blocks = to.chunks_exact_mut(len * inner).zip(from.chunks_exact(len * inner));
    let parts = blocks.flat_map(|(to, from)| {
        let mut parts: Vec<(&[f32], Vec<&mut [f32]>)> = (0..inner)
            .step_by(together)
            .map(|column| (&from[column..], Vec::with_capacity(len)))
            .collect();
        for row in to.chunks_exact_mut(inner) {
            let pieces = row.chunks_mut(together);
            parts.iter_mut().zip(pieces).for_each(|(part, piece)| part.1.push(piece));
        }
        parts
    });
    let run = |(from, mut rows): (&[f32], Vec<&mut [f32]>)| part(from, inner, &mut rows, finish);
    match serial {
        true => parts.for_each(run),
        false => partition::for_each(parts, run),
    }
    drop(to);
    Ok(result)
}

/// Columns whose first row begins at the start of `from`, each row `inner` elements after the one before.
fn part(
    from: &[f32],
    inner: usize,
    rows: &mut [&mut [f32]],
    finish: &Finish<impl Fn(f64) -> f32, impl Fn(f32, f32, f32, f32) -> f32>,
) {
    let (len, width) = (rows.len(), rows.first().map_or(0, |row| row.len()));
    let (mut max, mut totals, mut factors) = ([0f32; WIDTH], [0f64; WIDTH], [0f32; WIDTH]);
    let mut sums = Sums { parts: [[0.0; WIDTH]; PARTS], run: [0.0; WIDTH], all: [0.0; WIDTH] };
    for column in (0..width).step_by(WIDTH) {
        let count = WIDTH.min(width - column);
        let row = |at: usize| &from[at * inner + column..][..count];
        let (max, totals) = (&mut max[..count], &mut totals[..count]);
        dispatch(
            #[inline(always)]
            || {
                max.fill(f32::NEG_INFINITY);
                for at in 0..len {
                    // NaN is passed over, and comes back with its exponential.
                    for (max, &x) in max.iter_mut().zip(row(at)) {
                        *max = if x > *max { x } else { *max };
                    }
                }
                totals.fill(0.0);
                for first in (0..len).step_by(LEAF) {
                    let rows = &mut rows[first..len.min(first + LEAF)];
                    sums.take(
                        count,
                        rows,
                        #[inline(always)]
                        |at, to, sums| {
                            let keeps = finish.keeps_exponentials;
                            let kept = keeps.then(|| &mut to[column..][..count]);
                            add_exponentials(row(first + at), max, kept, sums);
                        },
                    );
                    for (total, &sum) in totals.iter_mut().zip(&sums.all) {
                        *total += f64::from(sum);
                    }
                }
                let factors = &mut factors[..count];
                for (factor, &total) in factors.iter_mut().zip(&*totals) {
                    *factor = (finish.factor)(total);
                }
                for (at, to) in rows.iter_mut().enumerate() {
                    let known = row(at).iter().zip(&*max).zip(&*factors);
                    for (to, ((&x, &max), &factor)) in to[column..].iter_mut().zip(known) {
                        *to = (finish.value)(x, *to, max, factor);
                    }
                }
            },
        );
    }
}

/// Adds the exponentials of what a row is below the greatest of its columns, and keeps them.
#[inline(always)]
fn add_exponentials(row: &[f32], max: &[f32], kept: Option<&mut [f32]>, sums: &mut [f32]) {
    let known = sums.iter_mut().zip(row).zip(max);
    match kept {
        Some(kept) => {
            for (((sum, &x), &max), kept) in known.zip(kept) {
                *kept = single::exp_of_negative(x - max);
                *sum += *kept;
            }
        }
        None => {
            for ((sum, &x), &max) in known {
                *sum += single::exp_of_negative(x - max);
            }
        }
    }
}

/// How many sums of lanes wait to be joined with others, at most.
const PARTS: usize = LANES.trailing_zeros() as usize;

/// Sums of columns in the order of [`reduction_order`](crate::reduction::reduction_order). Its lanes are joined by halves: each is taken in when
/// the one that it is joined with has been, so that few of them are kept.
struct Sums {
    /// Of two lanes, of four and so on: those of one are joined as soon as there are two.
    parts: [[f32; WIDTH]; PARTS],
    run: [f32; WIDTH],
    all: [f32; WIDTH],
}

impl Sums {
    /// The sums of `count` columns of at most [`LEAF`] rows, of which `add` adds one to others.
    #[inline(always)]
    fn take(
        &mut self,
        count: usize,
        rows: &mut [&mut [f32]],
        add: impl Fn(usize, &mut [f32], &mut [f32]),
    ) {
        let (run, all) = (&mut self.run[..count], &mut self.all[..count]);
        let whole = rows.len() / LANES * LANES;
        all.fill(0.0);
        for turn in 0..if whole > 0 { LANES } else { 0 } {
            run.fill(0.0);
            let lane = turn.reverse_bits() >> (usize::BITS - LANES.trailing_zeros());
            for at in (lane..whole).step_by(LANES) {
                add(at, rows[at], run);
            }
            let done = turn.trailing_ones() as usize;
            for part in &self.parts[..done] {
                run.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
            self.parts
                .get_mut(done)
                .map_or(&mut *all, |part| &mut part[..count])
                .copy_from_slice(run);
        }
        for (at, row) in rows.iter_mut().enumerate().skip(whole) {
            add(at, row, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Tensor, log_softmax, softmax};

    #[test]
    fn columns_give_the_bits_of_rows() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for (outer, len, inner) in [(2, 5, 8), (1, 40, 130), (3, 1030, 9)] {
            let number = |i: i64| match i % 977 {
                3 => -inf,
                500 if inner == 9 => inf,
                700 if inner == 9 => nan,
                other => (other * 37 % 101) as f32 * 0.1 - 5.0,
            };
            let numbers: Vec<f32> = (0..outer * len * inner).map(number).collect();
            let input = Tensor::from_slice(&numbers, &[outer, len, inner]).unwrap();
            let transposed = input.transpose(1, 2).unwrap().contiguous().unwrap();
            for function in [softmax, log_softmax] {
                let columns = function(&input, 1).unwrap().transpose(1, 2).unwrap();
                let rows = function(&transposed, 2).unwrap();
                assert_eq!(rows.dtype(), DType::Float32);
                let bits = |t: Tensor| -> Vec<u32> {
                    let bits = |x: f32| if x.is_nan() { nan.to_bits() } else { x.to_bits() };
                    t.to_vec::<f32>().unwrap().into_iter().map(bits).collect()
                };
                assert_eq!(bits(columns), bits(rows));
            }
        }
    }
}
