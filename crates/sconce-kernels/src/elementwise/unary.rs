//! Unary element-wise operators.
#![allow(clippy::redundant_closure, reason = "what is inlined for certain is a closure")]

use num_complex::Complex;
use num_traits::{AsPrimitive, Float};
use sconce_kernel_core::iter::half_precision::{map_bits, map_half};
use sconce_kernel_core::iter::map::{map, map_slices, map_slices_beyond};
use sconce_kernel_core::parallel::grain;
use sconce_kernel_core::simd::map_slice::{map_slice, map_slice_with_fallback, map_wide};
use sconce_kernel_core::tensor::promotion::{compute_dtype, int_to_float, is_half};
use sconce_kernel_core::vecmath::accuracy::{Accuracy, DoubleAccuracy, SingleAccuracy};
use sconce_kernel_core::vecmath::float_element::FloatElement;
use sconce_kernel_core::vecmath::{double, single, single_via_double as wide};

use crate::elementwise::complex_functions;
use crate::elementwise::unary_op::{Class, UnaryOp};
use crate::quantize::{through_floats, through_integers};
use crate::{Bool, DType, Error, PodElement, Result, Tensor};

use UnaryOp::*;

/// `op(input)` as a new tensor.
///
/// # Errors
/// Where the operator has no kernel for the dtype.
///
/// ```
/// use sconce_kernels::{Tensor, UnaryOp, unary};
/// let t = Tensor::from_slice(&[-1f32, 0.0, f32::NAN, 2.5], &[4])?;
/// let relu = unary(UnaryOp::Relu, &t)?.to_vec::<f32>()?;
/// assert!(relu[2].is_nan());
/// assert_eq!((relu[0], relu[1], relu[3]), (0.0, 0.0, 2.5));
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn unary(op: UnaryOp, input: &Tensor) -> Result<Tensor> {
    let dtype = input.dtype();
    if op == Relu && dtype.is_quantized() {
        return quantized_relu(input);
    }
    if dtype.is_quantized() {
        match op {
            Hardsigmoid => return quantized_hardsigmoid(input),
            Sigmoid | Tanh => return quantized_bounded(op, input),
            _ => {}
        }
    }
    check_kernel(op, dtype)?;
    let common = if op.class() == Class::Float { int_to_float(dtype) } else { dtype };
    if op.class() == Class::Rounding && dtype.is_integral() {
        return input.copy();
    }
    let common = if op == Square && common == DType::Bool { DType::Int64 } else { common };
    let serial = match op.class() {
        Class::Float | Class::FloatOnly => grain::ELEMENTWISE / 2,
        Class::Rounding | Class::Number => grain::ELEMENTWISE,
    };
    if is_half(common) {
        return match op {
            Neg => map_bits(input, |bits| bits ^ 0x8000),
            Abs => map_bits(input, |bits| bits & 0x7fff),
            _ => map_half(serial, input, &f32::unary_kernel(op)),
        };
    }
    let wide = input.to_dtype(common)?.to_dtype(compute_dtype(common))?;
    let result = match wide.dtype() {
        DType::Float32 => map_slices_beyond(serial, &wide, &f32::unary_kernel(op)),
        DType::Float64 => map_slices_beyond(serial, &wide, &f64::unary_kernel(op)),
        DType::Int64 => int_kernel(op, &wide, dtype),
        DType::Bool if op == Sign => wide.copy(),
        DType::Complex64 => complex_kernel::<f32>(op, &wide),
        DType::Complex128 => complex_kernel::<f64>(op, &wide),
        _ => Err(Error::no_kernel(op.kernel(), dtype)),
    }?;
    match dtype.is_complex() && !result.dtype().is_complex() {
        true => result.to_dtype(dtype.to_real()),
        false => result.to_dtype(common),
    }
}

