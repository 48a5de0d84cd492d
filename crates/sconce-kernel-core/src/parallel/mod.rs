//! The thread pool, and how work is partitioned among its threads.

pub mod grain;
pub mod partition;
pub mod thread_pool;
