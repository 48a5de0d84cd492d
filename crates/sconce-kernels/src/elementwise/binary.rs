//! Binary element-wise operators: type promotion, broadcasting, and the kernels of floating and complex
//! types.

use num_complex::Complex;
use sconce_kernel_core::iter::broadcast_binary::{BinaryKernel, row, zip, zip_parallel};
use sconce_kernel_core::iter::half_precision::{map_half, zip_half};
use sconce_kernel_core::layout::shape::broadcast;
use sconce_kernel_core::parallel::grain;
use sconce_kernel_core::simd::map_slice::map_slice;
use sconce_kernel_core::tensor::dtype_range::{rounded, wrapped};
use sconce_kernel_core::tensor::promotion::{compute_dtype, int_to_float, is_half};
use sconce_kernel_core::vecmath::float_element::FloatElement;
use sconce_tensor::Float8;

use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::compare::{compare, compare_bools};
use crate::elementwise::complex_arithmetic::{power, quotient, times_one};
use crate::elementwise::unary::UnaryKernels;
use crate::elementwise::{binary_integer, remainder};
use crate::{
    Bool, DType, Error, Operand, PodElement, Result, Scalar, Tensor, UnaryOp, result_type, unary,
};

use BinaryOp::*;

/// `op(a, b)` as a new tensor.
///
/// # Errors
/// Where sizes do not broadcast, the operator has no kernel for the dtype, or an integer is divided
/// by zero.
///
/// ```
/// use sconce_kernels::{BinaryOp, DType, Tensor, binary};
/// let ints = Tensor::from_slice(&[7i64, -7], &[2])?;
/// let half = binary(BinaryOp::Div, (&ints).into(), 2.into())?;
/// assert_eq!(half.dtype(), DType::Float32);
/// assert_eq!(half.to_vec::<f32>()?, [3.5, -3.5]);
/// let floor = binary(BinaryOp::DivFloor, (&ints).into(), 2.into())?;
/// assert_eq!(floor.to_vec::<i64>()?, [3, -4]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn binary(op: BinaryOp, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    let mut common = result_type(&[a, b])?;
    check_kernel(op, common, a, b)?;
    if op.is_logical() {
        return zip::<Bool, Bool>(&a.to_dtype(DType::Bool)?, &b.to_dtype(DType::Bool)?, |x, y| {
            let (x, y) = (x.get(), y.get());
            Bool::from(match op {
                LogicalAnd => x && y,
                LogicalOr => x || y,
                _ => x != y,
            })
        });
    }
    if common == DType::BComplex32 {
        // Only comparisons come here, and they lose nothing in the wider type.
        common = DType::Complex64;
    }
    if matches!(op, Div | Atan2) {
        common = int_to_float(common);
    }
    if op == DivTrunc && is_half(common) && !b.sizes().is_empty() {
        // Half precision rounds the quotient first, unless that is by one number.
        return unary(UnaryOp::Trunc, &binary(Div, a, b)?);
    }
    let compute = match compute_dtype(common) {
        DType::Bool if !op.compares() => DType::Int64,
        DType::Int64 if binary_integer::has_own(op, common) => common,
        other if matches!(op, Eq | Ne) && Float8::of(other).is_some() => DType::Float32,
        other => other,
    };
    if let (Pow, Operand::Scalar(exponent)) = (op, b) {
        exponent.check_fits(common)?;
        let simple = matches!(common, DType::Float32 | DType::Float64 | DType::BFloat16);
        if let Some(power) = Power::of(exponent.to_f64()).filter(|_| simple) {
            return power.of_tensor(&a.to_dtype(common)?);
        }
        let zero = exponent.to_complex().norm_sqr() == 0.0;
        if let (Operand::Tensor(base), true) = (a, zero && common.is_complex()) {
            // Of a number and not of a tensor, the power is 1 wherever the base is 0, too.
            let ones = Tensor::full(base.sizes(), 1.into(), common)?;
            return ones.with_strides(&base.preserved_strides());
        }
    }
    let exactly =
        matches!(op, Mul | Div | DivFloor | DivTrunc) && is_half(common) && b.sizes().is_empty();
    if is_half(common)
        && let Some(kernel) = f32::binary_kernel(op)
    {
        let a = a.to_dtype(common)?;
        if exactly {
            let b = [b.to_dtype(compute)?.item()?.to_f64() as f32];
            return map_half(grain::ELEMENTWISE, &a, &|xs, out| kernel(out, (xs, 1), (&b, 0)));
        }
        return zip_half(op.arithmetic(), &a, &b.to_dtype(common)?, &kernel);
    }
    let a = widened(a, common, compute)?;
    let b = if exactly { b.to_dtype(compute)? } else { widened(b, common, compute)? };
    let result = match compute {
        DType::Float32 => floats::<f32>(op, &a, &b),
        DType::Float64 => floats::<f64>(op, &a, &b),
        DType::Bool => compare_bools(op, &a, &b),
        whole if whole.is_integral() => binary_integer::zipped(op, &a, &b, common),
        DType::Complex64 => complexes::<f32>(op, &a, &b),
        DType::Complex128 => complexes::<f64>(op, &a, &b),
        _ => Err(Error::no_kernel(op.kernel(), common)),
    }?;
    if op.compares() { Ok(result) } else { result.to_dtype(common) }
}

