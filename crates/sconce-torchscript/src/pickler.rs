//! The writing half of [`unpickle`](crate::unpickle): the bytes of PyTorch's C++ pickler.
//!
//! What that pickler remembers for later is decided by reference counts at the time of saving: a
//! value on the heap that something else holds too is given a memo slot, one that nothing else holds
//! is not. The counts here are those of a module that `torch.jit.load` gave: Python holds every
//! module once more, and everything else is held by what the archive says holds it. Of a module that
//! was made from source, Python holds every tensor too.

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_checkpoint::ErrorKind;
use sconce_ir::{ClassId, Constant, Type, Unit};
use sconce_tensor::{Layout, Quantizer, Storage, Tensor};

use crate::Error;
use crate::names::split;
use crate::opcodes::{Opcodes, op};
use crate::values::{Object, Value, ValueId, Values};

/// A pickle and what goes with it into the archive.
pub(crate) struct Pickled {
    /// The pickle.
    pub(crate) bytes: Vec<u8>,
    /// The storages in order of appearance: records `0`, `1`, …
    pub(crate) storages: Vec<Storage>,
    /// The classes of the objects, each once, an object's before its attributes'.
    pub(crate) classes: Vec<ClassId>,
}

/// Writes the value that stands for a module and everything in it; `is_new` says that it is from
/// source.
pub(crate) fn pickle_object(
    values: &Values,
    unit: &Unit,
    root: ValueId,
    is_new: bool,
) -> Result<Pickled, Error> {
    let mut pickler = Pickler::new(values, unit);
    pickler.is_new = is_new;
    pickler.count(root, true);
    pickler.value(root)?;
    Ok(pickler.stop())
}

/// Writes a tuple of values each of which something else holds too, as the constant table is.
pub(crate) fn pickle_held(
    values: &Values,
    unit: &Unit,
    items: &[ValueId],
) -> Result<Pickled, Error> {
    let mut pickler = Pickler::new(values, unit);
    for &item in items {
        pickler.count(item, true);
    }
    let tuple = pickler.tuple(items);
    pickler.run(tuple)?;
    Ok(pickler.stop())
}

/// Something still to be written.
enum Task {
    Value(ValueId),
    Bytes(&'static [u8]),
    Text(Box<str>),
    Put(ValueId),
}

struct Pickler<'v> {
    values: &'v Values,
    unit: &'v Unit,
    ops: Opcodes,
    storages: Vec<Storage>,
    classes: Vec<ClassId>,
    devices: FxHashMap<Box<str>, u32>,
    memo: FxHashMap<ValueId, u32>,
    storage_memo: FxHashMap<usize, u32>,
    /// How many hold each value.
    counts: FxHashMap<ValueId, u32>,
    counted: FxHashSet<ValueId>,
    seen_classes: FxHashSet<ClassId>,
    /// Whether Python holds the tensors.
    is_new: bool,
    /// Values that are being written.
    open: FxHashSet<ValueId>,
}

impl<'v> Pickler<'v> {
    fn new(values: &'v Values, unit: &'v Unit) -> Self {
        Pickler {
            values,
            unit,
            ops: Opcodes::start(),
            storages: Vec::new(),
            classes: Vec::new(),
            devices: FxHashMap::default(),
            memo: FxHashMap::default(),
            storage_memo: FxHashMap::default(),
            counts: FxHashMap::default(),
            counted: FxHashSet::default(),
            seen_classes: FxHashSet::default(),
            is_new: false,
            open: FxHashSet::default(),
        }
    }

