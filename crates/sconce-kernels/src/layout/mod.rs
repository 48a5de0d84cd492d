//! Sizes and strides without data: counting, broadcasting, order in memory, iteration.

pub(crate) mod memory_format;
pub(crate) mod shape;
pub(crate) mod strided_iter;
pub(crate) mod strides;

pub use shape::{broadcast, contiguous_strides, infer_size, numel, wrap_dim};
