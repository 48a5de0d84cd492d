//! Methods of lists and tuples, and sorting.

use std::cmp::Ordering;

use super::Interpreter;
use super::arguments::{Keywords, LibraryArguments};
use super::control_flow::{Outcome, refuse};
use super::value::{Id, Value};

pub(super) const METHODS: &[&str] = &[
    "append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "copy", "index",
    "count",
];

pub(super) const TUPLE_METHODS: &[&str] = &["index", "count", "_asdict", "_replace", "numel"];

impl Interpreter<'_> {
    pub(super) fn list_method(
        &mut self,
        id: Id,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let mut given = LibraryArguments::new(name, args, keywords);
        let value = Value::Ref(id);
        self.spend_items(1)?;
        let result = match name {
            "append" => {
                let item = self.needed(&mut given, 0, "object")?;
                self.items_of(id)?.push(item);
                Value::None
            }
            "extend" => {
                let items = self.needed(&mut given, 0, "iterable")?;
                let items = self.iterate(&items)?;
                self.items_of(id)?.extend(items);
                Value::None
            }
            "insert" => {
                let at = self.needed(&mut given, 0, "index")?;
                let (at, item) = (self.int(&at)?, self.needed(&mut given, 1, "object")?);
                let items = self.items_of(id)?;
                let length = items.len() as i64;
                let at = if at < 0 { at.saturating_add(length) } else { at };
                items.insert(at.clamp(0, length) as usize, item);
                Value::None
            }
            "pop" => {
                let length = self.items_of(id)?.len() as i64;
                let at = match given.take(0, "index") {
                    Some(at) => self.int(&at)?,
                    None => -1,
                };
                let at = if at < 0 { at.saturating_add(length) } else { at };
                if at < 0 || at >= length {
                    let message =
                        if length == 0 { "pop from empty list" } else { "pop index out of range" };
                    return self.raise("IndexError", message);
                }
                self.items_of(id)?.remove(at as usize)
            }
            "remove" => {
                let item = self.needed(&mut given, 0, "value")?;
                match self.position(&value, &item)? {
                    Some(at) => drop(self.items_of(id)?.remove(at)),
                    None => return self.raise("ValueError", "list.remove(x): x not in list"),
                }
                Value::None
            }
            "clear" => {
                self.items_of(id)?.clear();
                Value::None
            }
            "reverse" => {
                self.items_of(id)?.reverse();
                Value::None
            }
            "sort" => {
                let key = given.take(usize::MAX, "key");
                let reverse = given.take(usize::MAX, "reverse");
                let items = self.items_of(id)?.clone();
                let sorted = self.sorted(items, key, reverse)?;
                *self.items_of(id)? = sorted;
                Value::None
            }
            "copy" => {
                let items = self.items_of(id)?.clone();
                self.new_list(items)?
            }
            _ => return self.sequence_method(&value, name, given),
        };
        self.done(given)?;
        Ok(result)
    }

    /// What lists and tuples both have.
    pub(super) fn sequence_method(
        &mut self,
        value: &Value,
        name: &str,
        mut given: LibraryArguments,
    ) -> Outcome<Value> {
        let result = match name {
            "index" => {
                let item = self.needed(&mut given, 0, "value")?;
                match self.position(value, &item)? {
                    Some(at) => Value::Int(at as i64),
                    None => {
                        let message = format!("{} is not in the sequence", self.repr(&item)?);
                        return self.raise("ValueError", message);
                    }
                }
            }
            "count" => {
                let item = self.needed(&mut given, 0, "value")?;
                let mut count = 0;
                for other in self.iterate(value)? {
                    count += i64::from(self.equal(&other, &item)?);
                }
                Value::Int(count)
            }
            // `torch.Size.numel`
            "numel" => {
                let mut product: i64 = 1;
                for size in self.iterate(value)? {
                    product = product.saturating_mul(self.int(&size)?);
                }
                Value::Int(product)
            }
            "_asdict" | "_replace" => return self.named_tuple_method(value, name, given),
            _ => return refuse(format!("the method '{name}' is not supported here")),
        };
        self.done(given)?;
        Ok(result)
    }

    fn named_tuple_method(
        &mut self,
        value: &Value,
        name: &str,
        mut given: LibraryArguments,
    ) -> Outcome<Value> {
        let class = self.class_of(value);
        let fields = self.attribute(&class, "_fields")?;
        let fields = self.iterate(&fields)?;
        let mut items = self.iterate(value)?;
        if name == "_asdict" {
            let mut entries = Vec::new();
            for (field, item) in fields.iter().zip(items) {
                entries.push((self.string(field)?, item));
            }
            return self.dict_of(entries);
        }
        for (field, new) in given.named() {
            let at = fields.iter().position(|known| known.is(&Value::Str(field.clone())));
            match at.and_then(|at| items.get_mut(at)) {
                Some(slot) => *slot = new,
                None => {
                    return self
                        .raise("ValueError", format!("Got unexpected field names: ['{field}']"));
                }
            }
        }
        self.call(&class, items, Vec::new())
    }

    fn items_of(&mut self, id: Id) -> Outcome<&mut Vec<Value>> {
        match self.arena.list_mut(id) {
            Some(items) => Ok(items),
            None => refuse("a method of lists was called on something else"),
        }
    }

    fn position(&mut self, value: &Value, item: &Value) -> Outcome<Option<usize>> {
        for (at, other) in self.iterate(value)?.into_iter().enumerate() {
            if other.is(item) || self.equal(&other, item)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Stable, by keys where there is a function for them.
    pub(super) fn sorted(
        &mut self,
        items: Vec<Value>,
        key: Option<Value>,
        reverse: Option<Value>,
    ) -> Outcome<Vec<Value>> {
        let reverse = match reverse {
            Some(reverse) => self.truth(&reverse)?,
            None => false,
        };
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            let by = match &key {
                Some(Value::None) | None => item.clone(),
                Some(function) => self.call(function, vec![item.clone()], Vec::new())?,
            };
            keyed.push((by, item));
        }
        if reverse {
            keyed.reverse();
        }
        let keyed = self.merge_sorted(keyed)?;
        let mut sorted: Vec<Value> = keyed.into_iter().map(|(_, item)| item).collect();
        if reverse {
            sorted.reverse();
        }
        Ok(sorted)
    }

    /// A merge sort, since comparing may run Python and fail.
    fn merge_sorted(&mut self, items: Vec<(Value, Value)>) -> Outcome<Vec<(Value, Value)>> {
        let mut runs: Vec<Vec<(Value, Value)>> = items.into_iter().map(|item| vec![item]).collect();
        while runs.len() > 1 {
            let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
            let mut waiting = runs.into_iter();
            while let Some(left) = waiting.next() {
                merged.push(match waiting.next() {
                    Some(right) => self.merge(left, right)?,
                    None => left,
                });
            }
            runs = merged;
        }
        Ok(runs.pop().unwrap_or_default())
    }

    fn merge(
        &mut self,
        left: Vec<(Value, Value)>,
        right: Vec<(Value, Value)>,
    ) -> Outcome<Vec<(Value, Value)>> {
        let mut made = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        while let (Some((one, _)), Some((other, _))) = (left.peek(), right.peek()) {
            let (one, other) = (one.clone(), other.clone());
            let order = match self.ordering(&other, &one)? {
                Some(order) => order,
                None => {
                    let less = self.compare(ruff_python_ast::CmpOp::Lt, &other, &one)?;
                    if self.truth(&less)? { Ordering::Less } else { Ordering::Greater }
                }
            };
            made.extend(if order == Ordering::Less { right.next() } else { left.next() });
        }
        made.extend(left);
        made.extend(right);
        Ok(made)
    }
}
