//! What is wrong with a program.

use sconce_ir::Node;
use sconce_syntax::SourceRange;

/// A program that cannot be compiled, or a graph that cannot be printed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    range: Option<SourceRange>,
    calls: Vec<(String, SourceRange)>,
    /// The function that was being compiled when it was met, until it is known for whom.
    compiling: Option<String>,
}

impl Error {
    /// What is wrong, in PyTorch's wording where it has one, and where.
    pub fn new(message: impl Into<String>, range: SourceRange) -> Self {
        Self { message: message.into(), range: Some(range), calls: Vec::new(), compiling: None }
    }

    /// What is wrong, where no source is at hand.
    pub fn without_range(message: impl Into<String>) -> Self {
        Self { message: message.into(), range: None, calls: Vec::new(), compiling: None }
    }

    /// The same, at a place unless it has one. If it was met in another function, the place is
    /// what asked for that.
    #[must_use]
    pub fn or_at(mut self, range: SourceRange) -> Self {
        if self.range.is_none() {
            self.range = Some(range);
        } else if let Some(function) = self.compiling.take() {
            self.calls.push((function, range));
        }
        self
    }

    /// Says that it was met while `function` was compiled, for what the next [`Self::or_at`] says.
    #[must_use]
    pub fn while_compiling(mut self, function: impl Into<String>) -> Self {
        self.compiling = Some(function.into());
        self
    }

    /// What is wrong with a node, and where that comes from.
    pub(crate) fn at_node(node: &Node, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            range: node.range.clone(),
            calls: Vec::new(),
            compiling: None,
        }
    }

    /// Says that it was met while `function` was compiled because of what stands at `range`.
    #[must_use]
    pub fn called_from(mut self, function: impl Into<String>, range: SourceRange) -> Self {
        self.calls.push((function.into(), range));
        self
    }

    /// The message with the lines around its place, as PyTorch's `ErrorReport` shows it.
    pub fn report(&self) -> String {
        match &self.range {
            Some(range) => format!("\n{}:\n{range}", self.message),
            None => self.message.clone(),
        }
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where.
    pub fn range(&self) -> Option<&SourceRange> {
        self.range.as_ref()
    }

    /// The functions that were being compiled, innermost first, and what asked for each.
    pub fn calls(&self) -> &[(String, SourceRange)] {
        &self.calls
    }
}

impl From<sconce_syntax::Error> for Error {
    fn from(error: sconce_syntax::Error) -> Self {
        Self::new(error.message(), error.range().clone())
    }
}
