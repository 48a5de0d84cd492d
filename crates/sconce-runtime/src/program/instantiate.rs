//! The objects of an archive as values of a running program.

use rustc_hash::FxHashMap;
use sconce_ir::Type;
use sconce_kernels::Importer;
use sconce_torchscript::{Module, Value, ValueId};

use crate::bytecode::interpreter::Machine;
use crate::op_context::OpContext;
use crate::ops::nn::xnnpack_layers::Layer;
use crate::ops::quantized::packed_params;
use crate::program::prepare::{Missing, ready};
use crate::value::shared::Shared;
use crate::value::{Dict, IValue, Object, Text, Tuple};
use crate::{Error, autograd};

/// Makes the constants and the root object of a module; runs `__setstate__` where a class has one,
/// on what it holds before what holds it.
pub(crate) fn instantiate(
    machine: &mut Machine,
    module: &Module,
    missing: Missing,
) -> Result<IValue, Error> {
    let mut made = Instances {
        machine,
        module,
        missing,
        importer: Importer::default(),
        values: FxHashMap::default(),
    };
    let mut constants = Vec::new();
    for id in module.constants() {
        constants.push(made.make(id, None)?);
    }
    made.machine.constants = constants;
    made.make(module.id(), None)
}

struct Instances<'a> {
    machine: &'a mut Machine,
    module: &'a Module,
    missing: Missing,
    importer: Importer,
    values: FxHashMap<ValueId, IValue>,
}

/// A value to be looked at, or one whose children have been made.
enum Task {
    Visit(ValueId, Option<Type>),
    Finish(ValueId, Option<Type>),
}

