//! The tar files that PyTorch before 0.1.10 wrote.
//!
//! Three members matter: `storages` (a count, then for each a pickled header and raw elements, then
//! a list of views), `tensors` (likewise, with binary shapes), and `pickle`, the object, whose
//! persistent ids are keys of the other two.

use std::collections::HashMap;
use std::ops::Range;

use sconce_archive::TarArchive;
use sconce_pickle::{Arena, Loaded, Node as PickleNode, Value};
use sconce_source::{Bytes, Source};
use sconce_tensor::{ByteOrder, DType, Device, LazyError, Storage, Tensor};

use super::{Parts, build, finish, holds, map_device, restore, stored, text, unpickle};
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
    let mut objects = Objects { options, by_key: HashMap::new(), records: Vec::new() };
    let mut warnings = Vec::new();
    let member = tar.read_member("storages")?;
    let range = member.start()..member.start() + member.len();
    let mut stream = Stream::new("storages", source, range, options, &mut warnings);
    objects.read_storages(&mut stream).map_err(|error| error.in_record("storages"))?;
    let (mut globals, walked) = (stream.globals, stream.read);
    let member = tar.read_member("tensors")?;
    let (mut near, mut range) = (source.clone(), member.start()..member.start() + member.len());
    if source.in_memory().is_none() {
        // These are small, and all of them matter.
        near = Source::from_vec("tensors", member.bytes()?.to_vec());
        range = 0..near.len();
    }
    let mut stream = Stream::new("tensors", &near, range, options, &mut warnings);
    objects.read_tensors(&mut stream).map_err(|error| error.in_record("tensors"))?;
    globals.add(stream.globals.finish(), 0);
    let pickle = tar.read_member("pickle")?.bytes()?.detached();
    let stored = pickle.len() as u64;
    if source.in_memory().is_none() {
        let read = walked + member.len() + stored;
        let len = source.len();
        let what = "a tar file has no table of contents: it was walked from storage to storage";
        warnings.push(format!("{what}, {read} of {len} bytes"));
    }
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
    source: &'a Source,
    start: u64,
    len: u64,
    at: u64,
    /// How many bytes of a store were read.
    read: u64,
    /// What its pickles name.
    globals: Globals,
    options: &'a LoadOptions,
    warnings: &'a mut Vec<String>,
}

impl<'a> Stream<'a> {
    fn new(
        name: &'static str,
        source: &'a Source,
        range: Range<u64>,
        options: &'a LoadOptions,
        warnings: &'a mut Vec<String>,
    ) -> Self {
        let (start, len) = (range.start, range.end - range.start);
        let globals = Globals::default();
        Stream { name, source, start, len, at: 0, read: 0, globals, options, warnings }
    }

    /// What the next pickle says.
    fn pickle<T>(
        &mut self,
        say: impl FnOnce(&mut Self, &Loaded<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (at, left) = (self.at, self.len - self.at);
        let rest = self.beginning(left)?;
        let place = PicklePlace::within(self.name, at, left);
        let loaded =
            unpickle(&rest, place, self.options, self.warnings).map_err(|error| error.shift(at))?;
        self.globals.add(globals_of(&loaded.arena, self.name), at);
        self.at += loaded.consumed as u64;
        say(self, &loaded)
    }

    /// The bytes from here on: all of a file in memory, of one in a store so many that the next pickle ends in them.
    fn beginning(&mut self, left: u64) -> Result<Bytes, Error> {
        const FIRST: u64 = 4 << 10;
        let from = self.start + self.at;
        let none = || Vec::new().into();
        if self.source.in_memory().is_some() {
            return Ok(self.source.slice(from..from + left)?.unwrap_or_else(none));
        }
        let most = self.options.limits.pickle_bytes(left).min(left);
        let mut size = FIRST.min(left);
        loop {
            let bytes = self.source.slice(from..from + size)?.unwrap_or_else(none);
            self.read += size;
            if size >= most || holds(&bytes, 1) {
                return Ok(bytes);
            }
            size = size.saturating_mul(16).min(most);
        }
    }

    fn malformed(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Malformed, message).at(self.at)
    }

    /// The place in the file of so many bytes, which are gone past.
    fn pass(&mut self, len: u64) -> Result<Range<u64>, Error> {
        let left = self.len - self.at;
        if len > left {
            let message =
                format!("the member is cut short: {len} bytes are needed, {left} are left");
            return Err(Error::new(ErrorKind::Truncated, message).at(self.at));
        }
        let from = self.start + self.at;
        self.at += len;
        Ok(from..from + len)
    }

    fn take(&mut self, len: u64) -> Result<Bytes, Error> {
        let range = self.pass(len)?;
        self.read += len;
        Ok(self.source.slice(range)?.unwrap_or_else(|| Vec::new().into()))
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
        self.pickle(|stream, loaded| {
            let count = loaded.arena.int(loaded.root);
            count.ok_or_else(|| stream.malformed("expected a pickled count"))
        })
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
            let (key, location, dtype) = stream.pickle(|stream, header| {
                let arena = &header.arena;
                let parsed = match arena.tuple(header.root) {
                    Some([key, location, class]) => {
                        let dtype = arena.global(*class).and_then(|(_, name)| storage_dtype(name));
                        key_text(arena, *key).zip(text(arena, *location)).zip(dtype)
                    }
                    _ => None,
                };
                let Some(((key, location), dtype)) = parsed else {
                    return Err(
                        stream.malformed("expected a pickled (key, location, storage class)")
                    );
                };
                Ok((key, location.to_owned(), dtype))
            })?;
            let dtype = dtype.unwrap_or(DType::UInt8);
            let count = stream.i64s(1)?[0];
            let nbytes =
                u64::try_from(count).ok().and_then(|n| n.checked_mul(dtype.item_size() as u64));
            let Some(nbytes) = nbytes else {
                let message = format!("storage '{key}' cannot have {count} elements");
                return Err(stream.malformed(message));
            };
            let range = stream.pass(nbytes)?;
            let offset = range.start;
            let storage = if self.options.skip_data || self.options.is_meta() {
                Storage::meta(nbytes)
            } else {
                let word = dtype.swap_size();
                stored(stream.source, range, ByteOrder::Little, word)?
                    .ok_or_else(|| stream.malformed("a storage outside the file"))?
            };
            let storage = restore(storage, &location, self.options)?;
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
        stream.pickle(|stream, views| self.views(stream, views))
    }

    fn views(&mut self, stream: &Stream<'_>, views: &Loaded<'_>) -> Result<(), Error> {
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
            let storage = if storage.has_data() && stream.source.in_memory().is_none() {
                let (whole, device) = (storage.clone(), storage.device().clone());
                let load = move || -> Result<Bytes, LazyError> {
                    let whole = whole.bytes()?;
                    Ok(whole.slice(start as usize..end as usize).ok_or("it lies outside")?)
                };
                Storage::lazy(len, device, Box::new(load))
            } else if storage.has_data() {
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
            let (key, storage) = stream.pickle(|stream, header| {
                let arena = &header.arena;
                let keys = match arena.tuple(header.root) {
                    Some([key, storage, _class]) => {
                        key_text(arena, *key).zip(key_text(arena, *storage))
                    }
                    _ => None,
                };
                let message = "expected a pickled (key, storage key, tensor class)";
                keys.ok_or_else(|| stream.malformed(message))
            })?;
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
