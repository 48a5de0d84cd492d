//! Source text, and places in it.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// A piece of source text: a file of an archive's `code/`, or what a caller hands in.
///
/// The same as PyTorch's `torch::jit::Source`.
pub struct Source {
    text: Box<str>,
    filename: Option<Box<str>>,
    starting_line: u32,
    origin: Option<Box<dyn Origin>>,
    /// Where each line begins; found when first asked for.
    line_starts: OnceLock<Box<[u32]>>,
}

/// Finds the place in the original program that a place in generated code came from.
///
/// An archive's `.debug_pkl` records are one.
pub trait Origin: Send + Sync {
    /// The original place of the byte at `offset` of the generated text, if it is known.
    fn original(&self, offset: u32) -> Option<SourceRange>;
}

impl Source {
    /// Text without a file name, as `CompilationUnit.define` takes it.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self {
            text: text.into(),
            filename: None,
            starting_line: 0,
            origin: None,
            line_starts: OnceLock::new(),
        }
    }

    /// The same text under a file name.
    #[must_use]
    pub fn with_filename(mut self, filename: impl Into<Box<str>>) -> Self {
        self.filename = Some(filename.into());
        self
    }

    /// The same text, whose first line has this number in its file: 1 for a whole file, where
    /// lines are counted from 1. Counts only where there is a file name.
    #[must_use]
    pub fn with_starting_line(mut self, line: u32) -> Self {
        self.starting_line = line;
        self
    }

    /// The same text, generated from an original that `origin` knows.
    #[must_use]
    pub fn with_origin(mut self, origin: Box<dyn Origin>) -> Self {
        self.origin = Some(origin);
        self
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file's name, if it has one.
    pub fn filename(&self) -> Option<&str> {
        self.filename.as_deref()
    }

    /// The number of the first line in its file.
    pub fn starting_line(&self) -> u32 {
        self.starting_line
    }

    /// Line and column of a byte offset, both from 0, the line within this text.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let offset = offset.min(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        let starts = self.line_starts();
        let line = starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = starts.get(line).copied().unwrap_or(0);
        (line as u32, offset - start)
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            let after = newlines.map_while(|(at, _)| u32::try_from(at + 1).ok());
            std::iter::once(0).chain(after).collect()
        })
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Source")
            .field("filename", &self.filename)
            .field("starting_line", &self.starting_line)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// Byte offsets into one [`Source`]; `start` is inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Range {
    /// From `start` to before `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// How many bytes it holds; none if it ends before it starts.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it holds no bytes.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A range with the source it is in. Cloning copies a pointer.
#[derive(Clone, Debug)]
pub struct SourceRange {
    /// The text the offsets refer to.
    pub source: Arc<Source>,
    /// Where in the text.
    pub range: Range,
}

impl SourceRange {
    /// A range of a source.
    pub fn new(source: Arc<Source>, range: Range) -> Self {
        Self { source, range }
    }

    /// The place of what a pass inserts, which comes from no source: PyTorch's `fakeRange`, the
    /// first byte of an empty text.
    pub fn fake() -> Self {
        static NOWHERE: OnceLock<Arc<Source>> = OnceLock::new();
        let nowhere = NOWHERE.get_or_init(|| Arc::new(Source::new("")));
        Self::new(Arc::clone(nowhere), Range::new(0, 1))
    }

    /// The place in the original program, when the source is generated and knows it.
    pub fn original(&self) -> Option<Self> {
        self.source.origin.as_ref()?.original(self.range.start)
    }

    /// File name, line (counted in the file from the starting line) and column (from 0), as PyTorch prints them
    /// after a node (`# file:line:col`); `None` for text without a file name.
    pub fn file_line_column(&self) -> Option<(&str, u32, u32)> {
        let filename = self.source.filename()?;
        let (line, column) = self.source.line_column(self.range.start);
        Some((filename, line.saturating_add(self.source.starting_line()), column))
    }
}

impl PartialEq for SourceRange {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.range == other.range
    }
}

impl Eq for SourceRange {}
