use num_complex::Complex;

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
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::Int64,
            Scalar::Float(_) => DType::Float32,
            Scalar::Complex(_) => DType::Complex64,
        }
    }

    /// As a real number; the real part of a complex one.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::Float(f) => f,
            Scalar::Complex(c) => c.re,
        }
    }

    /// As an integer, fractions cut off.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::Float(f) => f as i64,
            Scalar::Complex(c) => c.re as i64,
        }
    }

    /// As a complex number.
    pub fn to_complex(self) -> Complex<f64> {
        match self {
            Scalar::Complex(c) => c,
            other => Complex::new(other.to_f64(), 0.0),
        }
    }

    /// Whether it is not zero.
    pub fn to_bool(self) -> bool {
        match self {
            Scalar::Bool(b) => b,
            Scalar::Int(i) => i != 0,
            Scalar::Float(f) => f != 0.0,
            Scalar::Complex(c) => c.re != 0.0 || c.im != 0.0,
        }
    }

    /// Refuses a number that an integral `dtype` cannot hold, and a complex one where it is real, as filling
    /// a tensor with it does.
    ///
    /// # Errors
    /// PyTorch's overflow error.
    pub fn check_fits(self, dtype: DType) -> Result<()> {
        let name = match dtype {
            DType::UInt8 => "uint8_t",
            DType::Int8 => "int8_t",
            DType::Int16 => "int16_t",
            DType::Int32 => "int",
            DType::Int64 => "int64_t",
            DType::Float32 => "float",
            DType::Float64 => "double",
            _ => return Ok(()),
        };
        let (low, high) = integer_range(dtype);
        let fits = match self {
            Scalar::Int(_) | Scalar::Float(_) if dtype.is_floating_point() => true,
            // Negative integers wrap around in uint8.
            Scalar::Int(value) if dtype == DType::UInt8 => (-255..=255).contains(&value),
            Scalar::Int(value) => (low..=high).contains(&value),
            Scalar::Float(value) => (low as f64..=high as f64).contains(&value),
            Scalar::Bool(_) => true,
            Scalar::Complex(value) => {
                value.im == 0.0 && Scalar::Float(value.re).check_fits(dtype).is_ok()
            }
        };
        if fits {
            return Ok(());
        }
        Err(Error::runtime(format!("value cannot be converted to type {name} without overflow")))
    }
}

/// The least and the greatest number of an integral dtype, of those that an `i64` holds.
pub(crate) fn integer_range(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::UInt8 => (0, u8::MAX.into()),
        DType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DType::UInt16 => (0, u16::MAX.into()),
        DType::UInt32 => (0, u32::MAX.into()),
        DType::UInt64 => (0, i64::MAX),
        _ => (i64::MIN, i64::MAX),
    }
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
