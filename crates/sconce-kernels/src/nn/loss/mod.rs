//! Losses.

pub(crate) mod classification;
pub(crate) mod ctc;
pub(crate) mod elementwise;
