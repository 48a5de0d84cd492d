//! `softmax`, `log_softmax` and `logsumexp`.

use num_complex::Complex;
use sconce_kernel_core::layout::shape::{product, wrap_dim};
use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::tensor::promotion::{compute_dtype, int_to_float};
use sconce_kernel_core::tensor::wide_elements::expect_floating;
use sconce_kernel_core::vecmath::single;

use crate::reduction::reduce::{NARROW, row_sum, rows};
use crate::reduction::softmax_columns::{Finish, columns};
use crate::reduction::softmax_rows::{
    exponentials_below_greatest, log_softmax_rows, log_sum_exp, softmax_rows,
};
use crate::{DType, Error, Result, Tensor};

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
    let finish = Finish {
        keeps_exponentials: true,
        factor: |total| (1.0 / total) as f32,
        value: |_, e, _, scale| e * scale,
    };
    normalised(input, dim, "softmax", (softmax_rows, finish), |row| {
        exponentials_below_greatest(row);
        let scale = 1.0 / row_sum(row);
        row.iter_mut().for_each(|x| *x *= scale);
    })
}

/// `torch.log_softmax`.
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax(input: &Tensor, dim: i64) -> Result<Tensor> {
    let finish = Finish {
        keeps_exponentials: false,
        factor: |total: f64| single::log(total as f32),
        value: |x, _, max, log| x - max - log,
    };
    normalised(input, dim, "log_softmax", (log_softmax_rows, finish), |row| {
        let mut exponentials = row.to_vec();
        let max = exponentials_below_greatest(&mut exponentials);
        let log = row_sum(&exponentials).ln();
        row.iter_mut().for_each(|x| *x = *x - max - log);
    })
}

fn normalised(
    input: &Tensor,
    dim: i64,
    kernel: &str,
    (rows, finish): (
        impl Fn(&mut [f32], usize) + Sync,
        Finish<impl Fn(f64) -> f32 + Sync, impl Fn(f32, f32, f32, f32) -> f32 + Sync>,
    ),
    double: impl Fn(&mut [f64]),
) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        let last = wrap_dim(dim, input.dim())? + 1 >= input.dim();
        let suffix = if last { "_lastdim_kernel_impl" } else { "_kernel_impl" };
        return Err(Error::no_kernel(&format!("{kernel}{suffix}"), dtype));
    }
    let wide = input.to_dtype(compute_dtype(dtype))?;
    let at = wrap_dim(dim, wide.dim())?;
    if let Some((&len, inner)) = wide.sizes().get(at..).and_then(<[i64]>::split_first) {
        let inner = product(inner);
        let plain = wide.dtype() == DType::Float32 && wide.is_contiguous() && wide.numel() > 0;
        if plain && inner >= NARROW {
            return columns(&wide, len as usize, inner as usize, &finish)?.to_dtype(dtype);
        }
    }
    let result = along(&wide, dim, |all, len| {
        match all.dtype() {
            DType::Float32 => {
                let mut all = all.write::<f32>()?;
                partition::for_each_chunk(&mut all, len, grain::ROWS, |_, piece| rows(piece, len));
            }
            _ => all.write::<f64>()?.chunks_exact_mut(len).for_each(double),
        }
        Ok(())
    })?;
    result.to_dtype(dtype)
}

/// `torch.logsumexp`.
///
/// # Errors
/// For dtypes without kernels, and as [`sum`](crate::sum).
pub fn logsumexp(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    let dtype = int_to_float(input.dtype());
    if dtype.is_complex() {
        return complex_logsumexp(input, dims, keepdim);
    }
    expect_floating("logsumexp", dtype)?;
    check_dropped(input, dims, keepdim)?;
    if input.dtype() == DType::Float32 {
        let rows = rows(input, dims, keepdim)?;
        return rows.each(log_sum_exp);
    }
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

/// Refuses to drop all dimensions where none are named, as `torch.logsumexp` does.
fn check_dropped(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<()> {
    if keepdim || !dims.is_empty() || input.dim() == 0 || input.numel() == 0 {
        return Ok(());
    }
    let ones = vec![1; input.dim()];
    let message = format!("output with shape [] doesn't match the broadcast shape {ones:?}");
    Err(Error::runtime(message))
}

fn complex_logsumexp(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    check_dropped(input, dims, keepdim)?;
    let rows = rows(&input.to_dtype(DType::Complex128)?, dims, keepdim)?;
    let result = rows.each(|row: &[Complex<f64>]| {
        let max =
            row.iter().fold(f64::NEG_INFINITY, |a, x| if a.is_nan() { a } else { a.max(x.re) });
        let max = if max.is_infinite() { 0.0 } else { max };
        row.iter().map(|x| (x - max).exp()).sum::<Complex<f64>>().ln() + max
    })?;
    result.to_dtype(input.dtype())
}
