//! Reductions over dimensions.
//!
//! Every reduction works on rows: the dimensions that go away are moved to the end and made
//! contiguous. Sums add eight lanes and halve recursively, so that errors grow slowly and the order
//! of additions depends on the length alone.

use num_complex::Complex;

use crate::binary::compute_dtype;
use crate::rows::{log_softmax_rows, softmax_rows};
use crate::shape::wrap_dim;
use crate::simd::dispatch;
use crate::unary::{UnaryOp, map, unary};
use crate::{Bool, DType, Dims, Element, Error, Result, Tensor, threads};

/// The rows of a tensor: what stays, and what is reduced, side by side.
pub(crate) struct Rows {
    /// Contiguous; the reduced dimensions are the last ones.
    pub(crate) tensor: Tensor,
    /// Elements of a row.
    pub(crate) len: usize,
    /// Number of rows.
    pub(crate) count: usize,
    /// Sizes of the result.
    pub(crate) sizes: Dims,
}

/// All dimensions where none is named.
pub(crate) fn rows(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Rows> {
    let n = input.dim();
    let mut reduced = Dims::from_elem(i64::from(dims.is_empty()), n.max(1));
    for &dim in dims {
        let dim = wrap_dim(dim, n)?;
        let Some(reduced) = reduced.get_mut(dim) else { continue };
        if *reduced == 1 {
            return Err(Error::runtime(format!(
                "dim {dim} appears multiple times in the list of dims"
            )));
        }
        *reduced = 1;
    }
    let (mut order, mut gone, mut sizes) = (Dims::new(), Dims::new(), Dims::new());
    let (mut len, mut count) = (1, 1);
    for (dim, (&size, &reduced)) in input.sizes().iter().zip(&reduced).enumerate() {
        if reduced == 1 {
            gone.push(dim as i64);
            len = usize::saturating_mul(len, size as usize);
            if keepdim {
                sizes.push(1);
            }
        } else {
            order.push(dim as i64);
            count = usize::saturating_mul(count, size as usize);
            sizes.push(size);
        }
    }
    order.extend_from_slice(&gone);
    Ok(Rows { tensor: input.permute(&order)?.contiguous()?, len, count, sizes })
}

impl Rows {
    /// One value for every row.
    fn each<T: Element, U: Element>(&self, f: impl Fn(&[T]) -> U) -> Result<Tensor> {
        let result = Tensor::zeros(&self.sizes, U::DTYPE)?;
        let all = self.tensor.read::<T>()?;
        let mut out = result.write::<U>()?;
        dispatch(
            #[inline(always)]
            || {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = f(&all[i * self.len..(i + 1) * self.len]);
                }
            },
        );
        drop(out);
        Ok(result)
    }
}

/// The sum of a row, in an order that depends on its length alone.
pub(crate) fn row_sum<T: Copy + std::ops::Add<Output = T> + num_traits::Zero>(row: &[T]) -> T {
    if row.len() > 1024 {
        let (a, b) = row.split_at(row.len() / 2);
        return row_sum(a) + row_sum(b);
    }
    dispatch(
        #[inline(always)]
        || crate::rows::short_sum(row),
    )
}

/// `torch.sum`: integers and `bool` add up in `int64` unless `dtype` is given.
///
/// # Errors
/// Where there is no such dimension or one is named twice.
///
/// ```
/// use sconce_kernels::{DType, Tensor, sum};
/// let t = Tensor::from_slice(&[1i32, 2, 3, 4], &[2, 2])?;
/// assert_eq!(sum(&t, &[0], false, None)?.to_vec::<i64>()?, [4, 6]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn sum(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let whole = input.dtype().is_integral() || input.dtype() == DType::Bool;
    let dtype = dtype.unwrap_or(if whole { DType::Int64 } else { input.dtype() });
    let wide = input.to_dtype(dtype)?.to_dtype(compute_dtype(dtype))?;
    let rows = rows(&wide, dims, keepdim)?;
    let result = match wide.dtype() {
        DType::Float32 => rows.each(row_sum::<f32>),
        DType::Float64 => rows.each(row_sum::<f64>),
        DType::Int64 => rows.each(|row: &[i64]| row.iter().fold(0i64, |a, &x| a.wrapping_add(x))),
        DType::Complex64 => rows.each(row_sum::<Complex<f32>>),
        DType::Complex128 => rows.each(row_sum::<Complex<f64>>),
        DType::Bool => rows.each(|row: &[Bool]| Bool::from(row.iter().any(|x| x.get()))),
        other => Err(Error::no_kernel("sum_cpu", other)),
    }?;
    result.to_dtype(dtype)
}