/// Simpler operators that give a power, in PyTorch (`pow_tensor_scalar_optimized_kernel`) as well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Power {
    pub(crate) first: UnaryOp,
    pub(crate) then: Option<Then>,
}

/// What follows the first operator of a [`Power`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    /// Multiplication with the base.
    TimesBase,
    /// The reciprocal.
    Inverse,
}

impl Power {
    /// For a number as exponent.
    pub(crate) fn of(exponent: f64) -> Option<Power> {
        let (first, then) = match exponent {
            2.0 => (UnaryOp::Square, None),
            3.0 => (UnaryOp::Square, Some(Then::TimesBase)),
            -2.0 => (UnaryOp::Square, Some(Then::Inverse)),
            0.5 => (UnaryOp::Sqrt, None),
            -0.5 => (UnaryOp::Rsqrt, None),
            -1.0 => (UnaryOp::Reciprocal, None),
            _ => return None,
        };
        Some(Power { first, then })
    }

    fn of_tensor(self, base: &Tensor) -> Result<Tensor> {
        let first = unary(self.first, base)?;
        match self.then {
            None => Ok(first),
            Some(Then::TimesBase) => binary(Mul, (&first).into(), base.into()),
            Some(Then::Inverse) => unary(UnaryOp::Reciprocal, &first),
        }
    }
}

/// An operand rounded to the common dtype, as a tensor of the one computed in. Of half precision the
/// second factor or the divisor is not rounded if it has no dimensions.
fn widened(operand: Operand<'_>, common: DType, compute: DType) -> Result<Tensor> {
    match operand {
        Operand::Scalar(Scalar::Int(value)) if !is_half(common) => {
            Tensor::scalar(Scalar::Int(wrapped(value, common)), compute)
        }
        Operand::Scalar(scalar) if !is_half(common) => Tensor::scalar(scalar, compute),
        operand => operand.to_dtype(common)?.to_dtype(compute),
    }
}

/// `a + alpha * b`, `torch.add`.
///
/// # Errors
/// As [`binary`].
pub fn add(a: Operand<'_>, b: Operand<'_>, alpha: Scalar) -> Result<Tensor> {
    scaled(Add, a, b, alpha)
}

/// `a - alpha * b`, `torch.sub`.
///
/// # Errors
/// As [`binary`].
pub fn sub(a: Operand<'_>, b: Operand<'_>, alpha: Scalar) -> Result<Tensor> {
    scaled(Sub, a, b, alpha)
}

fn scaled(op: BinaryOp, a: Operand<'_>, b: Operand<'_>, alpha: Scalar) -> Result<Tensor> {
    if alpha == Scalar::Int(1) {
        return binary(op, a, b);
    }
    let common = result_type(&[a, b])?;
    check_kernel(op, common, a, b)?;
    let whole = common.is_integral() || common == DType::Bool;
    let message = match alpha {
        Scalar::Bool(_) if common != DType::Bool => {
            "Boolean alpha only supported for Boolean results."
        }
        Scalar::Float(_) | Scalar::Complex(_) if whole => {
            "For integral input tensors, argument alpha must not be a floating point number."
        }
        Scalar::Complex(_) if !common.is_complex() => {
            "For non-complex input tensors, argument alpha must not be a complex number."
        }
        _ => "",
    };
    if !message.is_empty() {
        return Err(Error::runtime(message));
    }
    let negated = match alpha {
        Scalar::Int(alpha) if op == Sub => Scalar::Int(alpha.wrapping_neg()),
        other => other,
    };
    negated.check_fits(common)?;
    let compute = compute_dtype(common);
    let b = b.to_dtype(common)?.to_dtype(compute)?;
    let alpha = match common {
        DType::Bool => Scalar::Bool(alpha.to_bool()),
        common if is_half(common) => Scalar::Float(rounded(alpha.to_f64(), common)),
        _ => alpha,
    };
    if compute.is_complex() {
        let (a, alpha) = (a.to_dtype(common)?.to_dtype(compute)?, alpha.to_complex());
        let sum = match compute {
            DType::Complex64 => {
                complex_sums(op, &a, &b, Complex::new(alpha.re as f32, alpha.im as f32))
            }
            _ => complex_sums(op, &a, &b, alpha),
        };
        return sum?.to_dtype(common);
    }
    let b = binary(Mul, (&b).into(), Operand::Scalar(alpha))?;
    let a = a.to_dtype(common)?.to_dtype(compute)?;
    binary(op, (&a).into(), (&b).into())?.to_dtype(common)
}

