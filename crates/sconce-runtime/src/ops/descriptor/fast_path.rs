//! Short cuts of operators for the operands that need no rules, tried before the operator itself.

use sconce_kernels::{
    BinaryOp, Operand, Scalar, Tensor, UnaryOp, contiguous_binary, contiguous_binary_in_place,
    contiguous_unary,
};

use crate::value::ivalue::IValue::{self, Float, Int};

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

const FAST_PATHS: &[(&str, &str, FastPath)] = &[
    ("aten::add", "Tensor", |args| added(args, BinaryOp::Add)),
    ("aten::add", "Scalar", |args| added(args, BinaryOp::Add)),
    ("aten::sub", "Tensor", |args| added(args, BinaryOp::Sub)),
    ("aten::sub", "Scalar", |args| added(args, BinaryOp::Sub)),
    ("aten::mul", "Tensor", |args| binary(args, BinaryOp::Mul)),
    ("aten::mul", "Scalar", |args| binary(args, BinaryOp::Mul)),
    ("aten::div", "Tensor", |args| binary(args, BinaryOp::Div)),
    ("aten::div", "Scalar", |args| binary(args, BinaryOp::Div)),
    ("aten::add_", "Tensor", |args| added_in_place(args, BinaryOp::Add)),
    ("aten::sub_", "Tensor", |args| added_in_place(args, BinaryOp::Sub)),
    ("aten::mul_", "Tensor", |args| in_place(args, BinaryOp::Mul)),
    ("aten::mul_", "Scalar", |args| in_place(args, BinaryOp::Mul)),
    ("aten::div_", "Tensor", |args| in_place(args, BinaryOp::Div)),
    ("aten::relu", "", |args| unary(args, UnaryOp::Relu)),
    ("aten::neg", "", |args| unary(args, UnaryOp::Neg)),
    ("aten::abs", "", |args| unary(args, UnaryOp::Abs)),
    ("aten::sqrt", "", |args| unary(args, UnaryOp::Sqrt)),
];

/// The short cut of an operator, if it has one.
pub(crate) fn find(symbol: &str, overload: &str) -> Option<FastPath> {
    let found = FAST_PATHS.iter().find(|&&(s, o, _)| s == symbol && o == overload);
    found.map(|&(_, _, path)| path)
}

fn added(args: &[BorrowedArg<'_>; MAX_BORROWED], op: BinaryOp) -> Option<Tensor> {
    if matches!(args[2].value, Int(1)) { binary(args, op) } else { None }
}

fn added_in_place(args: &[BorrowedArg<'_>; MAX_BORROWED], op: BinaryOp) -> Option<Tensor> {
    if matches!(args[2].value, Int(1)) { in_place(args, op) } else { None }
}

fn in_place(args: &[BorrowedArg<'_>; MAX_BORROWED], op: BinaryOp) -> Option<Tensor> {
    let (a, b) = operands(args)?;
    contiguous_binary_in_place(op, a, b).then(|| a.clone())
}

fn binary(args: &[BorrowedArg<'_>; MAX_BORROWED], op: BinaryOp) -> Option<Tensor> {
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

fn unary(args: &[BorrowedArg<'_>; MAX_BORROWED], op: UnaryOp) -> Option<Tensor> {
    let IValue::Tensor(a) = args[0].value else { return None };
    contiguous_unary(op, a, args[0].is_done)
}
