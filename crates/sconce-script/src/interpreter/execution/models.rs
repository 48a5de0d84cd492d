//! Modules that files make: their state dicts, filled and given out.

use std::path::PathBuf;
use std::sync::Arc;

use sconce_compiler::Error;
use sconce_tensor::Tensor;

use super::super::arguments::LibraryArguments;
use super::super::control_flow::{Outcome, refuse};
use super::super::state_dict::{Slot, listed};
use super::super::value::{Cell, Value};
use super::{Hubconf, Interpreter};
use crate::objects::{self, Heap};

/// What an entry gave.
pub(crate) struct Made {
    pub(crate) object: MadeObject,
    /// Of a tuple, what else is in it.
    pub(crate) rest: Vec<String>,
}

pub(crate) enum MadeObject {
    Module(Heap, objects::Id),
    /// The archive that `torch.jit.load` was given.
    Archive(PathBuf),
    /// A dict of tensors.
    StateDict(Vec<(String, Tensor)>),
}

/// Methods by which a module changes what its state dict is.
const OVERRIDES: &[&str] = &["_save_to_state_dict", "get_extra_state", "set_extra_state"];

impl Hubconf<'_> {
    /// Calls an entry.
    pub(crate) fn call(
        &mut self,
        name: &str,
        args: &[sconce_checkpoint::Value],
        keywords: &[(String, sconce_checkpoint::Value)],
    ) -> Result<Made, Error> {
        let module = Arc::clone(&self.module);
        let this = &mut self.interpreter;
        let made = this.entry(&module, &Value::str(name)).and_then(|entry| {
            this.check_known(&entry)?;
            let mut given = Vec::new();
            for value in args {
                given.push(this.value_of_literal(value)?);
            }
            let mut named = Vec::new();
            for (name, value) in keywords {
                named.push((Arc::from(name.as_str()), this.value_of_literal(value)?));
            }
            let result = this.call(&entry, given, named)?;
            this.made(&result, name)
        });
        made.map_err(|stop| self.interpreter.uncaught(stop))
    }
}

