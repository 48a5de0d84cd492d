//! The writing half: an object graph back to the file that `torch.save` would write for it.
//!
//! [`lower`] turns objects into the values that pickling them in Python would name, tensors by
//! [`reduce`] and numpy's values by [`numpy`]; `sconce_pickle::encode` gives CPython's bytes for
//! those, and `sconce_archive::ArchiveWriter` PyTorch's archive around them, or [`legacy`] the
//! stream that was there before archives.

mod clash;
mod legacy;
mod lower;
mod numpy;
mod reduce;

use std::io::{BufWriter, Write};
use std::path::Path;

pub use sconce_archive::Layout as ArchiveLayout;
use sconce_archive::{ArchiveWriter, ByteOrder, WriterOptions, archive_name};
use sconce_pickle::{EncodeError, EncodeOptions};
use sconce_source::{AtomicFile, Bytes};
use sconce_tensor::Storage;

use self::lower::{Form, Lowered, Saved};
use crate::{Error, ErrorKind, Object};

/// The folder of an archive that is written to no file of its own.
const UNNAMED: &str = "archive";

/// How `torch.save` would be called: its arguments, and the options of
/// `torch.utils.serialization.config.save`.
///
/// ```
/// use sconce_checkpoint::{Checkpoint, SaveOptions};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// let checkpoint = Checkpoint::open(path)?;
/// let weights = checkpoint.root().get("state_dict").expect("a training checkpoint");
/// let bytes = SaveOptions::new().save_to(weights, Vec::new())?;
/// assert!(bytes.starts_with(b"PK"));
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SaveOptions {
    protocol: u8,
    replace: bool,
    alignment: u64,
    compute_crc32: bool,
    legacy: bool,
    layout: ArchiveLayout,
    byte_order_record: bool,
    skip_data: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        SaveOptions {
            protocol: 2,
            replace: false,
            alignment: 64,
            compute_crc32: true,
            legacy: false,
            layout: ArchiveLayout::Current,
            byte_order_record: true,
            skip_data: false,
        }
    }
}

impl SaveOptions {
    /// What `torch.save(obj, path)` does, except that a file that is there is not replaced.
    pub fn new() -> Self {
        SaveOptions::default()
    }

    /// `pickle_protocol` of `torch.save`, 2 to 5.
    pub fn protocol(mut self, protocol: u8) -> Self {
        self.protocol = protocol;
        self
    }

    /// Whether a file that is there is replaced, in one step, when the new one is complete.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// `torch.utils.serialization.config.save.storage_alignment`, in bytes.
    pub fn storage_alignment(mut self, bytes: u64) -> Self {
        self.alignment = bytes;
        self
    }

    /// `torch.utils.serialization.config.save.compute_crc32`.
    pub fn compute_crc32(mut self, compute: bool) -> Self {
        self.compute_crc32 = compute;
        self
    }

    /// Writes the stream of pickles and raw data that PyTorch wrote before 1.6
    /// (`_use_new_zipfile_serialization=False`) and every PyTorch reads; alignment, checksums and
    /// layout are of no concern then.
    ///
    /// It is what PyTorch 2.15 writes for the object, but for this: PyTorch's keys of storages are
    /// addresses in its memory. Here they are `0`, `1`, … by first appearance in the pickle, as in
    /// zip checkpoints. As there, the data lies in the order of the keys, sorted as text. And the
    /// source of a module's class, which PyTorch asks its own process for, is written where the
    /// checkpoint that the object comes from has it.
    pub fn legacy(mut self, legacy: bool) -> Self {
        self.legacy = legacy;
        self
    }

    /// Writes the records of another PyTorch's archives, in its order. Pickles stay as PyTorch 2.15
    /// has them.
    pub fn layout(mut self, layout: ArchiveLayout) -> Self {
        self.layout = layout;
        self
    }

    /// `_disable_byteorder_record` of `torch.save`: the `byteorder` record is then not written before
    /// the data, but still, as PyTorch does, at the archive's end where the layout has one.
    pub fn disable_byteorder_record(mut self, disable: bool) -> Self {
        self.byte_order_record = !disable;
        self
    }

    /// `torch.serialization.skip_data`: the archive has room for every storage and nothing in it.
    /// [`SaveOptions::save`] leaves holes in the file; other writers get zeros.
    ///
    /// Works for objects that were themselves loaded without data.
    pub fn skip_data(mut self, skip: bool) -> Self {
        self.skip_data = skip;
        self
    }

