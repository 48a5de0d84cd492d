//! Memory of tensors: a caching allocator, and the limit of what a run may hold.

pub mod caching_allocator;
pub mod memory_limit;
