//! Linear and bilinear layers.

pub(crate) mod activation;
pub(crate) mod bilinear;
pub(crate) mod gathered;
pub(crate) mod packed;
pub(crate) mod packed_half;
