//! Writes the values of a mobile module as TorchScript's pickle.

use std::collections::BTreeMap;

use sconce_tensor::DType;

use super::flatbuffer::{Buffer, Table, Vector};
use crate::{Error, ErrorKind};

/// `IValueUnion` of PyTorch's schema.
mod kind {
    pub(super) const NONE: u8 = 0;
    pub(super) const INT: u8 = 1;
    pub(super) const BOOL: u8 = 2;
    pub(super) const DOUBLE: u8 = 3;
    pub(super) const COMPLEX: u8 = 4;
    pub(super) const TENSOR: u8 = 5;
    pub(super) const STRING: u8 = 6;
    pub(super) const LIST: u8 = 7;
    pub(super) const TUPLE: u8 = 8;
    pub(super) const DICT: u8 = 9;
    pub(super) const OBJECT: u8 = 10;
    pub(super) const INT_LIST: u8 = 11;
    pub(super) const DOUBLE_LIST: u8 = 12;
    pub(super) const BOOL_LIST: u8 = 13;
    pub(super) const DEVICE: u8 = 14;
    pub(super) const ENUM: u8 = 15;
}

/// `TypeType` of PyTorch's schema: how an object's state is kept.
const CLASS_WITH_FIELD: u8 = 1;
const CUSTOM_CLASS: u8 = 2;
const CLASS_WITH_SETSTATE: u8 = 3;

/// What is still to be written.
enum Task {
    Value(u32),
    /// Opcodes.
    Bytes(Vec<u8>),
    /// The value is whole, and may be named again.
    Done(u32),
}

/// A value that others may share, while it is written and after that.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Memo(u32),
}

/// Which numbers a tensor may hold.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    Any,
    /// None that are quantized.
    Plain,
}

pub(super) struct Pickler<'a> {
    values: Vector<'a>,
    types: Vector<'a>,
    storages: Vector<'a>,
    states: BTreeMap<u32, State>,
    /// How many values can be named again.
    remembered: u32,
    /// The dtype that each storage is named with, by its number.
    used: BTreeMap<u32, DType>,
    out: Vec<u8>,
    /// The most bytes that may be written: lists of the file may lie one in the other.
    most: usize,
}

fn too_much() -> Error {
    let message = "the values of the flatbuffer name each other more often than its size allows";
    Error::new(ErrorKind::Limit, message)
}

pub(super) fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Malformed, message)
}

impl<'a> Pickler<'a> {
    pub(super) fn new(
        values: Vector<'a>,
        types: Vector<'a>,
        storages: Vector<'a>,
        most: usize,
    ) -> Self {
        let (states, used) = (BTreeMap::new(), BTreeMap::new());
        Pickler { values, types, storages, states, remembered: 0, used, out: vec![0x80, 2], most }
    }

    /// The pickle of one value.
    pub(super) fn one(mut self, value: u32) -> Result<(Vec<u8>, BTreeMap<u32, DType>), Error> {
        self.nested(value)?;
        self.out.push(b'.');
        Ok(self.finish())
    }

    /// What was written, and the storages it names.
    pub(super) fn finish(self) -> (Vec<u8>, BTreeMap<u32, DType>) {
        (self.out, self.used)
    }

    /// A value where the pickle stands.
    pub(super) fn nested(&mut self, value: u32) -> Result<(), Error> {
        self.run(vec![Task::Value(value)])
    }

    /// The pickle of a tuple of values.
    pub(super) fn tuple(
        mut self,
        values: impl Iterator<Item = Result<u32, Error>>,
    ) -> Result<(Vec<u8>, BTreeMap<u32, DType>), Error> {
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let (start, end) =
            if values.is_empty() { (vec![b')'], vec![]) } else { (vec![b'('], vec![b't']) };
        let mut tasks = vec![Task::Bytes(end)];
        tasks.extend(values.into_iter().rev().map(Task::Value));
        tasks.push(Task::Bytes(start));
        self.run(tasks)?;
        self.out.push(b'.');
        Ok(self.finish())
    }

