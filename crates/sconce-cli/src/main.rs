//! The `sconce` binary.
fn main() {}
