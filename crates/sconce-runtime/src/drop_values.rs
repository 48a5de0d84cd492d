//! The end of values that hold others: to any depth, and without recursion.

use std::rc::Rc;

use crate::value::{Dict, Future, IValue, List, Object, Tuple};

impl Drop for List {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.hand_over(&mut pending);
        take_apart(pending);
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.hand_over(&mut pending);
        take_apart(pending);
    }
}

impl Drop for Dict {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.hand_over(&mut pending);
        take_apart(pending);
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.hand_over(&mut pending);
        take_apart(pending);
    }
}

impl Drop for Future {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.hand_over(&mut pending);
        take_apart(pending);
    }
}

/// A value that gives away what it holds, so that it is dropped without it.
trait HandOver {
    fn hand_over(&mut self, to: &mut Vec<IValue>);
}

impl HandOver for List {
    fn hand_over(&mut self, to: &mut Vec<IValue>) {
        hand_over(&mut self.items, to);
    }
}

impl HandOver for Tuple {
    fn hand_over(&mut self, to: &mut Vec<IValue>) {
        hand_over(&mut self.items, to);
    }
}

impl HandOver for Dict {
    fn hand_over(&mut self, to: &mut Vec<IValue>) {
        hand_over(self.values_mut(), to);
    }
}

impl HandOver for Object {
    fn hand_over(&mut self, to: &mut Vec<IValue>) {
        hand_over(self.slots.iter_mut().flatten(), to);
    }
}

impl HandOver for Future {
    fn hand_over(&mut self, to: &mut Vec<IValue>) {
        hand_over(&mut self.outcome, to);
    }
}

/// Takes the values that may hold others. They stay in their places as `None`.
fn hand_over<'a>(values: impl IntoIterator<Item = &'a mut IValue>, to: &mut Vec<IValue>) {
    to.extend(values.into_iter().filter(|value| holds_others(value)).map(std::mem::take));
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

/// Drops values, those first that nobody else holds taken apart. No piece that is dropped here holds
/// one that nobody else holds.
fn take_apart(mut pending: Vec<IValue>) {
    while let Some(mut value) = pending.pop() {
        let only: Option<&mut dyn HandOver> = match &mut value {
            IValue::Object(object) => object.only().map(|object| object as _),
            IValue::List(list) => list.only().map(|list| list as _),
            IValue::Dict(dict) => dict.only().map(|dict| dict as _),
            IValue::Tuple(tuple) => Rc::get_mut(tuple).map(|tuple| tuple as _),
            IValue::Future(future) => Rc::get_mut(future).map(|future| future as _),
            _ => None,
        };
        if let Some(only) = only {
            only.hand_over(&mut pending);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use sconce_ir::{ClassId, Type};

    use super::*;
    use crate::shared::Shared;

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
        std::thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn what_others_hold_stays_whole() {
        let inner = IValue::list(Type::Int, vec![IValue::Int(7)]);
        let outer = IValue::tuple(vec![IValue::tuple(vec![inner.clone()]), inner.clone()]);
        drop(outer);
        assert_eq!(inner.items().unwrap()[0].as_i64(), Some(7));
        let count = Cell::new(0);
        let IValue::List(list) = &inner else { unreachable!() };
        list.read().items.iter().for_each(|_| count.set(count.get() + 1));
        assert_eq!(count.get(), 1);
    }
}
