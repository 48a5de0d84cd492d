//! Records of zip files as storages.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sconce_archive::{Archive, Directory, Entry, Method};
use sconce_source::{Bytes, StreamReader};
use sconce_tensor::{LazyError, Load};

use crate::{Error, ErrorKind};

/// The records of a zip file, by name.
#[derive(Clone)]
pub(crate) enum Records {
    /// In one folder, as PyTorch's reader wants them.
    Folder(Arc<Archive>),
    /// In none: what torch.export wrote before 2.8.
    Bare(Arc<Bare>),
}

/// A zip file without a folder.
pub(crate) struct Bare {
    directory: Directory,
    index: HashMap<Box<[u8]>, u32>,
}

impl Bare {
    /// Applies the rules of [`Archive`] that do not concern the folder.
    pub(crate) fn new(directory: Directory) -> Result<Bare, Error> {
        let mut index = HashMap::with_capacity(directory.entries().len());
        for (at, entry) in directory.entries().iter().enumerate() {
            if index.insert(directory.raw_name(entry).into(), at as u32).is_some() {
                return Err(Error::new(ErrorKind::Ambiguous, "two records have the same name")
                    .in_record(&directory.display_name(entry))
                    .at(entry.header_offset()));
            }
        }
        directory.check_layout()?;
        Ok(Bare { directory, index })
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Records({})", self.directory().source().name())
    }
}

impl Records {
    pub(crate) fn directory(&self) -> &Directory {
        match self {
            Records::Folder(archive) => archive.directory(),
            Records::Bare(bare) => &bare.directory,
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        self.directory().entries()
    }

    /// A record's name without the folder.
    pub(crate) fn name<'a>(&'a self, entry: &Entry) -> Cow<'a, str> {
        match self {
            Records::Folder(archive) => archive.record_name(entry),
            Records::Bare(bare) => bare.directory.display_name(entry),
        }
    }

    /// A record's name with the folder, for messages.
    pub(crate) fn display_name(&self, entry: &Entry) -> Cow<'_, str> {
        self.directory().display_name(entry)
    }

    /// The record of a name without the folder.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        match self {
            Records::Folder(archive) => archive.find(name),
            Records::Bare(bare) => {
                bare.index.get(name.as_bytes()).map(|&at| &bare.directory.entries()[at as usize])
            }
        }
    }
}

/// A record that holds a storage.
pub(super) struct Record {
    pub(super) records: Records,
    pub(super) index: usize,
}

impl Record {
    fn entry(&self) -> &Entry {
        &self.records.entries()[self.index]
    }
}

impl Load for Record {
    fn load(&self) -> Result<Bytes, LazyError> {
        Ok(self.records.directory().bytes(self.entry())?)
    }

    fn read_through(&self) -> Result<u64, LazyError> {
        let (directory, mut read) = (self.records.directory(), 0);
        if self.entry().method() == Method::Stored {
            return Ok(directory.bytes(self.entry())?.len() as u64);
        }
        directory.parts(self.entry(), &mut StreamReader::new(), |part| {
            read += part.len() as u64;
            Ok::<(), sconce_archive::Error>(())
        })?;
        Ok(read)
    }

    fn check_crc32(&self, found: u32) -> Result<(), LazyError> {
        let declared = self.entry().crc32();
        // PyTorch writes 0 where it computes none.
        if declared == 0 || declared == found {
            return Ok(());
        }
        let name = self.records.name(self.entry());
        let file = self.records.directory().source().name();
        Err(format!(
            "record {} of {} is damaged: its checksum is {found:08x}, but {declared:08x} is \
             declared",
            name.escape_debug(),
            file.escape_debug(),
        )
        .into())
    }
}