/// `torch.mean`.
///
/// # Errors
/// For integers, and as [`sum`].
pub fn mean(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        let own = crate::per_tensor(input)?;
        return crate::through_floats(&[input], own, |real| match real {
            [real] => mean(real, dims, keepdim, dtype),
            _ => Err(Error::runtime("mean(): expected one tensor")),
        });
    }
    let out = dtype.unwrap_or(input.dtype());
    if !out.is_floating_point() && !out.is_complex() {
        return Err(Error::not_implemented(format!(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or \
             complex dtype. Got: {}",
            out.scalar_type_name()
        )));
    }
    let compute = compute_dtype(out);
    let total = sum(&input.to_dtype(out)?.to_dtype(compute)?, dims, keepdim, None)?;
    let len = rows_len(input, dims)? as f64;
    crate::binary(crate::BinaryOp::Div, (&total).into(), len.into())?.to_dtype(out)
}

fn rows_len(input: &Tensor, dims: &[i64]) -> Result<i64> {
    if dims.is_empty() {
        return Ok(input.numel());
    }
    dims.iter().try_fold(1, |len, &dim| {
        let dim = wrap_dim(dim, input.dim())?;
        Ok(i64::saturating_mul(len, input.sizes().get(dim).copied().unwrap_or(1)))
    })
}

/// `torch.prod` over one dimension, or all of them.
///
/// # Errors
/// As [`sum`].
pub fn prod(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    let whole = input.dtype().is_integral() || input.dtype() == DType::Bool;
    let dtype = if whole { DType::Int64 } else { input.dtype() };
    let wide = input.to_dtype(dtype)?.to_dtype(compute_dtype(dtype))?;
    let rows = rows(&wide, dim.as_slice(), keepdim)?;
    let result = match wide.dtype() {
        DType::Float32 => rows.each(|row: &[f32]| row.iter().product::<f32>()),
        DType::Float64 => rows.each(|row: &[f64]| row.iter().product::<f64>()),
        DType::Int64 => rows.each(|row: &[i64]| row.iter().fold(1i64, |a, &x| a.wrapping_mul(x))),
        other => Err(Error::no_kernel("prod_cpu", other)),
    }?;
    result.to_dtype(dtype)
}

/// `torch.all`.
///
/// # Errors
/// As [`sum`].
pub fn all(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    truth(input, dims, keepdim, |row| row.iter().all(|x| x.get()))
}

/// `torch.any`.
///
/// # Errors
/// As [`sum`].
pub fn any(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    truth(input, dims, keepdim, |row| row.iter().any(|x| x.get()))
}

fn truth(
    input: &Tensor,
    dims: &[i64],
    keepdim: bool,
    f: impl Fn(&[Bool]) -> bool,
) -> Result<Tensor> {
    let result =
        rows(&input.to_dtype(DType::Bool)?, dims, keepdim)?.each(|row| Bool::from(f(row)))?;
    // The one reduction that keeps uint8, as PyTorch does for old programs.
    if input.dtype() == DType::UInt8 { result.to_dtype(DType::UInt8) } else { Ok(result) }
}

/// Which end [`extremum`] looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extremum {
    /// `max`, `amax`, `argmax`.
    Max,
    /// `min`, `amin`, `argmin`.
    Min,
}

/// `torch.max(input, dim)` and `torch.min(input, dim)`: values and their first indices; without a
/// dimension, over all elements. NaN wins over every number.
///
/// # Errors
/// Where there is nothing to choose from, and for complex numbers.
pub fn extremum(
    which: Extremum,
    input: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
) -> Result<(Tensor, Tensor)> {
    if input.dtype().is_quantized() {
        return crate::rearranged_with_indices(input, |whole| extremum(which, whole, dim, keepdim));
    }
    let name = if which == Extremum::Max { "max" } else { "min" };
    named_extremum(name, which, input, dim, keepdim)
}

/// `torch.argmax` and `torch.argmin`.
///
/// # Errors
/// As [`extremum`], and for `bool`.
pub fn arg_extremum(
    which: Extremum,
    input: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
) -> Result<Tensor> {
    let name = if which == Extremum::Max { "argmax" } else { "argmin" };
    if input.dtype() == DType::Bool {
        return Err(Error::runtime(format!("{name}(): does not support bool input")));
    }
    if input.numel() == 0 && dim.is_none() {
        let message = "Expected reduction dim to be specified for input.numel() == 0.";
        return Err(Error::index(format!("{name}(): {message}")));
    }
    match input.dtype().is_quantized() {
        true => Ok(extremum(which, input, dim, keepdim)?.1),
        false => Ok(named_extremum(name, which, input, dim, keepdim)?.1),
    }
}