fn check_kernel(op: UnaryOp, dtype: DType) -> Result<()> {
    let message = match op {
        Neg if dtype == DType::Bool => {
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to \
             invert a mask, use the `~` or `logical_not()` operator instead."
        }
        Relu if dtype == DType::Bool => "Boolean inputs not supported for relu",
        Relu6 if dtype == DType::Bool => "Bool inputs not supported for hardtanh",
        Relu | Relu6 if dtype.is_complex() => "clamp is not supported for complex types",
        Sign if dtype.is_complex() => {
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use \
             torch.sgn instead."
        }
        Floor if dtype.is_complex() => "floor is not supported for complex inputs",
        Ceil if dtype.is_complex() => "ceil is not supported for complex inputs",
        Trunc if dtype.is_complex() => "trunc is not supported for complex inputs",
        _ => {
            let missing = match op.class() {
                Class::FloatOnly if op == Silu && dtype.is_complex() => false,
                Class::FloatOnly => !dtype.is_floating_point(),
                Class::Rounding => dtype == DType::Bool,
                _ => op == Abs && dtype == DType::Bool,
            };
            if missing {
                return Err(Error::no_kernel(op.kernel(), dtype));
            }
            return Ok(());
        }
    };
    Err(Error::not_implemented(message))
}

/// Fills a slice with the values of a function at the elements of another of its length.
pub(crate) type UnaryKernel<T> = fn(&[T], &mut [T]);

/// A floating type that operators of one operand have kernels for.
pub(crate) trait UnaryKernels: FloatElement {
    /// The kernel of an operator.
    fn unary_kernel(op: UnaryOp) -> UnaryKernel<Self>;
}

/// The kernel of an operator of one type: those that are a few instructions are the same for all types, the
/// others are given.
macro_rules! kernel_of {
    ($op:ident, $ty:ident, $($others:tt)*) => {
        match $op {
            $($others)*
            Neg => |xs, out| map_slice(xs, out, |x: $ty| -x),
            Abs => |xs, out| map_slice(xs, out, |x: $ty| x.abs()),
            // NaN passes through.
            Relu => |xs, out| map_slice(xs, out, |x: $ty| if x < 0.0 { 0.0 } else { x }),
            Relu6 => |xs, out| {
                map_slice(xs, out, |x: $ty| if x.is_nan() { x } else { x.clamp(0.0, 6.0) })
            },
            Sign => |xs, out| {
                map_slice(xs, out, |x: $ty| {
                    if x > 0.0 {
                        1.0
                    } else if x < 0.0 {
                        -1.0
                    } else {
                        0.0
                    }
                })
            },
            Square => |xs, out| map_slice(xs, out, |x: $ty| x * x),
            Sqrt => |xs, out| map_slice(xs, out, |x: $ty| x.sqrt()),
            Rsqrt => |xs, out| map_slice(xs, out, |x: $ty| 1.0 / x.sqrt()),
            Reciprocal => |xs, out| map_slice(xs, out, |x: $ty| 1.0 / x),
            Hardsigmoid => {
                |xs, out| map_slice(xs, out, |x: $ty| (x + 3.0).clamp(0.0, 6.0) / 6.0)
            }
            Hardswish => {
                |xs, out| map_slice(xs, out, |x: $ty| x * (x + 3.0).clamp(0.0, 6.0) / 6.0)
            }
            Frac => |xs, out| map_slice(xs, out, |x: $ty| x - x.trunc()),
            Floor => |xs, out| map_slice(xs, out, |x: $ty| x.floor()),
            Ceil => |xs, out| map_slice(xs, out, |x: $ty| x.ceil()),
            Round => |xs, out| map_slice(xs, out, |x: $ty| x.round_ties_even()),
            Trunc => |xs, out| map_slice(xs, out, |x: $ty| x.trunc()),
        }
    };
}

