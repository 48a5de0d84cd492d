//! Names of binary operators.

use BinaryOp::*;

use sconce_kernel_core::simd::arithmetic::Arithmetic;

/// An operator of two operands, by the name of its `aten` operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "named like the operators of torch")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// True division.
    Div,
    /// `div(rounding_mode='trunc')`.
    DivTrunc,
    /// `div(rounding_mode='floor')` and `floor_divide`.
    DivFloor,
    Pow,
    /// The sign of the divisor, as Python's `%`.
    Remainder,
    /// The sign of the dividend.
    Fmod,
    Maximum,
    Minimum,
    Fmax,
    Fmin,
    Atan2,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    LeftShift,
    RightShift,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
}

impl BinaryOp {
    pub(crate) fn compares(self) -> bool {
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    pub(crate) fn is_logical(self) -> bool {
        matches!(self, LogicalAnd | LogicalOr | LogicalXor)
    }

    /// The same operator where CPUs may have one instruction for it.
    pub(crate) fn arithmetic(self) -> Option<Arithmetic> {
        match self {
            Add => Some(Arithmetic::Add),
            Sub => Some(Arithmetic::Sub),
            Mul => Some(Arithmetic::Mul),
            _ => None,
        }
    }

    /// The name that PyTorch's "not implemented for" errors give the kernel.
    pub(crate) fn kernel(self) -> &'static str {
        match self {
            Add | Sub => "add_stub",
            Mul => "mul_cpu",
            Div => "div_true_cpu",
            DivTrunc => "div_trunc_cpu",
            DivFloor => "div_floor_cpu",
            Pow => "pow",
            Remainder => "remainder_cpu",
            Fmod => "fmod_cpu",
            Maximum => "maximum_cpu",
            Minimum => "minimum_cpu",
            Fmax => "fmax",
            Fmin => "fmin",
            Atan2 => "atan2_cpu",
            Eq => "eq_cpu",
            Ne => "ne_cpu",
            Lt => "lt_cpu",
            Le => "le_cpu",
            Gt => "gt_cpu",
            Ge => "ge_cpu",
            BitwiseAnd => "bitwise_and_cpu",
            BitwiseOr => "bitwise_or_cpu",
            BitwiseXor => "bitwise_xor_cpu",
            LeftShift => "lshift_cpu",
            RightShift => "rshift_cpu",
            LogicalAnd => "logical_and_cpu",
            LogicalOr => "logical_or_cpu",
            LogicalXor => "logical_xor_cpu",
        }
    }
}
