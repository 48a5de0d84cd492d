//! Writes an archive front to back, byte for byte as `caffe2::serialize::PyTorchStreamWriter`
//! does. `headers.rs` has the format's structures, `output.rs` the way to the disk, `record.rs`
//! one record while it is written, and this file the archive as a whole.

mod batch;
mod checksum;
mod deflated;
mod folder;
mod headers;
mod options;
mod output;
mod record;

use std::fmt;
use std::hash::BuildHasher;
use std::io::{self, Read, Seek, Write};

use hashbrown::{DefaultHashBuilder, HashTable};

use self::checksum::Checksum;
use self::deflated::COMPRESSED_FROM;
use self::headers::Header;
use self::output::Output;
use crate::{Error, ErrorKind, NameSet, serialization_id};

pub use self::deflated::Deflated;
pub use self::folder::archive_name;
pub use self::options::{ByteOrder, Layout, WriterOptions};
pub use self::record::RecordWriter;

/// The record that holds hashes of all others' names and checksums.
const ID_RECORD: &str = ".data/serialization_id";
/// Archives of this version and later keep it in `.data/version`.
const DATA_VERSION: u64 = 6;
/// A stream is read in parts of at most this many bytes.
const STREAM_PART: u64 = 4 << 20;

/// Writes an archive front to back; never looks back, so any writer will do.
///
/// ```
/// use sconce_archive::{Archive, ArchiveWriter, WriterOptions};
/// use sconce_source::{Limits, Source};
///
/// let mut writer = ArchiveWriter::new(Vec::new(), "archive", WriterOptions::new())?;
/// writer.write_record("data.pkl", b"\x80\x02N.")?;
/// let bytes = writer.finish()?;
///
/// let archive = Archive::open(Source::from_vec("memory", bytes), &Limits::default())?;
/// let names: Vec<_> = archive.records().iter().map(|entry| archive.record_name(entry)).collect();
/// assert_eq!(names, ["data.pkl", "version", "byteorder", ".data/serialization_id"]);
/// # Ok::<(), sconce_archive::Error>(())
/// ```
///
/// After an error the archive cannot be finished: what was written is not an archive. Write to a
/// [`sconce_source::AtomicFile`] and such a file is never seen.
pub struct ArchiveWriter<W> {
    output: Output<W>,
    folder: String,
    options: WriterOptions,
    records: Vec<Written>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The checksums that go into the serialization id.
    checksums: Vec<u32>,
    /// A record was begun and not finished.
    open: bool,
}

/// A record that is in the file.
#[derive(Debug)]
struct Written {
    /// With the folder.
    name: String,
    size: u64,
    compressed_size: u64,
    deflated: bool,
    crc32: u32,
    offset: u64,
}

