//! Broadcast iteration over two operands, one row at a time.
//!
//! Iteration and partition among threads are compiled once for a pair of element types and call kernels
//! through pointers. Only the loops over rows are compiled for each function.

use crate::iter::permutation::Permutation;
use crate::layout::shape::{broadcast, expanded_strides, is_contiguous};
use crate::layout::strided_iter::{self, Strided};
use crate::parallel::{grain, partition};
use crate::simd::dispatch::dispatch_for;
use crate::simd::map_slice::map_slice;
use crate::vecmath::float_element::FloatElement;
use crate::{Dims, PodElement, Result, Tensor};

/// Elements of rows that are short: a kernel's call takes longer than they do.
const SHORT_ROW: i64 = 16;

/// Elements between those of a row of which each is in a cache line of its own.
const FAR: i64 = 16;

/// Elements of a result from which operands are brought into its order of memory rather than read in short rows.
const REORDERED: i64 = 1 << 12;

/// Applies `f` to broadcast pairs, on several threads where rows are long.
pub fn zip<T: PodElement, U: PodElement>(
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(T, T) -> U + Copy + Sync,
) -> Result<Tensor> {
    zip_parallel(a, b, &|out: &mut [U], x, y| row(out, x, y, f))
}

/// A kernel that fills a row of the result from the corresponding rows of the operands.
pub type BinaryRowKernel<'a, T, U> = &'a (dyn Fn(&mut [U], Strided<'_, T>, Strided<'_, T>) + Sync);

/// As [`BinaryRowKernel`], a function without captured values.
pub type BinaryKernel<T> = fn(&mut [T], Strided<'_, T>, Strided<'_, T>);

/// Runs a kernel over broadcast pairs, on several threads where rows are long. It is called for the longest
/// rows that result and operands have in common.
pub fn zip_parallel<T: PodElement, U: PodElement>(
    a: &Tensor,
    b: &Tensor,
    kernel: BinaryRowKernel<'_, T, U>,
) -> Result<Tensor> {
    let mut sizes = broadcast(a.sizes(), b.sizes())?;
    let mut a_strides = expanded_strides(a.sizes(), a.strides(), &sizes);
    let mut b_strides = expanded_strides(b.sizes(), b.strides(), &sizes);
    // The result lies in memory as the operands do.
    let permutation = Permutation::of_result([a, b], &sizes);
    if let Some(permutation) = &permutation {
        for dims in [&mut sizes, &mut a_strides, &mut b_strides] {
            *dims = permutation.apply(dims);
        }
    }
    let result = Tensor::for_overwrite(&sizes, U::DTYPE)?;
    let mut copies = [None, None];
    if result.numel() >= REORDERED {
        let all = [result.strides(), &a_strides, &b_strides];
        let (merged, steps) = strided_iter::merge(&sizes, all);
        let is_short = merged.last().is_some_and(|&row| row < SHORT_ROW);
        let is_far = steps.map(|steps| steps.last().is_some_and(|&step| step >= FAR));
        let operands = [(a, &mut a_strides), (b, &mut b_strides)];
        for (((operand, strides), copy), &is_far) in
            operands.into_iter().zip(&mut copies).zip(&is_far[1..])
        {
            if (is_short || is_far) && !strides.contains(&0) && !is_contiguous(&sizes, strides) {
                *copy = Some(match &permutation {
                    Some(permutation) => permutation.permute(operand)?.contiguous()?,
                    None => operand.contiguous()?,
                });
                *strides = Dims::from_slice(result.strides());
            }
        }
    }
    let [a, b] = [(a, &copies[0]), (b, &copies[1])].map(|(a, copy)| copy.as_ref().unwrap_or(a));
    let (xs, ys) = (a.storage().read::<T>()?, b.storage().read::<T>()?);
    let mut out = result.write::<U>()?;
    let strides = [result.strides(), &a_strides, &b_strides];
    let start = [0, a.offset(), b.offset()];
    strided_iter::rows(&sizes, strides, start, |[o, x, y], [_, x_step, y_step], len| {
        let (out, xs, ys) = (&mut out[o..o + len], &xs[x..], &ys[y..]);
        if len <= grain::ELEMENTWISE {
            return kernel(out, (xs, x_step), (ys, y_step));
        }
        partition::for_each_chunk(out, 64, grain::ELEMENTWISE, |start, out| {
            kernel(out, (&xs[start * x_step..], x_step), (&ys[start * y_step..], y_step));
        });
    });
    drop(out);
    match permutation {
        Some(permutation) => permutation.undo(&result),
        None => Ok(result),
    }
}

