//! TorchScript's dialect of Python: source text, lexer, parser and tree.
//!
//! Knows nothing of types, operators or archives.
//!
//! ```
//! use std::sync::Arc;
//! use sconce_syntax::{Source, parse_defs, sexpr};
//!
//! let source = Source::new("def twice(x):\n  return x * 2\n").with_filename("twice.py");
//! let source = Arc::new(source);
//! let defs = parse_defs(&source)?;
//! assert_eq!(&*defs[0].name.name, "twice");
//! assert_eq!(source.line_column(defs[0].body[0].range.start), (1, 2));
//!
//! let error = parse_defs(&Arc::new(Source::new("def f(x):\n  return x +\n"))).unwrap_err();
//! assert_eq!(error.message(), "expected ident but found 'newline' here");
//! # Ok::<(), sconce_syntax::Error>(())
//! ```

pub mod ast;
mod error;
mod highlight;
mod lexer;
mod literal;
mod parser;
pub mod sexpr;
mod source;
mod token;

pub use error::Error;
pub use lexer::Lexer;
pub use parser::{
    MAX_DEPTH, parse_class, parse_def, parse_defs, parse_expression, parse_module, parse_statement,
    parse_type_comment,
};
pub use source::{Origin, Range, Source, SourceRange};
pub use token::{Token, TokenKind};
