//! Memory of tensors: a caching allocator, and the limit of what a run may hold.

pub(crate) mod caching_allocator;
pub(crate) mod memory_limit;
