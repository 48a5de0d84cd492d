//! Tensors as such: made, looked at, described.

pub(crate) mod attributes;
pub(crate) mod creation;
pub(crate) mod internal_operators;
pub(crate) mod operands;
pub(crate) mod views;
pub(crate) mod windows;
