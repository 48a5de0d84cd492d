//! The tar files that PyTorch before 0.1.10 wrote.
//!
//! Three members matter: `storages` (a count, then for each a pickled header and raw elements, then
//! a list of views), `tensors` (likewise, with binary shapes), and `pickle`, the object, whose
//! persistent ids are keys of the other two.

use std::collections::HashMap;

use sconce_archive::TarArchive;
use sconce_pickle::{Arena, Loaded, Node as PickleNode, Value};
use sconce_source::{Bytes, Source};
use sconce_tensor::{ByteOrder, DType, Device, Storage, Tensor};

use super::{Parts, build, finish, map_device, restore, text, unpickle};
use crate::globals::{Globals, globals_of};
use crate::identify::FileKind;
use crate::info::{Info, Place, StorageRecord};
use crate::observe::PicklePlace;
use crate::options::{LoadOptions, Policy};
use crate::rebuild::{Persistent, PersistentLoad, TypedStorage, storage_dtype};
use crate::weights_only::UNSAFE_MESSAGE;
use crate::{Error, ErrorKind};

pub(super) fn open(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
    if options.policy == Policy::WeightsOnly {
        let message = format!(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. \
             {UNSAFE_MESSAGE}"
        );
        return Err(Error::new(ErrorKind::Refused, message));
    }
    let tar = TarArchive::read(source)?;
    let member = |name: &str| tar.read_member(name).map(|member| member.bytes.clone());
    let mut objects = Objects { options, by_key: HashMap::new(), records: Vec::new() };
    let mut warnings = Vec::new();
    if source.in_memory().is_none() {
        let len = source.len();
        warnings.push(format!("a tar file has no table of contents: all {len} bytes were read"));
    }
    let (storages, tensors) = (member("storages")?, member("tensors")?);
    let mut stream = Stream::new("storages", &storages, options, &mut warnings);
    objects.read_storages(&mut stream).map_err(|error| error.in_record("storages"))?;
    let mut globals = stream.globals;
    let mut stream = Stream::new("tensors", &tensors, options, &mut warnings);
    objects.read_tensors(&mut stream).map_err(|error| error.in_record("tensors"))?;
    globals.add(stream.globals.finish(), 0);
    let pickle = member("pickle")?.detached();
    let stored = pickle.len() as u64;
    let in_pickle = |error: Error| error.in_record("pickle");
    let place = PicklePlace::alone("pickle", stored);
    let loaded = unpickle(&pickle, place, options, &mut warnings).map_err(in_pickle)?;
    let built = build(&loaded, stored, &mut objects, options).map_err(in_pickle)?;
    let records = std::mem::take(&mut objects.records);
    let info = Info { records: tar.members().len(), ..Info::default() };
    let mut parts = finish(FileKind::Tar, built, info, &loaded, "pickle", warnings);
    globals.add(std::mem::take(&mut parts.globals), 0);
    parts.globals = globals.finish();
    parts.storages = records;
    Ok(parts)
}

/// A member that mixes pickles and binary data.
struct Stream<'a> {
    name: &'static str,
    bytes: &'a Bytes,
    at: usize,
    /// What its pickles name.
    globals: Globals,
    options: &'a LoadOptions,
    warnings: &'a mut Vec<String>,
}

impl<'a> Stream<'a> {
    fn new(
        name: &'static str,
        bytes: &'a Bytes,
        options: &'a LoadOptions,
        warnings: &'a mut Vec<String>,
    ) -> Self {
        Stream { name, bytes, at: 0, globals: Globals::default(), options, warnings }
    }

