//! From objects to the values that Python's pickler would meet.

use std::collections::{HashMap, HashSet};

use sconce_pickle::{Arena, ArenaBuilder, BuildError, Value};
use sconce_tensor::{DType, Storage};

use super::clash::Clash;
use crate::object::{
    ArrayData, ClassRef, Construction, Dict, DictKind, Instance, Node, Object, ObjectId,
};
use crate::{Error, ErrorKind};

/// A pickle's values, and the storages that it names by their place in the list.
pub(super) struct Lowered<'c> {
    pub(super) arena: Arena<'c>,
    pub(super) root: Value,
    pub(super) storages: Vec<Saved>,
}

impl Lowered<'_> {
    /// The bytes of all storages together.
    pub(super) fn data_len(&self) -> u64 {
        let sizes = self.storages.iter().map(|saved| saved.storage.nbytes());
        sizes.fold(0, u64::saturating_add)
    }
}

/// A storage, and the element type that it was first met under.
pub(super) struct Saved {
    pub(super) storage: Storage,
    pub(super) dtype: DType,
}

/// What the file around the pickle asks of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Form {
    /// Persistent ids as the stream before 1.6 has them.
    pub(super) legacy: bool,
    /// Only the sizes of storages are written.
    pub(super) skip_data: bool,
    /// Elements are written in big-endian order.
    pub(super) swapped: bool,
    /// What the pickle's protocol is: some objects say other things to others.
    pub(super) protocol: u8,
}

/// What is still to be done, depth first in the order in which Python pickles: storages get their
/// keys in that order. Nothing recurses: objects may be nested without end.
enum Task {
    /// Make the object's value.
    Make(ObjectId),
    /// Make it now that the parts it is made of are there.
    Finish(ObjectId),
    /// Put into a mutable object what it holds, now that that is there.
    Fill(ObjectId),
}

pub(super) struct Lower<'c> {
    pub(super) values: ArenaBuilder<'c>,
    root: Object<'c>,
    made: Vec<Option<Value>>,
    /// Objects with keyword arguments that were come upon.
    begun: HashSet<ObjectId>,
    /// CPython has one object for the empty bytes and for each single byte.
    short_bytes: HashMap<&'c [u8], Value>,
    constants: HashMap<&'static str, Value>,
    dtypes: HashMap<&'static str, Value>,
    module_of_dtypes: Option<Value>,
    layouts: HashMap<&'static str, Value>,
    pub(super) numpy: OwnDTypes,
    pub(super) sources: Sources<'c>,
    pub(super) form: Form,
    storages: Vec<Saved>,
    /// By identity.
    known: HashMap<usize, StorageKey>,
}

/// The classes of modules whose source is in the pickle already.
#[derive(Default)]
pub(super) struct Sources<'c> {
    pub(super) written: HashSet<Value>,
    /// Python has one str for the path of a file, whatever class of it is asked for.
    pub(super) files: HashMap<&'c str, Value>,
}

/// numpy's own dtypes, of numbers in the machine's byte order, by kind and size: each is one object.
/// Arrays that are read have the copies that their pickle says.
pub(super) type OwnDTypes = HashMap<(char, u64), Value>;

/// How a storage was first saved.
#[derive(Clone, Copy)]
struct StorageKey {
    /// The str that names it.
    key: Value,
    /// Its place in the list.
    at: usize,
    dtype: DType,
}

