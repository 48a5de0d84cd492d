//! Attention.

pub(crate) mod multi_head;
pub(crate) mod scaled_dot_product;
