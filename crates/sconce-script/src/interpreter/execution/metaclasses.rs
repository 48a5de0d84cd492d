//! Classes that are made by something else than a plain class statement: by a metaclass, by `type(name, bases,
//! members)`, by `collections.namedtuple`.

use std::sync::Arc;

use super::super::arguments::{Keywords, LibraryArguments};
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Class, ClassKind, Id, Value};
use super::super::{Attributes, Interpreter};
use crate::loader::{Module, PyClass};

/// Classes of classes that make what a class statement makes by itself.
pub(in super::super) const PLAIN: &[&str] =
    &["builtins.type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"];

/// What the file of a class is called that is in none.
const MADE: &str = "<made>";

impl Interpreter<'_> {
    /// The metaclass that a class statement names, unless it adds nothing.
    pub(in super::super) fn metaclass(&mut self, value: &Value) -> Outcome<Option<Id>> {
        match value {
            Value::Library(name) if PLAIN.contains(&&**name) => Ok(None),
            Value::Ref(id) if self.is_metaclass(*id) => Ok(Some(*id)),
            other => {
                self.check_known(other)?;
                refuse(format!("{} is no metaclass that is followed here", self.class_name(other)))
            }
        }
    }

    /// Whether objects of a class are classes.
    pub(in super::super) fn is_metaclass(&self, id: Id) -> bool {
        self.arena.class(&Value::Ref(id)).is_some_and(|class| {
            let is_plain =
                |base: &Value| matches!(base, Value::Library(name) if PLAIN.contains(&&**name));
            class.order.iter().any(is_plain)
        })
    }

    /// The metaclass of the first base that has one.
    pub(in super::super) fn inherited_metaclass(&self, bases: &[Value]) -> Option<Id> {
        bases.iter().find_map(|base| self.arena.class(base)?.metaclass)
    }

    /// A method of a class's metaclass, bound to the class.
    pub(in super::super) fn metaclass_method(
        &mut self,
        class: &Value,
        name: &str,
    ) -> Outcome<Option<Value>> {
        let Some(metaclass) = self.arena.class(class).and_then(|class| class.metaclass) else {
            return Ok(None);
        };
        let Some(member) = self.member(metaclass, name) else { return Ok(None) };
        if let Some(property) = self.arena.property(&member) {
            let getter = property.getter.clone();
            return self
                .nested(|this| this.call(&getter, vec![class.clone()], Vec::new()))
                .map(Some);
        }
        self.bound(&member, class, metaclass).map(Some)
    }

    /// What a metaclass makes of a class whose body has run.
    pub(in super::super) fn made_by_metaclass(
        &mut self,
        metaclass: Id,
        id: Id,
        bases: &[Value],
        keywords: Keywords,
    ) -> Outcome<Value> {
        let made = Value::Ref(id);
        let Some(class) = self.arena.class_mut(id) else { return refuse("no class") };
        class.metaclass = Some(metaclass);
        let name = Value::Str(Arc::clone(&class.name));
        let members: Vec<(Arc<str>, Value)> =
            class.members.iter().map(|(name, value)| (Arc::clone(name), value.clone())).collect();
        let bases = self.new_tuple(bases.to_vec())?;
        let members = self.dict_of(members)?;
        let given =
            |first: &Value| vec![first.clone(), name.clone(), bases.clone(), members.clone()];
        let made = match self.member(metaclass, "__new__") {
            Some(new) => {
                self.pending_classes.push(id);
                let own = given(&Value::Ref(metaclass));
                let made = self.nested(|this| this.call(&new, own, keywords.clone()));
                self.pending_classes.retain(|pending| *pending != id);
                made?
            }
            None => {
                self.announce_subclass(id, keywords.clone())?;
                made
            }
        };
        if self.arena.class(&made).is_some()
            && let Some(init) = self.member(metaclass, "__init__")
        {
            let own = given(&made);
            self.nested(|this| this.call(&init, own, keywords))?;
        }
        Ok(made)
    }

    /// `__init_subclass__` of what a class is derived from.
    pub(in super::super) fn announce_subclass(
        &mut self,
        id: Id,
        keywords: Keywords,
    ) -> Outcome<()> {
        let Some(member) = self.member_after(id, Some(id), "__init_subclass__") else {
            return Ok(());
        };
        let function = match self.arena.cell(&member) {
            Some(Cell::ClassMethod(function)) => function.clone(),
            _ => member,
        };
        self.nested(|this| this.call(&function, vec![Value::Ref(id)], keywords)).map(drop)
    }

    /// What every class has from `type`, for `super()` in a metaclass.
    pub(in super::super) fn method_of_type(
        &mut self,
        object: &Value,
        name: &str,
    ) -> Outcome<Option<Value>> {
        let function = Value::library(&format!("builtins.type.{name}"));
        match name {
            // A static method.
            "__new__" => Ok(Some(function)),
            "__init__" | "__call__" | "__setattr__" | "__delattr__" | "__getattribute__" => {
                self.new_cell(Cell::Method(object.clone(), function)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `type.__new__(metaclass, name, bases, members)` and the like.
    pub(in super::super) fn type_function(
        &mut self,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let mut given = LibraryArguments::new(name, args, keywords);
        let first = self.needed(&mut given, 0, "cls")?;
        match name {
            "__new__" => {
                let metaclass = self.metaclass(&first)?;
                let name = self.needed(&mut given, 1, "name")?;
                let bases = self.needed(&mut given, 2, "bases")?;
                let members = self.needed(&mut given, 3, "dict")?;
                self.new_class(metaclass, &name, &bases, &members, given.named())
            }
            "__init__" => {
                drop((given.rest(), given.named()));
                Ok(Value::None)
            }
            "__call__" => match first {
                Value::Ref(id) if self.arena.class(&first).is_some() => {
                    self.instantiate(id, given.rest(), given.named())
                }
                _ => self.type_error("descriptor '__call__' requires a 'type' object"),
            },
            "__setattr__" => {
                let attribute = self.needed(&mut given, 1, "name")?;
                let attribute = self.string(&attribute)?;
                let new = self.needed(&mut given, 2, "value")?;
                self.set_attribute(&first, &attribute, new)?;
                Ok(Value::None)
            }
            _ => refuse(format!("type.{name} is not supported here")),
        }
    }

    /// A class of its parts. The class whose statement is at work is filled with them; without one it is a new one.
    pub(in super::super) fn new_class(
        &mut self,
        metaclass: Option<Id>,
        name: &Value,
        bases: &Value,
        members: &Value,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let name = self.string(name)?;
        let bases = self.iterate(bases)?;
        let Some(entries) = self.arena.dict(members) else {
            return self.type_error("type.__new__() argument 3 must be dict");
        };
        let mut members = Attributes::default();
        for (key, value) in entries.values() {
            if let Value::Str(key) = key {
                members.insert(Arc::clone(key), value.clone());
            }
        }
        self.spend_items(members.len() * 2)?;
        let pending = self.pending_classes.pop();
        let source = match pending.and_then(|id| self.arena.class(&Value::Ref(id))) {
            Some(class) => class.source.clone(),
            None => self.source_of_class(&name)?,
        };
        let kind = self.kind_of_bases(&bases)?;
        if pending.is_none() && kind != ClassKind::Plain {
            return refuse("classes of this kind that type() makes are not supported here");
        }
        let mut order = self.order(&source, &bases)?;
        let id = match pending {
            Some(id) => id,
            None => {
                let class = Class {
                    name: Arc::clone(&name),
                    source,
                    order: Vec::new(),
                    members: Attributes::default(),
                    kind,
                    metaclass,
                };
                let Value::Ref(id) = self.new_cell(Cell::Class(class))? else {
                    return refuse("no class");
                };
                id
            }
        };
        order.insert(0, Value::Ref(id));
        if let Some(class) = self.arena.class_mut(id) {
            class.name = name;
            class.order = order;
            class.members = members;
            class.metaclass = metaclass;
        }
        self.announce_subclass(id, keywords)?;
        Ok(Value::Ref(id))
    }

    /// A class statement that stands for a class that has none.
    fn source_of_class(&mut self, name: &str) -> Outcome<PyClass> {
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !is_name {
            return refuse(format!("a class called '{name}' is not supported here"));
        }
        let path = match &self.execution {
            Some(execution) => {
                execution.repository.folder.join(super::HUBCONF).display().to_string()
            }
            None => MADE.to_owned(),
        };
        let text = format!("class {name}:\n    pass\n");
        let name_of_file = if self.execution.is_some() { super::HUBCONF } else { MADE };
        let module = Module::parse(name_of_file, &path, text, false)?;
        // Names at the top of the file stay what they are: this is not part of it.
        let module = Arc::new(module.with_key(format!("<class {}>", self.arena.len())));
        match module.own_class(name).cloned() {
            Some(def) => Ok(PyClass { def, module }),
            None => refuse(format!("a class called '{name}' is not supported here")),
        }
    }

    /// `collections.namedtuple(name, fields)`
    pub(in super::super) fn named_tuple_class(
        &mut self,
        given: &mut LibraryArguments,
    ) -> Outcome<Value> {
        let name = self.needed(given, 0, "typename")?;
        let name = self.string(&name)?;
        let fields = self.needed(given, 1, "field_names")?;
        let mut names: Vec<Arc<str>> = Vec::new();
        match &fields {
            Value::Str(text) => {
                names.extend(text.replace(',', " ").split_whitespace().map(Arc::from));
            }
            other => {
                for field in self.iterate(other)? {
                    names.push(self.string(&field)?);
                }
            }
        }
        let defaults = match given.take(usize::MAX, "defaults") {
            None | Some(Value::None) => Vec::new(),
            Some(defaults) => self.iterate(&defaults)?,
        };
        given.take(usize::MAX, "module");
        if defaults.len() > names.len() {
            return self.type_error("Got more default values than field names");
        }
        let source = self.source_of_class(&name)?;
        let first = names.len() - defaults.len();
        let members = names.iter().skip(first).cloned().zip(defaults).collect();
        self.spend_items(names.len() * 3)?;
        let class = Class {
            name,
            source,
            order: vec![Value::library("typing.NamedTuple")],
            members,
            kind: ClassKind::NamedTuple(names),
            metaclass: None,
        };
        let made = self.new_cell(Cell::Class(class))?;
        if let Value::Ref(id) = made
            && let Some(class) = self.arena.class_mut(id)
        {
            class.order.insert(0, Value::Ref(id));
        }
        Ok(made)
    }
}
