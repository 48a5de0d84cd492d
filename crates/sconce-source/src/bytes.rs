use std::fmt;
use std::ops::{Deref, Range};

use crate::Source;

/// A shareable slice of a [`Source`]; cloning it copies no data.
#[derive(Clone)]
pub struct Bytes {
    source: Source,
    start: usize,
    len: usize,
}

impl Bytes {
    pub(crate) fn new(source: Source, range: Range<usize>) -> Self {
        debug_assert!(range.end <= source.bytes().len());
        Bytes { source, start: range.start, len: range.end - range.start }
    }

    /// A part of this slice, or `None` when `range` is not inside it.
    pub fn slice(&self, range: Range<usize>) -> Option<Bytes> {
        if range.start > range.end || range.end > self.len {
            return None;
        }
        Some(Bytes {
            source: self.source.clone(),
            start: self.start + range.start,
            len: range.end - range.start,
        })
    }

    /// Where in the source this slice begins.
    pub fn offset(&self) -> u64 {
        self.start as u64
    }

    /// The same bytes where nobody else can change them: a copy of those that lie in a map, which
    /// another process may write to or cut short.
    pub fn detached(&self) -> Bytes {
        if self.source.is_mapped() { Bytes::from(self.to_vec()) } else { self.clone() }
    }

    /// The source that these bytes belong to.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.source.bytes()[self.start..self.start + self.len]
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(data: Vec<u8>) -> Self {
        let source = Source::from_vec("memory", data);
        let len = source.bytes().len();
        Bytes::new(source, 0..len)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} @ {} + {})", self.source.name(), self.start, self.len)
    }
}
