//! The formats a checkpoint comes in, each one a file here: what its persistent ids mean and
//! where its tensors' bytes lie. All of them end in [`Parts`]. Formats that are not PyTorch's are
//! read and written side by side; what their writers share is [`export`].

pub mod export;
mod legacy;
mod mobile;
mod npz;
mod pickle;
pub mod pt2;
mod record;
mod safetensors;
mod sharded;
mod tar;
mod zip;

pub(crate) use legacy::{MAGIC, PROTOCOL_VERSION};
pub use mobile::mobile_archive;
pub use zip::pickled_tensors;

use std::ops::Range;
use std::sync::Arc;

use sconce_pickle::{AllowAll, Arena, Loaded, Machine, Node as PickleNode, Value};
use sconce_source::{Bytes, Limits, Source};
use sconce_tensor::{ByteOrder, DType, Device, LazyError, Storage, Tensor};

use crate::globals::{GlobalUse, globals_of};
use crate::identify::{FileKind, Identity, try_identify};
use crate::info::{Info, StorageRecord};
use crate::location::MapLocation;
use crate::object::{Graph, NamedTensor, Node, Object, ObjectId, TensorClass, TensorObject, Walk};
use crate::observe::{PicklePlace, Seen};
use crate::options::{LoadOptions, Policy};
use crate::rebuild::{Budget, BuildOptions, Builder, Built, PersistentLoad, storage_dtype};
use crate::weights_only::{WeightsOnly, message_of};
use crate::{Error, ErrorKind};

/// Everything that a container gives for a checkpoint.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) format: FileKind,
    pub(crate) graph: Graph,
    pub(crate) root: ObjectId,
    pub(crate) info: Info,
    pub(crate) storages: Vec<StorageRecord>,
    pub(crate) globals: Vec<GlobalUse>,
    pub(crate) warnings: Vec<String>,
    pub(crate) problems: Vec<Error>,
}

impl Parts {
    fn new(format: FileKind, built: Built, info: Info) -> Self {
        Parts {
            format,
            graph: built.graph,
            root: built.root,
            info,
            storages: Vec::new(),
            globals: Vec::new(),
            warnings: Vec::new(),
            problems: built.problems,
        }
    }

    pub(crate) fn root(&self) -> Object<'_> {
        Object::new(&self.graph, self.root)
    }

    /// Every tensor under every one of its names, depth first.
    pub(crate) fn tensors(&self) -> Vec<NamedTensor<'_>> {
        let mut out = Vec::new();
        Walk::new(&self.graph).run(self.root, |name, object| {
            if let Node::Tensor(found) = object.data() {
                out.push(NamedTensor { name: name.to_owned(), tensor: &found.tensor, object });
            }
        });
        out
    }
}

/// Says what the source is and opens it accordingly.
pub(crate) fn open(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
    let identity = try_identify(source)?;
    if identity.kind == FileKind::MobileFlatbuffer {
        let parts = open(&mobile_archive(source)?, options)?;
        return Ok(Parts { format: identity.kind, ..parts });
    }
    if let Some(observer) = &options.observer {
        observer.file(source, identity.kind);
    }
    let opened = match identity.kind {
        FileKind::Zip | FileKind::TorchScript => zip::open(source, options, identity.kind),
        FileKind::Legacy => legacy::open(source, options),
        FileKind::Tar => tar::open(source, options),
        FileKind::Pickle => pickle::open(source, options),
        FileKind::ShardIndex => sharded::open(source, options),
        FileKind::Safetensors => safetensors::open(source),
        FileKind::Npy => npz::open_npy(source),
        FileKind::Npz => npz::open_npz(source, options),
        FileKind::Pt2 => pt2::open(source, options),
        _ => Err(not_a_checkpoint(source, &identity)),
    };
    opened.map_err(|error| error.in_file(source.name()))
}

