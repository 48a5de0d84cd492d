//! The writing half: an object graph back to the file that `torch.save` would write for it.
//!
//! [`lower`] turns objects into the values that pickling them in Python would name, tensors by
//! [`reduce`] and numpy's values by [`numpy`]; `sconce_pickle::encode` gives CPython's bytes for
//! those, and `sconce_archive::ArchiveWriter` PyTorch's archive around them, or [`legacy`] the
//! stream that was there before archives.

mod clash;
mod legacy;
mod lower;
mod module_source;
mod numpy;
mod progress;
mod reduce;
mod small;

use std::io::{BufWriter, IntoInnerError, Write};
use std::path::Path;

pub use sconce_archive::Layout as ArchiveLayout;
use sconce_archive::{ArchiveWriter, ByteOrder as RecordedOrder, WriterOptions, archive_name};
use sconce_pickle::{EncodeError, EncodeOptions};
use sconce_source::{AtomicFile, Bytes, StreamReader};
use sconce_tensor::{ByteOrder, DType, LazyError, Storage};

use self::lower::{Form, Lowered, Saved};
use self::progress::{Listener, Progress};
use self::small::Small;
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
    byte_order: ByteOrder,
    byte_order_record: bool,
    skip_data: bool,
    listener: Option<Listener>,
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
            byte_order: ByteOrder::Little,
            byte_order_record: true,
            skip_data: false,
            listener: None,
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

    /// `torch.utils.serialization.config.save.compute_crc32`. Where checksums are computed, data that
    /// is copied as it is from an archive whose checksum it does not have is an error.
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

    /// The order of the bytes in every element, as the record `byteorder` says it: what `torch.save`
    /// writes on a machine of that order. Little-endian without being asked, whatever machine this is.
    ///
    /// PyTorch swaps the elements of what a machine of the other order wrote, all but those of dtypes
    /// without a storage class of their own (`uint16`, `uint32`, `uint64` and `complex32`): such
    /// tensors are refused in big-endian files, and so are files without the record. The stream of old is
    /// little-endian on every machine.
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.byte_order = order;
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

    /// Has `tell` called while tensor data is written, with the bytes written so far and the bytes
    /// there are in all. Large tensors are told of in parts; nothing is told with
    /// [`SaveOptions::skip_data`]. What comes last, a file's way to the disk, is not counted.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use sconce_checkpoint::{SaveOptions, StateDict};
    /// use sconce_tensor::Tensor;
    ///
    /// let mut state = StateDict::new();
    /// state.insert("weight", Tensor::from_vec(vec![1f32, 2.0], &[2])?);
    /// let done = Arc::new(AtomicU64::new(0));
    /// let seen = Arc::clone(&done);
    /// SaveOptions::new()
    ///     .on_progress(move |bytes, total| seen.store(100 * bytes / total, Ordering::Relaxed))
    ///     .save_to(state.finish().root(), Vec::new())?;
    /// assert_eq!(done.load(Ordering::Relaxed), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_progress(mut self, tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.listener = Some(Listener::new(tell));
        self
    }

    /// Writes a checkpoint to a file: what `torch.save(obj, path)` writes, byte for byte. The
    /// file appears whole or not at all. As with `torch.save`, the system may keep a new file in memory
    /// for a while after this returns; one that replaces another is on the disk before it does so, so
    /// that a crash leaves one of the two.
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
        if !self.skip_data {
            file.expect_len(lowered.data_len());
        }
        let unwritable = |error: Error| match error.kind() {
            ErrorKind::Io => error.in_file(&path.to_string_lossy()),
            _ => error,
        };
        let written = match self.legacy {
            true => {
                let out = BufWriter::with_capacity(1 << 20, file);
                let progress = self.progress(&lowered);
                legacy::write(out, &lowered, &self.encoding(), progress).and_then(|out| {
                    let unflushed = |error: IntoInnerError<_>| {
                        Error::new(ErrorKind::Io, error.into_error().to_string())
                    };
                    out.into_inner().map_err(unflushed)
                })
            }
            false => ArchiveWriter::with_holes(file, folder, self.zip_options())
                .map_err(Error::from)
                .and_then(|archive| self.archive(&lowered, archive)),
        };
        Ok(written.map_err(unwritable)?.commit_new_unsynced()?)
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
            true => legacy::write(writer, &lowered, &self.encoding(), self.progress(&lowered)),
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
        let swapped = self.byte_order == ByteOrder::Big;
        if swapped && (legacy || !self.layout.has_byte_order()) {
            let message = "a file without a byteorder record cannot be big-endian";
            return Err(Error::new(ErrorKind::Caller, message).with_note(
                "PyTorch takes such archives, and every legacy stream, as little-endian",
            ));
        }
        lower::lower(object, Form { legacy, skip_data, swapped, protocol })
    }

    fn encoding(&self) -> EncodeOptions {
        EncodeOptions::default().with_protocol(self.protocol)
    }

    fn progress(&self, lowered: &Lowered<'_>) -> Progress<'_> {
        Progress::new(self.listener.as_ref(), lowered)
    }

    fn zip_options(&self) -> WriterOptions {
        WriterOptions::new()
            .alignment(self.alignment)
            .crc(self.compute_crc32)
            .layout(self.layout)
            .byte_order(match self.byte_order {
                ByteOrder::Little => RecordedOrder::Little,
                ByteOrder::Big => RecordedOrder::Big,
            })
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
            archive.write_record("byteorder", self.byte_order.name().as_bytes())?;
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
        let (mut reader, mut progress) = (StreamReader::new(), self.progress(lowered));
        let mut small = Small::default();
        for (key, Saved { storage, dtype }) in keys {
            let name = format!("data/{key}");
            if self.skip_data {
                archive.write_hole(&name, storage.nbytes())?;
                continue;
            }
            let bytes = data(storage, &key, *dtype, self.byte_order)?;
            let checked = (self.byte_order == ByteOrder::native()).then_some(storage);
            if Small::takes(&bytes) {
                small.push(name, bytes, checked);
                if small.is_full() {
                    small.write(&mut archive, &mut progress)?;
                }
                continue;
            }
            small.write(&mut archive, &mut progress)?;
            let mut record = archive.record(&name, bytes.len() as u64)?;
            reader.parts(bytes.source(), &bytes, |part| {
                record.put(part)?;
                progress.advance(part.len());
                Ok::<(), Error>(())
            })?;
            if let (Some(crc32), Some(storage)) = (record.computed_crc32(), checked) {
                storage.check_crc32(crc32).map_err(damaged)?;
            }
            record.finish()?;
        }
        small.write(&mut archive, &mut progress)?;
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

/// Damaged data does not get a new checksum that would call it whole.
fn damaged(error: LazyError) -> Error {
    Error::new(ErrorKind::Malformed, error.to_string()).with_help(
        "sconce verify FILE lists all that is damaged; without checksums (--no-crc) it is written as \
         it is",
    )
}

/// A storage's bytes in the order of a file. What has to be made for it is gone after it is written:
/// a file can be larger than the memory.
fn data(storage: &Storage, key: &str, dtype: DType, order: ByteOrder) -> Result<Bytes, Error> {
    let unreadable = |error: sconce_tensor::Error| {
        let message = format!("the data of storage {key} cannot be read: {error}");
        Error::new(ErrorKind::Malformed, message)
    };
    let bytes = storage.bytes_once().map_err(unreadable)?;
    // Swapping is its own inverse: what reads the other order also writes it.
    let word = dtype.swap_size();
    let swapped = Storage::with_byte_order(bytes, order, word, storage.device().clone());
    swapped.bytes_once().map_err(unreadable)
}
