//! Element-wise iteration over tensors: mapping, broadcasting, and the layout of results.

pub mod broadcast_binary;
pub mod half_precision;
pub mod map;
pub mod permutation;
pub mod result_layout;
