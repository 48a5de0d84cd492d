//! Sizes and strides without data: counting, broadcasting, order in memory, iteration.

pub(crate) mod shape;
pub(crate) mod strided_iter;

pub use shape::{broadcast, contiguous_strides, infer_size, numel, wrap_dim};
