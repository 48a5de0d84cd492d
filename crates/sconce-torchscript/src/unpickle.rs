//! From a pickle of an archive to its values: what PyTorch's C++ unpickler makes of it.
//!
//! The pickle machine and the tensors' rebuild functions are those of checkpoints; here their inert
//! calls become objects of the program's classes. A worklist, not recursion: a value gets its id
//! when it is first reached and its contents later, so depth and cycles cost nothing.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_archive::Archive;
use sconce_checkpoint::{ErrorKind, LoadOptions, pickle_limits, pickled_tensors};
use sconce_ir::{ClassId, Constant, Type};
use sconce_pickle::{Arena, Call, CallKind, Node, Value as PickleValue};
use sconce_tensor::{Device, Tensor};

use crate::Error;
use crate::importer::Program;
use crate::values::{Object, Value, ValueId, Values};

/// Reads the pickle `record` of an archive, whose storages are under `prefix`, into `values`.
pub(crate) fn read(
    archive: &Arc<Archive>,
    record: &str,
    prefix: &str,
    program: &mut Program,
    values: &mut Values,
    map_location: Option<&Device>,
) -> Result<ValueId, Error> {
    read_with_table(archive, record, prefix, program, values, map_location, &[])
}

/// The same, where tensors are named by their index in a table (before 1.4).
pub(crate) fn read_with_table(
    archive: &Arc<Archive>,
    record: &str,
    prefix: &str,
    program: &mut Program,
    values: &mut Values,
    map_location: Option<&Device>,
    table: &[ValueId],
) -> Result<ValueId, Error> {
    let place = Place { archive, record, prefix, map_location, table };
    let (ids, ()) = read_selected(place, program, values, |_, root| Ok((vec![root], ())))?;
    ids.first().copied().ok_or_else(|| Error::malformed("an empty pickle").in_record(record))
}

/// Where a pickle is, and what it needs beside it.
pub(crate) struct Place<'p> {
    /// The archive.
    pub(crate) archive: &'p Arc<Archive>,
    /// The record in it.
    pub(crate) record: &'p str,
    /// The folder of its storages.
    pub(crate) prefix: &'p str,
    /// The device that its tensors are said to be on.
    pub(crate) map_location: Option<&'p Device>,
    /// What tensors are named by that have a number.
    pub(crate) table: &'p [ValueId],
}

