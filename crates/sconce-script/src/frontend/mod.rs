//! Python's tree to PyTorch's: the job of `torch/jit/frontend.py`.
//!
//! Ranges are what PyTorch makes of CPython's lines and columns: the place of a node's first token
//! (its width often a guess), merged with the ranges of its children.

mod definitions;
mod expressions;
mod ignored;
mod numbers;
mod statements;
mod type_comments;

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;
use sconce_compiler::Error;
use sconce_syntax::{MAX_DEPTH, Range, SourceRange};

use crate::snippet::Snippet;

pub(crate) use definitions::{Body, Shape, definition};
pub(crate) use ignored::{HEADER as BLOCKS_HEADER, MODULE as BLOCKS_MODULE};
pub(crate) use statements::assignments;

/// Makes trees of one snippet.
struct Frontend<'a> {
    snippet: &'a Snippet,
    /// The name of the Python function: annotated attributes are for `__init__` only.
    function: &'a str,
    depth: u32,
    /// The functions that blocks left to Python became.
    blocks: Vec<String>,
    /// The names met, so that each is there once.
    names: FxHashSet<Arc<str>>,
}

impl<'a> Frontend<'a> {
    fn new(snippet: &'a Snippet, function: &'a str) -> Self {
        Self { snippet, function, depth: 0, blocks: Vec::new(), names: FxHashSet::default() }
    }

    /// A name; the same one each time.
    fn interned(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }

    /// So many bytes from where a node begins.
    fn at(&self, node: &impl Ranged, length: usize) -> Range {
        self.snippet.range(node.start().to_u32(), length)
    }

    fn error(&self, at: Range, message: impl Into<String>) -> Error {
        Error::new(message, SourceRange::new(Arc::clone(&self.snippet.source), at))
    }

    /// Python that TorchScript does not have.
    fn unsupported<T>(&self, node: &impl Ranged, token: &str, what: &str) -> Result<T, Error> {
        let at = self.at(node, token.len().max(1));
        Err(self.error(at, format!("{what} aren't supported")))
    }

    /// Goes one level down, if there may be one more.
    fn nested<T>(
        &mut self,
        at: Range,
        step: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(at, "too deeply nested"));
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }
}

/// How many characters a name has: Python's `len`.
fn width(name: &str) -> usize {
    name.chars().count()
}

/// The range of a node with children.
fn around<'t>(range: Range, children: impl IntoIterator<Item = &'t Range>) -> Range {
    children.into_iter().fold(range, |range, &child| range.merge(child))
}

/// A decorator's or annotation's dotted name: `torch.jit.ignore`.
pub(crate) fn dotted(expression: &py::Expr) -> Option<String> {
    let mut parts = Vec::new();
    let mut at = expression;
    loop {
        match at {
            py::Expr::Name(name) => {
                parts.push(name.id.as_str());
                parts.reverse();
                return Some(parts.join("."));
            }
            py::Expr::Attribute(attribute) => {
                parts.push(attribute.attr.as_str());
                at = &attribute.value;
            }
            _ => return None,
        }
    }
}