/// `a + alpha * b` or `a - alpha * b`: the product is the only one, so that what is infinite stays so.
fn complex_sums<F>(op: BinaryOp, a: &Tensor, b: &Tensor, alpha: Complex<F>) -> Result<Tensor>
where
    F: num_traits::Float,
    Complex<F>: PodElement,
{
    type C<F> = Complex<F>;
    match op {
        Sub => zip(a, b, |x: C<F>, y: C<F>| x - alpha * y),
        _ => zip(a, b, |x: C<F>, y: C<F>| x + alpha * y),
    }
}

fn check_kernel(op: BinaryOp, dtype: DType, a: Operand<'_>, b: Operand<'_>) -> Result<()> {
    let bool_only = dtype == DType::Bool;
    let complex = dtype.is_complex();
    let whole = dtype.is_integral() || bool_only;
    match op {
        Sub if bool_only => {
            return Err(Error::not_implemented(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the \
                 `^` or `logical_xor()` operator instead.",
            ));
        }
        Sub if [a, b].iter().any(|operand| operand.dtype() == DType::Bool) => {
            return Err(Error::not_implemented(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are \
                 trying to invert a mask, use the `~` or `logical_not()` operator instead.",
            ));
        }
        Maximum | Minimum | Fmax | Fmin if complex => {
            let name = match op {
                Maximum => "maximum",
                Minimum => "minimum",
                Fmax => "fmax",
                _ => "fmin",
            };
            let message = format!("{name} not implemented for complex tensors.");
            return Err(Error::type_error(message));
        }
        _ => {}
    }
    broadcast(a.sizes(), b.sizes())?;
    let missing = match op {
        Pow if bool_only && matches!(b, Operand::Tensor(_)) => true,
        Div if dtype == DType::BComplex32 => return Err(Error::no_kernel("div_cpu", dtype)),
        Eq | Ne => false,
        _ if dtype == DType::BComplex32 => true,
        Pow if whole && matches!(b, Operand::Scalar(Scalar::Int(i)) if i < 0) => {
            return Err(Error::runtime("Integers to negative integer powers are not allowed."));
        }
        DivTrunc | DivFloor | Remainder | Fmod => complex || bool_only,
        Atan2 | Lt | Le | Gt | Ge => complex,
        BitwiseAnd | BitwiseOr | BitwiseXor => !whole,
        LeftShift | RightShift => !dtype.is_integral(),
        _ => false,
    };
    // 64-bit unsigned numbers are computed as signed ones, which only wrapping operators allow.
    let wraps = op.is_logical()
        || matches!(op, Add | Sub | Mul | Eq | Ne | BitwiseAnd | BitwiseOr | BitwiseXor);
    if missing || (dtype == DType::UInt64 && !wraps && op != Div) {
        return Err(Error::no_kernel(op.kernel(), dtype));
    }
    Ok(())
}

/// A floating type that operators of two operands have kernels of their own for.
pub(crate) trait BinaryKernels: UnaryKernels + PartialOrd {
    /// The kernel of an operator whose result is of this type as well.
    fn binary_kernel(op: BinaryOp) -> Option<BinaryKernel<Self>>;
}

/// An operator of two floating tensors.
fn floats<T: BinaryKernels>(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match T::binary_kernel(op) {
        Some(kernel) => zip_parallel(a, b, &kernel),
        None if op.compares() => compare::<T>(op, a, b),
        None => Err(Error::no_kernel(op.kernel(), a.dtype())),
    }
}

