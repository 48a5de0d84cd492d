//! Cumulative reductions along a dimension: `cumsum`, `cumprod`, `cummax`, `logcumsumexp`.
#![allow(clippy::redundant_closure, reason = "what is inlined for certain is a closure")]
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::wide_elements::{
    Complex128, Number, Real, WideElements, computed, expect_floating, expect_ordered, widest,
};
use sconce_kernel_core::vecmath::accuracy::{DoubleAccuracy, SingleAccuracy};

use crate::special::log_of_sum;
use crate::{DType, Dims, Error, MinMax, PodElement, Result, Tensor};

/// Elements with a dimension last, as rows, and how to get back.
struct Lines {
    numbers: WideElements,
    sizes: Dims,
    len: usize,
    dim: i64,
}

impl Lines {
    fn of(input: &Tensor, dim: i64) -> Result<Lines> {
        let dim = wrap_dim(dim, input.dim())? as i64;
        let last = input.transpose(dim, -1)?;
        let len = last.sizes().last().copied().unwrap_or(1).max(1) as usize;
        Ok(Lines {
            numbers: WideElements::of(&last)?,
            sizes: Dims::from_slice(last.sizes()),
            len,
            dim,
        })
    }

    fn restore(&self, tensor: Tensor) -> Result<Tensor> {
        tensor.transpose(self.dim, -1)?.contiguous()
    }
}

/// The dtype of running sums and products: integers in `int64` unless one is given.
fn accumulated(input: &Tensor, dtype: Option<DType>) -> DType {
    let whole = input.dtype().is_integral() || input.dtype() == DType::Bool;
    dtype.unwrap_or(if whole { DType::Int64 } else { input.dtype() })
}

/// Refuses `bool`, which has running sums and products of no more than one element without dimensions.
fn expect_kernel(kernel: &str, input: &Tensor, dtype: DType) -> Result<()> {
    match dtype == DType::Bool && input.dim() > 0 && input.numel() > 0 {
        true => Err(Error::no_kernel(kernel, dtype)),
        false => Ok(()),
    }
}

/// `torch.cumsum`.
///
/// # Errors
/// Where there is no such dimension.
pub fn cumsum(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let dtype = accumulated(input, dtype);
    expect_kernel("cumsum_out_cpu", input, dtype)?;
    match computed(dtype)? {
        DType::Int64 => scan(input, dim, dtype, |x: i64| x, i64::plus, |x| x),
        DType::Float32 => scan(input, dim, dtype, f64::from, f64::plus, |x| x as f32),
        DType::Float64 => scan(input, dim, dtype, |x: f64| x, f64::plus, |x| x),
        _ => scan(input, dim, dtype, |x: Complex128| x, Complex128::plus, |x| x),
    }
}

/// `torch.cumprod`.
///
/// # Errors
/// Where there is no such dimension.
pub fn cumprod(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let dtype = accumulated(input, dtype);
    expect_kernel("cumprod_out_cpu", input, dtype)?;
    match computed(dtype)? {
        DType::Int64 => scan(input, dim, dtype, |x: i64| x, i64::times, |x| x),
        DType::Float32 => scan(input, dim, dtype, f64::from, f64::times, |x| x as f32),
        DType::Float64 => scan(input, dim, dtype, |x: f64| x, f64::times, |x| x),
        _ => scan(input, dim, dtype, |x: Complex128| x, Complex128::times, |x| x),
    }
}

/// Every element combined with all before it along a dimension, in numbers wider than the elements.
fn scan<T: PodElement, A: Copy>(
    input: &Tensor,
    dim: i64,
    dtype: DType,
    widen: impl Fn(T) -> A,
    step: impl Fn(A, A) -> A,
    narrow: impl Fn(A) -> T,
) -> Result<Tensor> {
    let input = input.to_dtype(dtype)?;
    let dim = wrap_dim(dim, input.dim())?;
    let len = input.sizes().get(dim).copied().unwrap_or(1) as usize;
    let inner = input.sizes().iter().skip(dim + 1).product::<i64>() as usize;
    let wide = input.to_dtype(T::DTYPE)?.contiguous()?;
    let result = Tensor::for_overwrite(input.sizes(), T::DTYPE)?;
    if input.numel() == 0 {
        return result.to_dtype(dtype);
    }
    {
        let (from, mut to) = (wide.read::<T>()?, result.write::<T>()?);
        let (from, to) = (&from[..], &mut to[..]);
        dispatch(
            #[inline(always)]
            || match inner {
                1 => {
                    let (mut blocks, mut out) = (
                        from.chunks_exact(SIDE_BY_SIDE * len),
                        to.chunks_exact_mut(SIDE_BY_SIDE * len),
                    );
                    for (from, to) in blocks.by_ref().zip(out.by_ref()) {
                        scan_rows::<SIDE_BY_SIDE, _, _>(from, to, len, &widen, &step, &narrow);
                    }
                    let rest = blocks.remainder().chunks_exact(len);
                    for (from, to) in rest.zip(out.into_remainder().chunks_exact_mut(len)) {
                        scan_rows::<1, _, _>(from, to, len, &widen, &step, &narrow);
                    }
                }
                _ => {
                    let slices = from.chunks_exact(len * inner);
                    for (from, to) in slices.zip(to.chunks_exact_mut(len * inner)) {
                        scan_columns(from, to, inner, &widen, &step, &narrow);
                    }
                }
            },
        );
    }
    result.to_dtype(dtype)
}

