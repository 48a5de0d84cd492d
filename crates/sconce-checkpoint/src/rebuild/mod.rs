//! From a pickle's inert values to a checkpoint's objects.
//!
//! Two passes over the pickle's arena. The first goes through the values in the order they were
//! made and rebuilds every storage and tensor ([`tensors`]), as unpickling would; a rebuild
//! function finds its arguments already there. The second follows the root and turns what it
//! reaches into [`Node`](crate::Node)s ([`objects`]), without recursion.
//!
//! What each global means is one table, [`known`].

mod args;
mod budget;
mod known;
mod numpy;
mod objects;
mod tensors;

pub(crate) use budget::Budget;
pub(crate) use known::storage_dtype;
pub(crate) use objects::Built;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_pickle::{Arena, Node as PickleNode, Value};
use sconce_source::Limits;
use sconce_tensor::{DType, Device, Storage, Tensor};

use crate::object::ClassRef;
use crate::{Error, ErrorKind};
use known::Known;

/// How Python 2 `str` values (and their raw bytes) become text; the `encoding` argument of
/// `torch.load`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// UTF-8, torch.load's default. Text that is not UTF-8 stays bytes.
    #[default]
    Utf8,
    /// Every byte is the character of that number.
    Latin1,
    /// No text: Python 2 strings stay bytes.
    Bytes,
}

/// What a persistent id stands for.
#[derive(Debug, Clone)]
pub(crate) enum Persistent {
    Storage(TypedStorage),
    /// A tensor (tar files): one object, however often its key is named.
    Tensor {
        tensor: Tensor,
        key: Box<str>,
    },
    /// An `nn.Module` class with its source (legacy files).
    Class {
        class: Value,
        source: Option<Box<(Option<String>, Option<String>)>>,
    },
}

/// A storage as a persistent id gives it: bytes and the type that its class names.
#[derive(Debug, Clone)]
pub(crate) struct TypedStorage {
    pub(crate) storage: Storage,
    /// None for untyped storages.
    pub(crate) dtype: Option<DType>,
}

impl TypedStorage {
    pub(crate) fn dtype_or_bytes(&self) -> DType {
        self.dtype.unwrap_or(DType::UInt8)
    }
}

/// The part of a container that knows what persistent ids mean.
pub(crate) trait PersistentLoad {
    /// Resolves the persistent id `pid`, or says why it cannot be.
    fn load(&mut self, arena: &Arena<'_>, pid: Value) -> Result<Persistent, Error>;

    /// Where a device-carrying rebuild function's tensor goes.
    fn map_device(&self, device: Device) -> Result<Device, Error>;
}

/// Options of a build that all containers share.
#[derive(Debug, Clone)]
pub(crate) struct BuildOptions {
    pub(crate) encoding: Encoding,
    pub(crate) keep_going: bool,
    pub(crate) validate_sparse: bool,
    pub(crate) limits: Limits,
    /// How many pickles this one is nested in (`torch.storage._load_from_bytes`).
    pub(crate) depth: usize,
    pub(crate) budget: Budget,
    /// Reads the storage that a legacy stream inside this pickle consists of.
    pub(crate) nested_stream: fn(Vec<u8>, BuildOptions) -> Result<TypedStorage, Error>,
}

/// Turns one pickle into objects.
pub(crate) struct Builder<'b, 'p, L> {
    arena: &'b Arena<'p>,
    persistent: &'b mut L,
    options: BuildOptions,
    known: FxHashMap<Value, Known>,
    resolved: Vec<Resolved>,
    tensors: Vec<tensors::Rebuilt>,
    persistents: Vec<Persistent>,
    problems: Vec<Error>,
    /// Storages that tables of indices or sizes were read from.
    tables: FxHashSet<usize>,
}

/// What the first pass made of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolved {
    Nothing,
    Tensor(u32),
    Persistent(u32),
    /// It failed, and the failure was kept as a problem.
    Failed,
}

impl<'b, 'p, L: PersistentLoad> Builder<'b, 'p, L> {
    pub(crate) fn new(arena: &'b Arena<'p>, persistent: &'b mut L, options: BuildOptions) -> Self {
        Builder {
            arena,
            persistent,
            options,
            known: FxHashMap::default(),
            resolved: vec![Resolved::Nothing; arena.len()],
            tensors: Vec::new(),
            persistents: Vec::new(),
            problems: Vec::new(),
            tables: FxHashSet::default(),
        }
    }