macro_rules! floating {
    ($($ty:ident)*) => {$(
        impl BinaryKernels for $ty {
            fn binary_kernel(op: BinaryOp) -> Option<BinaryKernel<$ty>> {
                Some(match op {
                    Add => |out, x, y| row(out, x, y, |x: $ty, y: $ty| x + y),
                    Sub => |out, x, y| row(out, x, y, |x: $ty, y: $ty| x - y),
                    Mul => |out, x, y| row(out, x, y, |x: $ty, y: $ty| x * y),
                    Div => |out, x, y| row(out, x, y, |x: $ty, y: $ty| x / y),
                    DivTrunc => |out, x, y| row(out, x, y, |x: $ty, y: $ty| (x / y).trunc()),
                    Pow => |out, x, y| match (x, y) {
                        // What is known of the base is computed once.
                        (([base, ..], 0), (y, 1)) => {
                            let base = *base;
                            map_slice(
                                &y[..out.len()],
                                out,
                                #[inline(always)]
                                move |y: $ty| base.power(y),
                            );
                        }
                        _ => row(out, x, y, |x: $ty, y: $ty| x.power(y)),
                    },
                    DivFloor | Remainder | Fmod => return remainder::$ty(op),
                    Maximum => |out, x, y| row(out, x, y, |x: $ty, y: $ty| {
                        if x.is_nan() || y.is_nan() { $ty::NAN } else if x > y { x } else { y }
                    }),
                    Minimum => |out, x, y| row(out, x, y, |x: $ty, y: $ty| {
                        if x.is_nan() || y.is_nan() { $ty::NAN } else if x < y { x } else { y }
                    }),
                    Fmax => |out, x, y| row(out, x, y, |x: $ty, y: $ty| x.max(y)),
                    Fmin => |out, x, y| row(out, x, y, |x: $ty, y: $ty| x.min(y)),
                    Atan2 => |out, x, y| row(out, x, y, |y: $ty, x: $ty| FloatElement::atan2(y, x)),
                    _ => return None,
                })
            }
        }
    )*};
}
floating! { f32 f64 }