/// One row of [`zip`].
pub fn row<T: PodElement, U: PodElement>(
    out: &mut [U],
    (xs, x_step): Strided<'_, T>,
    (ys, y_step): Strided<'_, T>,
    f: impl Fn(T, T) -> U + Copy,
) {
    let len = out.len();
    match (x_step, y_step) {
        (1, 1) => row_of_pairs(out, &xs[..len], &ys[..len], f),
        (1, 0) => {
            let y = ys[0];
            map_slice(
                &xs[..len],
                out,
                #[inline(always)]
                move |x| f(x, y),
            );
        }
        _ => gathered(out, (xs, x_step), (ys, y_step), &|out, xs, ys| {
            row_of_pairs(out, xs, ys, f);
        }),
    }
}

fn row_of_pairs<T: PodElement, U: PodElement>(
    out: &mut [U],
    xs: &[T],
    ys: &[T],
    f: impl Fn(T, T) -> U,
) {
    dispatch_for::<T, U, _>(
        #[inline(always)]
        move || {
            for ((o, &x), &y) in out.iter_mut().zip(xs).zip(ys) {
                *o = f(x, y);
            }
        },
    );
}

/// A kernel over slices of one length.
type PairKernel<'a, T, U> = &'a dyn Fn(&mut [U], &[T], &[T]);

/// Calls `f` for blocks of a row whose elements have been gathered side by side.
fn gathered<T: PodElement, U>(
    out: &mut [U],
    x: Strided<'_, T>,
    y: Strided<'_, T>,
    f: PairKernel<'_, T, U>,
) {
    // The rows of small tensors pay for no more than they need.
    match out.len() {
        0..=32 => gathered_by::<32, T, U>(out, x, y, f),
        _ => gathered_by::<256, T, U>(out, x, y, f),
    }
}

fn gathered_by<const BLOCK: usize, T: PodElement, U>(
    out: &mut [U],
    x: Strided<'_, T>,
    y: Strided<'_, T>,
    f: PairKernel<'_, T, U>,
) {
    fn gather<'a, T: PodElement>(
        (from, step): Strided<'a, T>,
        start: usize,
        to: &'a mut [T],
    ) -> &'a [T] {
        match step {
            1 => return &from[start..start + to.len()],
            // The block before has it already.
            0 if start > 0 => {}
            0 => to.fill(from[0]),
            _ => {
                let some = from[start * step..].iter().step_by(step);
                to.iter_mut().zip(some).for_each(|(to, &x)| *to = x);
            }
        }
        to
    }
    let (mut xs, mut ys) = ([T::zeroed(); BLOCK], [T::zeroed(); BLOCK]);
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let (len, start) = (out.len(), block * BLOCK);
        f(out, gather(x, start, &mut xs[..len]), gather(y, start, &mut ys[..len]));
    }
}

/// As [`row`], with an `exact` function for the pairs for which `fast` gives NaN.
pub fn row_with_fallback<T: FloatElement>(
    out: &mut [T],
    (xs, x_step): Strided<'_, T>,
    (ys, y_step): Strided<'_, T>,
    fast: impl Fn(T, T) -> T + Copy,
    exact: impl Fn(T, T) -> T,
) {
    const BLOCK: usize = 256;
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let (xs, ys) = (&xs[block * BLOCK * x_step..], &ys[block * BLOCK * y_step..]);
        row(out, (xs, x_step), (ys, y_step), fast);
        if out.iter().fold(false, |any, x| any | x.is_not_a_number()) {
            for (i, out) in out.iter_mut().enumerate().filter(|(_, out)| out.is_not_a_number()) {
                *out = exact(xs[i * x_step], ys[i * y_step]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_in_different_orders_of_memory_give_the_same_numbers() {
        let numbers: Vec<f32> = (0..4 * 48 * 33).map(|i| i as f32).collect();
        let a = Tensor::from_slice(&numbers, &[4, 48, 33]).unwrap();
        for order in [[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0]] {
            let sizes = order.map(|dim| a.sizes()[dim as usize]);
            let (a, b) =
                (a.permute(&order).unwrap(), Tensor::from_slice(&numbers, &sizes).unwrap());
            let found = zip::<f32, f32>(&a, &b, |x, y| x - 3.0 * y).unwrap();
            let (x, y) = (a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
            let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x - 3.0 * y).collect();
            assert_eq!(found.to_vec::<f32>().unwrap(), expected, "{order:?}");
            assert_eq!(found.strides(), a.strides(), "{order:?}");
        }
    }
}
