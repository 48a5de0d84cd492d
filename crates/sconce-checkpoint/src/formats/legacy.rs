//! The stream of pickles and raw storages that torch.save wrote from 0.1.10 to 1.5.

use std::collections::HashMap;
use std::ops::Range;

use num_bigint::BigInt;
use sconce_pickle::{Arena, Loaded, Node as PickleNode, Value};
use sconce_source::{Bytes, Source};
use sconce_tensor::{ByteOrder, Device, LazyError, Storage};

use super::{
    Parts, StorageId, beginning, finish, map_device, pid_kind, restore, storage_id, stored, text,
    unpickle,
};
use crate::error::CUT_SHORT;
use crate::globals::{Globals, globals_of};
use crate::identify::FileKind;
use crate::info::{Info, Place, StorageRecord};
use crate::observe::PicklePlace;
use crate::options::LoadOptions;
use crate::rebuild::{BuildOptions, Builder, Persistent, PersistentLoad, TypedStorage};
use crate::{Error, ErrorKind};

/// The number that begins every such file.
pub(crate) const MAGIC: u128 = 0x1950_a86a_20f9_469c_fc6c;
/// Pickles before the first storage.
const PICKLES: usize = 5;
/// Bytes of the count of elements before each storage.
const COUNT: u64 = 8;
/// What follows the magic number.
pub(crate) const PROTOCOL_VERSION: i64 = 1001;

pub(super) fn open(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
    let head = beginning(source, PICKLES, options)?;
    let far = source.in_memory().is_none().then_some(source);
    let (parts, _) = read_nested(&head, far, options, None)?;
    Ok(parts)
}

/// The storage that a legacy stream held inside another pickle consists of.
pub(crate) fn storage_from_bytes(
    bytes: Vec<u8>,
    build: BuildOptions,
) -> Result<TypedStorage, Error> {
    let options = LoadOptions {
        encoding: build.encoding,
        limits: build.limits.clone(),
        ..LoadOptions::default()
    };
    let whole = Bytes::from(bytes);
    let (parts, _) = read_nested(&whole, None, &options, Some(build))?;
    match parts.graph.node(parts.root) {
        crate::Node::Storage(found) => {
            Ok(TypedStorage { storage: found.storage.clone(), dtype: Some(found.dtype) })
        }
        _ => {
            let message =
                "torch.storage._load_from_bytes was given something that is not a storage";
            Err(Error::new(ErrorKind::Malformed, message))
        }
    }
}

/// `far` is where the file goes on that `whole` is only the beginning of. `outer` is there when the stream is
/// held inside another pickle.
fn read_nested(
    whole: &Bytes,
    far: Option<&Source>,
    options: &LoadOptions,
    outer: Option<BuildOptions>,
) -> Result<(Parts, u64), Error> {
    let mut stream = Stream { whole, far, at: 0, options, warnings: Vec::new() };
    let (magic, _) = stream.pickle("magic number")?;
    let is_magic = match magic.arena.node(magic.root) {
        PickleNode::BigInt(number) => **number == BigInt::from(MAGIC),
        _ => false,
    };
    if !is_magic {
        let message = "Invalid magic number; corrupt file?";
        return Err(Error::new(ErrorKind::Malformed, message).at(0));
    }
    let mut globals = Globals::default();
    globals.add(globals_of(&magic.arena, "magic number"), 0);
    let (version, at) = stream.pickle("protocol version")?;
    globals.add(globals_of(&version.arena, "protocol version"), at);
    match version.arena.node(version.root) {
        PickleNode::Int(PROTOCOL_VERSION) => {}
        PickleNode::Int(other) => {
            let message = format!("Invalid protocol version: {other}");
            return Err(Error::new(ErrorKind::Malformed, message).at(at));
        }
        _ => {
            let message = "Invalid protocol version: not a number";
            return Err(Error::new(ErrorKind::Malformed, message).at(at));
        }
    }
    let (system, system_at) = stream.pickle("system info")?;
    globals.add(globals_of(&system.arena, "system info"), system_at);
    let (object, object_at) = stream.pickle("object")?;
    let (keys, keys_at) = stream.pickle("storage keys")?;
    let in_object = |error: Error| error.shift(object_at).in_record("object");
    let mut storages =
        Storages { options, by_key: HashMap::new(), views: HashMap::new(), records: Vec::new() };
    storages.declare(&object.arena).map_err(in_object)?;
    storages
        .read(&keys.arena, keys.root, &mut stream)
        .map_err(|error| error.at(keys_at).in_record("storages"))?;
    let end = stream.at;
    let mut warnings = std::mem::take(&mut stream.warnings);
    if says_big_endian(&system) {
        warnings.push(
            "the file was written on a big-endian machine; its data is little-endian all the same, \
             as torch.save always wrote it"
                .to_owned(),
        );
    }
    let build = outer.unwrap_or_else(|| {
        let len = object.consumed;
        super::build_options(options, len, len as u64)
    });
    let built = Builder::new(&object.arena, &mut storages, build).build(object.root);
    let built = built.map_err(in_object)?;
    let trailing = stream.len().saturating_sub(end);
    let info = Info { trailing_bytes: trailing, records: 5, ..Info::default() };
    let mut parts = finish(FileKind::Legacy, built, info, &object, "object", warnings);
    // torch.load unpickles all five.
    globals.add(std::mem::take(&mut parts.globals), object_at);
    globals.add(globals_of(&keys.arena, "storage keys"), keys_at);
    parts.globals = globals.finish();
    parts.storages = storages.records;
    Ok((parts, end))
}