impl Instances<'_> {
    /// Makes a value and all it holds; depth costs no stack.
    fn make(&mut self, root: ValueId, ty: Option<Type>) -> Result<IValue, Error> {
        let mut tasks = vec![Task::Visit(root, ty)];
        let mut open = rustc_hash::FxHashSet::default();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(id, ty) => {
                    if self.values.contains_key(&id) || !open.insert(id) {
                        continue;
                    }
                    let value = self.module.child(id);
                    let ty = match ty {
                        Some(Type::Optional(of)) => Some((*of).clone()),
                        ty => ty,
                    };
                    if let Some(begun) = self.begin(&value)? {
                        self.values.insert(id, begun);
                    }
                    let children = self.children(&value, ty.as_ref());
                    tasks.push(Task::Finish(id, ty));
                    tasks.extend(children.into_iter().rev().map(|(id, ty)| Task::Visit(id, ty)));
                }
                Task::Finish(id, ty) => self.finish(id, ty)?,
            }
        }
        self.get(root)
    }

    fn get(&self, id: ValueId) -> Result<IValue, Error> {
        let value = self.values.get(&id).cloned();
        value.ok_or_else(|| Error::Malformed("a tuple that holds itself".to_owned()))
    }

    /// The value without what it holds; `None` for a tuple, which is made last.
    fn begin(&mut self, value: &Value) -> Result<Option<IValue>, Error> {
        Ok(Some(match value {
            Value::None => IValue::None,
            Value::Bool(value) => IValue::Bool(*value),
            Value::Int(value) => IValue::Int(*value),
            Value::Float(value) => IValue::Float(*value),
            Value::Complex(re, im) => IValue::Complex(*re, *im),
            Value::Str(text) => IValue::Str(Text::constant(text)),
            Value::Device(text) => IValue::Device(text.clone()),
            Value::Enum(Type::Enum(of), index) => IValue::Enum(of.clone(), *index),
            Value::Tensor(tensor) => {
                let made = IValue::of_file(tensor, &mut self.importer);
                let made = made.map_err(|error| Error::Unsupported {
                    what: format!("a tensor of the archive ({})", error.message()),
                    range: None,
                })?;
                if let (true, IValue::Tensor(made)) = (tensor.requires_grad(), &made) {
                    autograd::want(made);
                }
                made
            }
            Value::List { element, .. } => IValue::list(element.clone(), Vec::new()),
            Value::Dict { key, value, .. } => {
                IValue::Dict(Shared::new(Dict::new(key.clone(), value.clone())))
            }
            Value::Object(object) => {
                let slots = self.machine.class(object.class).attributes.len();
                let class = object.class;
                IValue::Object(Shared::new(Object::new(class, vec![None; slots])))
            }
            Value::Tuple(_) => return Ok(None),
            _ => {
                let what = "a value of the archive of this kind".to_owned();
                return Err(Error::Unsupported { what, range: None });
            }
        }))
    }

    /// What a value holds, with the types it is held as.
    fn children(&mut self, value: &Value, ty: Option<&Type>) -> Vec<(ValueId, Option<Type>)> {
        match (value, ty) {
            (Value::Tuple(items), Some(Type::Tuple(of))) if of.elements.len() == items.len() => {
                items.iter().copied().zip(of.elements.iter().cloned().map(Some)).collect()
            }
            (Value::List { element, items }, _) => {
                items.iter().map(|&item| (item, Some(element.clone()))).collect()
            }
            (Value::Dict { key, value, entries }, _) => entries
                .iter()
                .flat_map(|&(k, v)| [(k, Some(key.clone())), (v, Some(value.clone()))])
                .collect(),
            (Value::Object(object), _) if object.state.is_none() => {
                let class = self.machine.class(object.class);
                let types = class.attributes.iter().map(|(_, ty)| Some(ty.clone()));
                object.slots.iter().copied().zip(types).collect()
            }
            (value, _) => value.children().into_iter().map(|id| (id, None)).collect(),
        }
    }

    fn finish(&mut self, id: ValueId, ty: Option<Type>) -> Result<(), Error> {
        match self.module.child(id) {
            Value::Tuple(items) => {
                let items: Result<Vec<IValue>, Error> =
                    items.iter().map(|&item| self.get(item)).collect();
                let named = ty.filter(|ty| matches!(ty, Type::Tuple(of) if of.named.is_some()));
                let tuple = Tuple::new(items?, named);
                self.values.insert(id, IValue::Tuple(tuple.into()));
            }
            Value::List { items, .. } => {
                let items: Result<Vec<IValue>, Error> =
                    items.iter().map(|&item| self.get(item)).collect();
                if let IValue::List(list) = self.get(id)? {
                    let mut list = list.write();
                    list.items = items?;
                    list.recharge();
                }
            }
            Value::Dict { entries, .. } => {
                let IValue::Dict(dict) = self.get(id)? else { return Ok(()) };
                for (key, value) in entries {
                    let (key, value) = (self.get(key)?, self.get(value)?);
                    if !dict.write().insert(key, value) {
                        let what = "a dict with keys of this kind".to_owned();
                        return Err(Error::Unsupported { what, range: None });
                    }
                }
            }
            Value::Object(object) => {
                let this = self.get(id)?;
                match object.state {
                    Some(state) => self.set_state(this, state)?,
                    None => {
                        let slots: Result<Vec<Option<IValue>>, Error> =
                            object.slots.iter().map(|&slot| self.get(slot).map(Some)).collect();
                        if let IValue::Object(object) = this {
                            object.write().slots = slots?;
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn set_state(&mut self, object: IValue, state: ValueId) -> Result<(), Error> {
        let state = self.get(state)?;
        let IValue::Object(of) = &object else { return Ok(()) };
        let class = of.read().class;
        let class = self.machine.class(class);
        if let Some(layer) = Layer::of_class(&class.name) {
            return layer.set_state(of, &state);
        }
        if class.is_torchbind {
            return packed_params::set_state(&class.name, of, &state);
        }
        let Some(&method) = class.methods.get("__setstate__") else {
            let what = format!("an object of the class {}", class.name);
            return Err(Error::Unsupported { what, range: None });
        };
        ready(self.machine, method, self.missing)?;
        self.machine.call(method, vec![object, state])?;
        Ok(())
    }
}
