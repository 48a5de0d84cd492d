//! Tensors at run time: storages, strided views, copies, dtypes, quantization parameters.

pub mod copy;
pub mod dim_views;
pub mod dtype_range;
pub mod export;
mod float8;
pub mod import;
pub mod memory_format;
pub mod overlap;
pub mod promotion;
pub mod quantization;
pub mod quantizer;
pub mod scalar;
pub mod storage;
pub mod strided;
pub mod transposed_copy;
pub mod views;
pub mod wide_elements;