impl Written {
    fn header(&self) -> Header<'_> {
        Header {
            name: self.name.as_bytes(),
            size: self.size,
            compressed_size: self.compressed_size,
            deflated: self.deflated,
            offset: self.offset,
            crc32: self.crc32,
        }
    }
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins an archive whose records lie in `folder` (see [`archive_name`]). The writer's
    /// present position is the archive's first byte. Small writes are gathered, so the writer
    /// needs no buffer of its own.
    ///
    /// # Errors
    /// When the alignment is 0 or the folder's name cannot be one: it holds a `/`, which would end
    /// it, or a NUL.
    pub fn new(
        writer: W,
        folder: impl Into<String>,
        options: WriterOptions,
    ) -> Result<Self, Error> {
        ArchiveWriter::begin(Output::new(writer), folder.into(), options)
    }

    /// [`ArchiveWriter::new`] for a file, in which [`ArchiveWriter::write_hole`] seeks instead of
    /// writing zeros. The file must be empty from its position on, else holes show what was there.
    ///
    /// # Errors
    /// As [`ArchiveWriter::new`].
    pub fn with_holes(
        writer: W,
        folder: impl Into<String>,
        options: WriterOptions,
    ) -> Result<Self, Error>
    where
        W: Seek,
    {
        ArchiveWriter::begin(Output::with_holes(writer), folder.into(), options)
    }

    fn begin(output: Output<W>, folder: String, options: WriterOptions) -> Result<Self, Error> {
        if options.alignment == 0 {
            return Err(Error::new(ErrorKind::Caller, "records cannot be aligned to 0 bytes"));
        }
        if folder.contains(['/', '\0']) {
            let message = format!("invalid archive name: '{}'", folder.escape_debug());
            return Err(Error::new(ErrorKind::Caller, message)
                .with_note("a folder's name holds neither a slash nor a NUL"));
        }
        Ok(ArchiveWriter {
            output,
            folder,
            options,
            records: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            checksums: Vec::new(),
            open: false,
        })
    }

    /// The folder that all records lie in.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Bytes of the archive so far.
    pub fn position(&self) -> u64 {
        self.output.position()
    }

    /// Whether a record called `name` (without the folder) was written.
    pub fn contains(&self, name: &str) -> bool {
        let hash = self.hasher.hash_one(name);
        self.index.find(hash, |&index| self.record_name(index) == name).is_some()
    }

    /// Raises the version that the archive will declare (`PyTorchStreamWriter::setMinVersion`).
    pub fn set_min_version(&mut self, version: u64) {
        self.options.min_version = self.options.min_version.max(version);
    }

    /// Writes a record whose bytes are at hand. Large ones are checksummed on all cores while they
    /// are written.
    ///
    /// A `.data/serialization_id` is dropped without a word, as PyTorch does, since the archive
    /// gets its own; but not in a [`Layout`] without one.
    ///
    /// # Errors
    /// `Tried to serialize file twice: <name>`; when the name or the alignment does not fit the
    /// format; or when writing fails.
    pub fn write_record(&mut self, name: &str, data: &[u8]) -> Result<(), Error> {
        let mut record = self.record(name, data.len() as u64)?;
        record.put(data)?;
        record.finish()
    }

    /// Writes a record as `torch.jit.save` writes code: deflated when it is longer than 200 bytes,
    /// bit for bit as PyTorch's compressor would.
    ///
    /// # Errors
    /// As [`ArchiveWriter::write_record`].
    pub fn write_compressed(&mut self, name: &str, data: &[u8]) -> Result<(), Error> {
        if data.len() <= COMPRESSED_FROM {
            return self.write_record(name, data);
        }
        self.write_deflated(name, &Deflated::new(data))
    }

    /// Writes a record that was compressed beforehand: [`ArchiveWriter::write_compressed`] of the same data.
    ///
    /// # Errors
    /// As [`ArchiveWriter::write_record`].
    pub fn write_deflated(&mut self, name: &str, record: &Deflated) -> Result<(), Error> {
        let packed = record.is_packed.then_some(record.bytes.len() as u64);
        let mut writer = self.begin_record(name, record.size, packed)?;
        writer.set_crc32(record.crc32);
        writer.put(&record.bytes)?;
        writer.finish()
    }

    /// Writes a record of `len` bytes from a reader, in bounded memory. A checksum that is known
    /// (from the archive that the record comes from) is taken as it is and saves a pass over the
    /// bytes.
    ///
    /// # Errors
    /// As [`ArchiveWriter::write_record`]; when the reader fails; or when it holds fewer or more
    /// than `len` bytes.
    pub fn write_stream(
        &mut self,
        name: &str,
        len: u64,
        crc32: Option<u32>,
        mut reader: impl Read,
    ) -> Result<(), Error> {
        let mut record = self.record(name, len)?;
        if let Some(crc32) = crc32 {
            record.set_crc32(crc32);
        }
        let mut part = vec![0; len.min(STREAM_PART) as usize];
        let mut left = len;
        while left > 0 {
            let want = left.min(STREAM_PART) as usize;
            reader
                .read_exact(&mut part[..want])
                .map_err(|cause| record.unreadable(len - left, cause))?;
            record.put(&part[..want])?;
            left -= want as u64;
        }
        // One byte more would mean that the announced length was wrong.
        match read_one(&mut reader) {
            Ok(false) => record.finish(),
            Ok(true) => Err(record.too_long()),
            Err(cause) => Err(record.unreadable(len, cause)),
        }
    }

    /// Writes a record of `len` bytes without its data (`write_record_metadata`): a hole, whose
    /// checksum is declared as 0.
    ///
    /// # Errors
    /// As [`ArchiveWriter::write_record`].
    pub fn write_hole(&mut self, name: &str, len: u64) -> Result<(), Error> {
        let mut record = self.record(name, len)?;
        record.skip_all()?;
        record.finish()
    }

    /// Begins a record of `len` bytes, which the caller then writes into what is returned and
    /// ends with [`RecordWriter::finish`].
    ///
    /// ```
    /// use std::io::Write;
    /// use sconce_archive::{ArchiveWriter, WriterOptions};
    ///
    /// let mut archive = ArchiveWriter::new(Vec::new(), "archive", WriterOptions::new())?;
    /// let mut record = archive.record("data/0", 8)?;
    /// for number in [1.0f32, 2.0] {
    ///     record.write_all(&number.to_le_bytes())?;
    /// }
    /// record.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`ArchiveWriter::write_record`].
    pub fn record(&mut self, name: &str, len: u64) -> Result<RecordWriter<'_, W>, Error> {
        self.begin_record(name, len, None)
    }

    /// [`ArchiveWriter::record`] for data that is deflated to so many bytes already, or not.
    fn begin_record(
        &mut self,
        name: &str,
        len: u64,
        deflated: Option<u64>,
    ) -> Result<RecordWriter<'_, W>, Error> {
        self.check_closed()?;
        let Some((written, local)) = self.prepare(name, len, deflated, self.position())? else {
            return Ok(RecordWriter::dropped(self, name, deflated.unwrap_or(len)));
        };
        self.open = true;
        self.output.write(&local).map_err(|cause| failed(name, written.offset, cause))?;
        let checksum = match self.options.crc && len > 0 {
            true => Checksum::Computed(crc32fast::Hasher::new()),
            false => Checksum::Zero,
        };
        Ok(RecordWriter::new(self, written, checksum))
    }

    /// A record that is to begin at `offset`, and its local header. `None` for one that PyTorch
    /// drops.
    fn prepare(
        &self,
        name: &str,
        len: u64,
        deflated: Option<u64>,
        offset: u64,
    ) -> Result<Option<(Written, Vec<u8>)>, Error> {
        let compressed_size = deflated.unwrap_or(len);
        if self.contains(name) {
            let message = format!("Tried to serialize file twice: {name}");
            return Err(Error::new(ErrorKind::Caller, message));
        }
        if name == ID_RECORD && self.options.layout.has_serialization_id() {
            return Ok(None);
        }
        let refuse = |note: String| {
            let message =
                format!("PytorchStreamWriter failed writing file {name}: invalid parameter");
            Error::new(ErrorKind::Caller, message).with_note(note)
        };
        let full = format!("{}/{name}", self.folder);
        if full.contains('\0') {
            return Err(refuse("a record's name cannot hold a NUL".to_owned()));
        }
        if full.ends_with('/') && len > 0 {
            return Err(refuse("a record with a folder's name cannot hold data".to_owned()));
        }
        if full.len() > usize::from(u16::MAX) {
            return Err(refuse(format!("a name of {} bytes is too long", full.len())));
        }
        if len < headers::FULL && compressed_size >= headers::FULL {
            return Err(refuse("it grows past 4 GiB when it is compressed".to_owned()));
        }
        let written = Written {
            name: full,
            size: len,
            compressed_size,
            deflated: deflated.is_some(),
            crc32: 0,
            offset,
        };
        let Some(local) = written.header().local(self.options.alignment) else {
            return Err(refuse(format!(
                "padding to a multiple of {} bytes does not fit the header",
                self.options.alignment
            )));
        };
        Ok(Some((written, local)))
    }

    /// Writes what is missing of the records that describe the archive (version, byte order and
    /// serialization id, in that order, as the [`Layout`] has them) and the directory, flushes,
    /// and gives the writer back.
    ///
    /// # Errors
    /// When writing fails, or a record was begun and not finished.
    pub fn finish(mut self) -> Result<W, Error> {
        self.check_closed()?;
        let layout = self.options.layout;
        if !self.contains(".data/version") && !self.contains("version") {
            let version = self.options.min_version;
            let record = if version >= DATA_VERSION { ".data/version" } else { "version" };
            self.write_record(record, format!("{version}\n").as_bytes())?;
        }
        if layout.has_byte_order() && !self.contains("byteorder") {
            self.write_record("byteorder", self.options.byte_order.name().as_bytes())?;
        }
        if layout.has_serialization_id() {
            self.write_id()?;
        }
        let offset = self.position();
        let failed = |at, cause| Error::io("the directory could not be written", cause).at(at);
        for record in &self.records {
            let entry = record.header().central();
            self.output.write(&entry).map_err(|cause| failed(offset, cause))?;
        }
        let size = self.position() - offset;
        let ends = headers::ends(self.records.len() as u64, size, offset);
        self.output.write(&ends).map_err(|cause| failed(offset + size, cause))?;
        let position = self.position();
        self.output.finish().map_err(|cause| failed(position, cause))
    }

    fn write_id(&mut self) -> Result<(), Error> {
        let mut names = NameSet::default();
        for index in 0..self.records.len() as u32 {
            names.insert_new(self.record_name(index));
        }
        let id = serialization_id(&names, self.checksums.iter().copied());
        // `record` drops what callers pass under this name, so the layout is set aside.
        let layout = std::mem::replace(&mut self.options.layout, Layout::Torch1_6);
        let written = self.write_record(ID_RECORD, id.as_bytes());
        self.options.layout = layout;
        written
    }

    fn check_closed(&self) -> Result<(), Error> {
        if self.open {
            let message = "the archive cannot be continued: a record was begun and not finished";
            return Err(Error::new(ErrorKind::Caller, message).at(self.position()));
        }
        Ok(())
    }

    /// Enters a record whose last byte is written.
    fn enter(&mut self, written: Written, sniffed: Option<u32>) {
        self.checksums.extend(sniffed);
        if written.size > 0 {
            self.checksums.push(written.crc32);
        }
        let index = self.records.len() as u32;
        self.records.push(written);
        let name_of = |index: u32| record_name(&self.records, &self.folder, index);
        let (hasher, name) = (&self.hasher, name_of(index));
        self.index
            .insert_unique(hasher.hash_one(name), index, |&other| hasher.hash_one(name_of(other)));
        self.open = false;
    }

    fn record_name(&self, index: u32) -> &str {
        record_name(&self.records, &self.folder, index)
    }
}

impl<W> fmt::Debug for ArchiveWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveWriter")
            .field("folder", &self.folder)
            .field("options", &self.options)
            .field("records", &self.records.len())
            .finish_non_exhaustive()
    }
}

/// A record's name without the folder.
fn record_name<'a>(records: &'a [Written], folder: &str, index: u32) -> &'a str {
    &records[index as usize].name[folder.len() + 1..]
}

fn failed(name: &str, offset: u64, cause: io::Error) -> Error {
    Error::io(format!("PytorchStreamWriter failed writing file {name}"), cause).at(offset)
}

/// Whether the reader has a byte left.
fn read_one(reader: &mut impl Read) -> io::Result<bool> {
    loop {
        match reader.read(&mut [0]) {
            Ok(count) => return Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
