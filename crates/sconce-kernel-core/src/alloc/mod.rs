//! Memory of tensors: a caching allocator, plans of which tensors of a call share a block, and the limit of what a run
//! may hold, which counts what the process allocates where the binary has the counting allocator.

pub mod caching_allocator;
pub mod counting_allocator;
mod huge_pages;
pub mod memory_limit;
pub mod memory_plan;