/// Rows that are gone through together: one alone would wait for each step.
const SIDE_BY_SIDE: usize = 8;

#[inline(always)]
fn scan_rows<const N: usize, T: PodElement, A: Copy>(
    from: &[T],
    to: &mut [T],
    len: usize,
    widen: &impl Fn(T) -> A,
    step: &impl Fn(A, A) -> A,
    narrow: &impl Fn(A) -> T,
) {
    let mut so_far = [widen(from[0]); N];
    for r in 0..N {
        so_far[r] = widen(from[r * len]);
        to[r * len] = narrow(so_far[r]);
    }
    for i in 1..len {
        for r in 0..N {
            so_far[r] = step(so_far[r], widen(from[r * len + i]));
            to[r * len + i] = narrow(so_far[r]);
        }
    }
}

#[inline(always)]
fn scan_columns<T: PodElement, A: Copy>(
    from: &[T],
    to: &mut [T],
    inner: usize,
    widen: &impl Fn(T) -> A,
    step: &impl Fn(A, A) -> A,
    narrow: &impl Fn(A) -> T,
) {
    let (first, rest) = from.split_at(inner);
    let (to_first, to_rest) = to.split_at_mut(inner);
    to_first.copy_from_slice(first);
    let mut so_far: Vec<A> = first.iter().map(|&x| widen(x)).collect();
    for (from, to) in rest.chunks_exact(inner).zip(to_rest.chunks_exact_mut(inner)) {
        for ((so_far, &x), to) in so_far.iter_mut().zip(from).zip(to) {
            *so_far = step(*so_far, widen(x));
            *to = narrow(*so_far);
        }
    }
}

fn run<T: Copy>(elements: &mut [T], len: usize, step: impl Fn(T, T) -> T) {
    for row in elements.chunks_exact_mut(len) {
        for i in 1..row.len() {
            row[i] = step(row[i - 1], row[i]);
        }
    }
}

/// `torch.logcumsumexp`.
///
/// # Errors
/// For integers.
pub fn logcumsumexp(input: &Tensor, dim: i64) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_complex() {
        expect_floating("logcumsumexp_out_cpu", dtype)?;
    }
    let dim = wrap_dim(dim, input.dim())? as i64;
    if !dtype.is_complex() && input.dim() > 0 {
        // Many sums side by side make vectors of these long steps, which those of one row do not.
        let first = input.transpose(0, dim)?;
        let sums = match computed(dtype)? {
            DType::Float32 => scan(
                &first,
                0,
                dtype,
                f64::from,
                #[inline(always)]
                |x, y| log_of_sum::<SingleAccuracy>(x, y),
                |x| x as f32,
            ),
            _ => scan(
                &first,
                0,
                dtype,
                |x: f64| x,
                #[inline(always)]
                |x, y| log_of_sum::<DoubleAccuracy>(x, y),
                |x| x,
            ),
        };
        return sums?.transpose(0, dim)?.contiguous();
    }
    let mut lines = Lines::of(input, dim)?;
    if let WideElements::Complex(xs) = &mut lines.numbers {
        run(xs, lines.len, crate::elementwise::complex_functions::logaddexp);
    }
    lines.restore(lines.numbers.tensor(&lines.sizes, dtype)?)
}

/// `torch.cummax` and `torch.cummin`: values, and the last index at which each stood.
///
/// # Errors
/// For complex numbers.
pub fn cumulative_min_max(which: MinMax, input: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    let dtype = input.dtype();
    expect_ordered("cummax_cpu", dtype)?;
    let max = which == MinMax::Max;
    match computed(dtype)? {
        DType::Int64 => records::<i64>(input, dim, max),
        DType::Float32 => records::<f32>(input, dim, max),
        DType::Float64 => records::<f64>(input, dim, max),
        _ => Err(Error::no_kernel("cummax_cpu", dtype)),
    }
}

