//! Normalisation layers.

pub(crate) mod batch_statistics;
pub(crate) mod normalization;
