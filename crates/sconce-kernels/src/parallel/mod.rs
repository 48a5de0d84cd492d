//! The thread pool, and how work is partitioned among its threads.

pub(crate) mod grain;
pub mod partition;
pub(crate) mod thread_pool;
