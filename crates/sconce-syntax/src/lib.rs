//! TorchScript's dialect of Python: source text, lexer, parser and tree.
//!
//! Knows nothing of types, operators or archives.

pub mod ast;
mod source;

pub use source::{Origin, Range, Source, SourceRange};
