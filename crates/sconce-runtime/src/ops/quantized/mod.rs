//! Operators on quantized tensors.

pub(crate) mod arithmetic;
pub(crate) mod embedding;
pub(crate) mod fake_quantize;
pub(crate) mod layers;
pub(crate) mod packed_params;
pub(crate) mod recurrent;
pub(crate) mod weight_only;
