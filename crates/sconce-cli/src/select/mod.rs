//! Chooses among the names of a file: globs, names with slices, and the names that a misspelt one may have meant.

pub mod glob;
pub mod pick;
pub mod suggest;