    fn run(&mut self, mut tasks: Vec<Task>) -> Result<(), Error> {
        while let Some(task) = tasks.pop() {
            match task {
                Task::Bytes(bytes) => self.out.extend(bytes),
                Task::Done(index) => {
                    let memo = self.remembered;
                    self.remembered += 1;
                    self.states.insert(index, State::Memo(memo));
                    self.out.push(b'r');
                    self.out.extend(memo.to_le_bytes());
                }
                Task::Value(index) => self.value(index, &mut tasks)?,
            }
            self.check_size()?;
            if tasks.len() > self.most {
                return Err(too_much());
            }
        }
        Ok(())
    }

    /// Refuses what has become larger than the file allows.
    pub(super) fn check_size(&self) -> Result<(), Error> {
        if self.out.len() > self.most { Err(too_much()) } else { Ok(()) }
    }

    /// The table of a value.
    pub(super) fn value_table(&self, index: u32) -> Result<Table<'a>, Error> {
        self.values.table(index as usize)
    }

    fn value(&mut self, index: u32, tasks: &mut Vec<Task>) -> Result<(), Error> {
        match self.states.get(&index) {
            Some(State::Memo(memo)) => {
                self.out.push(b'j');
                self.out.extend(memo.to_le_bytes());
                return Ok(());
            }
            Some(State::Open) => {
                return Err(malformed(format!("value {index} of the flatbuffer holds itself")));
            }
            None => {}
        }
        let value = self.value_table(index)?;
        let (kind, at) = (value.u8(4)?, value.field(6)?);
        let buffer = value.buffer();
        let at = at.map(|at| buffer.follow(at)).transpose()?;
        let place =
            at.ok_or_else(|| malformed(format!("value {index} of the flatbuffer is empty")));
        let table = || place.clone().and_then(|at| buffer.table(at));
        match kind {
            kind::NONE => self.out.push(b'N'),
            kind::INT => self.int(buffer.i64(place?)?),
            kind::BOOL => self.bool(buffer.u8(place?)?),
            kind::DOUBLE => self.double(buffer.f64(place?)?),
            kind::COMPLEX => {
                let at = place?;
                self.global("builtins", "complex");
                self.out.push(b'(');
                self.double(buffer.f64(at)?);
                self.double(buffer.f64(at + 8)?);
                self.out.extend(*b"tR");
            }
            kind::STRING => self.text(table()?.text(4)?),
            kind::DEVICE => {
                let device = table()?;
                self.global("torch", "device");
                self.out.push(b'(');
                self.text(device.text(4)?);
                self.out.extend(*b"tR");
            }
            kind::TENSOR => {
                self.states.insert(index, State::Open);
                self.tensor(table()?, Numbers::Any)?;
                tasks.push(Task::Done(index));
            }
            kind::INT_LIST => self.numbers(
                index,
                table()?.vector(4, 8)?.i64s(),
                "build_intlist",
                Self::int,
                tasks,
            )?,
            kind::DOUBLE_LIST => {
                self.numbers(
                    index,
                    table()?.vector(4, 8)?.f64s(),
                    "build_doublelist",
                    Self::double,
                    tasks,
                )?;
            }
            kind::BOOL_LIST => self.numbers(
                index,
                table()?.vector(4, 1)?.u8s(),
                "build_boollist",
                Self::bool,
                tasks,
            )?,
            kind::LIST => {
                self.states.insert(index, State::Open);
                let list = table()?;
                self.global("torch.jit._pickle", "restore_type_tag");
                self.out.extend(*b"(](");
                tasks.push(Task::Done(index));
                tasks.push(Task::Bytes(tagged(b"e", list.text(6)?)));
                push_values(tasks, list.vector(4, 4)?)?;
            }
            kind::DICT => {
                self.states.insert(index, State::Open);
                let dict = table()?;
                let (keys, values) = (dict.vector(4, 4)?, dict.vector(6, 4)?);
                if keys.len() != values.len() {
                    return Err(malformed(format!(
                        "value {index}, a dict, has not as many keys as values"
                    )));
                }
                self.global("torch.jit._pickle", "restore_type_tag");
                self.out.extend(*b"(}(");
                tasks.push(Task::Done(index));
                tasks.push(Task::Bytes(tagged(b"u", dict.text(8)?)));
                let entries: Vec<_> = keys.u32s().zip(values.u32s()).collect();
                for (key, value) in entries.into_iter().rev() {
                    tasks.extend([Task::Value(value?), Task::Value(key?)]);
                }
            }
            kind::TUPLE => {
                self.states.insert(index, State::Open);
                self.out.push(b'(');
                tasks.extend([Task::Done(index), Task::Bytes(vec![b't'])]);
                push_values(tasks, table()?.vector(4, 4)?)?;
            }
            kind::ENUM => {
                self.states.insert(index, State::Open);
                let table = table()?;
                self.class(table.text(4)?)?;
                self.out.push(b'(');
                tasks.extend([
                    Task::Done(index),
                    Task::Bytes(b"tR".to_vec()),
                    Task::Value(table.u32(6)?),
                ]);
            }
            kind::OBJECT => self.object(index, table()?, tasks)?,
            other => {
                let message = format!(
                    "value {index} of the flatbuffer is of kind {other}, which is not known here"
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(())
    }

    fn object(
        &mut self,
        index: u32,
        object: Table<'a>,
        tasks: &mut Vec<Task>,
    ) -> Result<(), Error> {
        self.states.insert(index, State::Open);
        let ty = self.types.table(object.u32(4)? as usize)?;
        self.class(ty.text(4)?)?;
        self.out.extend(*b")\x81");
        tasks.extend([Task::Done(index), Task::Bytes(vec![b'b'])]);
        match ty.u8(6)? {
            CLASS_WITH_FIELD => {
                let (names, values) = (ty.vector(8, 4)?, object.vector(8, 4)?);
                if names.len() != values.len() {
                    let message = format!(
                        "value {index}, an object, has not as many attributes as its class"
                    );
                    return Err(malformed(message));
                }
                self.out.extend(*b"}(");
                tasks.push(Task::Bytes(vec![b'u']));
                let entries: Vec<_> = names.texts().zip(values.u32s()).collect();
                for (name, value) in entries.into_iter().rev() {
                    tasks.extend([Task::Value(value?), Task::Bytes(text(name?))]);
                }
            }
            CUSTOM_CLASS | CLASS_WITH_SETSTATE => tasks.push(Task::Value(object.u32(6)?)),
            other => {
                let message = format!(
                    "value {index} is an object of a class of kind {other}, which is not known here"
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(())
    }

    fn tensor(&mut self, tensor: Table<'a>, numbers: Numbers) -> Result<(), Error> {
        let storage = tensor.u32(4)?;
        let number = i64::from(tensor.u8(6)? as i8);
        let dtype = DType::from_scalar_type_number(number).ok_or_else(|| {
            malformed(format!("a tensor is of dtype number {number}, which is none"))
        })?;
        let class = dtype.storage_class().ok_or_else(|| {
            let message = format!("a tensor of {} cannot stand in a mobile module", dtype.name());
            Error::new(ErrorKind::Unsupported, message)
        })?;
        let known = *self.used.entry(storage).or_insert(dtype);
        if known != dtype {
            let message =
                format!("storage {storage} holds both {} and {}", known.name(), dtype.name());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let bytes = self.storages.table(storage as usize)?.bytes(4)?.len();
        let quantized = tensor.table(16)?;
        let function = if quantized.is_some() { "_rebuild_qtensor" } else { "_rebuild_tensor_v2" };
        self.global("torch._utils", function);
        self.out.extend(*b"((");
        self.text("storage");
        self.global("torch", class);
        self.text(&storage.to_string());
        self.text("cpu");
        self.int((bytes / dtype.item_size().max(1)) as i64);
        self.out.extend(*b"tQ");
        self.int(i64::from(tensor.number(8, Buffer::i32)?.unwrap_or(0)));
        for slot in [10, 12] {
            self.out.push(b'(');
            for value in tensor.vector(slot, 4)?.i32s() {
                self.int(i64::from(value?));
            }
            self.out.push(b't');
        }
        if let Some(quantized) = quantized {
            self.quantizer(quantized, numbers)?;
        }
        self.bool(tensor.u8(14)?);
        self.global("collections", "OrderedDict");
        self.out.extend(*b")RtR");
        Ok(())
    }

    /// The scheme of quantization with its scale and zero point, or those of each slice and the dimension that is
    /// sliced. They are tensors of plain numbers.
    fn quantizer(&mut self, quantized: Table<'a>, numbers: Numbers) -> Result<(), Error> {
        // c10::QScheme.
        const PER_TENSOR_AFFINE: u8 = 0;
        const PER_CHANNEL_AFFINE: u8 = 1;
        if numbers == Numbers::Plain {
            return Err(malformed("the scales of a quantized tensor are quantized themselves"));
        }
        self.out.push(b'(');
        match quantized.u8(4)? {
            PER_TENSOR_AFFINE => {
                self.global("torch", "per_tensor_affine");
                self.double(quantized.number(6, Buffer::f64)?.unwrap_or(0.0));
                self.int(i64::from(quantized.number(8, Buffer::i32)?.unwrap_or(0)));
            }
            PER_CHANNEL_AFFINE => {
                self.global("torch", "per_channel_affine");
                for slot in [10, 12] {
                    let tensor = quantized.table(slot)?.ok_or_else(|| {
                        malformed("a quantized tensor has no scales or no zero points")
                    })?;
                    self.tensor(tensor, Numbers::Plain)?;
                }
                self.int(i64::from(quantized.number(14, Buffer::i32)?.unwrap_or(0)));
            }
            scheme => {
                let message = format!("a tensor of quantization scheme {scheme} is not read");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        self.out.push(b't');
        Ok(())
    }

    fn numbers<T>(
        &mut self,
        index: u32,
        numbers: impl Iterator<Item = Result<T, Error>>,
        function: &str,
        write: impl Fn(&mut Self, T),
        tasks: &mut Vec<Task>,
    ) -> Result<(), Error> {
        self.global("torch.jit._pickle", function);
        self.out.extend(*b"(](");
        for number in numbers {
            write(self, number?);
            if self.out.len() > self.most {
                break;
            }
        }
        self.out.extend(*b"etR");
        tasks.push(Task::Done(index));
        Ok(())
    }

    /// A class by its qualified name.
    fn class(&mut self, name: &str) -> Result<(), Error> {
        let split = name.rsplit_once('.').filter(|_| !name.contains('\n'));
        let (module, name) = split.ok_or_else(|| {
            malformed(format!("'{}' is not the name of a class", name.escape_debug()))
        })?;
        self.global(module, name);
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) {
        self.out.extend(format!("c{module}\n{name}\n").bytes());
    }

    /// Opcodes as they are.
    pub(super) fn ops(&mut self, ops: &[u8]) {
        self.out.extend(ops);
    }

    pub(super) fn text(&mut self, value: &str) {
        self.out.extend(text(value));
    }

    pub(super) fn int(&mut self, value: i64) {
        match i32::try_from(value) {
            Ok(value) => {
                self.out.push(b'J');
                self.out.extend(value.to_le_bytes());
            }
            Err(_) => {
                self.out.extend([0x8a, 8]);
                self.out.extend(value.to_le_bytes());
            }
        }
    }

    fn double(&mut self, value: f64) {
        self.out.push(b'G');
        self.out.extend(value.to_be_bytes());
    }

    fn bool(&mut self, value: u8) {
        self.out.push(if value != 0 { 0x88 } else { 0x89 });
    }
}

fn text(value: &str) -> Vec<u8> {
    let mut out = vec![b'X'];
    out.extend((value.len() as u32).to_le_bytes());
    out.extend(value.bytes());
    out
}

/// The end of a list or dict that is marked with its type.
fn tagged(end: &[u8], ty: &str) -> Vec<u8> {
    [end, &text(ty), b"tR"].concat()
}

fn push_values(tasks: &mut Vec<Task>, values: Vector<'_>) -> Result<(), Error> {
    let values = values.u32s().collect::<Result<Vec<_>, _>>()?;
    tasks.extend(values.into_iter().rev().map(Task::Value));
    Ok(())
}
