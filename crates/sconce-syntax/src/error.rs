//! What is wrong with a text, and where.

use crate::SourceRange;

/// A text that is not of TorchScript's dialect.
///
/// Displayed as PyTorch shows it: the message, a colon, and the lines around the range.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}:\n{}", .0.message, .0.range)]
pub struct Error(Box<Fault>);

/// Behind a pointer: results are passed up from every token.
#[derive(Clone, Debug)]
struct Fault {
    message: String,
    range: SourceRange,
}

impl Error {
    /// What is wrong, in PyTorch's wording where it has one, and where.
    pub fn new(message: impl Into<String>, range: SourceRange) -> Self {
        Self(Box::new(Fault { message: message.into(), range }))
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where.
    pub fn range(&self) -> &SourceRange {
        &self.0.range
    }
}
