//! Fast paths: functions for operands that need no rules, tried before the operator itself.

use sconce_kernels::{
    BinaryOp, Operand, Scalar, Tensor, UnaryOp, contiguous_binary, contiguous_binary_in_place,
    contiguous_unary,
};

use crate::value::IValue::{self, Float, Int};

/// An operand where it is: nothing is moved for what takes as long as moving it.
#[derive(Clone, Copy)]
pub(crate) struct BorrowedArg<'a> {
    pub(crate) value: &'a IValue,
    /// Whether nobody reads it again, so that its memory may become the result's.
    pub(crate) is_done: bool,
}

/// How many operands such an operator has at most; those behind its own are `None`.
pub(crate) const MAX_BORROWED: usize = 3;

/// Gives the operator's value, or `None` and leaves the operands as they are.
pub(crate) type FastPath = fn(&[BorrowedArg<'_>; MAX_BORROWED]) -> Option<Tensor>;

pub(crate) fn added(args: &[BorrowedArg<'_>; MAX_BORROWED], op: BinaryOp) -> Option<Tensor> {
    if matches!(args[2].value, Int(1)) { binary(args, op) } else { None }
}

pub(crate) fn added_in_place(
    args: &[BorrowedArg<'_>; MAX_BORROWED],
    op: BinaryOp,
) -> Option<Tensor> {
    if matches!(args[2].value, Int(1)) { in_place(args, op) } else { None }
}

pub(crate) fn in_place(args: &[BorrowedArg<'_>; MAX_BORROWED], op: BinaryOp) -> Option<Tensor> {
    let (a, b) = operands(args)?;
    contiguous_binary_in_place(op, a, b).then(|| a.clone())
}

pub(crate) fn binary(args: &[BorrowedArg<'_>; MAX_BORROWED], op: BinaryOp) -> Option<Tensor> {
    let (a, b) = operands(args)?;
    contiguous_binary(op, a, b, [args[0].is_done, args[1].is_done])
}

fn operands<'a>(args: &[BorrowedArg<'a>; MAX_BORROWED]) -> Option<(&'a Tensor, Operand<'a>)> {
    let IValue::Tensor(a) = args[0].value else { return None };
    let b = match args[1].value {
        IValue::Tensor(b) => Operand::Tensor(b),
        Int(b) => Operand::Scalar(Scalar::Int(*b)),
        Float(b) => Operand::Scalar(Scalar::Float(*b)),
        _ => return None,
    };
    Some((a, b))
}

pub(crate) fn unary(args: &[BorrowedArg<'_>; MAX_BORROWED], op: UnaryOp) -> Option<Tensor> {
    let IValue::Tensor(a) = args[0].value else { return None };
    contiguous_unary(op, a, args[0].is_done)
}