/// Reads some values of a pickle, which `select` finds, and gives what it gives beside them.
pub(crate) fn read_selected<T>(
    place: Place<'_>,
    program: &mut Program,
    values: &mut Values,
    select: impl FnOnce(&Arena<'_>, PickleValue) -> Result<(Vec<PickleValue>, T), Error>,
) -> Result<(Vec<ValueId>, T), Error> {
    let Place { archive, record, prefix, map_location, table } = place;
    let (bytes, stored) = archive.read_to_parse(record)?;
    let result = (|| {
        check_start(&bytes)?;
        let limits = archive.directory().limits();
        let loaded = sconce_pickle::load(&bytes, &pickle_limits(limits, stored))?;
        let options = LoadOptions::new().limits(limits.clone());
        let (arena, len) = (&loaded.arena, bytes.len());
        let tensors = pickled_tensors(archive, arena, prefix, len, stored, &options)?;
        let (selected, beside) = select(arena, loaded.root)?;
        let mut reader = Reader {
            arena: &loaded.arena,
            tensors,
            program,
            values,
            map_location,
            table,
            ids: FxHashMap::default(),
            empty_tuple: None,
            queue: Vec::new(),
        };
        let ids = reader.reach_all(&selected);
        reader.fill()?;
        Ok((ids, beside))
    })();
    result.map_err(|error: Error| error.in_record(record))
}

/// The C++ unpickler takes protocol 2 and nothing else.
fn check_start(bytes: &[u8]) -> Result<(), Error> {
    match bytes {
        [0x80, 2, ..] => Ok(()),
        [0x80, protocol, ..] => Err(Error::malformed(format!(
            "Only Pickle protocol 2 is supported, found protocol = {protocol}"
        ))),
        [first, ..] => Err(Error::malformed(format!(
            "Expected PROTO opcode at the start of pickle archive, found {first}"
        ))),
        [] => Err(Error::malformed("the pickle is empty")),
    }
}

struct Reader<'r, 'p> {
    arena: &'r Arena<'p>,
    tensors: FxHashMap<PickleValue, Tensor>,
    program: &'r mut Program,
    values: &'r mut Values,
    map_location: Option<&'r Device>,
    table: &'r [ValueId],
    ids: FxHashMap<PickleValue, ValueId>,
    /// All empty tuples of a pickle are one, as PyTorch's unpickler has it.
    empty_tuple: Option<ValueId>,
    queue: Vec<(PickleValue, ValueId)>,
}

impl Reader<'_, '_> {
    /// Reads the contents of everything that was reached.
    fn fill(&mut self) -> Result<(), Error> {
        while let Some((value, id)) = self.queue.pop() {
            let at = self.arena.offset(value);
            *self.values.get_mut(id) = self.read(value).map_err(|error| error.at(at))?;
        }
        Ok(())
    }

    /// The id of a pickled value; its contents come when the queue gets there.
    fn reach(&mut self, value: PickleValue) -> ValueId {
        let is_empty_tuple = self.arena.tuple(value).is_some_and(<[PickleValue]>::is_empty);
        let known = if is_empty_tuple { self.empty_tuple } else { None };
        if let Some(id) = known.or_else(|| self.ids.get(&value).copied()) {
            return id;
        }
        let id = self.values.push(Value::None);
        if is_empty_tuple {
            self.empty_tuple = Some(id);
        }
        self.ids.insert(value, id);
        self.queue.push((value, id));
        id
    }

    fn reach_all(&mut self, values: &[PickleValue]) -> Vec<ValueId> {
        values.iter().map(|&value| self.reach(value)).collect()
    }

    fn read(&mut self, value: PickleValue) -> Result<Value, Error> {
        let arena = self.arena;
        if let Some(tensor) = self.tensors.get(&value) {
            return Ok(Value::Tensor(self.placed(tensor.clone())));
        }
        Ok(match arena.node(value) {
            Node::None => Value::None,
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(value) => Value::Int(*value),
            Node::Float(value) => Value::Float(*value),
            Node::Str(text) => Value::Str(Arc::from(&**text)),
            Node::Tuple(_) => {
                let items = arena.tuple(value).unwrap_or_default();
                Value::Tuple(self.reach_all(items))
            }
            Node::List(items) => Value::List { element: Type::Any, items: self.reach_all(items) },
            Node::Dict(_) => self.dict(value, Type::Any, Type::Any),
            Node::Global(_) => self.global(value)?,
            Node::Call(call) => self.call(call)?,
            other => {
                return Err(Error::malformed(format!(
                    "Unknown opcode for unpickling: TorchScript has no {}",
                    other.type_name()
                )));
            }
        })
    }

    fn placed(&self, tensor: Tensor) -> Tensor {
        match self.map_location {
            Some(device) if !tensor.device().is_meta() => tensor.with_device(device.clone()),
            _ => tensor,
        }
    }

    fn dict(&mut self, value: PickleValue, key: Type, of: Type) -> Value {
        let Node::Dict(pairs) = self.arena.node(value) else { return Value::None };
        let entries = pairs.iter().map(|&(key, value)| (self.reach(key), self.reach(value)));
        Value::Dict { key, value: of, entries: entries.collect() }
    }

    /// A global that stands for itself: dtypes and quantization schemes are ints.
    fn global(&mut self, value: PickleValue) -> Result<Value, Error> {
        let (module, name) = self.arena.global(value).unwrap_or_default();
        if module == "torch" {
            if let Some(dtype) = sconce_tensor::DType::from_storage_class(name) {
                return Ok(Value::Int(i64::from(dtype.scalar_type_number())));
            }
            if let Some(scheme) = QSCHEMES.iter().position(|scheme| *scheme == name) {
                return Ok(Value::Int(scheme as i64));
            }
            let message = format!("Unpickler found unknown torch global, 'torch.{name}'");
            return Err(Error::malformed(message));
        }
        Err(Error::malformed(format!("{module}.{name} stands where a value should")))
    }

    fn call(&mut self, call: &Call) -> Result<Value, Error> {
        let Some((module, name)) = self.arena.global(call.callable) else {
            return Err(Error::malformed("something that is not a class is called"));
        };
        match (module, name) {
            ("torch.jit._pickle", "restore_type_tag") => self.tagged(call),
            ("torch.jit._pickle", "build_intlist") => self.specialised(call, Type::Int),
            ("torch.jit._pickle", "build_doublelist") => self.specialised(call, Type::Float),
            ("torch.jit._pickle", "build_boollist") => self.specialised(call, Type::Bool),
            ("torch.jit._pickle", "build_tensorlist") => self.specialised(call, Type::Tensor),
            ("__main__", "IntList") => self.specialised(call, Type::Int),
            ("__main__", "TensorID") | ("torch.jit._pickle", "build_tensor_from_id") => {
                self.entry_of_table(call)
            }
            ("builtins", "complex") => match self.arguments(call)? {
                [re, im] => Ok(Value::Complex(self.float(*re)?, self.float(*im)?)),
                _ => Err(Error::malformed("complex takes two floats")),
            },
            ("torch", "device") => match self.arguments(call)? {
                [text] => Ok(Value::Device(Arc::from(self.text(*text)?))),
                _ => Err(Error::malformed("torch.device takes one string")),
            },
            ("collections", "OrderedDict") => Ok(Value::None),
            ("torch.distributed.rpc", "rref") => Err(Error::new(
                ErrorKind::Unsupported,
                "the archive holds an RRef, which only the process that wrote it could follow",
            )),
            _ => self.instance(call, &format!("{module}.{name}")),
        }
    }

    fn arguments(&self, call: &Call) -> Result<&[PickleValue], Error> {
        let arguments = self.arena.tuple(call.args);
        arguments.ok_or_else(|| Error::malformed("arguments that are no tuple"))
    }

    fn text(&self, value: PickleValue) -> Result<&str, Error> {
        self.arena.str(value).ok_or_else(|| Error::malformed("expected a string"))
    }

    fn float(&self, value: PickleValue) -> Result<f64, Error> {
        match self.arena.node(value) {
            Node::Float(value) => Ok(*value),
            _ => Err(Error::malformed("expected a float")),
        }
    }

    /// `build_intlist([…])` and its like.
    fn specialised(&mut self, call: &Call, element: Type) -> Result<Value, Error> {
        let [list] = self.arguments(call)? else {
            return Err(Error::malformed("a list is built of one argument"));
        };
        match self.arena.node(*list) {
            Node::List(items) => Ok(Value::List { element, items: self.reach_all(items) }),
            _ => Err(Error::malformed("a list is built of something that is not a list")),
        }
    }

    /// `build_tensor_from_id(3)`
    fn entry_of_table(&self, call: &Call) -> Result<Value, Error> {
        let index = match self.arena.tuple(call.args) {
            Some([index]) => *index,
            _ => call.args,
        };
        let Node::Int(index) = self.arena.node(index) else {
            return Err(Error::malformed("a tensor's number is no int"));
        };
        let entry = usize::try_from(*index).ok().and_then(|index| self.table.get(index));
        match entry {
            Some(&id) => Ok(self.values.get(id).clone()),
            None => Err(Error::malformed(format!("there is no tensor {index} in the table"))),
        }
    }

    /// `restore_type_tag(value, "List[str]")`
    fn tagged(&mut self, call: &Call) -> Result<Value, Error> {
        let &[value, tag] = self.arguments(call)? else {
            return Err(Error::malformed("restore_type_tag takes a value and a type"));
        };
        let arena = self.arena;
        let tag = arena.str(tag).ok_or_else(|| Error::malformed("a type tag is no text"))?;
        let ty = self.program.parse_type(tag)?;
        match (self.arena.node(value), ty) {
            (Node::List(items), Type::List(element)) => {
                Ok(Value::List { element: (*element).clone(), items: self.reach_all(items) })
            }
            (Node::Dict(_), Type::Dict(of)) => Ok(self.dict(value, of.0.clone(), of.1.clone())),
            _ => self.read_flat(value),
        }
    }

    /// A tagged value that is neither list nor dict.
    fn read_flat(&mut self, value: PickleValue) -> Result<Value, Error> {
        match self.arena.node(value) {
            Node::Call(_) => Err(Error::malformed("a type tag stands on a call")),
            _ => self.read(value),
        }
    }

    /// An object of a class, or a member of an enum.
    fn instance(&mut self, call: &Call, class: &str) -> Result<Value, Error> {
        let ty = self.program.resolve_type(class)?;
        match &ty {
            Type::Class(class) => {
                let class = ClassId(class.id);
                match (call.kind, call.updates().states.as_slice()) {
                    (CallKind::NewObj, [state]) => self.object(class, *state),
                    (CallKind::Reduce, []) => match self.arena.tuple(call.args) {
                        Some([state]) => self.object(class, *state),
                        _ => self.object(class, call.args),
                    },
                    _ => Err(Error::malformed(format!("an object of {ty} without its state"))),
                }
            }
            Type::Enum(members) => {
                let value = match self.arena.tuple(call.args) {
                    Some([value]) => *value,
                    _ => call.args,
                };
                let wanted = self.plain(value);
                let found =
                    members.members.iter().position(|(_, value)| Some(value) == wanted.as_ref());
                let member = found.ok_or_else(|| {
                    Error::malformed(format!("no member of {} has the saved value", members.name))
                })?;
                Ok(Value::Enum(ty.clone(), member as u32))
            }
            _ => Err(Error::malformed(format!("{class} is not a class"))),
        }
    }

    fn plain(&self, value: PickleValue) -> Option<Constant> {
        Some(match self.arena.node(value) {
            Node::Int(value) => Constant::Int(*value),
            Node::Float(value) => Constant::Float(*value),
            Node::Str(text) => Constant::Str(Arc::from(&**text)),
            Node::Bool(value) => Constant::Bool(*value),
            _ => return None,
        })
    }

    /// Attributes are taken from the state by name; a class with `__setstate__` keeps the state.
    fn object(&mut self, class: ClassId, state: PickleValue) -> Result<Value, Error> {
        if self.program.has_setstate(class) {
            let state = Some(self.reach(state));
            return Ok(Value::Object(Object { class, slots: Vec::new(), state }));
        }
        let Node::Dict(entries) = self.arena.node(state) else {
            return Err(Error::malformed("the state of an object is not a dict"));
        };
        let arena = self.arena;
        let mut by_name: FxHashMap<&str, PickleValue> = FxHashMap::default();
        for &(key, value) in entries {
            let key = arena.str(key).ok_or_else(|| Error::malformed("expected a string"))?;
            by_name.insert(key, value);
            self.program.attribute_of_state(class, key);
        }
        let names: Vec<Arc<str>> = self.program.attribute_names(class);
        let mut slots = Vec::with_capacity(names.len());
        for name in names {
            let Some(&value) = by_name.get(&*name) else {
                return Err(Error::malformed(format!(
                    "the saved state of an object of {} has no attribute '{name}'",
                    self.program.unit.class(class).name
                )));
            };
            slots.push(self.reach(value));
        }
        Ok(Value::Object(Object { class, slots, state: None }))
    }
}

/// Quantization schemes by number.
const QSCHEMES: [&str; 5] = [
    "per_tensor_affine",
    "per_channel_affine",
    "per_tensor_symmetric",
    "per_channel_symmetric",
    "per_channel_affine_float_qparams",
];
