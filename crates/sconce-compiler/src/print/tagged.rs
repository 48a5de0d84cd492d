//! Text that knows where each piece of it comes from.

use sconce_syntax::SourceRange;

/// Where a piece of printed text comes from: it goes on until the next record's offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The byte in the text where the piece begins.
    pub offset: usize,
    /// What it was printed for; `None` for text of no node (PyTorch's null range).
    pub range: Option<SourceRange>,
}

/// Text in the making, with its [`Record`]s. PyTorch's `TaggedStringStream`.
#[derive(Clone, Debug, Default)]
pub(super) struct Tagged {
    text: String,
    records: Vec<Record>,
    current: Option<SourceRange>,
}

impl Tagged {
    /// No text, of which all that is to come is from `range`.
    pub(super) fn new(range: Option<SourceRange>) -> Self {
        Self { text: String::new(), records: Vec::new(), current: range }
    }

    /// Says where what comes next is from, and gives what was said before.
    pub(super) fn set_range(&mut self, range: Option<SourceRange>) -> Option<SourceRange> {
        std::mem::replace(&mut self.current, range)
    }

    /// Where what comes next is from.
    pub(super) fn range(&self) -> &Option<SourceRange> {
        &self.current
    }

    /// Adds text of the current range.
    pub(super) fn push_str(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.records.last().is_none_or(|last| last.range != self.current) {
            self.records.push(Record { offset: self.text.len(), range: self.current.clone() });
        }
        self.text.push_str(text);
    }

    /// Adds text with the ranges it has.
    pub(super) fn push(&mut self, other: &Self) {
        for record in &other.records {
            if self.records.last().is_none_or(|last| last.range != record.range) {
                let offset = self.text.len() + record.offset;
                self.records.push(Record { offset, range: record.range.clone() });
            }
        }
        self.text.push_str(&other.text);
    }

    /// The text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The text and its records.
    pub(super) fn into_parts(self) -> (String, Vec<Record>) {
        (self.text, self.records)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sconce_syntax::{Range, Source};

    use super::*;

    #[test]
    fn records_begin_where_the_range_changes() {
        let source = Arc::new(Source::new("a + b"));
        let range =
            |start, end| Some(SourceRange::new(Arc::clone(&source), Range::new(start, end)));
        let mut inner = Tagged::new(range(4, 5));
        inner.push_str("b");
        let mut text = Tagged::new(None);
        text.push_str("def");
        text.push_str("");
        let before = text.set_range(range(0, 5));
        text.push_str(" a");
        text.push_str(" + ");
        text.push(&inner);
        text.push(&inner);
        text.set_range(before);
        text.push_str("\n");
        let (text, records) = text.into_parts();
        assert_eq!(text, "def a + bb\n");
        let offsets: Vec<_> = records.iter().map(|record| record.offset).collect();
        assert_eq!(offsets, [0, 3, 8, 10]);
        assert_eq!(records[2].range, range(4, 5));
        assert_eq!(records[3].range, None);
    }
}
