//! Running reductions along a dimension: `cumsum`, `cumprod`, `cummax`, `logcumsumexp`.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use crate::numbers::{
    Complex128, Number, Numbers, Real, each_kind, expect_floating, expect_ordered, widest,
};
use crate::shape::wrap_dim;
use crate::{DType, Dims, Error, Extremum, Result, Tensor};

/// Elements with a dimension last, as rows, and how to get back.
struct Lines {
    numbers: Numbers,
    sizes: Dims,
    len: usize,
    dim: i64,
}

impl Lines {
    fn of(input: &Tensor, dim: i64) -> Result<Lines> {
        let dim = wrap_dim(dim, input.dim())? as i64;
        let last = input.transpose(dim, -1)?;
        let len = last.sizes().last().copied().unwrap_or(1).max(1) as usize;
        Ok(Lines { numbers: Numbers::of(&last)?, sizes: Dims::from_slice(last.sizes()), len, dim })
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

/// `torch.cumsum`.
///
/// # Errors
/// Where there is no such dimension.
pub fn cumsum(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let dtype = accumulated(input, dtype);
    let mut lines = Lines::of(&input.to_dtype(dtype)?, dim)?;
    let len = lines.len;
    each_kind!(&mut lines.numbers, xs => run(xs, len, |a, b| a.plus(b)));
    lines.restore(lines.numbers.tensor(&lines.sizes, dtype)?)
}

/// `torch.cumprod`.
///
/// # Errors
/// Where there is no such dimension.
pub fn cumprod(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let dtype = accumulated(input, dtype);
    let mut lines = Lines::of(&input.to_dtype(dtype)?, dim)?;
    let len = lines.len;
    each_kind!(&mut lines.numbers, xs => run(xs, len, |a, b| a.times(b)));
    lines.restore(lines.numbers.tensor(&lines.sizes, dtype)?)
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
    let mut lines = Lines::of(input, dim)?;
    let len = lines.len;
    match &mut lines.numbers {
        Numbers::Float(xs) => run(xs, len, crate::special::logaddexp),
        Numbers::Complex(xs) => run(xs, len, crate::complex_functions::logaddexp),
        Numbers::Int(_) => {}
    }
    lines.restore(lines.numbers.tensor(&lines.sizes, dtype)?)
}

/// `torch.cummax` and `torch.cummin`: values, and the last index at which each stood.
///
/// # Errors
/// For complex numbers.
pub fn running_extremum(which: Extremum, input: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    let dtype = input.dtype();
    expect_ordered("cummax_cpu", dtype)?;
    let mut lines = Lines::of(input, dim)?;
    let len = lines.len;
    let max = which == Extremum::Max;
    let indices = match &mut lines.numbers {
        Numbers::Int(xs) => records(xs, len, max),
        Numbers::Float(xs) => records(xs, len, max),
        Numbers::Complex(_) => return Err(Error::no_kernel("cummax_cpu", dtype)),
    };
    let indices = Tensor::from_slice(&indices, &lines.sizes)?;
    Ok((lines.restore(lines.numbers.tensor(&lines.sizes, dtype)?)?, lines.restore(indices)?))
}

fn records<T: Real>(elements: &mut [T], len: usize, max: bool) -> Vec<i64> {
    let mut indices = Vec::with_capacity(elements.len());
    for row in elements.chunks_exact_mut(len) {
        let (mut best, mut at) = (row[0], 0);
        for (i, x) in row.iter_mut().enumerate() {
            let beats = if max { *x >= best } else { *x <= best };
            if x.not_a_number() || (!best.not_a_number() && beats) {
                (best, at) = (*x, i as i64);
            }
            *x = best;
            indices.push(at);
        }
    }
    indices
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
        let sizes = crate::pointwise::map_floating("prod_cpu", &input, |x| x.abs().max(1.0))?;
        let bound = crate::prod(&sizes.to_dtype(DType::Float64)?, dim, keepdim)?.to_vec::<f64>()?;
        if bound.iter().any(|bound| *bound > half::f16::MAX.to_f64()) {
            return Err(Error::not_implemented("a product beyond what float16 holds"));
        }
    }
    if widest(dtype)? != DType::Complex128 && dtype != DType::Bool {
        return crate::prod(&input, dim, keepdim)?.to_dtype(dtype);
    }
    let rows = crate::reduce::rows(&input, dim.as_slice(), keepdim)?;
    let numbers = Numbers::of(&rows.tensor)?;
    fn products<T: Number>(all: &[T], len: usize, count: usize) -> Vec<T> {
        let row = |i: usize| all[i * len..(i + 1) * len].iter().fold(T::ONE, |a, &x| a.times(x));
        (0..count).map(row).collect()
    }
    let products = match &numbers {
        Numbers::Complex(all) => {
            let products = products::<Complex128>(all, rows.len, rows.count);
            let highest = if dtype == DType::Complex64 { f64::from(f32::MAX) } else { f64::MAX };
            if products.iter().any(|x| !(x.norm() < highest)) {
                return Err(Error::not_implemented("a product beyond what the dtype holds"));
            }
            Numbers::Complex(products)
        }
        Numbers::Int(all) => Numbers::Int(products(all, rows.len, rows.count)),
        Numbers::Float(all) => Numbers::Float(products(all, rows.len, rows.count)),
    };
    products.tensor(&rows.sizes, dtype)
}
