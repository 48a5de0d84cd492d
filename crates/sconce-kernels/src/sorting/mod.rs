//! Sorting, selection, and operators that are built on an order.

pub(crate) mod introsort;
pub(crate) mod order_statistics;
pub(crate) mod sort;
pub(crate) mod sort_keys;
pub(crate) mod unique;