fn not_a_checkpoint(source: &Source, identity: &Identity) -> Error {
    let kind = identity.kind;
    // A broken zip has more to say than that it is one.
    if kind == FileKind::TruncatedZip
        && let Err(error) = sconce_archive::Directory::read(source.clone(), &Default::default())
    {
        return Error::from(error);
    }
    let what = with_article(kind.description());
    // Some say themselves what they are not.
    let message = match kind {
        FileKind::Unknown => "this is not a checkpoint: its format is unknown".to_owned(),
        _ if what.contains(", not ") => format!("this is {what}"),
        _ => format!("this is {what}, not a checkpoint"),
    };
    let mut error = Error::new(ErrorKind::NotACheckpoint, message);
    if !identity.detail.is_empty() {
        error = error.with_note(identity.detail.clone());
    }
    match kind.advice() {
        Some(advice) => error.with_help(advice),
        None => error,
    }
}

fn with_article(noun: &str) -> String {
    let lower = noun.chars().next().map(|c| c.to_ascii_lowercase());
    match lower {
        _ if noun.starts_with("a ") || noun.starts_with("an ") || noun.starts_with("the ") => {
            noun.to_owned()
        }
        Some('a' | 'e' | 'i' | 'o') => format!("an {noun}"),
        _ => format!("a {noun}"),
    }
}

/// The beginning of a file that holds its first `pickles` pickles: all of a file in memory, of one in a store as
/// much as is needed.
fn beginning(source: &Source, pickles: usize, options: &LoadOptions) -> Result<Bytes, Error> {
    const FIRST: u64 = 64 << 10;
    let none = || Vec::new().into();
    let len = source.len();
    if source.in_memory().is_some() {
        return Ok(source.slice(0..len)?.unwrap_or_else(none));
    }
    // Each pickle may be as long as the limit says.
    let most = options.limits.pickle_bytes(len).saturating_mul(pickles as u64).min(len);
    let mut size = FIRST.min(len);
    loop {
        let head = source.slice(0..size)?.unwrap_or_else(none);
        if size >= most || holds(&head, pickles) {
            return Ok(head);
        }
        size = size.saturating_mul(4).min(most);
    }
}

/// Whether so many pickles end before the bytes do, or one of them is none.
fn holds(bytes: &[u8], pickles: usize) -> bool {
    let mut at = 0;
    for _ in 0..pickles {
        let mut end = None;
        for instruction in sconce_pickle::instructions(&bytes[at..]) {
            match instruction {
                Ok(found) => end = Some(found.at as usize + found.raw.len()),
                Err(error) => {
                    let kind = error.kind();
                    use sconce_pickle::ErrorKind as Kind;
                    return !matches!(kind, Kind::Truncated | Kind::Exhausted);
                }
            }
        }
        let Some(end) = end else { return false };
        at += end;
    }
    true
}

/// What the machine may hold for a pickle that takes `stored` bytes in its file.
pub fn pickle_limits(limits: &Limits, stored: u64) -> sconce_pickle::Limits {
    let values = limits.pickle_values(stored);
    sconce_pickle::Limits::default().with_max_values(values).with_max_memo(values)
}

/// Runs the pickle machine under the caller's policy, and tells the caller's observer.
fn unpickle<'a>(
    bytes: &'a [u8],
    place: PicklePlace<'_>,
    options: &LoadOptions,
    warnings: &mut Vec<String>,
) -> Result<Loaded<'a>, Error> {
    let limit = options.limits.pickle_bytes(place.stored);
    let bytes = match usize::try_from(limit) {
        Ok(limit) if bytes.len() > limit => &bytes[..limit],
        _ => bytes,
    };
    let limits = pickle_limits(&options.limits, place.stored);
    match options.policy {
        Policy::Inspect => run(bytes, place, &limits, options, &mut AllowAll).map_err(Error::from),
        Policy::WeightsOnly => {
            let mut policy = WeightsOnly::new(&options.allow_list);
            let loaded = run(bytes, place, &limits, options, &mut policy);
            for warning in policy.warnings {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            loaded.map_err(|error| {
                let message = message_of(&error);
                let unsupported = matches!(error, sconce_pickle::Error::UnknownOpcode { .. });
                if error.kind() == sconce_pickle::ErrorKind::Refused || unsupported {
                    return Error::new(ErrorKind::Refused, message).at(error.offset());
                }
                Error::from(error)
            })
        }
    }
}