impl UnaryKernels for f32 {
    fn unary_kernel(op: UnaryOp) -> UnaryKernel<f32> {
        // The functions that programs spend their time in are vector code.
        kernel_of! { op, f32,
            Exp => |xs, out| map_slice(xs, out, single::exp),
            Exp2 => |xs, out| map_slice(xs, out, single::exp2),
            Log => |xs, out| map_slice(xs, out, single::log),
            Log2 => |xs, out| map_slice(xs, out, single::log2),
            Tanh => |xs, out| map_slice(xs, out, single::tanh),
            Sigmoid => |xs, out| map_slice(xs, out, single::sigmoid),
            Erf => |xs, out| map_slice(xs, out, single::erf),
            Gelu => |xs, out| map_slice(xs, out, single::gelu),
            GeluTanh => |xs, out| map_slice(xs, out, single::gelu_tanh),
            Silu => |xs, out| map_slice(xs, out, single::silu),
            Expm1 => |xs, out| map_wide(xs, out, wide::exp_m1),
            Log10 => |xs, out| map_wide(xs, out, wide::log10),
            Log1p => |xs, out| map_wide(xs, out, wide::ln_1p),
            Sin => |xs, out| map_angles(xs, out, wide::sin, f32::sin),
            Cos => |xs, out| map_angles(xs, out, wide::cos, f32::cos),
            Tan => |xs, out| map_angles(xs, out, wide::tan, f32::tan),
            Asin => |xs, out| map_wide(xs, out, wide::asin),
            Acos => |xs, out| map_wide(xs, out, wide::acos),
            Atan => |xs, out| map_wide(xs, out, wide::atan),
            Sinh => |xs, out| map_wide(xs, out, wide::sinh),
            Cosh => |xs, out| map_wide(xs, out, wide::cosh),
            Asinh => |xs, out| map_wide(xs, out, wide::asinh),
            Acosh => |xs, out| map_wide(xs, out, wide::acosh),
            Atanh => |xs, out| map_wide(xs, out, wide::atanh),
            Erfc => |xs, out| map_wide(xs, out, wide::erfc),
            Mish => |xs, out| map_wide(xs, out, mish::<SingleAccuracy>),
        }
    }
}

