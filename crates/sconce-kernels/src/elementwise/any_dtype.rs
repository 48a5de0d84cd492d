//! Element-wise operators that are written once for all dtypes, and computed in double precision.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use sconce_kernel_core::iter::broadcast_binary::{row, zip, zip_parallel};
use sconce_kernel_core::iter::half_precision::{map_half, zip_half};
use sconce_kernel_core::iter::map::{map, map_slices_beyond};
use sconce_kernel_core::layout::strided_iter::Strided;
use sconce_kernel_core::parallel::grain;
use sconce_kernel_core::simd::map_slice::map_slice;
use sconce_kernel_core::tensor::dtype_range::{integer_range, rounded};
use sconce_kernel_core::tensor::promotion::int_to_float;
use sconce_kernel_core::tensor::wide_elements::{
    Complex128, Number, WideElements, expect_floating, widest,
};

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::{Bool, DType, Dims, Error, Operand, Result, Tensor, result_type};

/// `f` of every element; integers give `float32`.
///
/// # Errors
/// For complex numbers.
pub fn map_float(
    kernel: &str,
    input: &Tensor,
    f: impl Fn(f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    map_float_each(kernel, input, f, f)
}

/// As [`map_float`], with a function for what is rounded to `f32` and one for `f64`.
pub(crate) fn map_float_each(
    kernel: &str,
    input: &Tensor,
    single: impl Fn(f64) -> f64 + Copy + Sync,
    double: impl Fn(f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    let dtype = int_to_float(input.dtype());
    map_floating_beyond(SLOW, kernel, &input.to_dtype(dtype)?, rounding(single), double)
}

/// Elements from which on other threads pay for what is computed in double precision.
const SLOW: usize = 1 << 13;

/// `f` of every element of a floating tensor.
///
/// # Errors
/// For other dtypes.
pub fn map_floating(
    kernel: &str,
    input: &Tensor,
    f: impl Fn(f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    map_floating_each(kernel, input, rounding(f), f)
}

/// As [`map_floating`], with a function for each of the types that are computed in.
pub(crate) fn map_floating_each(
    kernel: &str,
    input: &Tensor,
    single: impl Fn(f32) -> f32 + Copy + Sync,
    double: impl Fn(f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    map_floating_beyond(grain::ELEMENTWISE, kernel, input, single, double)
}

/// As [`map_floating_each`], on several threads where there are more elements than `serial`.
fn map_floating_beyond(
    serial: usize,
    kernel: &str,
    input: &Tensor,
    single: impl Fn(f32) -> f32 + Copy + Sync,
    double: impl Fn(f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    let dtype = input.dtype();
    expect_floating(kernel, dtype)?;
    let of_single = |xs: &[f32], out: &mut [f32]| map_slice(xs, out, single);
    let of_double = |xs: &[f64], out: &mut [f64]| map_slice(xs, out, double);
    match dtype {
        DType::Float64 => map_slices_beyond(serial, input, &of_double),
        DType::Float32 => map_slices_beyond(serial, input, &of_single),
        _ => map_half(serial, input, &of_single),
    }
}

/// A function of `f32` that is computed in double precision.
#[inline(always)]
pub(crate) fn rounding(f: impl Fn(f64) -> f64 + Copy) -> impl Fn(f32) -> f32 + Copy {
    #[inline(always)]
    move |x: f32| f(x.into()) as f32
}

/// `f` of broadcast pairs; integers give `float32`.
///
/// # Errors
/// For complex numbers, and where sizes do not broadcast.
pub fn zip_float(
    kernel: &str,
    a: Operand<'_>,
    b: Operand<'_>,
    f: impl Fn(f64, f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    zip_float_each(kernel, a, b, rounding_pairs(f), f)
}

/// As [`zip_float`], with a function for each of the types that are computed in.
pub(crate) fn zip_float_each(
    kernel: &str,
    a: Operand<'_>,
    b: Operand<'_>,
    single: impl Fn(f32, f32) -> f32 + Copy + Sync,
    double: impl Fn(f64, f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    let dtype = int_to_float(result_type(&[a, b])?);
    expect_floating(kernel, dtype)?;
    let (a, b) = (a.to_dtype(dtype)?, b.to_dtype(dtype)?);
    let kernel = |out: &mut [f32], x: Strided<'_, f32>, y: Strided<'_, f32>| row(out, x, y, single);
    match dtype {
        DType::Float64 => zip(&a, &b, double),
        DType::Float32 => zip_parallel(&a, &b, &kernel),
        _ => zip_half(None, &a, &b, &kernel),
    }
}

/// `f` of broadcast pairs of floating tensors.
///
/// # Errors
/// For other dtypes, and where sizes do not broadcast.
pub fn zip_floating(
    kernel: &str,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(f64, f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    zip_floating_each(kernel, a, b, rounding_pairs(f), f)
}

/// As [`zip_floating`], with a function for each of the types that are computed in.
pub(crate) fn zip_floating_each(
    kernel: &str,
    a: &Tensor,
    b: &Tensor,
    single: impl Fn(f32, f32) -> f32 + Copy + Sync,
    double: impl Fn(f64, f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    let dtype = result_type(&[a.into(), b.into()])?;
    expect_floating(kernel, dtype)?;
    zip_float_each(kernel, a.into(), b.into(), single, double)
}

/// A function of pairs of `f32` that is computed in double precision.
#[inline(always)]
pub(crate) fn rounding_pairs(
    f: impl Fn(f64, f64) -> f64 + Copy,
) -> impl Fn(f32, f32) -> f32 + Copy {
    #[inline(always)]
    move |x: f32, y: f32| f(x.into(), y.into()) as f32
}

/// `f` of broadcast pairs of integers.
///
/// # Errors
/// For other dtypes, `bool` among them, and where sizes do not broadcast.
fn zip_integers(kernel: &str, a: &Tensor, b: &Tensor, f: fn(i64, i64) -> i64) -> Result<Tensor> {
    let dtype = result_type(&[a.into(), b.into()])?;
    if !dtype.is_integral() || dtype == DType::UInt64 {
        return Err(Error::no_kernel(kernel, dtype));
    }
    let (lowest, _) = integer_range(dtype);
    let (a, b) = (a.to_dtype(DType::Int64)?, b.to_dtype(DType::Int64)?);
    for operand in [&a, &b] {
        if dtype.is_signed() && operand.contiguous()?.read::<i64>()?.contains(&lowest) {
            // Its absolute value is negative, and what comes of that depends on the CPU.
            return Err(Error::no_kernel(&format!("{kernel} of the least number"), dtype));
        }
    }
    zip(&a, &b, f)?.to_dtype(dtype)
}

/// `torch.gcd`.
///
/// # Errors
/// For dtypes other than integers.
pub fn gcd(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    zip_integers("gcd_cpu", a, b, greatest_divisor)
}

/// `torch.lcm`.
///
/// # Errors
/// For dtypes other than integers.
pub fn lcm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    zip_integers("lcm_cpu", a, b, |a, b| match greatest_divisor(a, b) {
        0 => 0,
        divisor => a.wrapping_div(divisor).wrapping_mul(b).wrapping_abs(),
    })
}

fn greatest_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.wrapping_abs(), b.wrapping_abs());
    while a != 0 {
        (a, b) = (b.wrapping_rem(a), a);
    }
    b
}

/// `torch.heaviside`.
///
/// # Errors
/// For complex numbers, and dtypes that differ.
pub fn heaviside(input: &Tensor, values: &Tensor) -> Result<Tensor> {
    let dtype = input.dtype();
    if dtype.is_complex() || values.dtype().is_complex() {
        return Err(Error::not_implemented(
            "heaviside is not yet implemented for complex tensors.",
        ));
    }
    if dtype != values.dtype() {
        let message = "heaviside is not yet implemented for tensors with different dtypes.";
        return Err(Error::runtime(message));
    }
    let step = |x: f64, at_zero: f64| match x {
        0.0 => at_zero,
        x => f64::from(u8::from(x > 0.0)),
    };
    match widest(dtype)? {
        DType::Int64 => {
            let (x, values) = (input.to_dtype(DType::Int64)?, values.to_dtype(DType::Int64)?);
            zip(&x, &values, |x: i64, value| if x == 0 { value } else { i64::from(x > 0) })
        }
        wide => zip(&input.to_dtype(wide)?, &values.to_dtype(wide)?, step),
    }?
    .to_dtype(dtype)
}

/// `torch.float_power`: in `float64`, or `complex128`.
///
/// # Errors
/// Where sizes do not broadcast.
pub fn float_power(base: Operand<'_>, exponent: Operand<'_>) -> Result<Tensor> {
    let complex = base.dtype().is_complex() || exponent.dtype().is_complex();
    let dtype = if complex { DType::Complex128 } else { DType::Float64 };
    let (base, exponent) = (base.to_dtype(dtype)?, exponent.to_dtype(dtype)?);
    binary(BinaryOp::Pow, (&base).into(), (&exponent).into())
}

/// Whether elements are this value: `torch.isposinf` and `torch.isneginf`.
///
/// # Errors
/// For complex numbers.
pub fn is_exactly(value: f64, input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        let which = if value > 0.0 { "isposinf" } else { "isneginf" };
        let message = format!("{which} does not support complex inputs.");
        return Err(Error::runtime(message));
    }
    map(&input.to_dtype(DType::Float64)?, |x: f64| Bool::from(x == value))
}

/// `torch.round(decimals=…)`: every step is rounded to the dtype, as PyTorch's are.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn round_decimals(input: &Tensor, decimals: i64) -> Result<Tensor> {
    let dtype = input.dtype();
    let power = rounded(10f64.powi(decimals.unsigned_abs().min(400) as i32), dtype);
    map_floating("round_vml_cpu", input, move |x| match decimals {
        0 => x.round_ties_even(),
        1.. => rounded(x * power, dtype).round_ties_even() / power,
        _ => rounded(x / power, dtype).round_ties_even() * power,
    })
}

/// `torch.nan_to_num`.
///
/// # Errors
/// For dtypes without kernels.
pub fn nan_to_num(
    input: &Tensor,
    nan: Option<f64>,
    posinf: Option<f64>,
    neginf: Option<f64>,
) -> Result<Tensor> {
    let dtype = input.dtype();
    let (low, high) = match dtype.to_real() {
        DType::Float16 => (half::f16::MIN.to_f64(), half::f16::MAX.to_f64()),
        DType::BFloat16 => (half::bf16::MIN.to_f64(), half::bf16::MAX.to_f64()),
        DType::Float32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        DType::Float64 => (f64::MIN, f64::MAX),
        _ => return input.copy(),
    };
    let (nan, high, low) = (nan.unwrap_or(0.0), posinf.unwrap_or(high), neginf.unwrap_or(low));
    if dtype.is_complex() {
        let part = move |x| number_for(x, [nan, high, low]);
        let both = |x: Complex128| Complex128::new(part(x.re), part(x.im));
        return map(&input.to_dtype(DType::Complex128)?, both)?.to_dtype(dtype);
    }
    let narrow = [nan, high, low].map(|x| x as f32);
    let double = move |x| number_for(x, [nan, high, low]);
    map_floating_each("nan_to_num", input, move |x| number_for(x, narrow), double)
}

/// [`nan_to_num`] of a number.
#[inline(always)]
fn number_for<F: num_traits::Float>(x: F, [nan, high, low]: [F; 3]) -> F {
    let y = if x == F::infinity() { high } else { x };
    let y = if x == F::neg_infinity() { low } else { y };
    if x.is_nan() { nan } else { y }
}

/// `torch.logit`.
///
/// # Errors
/// For complex numbers.
pub fn logit(input: &Tensor, eps: Option<f64>) -> Result<Tensor> {
    let dtype = int_to_float(input.dtype());
    map_float("logit_cpu", input, move |x| {
        let x = match eps {
            Some(eps) if x < rounded(eps, dtype) => rounded(eps, dtype),
            Some(eps) if x > rounded(1.0 - eps, dtype) => rounded(1.0 - eps, dtype),
            _ => x,
        };
        rounded(x / rounded(1.0 - x, dtype), dtype).ln()
    })
}

/// `torch.isclose`.
///
/// # Errors
/// For dtypes that differ, negative tolerances, and sizes that do not broadcast.
pub fn isclose(a: &Tensor, b: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "{} did not match {}",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    for (name, value) in [("rtol", rtol), ("atol", atol)] {
        if !(value >= 0.0) {
            let message = format!("{name} must be greater than or equal to zero, but got {value}");
            return Err(Error::runtime(message));
        }
    }
    let near = |difference: f64, size: f64| {
        difference.is_finite() && difference <= atol + (rtol * size).abs()
    };
    match widest(a.dtype())? {
        DType::Complex128 => {
            let (a, b) = (a.to_dtype(DType::Complex128)?, b.to_dtype(DType::Complex128)?);
            zip(&a, &b, |a: Complex128, b: Complex128| {
                let both_nan = equal_nan && a.not_a_number() && b.not_a_number();
                Bool::from(a == b || both_nan || near((a - b).norm(), b.norm()))
            })
        }
        _ => {
            let (a, b) = (a.to_dtype(DType::Float64)?, b.to_dtype(DType::Float64)?);
            zip(&a, &b, |a: f64, b: f64| {
                let both_nan = equal_nan && a.is_nan() && b.is_nan();
                Bool::from(a == b || both_nan || near((a - b).abs(), b))
            })
        }
    }
}

/// `torch.isin`: whether each element is among others.
///
/// # Errors
/// For dtypes without kernels.
pub fn isin(elements: Operand<'_>, among: Operand<'_>, invert: bool) -> Result<Tensor> {
    for dtype in [elements.dtype(), among.dtype()] {
        if dtype == DType::Bool || dtype.is_complex() {
            return Err(Error::not_implemented(format!(
                "Unsupported input type encountered for isin(): {}",
                dtype.scalar_type_name()
            )));
        }
    }
    let dtype = result_type(&[elements, among])?;
    let sizes = Dims::from_slice(elements.sizes());
    let (elements, among) = (elements.to_dtype(dtype)?, among.to_dtype(dtype)?);
    let count = |tensor: &Tensor| usize::try_from(tensor.numel()).unwrap_or(usize::MAX);
    let (searched, kept) = (count(&elements), count(&among));
    // Both as wide numbers, and a set with room for all.
    let wide = searched.saturating_add(kept).saturating_mul(size_of::<i64>());
    let set = kept.saturating_mul(8 * (size_of::<i64>() + 1)) / 7;
    crate::Memory::check_scratch(wide.saturating_add(set).saturating_add(searched))?;
    let (elements, among) = (WideElements::of(&elements)?, WideElements::of(&among)?);
    let found: Vec<bool> = match (&elements, &among) {
        (WideElements::Int(xs), WideElements::Int(set)) => {
            let set: std::collections::HashSet<i64> = set.iter().copied().collect();
            xs.iter().map(|x| set.contains(x) != invert).collect()
        }
        (WideElements::Float(xs), WideElements::Float(set)) => {
            // Zero is one number with either sign; NaN is in no set.
            let key = |x: f64| (x + 0.0).to_bits();
            let set: std::collections::HashSet<u64> =
                set.iter().filter(|x| !x.is_nan()).map(|&x| key(x)).collect();
            xs.iter().map(|&x| (!x.is_nan() && set.contains(&key(x))) != invert).collect()
        }
        _ => return Err(Error::no_kernel("isin_default_cpu", dtype)),
    };
    Tensor::from_bools(&found, &sizes)
}

/// `torch.fill`: a tensor of the same sizes and dtype that holds one value.
///
/// # Errors
/// For numbers that the dtype cannot hold.
pub fn filled_like(input: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    match value {
        Operand::Scalar(value) => Tensor::full(input.sizes(), value, input.dtype()),
        Operand::Tensor(value) if value.dim() == 0 => {
            value.to_dtype(input.dtype())?.expand(input.sizes())?.copy()
        }
        Operand::Tensor(value) => Err(Error::runtime(format!(
            "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
            value.dim()
        ))),
    }
}
