//! Which operators may be steps of a fused element-wise operator, and as what.

use sconce_kernels::PointwiseOp;

/// As which step an operator may be computed, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fusion {
    pub(crate) op: PointwiseOp,
    /// The places of the step's operands among the operator's.
    pub(crate) operands: &'static [usize],
    /// What one of the operands has to be, by its place: a string, or `None`.
    pub(crate) when: Option<(usize, Option<&'static str>)>,
}

/// A step whose operands are the operator's first ones.
pub(crate) const fn fuse(op: PointwiseOp) -> Fusion {
    let operands: &[usize] = match op.arity() {
        1 => &[0],
        2 => &[0, 1],
        3 => &[0, 1, 2],
        _ => &[0, 1, 2, 3],
    };
    Fusion { op, operands, when: None }
}

impl Fusion {
    /// Takes these operands of the operator's instead.
    pub(crate) const fn taking(self, operands: &'static [usize]) -> Self {
        Fusion { operands, ..self }
    }

    /// Only where the operand of this place is this string, or `None`.
    pub(crate) const fn when(self, place: usize, is: Option<&'static str>) -> Self {
        Fusion { when: Some((place, is)), ..self }
    }
}

/// A step that an operator of the registry may be computed as.
#[derive(Debug)]
pub(crate) struct FusedStep {
    pub(crate) symbol: &'static str,
    pub(crate) overloads: &'static str,
    pub(crate) fusion: Fusion,
}
