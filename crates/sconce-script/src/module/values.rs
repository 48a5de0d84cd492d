//! From objects of constructors to the values of an archive.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_compiler::Error;
use sconce_ir::{ClassId, InterfaceId, Type, Unit};
use sconce_source::Bytes;
use sconce_tensor::{Device, LazyError, Storage, Tensor};
use sconce_torchscript::{Object, Value as Saved, ValueId, Values};

use super::MAX_NESTING;
use crate::objects::{Id, ModuleObject, TensorObject, Value};
use crate::resolver::Python;

/// A module that has been compiled: its values, and which of them it is.
pub(crate) struct CompiledModule {
    pub(crate) values: Values,
    pub(crate) root: ValueId,
    pub(crate) class: ClassId,
    /// The tensors whose numbers are not known, by dotted name.
    pub(crate) missing: Vec<String>,
}

/// Makes values.
struct ValueBuilder<'a> {
    python: &'a mut Python,
    unit: &'a mut Unit,
    values: Values,
    /// Tensors stay shared.
    tensors: FxHashMap<Id, ValueId>,
    /// The names that lead to the module that is being made.
    path: Vec<Arc<str>>,
    missing: Vec<String>,
}

impl Python {
    /// Compiles a module with everything in it: `torch.jit.script(module)`.
    pub(crate) fn script_module(
        &mut self,
        unit: &mut Unit,
        id: Id,
    ) -> Result<CompiledModule, Error> {
        let class = self.class_of_module(unit, id)?;
        let mut maker = ValueBuilder {
            python: self,
            unit,
            values: Values::default(),
            tensors: FxHashMap::default(),
            path: Vec::new(),
            missing: Vec::new(),
        };
        let root = maker.module(id, class, None, 0)?;
        Ok(CompiledModule { values: maker.values, root, class, missing: maker.missing })
    }
}

