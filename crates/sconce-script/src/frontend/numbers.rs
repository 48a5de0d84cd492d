//! Numbers, whose text in PyTorch's tree is what Python's `str` gives for their value.

use ruff_python_ast as py;
use sconce_syntax::ast::Number;
use sconce_syntax::sexpr::python_number;

/// The number and the width of its text; nothing for an integer that TorchScript cannot hold.
pub(super) fn number(value: &py::Number) -> Option<(Number, usize)> {
    let number = match value {
        py::Number::Int(value) => Number::Int(value.as_i64()?),
        py::Number::Float(value) => Number::Float(*value),
        py::Number::Complex { imag, .. } => Number::Complex(*imag),
    };
    let width = python_number(&number).len();
    Some((number, width))
}
