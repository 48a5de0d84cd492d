//! Objects of checkpoints as values.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_checkpoint::{Checkpoint, LoadOptions, MapLocation, Node, Object, ObjectId};
use sconce_kernels::Importer;
use sconce_tensor::{DType, Device};

use super::super::arguments::Keywords;
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Dict, Saved, Value};
use super::Interpreter;
use crate::library::NameKind;

/// Methods of modules after which their tensors have the same numbers.
const UNCHANGED: &[&str] =
    &["eval", "train", "cpu", "cuda", "to", "requires_grad_", "share_memory", "fuse"];

/// Makes values of the objects of one checkpoint.
struct Maker {
    checkpoint: Option<Arc<Checkpoint>>,
    known: FxHashMap<ObjectId, Value>,
    importer: Importer,
    /// The families of tensors, by the storage they are over.
    families: FxHashMap<usize, u32>,
}

impl Maker {
    fn new(checkpoint: Option<Arc<Checkpoint>>) -> Self {
        Self {
            checkpoint,
            known: FxHashMap::default(),
            importer: Importer::default(),
            families: FxHashMap::default(),
        }
    }
}

impl Interpreter<'_> {
    /// `torch.load(path)`
    pub(super) fn loaded_checkpoint(&mut self, path: &Path) -> Outcome<Value> {
        let checkpoint = match self.execution()?.checkpoints.get(path) {
            Some(known) => Arc::clone(known),
            None => {
                let options = LoadOptions::new().map_location(MapLocation::Device(Device::CPU));
                let opened = match options.open(path) {
                    Ok(opened) => Arc::new(opened),
                    Err(error) => return refuse(format!("{}: {error}", path.display())),
                };
                let checkpoints = &mut self.execution_mut()?.checkpoints;
                checkpoints.insert(path.to_owned(), Arc::clone(&opened));
                opened
            }
        };
        let mut maker = Maker::new(Some(Arc::clone(&checkpoint)));
        self.made_of(&mut maker, checkpoint.root())
    }

    /// An object that belongs to no checkpoint: a literal.
    pub(in super::super) fn value_of_object(&mut self, object: Object<'_>) -> Outcome<Value> {
        self.made_of(&mut Maker::new(None), object)
    }

    fn made_of(&mut self, maker: &mut Maker, object: Object<'_>) -> Outcome<Value> {
        self.step()?;
        if let Some(known) = maker.known.get(&object.id()) {
            return Ok(known.clone());
        }
        let made = match object.data() {
            Node::None => Value::None,
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(value) => Value::Int(*value),
            Node::Float(value) => Value::Float(*value),
            Node::Complex(re, im) => Value::Complex(*re, *im),
            Node::Str(text) => self.new_str(text.to_string())?,
            Node::DType(dtype) => Value::DType(*dtype),
            Node::Device(device) => Value::Device(device.to_string().into()),
            Node::Size(sizes) => {
                let sizes = sizes.iter().map(|&size| Value::Int(size)).collect();
                self.new_tuple(sizes)?
            }
            Node::List(_) => {
                let list = self.new_list(Vec::new())?;
                maker.known.insert(object.id(), list.clone());
                let items = self.nested(|this| this.all_made_of(maker, object))?;
                if let Value::Ref(id) = list
                    && let Some(known) = self.arena.list_mut(id)
                {
                    *known = items;
                }
                list
            }
            Node::Tuple(_) => {
                let items = self.nested(|this| this.all_made_of(maker, object))?;
                self.new_tuple(items)?
            }
            Node::Set(_) | Node::FrozenSet(_) => {
                let items = self.nested(|this| this.all_made_of(maker, object))?;
                self.new_set(items)?
            }
            Node::Dict(_) => {
                let dict = self.new_dict(Dict::default())?;
                maker.known.insert(object.id(), dict.clone());
                for (key, value) in object.entries() {
                    let key = self.nested(|this| this.made_of(maker, key))?;
                    let value = self.nested(|this| this.made_of(maker, value))?;
                    self.set_item(&dict, &key, value)?;
                }
                for (name, value) in object.attributes() {
                    if let (Some("_metadata"), Value::Ref(id)) = (name.as_str(), &dict) {
                        let metadata = self.nested(|this| this.made_of(maker, value))?;
                        self.metadata_of_dicts.insert(*id, metadata);
                    }
                }
                dict
            }
            Node::Tensor(tensor) => {
                let requires_grad = tensor.tensor.requires_grad();
                match maker.importer.import(&tensor.tensor) {
                    Ok(imported) => {
                        let is_parameter =
                            matches!(tensor.class, sconce_checkpoint::TensorClass::Parameter);
                        let storage = tensor.tensor.storage().map(sconce_tensor::Storage::id);
                        let family = storage.and_then(|at| maker.families.get(&at)).copied();
                        let made =
                            self.imported_tensor(imported, family, requires_grad, is_parameter)?;
                        if let (Some(at), Some(cell)) = (storage, self.arena.tensor(&made)) {
                            maker.families.insert(at, cell.family);
                        }
                        made
                    }
                    Err(error) => self.unknown_object(object, error.message())?,
                }
            }
            Node::Instance(_)
                if object.as_module().is_some() || !object.attributes().is_empty() =>
            {
                match &maker.checkpoint {
                    Some(checkpoint) => self.new_cell(Cell::Saved(Saved {
                        checkpoint: Arc::clone(checkpoint),
                        id: object.id(),
                        cast: None,
                    }))?,
                    None => self.unknown_object(object, "it is of no checkpoint")?,
                }
            }
            _ => self.unknown_object(object, "it has no value here")?,
        };
        maker.known.insert(object.id(), made.clone());
        Ok(made)
    }

    fn all_made_of(&mut self, maker: &mut Maker, object: Object<'_>) -> Outcome<Vec<Value>> {
        self.spend_items(object.len())?;
        object.iter().map(|item| self.made_of(maker, item)).collect()
    }

    fn unknown_object(&mut self, object: Object<'_>, why: &str) -> Outcome<Value> {
        let what = format!("an object of class {} of the checkpoint", object.class_name());
        self.new_unknown(&what, Some(why.into()), NameKind::Value, true)
    }

    /// `saved.name`: a module that was saved whole has a state dict; other objects their attributes.
    pub(in super::super) fn saved_attribute(
        &mut self,
        value: &Value,
        saved: &Saved,
        name: &str,
    ) -> Outcome<Option<Value>> {
        let object = saved.checkpoint.root().other(saved.id);
        let is_method = matches!(name, "state_dict" | "float" | "half" | "double" | "bfloat16")
            || UNCHANGED.contains(&name);
        if object.as_module().is_some() && is_method {
            return self.new_cell(Cell::BuiltinMethod(value.clone(), name.into())).map(Some);
        }
        if name == "__dict__" {
            let mut entries = Vec::new();
            for (key, value) in object.attributes() {
                let key: Arc<str> = key.as_str().unwrap_or_default().into();
                let value = self.made_of_saved(saved, value)?;
                entries.push((key, value));
            }
            return self.dict_of(entries).map(Some);
        }
        match object.get(name) {
            Some(attribute) => self.made_of_saved(saved, attribute).map(Some),
            None if object.as_module().is_some() => {
                let what = format!("{}.{name}", object.class_name());
                self.new_unknown(&what, None, NameKind::Callable, true).map(Some)
            }
            None => Ok(None),
        }
    }

    fn made_of_saved(&mut self, saved: &Saved, object: Object<'_>) -> Outcome<Value> {
        if saved.cast.is_some() {
            return refuse(
                "the tensors of this module were cast: only its state dict is known here",
            );
        }
        self.made_of(&mut Maker::new(Some(Arc::clone(&saved.checkpoint))), object)
    }

    /// `saved.state_dict()` and what else modules that were saved whole can do.
    pub(in super::super) fn saved_method(
        &mut self,
        value: &Value,
        name: &str,
        args: &[Value],
        keywords: &Keywords,
    ) -> Outcome<Value> {
        let Some(saved) = self.arena.saved(value).cloned() else { return refuse("no object") };
        let cast = match name {
            "float" => Some(DType::Float32),
            "double" => Some(DType::Float64),
            "half" => Some(DType::Float16),
            "bfloat16" => Some(DType::BFloat16),
            _ => None,
        };
        if let Some(dtype) = cast {
            return self.new_cell(Cell::Saved(Saved { cast: Some(dtype), ..saved }));
        }
        let gives_dtype = |value: &Value| matches!(value, Value::DType(_));
        if UNCHANGED.contains(&name) {
            let mut given = args.iter().chain(keywords.iter().map(|(_, value)| value));
            return match given.any(gives_dtype) {
                true => refuse("casts by .to() of modules in checkpoints are not supported here"),
                false => Ok(value.clone()),
            };
        }
        if !args.is_empty() || !keywords.is_empty() {
            return refuse("state_dict() with arguments is not supported here");
        }
        let object = saved.checkpoint.root().other(saved.id);
        let Some(module) = object.as_module() else { return refuse("this is not a module") };
        let dict = self.new_dict(Dict::default())?;
        let mut importer = Importer::default();
        for (name, tensor) in module.state_dict() {
            self.step()?;
            let imported = match importer.import(tensor) {
                Ok(imported) => imported,
                Err(error) => return refuse(format!("{name}: {}", error.message())),
            };
            let is_floating_point = imported.dtype().is_floating_point();
            let mut made = self.imported_tensor(imported, None, false, false)?;
            if let (true, Some(dtype)) = (is_floating_point, saved.cast) {
                made = self.tensor_method(&made, "to", vec![Value::DType(dtype)], Vec::new())?;
            }
            self.set_item(&dict, &Value::str(name), made)?;
        }
        Ok(dict)
    }
}
