//! Sizes and strides without data: counting, broadcasting, order in memory, iteration.

pub mod memory_format;
pub mod shape;
pub mod strided_iter;
pub mod strides;

pub use shape::{broadcast, contiguous_strides, infer_size, numel, wrap_dim};
