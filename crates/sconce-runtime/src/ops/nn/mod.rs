//! Operators of layers.

pub(crate) mod attention;
pub(crate) mod bilinear;
pub(crate) mod conv;
pub(crate) mod embedding;
pub(crate) mod legacy_interpolate;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod pool;
pub(crate) mod recurrent;
pub(crate) mod resample;
pub(crate) mod slow_conv;
pub(crate) mod xnnpack;
pub(crate) mod xnnpack_layers;