fn says_big_endian(system: &Loaded<'_>) -> bool {
    let arena = &system.arena;
    let PickleNode::Dict(entries) = arena.node(system.root) else { return false };
    entries.iter().any(|&(key, value)| {
        text(arena, key) == Some("little_endian")
            && matches!(arena.node(value), PickleNode::Bool(false))
    })
}

/// The part of the file that is not read yet.
struct Stream<'a> {
    whole: &'a Bytes,
    far: Option<&'a Source>,
    at: u64,
    options: &'a LoadOptions,
    warnings: Vec<String>,
}

impl<'a> Stream<'a> {
    /// The next pickle and where it began.
    fn pickle(&mut self, name: &str) -> Result<(Loaded<'a>, u64), Error> {
        let start = self.at;
        let rest = &self.whole[start as usize..];
        let place = PicklePlace::within(name, start, self.len() - start);
        let loaded = unpickle(rest, place, self.options, &mut self.warnings).map_err(|error| {
            let error = error.shift(start).in_record(name);
            let cut = error.kind() == ErrorKind::Truncated;
            if cut { error.with_help(CUT_SHORT) } else { error }
        })?;
        self.at += loaded.consumed as u64;
        Ok((loaded, start))
    }

    /// Length of the file.
    fn len(&self) -> u64 {
        self.far.map_or(self.whole.len() as u64, Source::len)
    }

    /// The next storage, which in a file that is far away is not read: not even the count of elements before
    /// it, since that is known from the object. It is compared when the storage is read.
    fn take_far(&mut self, source: &Source, key: &str, declared: &Declared) -> Option<Storage> {
        let start = self.at;
        let data = start.checked_add(COUNT)?;
        let end = data.checked_add(declared.nbytes).filter(|end| *end <= source.len())?;
        self.at = end;
        let (source, key, nbytes) = (source.clone(), key.to_owned(), declared.nbytes);
        let expected = nbytes.checked_div(declared.item_size).unwrap_or(0);
        let load = move || -> Result<Bytes, LazyError> {
            let whole = source.slice(start..end)?.ok_or("it lies outside the file")?;
            let (count, bytes) =
                (whole.slice(0..COUNT as usize), whole.slice(COUNT as usize..whole.len()));
            let (count, bytes) = count.zip(bytes).ok_or("it lies outside the file")?;
            if count[..] != expected.to_le_bytes() {
                let message = format!(
                    "storage '{}' has another number of elements before it, at {start:#x}, than the object says",
                    key.escape_debug()
                );
                return Err(message.into());
            }
            Ok(bytes)
        };
        let (order, word) = (ByteOrder::Little, declared.word);
        Some(Storage::lazy_with_byte_order(nbytes, order, word, Device::CPU, Box::new(load)))
    }

    /// The count of elements before a storage; `None` at the end of the file.
    fn take_count(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(end) = self.at.checked_add(COUNT) else { return Ok(None) };
        let bytes = match self.far {
            Some(source) => source.slice(self.at..end)?,
            None => self.within(self.at..end),
        };
        if bytes.is_some() {
            self.at = end;
        }
        Ok(bytes)
    }

    /// The bytes behind the count; `None` where the file ends before they do.
    fn take_storage(&mut self, declared: &Declared) -> Option<Storage> {
        let range = self.at..self.at.checked_add(declared.nbytes)?;
        let (end, word) = (range.end, declared.word);
        let storage = match self.far {
            Some(source) => stored(source, range, ByteOrder::Little, word).ok()??,
            None => {
                let bytes = self.within(range)?;
                Storage::with_byte_order(bytes, ByteOrder::Little, word, Device::CPU)
            }
        };
        self.at = end;
        Some(storage)
    }

    fn within(&self, range: Range<u64>) -> Option<Bytes> {
        let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
        self.whole.slice(start..end)
    }
}

