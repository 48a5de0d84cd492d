//! Writes files whole or not at all, and checks what goes into them.

pub mod atomic;
pub mod file_set;
pub mod opaque_callables;
pub mod overflow;
pub mod programs;
pub mod saving;
pub mod state_dict;
pub mod wrote;
