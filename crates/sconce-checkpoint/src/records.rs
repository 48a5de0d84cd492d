//! The records of zip files by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sconce_archive::{Archive, Directory, Entry};

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
