//! Operators of one operand, element by element.
#![allow(clippy::redundant_closure, reason = "what is inlined for certain is a closure")]

use crate::parallel::grain;
use num_complex::Complex;
use num_traits::{AsPrimitive, Float};

use crate::elementwise::binary::{compute_dtype, is_half, store};
use crate::elementwise::complex_functions;
use crate::iter::half_precision::{map_bits, map_halves};
use crate::iter::permutation::Permutation;
use crate::layout::strides::is_dense;
use crate::parallel::partition;
use crate::simd::dispatch::dispatch;
use crate::tensor::promotion::int_to_float;
use crate::vecmath::accuracy::{Maths, OfDouble, OfSingle};
use crate::vecmath::double;
use crate::vecmath::single;
use crate::vecmath::single_via_double as wide;
use crate::{Bool, DType, Element, Error, Result, Tensor};

/// How an operator treats dtypes.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// Integers become `float32`.
    Float,
    /// Floating types only.
    FloatOnly,
    /// Integers come back as they are.
    Rounding,
    /// Every number has its own kernel.
    Number,
}

macro_rules! unary_ops {
    ($($name:ident $class:ident $kernel:literal;)*) => {
        /// An operator of one operand, by the name of its `aten` operator.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "named like the operators of torch")]
        pub enum UnaryOp { $($name,)* }

        impl UnaryOp {
            fn class(self) -> Class {
                match self { $(UnaryOp::$name => Class::$class,)* }
            }

            /// The name that PyTorch's "not implemented for" errors give the kernel.
            fn kernel(self) -> &'static str {
                match self { $(UnaryOp::$name => $kernel,)* }
            }
        }
    };
}

