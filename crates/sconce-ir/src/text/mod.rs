//! PyTorch's text form of graphs: written, read, and renumbered for comparison.

mod lexer;
mod literal;
mod print;
mod read;
mod types;

pub(crate) use literal::{write_float, write_quoted};
pub use read::ParseError;