    /// Counts who holds what `root` reaches; `root` itself is held by the caller, and once more when
    /// it is `held` elsewhere.
    fn count(&mut self, root: ValueId, held: bool) {
        *self.counts.entry(root).or_default() += 1 + u32::from(held);
        let mut queue = vec![root];
        while let Some(id) = queue.pop() {
            if !self.counted.insert(id) {
                continue;
            }
            let value = self.values.get(id);
            let holds = match value {
                // Elements of lists of tensors are copied while they are written.
                Value::List { element: Type::Tensor, .. } => 2,
                _ => 1,
            };
            if self.is_new && matches!(value, Value::Tensor(_)) {
                *self.counts.entry(id).or_default() += 1;
            }
            if let Value::Object(object) = value
                && self.unit.class(object.class).is_module
            {
                *self.counts.entry(id).or_default() += 1;
            }
            for child in value.children() {
                *self.counts.entry(child).or_default() += holds;
                queue.push(child);
            }
            // What `__getstate__` gives is held by its call too.
            if let Value::Object(Object { class, state: Some(state), .. }) = value {
                *self.counts.entry(*state).or_default() += 1;
                if self.unit.class(*class).is_torchbind
                    && let Some(bias) = self.last_tensor(*state)
                {
                    *self.counts.entry(bias).or_default() += 1;
                }
            }
        }
    }

    /// The tensor that the state of a custom class ends in: the bias of packed weights, which the
    /// object keeps as it is, while it makes the weights anew for each `__getstate__`.
    fn last_tensor(&self, state: ValueId) -> Option<ValueId> {
        const MAX_DEPTH: usize = 3;
        let mut at = state;
        for _ in 0..MAX_DEPTH {
            if matches!(self.values.get(at), Value::Tensor(_)) {
                return Some(at);
            }
            at = *self.values.get(at).children().last()?;
        }
        None
    }

    fn stop(mut self) -> Pickled {
        self.ops.byte(op::STOP);
        Pickled { bytes: self.ops.bytes, storages: self.storages, classes: self.classes }
    }

    fn device(&mut self, device: &str) {
        if let Some(&memo) = self.devices.get(device) {
            return self.ops.get(memo);
        }
        self.ops.global("torch", "device");
        self.ops.text(device);
        self.ops.ops(&[op::TUPLE1, op::REDUCE]);
        let memo = self.ops.put();
        self.devices.insert(device.into(), memo);
    }

    fn value(&mut self, root: ValueId) -> Result<(), Error> {
        self.run(vec![Task::Value(root)])
    }

