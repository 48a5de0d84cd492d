//! Binary operators that are a single instruction on some CPUs.

/// Operators of pairs that CPUs may have instructions for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// `x + y`.
    Add,
    /// `x - y`.
    Sub,
    /// `x * y`.
    Mul,
}
