//! Passes that make plain what a graph does.

pub(crate) mod assertions;
pub(crate) mod constants;
pub(crate) mod containers;
pub(crate) mod decomposed;
pub(crate) mod dropout;
pub(crate) mod in_place;
pub(crate) mod known_dims;
pub(crate) mod reshapes_back;
mod tensor_attributes;
pub(crate) mod traced_convolution;
pub(crate) mod unrolled_recurrent;
pub(crate) mod zero_sums;