unary_ops! {
    Neg Number "neg_cpu";
    Abs Number "abs_cpu";
    Relu Number "relu";
    Relu6 Number "hardtanh";
    Sign Number "sign_cpu";
    Square Number "square";
    Exp Float "exp_vml_cpu";
    Exp2 Float "exp2";
    Expm1 Float "expm1_vml_cpu";
    Log Float "log_vml_cpu";
    Log2 Float "log2_vml_cpu";
    Log10 Float "log10_vml_cpu";
    Log1p Float "log1p_vml_cpu";
    Sqrt Float "sqrt_vml_cpu";
    Rsqrt Float "rsqrt_cpu";
    Reciprocal Float "reciprocal_cpu";
    Sin Float "sin_vml_cpu";
    Cos Float "cos_vml_cpu";
    Tan Float "tan_vml_cpu";
    Asin Float "asin_vml_cpu";
    Acos Float "acos_vml_cpu";
    Atan Float "atan_vml_cpu";
    Sinh Float "sinh_vml_cpu";
    Cosh Float "cosh_vml_cpu";
    Tanh Float "tanh_vml_cpu";
    Asinh Float "asinh_vml_cpu";
    Acosh Float "acosh_vml_cpu";
    Atanh Float "atanh_vml_cpu";
    Sigmoid Float "sigmoid_cpu";
    Erf Float "erf_vml_cpu";
    Erfc Float "erfc_vml_cpu";
    Gelu FloatOnly "GeluKernelImpl";
    GeluTanh FloatOnly "GeluKernelImpl";
    Silu FloatOnly "silu_cpu";
    Mish FloatOnly "mish_cpu";
    Hardsigmoid FloatOnly "hardsigmoid_cpu";
    Hardswish FloatOnly "hardswish_cpu";
    Frac FloatOnly "frac_cpu";
    Floor Rounding "floor_vml_cpu";
    Ceil Rounding "ceil_vml_cpu";
    Round Rounding "round_vml_cpu";
    Trunc Rounding "trunc_vml_cpu";
}

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
        return crate::quantized_relu(input);
    }
    if dtype.is_quantized() {
        match op {
            Hardsigmoid => return crate::quantized_hardsigmoid(input),
            Sigmoid | Tanh => return crate::quantized::arithmetic::quantized_bounded(op, input),
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
            _ => map_halves(serial, input, &f32::mapping(op)),
        };
    }
    let wide = input.to_dtype(common)?.to_dtype(compute_dtype(common))?;
    let result = match wide.dtype() {
        DType::Float32 => map_slices_beyond(serial, &wide, &f32::mapping(op)),
        DType::Float64 => map_slices_beyond(serial, &wide, &f64::mapping(op)),
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

/// `input = op(input)`.
///
/// # Errors
/// As [`unary`], and where the result would be of a higher kind than `input`.
pub fn unary_in_place(op: UnaryOp, input: &Tensor) -> Result<()> {
    store(input, &unary(op, input)?)
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

/// Applies `f` to every element, on several threads where there are many.
pub(crate) fn map<T: Element, U: Element>(
    input: &Tensor,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Result<Tensor> {
    map_slices(input, &|xs, out| map_slice(xs, out, f))
}

/// Applies a kernel to all elements, on several threads where there are many.
pub(crate) fn map_slices<T: Element, U: Element>(
    input: &Tensor,
    kernel: &(dyn Fn(&[T], &mut [U]) + Sync),
) -> Result<Tensor> {
    map_slices_beyond(grain::ELEMENTWISE, input, kernel)
}

/// As [`map_slices`], on several threads where there are more elements than `serial`.
pub(crate) fn map_slices_beyond<T: Element, U: Element>(
    serial: usize,
    input: &Tensor,
    kernel: &(dyn Fn(&[T], &mut [U]) + Sync),
) -> Result<Tensor> {
    let (input, turn) = row_major(input)?;
    let result = Tensor::unset(input.sizes(), U::DTYPE)?;
    let xs = input.read::<T>()?;
    let xs: &[T] = &xs;
    partition::pieces(&mut result.write::<U>()?, 64, serial, |start, out| {
        kernel(&xs[start..start + out.len()], out);
    });
    match turn {
        Some(turn) => turn.back(&result),
        None => Ok(result),
    }
}

/// The input row-major, and how its dimensions were turned for that: a copy only where it has gaps.
fn row_major(input: &Tensor) -> Result<(Tensor, Option<Permutation>)> {
    if !input.is_contiguous() && is_dense(input.sizes(), input.strides()) {
        let turn = Permutation::into_order(input.strides());
        return Ok((turn.there(input)?, Some(turn)));
    }
    Ok((input.contiguous()?, None))
}

/// Fills a slice with the values of a function at the elements of another of its length.
pub(crate) type Mapping<T> = fn(&[T], &mut [T]);

/// A floating type that operators have kernels of their own for.
pub(crate) trait FloatingMap: Element {
    /// The kernel of an operator.
    fn mapping(op: UnaryOp) -> Mapping<Self>;
    /// The functions that other operators are made of.
    type Maths: Maths;
    /// The angle of a point; this is its `y`.
    fn atan2(self, x: Self) -> Self {
        Self::from_double(Self::Maths::atan2(self.to_double(), x.to_double()))
    }
    /// A power of this number.
    fn power(self, exponent: Self) -> Self;
    /// The nearest number of this type.
    fn from_double(x: f64) -> Self;
    /// The same number.
    fn to_double(self) -> f64;
    /// Whether it is NaN.
    #[inline(always)]
    fn is_not_a_number(self) -> bool {
        self.to_double().is_nan()
    }
}

impl FloatingMap for f32 {
    type Maths = OfSingle;
    fn mapping(op: UnaryOp) -> Mapping<f32> {
        // The functions that programs spend their time in are vector code.
        match op {
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
            Mish => |xs, out| map_wide(xs, out, mish::<OfSingle>),
            _ => plain_f32(op),
        }
    }
    #[inline(always)]
    fn power(self, exponent: f32) -> f32 {
        wide::pow(self.into(), exponent.into()) as f32
    }
    #[inline(always)]
    fn from_double(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn to_double(self) -> f64 {
        self.into()
    }
}

impl FloatingMap for f64 {
    type Maths = OfDouble;
    fn mapping(op: UnaryOp) -> Mapping<f64> {
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
        match op {
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
            Mish => |xs, out| map_wide(xs, out, mish::<OfDouble>),
            _ => plain_f64(op),
        }
    }
    #[inline(always)]
    fn power(self, exponent: f64) -> f64 {
        self.powf(exponent)
    }
    #[inline(always)]
    fn from_double(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn to_double(self) -> f64 {
        self
    }
}

/// `x tanh(ln(1 + e^x))`.
#[inline(always)]
fn mish<M: Maths>(x: f64) -> f64 {
    // From 50 on the hyperbolic tangent is 1.
    let e = M::exp(if x > 50.0 { 50.0 } else { x });
    let product = e * (e + 2.0);
    x * (product / (product + 2.0))
}

/// Fills a slice with the values of a function.
pub(crate) fn map_slice<T: Element, U: Element>(xs: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    // What the function has captured moves along: behind a reference it would be read anew for every
    // element, for all the compiler knows what is written may lie there.
    dispatch(
        #[inline(always)]
        move || {
            for (out, &x) in out.iter_mut().zip(xs) {
                *out = f(x);
            }
        },
    );
}

/// Fills a slice with the values of a function that is computed in double precision.
pub(crate) fn map_wide<T: FloatingMap>(xs: &[T], out: &mut [T], f: impl Fn(f64) -> f64) {
    map_slice(
        xs,
        out,
        #[inline(always)]
        move |x: T| T::from_double(f(x.to_double())),
    );
}

/// As [`map_slice`], but where `quick` gives NaN, `exact` says what it is.
pub(crate) fn map_slice_or<T: FloatingMap>(
    xs: &[T],
    out: &mut [T],
    quick: impl Fn(T) -> T + Copy,
    exact: impl Fn(T) -> T,
) {
    for (xs, out) in xs.chunks(256).zip(out.chunks_mut(256)) {
        map_slice(xs, out, quick);
        if out.iter().fold(false, |any, x| any | x.is_not_a_number()) {
            for (out, &x) in out.iter_mut().zip(xs).filter(|(out, _)| out.is_not_a_number()) {
                *out = exact(x);
            }
        }
    }
}

/// As [`map_wide`], but for angles that are too large for the function, whose values are `exact`.
fn map_angles<T: FloatingMap>(
    xs: &[T],
    out: &mut [T],
    f: impl Fn(f64) -> f64 + Copy,
    exact: fn(T) -> T,
) {
    map_slice_or(
        xs,
        out,
        #[inline(always)]
        move |x: T| {
            let angle = x.to_double();
            let is_small = angle.abs() <= T::Maths::LARGEST_ANGLE;
            T::from_double(if is_small { f(angle) } else { f64::NAN })
        },
        exact,
    );
}

macro_rules! float_kernel {
    ($name:ident, $ty:ident, $erf:path, $erfc:path, $consts:ident) => {
        fn $name(op: UnaryOp) -> Mapping<$ty> {
            use std::$consts::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
            fn sigmoid(x: $ty) -> $ty {
                1.0 / (1.0 + (-x).exp())
            }
            type F = $ty;
            match op {
                Neg => |xs, out| map_slice(xs, out, |x: F| -x),
                Abs => |xs, out| map_slice(xs, out, |x: F| x.abs()),
                // NaN passes through.
                Relu => |xs, out| map_slice(xs, out, |x: F| if x < 0.0 { 0.0 } else { x }),
                Relu6 => |xs, out| {
                    map_slice(xs, out, |x: F| if x.is_nan() { x } else { x.clamp(0.0, 6.0) })
                },
                Sign => |xs, out| {
                    map_slice(xs, out, |x: F| {
                        (if x > 0.0 {
                            1.0
                        } else if x < 0.0 {
                            -1.0
                        } else {
                            0.0
                        }) as F
                    })
                },
                Square => |xs, out| map_slice(xs, out, |x: F| x * x),
                Exp => |xs, out| map_slice(xs, out, |x: F| x.exp()),
                Exp2 => |xs, out| map_slice(xs, out, |x: F| x.exp2()),
                Expm1 => |xs, out| map_slice(xs, out, |x: F| x.exp_m1()),
                Log => |xs, out| map_slice(xs, out, |x: F| x.ln()),
                Log2 => |xs, out| map_slice(xs, out, |x: F| x.log2()),
                Log10 => |xs, out| map_slice(xs, out, |x: F| x.log10()),
                Log1p => |xs, out| map_slice(xs, out, |x: F| x.ln_1p()),
                Sqrt => |xs, out| map_slice(xs, out, |x: F| x.sqrt()),
                Rsqrt => |xs, out| map_slice(xs, out, |x: F| 1.0 / x.sqrt()),
                Reciprocal => |xs, out| map_slice(xs, out, |x: F| 1.0 / x),
                Sin => |xs, out| map_slice(xs, out, |x: F| x.sin()),
                Cos => |xs, out| map_slice(xs, out, |x: F| x.cos()),
                Tan => |xs, out| map_slice(xs, out, |x: F| x.tan()),
                Asin => |xs, out| map_slice(xs, out, |x: F| x.asin()),
                Acos => |xs, out| map_slice(xs, out, |x: F| x.acos()),
                Atan => |xs, out| map_slice(xs, out, |x: F| x.atan()),
                Sinh => |xs, out| map_slice(xs, out, |x: F| x.sinh()),
                Cosh => |xs, out| map_slice(xs, out, |x: F| x.cosh()),
                Tanh => |xs, out| map_slice(xs, out, |x: F| x.tanh()),
                Asinh => |xs, out| map_slice(xs, out, |x: F| x.asinh()),
                Acosh => |xs, out| map_slice(xs, out, |x: F| x.acosh()),
                Atanh => |xs, out| map_slice(xs, out, |x: F| x.atanh()),
                Sigmoid => |xs, out| map_slice(xs, out, sigmoid),
                Erf => |xs, out| map_slice(xs, out, |x: F| $erf(x)),
                Erfc => |xs, out| map_slice(xs, out, |x: F| $erfc(x)),
                Gelu => {
                    |xs, out| map_slice(xs, out, |x: F| 0.5 * x * (1.0 + $erf(x * FRAC_1_SQRT_2)))
                }
                GeluTanh => |xs, out| {
                    map_slice(xs, out, |x: F| {
                        let inner = SQRT_2 * FRAC_2_SQRT_PI * 0.5 * (x + 0.044715 * x * x * x);
                        0.5 * x * (1.0 + inner.tanh())
                    })
                },
                Silu => |xs, out| map_slice(xs, out, |x: F| x / (1.0 + (-x).exp())),
                Mish => |xs, out| map_slice(xs, out, |x: F| x * x.exp().ln_1p().tanh()),
                Hardsigmoid => |xs, out| map_slice(xs, out, |x: F| (x + 3.0).clamp(0.0, 6.0) / 6.0),
                Hardswish => {
                    |xs, out| map_slice(xs, out, |x: F| x * (x + 3.0).clamp(0.0, 6.0) / 6.0)
                }
                Frac => |xs, out| map_slice(xs, out, |x: F| x - x.trunc()),
                Floor => |xs, out| map_slice(xs, out, |x: F| x.floor()),
                Ceil => |xs, out| map_slice(xs, out, |x: F| x.ceil()),
                Round => |xs, out| map_slice(xs, out, |x: F| x.round_ties_even()),
                Trunc => |xs, out| map_slice(xs, out, |x: F| x.trunc()),
            }
        }
    };
}
float_kernel!(plain_f32, f32, libm::erff, libm::erfcf, f32);
float_kernel!(plain_f64, f64, libm::erf, libm::erfc, f64);

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
    F: Element + Float + AsPrimitive<f64>,
    f64: AsPrimitive<F>,
    Complex<F>: Element,
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
