//! The zip archive that torch.save has written since 1.6, and TorchScript archives as data.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_archive::{Archive, Entry};
use sconce_pickle::{Arena, Value};
use sconce_source::Source;
use sconce_tensor::{ByteOrder, Device, Storage, Tensor};

use super::record::Record;
use super::{
    Parts, SharedArchive, StorageId, build, finish, map_device, restore, storage_id, unpickle,
};
use crate::identify::FileKind;
use crate::info::{Info, StorageRecord};
use crate::observe::PicklePlace;
use crate::options::{LoadOptions, Policy};
use crate::rebuild::{Builder, Persistent, PersistentLoad, TypedStorage};
use crate::records::Records;
use crate::weights_only::UNSAFE_MESSAGE;
use crate::{Error, ErrorKind};

const PICKLE: &str = "data.pkl";
/// As much of a record such as `.format_version` is kept. Good ones have at most 40 bytes.
const LONGEST_TEXT: usize = 1000;

pub(super) fn open(source: &Source, options: &LoadOptions, kind: FileKind) -> Result<Parts, Error> {
    let archive = Arc::new(Archive::open(source.clone(), &options.limits)?);
    if let Some(observer) = &options.observer {
        observer.archive(&archive);
    }
    let version = archive.version()?;
    if kind == FileKind::TorchScript {
        if options.policy == Policy::WeightsOnly {
            let message = format!(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to \
                 ``torch.load``. {UNSAFE_MESSAGE}"
            );
            return Err(Error::new(ErrorKind::Refused, message));
        }
        if !archive.contains(PICKLE) {
            let message = "the objects of TorchScript archives of PyTorch 1.3 and older are made \
                           by their program, and there is no data.pkl to read";
            return Err(Error::new(ErrorKind::Unsupported, message).with_help(
                "sconce resave FILE NEW.pt    writes it in today's layout; sconce code FILE    \
                 shows the program",
            ));
        }
    }
    let byte_order = byte_order(&archive, options)?;
    let (bytes, stored) = archive.read_to_parse(PICKLE)?;
    let mut warnings = Vec::new();
    check_alignment(&archive, options, &mut warnings)?;
    check_crc(&archive, &bytes, &mut warnings);
    let record = format!("{}/{PICKLE}", archive.folder());
    let in_pickle = |error: Error| error.in_record(&record);
    let place = PicklePlace::alone(&record, stored);
    let loaded = unpickle(&bytes, place, options, &mut warnings).map_err(in_pickle)?;
    let mut storages = Storages {
        archive: &archive,
        options,
        byte_order: byte_order.unwrap_or(ByteOrder::Little),
        by_entry: vec![None; archive.records().len()],
        without_record: HashMap::new(),
        records: Vec::new(),
        name: String::from(PREFIX),
        prefix: PREFIX.len(),
        hint: 0,
    };
    let built = build(&loaded, stored, &mut storages, options).map_err(in_pickle)?;
    let records = storages.records;
    let text = |name: &str| {
        let (bytes, _) = archive.read_to_parse(name).ok()?;
        let bytes = &bytes[..bytes.len().min(LONGEST_TEXT)];
        Some(String::from_utf8_lossy(bytes).trim_end().to_owned())
    };
    let info = Info {
        archive_folder: Some(archive.folder().into_owned()),
        records: archive.records().len(),
        version: Some(version.number),
        byte_order,
        format_version: text(".format_version"),
        storage_alignment: text(".storage_alignment"),
        serialization_id: text(".data/serialization_id"),
        ..Info::default()
    };
    let mut parts = finish(kind, built, info, &loaded, &record, warnings);
    parts.storages = records;
    Ok(parts)
}

/// PyTorch ignores checksums; a pickle whose checksum is wrong is still worth a warning.
fn check_crc(archive: &Archive, bytes: &[u8], warnings: &mut Vec<String>) {
    let declared = archive.find(PICKLE).map_or(0, Entry::crc32);
    let found = crc32fast::hash(bytes);
    if declared != 0 && declared != found {
        warnings.push(format!(
            "{PICKLE} has checksum {found:08x} but {declared:08x} is declared: the file was changed \
             or damaged after it was written"
        ));
    }
}

/// The alignment is of no use to a reader that has the directory, but PyTorch parses it.
fn check_alignment(
    archive: &Archive,
    options: &LoadOptions,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    const RECORD: &str = ".storage_alignment";
    if !archive.contains(RECORD) {
        return Ok(());
    }
    let (bytes, _) = archive.read_to_parse(RECORD)?;
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().parse::<i64>().is_ok() {
        return Ok(());
    }
    let shown: String = text.chars().take(40).collect();
    let message = format!("invalid literal for int() with base 10: '{}'", shown.escape_debug());
    if options.policy == Policy::WeightsOnly {
        return Err(Error::new(ErrorKind::Malformed, message).in_record(RECORD));
    }
    warnings.push(format!("{RECORD}: {message}"));
    Ok(())
}

fn byte_order(archive: &Archive, options: &LoadOptions) -> Result<Option<ByteOrder>, Error> {
    if !archive.contains("byteorder") {
        return Ok(options.default_byte_order);
    }
    let (bytes, _) = archive.read_to_parse("byteorder")?;
    match &bytes[..] {
        b"little" => Ok(Some(ByteOrder::Little)),
        b"big" => Ok(Some(ByteOrder::Big)),
        other => {
            let shown: String = String::from_utf8_lossy(other).chars().take(40).collect();
            let message = format!("Unknown endianness type: {}", shown.escape_debug());
            Err(Error::new(ErrorKind::Malformed, message).in_record("byteorder"))
        }
    }
}