fn cut_short(stream: &Stream<'_>, key: &str, start: u64, needed: u64) -> Error {
    let left = stream.len().saturating_sub(stream.at);
    Error::new(ErrorKind::Truncated, format!("the data of storage '{key}' is cut short"))
        .at(start)
        .with_note(format!("it needs {needed} bytes, the file has {left} left"))
        .with_help(CUT_SHORT)
}

struct Declared {
    at: u32,
    word: usize,
    item_size: u64,
    location: Box<str>,
    dtype: Option<sconce_tensor::DType>,
    nbytes: u64,
    storage: Option<Storage>,
}

struct Storages<'o> {
    options: &'o LoadOptions,
    by_key: HashMap<Box<str>, Declared>,
    views: HashMap<Box<str>, Storage>,
    records: Vec<StorageRecord>,
}

impl Storages<'_> {
    /// Notes every storage that the object's persistent ids name: the data behind it states only
    /// counts of elements, not their type.
    fn declare(&mut self, arena: &Arena<'_>) -> Result<(), Error> {
        for value in arena.values() {
            let PickleNode::PersistentId(pid) = arena.node(value) else { continue };
            if !matches!(pid_kind(arena, *pid), Some(("storage", _))) {
                continue;
            }
            let id = storage_id(arena, *pid)?;
            let at = self.by_key.len() as u32;
            self.by_key.entry(id.key.as_ref().into()).or_insert_with(|| Declared {
                at,
                word: id.word(),
                item_size: id.item_size(),
                location: id.location.as_ref().into(),
                dtype: id.dtype,
                nbytes: id.nbytes,
                storage: None,
            });
        }
        Ok(())
    }

    /// Finds each storage's bytes: for every key in order, a count of elements and the data.
    fn read(
        &mut self,
        arena: &Arena<'_>,
        keys: Value,
        stream: &mut Stream<'_>,
    ) -> Result<(), Error> {
        let keys = match arena.node(keys) {
            PickleNode::List(keys) => keys.as_slice(),
            PickleNode::Tuple(items) => arena.items(*items),
            other => {
                let message =
                    format!("the storage keys must be a list, found {}", other.type_name());
                return Err(Error::new(ErrorKind::Malformed, message));
            }
        };
        for &key in keys {
            let key = match arena.node(key) {
                PickleNode::Int(number) => Some(number.to_string()),
                _ => text(arena, key).map(str::to_owned),
            };
            let Some(key) = key else {
                let message = "a storage key is neither text nor a number";
                return Err(Error::new(ErrorKind::Malformed, message).at(stream.at));
            };
            let Some(declared) = self.by_key.get_mut(key.as_str()) else {
                let shown = key.escape_debug();
                let message = format!("storage key '{shown}' not found in deserialized_objects");
                return Err(Error::new(ErrorKind::Malformed, message).at(stream.at));
            };
            let start = stream.at;
            if declared.storage.is_some() {
                let message = format!("storage '{key}' is in the list of storage keys twice");
                return Err(Error::new(ErrorKind::Malformed, message).at(start));
            }
            // Who says what is to be thought of a file looks at all of it.
            let far = stream.far.filter(|_| self.options.observer.is_none());
            if let Some(source) = far {
                let Some(storage) = stream.take_far(source, &key, declared) else {
                    return Err(cut_short(stream, &key, start, declared.nbytes));
                };
                let skip = self.options.skip_data || self.options.is_meta();
                let storage = if skip { Storage::meta(declared.nbytes) } else { storage };
                let storage = restore(storage, &declared.location, self.options)?;
                declared.storage = Some(storage.clone());
                self.records.push(StorageRecord {
                    key: key.into(),
                    nbytes: declared.nbytes,
                    dtype: declared.dtype,
                    storage,
                    place: Place::Offset(start + COUNT),
                });
                continue;
            }
            let count = stream.take_count()?.map(|bytes| {
                let mut number = [0; 8];
                number.copy_from_slice(&bytes);
                i64::from_le_bytes(number)
            });
            let Some(count) = count else { return Err(cut_short(stream, &key, start, COUNT)) };
            let nbytes = u64::try_from(count).ok().and_then(|n| n.checked_mul(declared.item_size));
            if nbytes != Some(declared.nbytes) {
                let got = i128::from(count) * i128::from(declared.item_size);
                let message =
                    format!("storage has wrong byte size: expected {} got {got}", declared.nbytes);
                return Err(Error::new(ErrorKind::Malformed, message)
                    .at(start)
                    .with_note(format!("storage '{key}'")));
            }
            let at = stream.at;
            let Some(storage) = stream.take_storage(declared) else {
                return Err(cut_short(stream, &key, start, declared.nbytes));
            };
            let storage = if self.options.skip_data || self.options.is_meta() {
                Storage::meta(declared.nbytes)
            } else {
                storage
            };
            let storage = restore(storage, &declared.location, self.options)?;
            declared.storage = Some(storage.clone());
            self.records.push(StorageRecord {
                key: key.into(),
                nbytes: declared.nbytes,
                dtype: declared.dtype,
                storage,
                place: Place::Offset(at),
            });
        }
        // The list is sorted by key; everything else goes by first appearance.
        let by_key = &self.by_key;
        self.records.sort_by_key(|record| by_key.get(&*record.key).map(|declared| declared.at));
        Ok(())
    }

    fn storage(&self, id: &StorageId<'_>) -> Result<Storage, Error> {
        let declared = self.by_key.get(&*id.key);
        let found = declared.and_then(|declared| declared.storage.clone());
        match (found, declared) {
            (Some(storage), Some(declared)) => {
                if declared.dtype != id.dtype && declared.nbytes != id.nbytes {
                    let message = format!(
                        "storage '{}' is {} bytes under one type and {} under another",
                        id.key, declared.nbytes, id.nbytes
                    );
                    return Err(Error::new(ErrorKind::Malformed, message));
                }
                Ok(storage)
            }
            _ if id.nbytes == 0 => {
                let empty = Storage::from_bytes(Vec::new().into(), Device::CPU);
                restore(empty, &id.location, self.options)
            }
            _ => {
                let message = format!("the file holds no data for storage '{}'", id.key);
                Err(Error::new(ErrorKind::Malformed, message)
                    .with_note("the list of storage keys does not name it"))
            }
        }
    }

    /// A storage that old writers made as a window on another one.
    fn view(
        &mut self,
        arena: &Arena<'_>,
        id: &StorageId<'_>,
        metadata: Value,
        root: &Storage,
    ) -> Result<Storage, Error> {
        let wrong =
            || {
                let message = "a storage view needs (key, offset, size) inside its storage";
                Error::new(ErrorKind::Malformed, message)
                    .at(arena.offset(metadata))
                    .with_note(format!("storage '{}' has {} bytes", id.key, root.nbytes()))
            };
        let Some([key, offset, size]) = arena.tuple(metadata) else { return Err(wrong()) };
        let key: Box<str> = match arena.node(*key) {
            PickleNode::Int(number) => number.to_string().into(),
            _ => text(arena, *key).ok_or_else(wrong)?.into(),
        };
        if let Some(view) = self.views.get(&key) {
            return Ok(view.clone());
        }
        let bytes = |elements: Value| {
            let elements = arena.int(elements).and_then(|elements| u64::try_from(elements).ok())?;
            elements.checked_mul(id.item_size())
        };
        let (start, len) = bytes(*offset).zip(bytes(*size)).ok_or_else(wrong)?;
        let end = start.checked_add(len).filter(|end| *end <= root.nbytes()).ok_or_else(wrong)?;
        let view = if root.has_data() {
            let bytes = root.bytes().map_err(|_| wrong())?;
            let bytes = bytes.slice(start as usize..end as usize).ok_or_else(wrong)?;
            Storage::from_bytes(bytes, root.device().clone())
        } else {
            Storage::meta(len).to_device_tag(root.device().clone())
        };
        self.views.insert(key, view.clone());
        Ok(view)
    }
}

