//! One record while it is written.

use std::fmt;
use std::io::{self, Write};

use super::checksum::Checksum;
use super::{ArchiveWriter, Written, failed};
use crate::directory::{DESCRIPTOR_SIGNATURE, u32_at};
use crate::{Error, ErrorKind};

/// Large data goes out in parts of this size, each checksummed while it is written, so that a map
/// of a file is paged in once.
const PART: usize = 32 << 20;
/// PyTorch takes a write for a data descriptor when it is at least this long and begins like one.
const SNIFFED: usize = 8;

/// A record that takes the bytes announced for it. It counts only once
/// [`finish`](RecordWriter::finish) was called; when it is dropped instead, the archive can no
/// longer be finished.
pub struct RecordWriter<'a, W> {
    archive: &'a mut ArchiveWriter<W>,
    /// What is being written; `None` for a record that PyTorch drops.
    target: Option<Target>,
    name: String,
    /// Bytes announced, and those of them that are still to come.
    size: u64,
    left: u64,
}

struct Target {
    written: Written,
    checksum: Checksum,
    /// The record's first bytes, see [`RecordWriter::sniffed`].
    head: Vec<u8>,
}

impl<'a, W: Write> RecordWriter<'a, W> {
    pub(super) fn new(
        archive: &'a mut ArchiveWriter<W>,
        written: Written,
        checksum: Checksum,
    ) -> Self {
        let name = written.name[archive.folder.len() + 1..].to_owned();
        let (size, left) = (written.compressed_size, written.compressed_size);
        let target = Some(Target { written, checksum, head: Vec::new() });
        RecordWriter { archive, target, name, size, left }
    }

    pub(super) fn dropped(archive: &'a mut ArchiveWriter<W>, name: &str, size: u64) -> Self {
        RecordWriter { archive, target: None, name: name.to_owned(), size, left: size }
    }

    /// Takes a checksum that the caller knows instead of computing it. It stays 0 where checksums
    /// are off or the record is empty.
    pub fn set_crc32(&mut self, crc32: u32) {
        if let Some(target) = &mut self.target
            && matches!(target.checksum, Checksum::Computed(_))
        {
            target.checksum = Checksum::Known(crc32);
        }
    }

    /// The checksum of the bytes so far, where it is computed.
    pub fn computed_crc32(&self) -> Option<u32> {
        match &self.target.as_ref()?.checksum {
            Checksum::Computed(hasher) => Some(hasher.clone().finalize()),
            Checksum::Zero | Checksum::Known(_) => None,
        }
    }

    /// Writes the next bytes: [`Write::write_all`] with this crate's error.
    ///
    /// # Errors
    /// When there are more bytes than were announced, or writing fails.
    pub fn put(&mut self, data: &[u8]) -> Result<(), Error> {
        if data.len() as u64 > self.left {
            return Err(self.too_long());
        }
        self.put_parts(data).map_err(|cause| self.failed(cause))
    }

    fn put_parts(&mut self, data: &[u8]) -> io::Result<()> {
        self.left -= data.len() as u64;
        let Some(target) = &mut self.target else { return Ok(()) };
        let missing = SNIFFED.saturating_sub(target.head.len()).min(data.len());
        target.head.extend_from_slice(&data[..missing]);
        let output = &mut self.archive.output;
        for part in data.chunks(PART) {
            target.checksum.update_while(part, || output.write(part))?;
        }
        Ok(())
    }

    /// Makes the rest of the record a hole.
    pub(super) fn skip_all(&mut self) -> Result<(), Error> {
        let len = std::mem::take(&mut self.left);
        let Some(target) = &mut self.target else { return Ok(()) };
        target.checksum = Checksum::Zero;
        if len > 0 {
            self.archive.output.skip(len).map_err(|cause| self.failed(cause))?;
        }
        Ok(())
    }

    /// Ends the record.
    ///
    /// # Errors
    /// When bytes are missing, or writing fails.
    pub fn finish(self) -> Result<(), Error> {
        if self.left > 0 {
            let message = format!("the data of record {} is too short", self.name);
            return Err(Error::new(ErrorKind::Caller, message).with_note(format!(
                "{} bytes were announced, {} came",
                self.size,
                self.size - self.left
            )));
        }
        let Some(Target { mut written, checksum, head }) = self.target else { return Ok(()) };
        written.crc32 = checksum.finish();
        let descriptor = written.header().descriptor();
        let at = self.archive.position();
        let output = &mut self.archive.output;
        output.write(&descriptor).map_err(|cause| failed(&self.name, at, cause))?;
        self.archive.enter(written, sniffed(&head));
        Ok(())
    }

    pub(super) fn too_long(&self) -> Error {
        let message = format!("the data of record {} is too long", self.name);
        Error::new(ErrorKind::Caller, message)
            .with_note(format!("{} bytes were announced, more came", self.size))
    }

    pub(super) fn unreadable(&self, at: u64, cause: io::Error) -> Error {
        if cause.kind() == io::ErrorKind::UnexpectedEof {
            let message = format!("the data of record {} is too short", self.name);
            return Error::new(ErrorKind::Caller, message).with_note(format!(
                "{} bytes were announced, the reader ended before that",
                self.size
            ));
        }
        Error::io(format!("the data of record {} cannot be read from byte {at}", self.name), cause)
    }

    fn failed(&self, cause: io::Error) -> Error {
        failed(&self.name, self.archive.position(), cause)
    }
}

impl<W: Write> Write for RecordWriter<'_, W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() as u64 > self.left {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, self.too_long()));
        }
        self.put_parts(data)?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W> fmt::Debug for RecordWriter<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordWriter")
            .field("name", &self.name)
            .field("size", &self.size)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// PyTorch collects checksums for the serialization id by looking at what passes to the file, and
/// so takes data that begins like a data descriptor for one.
pub(super) fn sniffed(head: &[u8]) -> Option<u32> {
    (head.len() >= SNIFFED && head.starts_with(&DESCRIPTOR_SIGNATURE)).then(|| u32_at(head, 4))
}
