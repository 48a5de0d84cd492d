//! Layers and arithmetic of quantized tensors.

pub(crate) mod arithmetic;
pub(crate) mod embedding;
pub(crate) mod fake_quantize;
pub(crate) mod integer_layers;
pub(crate) mod layers;
pub(crate) mod weight_only;