impl PersistentLoad for Storages<'_> {
    fn load(&mut self, arena: &Arena<'_>, pid: Value) -> Result<Persistent, Error> {
        if let Some(("module", parts)) = pid_kind(arena, pid) {
            let [class, file, source] = parts else {
                let message = "a module's persistent id needs (\"module\", class, file, source)";
                return Err(Error::new(ErrorKind::Malformed, message).at(arena.offset(pid)));
            };
            let owned = |value: Value| text(arena, value).map(str::to_owned);
            let source = Some(Box::new((owned(*file), owned(*source))));
            return Ok(Persistent::Class { class: *class, source });
        }
        if let Some((kind, _)) = pid_kind(arena, pid)
            && kind != "storage"
        {
            let message = format!("Unknown saved id type: {}", kind.escape_debug());
            return Err(Error::new(ErrorKind::Malformed, message).at(arena.offset(pid)));
        }
        let id = storage_id(arena, pid)?;
        let mut storage = self.storage(&id)?;
        if let Some(&metadata) = id.rest.first()
            && !matches!(arena.node(metadata), PickleNode::None)
        {
            storage = self.view(arena, &id, metadata, &storage)?;
        }
        Ok(Persistent::Storage(TypedStorage { storage, dtype: id.dtype }))
    }

    fn map_device(&self, device: Device) -> Result<Device, Error> {
        map_device(device, self.options)
    }
}