    /// Works tasks off, the last first.
    fn run(&mut self, mut tasks: Vec<Task>) -> Result<(), Error> {
        while let Some(task) = tasks.pop() {
            match task {
                Task::Value(id) => self.write(id, &mut tasks)?,
                Task::Bytes(bytes) => self.ops.ops(bytes),
                Task::Text(text) => self.ops.text(&text),
                Task::Put(id) => {
                    let memo = self.ops.put();
                    self.memo.insert(id, memo);
                    self.open.remove(&id);
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, id: ValueId, tasks: &mut Vec<Task>) -> Result<(), Error> {
        let values = self.values;
        let value = values.get(id);
        let on_heap = matches!(
            value,
            Value::Tensor(_)
                | Value::List { .. }
                | Value::Dict { .. }
                | Value::Tuple(_)
                | Value::Enum(..)
                | Value::Object(_)
        );
        if on_heap {
            if let Some(&memo) = self.memo.get(&id) {
                self.ops.get(memo);
                return Ok(());
            }
            // Whatever holds itself is held twice.
            if self.counts.get(&id).is_some_and(|&count| count > 1) {
                if !self.open.insert(id) {
                    return Err(Error::malformed("a value that holds itself cannot be saved"));
                }
                tasks.push(Task::Put(id));
            }
        }
        match value {
            Value::None => self.ops.byte(op::NONE),
            Value::Bool(value) => self.ops.bool(*value),
            Value::Int(value) => self.ops.int(*value),
            Value::Float(value) => self.ops.float(*value),
            Value::Complex(re, im) => {
                self.ops.global("builtins", "complex");
                self.ops.float(*re);
                self.ops.float(*im);
                self.ops.ops(&[op::TUPLE2, op::REDUCE]);
            }
            Value::Str(text) => self.ops.text(text),
            Value::Device(device) => self.device(device),
            Value::Tensor(tensor) => self.tensor(tensor)?,
            Value::Tuple(items) => {
                let written = self.tuple(items);
                tasks.extend(written);
            }
            Value::List { element, items } => self.list(element, items, tasks),
            Value::Dict { key, value, entries } => {
                self.ops.global("torch.jit._pickle", "restore_type_tag");
                self.ops.ops(&[op::EMPTY_DICT, op::MARK]);
                tasks.push(Task::Bytes(&[op::TUPLE2, op::REDUCE]));
                let tag = Type::dict(key.clone(), value.clone());
                tasks.push(Task::Text(tag.annotation().to_string().into()));
                tasks.push(Task::Bytes(&[op::SET_ITEMS]));
                for (key, value) in entries.iter().rev() {
                    tasks.push(Task::Value(*value));
                    tasks.push(Task::Value(*key));
                }
            }
            Value::Enum(ty, member) => self.member(ty, *member)?,
            Value::Object(object) => {
                let class = self.unit.class(object.class);
                if self.seen_classes.insert(object.class) {
                    self.classes.push(object.class);
                }
                let (module, name) = split(&class.name);
                self.ops.global(module, name);
                self.ops.ops(&[op::EMPTY_TUPLE, op::NEW_OBJ]);
                tasks.push(Task::Bytes(&[op::BUILD]));
                if let Some(state) = object.state {
                    tasks.push(Task::Value(state));
                    return Ok(());
                }
                self.ops.ops(&[op::EMPTY_DICT, op::MARK]);
                tasks.push(Task::Bytes(&[op::SET_ITEMS]));
                for (attribute, slot) in class.attributes.iter().zip(&object.slots).rev() {
                    tasks.push(Task::Value(*slot));
                    tasks.push(Task::Text((*attribute.name).into()));
                }
            }
        }
        Ok(())
    }

    fn tuple(&mut self, items: &[ValueId]) -> Vec<Task> {
        let end: &'static [u8] = match items.len() {
            0 => &[op::EMPTY_TUPLE],
            1 => &[op::TUPLE1],
            2 => &[op::TUPLE2],
            3 => &[op::TUPLE3],
            _ => {
                self.ops.byte(op::MARK);
                &[op::TUPLE]
            }
        };
        let mut tasks = vec![Task::Bytes(end)];
        tasks.extend(items.iter().rev().map(|&item| Task::Value(item)));
        tasks
    }

    fn list(&mut self, element: &Type, items: &[ValueId], tasks: &mut Vec<Task>) {
        let builder = match element {
            Type::Int => Some("build_intlist"),
            Type::Float => Some("build_doublelist"),
            Type::Bool => Some("build_boollist"),
            Type::Tensor => Some("build_tensorlist"),
            _ => None,
        };
        match builder {
            Some(builder) => {
                self.ops.global("torch.jit._pickle", builder);
                self.ops.ops(&[op::MARK, op::EMPTY_LIST, op::MARK]);
                tasks.push(Task::Bytes(&[op::APPENDS, op::TUPLE, op::REDUCE]));
            }
            None => {
                self.ops.global("torch.jit._pickle", "restore_type_tag");
                self.ops.ops(&[op::EMPTY_LIST, op::MARK]);
                tasks.push(Task::Bytes(&[op::TUPLE2, op::REDUCE]));
                let tag = Type::list(element.clone());
                tasks.push(Task::Text(tag.annotation().to_string().into()));
                tasks.push(Task::Bytes(&[op::APPENDS]));
            }
        }
        tasks.extend(items.iter().rev().map(|&item| Task::Value(item)));
    }

    fn member(&mut self, ty: &Type, member: u32) -> Result<(), Error> {
        let Type::Enum(members) = ty else { return Ok(()) };
        let (module, name) = split(&members.name);
        self.ops.global(module, name);
        match members.members.get(member as usize).map(|(_, value)| value) {
            Some(Constant::Int(value)) => self.ops.int(*value),
            Some(Constant::Float(value)) => self.ops.float(*value),
            Some(Constant::Str(text)) => self.ops.text(text),
            Some(Constant::Bool(value)) => self.ops.bool(*value),
            _ => {
                let message = format!("{} has a member that no pickle can hold", members.name);
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        self.ops.byte(op::REDUCE);
        Ok(())
    }

    fn ints(&mut self, values: &[i64]) {
        self.ops.byte(op::MARK);
        for &value in values {
            self.ops.int(value);
        }
        self.ops.byte(op::TUPLE);
    }

    /// A tensor, written out with a reference to its storage's record.
    fn tensor(&mut self, tensor: &Tensor) -> Result<(), Error> {
        if tensor.sparse_coo_parts().is_some() || tensor.layout() == Layout::SparseCsr {
            return self.sparse(tensor);
        }
        let Some(storage) = tensor.storage() else {
            let message = "Unsupported sparse tensor layout type in serialization";
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let rebuild = match tensor.quantizer() {
            Some(_) => "_rebuild_qtensor",
            None => "_rebuild_tensor_v2",
        };
        self.ops.global("torch._utils", rebuild);
        self.ops.byte(op::MARK);
        self.storage(storage, tensor);
        self.ops.int(tensor.storage_offset());
        self.ints(tensor.sizes());
        self.ints(tensor.strides());
        if let Some(quantizer) = tensor.quantizer() {
            self.quantizer(quantizer)?;
        }
        self.ops.bool(tensor.requires_grad());
        self.hooks();
        if tensor.quantizer().is_none() && (tensor.is_conj() || tensor.is_neg()) {
            self.math_bits(tensor);
        }
        self.ops.ops(&[op::TUPLE, op::REDUCE]);
        Ok(())
    }

    fn hooks(&mut self) {
        self.ops.global("collections", "OrderedDict");
        self.ops.ops(&[op::EMPTY_TUPLE, op::REDUCE]);
    }

    /// The conjugate and negative bits: a dict of those that are set.
    fn math_bits(&mut self, tensor: &Tensor) {
        self.ops.global("torch.jit._pickle", "restore_type_tag");
        self.ops.ops(&[op::EMPTY_DICT, op::MARK]);
        for (name, set) in [("conj", tensor.is_conj()), ("neg", tensor.is_neg())] {
            if set {
                self.ops.text(name);
                self.ops.bool(true);
            }
        }
        self.ops.byte(op::SET_ITEMS);
        self.ops.text("Dict[str, bool]");
        self.ops.ops(&[op::TUPLE2, op::REDUCE]);
    }

    fn storage(&mut self, storage: &Storage, tensor: &Tensor) {
        if let Some(&memo) = self.storage_memo.get(&storage.id()) {
            return self.ops.get(memo);
        }
        let dtype = tensor.dtype();
        self.ops.byte(op::MARK);
        self.ops.text("storage");
        self.ops.global("torch", &dtype.cpp_storage_class());
        let key = self.storages.len().to_string();
        self.ops.text(&key);
        self.ops.text(&tensor.device().location());
        self.ops.int((storage.nbytes() / dtype.item_size().max(1) as u64) as i64);
        self.ops.ops(&[op::TUPLE, op::BIN_PERSID]);
        let memo = self.ops.put();
        self.storage_memo.insert(storage.id(), memo);
        self.storages.push(storage.clone());
    }

    fn quantizer(&mut self, quantizer: &Quantizer) -> Result<(), Error> {
        self.ops.byte(op::MARK);
        self.ops.global("torch", quantizer.scheme_name());
        match quantizer {
            Quantizer::PerTensorAffine { scale, zero_point } => {
                self.ops.float(*scale);
                self.ops.int(*zero_point);
            }
            Quantizer::PerChannel { scales, zero_points, axis, .. } => {
                self.tensor(scales)?;
                self.tensor(zero_points)?;
                self.ops.int(*axis);
            }
            other => {
                let message = format!("{} cannot be pickled", other.scheme_name());
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        self.ops.byte(op::TUPLE);
        Ok(())
    }

    fn sparse(&mut self, tensor: &Tensor) -> Result<(), Error> {
        self.ops.global("torch._utils", "_rebuild_sparse_tensor");
        self.ops.byte(op::MARK);
        self.ops.int(tensor.layout().number());
        self.ints(tensor.sizes());
        self.ops.bool(tensor.requires_grad());
        if let Some(parts) = tensor.sparse_coo_parts() {
            self.tensor(&parts.indices)?;
            self.tensor(&parts.values)?;
        } else if let Some(parts) = tensor.sparse_compressed_parts() {
            self.tensor(&parts.compressed)?;
            self.tensor(&parts.plain)?;
            self.tensor(&parts.values)?;
        }
        self.hooks();
        self.ops.ops(&[op::TUPLE, op::REDUCE]);
        Ok(())
    }
}