impl Interpreter<'_> {
    fn value_of_literal(&mut self, literal: &sconce_checkpoint::Value) -> Outcome<Value> {
        let draft = sconce_checkpoint::Draft::from(literal.clone());
        self.value_of_object(draft.root())
    }

    /// What an entry gave, as what is written of it.
    fn made(&mut self, value: &Value, entry: &str) -> Outcome<Made> {
        if let Some(object) = self.made_object(value)? {
            return Ok(Made { object, rest: Vec::new() });
        }
        let items = match self.arena.cell(value) {
            Some(Cell::Tuple(tuple)) => tuple.items.clone(),
            Some(Cell::List(items)) => items.clone(),
            Some(Cell::Unknown(_)) => return self.refuse_unknown(value),
            _ => Vec::new(),
        };
        let mut found = None;
        let mut rest = Vec::new();
        for item in &items {
            match found {
                None => match self.made_object(item)? {
                    Some(object) => found = Some(object),
                    None => rest.push(self.named_kind(item)),
                },
                Some(_) => rest.push(self.named_kind(item)),
            }
        }
        match found {
            Some(object) => Ok(Made { object, rest }),
            None => refuse(format!(
                "{entry}() gives {}, and no module: there is nothing to be written",
                self.named_kind(value)
            )),
        }
    }

    fn made_object(&mut self, value: &Value) -> Outcome<Option<MadeObject>> {
        match self.arena.cell(value) {
            Some(Cell::Archive(path)) => Ok(Some(MadeObject::Archive(path.to_path_buf()))),
            Some(Cell::Instance(instance)) if instance.attributes.contains_key("_parameters") => {
                self.check_overrides(value)?;
                let (heap, lowered) = self.lower(value)?;
                match lowered {
                    objects::Value::Module(id) => Ok(Some(MadeObject::Module(heap, id))),
                    _ => refuse("this module has no class here"),
                }
            }
            Some(Cell::Saved(saved)) => {
                let saved = saved.clone();
                let object = saved.checkpoint.root().other(saved.id);
                let Some(module) = object.as_module() else { return Ok(None) };
                if saved.cast.is_none() {
                    let tensors = module.state_dict().into_iter();
                    let tensors = tensors.map(|(name, tensor)| (name, tensor.clone())).collect();
                    return Ok(Some(MadeObject::StateDict(tensors)));
                }
                let dict = self.saved_method(value, "state_dict", &[], &Vec::new())?;
                self.tensors_of_dict(&dict)
            }
            Some(Cell::Dict(_)) => self.tensors_of_dict(value),
            _ => Ok(None),
        }
    }

    /// A dict of tensors alone, as a state dict.
    fn tensors_of_dict(&mut self, value: &Value) -> Outcome<Option<MadeObject>> {
        let entries: Vec<(Value, Value)> =
            self.arena.dict(value).map(|dict| dict.values().cloned().collect()).unwrap_or_default();
        let mut exporter = sconce_kernels::Exporter::default();
        let mut tensors = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let (Value::Str(name), Some(cell)) = (&name, self.arena.tensor(&value)) else {
                return Ok(None);
            };
            if !self.is_known(cell) {
                return refuse(format!("the numbers of '{name}' are random"));
            }
            match exporter.export(&cell.tensor) {
                Ok(tensor) => tensors.push((name.to_string(), tensor)),
                Err(error) => return refuse(format!("{name}: {}", error.message())),
            }
        }
        Ok((!tensors.is_empty()).then_some(MadeObject::StateDict(tensors)))
    }

    /// What a value is, for people.
    fn named_kind(&self, value: &Value) -> String {
        match self.arena.cell(value) {
            Some(Cell::Unknown(unknown)) => format!("{} (not known)", unknown.what),
            Some(Cell::Function(_)) => match self.own_name(value) {
                Some(name) => format!("the function {name}"),
                None => "a function".into(),
            },
            Some(Cell::Class(class)) => format!("the class {}", class.name),
            _ => {
                let name = self.type_name(value);
                match &*name {
                    "NoneType" => "None".into(),
                    _ => format!("an object of type {name}"),
                }
            }
        }
    }

    fn own_name(&self, value: &Value) -> Option<Arc<str>> {
        match &self.arena.function(value)?.code {
            super::super::value::Code::Def(function) => Some(function.name().into()),
            super::super::value::Code::Lambda(..) => None,
        }
    }

    /// Refuses modules whose classes change how state dicts are read or written.
    fn check_overrides(&mut self, module: &Value) -> Outcome<()> {
        self.step()?;
        let Some(instance) = self.arena.instance(module) else { return Ok(()) };
        let (class, children) = (instance.class, instance.attributes.get("_modules").cloned());
        for name in OVERRIDES {
            let order = self.arena.class(&Value::Ref(class)).map(|class| class.order.clone());
            let own = order.into_iter().flatten().find(|class| {
                self.arena.class(class).is_some_and(|class| {
                    !class.source.module.name.starts_with("torch.")
                        && class.members.contains_key(*name)
                })
            });
            if let Some(own) = own {
                return refuse(format!(
                    "the class {} has a {name}, which is not followed",
                    self.class_name(&own)
                ));
            }
        }
        let children: Vec<Value> = children
            .and_then(|children| self.arena.dict(&children))
            .map(|children| children.values().map(|(_, child)| child.clone()).collect())
            .unwrap_or_default();
        for child in &children {
            self.nested(|this| this.check_overrides(child))?;
        }
        Ok(())
    }

    /// `module.load_state_dict(state_dict, strict, assign)`: the keys that are missing, and those that
    /// nothing takes.
    pub(super) fn load_state_dict(&mut self, given: &mut LibraryArguments) -> Outcome<Value> {
        let module = self.needed(given, 0, "self")?;
        let state_dict = self.needed(given, 1, "state_dict")?;
        let strict = self.needed(given, 2, "strict")?;
        let strict = self.truth(&strict)?;
        let assign = self.needed(given, 3, "assign")?;
        let assign = self.truth(&assign)?;
        self.check_known(&state_dict)?;
        self.check_overrides(&module)?;
        let Some(dict) = self.arena.dict(&state_dict) else {
            let message = format!(
                "Expected state_dict to be dict-like, got <class '{}'>.",
                self.type_name(&state_dict)
            );
            return self.type_error(message);
        };
        let dict = dict.clone();
        if self.loads_its_own_way(&module)? {
            let (missing, unexpected, problems) =
                self.load_by_modules(&module, &state_dict, dict, assign)?;
            return self.loaded_keys(&module, strict, missing, unexpected, problems);
        }
        let mut entries: indexmap::IndexMap<Arc<str>, Value, rustc_hash::FxBuildHasher> =
            indexmap::IndexMap::default();
        for (key, value) in dict.values() {
            if let Value::Str(key) = key {
                entries.insert(Arc::clone(key), value.clone());
            }
        }
        let slots = self.slots(&module)?;
        let mut problems = Vec::new();
        let mut taken = rustc_hash::FxHashSet::default();
        let mut missing: Vec<String> = Vec::new();
        for slot in &slots {
            taken.insert(slot.name.as_str());
            match entries.get(slot.name.as_str()).cloned() {
                Some(value) => {
                    if let Some(problem) = self.take_entry(slot, &value, assign)? {
                        problems.push(problem);
                    }
                }
                None if slot.is_optional => {}
                None => missing.push(slot.name.clone()),
            }
        }
        let unexpected: Vec<String> = entries
            .keys()
            .filter(|name| !taken.contains(&***name))
            .map(|name| name.to_string())
            .collect();
        self.loaded_keys(&module, strict, missing, unexpected, problems)
    }

    /// The keys that are missing and those that nothing takes; an error where that, or something else, is wrong.
    fn loaded_keys(
        &mut self,
        module: &Value,
        strict: bool,
        missing: Vec<String>,
        unexpected: Vec<String>,
        mut problems: Vec<String>,
    ) -> Outcome<Value> {
        if strict {
            let mut first: Vec<String> =
                listed("Missing", missing.iter().map(String::as_str)).into_iter().collect();
            first.extend(listed("Unexpected", unexpected.iter().map(String::as_str)));
            first.append(&mut problems);
            problems = first;
        }
        if !problems.is_empty() {
            let class = self.class_of(module);
            let message = format!(
                "Error(s) in loading state_dict for {}:\n\t{}",
                self.class_name(&class),
                problems.join("\n\t")
            );
            return self.raise("RuntimeError", message);
        }
        let missing = self.new_list(missing.into_iter().map(Value::str).collect())?;
        let unexpected = self.new_list(unexpected.into_iter().map(Value::str).collect())?;
        self.new_tuple(vec![missing, unexpected])
    }

    /// Takes one tensor of a state dict, or says in PyTorch's words why it cannot be.
    pub(super) fn take_entry(
        &mut self,
        slot: &Slot,
        value: &Value,
        assign: bool,
    ) -> Outcome<Option<String>> {
        self.step()?;
        self.check_known(value)?;
        let name = &slot.name;
        let (Some(own), Value::Ref(id)) = (self.arena.tensor(&slot.tensor), &slot.tensor) else {
            return refuse("no tensor");
        };
        let Some(given) = self.arena.tensor(value) else {
            return Ok(Some(format!(
                "While copying the parameter named \"{name}\", expected torch.Tensor or Tensor-like \
                 object from checkpoint but received <class '{}'>",
                self.type_name(value)
            )));
        };
        let (own, sizes) = (own.tensor.sizes().to_vec(), given.tensor.sizes().to_vec());
        // Numbers of PyTorch 0.3 had one dimension.
        let is_old_number = own.is_empty() && sizes == [1];
        if own != sizes && !is_old_number {
            return Ok(Some(format!(
                "size mismatch for {name}: copying a param with shape torch.Size({sizes:?}) from \
                 checkpoint, the shape in current model is torch.Size({own:?}).",
            )));
        }
        let value = match is_old_number {
            true => self.item(value, &Value::Int(0))?,
            false => value.clone(),
        };
        match assign {
            true => self.set_tensor_attribute(*id, "data", value)?,
            false => drop(self.tensor_method(&slot.tensor, "copy_", vec![value], Vec::new())?),
        }
        Ok(None)
    }
}