/// The tensors of a pickle whose storages are records of an archive, by the values that stand for
/// them. Reads no tensor data.
///
/// A TorchScript archive has several such pickles: `data.pkl` with its storages under `data/`,
/// `constants.pkl` with `constants/`. The length of the pickle, and the bytes that it takes in the file
/// (`stored`), bound what may be allocated.
///
/// # Errors
/// When a tensor's arguments or its storage's record are not what they must be.
pub fn pickled_tensors(
    archive: &Arc<Archive>,
    arena: &Arena<'_>,
    prefix: &str,
    pickle_len: usize,
    stored: u64,
    options: &LoadOptions,
) -> Result<FxHashMap<Value, Tensor>, Error> {
    let mut storages = Storages {
        archive,
        options,
        byte_order: ByteOrder::Little,
        by_entry: vec![None; archive.records().len()],
        without_record: HashMap::new(),
        records: Vec::new(),
        name: String::from(prefix),
        prefix: prefix.len(),
        hint: 0,
    };
    let options = super::build_options(options, pickle_len, stored);
    Builder::new(arena, &mut storages, options).build_tensors()
}

struct Storages<'o> {
    archive: &'o SharedArchive,
    options: &'o LoadOptions,
    byte_order: ByteOrder,
    /// For each record of the archive, the storage it was found to be.
    by_entry: Vec<Option<u32>>,
    /// Empty storages that have no record, by key.
    without_record: HashMap<String, Storage>,
    records: Vec<StorageRecord>,
    /// Scratch for record names: a prefix (`data/`) and a key.
    name: String,
    /// The prefix's length.
    prefix: usize,
    /// The record that will probably be asked for next.
    hint: usize,
}

const PREFIX: &str = "data/";

impl Storages<'_> {
    /// A storage that the archive has no record for: fine if it is empty.
    fn without_record(&mut self, id: &StorageId<'_>) -> Result<Storage, Error> {
        if id.nbytes > 0 {
            let name = &self.name;
            let message =
                format!("PytorchStreamReader failed locating file {name}: file not found");
            return Err(Error::new(ErrorKind::Malformed, message)
                .in_record(name)
                .with_note(format!("the pickle needs {} bytes from it", id.nbytes)));
        }
        if let Some(known) = self.without_record.get(&*id.key) {
            return Ok(known.clone());
        }
        let empty = Storage::from_bytes(Vec::new().into(), Device::CPU);
        let storage = restore(empty, &id.location, self.options)?;
        self.without_record.insert(id.key.to_string(), storage.clone());
        Ok(storage)
    }
}

impl PersistentLoad for Storages<'_> {
    fn load(&mut self, arena: &Arena<'_>, pid: Value) -> Result<Persistent, Error> {
        let id = storage_id(arena, pid)?;
        let typed =
            |storage: Storage| Persistent::Storage(TypedStorage { storage, dtype: id.dtype });
        self.name.truncate(self.prefix);
        self.name.push_str(&id.key);
        let Some(entry) = self.archive.find_next(&mut self.hint, &self.name) else {
            return self.without_record(&id).map(typed);
        };
        if let Some(at) = self.by_entry[entry.index()] {
            let record = &self.records[at as usize];
            if record.dtype == id.dtype || record.nbytes == id.nbytes {
                return Ok(typed(record.storage.clone()));
            }
        }
        let meta = id.location == "meta" || self.options.skip_data || self.options.is_meta();
        let name = || self.archive.display_name(entry).into_owned();
        // A meta tensor's record is empty in TorchScript archives.
        if entry.size() != id.nbytes && !(id.location == "meta" && entry.size() == 0) {
            let message = format!(
                "record size ({} bytes) does not match expected size ({} bytes = {} elements * {} \
                 bytes/element) for dtype {}",
                entry.size(),
                id.nbytes,
                id.numel,
                id.item_size(),
                id.dtype.map_or("Byte", |dtype| dtype.scalar_type_name()),
            );
            return Err(Error::new(ErrorKind::Malformed, message).in_record(&name()));
        }
        self.archive.directory().check_readable(entry)?;
        let storage = if meta {
            Storage::meta(id.nbytes)
        } else {
            let records = Records::Folder(Arc::clone(self.archive));
            let record = Record { records, index: entry.index() };
            Storage::lazy_with_byte_order(
                id.nbytes,
                self.byte_order,
                id.word(),
                Device::CPU,
                Box::new(record),
            )
        };
        let storage = restore(storage, &id.location, self.options)?;
        let at = self.records.len() as u32;
        self.records.push(StorageRecord {
            key: id.key.as_ref().into(),
            nbytes: id.nbytes,
            dtype: id.dtype,
            storage: storage.clone(),
            place: crate::info::Place::Record {
                records: Records::Folder(Arc::clone(self.archive)),
                index: entry.index(),
            },
        });
        self.by_entry[entry.index()].get_or_insert(at);
        Ok(typed(storage))
    }

    fn map_device(&self, device: Device) -> Result<Device, Error> {
        map_device(device, self.options)
    }
}
