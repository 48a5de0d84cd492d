//! Softmax along a dimension that is not the last one, without turning it to be the last.

use crate::fold::{Fold, LEAF, WIDTH};
use crate::simd::dispatch;
use crate::{Result, Tensor, threads, vecmath};

/// What becomes of columns: a factor of the sum of the exponentials of each, and of that what becomes of an
/// element: itself, the exponential of what it is below the greatest, the greatest, and the factor.
pub(crate) struct Finish<F, V> {
    pub(crate) factor: F,
    pub(crate) value: V,
}

/// Columns of `len` elements, `inner` of them side by side, of a row-major tensor of `float32`. Every
/// result has the bits that [`crate::rows`] gives the same elements as a row.
pub(crate) fn columns(
    input: &Tensor,
    len: usize,
    inner: usize,
    finish: &Finish<impl Fn(f64) -> f32 + Sync, impl Fn(f32, f32, f32, f32) -> f32 + Sync>,
) -> Result<Tensor> {
    let result = Tensor::unset(input.sizes(), input.dtype())?;
    let from = input.read::<f32>()?;
    let from: &[f32] = &from;
    let mut to = result.write::<f32>()?;
    // Columns side by side, as the parts of the rows that they go through.
    let mut parts: Vec<(usize, Vec<&mut [f32]>)> = Vec::new();
    for (block, to) in to.chunks_exact_mut(len * inner).enumerate() {
        let first = parts.len();
        let starts = (0..inner).step_by(WIDTH).map(|column| block * len * inner + column);
        parts.extend(starts.map(|start| (start, Vec::with_capacity(len))));
        for row in to.chunks_exact_mut(inner) {
            let pieces = row.chunks_mut(WIDTH);
            parts[first..].iter_mut().zip(pieces).for_each(|(part, piece)| part.1.push(piece));
        }
    }
    let part = |(start, rows): (usize, Vec<&mut [f32]>)| part(&from[start..], inner, rows, finish);
    match from.len() < crate::rows::PARALLEL {
        true => parts.into_iter().for_each(part),
        false => threads::each(parts.into_iter(), part),
    }
    drop(to);
    Ok(result)
}

fn part(
    from: &[f32],
    inner: usize,
    rows: Vec<&mut [f32]>,
    finish: &Finish<impl Fn(f64) -> f32, impl Fn(f32, f32, f32, f32) -> f32>,
) {
    let (len, width) = (rows.len(), rows.first().map_or(0, |row| row.len()));
    // NaN is passed over, and comes back with its exponential.
    let greater = |a: f32, b: f32| if b > a { b } else { a };
    let greatest = Fold::new(f32::NEG_INFINITY, |x: f32| x, greater);
    let max = greatest.side_by_side(from, inner, 0..len, width);
    let mut exponentials = vec![0f32; len * width];
    dispatch(
        #[inline(always)]
        || {
            for (at, to) in exponentials.chunks_exact_mut(width).enumerate() {
                let row = &from[at * inner..][..width];
                for ((to, &x), &max) in to.iter_mut().zip(row).zip(&max[..width]) {
                    *to = vecmath::exp(x - max);
                }
            }
        },
    );
    let sum = Fold::new(0f32, |x: f32| x, |a, b| a + b);
    let mut totals = [0f64; WIDTH];
    for start in (0..len).step_by(LEAF) {
        let piece = sum.side_by_side(&exponentials, width, start..len.min(start + LEAF), width);
        totals.iter_mut().zip(piece).for_each(|(total, sum)| *total += f64::from(sum));
    }
    let mut factors = [0f32; WIDTH];
    factors.iter_mut().zip(totals).for_each(|(factor, total)| *factor = (finish.factor)(total));
    dispatch(
        #[inline(always)]
        || {
            let each = exponentials.chunks_exact(width).zip(rows).enumerate();
            for (at, (exponentials, to)) in each {
                let row = &from[at * inner..][..width];
                let known = row.iter().zip(exponentials).zip(&max[..width]).zip(&factors[..width]);
                for (to, (((&x, &e), &max), &factor)) in to.iter_mut().zip(known) {
                    *to = (finish.value)(x, e, max, factor);
                }
            }
        },
    );
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
            let turned = input.transpose(1, 2).unwrap().contiguous().unwrap();
            for function in [softmax, log_softmax] {
                let columns = function(&input, 1).unwrap().transpose(1, 2).unwrap();
                let rows = function(&turned, 2).unwrap();
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
