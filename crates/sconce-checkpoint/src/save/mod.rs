//! The writing half: an object graph back to the file that `torch.save` would write for it.
//!
//! [`lower`] turns objects into the values that pickling them in Python would name, tensors by
//! [`reduce`]; `sconce_pickle::encode` gives CPython's bytes for those, and
//! `sconce_archive::ArchiveWriter` PyTorch's archive around them.

mod lower;
mod reduce;

use std::io::{BufWriter, Write};
use std::path::Path;

use sconce_archive::{ArchiveWriter, WriterOptions, archive_name};
use sconce_pickle::EncodeOptions;
use sconce_source::{AtomicFile, Bytes};
use sconce_tensor::Storage;

use crate::{Error, ErrorKind, Object};

/// The folder of an archive that is written to no file of its own.
const UNNAMED: &str = "archive";

/// How `torch.save` would be called: its arguments, and the options of
/// `torch.utils.serialization.config.save`.
///
/// ```no_run
/// use sconce_checkpoint::{Checkpoint, SaveOptions};
///
/// let checkpoint = Checkpoint::open("training.ckpt")?;
/// let weights = checkpoint.root().get("state_dict").expect("a training checkpoint");
/// SaveOptions::new().save(weights, "weights.pt")?;
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SaveOptions {
    protocol: u8,
    replace: bool,
    alignment: u64,
    compute_crc32: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        SaveOptions { protocol: 2, replace: false, alignment: 64, compute_crc32: true }
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

    /// Writes a zip checkpoint to a file: what `torch.save(obj, path)` writes, byte for byte. The
    /// file appears whole or not at all.
    ///
    /// # Errors
    /// When the object cannot be pickled, a tensor's data cannot be read, or the file cannot be
    /// written; then no file is left.
    pub fn save(&self, object: Object<'_>, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let folder = archive_name(path)?;
        let file = match self.replace {
            true => AtomicFile::replace(path)?,
            false => AtomicFile::create(path)?,
        };
        let written = |error: std::io::Error| {
            Error::new(ErrorKind::Io, error.to_string()).in_file(&path.to_string_lossy())
        };
        let out = BufWriter::with_capacity(1 << 20, file);
        let mut out = self.write(object, out, &folder)?;
        out.flush().map_err(written)?;
        out.into_inner().map_err(|error| written(error.into_error()))?.commit()?;
        Ok(())
    }

    /// Writes a zip checkpoint to any writer: what `torch.save(obj, buffer)` writes.
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
        self.write(object, writer, &archive_name(path)?)
    }

    fn write<W: Write>(&self, object: Object<'_>, writer: W, folder: &str) -> Result<W, Error> {
        if !(2..=5).contains(&self.protocol) {
            let message = format!("pickle protocol {} is not one of 2 to 5", self.protocol);
            return Err(Error::new(ErrorKind::Caller, message));
        }
        let lowered = lower::lower(object)?;
        let options = EncodeOptions::default().with_protocol(self.protocol);
        let pickle = sconce_pickle::encode(&lowered.arena, lowered.root, &options)
            .map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))?;
        let options = WriterOptions::new().alignment(self.alignment).crc(self.compute_crc32);
        let mut archive = ArchiveWriter::new(writer, folder, options)?;
        archive.write_record("data.pkl", &pickle)?;
        archive.write_record(".format_version", b"1")?;
        archive.write_record(".storage_alignment", self.alignment.to_string().as_bytes())?;
        archive.write_record("byteorder", b"little")?;
        for (key, storage) in lowered.storages.iter().enumerate() {
            archive.write_record(&format!("data/{key}"), &data(storage, key)?)?;
        }
        Ok(archive.finish()?)
    }
}

/// A storage's bytes, which are little-endian on the machines that sconce runs on. What has to be
/// made for it is gone after it is written: a file can be larger than the memory.
fn data(storage: &Storage, key: usize) -> Result<Bytes, Error> {
    storage.bytes_once().map_err(|error| {
        let message = format!("the data of storage {key} cannot be read: {error}");
        Error::new(ErrorKind::Malformed, message)
    })
}
