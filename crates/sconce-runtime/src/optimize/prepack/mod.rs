//! Passes that pack constant weights once.

pub(crate) mod convolution3d;
pub(crate) mod encoder_layer;
pub(crate) mod linear;
pub(crate) mod recurrent;