    /// Writes a checkpoint to a file: what `torch.save(obj, path)` writes, byte for byte. The
    /// file appears whole or not at all.
    ///
    /// # Errors
    /// When the object cannot be pickled, a tensor's data cannot be read, or the file cannot be
    /// written; then no file is left.
    pub fn save(&self, object: Object<'_>, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let folder = self.folder(path)?;
        let lowered = self.lower(object)?;
        let file = match self.replace {
            true => AtomicFile::replace(path)?,
            false => AtomicFile::create(path)?,
        };
        let written = |error: std::io::Error| {
            Error::new(ErrorKind::Io, error.to_string()).in_file(&path.to_string_lossy())
        };
        let out = BufWriter::with_capacity(1 << 20, file);
        let mut out = match self.legacy {
            true => legacy::write(out, &lowered, &self.encoding())?,
            false => {
                self.archive(&lowered, ArchiveWriter::with_holes(out, folder, self.zip_options())?)?
            }
        };
        out.flush().map_err(written)?;
        out.into_inner().map_err(|error| written(error.into_error()))?.commit()?;
        Ok(())
    }

    /// Writes a checkpoint to any writer: what `torch.save(obj, buffer)` writes.
    ///
    /// # Errors
    /// As [`SaveOptions::save`]; what was written so far stays written.
    pub fn save_to<W: Write>(&self, object: Object<'_>, writer: W) -> Result<W, Error> {
        self.write(object, writer, UNNAMED)
    }

    /// Writes to any writer what `torch.save(obj, path)` writes to a file of that name. Nothing is
    /// created at `path`.
    ///
    /// # Errors
    /// As [`SaveOptions::save_to`], and when an archive cannot be named after `path`.
    pub fn save_as<W: Write>(
        &self,
        object: Object<'_>,
        writer: W,
        path: impl AsRef<Path>,
    ) -> Result<W, Error> {
        self.write(object, writer, &self.folder(path.as_ref())?)
    }

    fn write<W: Write>(&self, object: Object<'_>, writer: W, folder: &str) -> Result<W, Error> {
        let lowered = self.lower(object)?;
        match self.legacy {
            true => legacy::write(writer, &lowered, &self.encoding()),
            false => {
                self.archive(&lowered, ArchiveWriter::new(writer, folder, self.zip_options())?)
            }
        }
    }

    /// The folder in an archive at `path`.
    fn folder(&self, path: &Path) -> Result<String, Error> {
        match self.legacy {
            true => Ok(String::new()),
            false => Ok(archive_name(path)?),
        }
    }

    fn lower<'c>(&self, object: Object<'c>) -> Result<Lowered<'c>, Error> {
        if !(2..=5).contains(&self.protocol) {
            let message = format!("pickle protocol {} is not one of 2 to 5", self.protocol);
            return Err(Error::new(ErrorKind::Caller, message));
        }
        if self.legacy && self.skip_data {
            let message = "Cannot use skip_data=True with _use_new_zipfile_serialization=False";
            return Err(Error::new(ErrorKind::Caller, message));
        }
        let SaveOptions { legacy, skip_data, protocol, .. } = *self;
        lower::lower(object, Form { legacy, skip_data, protocol })
    }

    fn encoding(&self) -> EncodeOptions {
        EncodeOptions::default().with_protocol(self.protocol)
    }

    fn zip_options(&self) -> WriterOptions {
        WriterOptions::new()
            .alignment(self.alignment)
            .crc(self.compute_crc32)
            .layout(self.layout)
            .byte_order(ByteOrder::Little)
    }

    fn archive<W: Write>(
        &self,
        lowered: &Lowered<'_>,
        mut archive: ArchiveWriter<W>,
    ) -> Result<W, Error> {
        let pickle = sconce_pickle::encode(&lowered.arena, lowered.root, &self.encoding())
            .map_err(unencodable)?;
        archive.write_record("data.pkl", &pickle)?;
        if self.layout.has_storage_alignment() {
            archive.write_record(".format_version", b"1")?;
            archive.write_record(".storage_alignment", self.alignment.to_string().as_bytes())?;
        }
        if self.layout.has_byte_order() && self.byte_order_record {
            archive.write_record("byteorder", ByteOrder::Little.name().as_bytes())?;
        }
        let mut keys: Vec<(String, &Saved)> = lowered
            .storages
            .iter()
            .enumerate()
            .map(|(at, saved)| (at.to_string(), saved))
            .collect();
        if !self.layout.has_storage_alignment() {
            // Earlier PyTorch sorted its keys as text.
            keys.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        }
        for (key, Saved { storage, .. }) in keys {
            let name = format!("data/{key}");
            match self.skip_data {
                true => archive.write_hole(&name, storage.nbytes())?,
                false => archive.write_record(&name, &data(storage, &key)?)?,
            }
        }
        Ok(archive.finish()?)
    }
}

/// Says the encoder's complaint.
fn unencodable(error: EncodeError) -> Error {
    let kind = match error {
        EncodeError::Io(_) => ErrorKind::Io,
        _ => ErrorKind::Unsupported,
    };
    Error::new(kind, error.to_string())
}

/// A storage's bytes, which are little-endian on the machines that sconce runs on. What has to be
/// made for it is gone after it is written: a file can be larger than the memory.
fn data(storage: &Storage, key: &str) -> Result<Bytes, Error> {
    storage.bytes_once().map_err(|error| {
        let message = format!("the data of storage {key} cannot be read: {error}");
        Error::new(ErrorKind::Malformed, message)
    })
}
