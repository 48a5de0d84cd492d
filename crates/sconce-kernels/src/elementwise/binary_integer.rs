//! Binary element-wise operators of two integer tensors of one dtype.

use sconce_kernel_core::iter::broadcast_binary::zip;

use crate::elementwise::binary_op::BinaryOp::{self, *};
use crate::elementwise::compare::compare;
use crate::{DType, Error, Result, Tensor};

/// Whether an operator is computed in this dtype itself, where the result wraps around as that in
/// `int64` would.
pub(crate) fn has_own(op: BinaryOp, dtype: DType) -> bool {
    matches!(dtype, DType::UInt8 | DType::Int8 | DType::Int16 | DType::Int32)
        && !matches!(op, Pow | LeftShift | RightShift)
}

/// An operator of tensors of the dtype that is computed in; `dtype` is that of the result.
///
/// # Errors
/// For division by 0, and operators that integers have not.
pub(crate) fn zipped(op: BinaryOp, a: &Tensor, b: &Tensor, dtype: DType) -> Result<Tensor> {
    let bits = dtype.item_size() as i64 * 8;
    match (op, a.dtype()) {
        (Pow, DType::Int64) => zip(a, b, power),
        (LeftShift, DType::Int64) => {
            zip(a, b, move |x: i64, y: i64| if (0..bits).contains(&y) { x << y } else { 0 })
        }
        (RightShift, DType::Int64) => {
            zip(a, b, move |x: i64, y: i64| if (0..bits).contains(&y) { x >> y } else { x >> 63 })
        }
        (_, DType::Int64) => i64::zipped(op, a, b),
        (_, DType::Int32) => i32::zipped(op, a, b),
        (_, DType::Int16) => i16::zipped(op, a, b),
        (_, DType::Int8) => i8::zipped(op, a, b),
        (_, DType::UInt8) => u8::zipped(op, a, b),
        _ => Err(Error::no_kernel(op.kernel(), dtype)),
    }
}

/// An integer type that operators are computed in.
trait Whole {
    fn zipped(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor>;
}

macro_rules! whole {
    ($($ty:ident)*) => {$(
        impl Whole for $ty {
            fn zipped(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor> {
                if matches!(op, DivTrunc | DivFloor | Remainder | Fmod)
                    && a.numel() > 0
                    && b.contiguous()?.read::<$ty>()?.contains(&0)
                {
                    return Err(Error::runtime("ZeroDivisionError"));
                }
                match op {
                    Add => zip(a, b, $ty::wrapping_add),
                    Sub => zip(a, b, $ty::wrapping_sub),
                    Mul => zip(a, b, $ty::wrapping_mul),
                    DivTrunc => zip(a, b, $ty::wrapping_div),
                    DivFloor => zip(a, b, |x: $ty, y: $ty| {
                        let is_apart = x.wrapping_rem(y) != 0 && (x < 0) != (y < 0);
                        x.wrapping_div(y).wrapping_sub($ty::from(is_apart))
                    }),
                    Remainder => zip(a, b, |x: $ty, y: $ty| {
                        let rest = x.wrapping_rem(y);
                        if rest != 0 && (rest < 0) != (y < 0) { rest.wrapping_add(y) } else { rest }
                    }),
                    Fmod => zip(a, b, $ty::wrapping_rem),
                    Maximum | Fmax => zip(a, b, |x: $ty, y: $ty| x.max(y)),
                    Minimum | Fmin => zip(a, b, |x: $ty, y: $ty| x.min(y)),
                    BitwiseAnd => zip(a, b, |x: $ty, y: $ty| x & y),
                    BitwiseOr => zip(a, b, |x: $ty, y: $ty| x | y),
                    BitwiseXor => zip(a, b, |x: $ty, y: $ty| x ^ y),
                    op if op.compares() => compare::<$ty>(op, a, b),
                    _ => Err(Error::no_kernel(op.kernel(), a.dtype())),
                }
            }
        }
    )*};
}
#[allow(unused_comparisons, reason = "no unsigned number is below 0")]
mod types {
    use super::*;
    whole! { u8 i8 i16 i32 i64 }
}

fn power(mut base: i64, mut exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 != 0 => -1,
            -1 => 1,
            _ => 0,
        };
    }
    let mut result = 1i64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}
