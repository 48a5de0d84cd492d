use std::fmt;
use std::ops::{Deref, Range};

use crate::Source;

/// A shareable slice of a [`Source`]; cloning it copies no data.
#[derive(Clone)]
pub struct Bytes {
    source: Source,
    start: usize,
    len: usize,
    /// Where in the file `source` begins, which is what was read of a store.
    base: u64,
}

impl Bytes {
    /// A part of a source that is in memory or mapped.
    pub(crate) fn new(source: Source, range: Range<usize>) -> Self {
        debug_assert!(source.in_memory().is_some_and(|bytes| range.end <= bytes.len()));
        Bytes { source, start: range.start, len: range.end - range.start, base: 0 }
    }

    /// What was read of a store.
    pub(crate) fn read(name: &str, base: u64, data: Vec<u8>) -> Self {
        let len = data.len();
        Bytes { source: Source::from_vec(name, data), start: 0, len, base }
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
            base: self.base,
        })
    }

    /// Where in the source this slice begins.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// The same bytes where nobody else can change them: a copy of those that lie in a map, which
    /// another process may write to or cut short, or that somebody else holds.
    pub fn detached(&self) -> Bytes {
        if !self.source.is_own() { Bytes::from(self.to_vec()) } else { self.clone() }
    }

    /// Lets go of the memory that the pages of a mapped file take which hold these bytes, as [`Source::release`] does
    /// for the whole file.
    pub fn release(&self) {
        self.source.release_part(self.start..self.start + self.len);
    }

    /// The source that these bytes belong to; of a store, one of what was read.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // Nobody makes a slice of a source that is not in memory.
        let bytes = self.source.in_memory().unwrap_or_default();
        &bytes[self.start..self.start + self.len]
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(data: Vec<u8>) -> Self {
        Bytes::read("memory", 0, data)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} @ {} + {})", self.source.name(), self.offset(), self.len)
    }
}
