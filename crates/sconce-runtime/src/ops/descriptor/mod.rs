//! What the registry knows of an operator besides the function that computes it.

pub(crate) mod args;
pub(crate) mod derived;
pub(crate) mod fast_path;
pub(crate) mod overlap;
pub(crate) mod result_strides;
pub(crate) mod size_guard;
