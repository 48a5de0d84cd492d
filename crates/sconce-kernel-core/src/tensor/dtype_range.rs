//! The numbers that dtypes hold, and rounding to them.

use crate::DType;

/// The least and the greatest number of an integral dtype, of those that an `i64` holds.
pub fn integer_range(dtype: DType) -> (i64, i64) {
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

/// The greatest number of a floating dtype.
pub fn greatest(dtype: DType) -> Option<f64> {
    match dtype {
        DType::Float16 => Some(half::f16::MAX.into()),
        DType::BFloat16 => Some(half::bf16::MAX.into()),
        DType::Float32 => Some(f32::MAX.into()),
        DType::Float64 => Some(f64::MAX),
        _ => None,
    }
}

/// A number as a tensor of a floating dtype would hold it: half precision rounds it to single
/// precision first, as PyTorch does.
#[inline(always)]
pub fn rounded(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::Float32 => f64::from(value as f32),
        DType::Float16 | DType::BFloat16 => rounded_to_half(value, dtype),
        _ => value,
    }
}

fn rounded_to_half(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => half::f16::from_f32(value as f32).to_f64(),
        _ => half::bf16::from_f32(value as f32).to_f64(),
    }
}

/// An integer as a narrower dtype holds it.
pub fn wrapped(value: i64, dtype: DType) -> i64 {
    match dtype {
        DType::UInt8 => i64::from(value as u8),
        DType::Int8 => i64::from(value as i8),
        DType::Int16 => i64::from(value as i16),
        DType::Int32 => i64::from(value as i32),
        DType::UInt16 => i64::from(value as u16),
        DType::UInt32 => i64::from(value as u32),
        _ => value,
    }
}
