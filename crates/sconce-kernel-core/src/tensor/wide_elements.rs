//! Elements widened to the three types that general operators compute in.
//!
//! Integers and `bool` become `int64`, floating types `float64`, complex types `complex128`. Every
//! value is kept exactly, so an operator written for three types serves all dtypes. Operators whose
//! speed matters have kernels of their own.

use std::cmp::Ordering;

use num_complex::Complex;

use crate::{DType, Error, PodElement, Result, Tensor};

/// The widest complex number.
pub type Complex128 = Complex<f64>;

/// The elements of a tensor, row-major.
#[derive(Debug, Clone)]
pub enum WideElements {
    /// Integers and `bool`; `uint64` wraps around.
    Int(Vec<i64>),
    /// Floating types.
    Float(Vec<f64>),
    /// Complex types.
    Complex(Vec<Complex128>),
}

/// Evaluates one expression for whichever type the elements have.
#[macro_export]
macro_rules! each_kind {
    ($numbers:expr, $xs:ident => $body:expr) => {
        match $numbers {
            $crate::tensor::wide_elements::WideElements::Int($xs) => $body,
            $crate::tensor::wide_elements::WideElements::Float($xs) => $body,
            $crate::tensor::wide_elements::WideElements::Complex($xs) => $body,
        }
    };
}
pub use each_kind;

/// The dtype that elements of `dtype` are widened to.
///
/// # Errors
/// For dtypes without kernels.
pub fn widest(dtype: DType) -> Result<DType> {
    match dtype {
        DType::Bool => Ok(DType::Int64),
        _ if dtype.is_integral() => Ok(DType::Int64),
        DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => Ok(DType::Float64),
        DType::Complex64 | DType::Complex128 => Ok(DType::Complex128),
        other => Err(Error::no_kernel("copy_", other)),
    }
}

/// The dtype that operators with kernels for `float32` as well compute in.
///
/// # Errors
/// As [`widest`].
pub fn computed(dtype: DType) -> Result<DType> {
    if dtype == DType::Float32 { Ok(dtype) } else { widest(dtype) }
}

impl WideElements {
    /// The elements of `tensor`.
    pub fn of(tensor: &Tensor) -> Result<WideElements> {
        let wide = tensor.to_dtype(widest(tensor.dtype())?)?;
        Ok(match wide.dtype() {
            DType::Int64 => WideElements::Int(wide.to_vec()?),
            DType::Float64 => WideElements::Float(wide.to_vec()?),
            _ => WideElements::Complex(wide.to_vec()?),
        })
    }

    /// A tensor of these elements in `dtype`.
    pub fn tensor(&self, sizes: &[i64], dtype: DType) -> Result<Tensor> {
        each_kind!(self, xs => Tensor::from_slice(xs, sizes)?.to_dtype(dtype))
    }
}

/// What all three kinds of numbers can do.
pub trait Number: PodElement {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The sum; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// The product; integers wrap.
    fn times(self, other: Self) -> Self;
    /// Divided by how many there are; integers towards negative infinity.
    fn over(self, count: i64) -> Self;
    /// The nearest number of this kind; integers drop the fraction.
    fn of_f64(value: f64) -> Self;
    /// Whether it, or a part of it, is NaN.
    fn not_a_number(self) -> bool;
}

impl Number for i64 {
    const ZERO: i64 = 0;
    const ONE: i64 = 1;
    #[inline]
    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }
    #[inline]
    fn times(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
    #[inline]
    fn over(self, count: i64) -> i64 {
        self.div_euclid(count)
    }
    #[inline]
    fn of_f64(value: f64) -> i64 {
        value as i64
    }
    #[inline]
    fn not_a_number(self) -> bool {
        false
    }
}

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            const ZERO: $ty = 0.0;
            const ONE: $ty = 1.0;
            #[inline]
            fn plus(self, other: $ty) -> $ty {
                self + other
            }
            #[inline]
            fn times(self, other: $ty) -> $ty {
                self * other
            }
            #[inline]
            fn over(self, count: i64) -> $ty {
                self / count as $ty
            }
            #[inline]
            fn of_f64(value: f64) -> $ty {
                value as $ty
            }
            #[inline]
            fn not_a_number(self) -> bool {
                self.is_nan()
            }
        }
        impl Real for $ty {
            #[inline]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    )*};
}
floats! { f32 f64 }

impl Number for Complex128 {
    const ZERO: Complex128 = Complex::new(0.0, 0.0);
    const ONE: Complex128 = Complex::new(1.0, 0.0);
    #[inline]
    fn plus(self, other: Complex128) -> Complex128 {
        self + other
    }
    #[inline]
    fn times(self, other: Complex128) -> Complex128 {
        self * other
    }
    #[inline]
    fn over(self, count: i64) -> Complex128 {
        self / count as f64
    }
    #[inline]
    fn of_f64(value: f64) -> Complex128 {
        Complex::new(value, 0.0)
    }
    #[inline]
    fn not_a_number(self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }
}

/// Numbers that have an order.
pub trait Real: Number + PartialOrd {
    /// The order of `torch.sort`: NaN is the largest number.
    #[inline]
    fn order(self, other: Self) -> Ordering {
        let by_nan = self.not_a_number().cmp(&other.not_a_number());
        by_nan.then(self.partial_cmp(&other).unwrap_or(Ordering::Equal))
    }

    /// Whether it has a sign, as a negative zero has.
    fn is_negative(self) -> bool;
}
impl Real for i64 {
    #[inline]
    fn is_negative(self) -> bool {
        self < 0
    }
}

/// Refuses dtypes without an order that kernels here know: complex ones, and `uint64`, which is
/// widened to a signed type.
pub fn expect_ordered(kernel: &str, dtype: DType) -> Result<()> {
    match dtype.is_complex() || dtype == DType::UInt64 {
        true => Err(Error::no_kernel(kernel, dtype)),
        false => Ok(()),
    }
}

/// Refuses dtypes that are not floating ones.
pub fn expect_floating(kernel: &str, dtype: DType) -> Result<()> {
    match dtype {
        DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => Ok(()),
        _ => Err(Error::no_kernel(kernel, dtype)),
    }
}