impl ValueBuilder<'_> {
    /// A module, those in it first; compiles the methods of its class.
    fn module(
        &mut self,
        id: Id,
        class: ClassId,
        interface: Option<&[Arc<str>]>,
        depth: usize,
    ) -> Result<ValueId, Error> {
        if depth > MAX_NESTING {
            return Err(Error::without_range("modules are nested too deeply"));
        }
        self.python.modules.one_more()?;
        let object = self.python.modules.object(id)?;
        let attributes = self.unit.class(class).attributes.clone();
        let mut slots = Vec::with_capacity(attributes.len());
        let mut names = Vec::new();
        let values = object.values();
        for attribute in attributes {
            let value = values.get(&*attribute.name).cloned();
            self.path.push(Arc::clone(&attribute.name));
            let slot = match (&attribute.ty, value) {
                (Type::Class(named), Some(Value::Module(sub))) => {
                    names.push(Arc::clone(&attribute.name));
                    let class = ClassId(named.id);
                    crate::nesting::with_stack(|| self.module(sub, class, None, depth + 1))?
                }
                (Type::Interface(named), Some(Value::Module(sub))) => {
                    names.push(Arc::clone(&attribute.name));
                    let methods = &self.unit.interface(InterfaceId(named.id)).methods;
                    let methods: Vec<_> =
                        methods.iter().map(|method| Arc::clone(&method.name)).collect();
                    let class = self.python.class_of_module(self.unit, sub)?;
                    crate::nesting::with_stack(|| {
                        self.module(sub, class, Some(&methods), depth + 1)
                    })?
                }
                (ty, Some(value)) => self.value(&value, ty, &attribute.name, 0)?,
                (_, None) => {
                    let message = format!("the attribute '{}' has no value", attribute.name);
                    return Err(Error::without_range(message));
                }
            };
            slots.push(slot);
            self.path.pop();
        }
        self.python.compile_module(self.unit, class, interface)?;
        self.python.add_container_methods(self.unit, class, &names)?;
        Ok(self.values.push(Saved::Object(Object { class, slots, state: None })))
    }

    /// A value as one of a type: PyTorch's `toIValue`.
    fn value(
        &mut self,
        value: &Value,
        ty: &Type,
        name: &str,
        depth: usize,
    ) -> Result<ValueId, Error> {
        if depth > MAX_NESTING || !self.python.spend() {
            return Err(Error::without_range("the attributes of a module are nested too deeply"));
        }
        let saved = match (value, ty) {
            (Value::None, Type::None | Type::Optional(_) | Type::Any) => Saved::None,
            (Value::None, Type::Union(members)) if members.contains(&Type::None) => Saved::None,
            (Value::Tensor(id), Type::Tensor | Type::TensorOf(_)) => return self.tensor(*id),
            (Value::MixedEnum(_, _, plain), ty) if !names_enum(ty) => {
                return self.value(plain, ty, name, depth + 1);
            }
            (value, Type::Optional(of)) => return self.value(value, of, name, depth + 1),
            (value, Type::Union(members)) => {
                let own = self.python.inferred(self.unit, value, 0)?.ok();
                let exact = own.as_ref().and_then(|own| members.iter().find(|ty| *ty == own));
                let Some(exact) = exact else { return Err(self.mismatch(value, ty, name)) };
                return self.value(value, exact, name, depth + 1);
            }
            (value, Type::Any) => {
                let Ok(own) = self.python.inferred(self.unit, value, 0)? else {
                    return Err(self.mismatch(value, ty, name));
                };
                return self.value(value, &own, name, depth + 1);
            }
            (Value::Bool(value), Type::Bool | Type::Number) => Saved::Bool(*value),
            (Value::Int(value), Type::Int | Type::Number) => Saved::Int(*value),
            (Value::DType(dtype), Type::Int) => Saved::Int(i64::from(dtype.scalar_type_number())),
            (Value::Bool(value), Type::Int) => Saved::Int(i64::from(*value)),
            (Value::Float(value), Type::Float | Type::Number) => Saved::Float(*value),
            (Value::Int(value), Type::Float) => Saved::Float(*value as f64),
            (Value::Bool(value), Type::Float) => Saved::Float(f64::from(u8::from(*value))),
            (Value::Complex(re, im), Type::Complex | Type::Number) => Saved::Complex(*re, *im),
            (Value::Float(value), Type::Complex) => Saved::Complex(*value, 0.0),
            (Value::Int(value), Type::Complex) => Saved::Complex(*value as f64, 0.0),
            (Value::Str(text), Type::Str) => Saved::Str(Arc::clone(text)),
            (Value::Device(device) | Value::Str(device), Type::Device) => {
                Saved::Device(Arc::clone(device))
            }
            (Value::Tuple(items, _), Type::Tuple(of)) if items.len() == of.elements.len() => {
                let mut slots = Vec::with_capacity(items.len());
                for (item, ty) in items.iter().zip(&of.elements) {
                    slots.push(self.value(item, ty, name, depth + 1)?);
                }
                Saved::Tuple(slots)
            }
            (Value::List(_) | Value::Tuple(..), Type::List(of)) => {
                let items = self.items(value);
                let items = self.all(&items, of, name, depth)?;
                Saved::List { element: (**of).clone(), items }
            }
            (Value::Dict(id), Type::Dict(of)) => {
                let pairs = self.python.modules.heap.dict(*id).cloned().unwrap_or_default();
                let mut entries = Vec::with_capacity(pairs.len());
                for (key, value) in &pairs {
                    let key = self.value(key, &of.0, name, depth + 1)?;
                    entries.push((key, self.value(value, &of.1, name, depth + 1)?));
                }
                Saved::Dict { key: of.0.clone(), value: of.1.clone(), entries }
            }
            (Value::Enum(_, member) | Value::MixedEnum(_, member, _), Type::Enum(of)) => {
                let at = of.members.iter().position(|(name, _)| name == member);
                let Some(at) = at else { return Err(self.mismatch(value, ty, name)) };
                Saved::Enum(ty.clone(), at as u32)
            }
            (Value::Object(id), Type::Class(named)) => {
                let class = ClassId(named.id);
                let object = self.python.modules.heap.object(*id).cloned();
                let attributes = self.unit.class(class).attributes.clone();
                let mut slots = Vec::with_capacity(attributes.len());
                for attribute in attributes {
                    let own = object.as_ref().and_then(|object| {
                        let mut own = object.attributes.iter();
                        own.find(|(name, _)| *name == attribute.name).map(|(_, value)| value)
                    });
                    let Some(own) = own.cloned() else {
                        return Err(self.mismatch(value, ty, name));
                    };
                    slots.push(self.value(&own, &attribute.ty, &attribute.name, depth + 1)?);
                }
                Saved::Object(Object { class, slots, state: None })
            }
            _ => return Err(self.mismatch(value, ty, name)),
        };
        Ok(self.values.push(saved))
    }

    fn items(&self, value: &Value) -> Vec<Value> {
        match value {
            Value::Tuple(items, _) => items.to_vec(),
            Value::List(id) => self.python.modules.heap.list(*id).cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn all(
        &mut self,
        items: &[Value],
        ty: &Type,
        name: &str,
        depth: usize,
    ) -> Result<Vec<ValueId>, Error> {
        items.iter().map(|item| self.value(item, ty, name, depth + 1)).collect()
    }

    fn tensor(&mut self, id: Id) -> Result<ValueId, Error> {
        if let Some(&known) = self.tensors.get(&id) {
            return Ok(known);
        }
        let Some(object) = self.python.modules.heap.tensor(id) else {
            return Err(Error::without_range("a tensor of the module is none"));
        };
        if !object.is_known {
            let name = self.path.join(".");
            let made = self.values.push(Saved::Tensor(without_numbers(object, name.clone())?));
            self.missing.push(name);
            self.tensors.insert(id, made);
            return Ok(made);
        }
        let tensor = object.tensor.clone().with_requires_grad(object.requires_grad);
        let made = self.values.push(Saved::Tensor(tensor));
        self.tensors.insert(id, made);
        Ok(made)
    }

    fn mismatch(&self, value: &Value, ty: &Type, name: &str) -> Error {
        Error::without_range(format!(
            "Could not cast attribute '{name}' to type {}: the value is of type '{}'",
            ty.message_text(),
            self.python.type_name(value)
        ))
    }
}

/// Whether a type is an enum, or one of several that may be.
fn names_enum(ty: &Type) -> bool {
    match ty {
        Type::Enum(_) => true,
        Type::Optional(of) => names_enum(of),
        Type::Union(members) => members.iter().any(names_enum),
        _ => false,
    }
}

/// A tensor of random numbers, which are not made here: whoever asks for its bytes gets an error.
fn without_numbers(object: &TensorObject, name: String) -> Result<Tensor, Error> {
    let (dtype, sizes) = (object.tensor.dtype(), object.tensor.sizes());
    let count: i64 = sizes.iter().product();
    let nbytes = count as u64 * dtype.item_size() as u64;
    let fail = move || -> Result<Bytes, LazyError> {
        Err(format!("'{name}' has random numbers in PyTorch; here a state dict has to give them")
            .into())
    };
    let storage = Storage::lazy(nbytes, Device::CPU, Box::new(fail));
    let tensor = Tensor::contiguous(storage, dtype, sizes);
    let tensor = tensor.map_err(|error| Error::without_range(error.to_string()))?;
    Ok(tensor.with_requires_grad(object.requires_grad))
}

impl ModuleObject {
    /// All attributes by name: `getattr(module, name)`.
    fn values(&self) -> FxHashMap<&str, Value> {
        let mut values: FxHashMap<&str, Value> = FxHashMap::default();
        let mut add = |name, value: &Value| {
            values.entry(name).or_insert_with(|| value.clone());
        };
        // What comes first counts.
        add("training", &Value::Bool(self.training));
        add("_is_full_backward_hook", &Value::None);
        self.attributes.iter().for_each(|(name, value)| add(name, value));
        self.parameters.iter().for_each(|(name, value)| add(name, value));
        self.buffers.iter().for_each(|buffer| add(&buffer.name, &buffer.value));
        self.modules.iter().for_each(|(name, value)| add(name, value));
        values
    }
}