impl UnaryKernels for f64 {
    fn unary_kernel(op: UnaryOp) -> UnaryKernel<f64> {
        #[inline(always)]
        fn sigmoid(x: f64) -> f64 {
            1.0 / (1.0 + double::exp(-x))
        }
        #[inline(always)]
        fn silu(x: f64) -> f64 {
            x / (1.0 + double::exp(-x))
        }
        #[inline(always)]
        fn gelu(x: f64) -> f64 {
            0.5 * x * (1.0 + double::erf(x * std::f64::consts::FRAC_1_SQRT_2))
        }
        fn gelu_tanh(x: f64) -> f64 {
            use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};
            let inner = SQRT_2 * FRAC_2_SQRT_PI * 0.5 * (x + 0.044715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
        kernel_of! { op, f64,
            Exp => |xs, out| map_wide(xs, out, double::exp),
            Expm1 => |xs, out| map_wide(xs, out, double::exp_m1),
            Log => |xs, out| map_wide(xs, out, double::ln),
            Log1p => |xs, out| map_wide(xs, out, double::ln_1p),
            Sin => |xs, out| map_angles(xs, out, double::sin, f64::sin),
            Cos => |xs, out| map_angles(xs, out, double::cos, f64::cos),
            Tanh => |xs, out| map_wide(xs, out, double::tanh),
            Sigmoid => |xs, out| map_wide(xs, out, sigmoid),
            Silu => |xs, out| map_wide(xs, out, silu),
            Erf => |xs, out| {
                map_wide(
                    xs,
                    out,
                    #[inline(always)]
                    |x| double::erf(x),
                )
            },
            Gelu => |xs, out| {
                map_wide(
                    xs,
                    out,
                    #[inline(always)]
                    |x| gelu(x),
                )
            },
            Mish => |xs, out| map_wide(xs, out, mish::<DoubleAccuracy>),
            Exp2 => |xs, out| map_calls(xs, out, f64::exp2),
            Log2 => |xs, out| map_calls(xs, out, f64::log2),
            Log10 => |xs, out| map_calls(xs, out, f64::log10),
            Tan => |xs, out| map_calls(xs, out, f64::tan),
            Asin => |xs, out| map_calls(xs, out, f64::asin),
            Acos => |xs, out| map_calls(xs, out, f64::acos),
            Atan => |xs, out| map_calls(xs, out, f64::atan),
            Sinh => |xs, out| map_calls(xs, out, f64::sinh),
            Cosh => |xs, out| map_calls(xs, out, f64::cosh),
            Asinh => |xs, out| map_calls(xs, out, f64::asinh),
            Acosh => |xs, out| map_calls(xs, out, f64::acosh),
            Atanh => |xs, out| map_calls(xs, out, f64::atanh),
            Erfc => |xs, out| map_calls(xs, out, libm::erfc),
            GeluTanh => |xs, out| map_calls(xs, out, gelu_tanh),
        }
    }
}

/// Fills a slice with the values of a function that is a call for every element. Copies for other vector
/// instructions would gain nothing.
fn map_calls(xs: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    for (out, &x) in out.iter_mut().zip(xs) {
        *out = f(x);
    }
}

/// `x tanh(ln(1 + e^x))`.
#[inline(always)]
fn mish<M: Accuracy>(x: f64) -> f64 {
    // From 50 on the hyperbolic tangent is 1.
    let e = M::exp(if x > 50.0 { 50.0 } else { x });
    let product = e * (e + 2.0);
    x * (product / (product + 2.0))
}

/// As [`map_wide`], but for angles that are too large for the function, whose values are `exact`.
fn map_angles<T: FloatElement>(
    xs: &[T],
    out: &mut [T],
    f: impl Fn(f64) -> f64 + Copy,
    exact: fn(T) -> T,
) {
    map_slice_with_fallback(
        xs,
        out,
        #[inline(always)]
        move |x: T| {
            let angle = x.to_double();
            let is_small = angle.abs() <= T::Accuracy::LARGEST_ANGLE;
            T::from_double(if is_small { f(angle) } else { f64::NAN })
        },
        exact,
    );
}

fn int_kernel(op: UnaryOp, input: &Tensor, dtype: DType) -> Result<Tensor> {
    match op {
        Neg => map(input, |x: i64| x.wrapping_neg()),
        Abs => map(input, |x: i64| x.wrapping_abs()),
        Relu => map(input, |x: i64| x.max(0)),
        Relu6 => map(input, |x: i64| x.clamp(0, 6)),
        Sign => map(input, |x: i64| x.signum()),
        Square => map(input, |x: i64| x.wrapping_mul(x)),
        _ => Err(Error::no_kernel(op.kernel(), dtype)),
    }
}

fn complex_kernel<F>(op: UnaryOp, input: &Tensor) -> Result<Tensor>
where
    F: PodElement + Float + AsPrimitive<f64>,
    f64: AsPrimitive<F>,
    Complex<F>: PodElement,
{
    let wide = |x: Complex<F>| Complex::<f64>::new(x.re.as_(), x.im.as_());
    let narrow = |x: Complex<f64>| Complex::<F>::new(x.re.as_(), x.im.as_());
    // These not by the function below: what is behind a pointer is not made vector code.
    match op {
        Abs => return map(input, |x: Complex<F>| x.norm()),
        Neg => return map(input, |x: Complex<F>| -x),
        Square => {
            return map(input, |x: Complex<F>| {
                let x = wide(x);
                narrow(Complex::new(x.re * x.re - x.im * x.im, x.re * x.im + x.re * x.im))
            });
        }
        Reciprocal => return map_slices(input, &complex_functions::reciprocals::<F>),
        _ => {}
    }
    let Some(function) = complex_functions::function(op) else {
        return Err(Error::no_kernel(op.kernel(), input.dtype()));
    };
    map(input, |x: Complex<F>| narrow(function(wide(x))))
}

/// `torch.logical_not`.
///
/// # Errors
/// For dtypes without kernels.
pub fn logical_not(input: &Tensor) -> Result<Tensor> {
    map(&input.to_dtype(DType::Bool)?, |x: Bool| Bool::from(!x.get()))
}

/// `torch.bitwise_not`.
///
/// # Errors
/// For dtypes that are neither integers nor `bool`.
pub fn bitwise_not(input: &Tensor) -> Result<Tensor> {
    match input.dtype() {
        DType::Bool => logical_not(input),
        dtype if dtype.is_integral() => {
            map(&input.to_dtype(DType::Int64)?, |x: i64| !x)?.to_dtype(dtype)
        }
        dtype => Err(Error::no_kernel("bitwise_not_cpu", dtype)),
    }
}

/// `torch.isnan`.
///
/// # Errors
/// For dtypes without kernels.
pub fn isnan(input: &Tensor) -> Result<Tensor> {
    classify(input, f64::is_nan, |re, im| re || im)
}

/// `torch.isinf`.
///
/// # Errors
/// For dtypes without kernels.
pub fn isinf(input: &Tensor) -> Result<Tensor> {
    classify(input, f64::is_infinite, |re, im| re || im)
}

/// `torch.isfinite`.
///
/// # Errors
/// For dtypes without kernels.
pub fn isfinite(input: &Tensor) -> Result<Tensor> {
    classify(input, f64::is_finite, |re, im| re && im)
}

fn classify(
    input: &Tensor,
    f: impl Fn(f64) -> bool + Copy + Sync,
    join: impl Fn(bool, bool) -> bool + Copy + Sync,
) -> Result<Tensor> {
    match input.dtype() {
        dtype if dtype.is_complex() => {
            let wide = input.to_dtype(DType::Complex128)?;
            map(&wide, |x: Complex<f64>| Bool::from(join(f(x.re), f(x.im))))
        }
        DType::Float64 => map(input, |x: f64| Bool::from(f(x))),
        // The other floating types in single precision, which holds them; an integer is finite there.
        _ => map(&input.to_dtype(DType::Float32)?, |x: f32| Bool::from(f(x.into()))),
    }
}

/// `hardsigmoid` of a quantized tensor, in steps of 1/256.
///
/// # Errors
/// For dtypes that are not quantized in 8 bits.
pub fn quantized_hardsigmoid(input: &Tensor) -> Result<Tensor> {
    let zero_point = match input.dtype() {
        DType::QUInt8 => 0,
        DType::QInt8 => -128,
        other => return Err(Error::no_kernel("hardsigmoid", other)),
    };
    through_floats(&[input], (1.0 / 256.0, zero_point), |floats| match floats {
        [x] => unary(UnaryOp::Hardsigmoid, x),
        _ => Err(Error::runtime("expected one tensor")),
    })
}

/// `relu` of a quantized tensor.
///
/// # Errors
/// For tensors that have not one scale.
pub fn quantized_relu(input: &Tensor) -> Result<Tensor> {
    through_integers(input, |x| map(x, |x: f64| if x < 0.0 { 0.0 } else { x }))
}

/// `sigmoid` and `tanh` of a quantized tensor, in the steps that PyTorch gives their results.
///
/// # Errors
/// For dtypes that are not quantized in 8 bits.
pub(crate) fn quantized_bounded(op: UnaryOp, input: &Tensor) -> Result<Tensor> {
    let output = match (op, input.dtype()) {
        (UnaryOp::Sigmoid, DType::QUInt8) => (1.0 / 256.0, 0),
        (UnaryOp::Sigmoid, DType::QInt8) => (1.0 / 256.0, -128),
        (UnaryOp::Tanh, DType::QUInt8) => (2.0 / 256.0, 128),
        (UnaryOp::Tanh, DType::QInt8) => (2.0 / 256.0, 0),
        (_, other) => return Err(Error::no_kernel("sigmoid", other)),
    };
    through_floats(&[input], output, |floats| match floats {
        [x] => unary(op, x),
        _ => Err(Error::runtime("expected one tensor")),
    })
}
