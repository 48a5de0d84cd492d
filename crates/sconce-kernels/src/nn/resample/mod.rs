//! Resampling of images and volumes.

pub(crate) mod grid_sample;
pub(crate) mod upsample;
