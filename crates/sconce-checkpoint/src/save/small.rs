//! Small storages, gathered so that many are written at once.

use std::io::Write;

use sconce_archive::ArchiveWriter;
use sconce_source::Bytes;
use sconce_tensor::Storage;

use super::damaged;
use super::progress::Progress;
use crate::Error;

/// What is gathered is shorter than this.
const SMALL: usize = 1 << 20;
/// So many bytes are written when they are gathered.
const FULL: usize = 16 << 20;
/// Or so many records: each takes three slices of one write.
const MANY: usize = 1024;

/// Records that wait to be written, in their order.
#[derive(Default)]
pub(super) struct Small<'s> {
    waiting: Vec<(String, Bytes, Option<&'s Storage>)>,
    bytes: usize,
}

impl<'s> Small<'s> {
    /// Whether it is for such data: short, and in memory already, so that to keep it costs nothing.
    pub(super) fn takes(bytes: &Bytes) -> bool {
        bytes.len() < SMALL && !bytes.source().is_mapped()
    }

    /// Adds a record; `checked` is the storage that may know what its checksum has to be.
    pub(super) fn push(&mut self, name: String, bytes: Bytes, checked: Option<&'s Storage>) {
        self.bytes += bytes.len();
        self.waiting.push((name, bytes, checked));
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= FULL || self.waiting.len() >= MANY
    }

    /// Writes what waits.
    pub(super) fn write<W: Write>(
        &mut self,
        archive: &mut ArchiveWriter<W>,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let records: Vec<(String, &[u8])> =
            waiting.iter().map(|(name, bytes, _)| (name.clone(), &bytes[..])).collect();
        let checksums = archive.write_records(&records)?;
        for ((_, bytes, checked), crc32) in waiting.iter().zip(checksums) {
            if let (Some(storage), Some(crc32)) = (checked, crc32) {
                storage.check_crc32(crc32).map_err(damaged)?;
            }
            progress.advance(bytes.len());
        }
        Ok(())
    }
}
