//! Element-wise iteration over tensors: mapping, broadcasting, and the layout of results.

pub(crate) mod broadcast_binary;
pub(crate) mod half_precision;
pub(crate) mod map;
pub(crate) mod permutation;
pub(crate) mod result_layout;
