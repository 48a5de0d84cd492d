//! Calls programs for `run`, `bench` and `compare`: compiles Python files, makes arguments and sessions, holds calls
//! to their limits, shows results.

pub mod callable;
pub mod deadline;
pub mod input;
pub mod memory_ceiling;
pub mod method;
pub mod python;
pub mod result_json;
pub mod result_text;
pub mod scores;
pub mod session;
