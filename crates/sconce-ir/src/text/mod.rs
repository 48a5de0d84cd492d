//! PyTorch's text form of graphs: written, read, and renumbered for comparison.

mod error;
mod lexer;
mod literal;
mod print;
mod read;

pub use error::ParseError;
