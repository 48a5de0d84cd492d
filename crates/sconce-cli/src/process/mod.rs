//! The process and its end: signals, faults of mapped files, the exit.

pub mod exit;
#[cfg(target_os = "linux")]
pub mod fault;
pub mod interrupt;