/// `sconce_pickle::load_with`, which an observer sees, too, where it fails.
fn run<'a, P: sconce_pickle::Policy>(
    bytes: &'a [u8],
    place: PicklePlace<'_>,
    limits: &sconce_pickle::Limits,
    options: &LoadOptions,
    policy: &mut P,
) -> Result<Loaded<'a>, sconce_pickle::Error> {
    let Some(observer) = &options.observer else {
        return sconce_pickle::load_with(bytes, limits, policy);
    };
    let mut machine = Machine::new(bytes, limits);
    let ended = loop {
        match machine.step(policy) {
            Ok(None) => {}
            Ok(Some(_)) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    observer.pickle(&Seen {
        record: place.record,
        offset: place.offset,
        bytes,
        consumed: machine.position(),
        alone: place.alone,
        arena: machine.arena(),
        error: ended.as_ref().err(),
    });
    ended?;
    machine.finish().ok_or(sconce_pickle::Error::Exhausted { at: bytes.len() as u64 })
}

/// Builds the objects of a pickle that takes `stored` bytes in its file.
fn build(
    loaded: &Loaded<'_>,
    stored: u64,
    persistent: &mut impl PersistentLoad,
    options: &LoadOptions,
) -> Result<Built, Error> {
    let options = build_options(options, loaded.consumed, stored);
    Builder::new(&loaded.arena, persistent, options).build(loaded.root)
}

fn build_options(options: &LoadOptions, pickle_len: usize, stored: u64) -> BuildOptions {
    BuildOptions {
        encoding: options.encoding,
        keep_going: options.keep_going,
        validate_sparse: options.policy == Policy::WeightsOnly,
        limits: options.limits.clone(),
        depth: 0,
        nested_stream: legacy::storage_from_bytes,
        budget: Budget::new(pickle_len, options.limits.pickle_memory(stored)),
    }
}

/// A persistent id that stands for a storage: `("storage", class, key, location, elements, …)`.
struct StorageId<'a> {
    /// None for untyped storages.
    dtype: Option<DType>,
    key: std::borrow::Cow<'a, str>,
    location: std::borrow::Cow<'a, str>,
    nbytes: u64,
    numel: i64,
    rest: &'a [Value],
}

impl StorageId<'_> {
    fn word(&self) -> usize {
        self.dtype.map_or(1, DType::swap_size)
    }

    fn item_size(&self) -> u64 {
        self.dtype.map_or(1, |dtype| dtype.item_size() as u64)
    }
}

/// The text that a persistent id's first item must be: `storage` or `module`.
fn pid_kind<'a>(arena: &'a Arena<'_>, pid: Value) -> Option<(&'a str, &'a [Value])> {
    let [first, rest @ ..] = arena.tuple(pid)? else { return None };
    Some((text(arena, *first)?, rest))
}

