//! The thread pool, and how work is partitioned among its threads.

mod apart;
pub mod grain;
pub mod partition;
pub mod thread_pool;