    fn pickle(&mut self) -> Result<Loaded<'a>, Error> {
        let at = self.at;
        let rest = &self.bytes[at..];
        let place = PicklePlace::within(self.name, at as u64, rest.len() as u64);
        let loaded = unpickle(rest, place, self.options, self.warnings)
            .map_err(|error| error.shift(at as u64))?;
        self.globals.add(globals_of(&loaded.arena, self.name), at as u64);
        self.at += loaded.consumed;
        Ok(loaded)
    }

    fn malformed(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Malformed, message).at(self.at as u64)
    }

    fn take(&mut self, len: u64) -> Result<Bytes, Error> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let bytes = end.and_then(|end| self.bytes.slice(self.at..end));
        let Some(bytes) = bytes else {
            let left = self.bytes.len() - self.at;
            let message =
                format!("the member is cut short: {len} bytes are needed, {left} are left");
            return Err(Error::new(ErrorKind::Truncated, message).at(self.at as u64));
        };
        self.at += bytes.len();
        Ok(bytes)
    }

    fn i64s(&mut self, count: u64) -> Result<Vec<i64>, Error> {
        let bytes = self.take(count.saturating_mul(8))?;
        let number = |chunk: &[u8]| {
            let mut number = [0; 8];
            number.copy_from_slice(chunk);
            i64::from_le_bytes(number)
        };
        Ok(bytes.chunks_exact(8).map(number).collect())
    }

    /// A pickled count of the items that follow.
    fn count(&mut self) -> Result<i64, Error> {
        let loaded = self.pickle()?;
        loaded.arena.int(loaded.root).ok_or_else(|| self.malformed("expected a pickled count"))
    }
}

fn key_text(arena: &Arena<'_>, value: Value) -> Option<Box<str>> {
    match arena.node(value) {
        PickleNode::Int(number) => Some(number.to_string().into()),
        // Keys are addresses. Decimal digits of a huge number take quadratic time.
        PickleNode::BigInt(number) if number.bits() <= 128 => Some(number.to_string().into()),
        _ => text(arena, value).map(Into::into),
    }
}

struct Objects<'o> {
    options: &'o LoadOptions,
    by_key: HashMap<Box<str>, Persistent>,
    records: Vec<StorageRecord>,
}

