//! PyTorch's text form of graphs: written, read, and renumbered for comparison.

mod lexer;
mod literal;
mod print;
mod read;
mod types;

pub use read::ParseError;
