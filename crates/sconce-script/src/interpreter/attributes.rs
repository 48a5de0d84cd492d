//! Attributes of values: looked up, set and deleted as Python does.

use std::sync::Arc;

use super::control_flow::{Outcome, Stop, refuse};
use super::libraries::DATA_CLASS_INIT;
use super::value::{Cell, Class, ClassKind, Code, Dict, Id, Key, Partial, Value};
use super::{Interpreter, builtins};
use crate::library;
use crate::loader::Object;

impl Interpreter<'_> {
    /// `value.name`
    pub(super) fn attribute(&mut self, value: &Value, name: &str) -> Outcome<Value> {
        match self.found_attribute(value, name)? {
            Some(found) => Ok(found),
            None => {
                let library = library_name(value);
                // Python has one there: what is missing is missing here.
                if name == "__dict__" && !library.is_empty() {
                    return refuse(format!("what '{library}' holds is not listed without Python"));
                }
                let message = match self.arena.class(value) {
                    Some(class) => {
                        format!("type object '{}' has no attribute '{name}'", class.name)
                    }
                    None if library::has_attribute(library_name(value), name).is_some() => {
                        format!("module '{}' has no attribute '{name}'", library_name(value))
                    }
                    None => {
                        format!("'{}' object has no attribute '{name}'", self.type_name(value))
                    }
                };
                self.raise("AttributeError", message)
            }
        }
    }

    /// `getattr(value, name, None)`, told from an attribute that is `None`.
    pub(super) fn attribute_or_none(
        &mut self,
        value: &Value,
        name: &str,
    ) -> Outcome<Option<Value>> {
        match self.attribute(value, name) {
            Ok(value) => Ok(Some(value)),
            Err(Stop::Raised(exception, place)) => {
                let class = Value::library("builtins.AttributeError");
                match self.is_instance(&exception, &class)? {
                    true => Ok(None),
                    false => Err(Stop::Raised(exception, place)),
                }
            }
            Err(other) => Err(other),
        }
    }

    fn found_attribute(&mut self, value: &Value, name: &str) -> Outcome<Option<Value>> {
        if name == "__class__" {
            return Ok(Some(self.class_of(value)));
        }
        let Value::Ref(id) = value else { return self.plain_attribute(value, name) };
        match self.arena.get(*id) {
            Cell::Instance(_) => self.instance_attribute(*id, name),
            Cell::Class(_) => self.class_attribute(*id, name),
            Cell::Super(owner, object) => {
                let (owner, object) = (*owner, object.clone());
                self.super_attribute(owner, &object, name)
            }
            Cell::Tensor(_) => self.tensor_attribute(value, name),
            Cell::Function(function) => {
                if let Some(found) = function.attributes.get(name) {
                    return Ok(Some(found.clone()));
                }
                Ok(match (name, &function.code) {
                    ("__name__" | "__qualname__", Code::Def(function)) => {
                        Some(Value::str(function.name()))
                    }
                    ("__name__" | "__qualname__", Code::Lambda(..)) => Some(Value::str("<lambda>")),
                    ("__module__", Code::Def(function)) => {
                        Some(Value::Str(Arc::clone(&function.module.name)))
                    }
                    ("__doc__", _) => Some(self.own_docstring(value)),
                    ("__dict__", _) => {
                        let entries = function_attributes(&function.attributes);
                        return self.dict_of(entries).map(Some);
                    }
                    _ => None,
                })
            }
            Cell::Method(receiver, function) => {
                let (receiver, function) = (receiver.clone(), function.clone());
                match name {
                    "__self__" => Ok(Some(receiver)),
                    "__func__" => Ok(Some(function)),
                    _ => self.found_attribute(&function, name),
                }
            }
            Cell::Tuple(tuple) => match tuple.class {
                Some(class) => self.named_tuple_attribute(*id, class, name),
                None => self.method_of_builtin(value, name),
            },
            Cell::Exception(exception) => match name {
                "args" => {
                    let args = exception.args.clone();
                    self.new_tuple(args).map(Some)
                }
                "__traceback__" | "__cause__" | "__context__" => Ok(Some(Value::None)),
                _ => Ok(None),
            },
            Cell::Partial(Partial { function, args, keywords, attributes }) => {
                if let Some(found) = attributes.get(name) {
                    return Ok(Some(found.clone()));
                }
                let (function, args, keywords) = (function.clone(), args.clone(), keywords.clone());
                match name {
                    "__doc__" => Ok(Some(self.own_docstring(value))),
                    "func" => Ok(Some(function)),
                    "args" => self.new_tuple(args).map(Some),
                    "keywords" => self.dict_of(keywords).map(Some),
                    _ => Ok(None),
                }
            }
            Cell::Property(property) => Ok(match name {
                "fget" => Some(property.getter.clone()),
                "fset" => Some(property.setter.clone().unwrap_or(Value::None)),
                _ => None,
            }),
            Cell::Range(start, stop, step) => Ok(match name {
                "start" => Some(Value::Int(*start)),
                "stop" => Some(Value::Int(*stop)),
                "step" => Some(Value::Int(*step)),
                _ => None,
            }),
            Cell::Slice(start, stop, step) => Ok(match name {
                "start" => Some(start.clone()),
                "stop" => Some(stop.clone()),
                "step" => Some(step.clone()),
                "indices" => {
                    return self
                        .new_cell(Cell::BuiltinMethod(value.clone(), name.into()))
                        .map(Some);
                }
                _ => None,
            }),
            Cell::Unknown(_) => self.unknown_attribute(value, name),
            Cell::Path(text) => {
                let text = Arc::clone(text);
                self.path_attribute(value, &text, name)
            }
            Cell::File(_) => {
                self.new_cell(Cell::BuiltinMethod(value.clone(), name.into())).map(Some)
            }
            Cell::Saved(saved) => {
                let saved = saved.clone();
                self.saved_attribute(value, &saved, name)
            }
            Cell::Pattern(_) => self.pattern_attribute(value, name),
            Cell::Match(_) => self.match_attribute(value, name),
            Cell::Archive(path) => {
                let path = Arc::clone(path);
                self.archive_attribute(value, &path, name)
            }
            Cell::Dict(_) if name == "_metadata" => Ok(self.metadata_of_dicts.get(id).cloned()),
            _ => self.method_of_builtin(value, name),
        }
    }

    fn method_of_builtin(&mut self, value: &Value, name: &str) -> Outcome<Option<Value>> {
        let kind = match self.arena.tuple(value) {
            Some(_) => "tuple".into(),
            None => self.type_name(value),
        };
        match builtins::has_method(&kind, name) {
            true => {
                let method = Cell::BuiltinMethod(value.clone(), name.into());
                self.new_cell(method).map(Some)
            }
            // Python has it, so that a program must not be told that there is none.
            false if self.execution.is_some() && builtins::is_method_of_python(&kind, name) => {
                refuse(format!("the method '{name}' of {kind} objects is not supported here"))
            }
            false => Ok(None),
        }
    }

    fn plain_attribute(&mut self, value: &Value, name: &str) -> Outcome<Option<Value>> {
        if library::has_attribute(library_name(value), name) == Some(false) {
            return Ok(None);
        }
        match value {
            Value::Namespace(module) => {
                if self.namespace(module).is_some() {
                    return self.attribute_of_file(&Arc::clone(module), name);
                }
                let key = (Arc::clone(&module.name), Arc::from(name));
                if let Some(known) = self.globals.get(&key) {
                    return Ok(Some(known.clone()));
                }
                if name == "__name__" {
                    return Ok(Some(Value::Str(Arc::clone(&module.name))));
                }
                let object = Object::Module(Arc::clone(module));
                match self.loader.member(&object, name)? {
                    Some(object) => self.object(object).map(Some),
                    None if self.execution.is_some() => {
                        let what = format!("{}.{name}", module.name);
                        let kind = library::kind(&what);
                        self.new_unknown(&what, None, kind, true).map(Some)
                    }
                    None => Ok(None),
                }
            }
            Value::Library(base) => {
                if matches!(name, "__name__" | "__qualname__") {
                    return Ok(Some(Value::str(base.rsplit('.').next().unwrap_or_default())));
                }
                if name == "__module__" {
                    return Ok(base.rsplit_once('.').map(|(module, _)| Value::str(module)));
                }
                if let Some(known) = self.library_attribute(base, name)? {
                    return Ok(known);
                }
                let object = Object::Library(base.to_string());
                match self.loader.member(&object, name)? {
                    Some(object) => self.object(object).map(Some),
                    None => Ok(None),
                }
            }
            Value::DType(dtype) => Ok(match name {
                "is_floating_point" => Some(Value::Bool(dtype.is_floating_point())),
                "is_complex" => Some(Value::Bool(dtype.is_complex())),
                "itemsize" => Some(Value::Int(dtype.item_size() as i64)),
                _ => None,
            }),
            Value::Device(device) => {
                let (kind, index) = device.split_once(':').unwrap_or((device, ""));
                Ok(match name {
                    "type" => Some(Value::str(kind)),
                    "index" => Some(index.parse().map_or(Value::None, Value::Int)),
                    _ => None,
                })
            }
            Value::Complex(re, im) => Ok(match name {
                "real" => Some(Value::Float(*re)),
                "imag" => Some(Value::Float(*im)),
                _ => None,
            }),
            other => self.method_of_builtin(other, name),
        }
    }

    fn instance_attribute(&mut self, id: Id, name: &str) -> Outcome<Option<Value>> {
        let value = Value::Ref(id);
        let Some(instance) = self.arena.instance(&value) else { return Ok(None) };
        let class = instance.class;
        let own = instance.attributes.get(name).cloned();
        let member = self.member(class, name);
        if let Some(member) = &member
            && let Some(property) = self.arena.property(member)
        {
            let getter = property.getter.clone();
            return self.nested(|this| this.call(&getter, vec![value], Vec::new())).map(Some);
        }
        if own.is_some() {
            return Ok(own);
        }
        if let Some(member) = member {
            return self.bound(&member, &value, class).map(Some);
        }
        match name {
            "__dict__" => {
                if let Some(known) =
                    self.instances_with_dicts.get(&id).map(|&dict| Value::Ref(dict))
                    && self.arena.dict(&known).is_some()
                {
                    return Ok(Some(known));
                }
                let attributes = self.arena.instance(&value).map(|own| own.attributes.clone());
                let entries = attributes.unwrap_or_default().into_iter().collect();
                let dict = self.dict_of(entries)?;
                if let Value::Ref(of) = dict {
                    self.spend(4 * size_of::<Id>())?;
                    self.dicts_of_instances.insert(of, id);
                    self.instances_with_dicts.insert(id, of);
                }
                return Ok(Some(dict));
            }
            "__doc__" => return self.class_attribute(class, "__doc__"),
            "_name_" | "_value_" if self.enum_members(&Value::Ref(class)).is_some() => {
                return self.instance_attribute(id, name.trim_matches('_'));
            }
            "__module__" => {
                let module = self.arena.class(&Value::Ref(class));
                return Ok(module.map(|class| Value::Str(Arc::clone(&class.source.module.name))));
            }
            _ => {}
        }
        // A member of an enum that is a string, too.
        let is_text = self.arena.class(&Value::Ref(class)).is_some_and(|class| {
            class.kind == ClassKind::Enum
                && class
                    .order
                    .iter()
                    .any(|base| matches!(base, Value::Library(name) if &**name == "builtins.str"))
        });
        if is_text && builtins::has_method("str", name) {
            let text = self.instance_attribute(id, "value")?.unwrap_or(Value::None);
            return self.method_of_builtin(&text, name);
        }
        if let Some(fallback) = self.member(class, "__getattr__") {
            let args = vec![value, Value::str(name)];
            return self.nested(|this| this.call(&fallback, args, Vec::new())).map(Some);
        }
        Ok(self.object_method(&value, name))
    }

    /// `object.__getattribute__(value, name)`: what it has without being asked by `__getattr__`.
    pub(super) fn attribute_of_itself(&mut self, value: &Value, name: &str) -> Outcome<Value> {
        if let Some(instance) = self.arena.instance(value) {
            let class = instance.class;
            if !instance.attributes.contains_key(name) && self.member(class, name).is_none() {
                let found = self.object_method(value, name);
                return match found {
                    Some(found) => Ok(found),
                    None => {
                        let class = self.class_name(&Value::Ref(class));
                        let message = format!("'{class}' object has no attribute '{name}'");
                        self.raise("AttributeError", message)
                    }
                };
            }
        }
        self.attribute(value, name)
    }

    /// What every object has from `object`.
    fn object_method(&mut self, value: &Value, name: &str) -> Option<Value> {
        if name == "__new__" {
            return Some(Value::library("builtins.object.__new__"));
        }
        const OF_OBJECT: &[&str] = &[
            "__init__",
            "__setattr__",
            "__delattr__",
            "__getattribute__",
            "__dir__",
            "__repr__",
            "__str__",
            "__init_subclass__",
        ];
        let is_of_tuple = name == "__getitem__" && self.arena.tuple(value).is_some();
        if !OF_OBJECT.contains(&name) && !is_of_tuple {
            return None;
        }
        let function = Value::library(&format!("builtins.object.{name}"));
        Some(Value::Ref(self.arena.add(Cell::Method(value.clone(), function))))
    }

    /// A member of a class as an object has it: a method bound to it.
    pub(super) fn bound(&mut self, member: &Value, object: &Value, class: Id) -> Outcome<Value> {
        match self.arena.cell(member) {
            Some(Cell::Function(_)) => self.new_cell(Cell::Method(object.clone(), member.clone())),
            Some(Cell::Partial(Partial { function: Value::Library(name), .. }))
                if &**name == DATA_CLASS_INIT =>
            {
                self.new_cell(Cell::Method(object.clone(), member.clone()))
            }
            Some(Cell::StaticMethod(function)) => Ok(function.clone()),
            Some(Cell::ClassMethod(function)) => {
                let method = Cell::Method(Value::Ref(class), function.clone());
                self.new_cell(method)
            }
            _ => Ok(member.clone()),
        }
    }

    fn class_attribute(&mut self, id: Id, name: &str) -> Outcome<Option<Value>> {
        if name == "__doc__" {
            // Not that of a class that it is derived from.
            let own = self.arena.class(&Value::Ref(id)).and_then(|class| class.members.get(name));
            return Ok(Some(own.cloned().unwrap_or_else(|| self.own_docstring(&Value::Ref(id)))));
        }
        if let Some(member) = self.member(id, name) {
            return match self.arena.cell(&member) {
                Some(Cell::Function(_)) => Ok(Some(member)),
                _ => self.bound(&member, &Value::Ref(id), id).map(Some),
            };
        }
        if let Some(found) = self.metaclass_method(&Value::Ref(id), name)? {
            return Ok(Some(found));
        }
        let Some(class) = self.arena.class(&Value::Ref(id)) else { return Ok(None) };
        Ok(match name {
            "__name__" | "__qualname__" => Some(Value::Str(Arc::clone(&class.name))),
            "__module__" => Some(Value::Str(Arc::clone(&class.source.module.name))),
            "__mro__" => {
                let mut order = class.order.clone();
                order.push(Value::library("builtins.object"));
                Some(self.new_tuple(order)?)
            }
            "__bases__" => {
                let order = class.order.get(1..).unwrap_or_default().to_vec();
                Some(self.new_tuple(order)?)
            }
            "__members__" if class.kind == ClassKind::Enum => {
                let mut entries = Vec::new();
                for (name, value) in &class.members {
                    if self.arena.instance(value).is_some() {
                        entries.push((Arc::clone(name), value.clone()));
                    }
                }
                Some(self.dict_of(entries)?)
            }
            "_fields" => match &class.kind {
                ClassKind::NamedTuple(fields) => {
                    let fields = fields.iter().map(|name| Value::Str(Arc::clone(name))).collect();
                    Some(self.new_tuple(fields)?)
                }
                _ => None,
            },
            "__new__" | "__init__" | "__setattr__" | "__delattr__" => {
                Some(Value::library(&format!("builtins.object.{name}")))
            }
            _ => match self.unknown_base(id) {
                Some(base) => return self.unknown_attribute(&base, name),
                None => None,
            },
        })
    }

    fn super_attribute(&mut self, owner: Id, object: &Value, name: &str) -> Outcome<Option<Value>> {
        let is_of = |class: &Class| class.order.iter().any(|base| base.is(&Value::Ref(owner)));
        let class = match self.arena.cell(object) {
            Some(Cell::Class(class)) if is_of(class) => object.clone(),
            _ => self.class_of(object),
        };
        let Value::Ref(class) = class else { return Ok(None) };
        let Some(member) = self.member_after(class, Some(owner), name) else {
            if self.is_metaclass(class)
                && let Some(found) = self.method_of_type(object, name)?
            {
                return Ok(Some(found));
            }
            return Ok(self.object_method(object, name));
        };
        if name == "__new__" {
            // A static method, whoever asks.
            return Ok(Some(match self.arena.cell(&member) {
                Some(Cell::StaticMethod(function)) => function.clone(),
                _ => member,
            }));
        }
        if let Some(property) = self.arena.property(&member) {
            let getter = property.getter.clone();
            return self.call(&getter, vec![object.clone()], Vec::new()).map(Some);
        }
        self.bound(&member, object, class).map(Some)
    }

    fn named_tuple_attribute(&mut self, id: Id, class: Id, name: &str) -> Outcome<Option<Value>> {
        let value = Value::Ref(id);
        let fields = match self.arena.class(&Value::Ref(class)).map(|class| &class.kind) {
            Some(ClassKind::NamedTuple(fields)) => fields.clone(),
            _ => Vec::new(),
        };
        let items = self.arena.tuple(&value).map(|tuple| tuple.items.clone()).unwrap_or_default();
        if let Some(at) = fields.iter().position(|field| &**field == name) {
            return Ok(items.get(at).cloned());
        }
        match name {
            "_fields" => self.class_attribute(class, name),
            "_asdict" => self.new_cell(Cell::BuiltinMethod(value, name.into())).map(Some),
            "_replace" => self.new_cell(Cell::BuiltinMethod(value, name.into())).map(Some),
            _ => match self.member(class, name) {
                Some(member) => match self.arena.property(&member) {
                    Some(property) => {
                        let getter = property.getter.clone();
                        self.call(&getter, vec![value], Vec::new()).map(Some)
                    }
                    None => self.bound(&member, &value, class).map(Some),
                },
                None => self.method_of_builtin(&value, name),
            },
        }
    }

    /// `value.name = new`
    pub(super) fn set_attribute(&mut self, value: &Value, name: &str, new: Value) -> Outcome<()> {
        self.spend(size_of::<Value>() * 2)?;
        let id = match value {
            Value::Ref(id) => *id,
            Value::Namespace(module) => {
                return self.set_global(&Arc::clone(module), name, new);
            }
            // `torch.backends.cudnn.benchmark = True`
            Value::Library(base) if base.starts_with("torch.backends.") => return Ok(()),
            other => {
                let message = format!(
                    "'{}' object has no attribute '{name}' to be set",
                    self.type_name(other)
                );
                return self.raise("AttributeError", message);
            }
        };
        match self.arena.get_mut(id) {
            Cell::Instance(instance) => {
                let class = instance.class;
                match self.member(class, "__setattr__") {
                    Some(setter) => {
                        let args = vec![value.clone(), Value::str(name), new];
                        self.nested(|this| this.call(&setter, args, Vec::new())).map(drop)
                    }
                    None => self.set_plain_attribute(value, name, new),
                }
            }
            Cell::Class(class) => {
                class.members.insert(name.into(), new);
                Ok(())
            }
            Cell::Function(function) => {
                function.attributes.insert(name.into(), new);
                Ok(())
            }
            Cell::Tensor(_) => self.set_tensor_attribute(id, name, new),
            Cell::Exception(_) if name == "__traceback__" => Ok(()),
            Cell::Partial(partial) => {
                partial.attributes.insert(name.into(), new);
                Ok(())
            }
            Cell::Unknown(_) => Ok(()),
            Cell::Dict(_) if name == "_metadata" => {
                self.metadata_of_dicts.insert(id, new);
                Ok(())
            }
            _ => {
                let message =
                    format!("'{}' object has no attribute '{name}'", self.type_name(value));
                self.raise("AttributeError", message)
            }
        }
    }

    /// `object.__setattr__(value, name, new)`
    pub(super) fn set_plain_attribute(
        &mut self,
        value: &Value,
        name: &str,
        new: Value,
    ) -> Outcome<()> {
        let Value::Ref(id) = value else { return refuse("this has no attributes") };
        let Some(instance) = self.arena.instance_mut(*id) else {
            return refuse("this has no attributes to be set");
        };
        if name == "__dict__" {
            return refuse("a __dict__ that is replaced is not followed here");
        }
        let class = instance.class;
        if let Some(member) = self.member(class, name)
            && let Some(property) = self.arena.property(&member)
        {
            return match property.setter.clone() {
                Some(setter) => {
                    let args = vec![value.clone(), new];
                    self.nested(|this| this.call(&setter, args, Vec::new())).map(drop)
                }
                None => self.raise(
                    "AttributeError",
                    format!(
                        "property '{name}' of '{}' object has no setter",
                        self.type_name(value)
                    ),
                ),
            };
        }
        self.set_own(*id, name, new);
        Ok(())
    }

    /// Sets an attribute of an instance itself, and of its `__dict__` where anybody has asked for that.
    pub(super) fn set_own(&mut self, id: Id, name: &str, new: Value) {
        let name: Arc<str> = name.into();
        if let Some(dict) = self.dict_of_instance(id) {
            let key = Key::Str(Arc::clone(&name));
            match dict.get_mut(&key) {
                Some((_, value)) => *value = new.clone(),
                None => {
                    dict.insert(key, (Value::Str(Arc::clone(&name)), new.clone()));
                }
            }
        }
        if let Some(instance) = self.arena.instance_mut(id) {
            instance.attributes.insert(name, new);
        }
    }

    fn dict_of_instance(&mut self, id: Id) -> Option<&mut Dict> {
        let dict = *self.instances_with_dicts.get(&id)?;
        self.arena.dict_mut(dict)
    }

    /// `del value.name`
    pub(super) fn delete_attribute(&mut self, value: &Value, name: &str) -> Outcome<()> {
        if let Some(instance) = self.arena.instance(value)
            && let Some(method) = self.member(instance.class, "__delattr__")
        {
            return self.call(&method, vec![value.clone(), Value::str(name)], Vec::new()).map(drop);
        }
        self.delete_plain_attribute(value, name)
    }

    /// `object.__delattr__(value, name)`
    pub(super) fn delete_plain_attribute(&mut self, value: &Value, name: &str) -> Outcome<()> {
        if let Value::Ref(id) = value
            && let Some(dict) = self.dict_of_instance(*id)
        {
            dict.shift_remove(&Key::Str(name.into()));
        }
        let removed = match value {
            Value::Ref(id) => match self.arena.get_mut(*id) {
                Cell::Instance(instance) => instance.attributes.shift_remove(name),
                Cell::Class(class) => class.members.shift_remove(name),
                Cell::Function(function) => function.attributes.shift_remove(name),
                _ => None,
            },
            _ => None,
        };
        match removed {
            Some(_) => Ok(()),
            None => {
                let message =
                    format!("'{}' object has no attribute '{name}'", self.type_name(value));
                self.raise("AttributeError", message)
            }
        }
    }

    /// The class of a file that a value is an object of.
    pub(super) fn own_class(&self, value: &Value) -> Option<Id> {
        match self.arena.cell(value)? {
            Cell::Instance(instance) => Some(instance.class),
            Cell::Tuple(tuple) => tuple.class,
            _ => None,
        }
    }

    /// The class of a value: `type(value)`.
    pub(super) fn class_of(&self, value: &Value) -> Value {
        match self.arena.cell(value) {
            Some(Cell::Instance(instance)) => Value::Ref(instance.class),
            Some(Cell::Tuple(tuple)) if tuple.class.is_some() => {
                tuple.class.map_or(Value::None, Value::Ref)
            }
            Some(Cell::Exception(exception)) => exception.class.clone(),
            Some(Cell::Class(Class { metaclass: Some(metaclass), .. })) => Value::Ref(*metaclass),
            Some(Cell::Tensor(tensor)) if tensor.is_parameter => {
                Value::library("torch.nn.parameter.Parameter")
            }
            Some(Cell::Tensor(_)) => Value::library("torch.Tensor"),
            _ => Value::library(&format!("builtins.{}", self.type_name(value))),
        }
    }

    /// The name of a class.
    pub(super) fn class_name(&self, class: &Value) -> Arc<str> {
        match (class, self.arena.class(class)) {
            (_, Some(class)) => Arc::clone(&class.name),
            (Value::Library(name), _) => name.rsplit('.').next().unwrap_or_default().into(),
            _ => "object".into(),
        }
    }

    /// The name of a value's class.
    pub(super) fn type_name(&self, value: &Value) -> Arc<str> {
        let name = match value {
            Value::None => "NoneType",
            Value::NotImplemented => "NotImplementedType",
            Value::Ellipsis => "ellipsis",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::NumpyInt(_) => "int64",
            Value::Float(_) => "float",
            Value::Complex(..) => "complex",
            Value::Str(_) => "str",
            Value::Library(name) if name.rsplit('.').next().is_some_and(starts_large) => "type",
            Value::Library(_) => "function",
            Value::Namespace(_) => "module",
            Value::DType(_) => "dtype",
            Value::Device(_) => "device",
            Value::Ref(id) => match self.arena.get(*id) {
                Cell::List(_) => "list",
                Cell::Tuple(tuple) => match tuple.class {
                    Some(class) => return self.class_name(&Value::Ref(class)),
                    None => "tuple",
                },
                Cell::Dict(_) => "dict",
                Cell::Set(_) => "set",
                Cell::Tensor(tensor) if tensor.is_parameter => "Parameter",
                Cell::Tensor(_) => "Tensor",
                Cell::Instance(instance) => return self.class_name(&Value::Ref(instance.class)),
                Cell::Class(_) => "type",
                Cell::Function(_) => "function",
                Cell::Method(..) => "method",
                Cell::BuiltinMethod(..) => "builtin_function_or_method",
                Cell::Iterator(_) => "iterator",
                Cell::Range(..) => "range",
                Cell::Slice(..) => "slice",
                Cell::Super(..) => "super",
                Cell::Property(_) => "property",
                Cell::StaticMethod(_) => "staticmethod",
                Cell::ClassMethod(_) => "classmethod",
                Cell::Partial(_) => "partial",
                Cell::Scope(_) => "frame",
                Cell::Plain => "object",
                Cell::Unknown(_) => "unknown",
                Cell::File(_) => "TextIOWrapper",
                Cell::Path(_) => "PosixPath",
                Cell::Saved(saved) => {
                    let object = saved.checkpoint.root().other(saved.id);
                    return object.class_name().rsplit('.').next().unwrap_or_default().into();
                }
                Cell::Archive(_) => "RecursiveScriptModule",
                Cell::Pattern(_) => "Pattern",
                Cell::Match(_) => "Match",
                Cell::Exception(exception) => return self.class_name(&exception.class),
            },
        };
        name.into()
    }
}

/// What Python code set on a function, by name.
fn function_attributes(attributes: &super::Attributes) -> Vec<(Arc<str>, Value)> {
    attributes.iter().map(|(name, value)| (Arc::clone(name), value.clone())).collect()
}

fn starts_large(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
        || matches!(
            name,
            "int"
                | "float"
                | "str"
                | "bool"
                | "list"
                | "tuple"
                | "dict"
                | "set"
                | "object"
                | "type"
        )
}

/// The dotted name of a library or of what is in one; empty for what is neither.
fn library_name(value: &Value) -> &str {
    match value {
        Value::Namespace(module) => &module.name,
        Value::Library(name) => name,
        _ => "",
    }
}