fn records<T: Real>(input: &Tensor, dim: i64, max: bool) -> Result<(Tensor, Tensor)> {
    let dim = wrap_dim(dim, input.dim())?;
    let len = input.sizes().get(dim).copied().unwrap_or(1) as usize;
    let inner = sconce_kernel_core::layout::shape::product(
        input.sizes().get(dim + 1..).unwrap_or_default(),
    ) as usize;
    let values = input.to_dtype(T::DTYPE)?.contiguous()?;
    let best = Tensor::for_overwrite(input.sizes(), T::DTYPE)?;
    let indices = Tensor::for_overwrite(input.sizes(), DType::Int64)?;
    if input.numel() > 0 {
        let (from, mut best, mut at) =
            (values.read::<T>()?, best.write::<T>()?, indices.write::<i64>()?);
        let slices = from.chunks_exact(len * inner).zip(best.chunks_exact_mut(len * inner));
        let slices = slices.zip(at.chunks_exact_mut(len * inner));
        dispatch(
            #[inline(always)]
            || {
                for ((from, best), at) in slices {
                    match (inner, max) {
                        (1, true) => record_row(from, best, at, |x, best| x >= best),
                        (1, false) => record_row(from, best, at, |x, best| x <= best),
                        (_, true) => record_columns(from, best, at, inner, |x, best| x >= best),
                        (_, false) => record_columns(from, best, at, inner, |x, best| x <= best),
                    }
                }
            },
        );
    }
    Ok((best.to_dtype(input.dtype())?, indices))
}

/// Whether a number is the record from here on. The last NaN is.
#[inline(always)]
fn is_record<T: Real>(x: T, best: T, beats: &impl Fn(T, T) -> bool) -> bool {
    x.not_a_number() | (!best.not_a_number() & beats(x, best))
}

#[inline(always)]
fn record_row<T: Real>(
    from: &[T],
    records: &mut [T],
    indices: &mut [i64],
    beats: impl Fn(T, T) -> bool,
) {
    /// Elements that are looked at together: most rows have few records.
    const BLOCK: usize = 16;
    let (mut best, mut at) = (from[0], 0);
    let blocks = from.chunks(BLOCK).zip(records.chunks_mut(BLOCK));
    for (block, ((from, records), indices)) in blocks.zip(indices.chunks_mut(BLOCK)).enumerate() {
        if !from.iter().fold(false, |any, &x| any | is_record(x, best, &beats)) {
            records.fill(best);
            indices.fill(at);
            continue;
        }
        for (i, ((&x, record), index)) in from.iter().zip(records).zip(indices).enumerate() {
            if is_record(x, best, &beats) {
                (best, at) = (x, (block * BLOCK + i) as i64);
            }
            (*record, *index) = (best, at);
        }
    }
}

#[inline(always)]
fn record_columns<T: Real>(
    from: &[T],
    records: &mut [T],
    indices: &mut [i64],
    inner: usize,
    beats: impl Fn(T, T) -> bool,
) {
    records[..inner].copy_from_slice(&from[..inner]);
    indices[..inner].fill(0);
    for (i, from) in from.chunks_exact(inner).enumerate().skip(1) {
        let (before, records) = records[(i - 1) * inner..(i + 1) * inner].split_at_mut(inner);
        let (index_before, indices) = indices[(i - 1) * inner..(i + 1) * inner].split_at_mut(inner);
        for j in 0..inner {
            let new = is_record(from[j], before[j], &beats);
            records[j] = if new { from[j] } else { before[j] };
            indices[j] = if new { i as i64 } else { index_before[j] };
        }
    }
}