fn complexes<F>(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor>
where
    F: BinaryKernels + From<f32> + num_traits::Float,
    Complex<F>: PodElement,
{
    type C<F> = Complex<F>;
    match op {
        Add => zip(a, b, |x: C<F>, y: C<F>| x + times_one(y)),
        Sub => zip(a, b, |x: C<F>, y: C<F>| x - times_one(y)),
        Mul => zip(a, b, |x: C<F>, y: C<F>| x * y),
        Div => zip(a, b, quotient::<F>),
        Pow => zip(a, b, power::<F>),
        Eq => zip(a, b, |x: C<F>, y: C<F>| Bool::from(x == y)),
        Ne => zip(a, b, |x: C<F>, y: C<F>| Bool::from(x != y)),
        _ => Err(Error::no_kernel(op.kernel(), a.dtype())),
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    #[test]
    fn powers_of_simple_exponents_are_pytorchs() {
        let inf = f32::INFINITY;
        // What torch.pow(x, exponent) gives for [-inf, -0.0, 1e-30, -3.0, 1.1].
        let cases = [
            (2.0, [inf, 0.0, 0.0, 9.0, 1.21]),
            (3.0, [-inf, -0.0, 0.0, -27.0, 1.331_000_1]),
            (-2.0, [0.0, inf, inf, 1.0 / 9.0, 0.826_446_24]),
            (0.5, [f32::NAN, -0.0, 1e-15, f32::NAN, 1.048_808_8]),
            (-0.5, [f32::NAN, -inf, 1e15, f32::NAN, 0.953_462_54]),
            (-1.0, [-0.0, -inf, 1e30, -1.0 / 3.0, 0.909_090_9]),
        ];
        let x = Tensor::from_slice(&[-inf, -0.0, 1e-30, -3.0, 1.1], &[5]).unwrap();
        for (exponent, expected) in cases {
            let found = binary(Pow, (&x).into(), Scalar::Float(exponent).into()).unwrap();
            for (found, expected) in found.to_vec::<f32>().unwrap().into_iter().zip(expected) {
                let same = found.to_bits() == expected.to_bits()
                    || (found - expected).abs() <= expected.abs() * 2e-7;
                let same = same && found.is_sign_negative() == expected.is_sign_negative();
                assert!(
                    same || found.is_nan() && expected.is_nan(),
                    "{exponent}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn complex_zero_to_a_number_is_one_and_to_a_tensor_nan() {
        let zero = Tensor::zeros(&[1], DType::Complex64).unwrap();
        let power = |exponent: Operand<'_>| {
            binary(Pow, (&zero).into(), exponent).unwrap().to_vec::<Complex<f32>>().unwrap()[0]
        };
        assert_eq!(power(Scalar::Int(0).into()), Complex::new(1.0, 0.0));
        assert!(power((&zero).into()).re.is_nan());
    }

    #[test]
    fn what_is_infinite_is_multiplied_once() {
        // torch.add(torch.tensor([1 + 0.5j]), float("inf"), alpha=2) is inf+nanj
        let x = Tensor::from_slice(&[Complex::new(1f32, 0.5)], &[1]).unwrap();
        let sum = add((&x).into(), f64::INFINITY.into(), 2.into()).unwrap();
        let sum = sum.to_vec::<Complex<f32>>().unwrap()[0];
        assert!(sum.re == f32::INFINITY && sum.im.is_nan(), "{sum}");
    }

    #[test]
    fn numbers_beside_half_precision_are_rounded_but_for_factors_and_divisors() {
        let bf = |numbers: [f32; 3]| numbers.map(bf16::from_f32);
        let x = Tensor::from_slice(&bf([0.3, 0.7, 1.1]), &[3]).unwrap();
        let single = Tensor::from_slice(&[1.3f32], &[]).unwrap();
        let (x, number): (Operand<'_>, Operand<'_>) = ((&x).into(), 1.3.into());
        // torch.FN(torch.tensor([0.3, 0.7, 1.1], dtype=torch.bfloat16), 1.3)
        let cases = [
            ("add", binary(Add, x, number), [1.5938, 2.0, 2.4062]),
            ("rsub", binary(Sub, number, x), [0.9961, 0.5977, 0.1953]),
            ("mul", binary(Mul, x, number), [0.3906, 0.9102, 1.4297]),
            ("mul by a tensor", binary(Mul, x, (&single).into()), [0.3906, 0.9102, 1.4297]),
            ("div", binary(Div, x, number), [0.2314, 0.5391, 0.8477]),
            ("pow", binary(Pow, number, x), [1.0781, 1.2031, 1.3281]),
            ("add, alpha 2", add(x, number, 2.into()), [2.8906, 3.2969, 3.6875]),
            // As in PyTorch's vector code; what does not fill a vector has its product rounded.
            ("rsub, alpha 1.7", sub(number, x, 1.7.into()), [0.7852, 0.10596, -0.5781]),
        ];
        for (name, found, expected) in cases {
            assert_eq!(found.unwrap().to_vec::<bf16>().unwrap(), bf(expected), "{name}");
        }
    }

    #[test]
    fn blocks_of_any_layout_give_what_single_precision_gives() {
        use crate::UnaryOp;
        use crate::binary;
        use crate::unary;
        let numbers: Vec<f32> = (0..1300).map(|i| (i * 37 % 211) as f32 * 0.125 - 9.0).collect();
        let all = Tensor::from_slice(&numbers, &[26, 50]).unwrap();
        type Layout = (&'static str, fn(&Tensor) -> Tensor);
        let layouts: [Layout; 4] = [
            ("whole", Tensor::clone),
            ("transposed", |t| t.reshape(&[50, 26]).unwrap().t().unwrap()),
            ("a row", |t| t.narrow(0, 3, 1).unwrap()),
            ("a column", |t| t.narrow(1, 7, 1).unwrap().expand(&[26, 50]).unwrap()),
        ];
        for dtype in [DType::Float16, DType::BFloat16] {
            let half = all.to_dtype(dtype).unwrap();
            let wide = half.to_dtype(DType::Float32).unwrap();
            for (name, a) in layouts {
                let found = unary(UnaryOp::Exp, &a(&half)).unwrap().to_dtype(DType::Float32);
                let expected = unary(UnaryOp::Exp, &a(&wide)).unwrap().to_dtype(dtype).unwrap();
                let expected = expected.to_dtype(DType::Float32).unwrap().to_vec::<f32>().unwrap();
                assert_eq!(found.unwrap().to_vec::<f32>().unwrap(), expected, "{name}");
                for (other, b) in layouts {
                    for op in [BinaryOp::Sub, BinaryOp::Add, BinaryOp::Mul, BinaryOp::Maximum] {
                        let of = |t: &Tensor| binary(op, (&a(t)).into(), (&b(t)).into()).unwrap();
                        let found = of(&half);
                        assert_eq!(found.dtype(), dtype);
                        let found = found.to_dtype(DType::Float32).unwrap();
                        let expected = of(&wide).to_dtype(dtype).unwrap();
                        let expected = expected.to_dtype(DType::Float32).unwrap();
                        let [found, expected] = [found, expected].map(|t| t.to_vec::<f32>());
                        assert_eq!(found.unwrap(), expected.unwrap(), "{name}, {other}");
                    }
                }
            }
        }
    }
}