/// Lowers the object and all that it reaches.
pub(super) fn lower(root: Object<'_>, form: Form) -> Result<Lowered<'_>, Error> {
    let mut lower = Lower {
        values: ArenaBuilder::new(),
        root,
        made: Vec::new(),
        begun: HashSet::new(),
        short_bytes: HashMap::new(),
        constants: HashMap::new(),
        dtypes: HashMap::new(),
        module_of_dtypes: None,
        layouts: HashMap::new(),
        numpy: OwnDTypes::default(),
        sources: Sources::default(),
        form,
        storages: Vec::new(),
        known: HashMap::new(),
    };
    let value = lower.run(root.id())?;
    Ok(Lowered { arena: lower.values.finish(), root: value, storages: lower.storages })
}

/// Says the builder's complaint.
pub(super) fn unpicklable(error: BuildError) -> Error {
    Error::new(ErrorKind::Unsupported, error.to_string())
}

impl<'c> Lower<'c> {
    fn object(&self, id: ObjectId) -> Object<'c> {
        self.root.other(id)
    }

    fn made(&self, id: ObjectId) -> Option<Value> {
        self.made.get(id.index()).copied().flatten()
    }

    fn note(&mut self, id: ObjectId, value: Value) {
        if self.made.len() <= id.index() {
            self.made.resize(id.index() + 1, None);
        }
        self.made[id.index()] = Some(value);
    }

    pub(super) fn get(&mut self, id: ObjectId) -> Result<Value, Error> {
        let value = self.made(id).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "an object holds itself in a way pickles cannot say")
        })?;
        Ok(self.use_of(id, value))
    }

    /// The value of an object in a place where it is used: the class of a module brings its source
    /// along, the first time, in files that hold sources.
    fn use_of(&mut self, id: ObjectId, value: Value) -> Value {
        match self.object(id).data() {
            Node::Class(class) if self.form.legacy => self.module_class(class, value),
            _ => value,
        }
    }

    fn gets(&mut self, ids: &[ObjectId]) -> Result<Vec<Value>, Error> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    /// The value of `id`, with everything below it.
    fn run(&mut self, id: ObjectId) -> Result<Value, Error> {
        let mut tasks = vec![Task::Make(id)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Make(id) | Task::Finish(id) if self.made(id).is_some() => {}
                Task::Make(id) => {
                    self.begin(id)?;
                    let parts = self.parts(id);
                    if parts.is_empty() {
                        self.make(id, &mut tasks)?;
                        continue;
                    }
                    if let Node::Tensor(object) = self.object(id).data() {
                        // Its storage comes before what its attributes hold.
                        self.reduce_storage(&object.tensor)?;
                    }
                    tasks.push(Task::Finish(id));
                    tasks.extend(parts.into_iter().rev().map(Task::Make));
                }
                Task::Finish(id) => self.make(id, &mut tasks)?,
                Task::Fill(id) => self.fill(id)?,
            }
        }
        self.get(id)
    }

    /// What a mutable object holds, in the order in which Python pickles it.
    fn contents(&self, id: ObjectId) -> Vec<ObjectId> {
        let flat = |entries: &[(ObjectId, ObjectId)]| {
            entries.iter().flat_map(|&(key, value)| [key, value]).collect::<Vec<_>>()
        };
        match self.object(id).data() {
            Node::List(items) | Node::Set(items) => items.clone(),
            Node::Dict(dict) => {
                let mut out = flat(dict.entries());
                out.extend(dict.state);
                out
            }
            Node::Instance(instance) => {
                let mut out = instance.items.clone();
                out.extend(flat(&instance.entries));
                out.extend(&instance.states);
                out
            }
            Node::Array(array) => match array.data {
                ArrayData::Objects { items, .. } => vec![items],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The objects that an object cannot be made without.
    fn parts(&self, id: ObjectId) -> Vec<ObjectId> {
        let missing = |ids: &[ObjectId]| {
            ids.iter().copied().filter(|&id| self.made(id).is_none()).collect::<Vec<_>>()
        };
        match self.object(id).data() {
            Node::Tuple(items) | Node::FrozenSet(items) => missing(items),
            Node::Instance(instance) => missing(&self.parts_of_call(instance)),
            Node::Dict(dict) => missing(dict.factory.as_slice()),
            Node::Array(array) => {
                let described = &array.described;
                missing(&described.class.into_iter().chain(described.dtype).collect::<Vec<_>>())
            }
            Node::Scalar(array) => {
                let mut parts: Vec<_> = array.described.dtype.into_iter().collect();
                // The one array that a scalar of objects is held in.
                if let ArrayData::Objects { items, .. } = array.data {
                    parts.push(items);
                }
                missing(&parts)
            }
            Node::Tensor(object) => missing(object.state.as_slice()),
            _ => Vec::new(),
        }
    }

    /// What an instance is made by; where keyword arguments go through functools.partial, that has
    /// copies of the tuple and the dict.
    fn parts_of_call(&self, instance: &Instance) -> Vec<ObjectId> {
        let mut parts = vec![instance.callable];
        let contents = |id: ObjectId| match self.object(id).data() {
            Node::Tuple(items) => items.clone(),
            _ => self.contents(id),
        };
        match instance.kwargs {
            Some(kwargs) if self.form.protocol < 4 => {
                parts.extend(contents(instance.args));
                parts.extend(contents(kwargs));
            }
            kwargs => {
                parts.push(instance.args);
                parts.extend(kwargs);
            }
        }
        parts
    }

    /// Refuses objects that their own keyword arguments hold, where functools.partial would have to
    /// be called before it has those. Python writes the arguments once more then.
    fn begin(&mut self, id: ObjectId) -> Result<(), Error> {
        let Node::Instance(instance) = self.object(id).data() else { return Ok(()) };
        if instance.kwargs.is_none() || self.form.protocol >= 4 || self.begun.insert(id) {
            return Ok(());
        }
        let message = "an object that its own keyword arguments hold cannot be written before \
                       protocol 4";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    fn make(&mut self, id: ObjectId, tasks: &mut Vec<Task>) -> Result<(), Error> {
        let object = self.object(id);
        let value = match object.data() {
            Node::None => self.values.none(),
            Node::Bool(truth) => self.values.bool(*truth),
            Node::Int(number) => self.values.int(*number),
            Node::BigInt(number) => self.values.big_int((**number).clone()),
            Node::Float(number) => self.values.float(*number),
            Node::Complex(re, im) => {
                let parts = [self.values.float(*re), self.values.float(*im)];
                self.call("builtins", "complex", &parts)?
            }
            Node::Str(text) => self.text(text),
            Node::SurrogateStr(bytes) => self.values.surrogate_str(bytes).map_err(unpicklable)?,
            Node::Bytes(bytes) => self.bytes(bytes),
            Node::ByteArray(bytes) => self.values.bytearray(&bytes[..]),
            Node::Tuple(items) => {
                let items = self.gets(items)?;
                self.values.tuple(&items)
            }
            Node::FrozenSet(items) => {
                let items = self.gets(items)?;
                self.values.frozenset(&items).map_err(unpicklable)?
            }
            Node::List(_) => self.values.list(Vec::new()),
            Node::Set(_) => self.values.set(Vec::new()).map_err(unpicklable)?,
            Node::Dict(dict) => self.empty_dict(dict)?,
            Node::Tensor(found) => self.tensor(found)?,
            Node::Storage(found) => self.storage(&found.storage, Some(found.dtype))?,
            Node::DType(dtype) => self.dtype(*dtype)?,
            Node::QScheme(name) => self.values.global("torch", &**name),
            Node::Size(dims) => self.size(dims)?,
            Node::Device(device) => self.device(device)?,
            Node::Layout(layout) => self.layout(*layout)?,
            Node::Array(array) => self.array(array)?,
            Node::Scalar(array) => self.scalar(array)?,
            Node::Class(class) => self.class(class),
            Node::Instance(instance) => self.instance(instance)?,
        };
        self.note(id, value);
        let contents = self.contents(id);
        if !contents.is_empty() {
            tasks.push(Task::Fill(id));
            tasks.extend(contents.into_iter().rev().map(Task::Make));
        }
        Ok(())
    }

    /// Puts into a mutable object what it holds.
    fn fill(&mut self, id: ObjectId) -> Result<(), Error> {
        let value = self.get(id)?;
        let object = self.object(id);
        match object.data() {
            Node::List(items) | Node::Set(items) => self.append(value, items),
            Node::Dict(dict) => {
                match dict.kind {
                    DictKind::Counter => {
                        // Its one argument is the dict that has the entries.
                        let inner = self.counted(value)?;
                        self.set_items(inner, dict.entries())?;
                    }
                    _ => self.set_items(value, dict.entries())?,
                }
                self.states(value, dict.state.as_slice())
            }
            Node::Instance(instance) => {
                self.append(value, &instance.items)?;
                self.set_items(value, &instance.entries)?;
                self.states(value, &instance.states)
            }
            Node::Array(array) => self.array_state(value, array),
            _ => Ok(()),
        }
    }

    fn append(&mut self, target: Value, items: &[ObjectId]) -> Result<(), Error> {
        let items = self.gets(items)?;
        if items.is_empty() {
            return Ok(());
        }
        self.values.append(target, &items).map_err(unpicklable)
    }

    fn set_items(&mut self, target: Value, entries: &[(ObjectId, ObjectId)]) -> Result<(), Error> {
        let mut pairs = Vec::with_capacity(entries.len());
        for &(key, value) in entries {
            pairs.push((self.get(key)?, self.get(value)?));
        }
        if pairs.is_empty() {
            return Ok(());
        }
        self.values.set_items(target, &pairs).map_err(unpicklable)
    }

    fn states(&mut self, target: Value, states: &[ObjectId]) -> Result<(), Error> {
        for &state in states {
            let state = self.get(state)?;
            self.values.build(target, state).map_err(unpicklable)?;
        }
        Ok(())
    }

    /// `module.name(*args)`
    pub(super) fn call(
        &mut self,
        module: &'static str,
        name: &'static str,
        args: &[Value],
    ) -> Result<Value, Error> {
        let function = self.values.global(module, name);
        let args = self.values.tuple(args);
        self.values.reduce(function, args).map_err(unpicklable)
    }

    /// A str of the user's: CPython's unpickler has one object for the empty str and for each str of
    /// one Latin-1 character.
    pub(super) fn text(&mut self, text: &'c str) -> Value {
        if text.is_empty() {
            return self.constant("");
        }
        let mut chars = text.chars();
        match (chars.next().map(u8::try_from), chars.next()) {
            (Some(Ok(character)), None) => self.values.char(character),
            _ => self.values.str(text),
        }
    }

    /// A bytes object.
    pub(super) fn bytes(&mut self, bytes: &'c [u8]) -> Value {
        if bytes.len() > 1 {
            return self.values.bytes(bytes);
        }
        let values = &mut self.values;
        *self.short_bytes.entry(bytes).or_insert_with(|| values.bytes(bytes))
    }

    /// A `torch.dtype`. What it gives for the name of its module is one str for all of them, but none
    /// of those that Python's code has.
    pub(super) fn dtype(&mut self, dtype: DType) -> Result<Value, Error> {
        if let Some(&known) = self.dtypes.get(dtype.name()) {
            return Ok(known);
        }
        let module = match self.module_of_dtypes {
            Some(module) => module,
            None => self.values.str("torch"),
        };
        self.module_of_dtypes = Some(module);
        let name = self.values.str(dtype.name());
        let value = self.values.global_named(module, name).map_err(unpicklable)?;
        self.dtypes.insert(dtype.name(), value);
        Ok(value)
    }

    /// A str that Python makes anew each time.
    pub(super) fn fresh_text(&mut self, text: String) -> Value {
        self.values.str(text)
    }

    /// A str that stands in PyTorch's own code: one object wherever it is used.
    pub(super) fn constant(&mut self, text: &'static str) -> Value {
        let values = &mut self.values;
        *self.constants.entry(text).or_insert_with(|| values.str(text))
    }

    pub(super) fn layout(&mut self, layout: sconce_tensor::Layout) -> Result<Value, Error> {
        if let Some(&known) = self.layouts.get(layout.name()) {
            return Ok(known);
        }
        let name = self.fresh_text(format!("torch.{}", layout.name()));
        let value = self.call("torch.serialization", "_get_layout", &[name])?;
        self.layouts.insert(layout.name(), value);
        Ok(value)
    }

    pub(super) fn class(&mut self, class: &'c ClassRef) -> Value {
        self.values.global(&*class.module, &*class.name)
    }

    /// The key of a storage: its place in the list, in decimal.
    ///
    /// # Errors
    /// When another type was saved over the same bytes before.
    pub(super) fn storage_key(&mut self, storage: &Storage, dtype: DType) -> Result<Value, Error> {
        if let Some(&StorageKey { key, at, dtype: first }) = self.known.get(&storage.id()) {
            if first != dtype && storage.nbytes() > 0 && storage.has_data() {
                let clash = Clash { storage: storage.clone(), first, second: dtype };
                return Err(clash.error(self.root));
            }
            return Ok(match self.form.legacy {
                // There each id has a str of its own.
                true => self.fresh_text(at.to_string()),
                false => key,
            });
        }
        let at = self.storages.len();
        let key = self.fresh_text(at.to_string());
        self.known.insert(storage.id(), StorageKey { key, at, dtype });
        self.storages.push(Saved { storage: storage.clone(), dtype });
        Ok(key)
    }

    fn empty_dict(&mut self, dict: &Dict) -> Result<Value, Error> {
        match dict.kind {
            DictKind::Dict if dict.state.is_none() => {
                self.values.dict(Vec::new()).map_err(unpicklable)
            }
            DictKind::Dict => {
                let message = "a plain dict with attributes cannot be pickled";
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            DictKind::OrderedDict => self.call("collections", "OrderedDict", &[]),
            DictKind::Counter => {
                let inner = self.values.dict(Vec::new()).map_err(unpicklable)?;
                self.call("collections", "Counter", &[inner])
            }
            DictKind::DefaultDict => {
                let factory = match dict.factory {
                    Some(factory) => vec![self.get(factory)?],
                    None => Vec::new(),
                };
                self.call("collections", "defaultdict", &factory)
            }
        }
    }

    /// The dict that a Counter's call has as its argument.
    fn counted(&self, counter: Value) -> Result<Value, Error> {
        let arena = self.values.arena();
        let args = match arena.node(counter) {
            sconce_pickle::Node::Call(call) => arena.tuple(call.args),
            _ => None,
        };
        args.and_then(|args| args.first().copied()).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "a Counter lost the dict it was made from")
        })
    }

    /// What Python writes before protocol 4 for `class.__new__(class, *args, **kwargs)`:
    /// `functools.partial(class.__new__, class, *args, **kwargs)()`, where the partial object is made
    /// of the function alone, and has the state `(function, args, kwargs, attributes)`. The `__new__`
    /// is taken to be the class's own.
    fn new_with_keywords(
        &mut self,
        instance: &Instance,
        class: Value,
        kwargs: ObjectId,
    ) -> Result<Result<Value, BuildError>, Error> {
        let (Node::Class(name), Node::Tuple(args), Node::Dict(kwargs)) = (
            self.object(instance.callable).data(),
            self.object(instance.args).data(),
            self.object(kwargs).data(),
        ) else {
            let message = "an object made with keyword arguments by what is not a class cannot be \
                           pickled before protocol 4";
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let function = self.values.global(&*name.module, format!("{}.__new__", name.name));
        let mut all = vec![class];
        all.extend(self.gets(args)?);
        let all = self.values.tuple(&all);
        let mut pairs = Vec::with_capacity(kwargs.len());
        for &(key, value) in kwargs.entries() {
            pairs.push((self.get(key)?, self.get(value)?));
        }
        let keywords = self.values.dict(pairs).map_err(unpicklable)?;
        let partial = self.call("functools", "partial", &[function])?;
        let no_attributes = self.values.none();
        let state = self.values.tuple(&[function, all, keywords, no_attributes]);
        self.values.build(partial, state).map_err(unpicklable)?;
        let nothing = self.values.tuple(&[]);
        Ok(self.values.reduce(partial, nothing))
    }

    fn instance(&mut self, instance: &'c Instance) -> Result<Value, Error> {
        let callable = self.get(instance.callable)?;
        if let Some(kwargs) = instance.kwargs.filter(|_| self.form.protocol < 4) {
            return self.new_with_keywords(instance, callable, kwargs)?.map_err(unpicklable);
        }
        let args = self.get(instance.args)?;
        let made = match (instance.construction, instance.kwargs) {
            (Construction::New, None) => self.values.new_obj(callable, args),
            (Construction::New, Some(kwargs)) => {
                let kwargs = self.get(kwargs)?;
                self.values.new_obj_ex(callable, args, kwargs)
            }
            (Construction::Call, _) => self.values.reduce(callable, args),
            (Construction::External, _) => {
                let message =
                    "an object that only its writer's process had cannot be written again";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        made.map_err(unpicklable)
    }
}