/// `torch.prod` of any dtype over one dimension, or all elements.
///
/// # Errors
/// Where there is no such dimension.
pub fn product(
    input: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    let dtype = accumulated(input, dtype);
    let input = input.to_dtype(dtype)?;
    if dtype == DType::Float16 {
        // PyTorch rounds every step in an order of its own, so that an overflow may come or not.
        let sizes =
            crate::elementwise::any_dtype::map_floating("prod_cpu", &input, |x| x.abs().max(1.0))?;
        let bound = crate::prod(&sizes.to_dtype(DType::Float64)?, dim, keepdim)?.to_vec::<f64>()?;
        if bound.iter().any(|bound| *bound > half::f16::MAX.to_f64()) {
            return Err(Error::not_implemented("a product beyond what float16 holds"));
        }
    }
    if widest(dtype)? != DType::Complex128 && dtype != DType::Bool {
        return crate::prod(&input, dim, keepdim)?.to_dtype(dtype);
    }
    let rows = crate::reduction::reduce::rows(&input, dim.as_slice(), keepdim)?;
    let numbers = WideElements::of(&rows.tensor)?;
    fn products<T: Number>(all: &[T], len: usize, count: usize) -> Vec<T> {
        let row = |i: usize| all[i * len..(i + 1) * len].iter().fold(T::ONE, |a, &x| a.times(x));
        (0..count).map(row).collect()
    }
    let products = match &numbers {
        WideElements::Complex(all) => {
            let products = products::<Complex128>(all, rows.len, rows.count);
            let highest = if dtype == DType::Complex64 { f64::from(f32::MAX) } else { f64::MAX };
            if products.iter().any(|x| !(x.norm() < highest)) {
                return Err(Error::not_implemented("a product beyond what the dtype holds"));
            }
            WideElements::Complex(products)
        }
        WideElements::Int(all) => WideElements::Int(products(all, rows.len, rows.count)),
        WideElements::Float(all) => WideElements::Float(products(all, rows.len, rows.count)),
    };
    products.tensor(&rows.sizes, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements along a dimension, each as its position in a row-major tensor.
    fn lines(sizes: &[i64], dim: usize) -> Vec<Vec<usize>> {
        let inner = sizes[dim + 1..].iter().product::<i64>() as usize;
        let (len, outer) = (sizes[dim] as usize, sizes[..dim].iter().product::<i64>() as usize);
        let line = |n: usize| {
            (0..len).map(|i| (n / inner * len + i) * inner + n % inner).collect::<Vec<usize>>()
        };
        (0..outer * inner).map(line).collect()
    }

    #[test]
    fn running_sums_and_records_along_every_dimension() {
        for sizes in [[3, 5, 7], [1, 9, 1], [17, 1, 2], [2, 2, 19]] {
            let count = sizes.iter().product::<i64>() as usize;
            let mut numbers: Vec<f32> = (0..count).map(|i| ((i * 37) % 11) as f32 - 5.25).collect();
            if count > 20 {
                numbers[13] = f32::NAN;
            }
            let input = Tensor::from_slice(&numbers, &sizes).unwrap();
            for dim in 0..3 {
                let (mut sums, mut best, mut at) =
                    (numbers.clone(), numbers.clone(), vec![0i64; count]);
                for line in lines(&sizes, dim) {
                    let (mut sum, mut record, mut position) = (0f64, numbers[line[0]], 0);
                    for (i, &n) in line.iter().enumerate() {
                        let x = numbers[n];
                        sum += f64::from(x);
                        if x.is_nan() || x >= record {
                            (record, position) = (x, i as i64);
                        }
                        (sums[n], best[n], at[n]) = (sum as f32, record, position);
                    }
                }
                let bits = |xs: &[f32]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                let found = cumsum(&input, dim as i64, None).unwrap().to_vec::<f32>().unwrap();
                assert_eq!(bits(&found), bits(&sums), "{sizes:?} {dim}");
                let (values, indices) =
                    cumulative_min_max(MinMax::Max, &input, dim as i64).unwrap();
                assert_eq!(bits(&values.to_vec::<f32>().unwrap()), bits(&best), "{sizes:?} {dim}");
                assert_eq!(indices.to_vec::<i64>().unwrap(), at, "{sizes:?} {dim}");
            }
        }
    }

    #[test]
    fn logarithms_of_running_sums_along_every_dimension() {
        let sizes = [3, 5, 4];
        let numbers: Vec<f32> = (0..60).map(|i| ((i * 37) % 11) as f32 * 3.0 - 15.0).collect();
        let input = Tensor::from_slice(&numbers, &sizes).unwrap();
        for dim in 0..3 {
            let mut expected = vec![0.0; 60];
            for line in lines(&sizes, dim) {
                let mut sum = 0.0;
                for n in line {
                    sum += f64::from(numbers[n]).exp();
                    expected[n] = sum.ln();
                }
            }
            for dtype in [DType::Float32, DType::Float64] {
                let found = logcumsumexp(&input.to_dtype(dtype).unwrap(), dim as i64).unwrap();
                assert_eq!((found.sizes(), found.is_contiguous()), (&sizes[..], true));
                let found = found.to_dtype(DType::Float64).unwrap().to_vec::<f64>().unwrap();
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() <= 2e-7 * expected.abs().max(1.0));
                }
            }
        }
    }
}
