//! What is wrong with a Python file.

/// Why Python source could not be made TorchScript: a compiler's error with its place, or a file
/// that could not be read.
pub type Error = sconce_compiler::Error;
