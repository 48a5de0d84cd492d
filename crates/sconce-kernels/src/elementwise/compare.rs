//! Comparisons of two operands.

use sconce_kernel_core::iter::broadcast_binary::zip;

use crate::elementwise::binary_op::BinaryOp::{self, *};
use crate::{Bool, PodElement, Result, Tensor};

pub(crate) fn compare<T: PodElement + PartialOrd>(
    op: BinaryOp,
    a: &Tensor,
    b: &Tensor,
) -> Result<Tensor> {
    match op {
        Eq => zip(a, b, |x: T, y: T| Bool::from(x == y)),
        Ne => zip(a, b, |x: T, y: T| Bool::from(x != y)),
        Lt => zip(a, b, |x: T, y: T| Bool::from(x < y)),
        Le => zip(a, b, |x: T, y: T| Bool::from(x <= y)),
        Gt => zip(a, b, |x: T, y: T| Bool::from(x > y)),
        _ => zip(a, b, |x: T, y: T| Bool::from(x >= y)),
    }
}

/// A comparison of two `bool` tensors.
pub(crate) fn compare_bools(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let number = |x: Bool| u8::from(x.get());
    zip(a, b, move |x: Bool, y: Bool| {
        let (x, y) = (number(x), number(y));
        Bool::from(match op {
            Eq => x == y,
            Ne => x != y,
            Lt => x < y,
            Le => x <= y,
            Gt => x > y,
            _ => x >= y,
        })
    })
}