impl Objects<'_> {
    fn read_storages(&mut self, stream: &mut Stream<'_>) -> Result<(), Error> {
        for _ in 0..stream.count()? {
            let header = stream.pickle()?;
            let arena = &header.arena;
            let parsed = match arena.tuple(header.root) {
                Some([key, location, class]) => {
                    let dtype = arena.global(*class).and_then(|(_, name)| storage_dtype(name));
                    key_text(arena, *key).zip(text(arena, *location)).zip(dtype)
                }
                _ => None,
            };
            let Some(((key, location), dtype)) = parsed else {
                return Err(stream.malformed("expected a pickled (key, location, storage class)"));
            };
            let dtype = dtype.unwrap_or(DType::UInt8);
            let count = stream.i64s(1)?[0];
            let nbytes =
                u64::try_from(count).ok().and_then(|n| n.checked_mul(dtype.item_size() as u64));
            let Some(nbytes) = nbytes else {
                let message = format!("storage '{key}' cannot have {count} elements");
                return Err(stream.malformed(message));
            };
            let bytes = stream.take(nbytes)?;
            let offset = bytes.offset();
            let storage = if self.options.skip_data || self.options.is_meta() {
                Storage::meta(nbytes)
            } else {
                let word = dtype.swap_size();
                Storage::with_byte_order(bytes, ByteOrder::Little, word, Device::CPU)
            };
            let storage = restore(storage, location, self.options)?;
            self.records.push(StorageRecord {
                key: key.clone(),
                nbytes,
                dtype: Some(dtype),
                storage: storage.clone(),
                place: Place::Offset(offset),
            });
            let typed = TypedStorage { storage, dtype: Some(dtype) };
            self.by_key.insert(key, Persistent::Storage(typed));
        }
        self.read_views(stream)
    }

    /// `[(key, key of the storage it is a window on, offset, elements)]`
    fn read_views(&mut self, stream: &mut Stream<'_>) -> Result<(), Error> {
        let views = stream.pickle()?;
        let arena = &views.arena;
        let items = match arena.node(views.root) {
            PickleNode::List(items) => items.as_slice(),
            _ => return Err(stream.malformed("expected a pickled list of storage views")),
        };
        for &item in items {
            let wrong = || stream.malformed("a storage view does not fit its storage");
            let Some([key, root, offset, numel]) = arena.tuple(item) else { return Err(wrong()) };
            let (key, root) =
                key_text(arena, *key).zip(key_text(arena, *root)).ok_or_else(wrong)?;
            let Some(Persistent::Storage(root)) = self.by_key.get(&root) else {
                return Err(wrong());
            };
            let dtype = root.dtype_or_bytes();
            let bytes = |value: Value| {
                let elements = u64::try_from(arena.int(value)?).ok()?;
                elements.checked_mul(dtype.item_size() as u64)
            };
            let (start, len) = bytes(*offset).zip(bytes(*numel)).ok_or_else(wrong)?;
            let storage = &root.storage;
            let end = start.checked_add(len).filter(|end| *end <= storage.nbytes());
            let end = end.ok_or_else(wrong)?;
            let storage = if storage.has_data() {
                let whole = storage.bytes().map_err(|_| wrong())?;
                let part = whole.slice(start as usize..end as usize).ok_or_else(wrong)?;
                Storage::from_bytes(part, storage.device().clone())
            } else {
                Storage::meta(len).to_device_tag(storage.device().clone())
            };
            let typed = TypedStorage { storage, dtype: Some(dtype) };
            self.by_key.insert(key, Persistent::Storage(typed));
        }
        Ok(())
    }

    fn read_tensors(&mut self, stream: &mut Stream<'_>) -> Result<(), Error> {
        for _ in 0..stream.count()? {
            let header = stream.pickle()?;
            let arena = &header.arena;
            let keys = match arena.tuple(header.root) {
                Some([key, storage, _class]) => {
                    key_text(arena, *key).zip(key_text(arena, *storage))
                }
                _ => None,
            };
            let Some((key, storage)) = keys else {
                return Err(stream.malformed("expected a pickled (key, storage key, tensor class)"));
            };
            let Some(Persistent::Storage(found)) = self.by_key.get(&storage).cloned() else {
                let message =
                    format!("tensor '{key}' needs storage '{storage}', which is not there");
                return Err(stream.malformed(message));
            };
            // The dimension count takes 8 bytes, of which PyTorch reads 4.
            let ndim = stream.take(8)?;
            let ndim = i32::from_le_bytes([ndim[0], ndim[1], ndim[2], ndim[3]]);
            let Ok(ndim) = u64::try_from(ndim) else {
                let message = format!("tensor '{key}' cannot have {ndim} dimensions");
                return Err(stream.malformed(message));
            };
            let (sizes, strides) = (stream.i64s(ndim)?, stream.i64s(ndim)?);
            let offset = stream.i64s(1)?[0];
            let dtype = found.dtype_or_bytes();
            let tensor = Tensor::strided(found.storage, dtype, offset, &sizes, &strides)
                .map_err(|error| stream.malformed(format!("tensor '{key}': {error}")))?;
            self.by_key.insert(key.clone(), Persistent::Tensor { tensor, key });
        }
        Ok(())
    }
}

impl PersistentLoad for Objects<'_> {
    fn load(&mut self, arena: &Arena<'_>, pid: Value) -> Result<Persistent, Error> {
        if let Some([class, file, source]) = arena.tuple(pid) {
            let owned = |value: Value| text(arena, value).map(str::to_owned);
            let source = Some(Box::new((owned(*file), owned(*source))));
            return Ok(Persistent::Class { class: *class, source });
        }
        let key = key_text(arena, pid);
        let found = key.as_ref().and_then(|key| self.by_key.get(key));
        found.cloned().ok_or_else(|| {
            let key = key.as_deref().unwrap_or("?");
            let message = format!("persistent id '{key}' names neither a storage nor a tensor");
            Error::new(ErrorKind::Malformed, message).at(arena.offset(pid))
        })
    }

    fn map_device(&self, device: Device) -> Result<Device, Error> {
        map_device(device, self.options)
    }
}