fn text<'a>(arena: &'a Arena<'_>, value: Value) -> Option<&'a str> {
    match arena.node(value) {
        PickleNode::Str(text) => Some(text),
        PickleNode::ByteStr(bytes) | PickleNode::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// Parses a storage's persistent id, with the complaints of torch.load.
fn storage_id<'a>(arena: &'a Arena<'_>, pid: Value) -> Result<StorageId<'a>, Error> {
    let malformed =
        |message: String| Error::new(ErrorKind::Malformed, message).at(arena.offset(pid));
    let Some((kind, parts)) = pid_kind(arena, pid) else {
        let found = arena.node(pid).type_name();
        return Err(malformed(format!("saved_id must be a tuple, got {found}")));
    };
    if kind != "storage" {
        let message = format!(
            "Unknown typename for persistent_load, expected 'storage' but got '{}'",
            kind.escape_debug()
        );
        return Err(malformed(message));
    }
    let [class, key, location, numel, rest @ ..] = parts else {
        let message = "a storage's persistent id needs (\"storage\", class, key, location, size)";
        return Err(malformed(message.to_owned()));
    };
    let name = arena.global(*class).map(|(_, name)| name);
    let Some(dtype) = name.and_then(storage_dtype) else {
        let found = name.unwrap_or_else(|| arena.node(*class).type_name());
        return Err(malformed(format!("'{}' is not a storage class", found.escape_debug())));
    };
    let key = match arena.node(*key) {
        PickleNode::Int(number) => Some(std::borrow::Cow::Owned(number.to_string())),
        _ => text(arena, *key).map(std::borrow::Cow::Borrowed),
    };
    let location = match arena.node(*location) {
        PickleNode::None => Some(std::borrow::Cow::Borrowed("cpu")),
        _ => text(arena, *location).map(std::borrow::Cow::Borrowed),
    };
    let (Some(key), Some(location), Some(numel)) = (key, location, arena.int(*numel)) else {
        let message = "a storage's key and location must be text and its size an int";
        return Err(malformed(message.to_owned()));
    };
    let item_size = dtype.map_or(1, |dtype| dtype.item_size() as u64);
    let nbytes = u64::try_from(numel).ok().and_then(|numel| numel.checked_mul(item_size));
    let Some(nbytes) = nbytes else {
        return Err(malformed(format!("storage '{key}' cannot have {numel} elements")));
    };
    Ok(StorageId { dtype, key, location, nbytes, numel, rest })
}

/// Puts a storage where its location tag and the caller's `map_location` say.
fn restore(storage: Storage, location: &str, options: &LoadOptions) -> Result<Storage, Error> {
    let restored = options.locations.restore(storage.clone(), location, &options.map_location);
    match (restored, &options.map_location) {
        (Ok(storage), _) => Ok(storage),
        // A label is all that a device is here, so a device that PyTorch does not know is no
        // obstacle to looking.
        (Err(_), MapLocation::Default) if options.policy == Policy::Inspect => {
            Ok(storage.to_device_tag(Device::from_location(location)))
        }
        (Err(message), _) => Err(Error::new(ErrorKind::Caller, message)),
    }
}

/// Where a tensor that carries its device in its own arguments goes.
fn map_device(device: Device, options: &LoadOptions) -> Result<Device, Error> {
    let empty = Storage::from_bytes(Vec::new().into(), device.clone());
    restore(empty, &device.location(), options).map(|storage| storage.device().clone())
}

/// A storage that lies in the file as it is; of a store, it is read when it is first asked for. `None` where it
/// does not lie inside the file.
fn stored(
    source: &Source,
    range: Range<u64>,
    order: ByteOrder,
    word: usize,
) -> Result<Option<Storage>, Error> {
    if source.in_memory().is_some() {
        let bytes = source.slice(range)?;
        return Ok(bytes.map(|bytes| Storage::with_byte_order(bytes, order, word, Device::CPU)));
    }
    if range.start > range.end || range.end > source.len() {
        return Ok(None);
    }
    let (source, nbytes) = (source.clone(), range.end - range.start);
    let load = move || -> Result<Bytes, LazyError> {
        Ok(source.slice(range.clone())?.ok_or("it lies outside the file")?)
    };
    Ok(Some(Storage::lazy_with_byte_order(nbytes, order, word, Device::CPU, Box::new(load))))
}

fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Malformed, message)
}

/// The node of a tensor that stands in a file by itself.
fn tensor_node(tensor: Tensor) -> Node {
    Node::Tensor(Box::new(TensorObject { tensor, class: TensorClass::Tensor, state: None }))
}

/// The shared end of every pickle-based container.
fn finish(
    format: FileKind,
    built: Built,
    info: Info,
    loaded: &Loaded<'_>,
    record: &str,
    warnings: Vec<String>,
) -> Parts {
    let mut parts = Parts::new(format, built, info);
    parts.info.pickle_protocol = Some(loaded.protocol);
    parts.globals = globals_of(&loaded.arena, record);
    parts.warnings = warnings;
    parts
}

type SharedArchive = Arc<sconce_archive::Archive>;