    /// Builds the objects that `root` reaches.
    pub(crate) fn build(mut self, root: Value) -> Result<Built, Error> {
        self.rebuild_tensors()?;
        objects::build(self, root)
    }

    /// Builds the tensors alone.
    pub(crate) fn build_tensors(mut self) -> Result<FxHashMap<Value, Tensor>, Error> {
        self.rebuild_tensors()?;
        let tensors = self.arena.values().filter_map(|value| match self.resolved[value.index()] {
            Resolved::Tensor(at) => Some((value, self.tensors[at as usize].tensor.clone())),
            _ => None,
        });
        Ok(tensors.collect())
    }

    /// The first pass: every storage and tensor, in the order they were made.
    fn rebuild_tensors(&mut self) -> Result<(), Error> {
        for value in self.arena.values() {
            let outcome = match self.arena.node(value) {
                PickleNode::Global(global) => {
                    self.options.budget.take(global.module.len() + global.name.len())?;
                    let (module, name) = crate::python2_names::modern(&global.module, &global.name);
                    if let Some(known) = Known::find(&module, &name) {
                        self.known.insert(value, known);
                    }
                    Ok(())
                }
                PickleNode::PersistentId(_) => self.persistent(value).map(|_| ()),
                PickleNode::Call(call) => match self.known.get(&call.callable) {
                    Some(Known::Rebuild(rebuild)) if self.is_foreign(*rebuild, call.args) => Ok(()),
                    Some(Known::Rebuild(_) | Known::TensorClass(_) | Known::Parameter) => {
                        self.tensor(value).map(|_| ())
                    }
                    Some(Known::LoadFromBytes) => self.persistent(value).map(|_| ()),
                    _ => Ok(()),
                },
                _ => Ok(()),
            };
            if let Err(error) = outcome {
                let error = error.at(self.arena.offset(value));
                if !self.goes_on_after(&error) {
                    return Err(error);
                }
                self.resolved[value.index()] = Resolved::Failed;
                self.problems.push(error.shortened());
            }
        }
        Ok(())
    }

    /// Whether an error is one to note rather than the end. Its text may quote shared parts, so it is
    /// paid for.
    fn goes_on_after(&self, error: &Error) -> bool {
        self.options.keep_going
            && error.kind() != ErrorKind::Refused
            && self.options.budget.take(error.message().len()).is_ok()
    }

    fn persistent(&mut self, value: Value) -> Result<&Persistent, Error> {
        if let Resolved::Persistent(at) = self.resolved[value.index()] {
            return Ok(&self.persistents[at as usize]);
        }
        let loaded = match self.arena.node(value) {
            PickleNode::PersistentId(pid) => self.persistent.load(self.arena, *pid)?,
            PickleNode::Call(call) => self.load_from_bytes(call.args)?,
            _ => return Err(self.wrong(value, "a storage")),
        };
        if let Persistent::Class { source: Some(source), .. } = &loaded {
            let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            self.options.budget.take(len(&source.0) + len(&source.1))?;
        }
        let at = self.persistents.len() as u32;
        self.persistents.push(loaded);
        self.resolved[value.index()] = Resolved::Persistent(at);
        Ok(&self.persistents[at as usize])
    }

    /// `torch.storage._load_from_bytes`: what plain pickling does with a storage.
    fn load_from_bytes(&mut self, args: Value) -> Result<Persistent, Error> {
        const MAX_DEPTH: usize = 4;
        /// What reading a byte of a pickle takes.
        const NESTED_COST: usize = 8;
        if self.options.depth >= MAX_DEPTH {
            let message = "storages are pickled inside storages too deeply";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let args = self.args(args, "torch.storage._load_from_bytes")?;
        let bytes = args.bytes(0)?;
        self.options.budget.take(bytes.len().saturating_mul(NESTED_COST))?;
        let options = BuildOptions { depth: self.options.depth + 1, ..self.options.clone() };
        (self.options.nested_stream)(bytes.into_owned(), options).map(Persistent::Storage)
    }

    /// A class reference by its modern name.
    fn class_ref(&self, value: Value) -> Option<ClassRef> {
        let (module, name) = self.arena.global(value)?;
        let (module, name) = crate::python2_names::modern(module, name);
        Some(ClassRef { module: (*module).into(), name: (*name).into(), source: None })
    }

    /// `found` where `wanted` should be.
    fn wrong(&self, found: Value, wanted: &str) -> Error {
        let what = args::describe(self.arena, found);
        Error::new(ErrorKind::Malformed, format!("expected {wanted}, found {what}"))
            .at(self.arena.offset(found))
    }
}
