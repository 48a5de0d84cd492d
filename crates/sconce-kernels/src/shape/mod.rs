//! Operators that make, join and rearrange tensors.

pub(crate) mod creation;
pub(crate) mod join;
pub(crate) mod pad;
pub(crate) mod pixel_shuffle;
pub(crate) mod rearrange;
pub(crate) mod window;
