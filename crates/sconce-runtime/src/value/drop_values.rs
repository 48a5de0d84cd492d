//! The end of values that hold others: to any depth, and without recursion.
//!
//! It needs memory for as many containers as are within each other, not for as many as there are: programs
//! end where they hold as much as they may.

use std::rc::Rc;
use std::vec;

use crate::value::{Dict, Entry, Future, IValue, List, Object, Tuple};

impl Drop for List {
    fn drop(&mut self) {
        take_apart(self.contents());
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        take_apart(self.contents());
    }
}

impl Drop for Dict {
    fn drop(&mut self) {
        take_apart(self.contents());
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        take_apart(self.contents());
    }
}

impl Drop for Future {
    fn drop(&mut self) {
        take_apart(self.contents());
    }
}

/// What is left of a container that is taken apart.
enum Contents {
    Items(vec::IntoIter<IValue>),
    Entries(vec::IntoIter<Option<Entry>>),
    Slots(vec::IntoIter<Option<IValue>>),
    One(IValue),
}

impl Iterator for Contents {
    type Item = IValue;

    fn next(&mut self) -> Option<IValue> {
        match self {
            Contents::Items(items) => items.next(),
            // Keys hold nothing.
            Contents::Entries(entries) => entries.by_ref().flatten().next().map(|(_, value)| value),
            Contents::Slots(slots) => slots.by_ref().flatten().next(),
            Contents::One(value) => Some(std::mem::take(value)).filter(|value| !value.is_none()),
        }
    }
}

/// A value that gives away what it holds, so that it is dropped without it.
trait Container {
    /// What it holds, if that may hold others in turn.
    fn contents(&mut self) -> Option<Contents>;
}

impl Container for List {
    fn contents(&mut self) -> Option<Contents> {
        let has_others = self.items.iter().any(holds_others);
        has_others.then(|| Contents::Items(std::mem::take(&mut self.items).into_iter()))
    }
}

impl Container for Tuple {
    fn contents(&mut self) -> Option<Contents> {
        let has_others = self.items.iter().any(holds_others);
        has_others.then(|| Contents::Items(std::mem::take(&mut self.items).into_vec().into_iter()))
    }
}

impl Container for Dict {
    fn contents(&mut self) -> Option<Contents> {
        let has_others = self.entries().any(|(_, value)| holds_others(value));
        has_others.then(|| Contents::Entries(self.take_entries().into_iter()))
    }
}

impl Container for Object {
    fn contents(&mut self) -> Option<Contents> {
        let has_others = self.slots.iter().flatten().any(holds_others);
        has_others.then(|| Contents::Slots(std::mem::take(&mut self.slots).into_iter()))
    }
}

impl Container for Future {
    fn contents(&mut self) -> Option<Contents> {
        let value = self.outcome.as_mut().ok().filter(|value| holds_others(value))?;
        Some(Contents::One(std::mem::take(value)))
    }
}

fn holds_others(value: &IValue) -> bool {
    matches!(
        value,
        IValue::Object(_)
            | IValue::List(_)
            | IValue::Dict(_)
            | IValue::Tuple(_)
            | IValue::Future(_)
    )
}

/// Drops values one by one, each that nobody else holds after what it holds.
fn take_apart(contents: Option<Contents>) {
    let Some(contents) = contents else { return };
    let mut open = vec![contents];
    while let Some(contents) = open.last_mut() {
        match contents.next() {
            Some(mut value) => open.extend(contents_of(&mut value)),
            None => drop(open.pop()),
        }
    }
}

/// What a value holds that nobody else holds, if that may hold others in turn.
fn contents_of(value: &mut IValue) -> Option<Contents> {
    match value {
        IValue::Object(object) => object.only()?.contents(),
        IValue::List(list) => list.only()?.contents(),
        IValue::Dict(dict) => dict.only()?.contents(),
        IValue::Tuple(tuple) => Rc::get_mut(tuple)?.contents(),
        IValue::Future(future) => Rc::get_mut(future)?.contents(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sconce_ir::ClassId;
    use sconce_ir::Type;

    use super::*;
    use crate::value::shared::Shared;

    /// One more level around a value, of each kind in turn.
    fn around(level: usize, inner: IValue) -> IValue {
        match level % 5 {
            0 => IValue::list(Type::Any, vec![IValue::Int(1), inner]),
            1 => IValue::tuple(vec![inner]),
            2 => IValue::dict(vec![("inner".into(), inner)]).unwrap(),
            3 => IValue::Object(Shared::new(Object::new(ClassId(0), vec![None, Some(inner)]))),
            _ => IValue::Future(Rc::new(Future { outcome: Ok(inner) })),
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let work = || {
            let kinds = 0..5;
            for kind in kinds {
                let deep = (0..200_000).fold(IValue::None, |inner, _| around(kind, inner));
                drop(deep);
            }
            let mixed = (0..1_000_000).fold(IValue::None, |inner, level| around(level, inner));
            drop(mixed);
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn what_others_hold_stays_whole() {
        let inner = IValue::list(Type::Int, vec![IValue::Int(7)]);
        let outer = IValue::tuple(vec![IValue::tuple(vec![inner.clone()]), inner.clone()]);
        drop(outer);
        assert_eq!(inner.items().unwrap()[0].as_i64(), Some(7));
    }
}
