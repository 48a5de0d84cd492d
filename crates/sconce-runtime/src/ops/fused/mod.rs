//! Operators that no program has: passes of the optimizer put them into graphs.

pub(crate) mod blocked_layout;
pub(crate) mod layers;
pub(crate) mod pointwise;
