//! Operators that read or write elements at positions given by index tensors.

pub(crate) mod index;
pub(crate) mod index_lists;
pub(crate) mod index_runs;
pub(crate) mod scatter;
