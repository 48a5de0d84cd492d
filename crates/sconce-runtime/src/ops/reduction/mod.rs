//! Operators that reduce dimensions, or run along one.

pub(crate) mod cumulative;
pub(crate) mod differences;
pub(crate) mod histogram;
pub(crate) mod min_max;
pub(crate) mod norms;
pub(crate) mod segment_reduce;
pub(crate) mod softmax;
pub(crate) mod statistics;
pub(crate) mod sums;
