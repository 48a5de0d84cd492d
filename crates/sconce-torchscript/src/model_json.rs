//! Archives of PyTorch 1.0 to 1.3: `model.json`, `tensors/`, `attributes.pkl`, `libs/`.
//!
//! Modules had no classes then: each has its own name, tensors, attributes and file of functions.
//! Each becomes a class here, as in the PyTorch versions that still read these files.

use std::sync::Arc;

use sconce_archive::Archive;
use sconce_checkpoint::ErrorKind;
use sconce_compiler::print::is_identifier;
use sconce_ir::{Class, ClassAttribute, ClassId, Constant, Role, TensorConstant, Type};
use sconce_tensor::{DType, Device, Storage, Tensor};
use serde::Deserialize;

use crate::Error;
use crate::importer::Program;
use crate::module::{Loaded, Module};
use crate::unpickle::read_with_table;
use crate::values::{Object, Value, ValueId, Values};

/// The record that describes everything else.
const RECORD: &str = "model.json";

/// How deep modules may be nested.
const MAX_DEPTH: usize = 200;

/// `ModelDef` of PyTorch's torch.proto, as protobuf's JSON has it: numbers may be strings.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    #[serde(default, deserialize_with = "number")]
    proto_version: i64,
    main_module: ModuleDef,
    #[serde(default)]
    tensors: Vec<TensorDef>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModuleDef {
    #[serde(default)]
    name: String,
    #[serde(default)]
    submodules: Vec<ModuleDef>,
    #[serde(default)]
    parameters: Vec<ParameterDef>,
    #[serde(default)]
    attributes: Vec<AttributeDef>,
    torchscript_arena: Option<RecordRef>,
    torchscript_debug_arena: Option<RecordRef>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ParameterDef {
    #[serde(default)]
    is_buffer: bool,
    #[serde(default, deserialize_with = "number")]
    tensor_id: i64,
    name: String,
}

#[derive(Deserialize)]
struct AttributeDef {
    #[serde(rename = "type")]
    ty: String,
    name: String,
    #[serde(default, deserialize_with = "number")]
    id: i64,
}

#[derive(Deserialize)]
struct RecordRef {
    key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TensorDef {
    #[serde(default, deserialize_with = "numbers")]
    dims: Vec<i64>,
    #[serde(default, deserialize_with = "numbers")]
    strides: Vec<i64>,
    #[serde(default, deserialize_with = "number")]
    offset: i64,
    #[serde(default)]
    requires_grad: bool,
    data_type: String,
    data: RecordRef,
    device: Option<String>,
    #[serde(default)]
    is_quantized: bool,
    #[serde(default)]
    scale: f64,
    #[serde(default, deserialize_with = "number")]
    zero_point: i64,
}

/// A 64-bit number of protobuf's JSON: a string or a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Int(i64),
    Text(String),
}

impl Number {
    fn get<E: serde::de::Error>(self) -> Result<i64, E> {
        match self {
            Number::Int(value) => Ok(value),
            Number::Text(text) => {
                text.parse().map_err(|_| E::custom(format!("'{text}' is not a number")))
            }
        }
    }
}

fn number<'d, D: serde::Deserializer<'d>>(from: D) -> Result<i64, D::Error> {
    Number::deserialize(from)?.get()
}

fn numbers<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Vec<i64>, D::Error> {
    Vec::<Number>::deserialize(from)?.into_iter().map(Number::get).collect()
}

/// Names of dtypes in `model.json`.
const DTYPES: &[(&str, DType)] = &[
    ("FLOAT", DType::Float32),
    ("DOUBLE", DType::Float64),
    ("FLOAT16", DType::Float16),
    ("BFLOAT16", DType::BFloat16),
    ("INT8", DType::Int8),
    ("UINT8", DType::UInt8),
    ("INT16", DType::Int16),
    ("INT32", DType::Int32),
    ("INT64", DType::Int64),
    ("BOOL", DType::Bool),
];

pub(crate) fn load(
    archive: Arc<Archive>,
    version: u64,
    device: Option<&Device>,
) -> Result<Module, Error> {
    let (bytes, _) = archive.read_to_parse(RECORD)?;
    let model: Model = serde_json::from_slice(&bytes)
        .map_err(|error| Error::malformed(error.to_string()).in_record(RECORD))?;
    let mut values = Values::default();
    let mut table = Vec::with_capacity(model.tensors.len());
    for def in &model.tensors {
        let tensor = tensor(&archive, def).map_err(|error| error.in_record(&def.data.key))?;
        let tensor = match device {
            Some(device) => tensor.with_device(device.clone()),
            None => tensor,
        };
        table.push(values.push(Value::Tensor(tensor)));
    }
    let mut program = Program::new(Arc::clone(&archive), "libs", version as u32);
    for index in 0..table.len() {
        let constant = TensorConstant { index: index as u32, text: "<Tensor>".into() };
        program.importer.constants.push(Constant::Tensor(constant));
    }
    let attributes = match model.proto_version >= 2 && archive.contains("attributes.pkl") {
        true => {
            let record = "attributes.pkl";
            let id = read_with_table(
                &archive,
                record,
                "tensors/",
                &mut program,
                &mut values,
                device,
                &table,
            )?;
            match values.get(id) {
                Value::List { items, .. } | Value::Tuple(items) => items.clone(),
                _ => return Err(Error::malformed("expected a list of values").in_record(record)),
            }
        }
        false => Vec::new(),
    };
    let mut reader = Reader { archive: &archive, program, values, table, attributes };
    let (root, class) = reader.module(&model.main_module, "__torch__", 0)?;
    let Reader { program, values, table, .. } = reader;
    let loaded = Loaded::new(archive, version, program, values, table);
    Ok(Module::new(loaded, root, class))
}

fn tensor(archive: &Arc<Archive>, def: &TensorDef) -> Result<Tensor, Error> {
    let dtype = DTYPES.iter().find(|(name, _)| *name == def.data_type).map(|(_, dtype)| *dtype);
    let Some(dtype) = dtype.filter(|_| !def.is_quantized) else {
        let message = format!("tensors of type {} are not read in this format", def.data_type);
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    // Written for quantized tensors only.
    let _ = (def.scale, def.zero_point);
    let entry = archive.find(&def.data.key).ok_or_else(|| {
        Error::malformed("PytorchStreamReader failed locating file: file not found")
    })?;
    archive.directory().check_readable(entry)?;
    let (shared, index) = (Arc::clone(archive), entry.index());
    let read = move || {
        let entry = &shared.records()[index];
        shared.directory().bytes(entry).map_err(Into::into)
    };
    let device = Device::from_location(def.device.as_deref().unwrap_or("cpu"));
    let storage = Storage::lazy(entry.size(), device, Box::new(read));
    let tensor = Tensor::strided(storage, dtype, def.offset, &def.dims, &def.strides)?;
    Ok(tensor.with_requires_grad(def.requires_grad))
}

struct Reader<'r> {
    archive: &'r Arc<Archive>,
    program: Program,
    values: Values,
    table: Vec<ValueId>,
    attributes: Vec<ValueId>,
}

impl Reader<'_> {
    /// A module and all below it: submodules, parameters, attributes, then code, as PyTorch goes.
    fn module(
        &mut self,
        def: &ModuleDef,
        prefix: &str,
        depth: usize,
    ) -> Result<(ValueId, ClassId), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::malformed("modules are nested too deeply").in_record(RECORD));
        }
        let name = self.class_name(prefix, &def.name)?;
        let (class, _) =
            self.program.unit.add_class(Class { is_module: true, ..Class::new(name.as_str()) });
        let mut slots = Vec::new();
        for sub in &def.submodules {
            let (value, sub_class) = self.module(sub, &name, depth + 1)?;
            let class_name = Arc::clone(&self.program.unit.class(sub_class).name);
            let ty = self.program.unit.find_type(&class_name).cloned().unwrap_or(Type::AnyClass);
            self.attribute(class, &sub.name, ty, Role::Plain);
            slots.push(value);
        }
        for parameter in &def.parameters {
            let role = if parameter.is_buffer { Role::Buffer } else { Role::Parameter };
            self.attribute(class, &parameter.name, Type::Tensor, role);
            slots.push(entry(&self.table, parameter.tensor_id, "tensor")?);
        }
        for attribute in &def.attributes {
            let ty = self.program.parse_type(&attribute.ty)?;
            self.attribute(class, &attribute.name, ty, Role::Plain);
            slots.push(entry(&self.attributes, attribute.id, "attribute")?);
        }
        if let Some(code) = &def.torchscript_arena {
            let debug = def.torchscript_debug_arena.as_ref().map(|debug| debug.key.clone());
            let Program { unit, importer } = &mut self.program;
            importer
                .define_methods(unit, class, &code.key, debug.unwrap_or_default())
                .map_err(|error| Error::from(error).in_record(&code.key))?;
        }
        let object = Object { class, slots, state: None };
        Ok((self.values.push(Value::Object(object)), class))
    }

    fn attribute(&mut self, class: ClassId, name: &str, ty: Type, role: Role) {
        let attribute = ClassAttribute { name: name.into(), ty, role };
        self.program.unit.class_mut(class).attributes.push(attribute);
    }

    /// A name that no other class has; atoms of digits get an underscore before them.
    fn class_name(&self, prefix: &str, name: &str) -> Result<String, Error> {
        let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if !name.is_empty() && !digits && !name.split('.').all(is_identifier) {
            // A class of this name could be neither written nor read as code.
            let message = format!("the module's name {name:?} is no identifier");
            return Err(Error::malformed(message).in_record(RECORD));
        }
        let base = match (name, digits) {
            ("", _) => format!("{prefix}.Module"),
            (name, true) => format!("{prefix}._{name}"),
            (name, false) => format!("{prefix}.{name}"),
        };
        if self.program.unit.find_type(&base).is_none() && self.archive.find(&base).is_none() {
            return Ok(base);
        }
        let (qualifier, last) = crate::names::split(&base);
        let names = (0..).map(|k| format!("{qualifier}.___torch_mangle_{k}.{last}"));
        let mut free = names.filter(|name| self.program.unit.find_type(name).is_none());
        Ok(free.next().unwrap_or(base))
    }
}

fn entry(table: &[ValueId], index: i64, what: &str) -> Result<ValueId, Error> {
    let found = usize::try_from(index).ok().and_then(|index| table.get(index)).copied();
    found.ok_or_else(|| Error::malformed(format!("there is no {what} {index}")).in_record(RECORD))
}
