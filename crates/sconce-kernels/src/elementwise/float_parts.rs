//! Parts of floating-point numbers: fractions, exponents, signs, and the neighbouring numbers.

use sconce_kernel_core::iter::broadcast_binary::zip;
use sconce_kernel_core::iter::map::map;

use crate::elementwise::any_dtype::map_floating;
use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::{Bool, DType, Error, Result, Scalar, Tensor, result_type};

/// `torch.nextafter`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn nextafter(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    use half::{bf16, f16};
    let dtype = result_type(&[a.into(), b.into()])?;
    let (a, b) = (a.to_dtype(dtype)?, b.to_dtype(dtype)?);
    macro_rules! neighbours {
        ($ty:ty, $bits:ty) => {
            zip(&a, &b, |x: $ty, y: $ty| {
                let (from, to) = (x.to_f64_exactly(), y.to_f64_exactly());
                match step(from, to) {
                    Step::NaN => <$ty>::NAN,
                    Step::Stay => y,
                    Step::Leave => <$ty>::from_bits(1 | (y.to_bits() & !(<$bits>::MAX >> 1))),
                    Step::Away => <$ty>::from_bits(x.to_bits() + 1),
                    Step::Back => <$ty>::from_bits(x.to_bits() - 1),
                }
            })
        };
    }
    match dtype {
        DType::Float64 => neighbours!(f64, u64),
        DType::Float32 => neighbours!(f32, u32),
        DType::Float16 => neighbours!(f16, u16),
        DType::BFloat16 => neighbours!(bf16, u16),
        _ => Err(Error::no_kernel("nextafter_cpu", dtype)),
    }
}

/// Where the next number lies.
enum Step {
    NaN,
    Stay,
    /// From zero to the smallest number.
    Leave,
    Away,
    Back,
}

fn step(from: f64, to: f64) -> Step {
    if from.is_nan() || to.is_nan() {
        Step::NaN
    } else if from == to {
        Step::Stay
    } else if from == 0.0 {
        Step::Leave
    } else if (to > from) == (from > 0.0) {
        Step::Away
    } else {
        Step::Back
    }
}

/// The value of any floating type, which `f64` holds.
trait ToF64 {
    fn to_f64_exactly(self) -> f64;
}

impl ToF64 for f64 {
    fn to_f64_exactly(self) -> f64 {
        self
    }
}

impl ToF64 for f32 {
    fn to_f64_exactly(self) -> f64 {
        self.into()
    }
}

impl ToF64 for half::f16 {
    fn to_f64_exactly(self) -> f64 {
        self.to_f64()
    }
}

impl ToF64 for half::bf16 {
    fn to_f64_exactly(self) -> f64 {
        self.to_f64()
    }
}

/// `torch.frexp`: mantissas, and exponents in `int32`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn frexp(input: &Tensor) -> Result<(Tensor, Tensor)> {
    let mantissas = map_floating("frexp", input, |x| libm::frexp(x).0)?;
    let wide = input.to_dtype(DType::Float64)?;
    let exponents = map(&wide, |x: f64| if x.is_finite() { libm::frexp(x).1 } else { 0 })?;
    Ok((mantissas, exponents))
}

/// `torch.ldexp`: `input * 2^other`.
///
/// # Errors
/// Where sizes do not broadcast.
pub fn ldexp(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let two = Scalar::Float(2.0);
    let power = match input.dtype() {
        dtype if dtype.is_floating_point() && other.dtype() == DType::Bool => {
            return Err(Error::no_kernel("ldexp_cpu_exp", DType::Bool));
        }
        // A floating exponent has the power rounded to its own dtype, unless both are numbers.
        dtype
            if other.dtype().is_floating_point()
                && dtype != DType::Float64
                && !dtype.is_complex() =>
        {
            binary(BinaryOp::Pow, two.into(), other.into())
        }
        dtype if dtype.is_floating_point() || dtype.is_complex() => {
            let two = Tensor::scalar(two, dtype)?;
            binary(BinaryOp::Pow, (&two).into(), other.into())
        }
        _ => binary(BinaryOp::Pow, two.into(), other.into()),
    }?;
    binary(BinaryOp::Mul, input.into(), (&power).into())
}

/// `torch.signbit`.
///
/// # Errors
/// For complex numbers.
pub fn signbit(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return Err(Error::not_implemented("signbit is not implemented for complex tensors."));
    }
    match input.dtype() {
        dtype if dtype.is_floating_point() => {
            map(&input.to_dtype(DType::Float64)?, |x: f64| Bool::from(x.is_sign_negative()))
        }
        dtype if dtype.is_signed() => {
            map(&input.to_dtype(DType::Int64)?, |x: i64| Bool::from(x < 0))
        }
        _ => Tensor::zeros(input.sizes(), DType::Bool),
    }
}
