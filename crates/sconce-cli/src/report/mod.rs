//! What several verbs say of a file: rows of tensors, numbers, safety, the program.

pub mod elements;
pub mod exported;
pub mod method_diff;
pub mod numbers;
pub mod pickle_streams;
pub mod program;
pub mod program_diff;
pub mod renamed_tensors;
pub mod roles;
pub mod safe_globals;
pub mod safety;
pub mod sarif;
pub mod statistics;
pub mod tensor_rows;
