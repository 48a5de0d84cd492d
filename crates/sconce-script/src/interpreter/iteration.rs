//! Iteration, length, and elements by index.

use std::sync::Arc;

use super::Interpreter;
use super::compare::range_length;
use super::control_flow::{Outcome, Stop, refuse};
use super::value::{Cell, Value};

/// What comes of an index into a sequence.
enum Index {
    At(usize),
    Slice(Vec<usize>),
}

impl Interpreter<'_> {
    /// All that iterating over a value gives. An iterator is used up by it.
    pub(super) fn iterate(&mut self, value: &Value) -> Outcome<Vec<Value>> {
        let items = match value {
            Value::Str(text) => {
                self.spend(text.len() * 4)?;
                return Ok(text.chars().map(|c| Value::str(c.to_string())).collect());
            }
            Value::Ref(id) => match self.arena.get_mut(*id) {
                Cell::List(items) => items.clone(),
                Cell::Tuple(tuple) => tuple.items.clone(),
                Cell::Dict(dict) | Cell::Set(dict) => {
                    dict.values().map(|(key, _)| key.clone()).collect()
                }
                Cell::Iterator(iterator) => {
                    let at = std::mem::replace(&mut iterator.at, iterator.items.len());
                    iterator.items.get(at..).unwrap_or_default().to_vec()
                }
                Cell::Range(start, stop, step) => {
                    let (start, stop, step) = (*start, *stop, *step);
                    let count = range_length(start, stop, step);
                    self.spend_items(count)?;
                    return Ok((0..count)
                        .map(|at| Value::Int(start.wrapping_add((at as i64).wrapping_mul(step))))
                        .collect());
                }
                Cell::Tensor(_) => return self.tensor_items(value),
                Cell::Unknown(_) => return self.refuse_unknown(value),
                Cell::File(_) => return self.lines_of_file(value),
                Cell::Class(_) => match self.enum_members(value) {
                    Some(members) => members,
                    None => match self.metaclass_method(value, "__iter__")? {
                        Some(method) => {
                            let iterator = self.call(&method, Vec::new(), Vec::new())?;
                            return self.nested(|this| this.iterate(&iterator));
                        }
                        None => return self.not_iterable(value),
                    },
                },
                Cell::Instance(instance) => {
                    let class = instance.class;
                    return self.iterate_instance(value, class);
                }
                _ => return self.not_iterable(value),
            },
            _ => return self.not_iterable(value),
        };
        self.spend_items(items.len())?;
        Ok(items)
    }

    fn not_iterable<T>(&mut self, value: &Value) -> Outcome<T> {
        let message = format!("'{}' object is not iterable", self.type_name(value));
        self.type_error(message)
    }

    fn iterate_instance(&mut self, value: &Value, class: super::Id) -> Outcome<Vec<Value>> {
        if let Some(method) = self.member(class, "__iter__") {
            let iterator = self.call(&method, vec![value.clone()], Vec::new())?;
            let is_own = self.arena.instance(&iterator).is_some();
            return match is_own {
                false => self.iterate(&iterator),
                true => self.iterate_by(&iterator, "__next__", "StopIteration"),
            };
        }
        if self.member(class, "__getitem__").is_some() {
            return self.iterate_by(value, "__getitem__", "IndexError");
        }
        self.not_iterable(value)
    }

    /// Calls a method until it raises what ends the iteration.
    fn iterate_by(&mut self, value: &Value, method: &str, end: &str) -> Outcome<Vec<Value>> {
        let end = Value::library(&format!("builtins.{end}"));
        let mut items = Vec::new();
        loop {
            self.spend(size_of::<Value>())?;
            let args = match method {
                "__getitem__" => vec![Value::Int(items.len() as i64)],
                _ => Vec::new(),
            };
            match self.call_method(value, method, args) {
                Ok(item) => items.push(item),
                Err(Stop::Raised(exception, place)) => {
                    return match self.is_instance(&exception, &end)? {
                        true => Ok(items),
                        false => Err(Stop::Raised(exception, place)),
                    };
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// `next(iterator)`; `None` at its end.
    pub(super) fn next(&mut self, value: &Value) -> Outcome<Option<Value>> {
        if let Value::Ref(id) = value
            && let Some(iterator) = self.arena.iterator_mut(*id)
        {
            let item = iterator.items.get(iterator.at).cloned();
            iterator.at += usize::from(item.is_some());
            return Ok(item);
        }
        if self.arena.instance(value).is_some() {
            return self.call_method(value, "__next__", Vec::new()).map(Some);
        }
        let message = format!("'{}' object is not an iterator", self.type_name(value));
        self.type_error(message)
    }

    /// `len(value)`
    pub(super) fn length(&mut self, value: &Value) -> Outcome<usize> {
        if let Value::Str(text) = value {
            return Ok(text.chars().count());
        }
        Ok(match self.arena.cell(value) {
            Some(Cell::List(items)) => items.len(),
            Some(Cell::Tuple(tuple)) => tuple.items.len(),
            Some(Cell::Dict(dict) | Cell::Set(dict)) => dict.len(),
            Some(Cell::Range(start, stop, step)) => range_length(*start, *stop, *step),
            Some(Cell::Tensor(tensor)) => match tensor.tensor.sizes().first() {
                Some(&size) => size as usize,
                None => return self.type_error("len() of a 0-d tensor"),
            },
            Some(Cell::Class(_)) => match self.enum_members(value) {
                Some(members) => members.len(),
                None => match self.metaclass_method(value, "__len__")? {
                    Some(method) => {
                        let length = self.call(&method, Vec::new(), Vec::new())?;
                        usize::try_from(self.int(&length)?).unwrap_or(0)
                    }
                    None => return self.no_length(value),
                },
            },
            Some(Cell::Unknown(_)) => return self.refuse_unknown(value),
            Some(Cell::Instance(_)) => {
                let length = match self.attribute_or_none(value, "__len__")? {
                    Some(method) => self.call(&method, Vec::new(), Vec::new())?,
                    None => return self.no_length(value),
                };
                usize::try_from(self.int(&length)?).unwrap_or(0)
            }
            _ => return self.no_length(value),
        })
    }

    fn no_length<T>(&mut self, value: &Value) -> Outcome<T> {
        let message = format!("object of type '{}' has no len()", self.type_name(value));
        self.type_error(message)
    }

    /// `base[index]`
    pub(super) fn item(&mut self, base: &Value, index: &Value) -> Outcome<Value> {
        match base {
            // `List[int]`: nothing here needs to know more of it.
            Value::Library(_) => return Ok(base.clone()),
            Value::Str(text) => {
                let chars: Vec<char> = text.chars().collect();
                self.spend(chars.len() * 4)?;
                return match self.index(index, chars.len(), "string")? {
                    Index::At(at) => {
                        self.new_str(chars.get(at).map(char::to_string).unwrap_or_default())
                    }
                    Index::Slice(at) => {
                        self.new_str(at.iter().filter_map(|&at| chars.get(at)).collect())
                    }
                };
            }
            _ => {}
        }
        if self.arena.tuple(base).is_some()
            && let Some(class) = self.own_class(base)
            && let Some(method) = self.member(class, "__getitem__")
        {
            let args = vec![base.clone(), index.clone()];
            return self.nested(|this| this.call(&method, args, Vec::new()));
        }
        self.plain_item(base, index)
    }

    /// The same, whatever a class derived from `tuple` says.
    pub(super) fn plain_item(&mut self, base: &Value, index: &Value) -> Outcome<Value> {
        match self.arena.cell(base) {
            Some(Cell::List(items)) => {
                let index = self.index(index, items.len(), "list")?;
                let items = self.arena.list(base).map_or(&[][..], Vec::as_slice);
                match index {
                    Index::At(at) => Ok(items.get(at).cloned().unwrap_or(Value::None)),
                    Index::Slice(at) => {
                        let items = picked(items, &at);
                        self.new_list(items)
                    }
                }
            }
            Some(Cell::Tuple(tuple)) => {
                let index = self.index(index, tuple.items.len(), "tuple")?;
                let items = self.arena.tuple(base).map_or(&[][..], |tuple| &tuple.items);
                match index {
                    Index::At(at) => Ok(items.get(at).cloned().unwrap_or(Value::None)),
                    Index::Slice(at) => {
                        let items = picked(items, &at);
                        self.new_tuple(items)
                    }
                }
            }
            Some(Cell::Range(..)) => {
                let items = self.iterate(base)?;
                match self.index(index, items.len(), "range object")? {
                    Index::At(at) => Ok(items.get(at).cloned().unwrap_or(Value::None)),
                    Index::Slice(at) => self.new_list(picked(&items, &at)),
                }
            }
            Some(Cell::Dict(_)) => {
                let key = self.key(index)?;
                match self.arena.dict(base).and_then(|dict| dict.get(&key)) {
                    Some((_, value)) => Ok(value.clone()),
                    None => self.missing_key(index),
                }
            }
            Some(Cell::Tensor(_)) => self.tensor_item(base, index),
            Some(Cell::Class(_)) => self.class_item(base, index),
            Some(Cell::Unknown(_)) => self.unknown_item(base),
            Some(Cell::Match(_)) => self.match_method(base, "group", std::slice::from_ref(index)),
            Some(Cell::Instance(_)) => self.call_method(base, "__getitem__", vec![index.clone()]),
            _ => {
                let message = format!("'{}' object is not subscriptable", self.type_name(base));
                self.type_error(message)
            }
        }
    }

    /// `Class[item]`: a member of an enum, or the class of a generic one.
    fn class_item(&mut self, class: &Value, index: &Value) -> Outcome<Value> {
        if let Some(method) = self.metaclass_method(class, "__getitem__")? {
            return self.call(&method, vec![index.clone()], Vec::new());
        }
        if self.enum_members(class).is_some()
            && let Value::Str(name) = index
        {
            return match self.arena.class(class).and_then(|class| class.members.get(name)) {
                Some(member) => Ok(member.clone()),
                None => self.missing_key(index),
            };
        }
        if let Value::Ref(id) = class
            && let Some(method) = self.member(*id, "__class_getitem__")
        {
            return self.call(&method, vec![class.clone(), index.clone()], Vec::new());
        }
        Ok(class.clone())
    }

    pub(super) fn missing_key<T>(&mut self, key: &Value) -> Outcome<T> {
        let exception = self.library_exception("builtins.KeyError", vec![key.clone()])?;
        Err(Stop::Raised(exception, None))
    }

    /// `base[index] = new`
    pub(super) fn set_item(&mut self, base: &Value, index: &Value, new: Value) -> Outcome<()> {
        let Value::Ref(id) = base else {
            let message =
                format!("'{}' object does not support item assignment", self.type_name(base));
            return self.type_error(message);
        };
        match self.arena.get(*id) {
            Cell::List(items) => {
                let length = items.len();
                match self.index(index, length, "list assignment")? {
                    Index::At(at) => {
                        if let Some(slot) =
                            self.arena.list_mut(*id).and_then(|list| list.get_mut(at))
                        {
                            *slot = new;
                        }
                        Ok(())
                    }
                    Index::Slice(at) => self.set_slice(*id, index, &at, &new),
                }
            }
            Cell::Dict(_) => {
                self.spend_items(3)?;
                let key = self.key(index)?;
                if let (Some(instance), Value::Str(name)) = (self.dicts_of_instances.get(id), index)
                    && let Some(instance) = self.arena.instance_mut(*instance)
                {
                    instance.attributes.insert(Arc::clone(name), new.clone());
                }
                if let Some(dict) = self.arena.dict_mut(*id) {
                    match dict.get_mut(&key) {
                        Some((_, value)) => *value = new,
                        None => {
                            dict.insert(key, (index.clone(), new));
                        }
                    }
                }
                Ok(())
            }
            Cell::Tensor(_) => self.set_tensor_item(base, index, &new),
            Cell::Unknown(_) => Ok(()),
            Cell::Instance(_) => {
                self.call_method(base, "__setitem__", vec![index.clone(), new]).map(drop)
            }
            _ => {
                let message =
                    format!("'{}' object does not support item assignment", self.type_name(base));
                self.type_error(message)
            }
        }
    }

    fn set_slice(
        &mut self,
        id: super::Id,
        index: &Value,
        at: &[usize],
        new: &Value,
    ) -> Outcome<()> {
        let items = self.iterate(new)?;
        let is_plain = matches!(self.arena.cell(index),
            Some(Cell::Slice(_, _, step)) if matches!(step, Value::None | Value::Int(1)));
        if !is_plain {
            if items.len() != at.len() {
                let message = format!(
                    "attempt to assign sequence of size {} to extended slice of size {}",
                    items.len(),
                    at.len()
                );
                return self.raise("ValueError", message);
            }
            if let Some(list) = self.arena.list_mut(id) {
                for (&at, item) in at.iter().zip(items) {
                    if let Some(slot) = list.get_mut(at) {
                        *slot = item;
                    }
                }
            }
            return Ok(());
        }
        let length = self.arena.list_mut(id).map_or(0, |list| list.len());
        let begin = match at.first() {
            Some(&first) => first,
            None => self.slice_begin(index, length)?,
        };
        if let Some(list) = self.arena.list_mut(id) {
            let begin = begin.min(list.len());
            let end = (begin + at.len()).min(list.len());
            list.splice(begin..end, items);
        }
        Ok(())
    }

    /// Where a slice without elements is.
    fn slice_begin(&mut self, index: &Value, length: usize) -> Outcome<usize> {
        let Some(Cell::Slice(start, _, _)) = self.arena.cell(index) else { return Ok(0) };
        let start = match start.clone() {
            Value::None => 0,
            other => self.int(&other)?,
        };
        let length = length as i64;
        let start = if start < 0 { (start + length).max(0) } else { start.min(length) };
        Ok(start as usize)
    }

    /// `del base[index]`
    pub(super) fn delete_item(&mut self, base: &Value, index: &Value) -> Outcome<()> {
        let Value::Ref(id) = base else { return refuse("elements of this cannot be deleted") };
        match self.arena.get(*id) {
            Cell::List(items) => {
                let length = items.len();
                let at = match self.index(index, length, "list")? {
                    Index::At(at) => vec![at],
                    Index::Slice(at) => at,
                };
                if let Some(list) = self.arena.list_mut(*id) {
                    let mut position = 0;
                    let gone: rustc_hash::FxHashSet<usize> = at.into_iter().collect();
                    list.retain(|_| {
                        position += 1;
                        !gone.contains(&(position - 1))
                    });
                }
                Ok(())
            }
            Cell::Dict(_) => {
                let key = self.key(index)?;
                if let (Some(instance), Value::Str(name)) = (self.dicts_of_instances.get(id), index)
                    && let Some(instance) = self.arena.instance_mut(*instance)
                {
                    instance.attributes.shift_remove(name);
                }
                match self.arena.dict_mut(*id).and_then(|dict| dict.shift_remove(&key)) {
                    Some(_) => Ok(()),
                    None => self.missing_key(index),
                }
            }
            Cell::Instance(_) => {
                self.call_method(base, "__delitem__", vec![index.clone()]).map(drop)
            }
            _ => refuse("elements of this cannot be deleted"),
        }
    }

    /// What an index into a sequence of some length names.
    fn index(&mut self, index: &Value, length: usize, what: &str) -> Outcome<Index> {
        if let Some(Cell::Slice(start, stop, step)) = self.arena.cell(index) {
            let (start, stop, step) = (start.clone(), stop.clone(), step.clone());
            let at = self.slice_indices(&start, &stop, &step, length)?;
            self.spend_items(at.len())?;
            return Ok(Index::Slice(at));
        }
        if index.as_int().is_none() && self.arena.tensor(index).is_none() {
            let message =
                format!("{what} indices must be integers or slices, not {}", self.type_name(index));
            return self.type_error(message);
        }
        let at = self.int(index)?;
        let from_start = if at < 0 { at.saturating_add(length as i64) } else { at };
        match usize::try_from(from_start) {
            Ok(at) if at < length => Ok(Index::At(at)),
            _ => self.raise("IndexError", format!("{what} index out of range")),
        }
    }

    /// The places that a slice of a sequence has.
    pub(super) fn slice_indices(
        &mut self,
        start: &Value,
        stop: &Value,
        step: &Value,
        length: usize,
    ) -> Outcome<Vec<usize>> {
        let (first, last, step) = self.slice_bounds(start, stop, step, length)?;
        let count = range_length(first, last, step);
        Ok((0..count).map(|at| (first + at as i64 * step) as usize).collect())
    }

    /// `slice.indices(length)`
    pub(super) fn slice_bounds(
        &mut self,
        start: &Value,
        stop: &Value,
        step: &Value,
        length: usize,
    ) -> Outcome<(i64, i64, i64)> {
        let step = match step {
            Value::None => 1,
            other => self.int(other)?,
        };
        if step == 0 {
            return self.raise("ValueError", "slice step cannot be zero");
        }
        let length = length as i64;
        let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let mut bound = |value: &Value, default: i64| -> Outcome<i64> {
            let Value::None = value else {
                let at = self.int(value)?;
                let at = if at < 0 { at.saturating_add(length) } else { at };
                return Ok(at.clamp(low, high));
            };
            Ok(default)
        };
        let first = bound(start, if step > 0 { low } else { high })?;
        let last = bound(stop, if step > 0 { high } else { low })?;
        Ok((first, last, step))
    }

    /// Strings and values as a dict.
    pub(super) fn dict_of(&mut self, entries: Vec<(Arc<str>, Value)>) -> Outcome<Value> {
        let entries = entries
            .into_iter()
            .map(|(name, value)| {
                (super::value::Key::Str(Arc::clone(&name)), (Value::Str(name), value))
            })
            .collect();
        self.new_dict(entries)
    }
}

fn picked(items: &[Value], at: &[usize]) -> Vec<Value> {
    at.iter().filter_map(|&at| items.get(at).cloned()).collect()
}
