//! Results stored in the operand itself: operators whose names end in `_`.

use sconce_kernel_core::tensor::copy::cannot_grow;
use sconce_kernel_core::tensor::promotion::check_cast;

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::unary::unary;
use crate::elementwise::unary_op::UnaryOp;
use crate::{Bool, DType, Dims, Operand, Result, Tensor};

/// Stores `result` in `target`, as in-position operators do.
///
/// # Errors
/// Where the target's sizes would have to grow, or its dtype is of a lower kind.
pub fn store(target: &Tensor, result: &Tensor) -> Result<()> {
    check_store(target, result.sizes(), result.dtype())?;
    if target.repeats_elements() {
        return store_changed(target, &result.to_dtype(target.dtype())?.contiguous()?);
    }
    target.copy_from(result)
}

/// Refuses what [`store`] cannot: a result of other sizes, or of a dtype of a higher kind.
pub(crate) fn check_store(target: &Tensor, sizes: &[i64], dtype: DType) -> Result<()> {
    if sizes != target.sizes() {
        return Err(cannot_grow(target, sizes));
    }
    check_cast(dtype, target.dtype())
}

/// Stores the elements that differ, one by one: where an element stands for several, the others still have
/// what it was before.
fn store_changed(target: &Tensor, result: &Tensor) -> Result<()> {
    let changed = binary(BinaryOp::Ne, result.into(), target.into())?.to_vec::<Bool>()?;
    for (at, _) in changed.iter().enumerate().filter(|(_, changed)| changed.get()) {
        let (mut rest, mut offset) = (at as i64, target.offset());
        for (&size, &stride) in target.sizes().iter().zip(target.strides()).rev() {
            offset += rest % size * stride;
            rest /= size;
        }
        let one = |of: &Tensor, offset| of.view_unchecked(Dims::new(), Dims::new(), offset);
        one(target, offset).copy_from(&one(result, result.offset() + at as i64))?;
    }
    Ok(())
}

/// `target = op(target, b)`, the operators whose names end in `_`.
///
/// # Errors
/// As [`binary`] and [`store`].
pub fn binary_in_place(op: BinaryOp, target: &Tensor, b: Operand<'_>) -> Result<()> {
    store(target, &binary(op, target.into(), b)?)
}

/// `input = op(input)`.
///
/// # Errors
/// As [`unary`], and where the result would be of a higher kind than `input`.
pub fn unary_in_place(op: UnaryOp, input: &Tensor) -> Result<()> {
    store(input, &unary(op, input)?)
}
