//! Tensors as such: made, looked at, described.

pub(crate) mod attributes;
pub(crate) mod creation;
pub(crate) mod native_functions;
pub(crate) mod operands;
pub(crate) mod views;
pub(crate) mod windows;
