//! Numbers outside any tensor.

use num_complex::Complex;

use crate::tensor::dtype_range::{greatest, integer_range};
use crate::{DType, Error, Result};

/// A number outside any tensor: Python's `bool`, `int`, `float` or `complex`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// `bool`.
    Bool(bool),
    /// `int`, as TorchScript has it: 64 bits.
    Int(i64),
    /// `float`.
    Float(f64),
    /// `complex`.
    Complex(Complex<f64>),
}

impl Scalar {
    /// The dtype that `torch.tensor` would give it with PyTorch's default dtype, `float32`. Type
    /// promotion counts it as that.
    #[inline]
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::Int64,
            Scalar::Float(_) => DType::Float32,
            Scalar::Complex(_) => DType::Complex64,
        }
    }

    /// As a real number; the real part of a complex one.
    #[inline]
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::Float(f) => f,
            Scalar::Complex(c) => c.re,
        }
    }

    /// As an integer, fractions cut off.
    #[inline]
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::Float(f) => f as i64,
            Scalar::Complex(c) => c.re as i64,
        }
    }

    /// As a complex number.
    #[inline]
    pub fn to_complex(self) -> Complex<f64> {
        match self {
            Scalar::Complex(c) => c,
            other => Complex::new(other.to_f64(), 0.0),
        }
    }

    /// Whether it is not zero.
    #[inline]
    pub fn to_bool(self) -> bool {
        match self {
            Scalar::Bool(b) => b,
            Scalar::Int(i) => i != 0,
            Scalar::Float(f) => f != 0.0,
            Scalar::Complex(c) => c.re != 0.0 || c.im != 0.0,
        }
    }

    /// Refuses a number that `dtype` cannot hold, as filling a tensor with it does. Infinity fits every
    /// floating dtype.
    ///
    /// # Errors
    /// PyTorch's overflow error.
    pub fn check_fits(self, dtype: DType) -> Result<()> {
        let Some(name) = type_name_in_overflows(dtype) else { return Ok(()) };
        let fits = match self {
            Scalar::Complex(value) if dtype.is_complex() => {
                holds(dtype, value.re) && holds(dtype, value.im)
            }
            Scalar::Complex(value) => value.im == 0.0 && holds(dtype, value.re),
            Scalar::Float(value) => holds(dtype, value),
            Scalar::Int(value) if dtype.is_integral() => {
                let (low, high) = integer_range(dtype);
                // Negative integers wrap around in dtypes without a sign.
                let low = if low == 0 { high.checked_neg().unwrap_or(i64::MIN) } else { low };
                (low..=high).contains(&value) || dtype == DType::UInt64
            }
            Scalar::Int(value) => holds(dtype, value as f64),
            Scalar::Bool(_) => true,
        };
        if fits {
            return Ok(());
        }
        Err(Error::runtime(format!("value cannot be converted to type {name} without overflow")))
    }

    /// The same for integral dtypes alone.
    pub fn check_fits_whole(self, dtype: DType) -> Result<()> {
        if dtype.is_integral() { self.check_fits(dtype) } else { Ok(()) }
    }
}

/// What PyTorch's errors call the elements of dtypes that do not hold every number.
fn type_name_in_overflows(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::UInt8 => "uint8_t",
        DType::UInt16 => "uint16_t",
        DType::UInt32 => "uint32_t",
        DType::UInt64 => "uint64_t",
        DType::Int8 => "int8_t",
        DType::Int16 => "int16_t",
        DType::Int32 => "int",
        DType::Int64 => "int64_t",
        DType::ComplexHalf => "c10::complex<c10::Half>",
        DType::Bool | DType::Complex128 => return None,
        dtype if dtype.is_floating_point() || dtype.is_complex() => crate::cpp_type_name(dtype),
        _ => return None,
    })
}

/// Whether a real number is within what elements of a dtype, or their parts, can be.
fn holds(dtype: DType, value: f64) -> bool {
    if dtype.is_integral() {
        let (low, high) = integer_range(dtype);
        return (low as f64..=high as f64).contains(&value);
    }
    let most = greatest(dtype.to_real()).unwrap_or(f64::MAX);
    !value.is_finite() || value.abs() <= most
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Scalar {
        Scalar::Bool(value)
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Scalar {
        Scalar::Int(value)
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Scalar {
        Scalar::Float(value)
    }
}

impl From<Complex<f64>> for Scalar {
    fn from(value: Complex<f64>) -> Scalar {
        Scalar::Complex(value)
    }
}

impl From<i32> for Scalar {
    fn from(value: i32) -> Scalar {
        Scalar::Int(value.into())
    }
}
