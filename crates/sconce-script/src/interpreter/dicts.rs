//! Methods of dicts and sets.

use super::Interpreter;
use super::arguments::{Keywords, LibraryArguments};
use super::control_flow::{Outcome, refuse};
use super::value::{Cell, Dict, Id, Value};

pub(super) const METHODS: &[&str] = &[
    "keys",
    "values",
    "items",
    "get",
    "pop",
    "popitem",
    "update",
    "setdefault",
    "copy",
    "clear",
    "move_to_end",
    "__contains__",
    "__getitem__",
    "__setitem__",
    "__len__",
    "__iter__",
];

pub(super) const SET_METHODS: &[&str] = &[
    "add",
    "discard",
    "remove",
    "update",
    "union",
    "intersection",
    "difference",
    "issubset",
    "issuperset",
    "isdisjoint",
    "copy",
    "clear",
    "pop",
    "difference_update",
];

impl Interpreter<'_> {
    /// Puts a value under a key.
    pub(super) fn insert(&mut self, dict: &mut Dict, key: Value, value: Value) -> Outcome<()> {
        self.spend(3 * size_of::<Value>())?;
        let looked_up = self.key(&key)?;
        match dict.get_mut(&looked_up) {
            Some((_, known)) => *known = value,
            None => {
                dict.insert(looked_up, (key, value));
            }
        }
        Ok(())
    }

    pub(super) fn new_set(&mut self, items: Vec<Value>) -> Outcome<Value> {
        let mut set = Dict::default();
        for item in items {
            self.insert(&mut set, item, Value::None)?;
        }
        self.new_cell(Cell::Set(set))
    }

    /// A dict made of another, of pairs, and of arguments by name.
    pub(super) fn dict_from(&mut self, source: Option<Value>, keywords: Keywords) -> Outcome<Dict> {
        let mut dict = Dict::default();
        if let Some(source) = source {
            self.update_dict(&mut dict, &source)?;
        }
        for (name, value) in keywords {
            self.insert(&mut dict, Value::Str(name), value)?;
        }
        Ok(dict)
    }

    fn update_dict(&mut self, dict: &mut Dict, source: &Value) -> Outcome<()> {
        if let Some(other) = self.arena.dict(source) {
            let other = other.clone();
            self.spend_items(other.len() * 3)?;
            for (key, entry) in other {
                match dict.get_mut(&key) {
                    Some((_, value)) => *value = entry.1,
                    None => {
                        dict.insert(key, entry);
                    }
                }
            }
            return Ok(());
        }
        if self.arena.instance(source).is_some()
            && let Some(keys) = self.attribute_or_none(source, "keys")?
        {
            let keys = self.call(&keys, Vec::new(), Vec::new())?;
            for key in self.iterate(&keys)? {
                let value = self.item(source, &key)?;
                self.insert(dict, key, value)?;
            }
            return Ok(());
        }
        for pair in self.iterate(source)? {
            let parts = self.iterate(&pair)?;
            let [key, value] = parts.as_slice() else {
                let message = format!(
                    "dictionary update sequence element has length {}; 2 is required",
                    parts.len()
                );
                return self.raise("ValueError", message);
            };
            self.insert(dict, key.clone(), value.clone())?;
        }
        Ok(())
    }

    fn entries(&mut self, id: Id) -> Vec<(Value, Value)> {
        match self.arena.get(id) {
            Cell::Dict(dict) | Cell::Set(dict) => dict.values().cloned().collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn dict_method(
        &mut self,
        id: Id,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let mut given = LibraryArguments::new(name, args, keywords);
        let value = Value::Ref(id);
        let changes = matches!(name, "pop" | "popitem" | "update" | "clear" | "move_to_end");
        let before = match changes && self.dicts_of_instances.contains_key(&id) {
            true => self.arena.dict(&value).cloned(),
            false => None,
        };
        let result = match name {
            // Copies: what changes the dict while it is gone through is refused by Python.
            "keys" | "__iter__" => {
                let keys = self.entries(id).into_iter().map(|(key, _)| key).collect();
                self.new_list(keys)?
            }
            "values" => {
                let values = self.entries(id).into_iter().map(|(_, value)| value).collect();
                self.new_list(values)?
            }
            "items" => {
                let mut items = Vec::new();
                for (key, value) in self.entries(id) {
                    items.push(self.new_tuple(vec![key, value])?);
                }
                self.new_list(items)?
            }
            "get" | "pop" | "setdefault" => {
                let key = self.needed(&mut given, 0, "key")?;
                let default = given.take(1, "default");
                self.looked_up(id, name, &key, default)?
            }
            "popitem" => match self.arena.dict_mut(id).and_then(Dict::pop) {
                Some((_, (key, value))) => self.new_tuple(vec![key, value])?,
                None => return self.raise("KeyError", "popitem(): dictionary is empty"),
            },
            "update" => {
                let source = given.take(0, "other");
                let keywords = given.named();
                let Some(dict) = self.arena.dict(&value) else { return refuse("no dict") };
                let mut dict = dict.clone();
                if let Some(source) = source {
                    self.update_dict(&mut dict, &source)?;
                }
                for (name, value) in keywords {
                    self.insert(&mut dict, Value::Str(name), value)?;
                }
                if let Some(own) = self.arena.dict_mut(id) {
                    *own = dict;
                }
                Value::None
            }
            "copy" => {
                let copy = self.arena.dict(&value).cloned().unwrap_or_default();
                self.new_dict(copy)?
            }
            "clear" => {
                if let Some(dict) = self.arena.dict_mut(id) {
                    dict.clear();
                }
                Value::None
            }
            "move_to_end" => {
                let key = self.needed(&mut given, 0, "key")?;
                let last = match given.take(1, "last") {
                    Some(last) => self.truth(&last)?,
                    None => true,
                };
                let key = self.key(&key)?;
                if let Some(dict) = self.arena.dict_mut(id)
                    && let Some(entry) = dict.shift_remove(&key)
                {
                    let at = if last { dict.len() } else { 0 };
                    dict.shift_insert(at, key, entry);
                }
                Value::None
            }
            "__contains__" => {
                let key = self.needed(&mut given, 0, "key")?;
                Value::Bool(self.contains(&value, &key)?)
            }
            "__getitem__" => {
                let key = self.needed(&mut given, 0, "key")?;
                self.item(&value, &key)?
            }
            "__setitem__" => {
                let key = self.needed(&mut given, 0, "key")?;
                let new = self.needed(&mut given, 1, "value")?;
                self.set_item(&value, &key, new)?;
                Value::None
            }
            "__len__" => Value::Int(self.length(&value)? as i64),
            _ => return refuse(format!("the method '{name}' of dicts is not supported here")),
        };
        self.done(given)?;
        if let Some(before) = before {
            self.write_through(id, &before);
        }
        Ok(result)
    }

    /// What has changed in an object's `__dict__` changes in the object.
    pub(super) fn write_through(&mut self, id: Id, before: &Dict) {
        let Some(instance) = self.dicts_of_instances.get(&id).copied() else { return };
        let Some(now) = self.arena.dict(&Value::Ref(id)).cloned() else { return };
        let Some(instance) = self.arena.instance_mut(instance) else { return };
        for (key, (name, value)) in &now {
            let is_same = before.get(key).is_some_and(|(_, known)| known.is(value));
            if let (Value::Str(name), false) = (name, is_same) {
                instance.attributes.insert(name.clone(), value.clone());
            }
        }
        for (key, (name, _)) in before {
            if let (Value::Str(name), false) = (name, now.contains_key(key)) {
                instance.attributes.shift_remove(name);
            }
        }
    }

    fn looked_up(
        &mut self,
        id: Id,
        name: &str,
        key: &Value,
        default: Option<Value>,
    ) -> Outcome<Value> {
        let looked_up = self.key(key)?;
        let Some(dict) = self.arena.dict_mut(id) else { return refuse("no dict") };
        let found = match name {
            "pop" => dict.shift_remove(&looked_up).map(|(_, value)| value),
            _ => dict.get(&looked_up).map(|(_, value)| value.clone()),
        };
        match (found, default, name) {
            (Some(value), ..) => Ok(value),
            (None, None, "pop") => self.missing_key(key),
            (None, default, "setdefault") => {
                let value = default.unwrap_or(Value::None);
                self.set_item(&Value::Ref(id), key, value.clone())?;
                Ok(value)
            }
            (None, default, _) => Ok(default.unwrap_or(Value::None)),
        }
    }

    pub(super) fn set_method(
        &mut self,
        id: Id,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let mut given = LibraryArguments::new(name, args, keywords);
        let value = Value::Ref(id);
        let result = match name {
            "add" => {
                let item = self.needed(&mut given, 0, "element")?;
                let key = self.key(&item)?;
                self.spend_items(3)?;
                if let Some(set) = self.arena.set_mut(id) {
                    set.entry(key).or_insert((item, Value::None));
                }
                Value::None
            }
            "discard" | "remove" => {
                let item = self.needed(&mut given, 0, "element")?;
                let key = self.key(&item)?;
                let removed = self.arena.set_mut(id).and_then(|set| set.shift_remove(&key));
                if removed.is_none() && name == "remove" {
                    return self.missing_key(&item);
                }
                Value::None
            }
            "pop" => match self.arena.set_mut(id).and_then(Dict::pop) {
                Some((_, (item, _))) => item,
                None => return self.raise("KeyError", "pop from an empty set"),
            },
            "clear" => self.replace_set(id, Dict::default()),
            "copy" => {
                let own = self.own_set(&value)?;
                self.new_cell(Cell::Set(own))?
            }
            _ => {
                let mut set = self.own_set(&value)?;
                let mut answer = true;
                for other in given.rest() {
                    let items = self.iterate(&other)?;
                    let other = self.new_set(items)?;
                    let other = self.arena.set(&other).cloned().unwrap_or_default();
                    match name {
                        "update" | "union" => set.extend(other),
                        "intersection" => set.retain(|key, _| other.contains_key(key)),
                        "difference" | "difference_update" => {
                            set.retain(|key, _| !other.contains_key(key));
                        }
                        "issubset" => answer &= set.keys().all(|key| other.contains_key(key)),
                        "issuperset" => answer &= other.keys().all(|key| set.contains_key(key)),
                        "isdisjoint" => answer &= !set.keys().any(|key| other.contains_key(key)),
                        _ => {
                            return refuse(format!(
                                "the method '{name}' of sets is not supported here"
                            ));
                        }
                    }
                }
                match name {
                    "update" | "difference_update" => self.replace_set(id, set),
                    "union" | "intersection" | "difference" => self.new_cell(Cell::Set(set))?,
                    _ => Value::Bool(answer),
                }
            }
        };
        self.done(given)?;
        Ok(result)
    }

    /// A copy of a set.
    fn own_set(&mut self, value: &Value) -> Outcome<Dict> {
        let own = self.arena.set(value).cloned().unwrap_or_default();
        self.spend_items(own.len())?;
        Ok(own)
    }

    fn replace_set(&mut self, id: Id, set: Dict) -> Value {
        if let Some(own) = self.arena.set_mut(id) {
            *own = set;
        }
        Value::None
    }
}