/// [`extremum`] in the name of an operator.
fn named_extremum(
    name: &str,
    which: Extremum,
    input: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
) -> Result<(Tensor, Tensor)> {
    let dtype = input.dtype();
    if dtype.is_complex() || dtype == DType::UInt64 {
        let kernel = if which == Extremum::Max { "max_all" } else { "min_all" };
        return Err(Error::no_kernel(kernel, dtype));
    }
    let compute = if dtype == DType::Bool { DType::Int64 } else { compute_dtype(dtype) };
    let rows = rows(&input.to_dtype(compute)?, dim.as_slice(), keepdim)?;
    if rows.len == 0 && (rows.count > 0 || dim.is_none()) {
        return Err(match dim {
            Some(dim) => Error::index(format!(
                "{name}(): Expected reduction dim {} to have non-zero size.",
                wrap_dim(dim, input.dim())?
            )),
            None => Error::runtime(format!(
                "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify \
                 the reduction dim with the 'dim' argument."
            )),
        });
    }
    let max = which == Extremum::Max;
    let indices = match compute {
        DType::Float32 => rows.each(|row: &[f32]| best(row, max, |x| x.is_nan())),
        DType::Float64 => rows.each(|row: &[f64]| best(row, max, |x| x.is_nan())),
        DType::Int64 => rows.each(|row: &[i64]| best(row, max, |_| false)),
        other => Err(Error::no_kernel(name, other)),
    }?;
    let flat = rows.tensor.view(&[rows.count as i64, rows.len as i64])?;
    let column = indices.view(&[rows.count as i64, 1])?;
    let values = crate::gather(&flat, 1, &column)?.view(&rows.sizes)?;
    Ok((values.to_dtype(dtype)?, indices))
}

fn best<T: PartialOrd + Copy>(row: &[T], max: bool, is_nan: impl Fn(T) -> bool) -> i64 {
    let mut best = 0;
    for (i, &x) in row.iter().enumerate() {
        if is_nan(x) {
            return i as i64;
        }
        if if max { x > row[best] } else { x < row[best] } {
            best = i;
        }
    }
    best as i64
}

/// `torch.var` with a correction (1 by default in PyTorch): two passes, in `float64`.
///
/// # Errors
/// For integers, and as [`sum`].
pub fn var(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        let message = "std and var only support floating point and complex dtypes";
        return Err(Error::not_implemented(message));
    }
    let rows = rows(&input.to_dtype(DType::Float64)?, dims, keepdim)?;
    let result = rows.each(|row: &[f64]| {
        let n = row.len() as f64;
        let mean = row_sum(row) / n;
        let squares: Vec<f64> = row.iter().map(|x| (x - mean) * (x - mean)).collect();
        row_sum(&squares) / (n - correction).max(0.0)
    })?;
    result.to_dtype(dtype)
}

/// `torch.std`.
///
/// # Errors
/// As [`var`].
pub fn std(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    let wide = input.to_dtype(compute_dtype(input.dtype()))?;
    unary(UnaryOp::Sqrt, &var(&wide, dims, correction, keepdim)?)?.to_dtype(input.dtype())
}

/// `torch.linalg.vector_norm` of order `p`.
///
/// # Errors
/// For integers, and as [`sum`].
pub fn norm(input: &Tensor, p: f64, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return norm(&unary(UnaryOp::Abs, input)?, p, dims, keepdim);
    }
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        return Err(Error::runtime(format!(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
            dtype.scalar_type_name()
        )));
    }
    let rows = rows(&input.to_dtype(DType::Float64)?, dims, keepdim)?;
    let result = rows.each(|row: &[f64]| {
        let sum_of =
            |f: &dyn Fn(f64) -> f64| row_sum(&row.iter().map(|&x| f(x)).collect::<Vec<_>>());
        let pick = |a: f64, b: f64, keep: bool| if a.is_nan() || keep { a } else { b };
        match p {
            2.0 => sum_of(&|x| x * x).sqrt(),
            1.0 => sum_of(&f64::abs),
            0.0 => sum_of(&|x| f64::from(u8::from(x != 0.0))),
            f64::INFINITY => row.iter().fold(0.0, |a, x| pick(a, x.abs(), a > x.abs())),
            f64::NEG_INFINITY => {
                row.iter().fold(f64::INFINITY, |a, x| pick(a, x.abs(), a < x.abs()))
            }
            p => sum_of(&|x| x.abs().powf(p)).powf(1.0 / p),
        }
    })?;
    result.to_dtype(dtype)
}

/// Gives `f` a contiguous copy whose last dimension is `dim`, to change in place.
pub(crate) fn along(
    input: &Tensor,
    dim: i64,
    f: impl FnOnce(&Tensor, usize) -> Result<()>,
) -> Result<Tensor> {
    let dim = wrap_dim(dim, input.dim())? as i64;
    let copy = input.transpose(dim, -1)?.copy()?;
    if copy.numel() > 0 {
        f(&copy, copy.sizes().last().map_or(1, |&len| len as usize))?;
    }
    copy.transpose(dim, -1)?.contiguous()
}

