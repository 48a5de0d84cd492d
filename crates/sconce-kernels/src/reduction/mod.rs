//! Operators that combine elements along dimensions.

pub(crate) mod covariance;
pub(crate) mod cumulative;
pub(crate) mod differences;
pub(crate) mod distance;
pub(crate) mod histogram;
pub(crate) mod min_max;
pub(crate) mod reduce;
pub(crate) mod reduction_order;
pub(crate) mod segment_reduce;
pub(crate) mod softmax;
pub(crate) mod softmax_columns;
pub(crate) mod softmax_rows;
pub(crate) mod statistics;
pub(crate) mod vector_norm;
