//! What a loader reads, for whoever wants to judge it.

use std::fmt;
use std::sync::Arc;

use sconce_archive::Archive;
use sconce_pickle::Arena;
use sconce_source::Source;

use crate::identify::FileKind;

/// One pickle that a loader gave to the pickle machine.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Seen<'s> {
    /// The record of an archive, or the part of a stream: `archive/data.pkl`, `protocol version`.
    pub record: &'s str,
    /// Where the pickle begins in the record; in a stream, in the file.
    pub offset: u64,
    /// The bytes from there on. What follows the pickle's STOP may be data that the loader reads next.
    pub bytes: &'s [u8],
    /// How many of them are the pickle's; with an error, how many were read.
    pub consumed: usize,
    /// Whether nothing may follow the pickle in its record.
    pub alone: bool,
    /// Every value that the pickle made, up to an error.
    pub arena: &'s Arena<'s>,
    /// Why the pickle could not be read to its end.
    pub error: Option<&'s sconce_pickle::Error>,
}

/// Is told each pickle that is read while a file is opened, also where opening fails later.
///
/// A scanner is one: it sees what the loader sees, by the same machine and the same container code. Set
/// one with [`LoadOptions::observer`](crate::LoadOptions::observer).
pub trait Observer: fmt::Debug + Send + Sync {
    /// A file is being opened. A sharded checkpoint opens its index first and then its shards; the pickles
    /// told after this are of this file.
    fn file(&self, source: &Source, kind: FileKind);

    /// The file is an archive, and this is its directory.
    fn archive(&self, archive: &Arc<Archive>);

    /// A pickle was read, or broke off.
    fn pickle(&self, seen: &Seen<'_>);
}

/// An observer that options can hold.
pub(crate) type Shared = Arc<dyn Observer>;

/// Where a pickle begins, for observers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PicklePlace<'p> {
    pub(crate) record: &'p str,
    pub(crate) offset: u64,
    pub(crate) alone: bool,
    /// The bytes it takes in its file, where what it may build grows with them.
    pub(crate) stored: u64,
}

impl<'p> PicklePlace<'p> {
    /// A pickle that is a record of its own.
    pub(crate) fn alone(record: &'p str, stored: u64) -> PicklePlace<'p> {
        PicklePlace { record, offset: 0, alone: true, stored }
    }

    /// A pickle that other data follows.
    pub(crate) fn within(record: &'p str, offset: u64, stored: u64) -> PicklePlace<'p> {
        PicklePlace { record, offset, alone: false, stored }
    }
}