/// `torch.softmax`.
///
/// # Errors
/// For integers, and where there is no such dimension.
pub fn softmax(input: &Tensor, dim: i64) -> Result<Tensor> {
    normalised(input, dim, "softmax", softmax_rows, |row| {
        let max = row.iter().fold(f64::NEG_INFINITY, |a, &x| a.max(x));
        row.iter_mut().for_each(|x| *x = (*x - max).exp());
        let scale = 1.0 / row_sum(row);
        row.iter_mut().for_each(|x| *x *= scale);
    })
}

/// `torch.log_softmax`.
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax(input: &Tensor, dim: i64) -> Result<Tensor> {
    normalised(input, dim, "log_softmax", log_softmax_rows, |row| {
        let max = row.iter().fold(f64::NEG_INFINITY, |a, &x| a.max(x));
        let log = row.iter().map(|&x| (x - max).exp()).sum::<f64>().ln();
        row.iter_mut().for_each(|x| *x = *x - max - log);
    })
}

fn normalised(
    input: &Tensor,
    dim: i64,
    kernel: &str,
    single: impl Fn(&mut [f32], usize) + Sync,
    double: impl Fn(&mut [f64]),
) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        let last = wrap_dim(dim, input.dim())? + 1 >= input.dim();
        let suffix = if last { "_lastdim_kernel_impl" } else { "_kernel_impl" };
        return Err(Error::no_kernel(&format!("{kernel}{suffix}"), dtype));
    }
    let wide = input.to_dtype(compute_dtype(dtype))?;
    let result = along(&wide, dim, |rows, len| {
        match rows.dtype() {
            DType::Float32 => {
                let mut all = rows.write::<f32>()?;
                threads::pieces(&mut all, len, crate::rows::PARALLEL, |_, piece| {
                    single(piece, len)
                });
            }
            _ => rows.write::<f64>()?.chunks_exact_mut(len).for_each(double),
        }
        Ok(())
    })?;
    result.to_dtype(dtype)
}

/// `torch.logsumexp`.
///
/// # Errors
/// For dtypes without kernels, and as [`sum`].
pub fn logsumexp(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    let dtype = crate::promotion::int_to_float(input.dtype());
    if dtype.is_complex() {
        return complex_logsumexp(input, dims, keepdim);
    }
    crate::numbers::expect_floating("logsumexp", dtype)?;
    let rows = rows(&input.to_dtype(DType::Float64)?, dims, keepdim)?;
    let result = rows.each(|row: &[f64]| {
        let max =
            row.iter().fold(f64::NEG_INFINITY, |a, &x| if x > a || x.is_nan() { x } else { a });
        if max.is_infinite() {
            return max;
        }
        row.iter().map(|x| (x - max).exp()).sum::<f64>().ln() + max
    })?;
    result.to_dtype(dtype)
}

fn complex_logsumexp(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    let rows = rows(&input.to_dtype(DType::Complex128)?, dims, keepdim)?;
    let result = rows.each(|row: &[Complex<f64>]| {
        let max =
            row.iter().fold(f64::NEG_INFINITY, |a, x| if a.is_nan() { a } else { a.max(x.re) });
        let max = if max.is_infinite() { 0.0 } else { max };
        row.iter().map(|x| (x - max).exp()).sum::<Complex<f64>>().ln() + max
    })?;
    result.to_dtype(input.dtype())
}

/// `torch.count_nonzero` over all elements.
///
/// # Errors
/// For dtypes without kernels.
pub fn count_nonzero(input: &Tensor) -> Result<Tensor> {
    let flags = map(&input.to_dtype(DType::Bool)?, |x: Bool| i64::from(x.get()))?;
    sum(&flags, &[], false, None)
}

/// `torch.amax` over any dimensions.
///
/// # Errors
/// As [`extremum`].
pub fn amax(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    extremum_over(Extremum::Max, input, dims, keepdim)
}

/// `torch.amin` over any dimensions.
///
/// # Errors
/// As [`extremum`].
pub fn amin(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    extremum_over(Extremum::Min, input, dims, keepdim)
}

fn extremum_over(which: Extremum, input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    let name = if which == Extremum::Max { "amax" } else { "amin" };
    if input.numel() == 0 && dims.is_empty() {
        return Err(Error::index(format!(
            "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the \
             reduction dim with the 'dim' argument."
        )));
    }
    for &dim in dims {
        if input.dim() > 0 && input.size(dim)? == 0 {
            let message = format!("Expected reduction dim {dim} to have non-zero size.");
            return Err(Error::index(format!("{name}(): {message}")));
        }
    }
    let rows = rows(input, dims, keepdim)?;
    let flat = rows.tensor.view(&[rows.count as i64, rows.len as i64])?;
    extremum(which, &flat, Some(1), false)?.0.view(&rows.sizes)
}
