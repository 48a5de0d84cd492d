//! Tensors at run time: storages, strided views, copies, dtypes, quantization parameters.

pub(crate) mod copy;
pub(crate) mod dtype_range;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod memory_format;
pub(crate) mod overlap;
pub(crate) mod promotion;
pub(crate) mod quantization;
pub(crate) mod quantizer;
pub(crate) mod scalar;
pub(crate) mod storage;
pub(crate) mod strided;
pub(crate) mod transposed_copy;
pub(crate) mod views;
pub(crate) mod wide_elements;
