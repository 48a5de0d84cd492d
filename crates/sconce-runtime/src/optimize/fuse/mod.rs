//! Passes that make one operator of several.

pub(crate) mod batch_norm;
pub(crate) mod branches;
pub(crate) mod linear_layers;
pub(crate) mod pointwise;
pub(crate) mod quantized;
