/// Why a text is not a graph, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 0.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}
