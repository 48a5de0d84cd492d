//! Normalisation layers.

pub(crate) mod batch_statistics;
pub(crate) mod layer_norm_rows;
pub(crate) mod normalization;
