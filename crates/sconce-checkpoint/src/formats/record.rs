//! Records of zip files as storages.

use sconce_archive::{Entry, Method};
use sconce_source::{Bytes, StreamReader};
use sconce_tensor::{LazyError, Load};

use crate::records::Records;

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
