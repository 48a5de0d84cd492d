//! Whether values are equal: to any depth, and without recursion.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::value::IValue;

/// Two containers of one kind, and how many of their elements have been compared.
struct Pair {
    a: IValue,
    b: IValue,
    next: usize,
}

/// What comes next in comparing two containers.
enum Step {
    /// All that is left of them is equal.
    Equal,
    Differs,
    /// A tensor takes part.
    Unknown,
    /// These have to be compared first.
    Inside(IValue, IValue),
}

impl IValue {
    /// Whether both are equal: `aten::eq` of what is not a tensor; `None` where a tensor takes part.
    ///
    /// Values that hold themselves are equal where no difference can be reached.
    pub fn equal(&self, other: &Self) -> Option<bool> {
        if let Some(result) = leaves(self, other) {
            return result;
        }
        let mut pending: Vec<Pair> = Vec::new();
        // Containers that are in several places are compared once: lists that hold one list many times, level
        // upon level, are small and endless to whoever walks them.
        let mut known: FxHashSet<(usize, usize)> = FxHashSet::default();
        let mut inside = Some((self.clone(), other.clone()));
        loop {
            if let Some((a, b)) = inside.take() {
                let is_new = match (a.shared_address(), b.shared_address()) {
                    (Some(a), Some(b)) => known.insert((a, b)),
                    _ => true,
                };
                match same_length(&a, &b) {
                    false => return Some(false),
                    true if is_new => pending.push(Pair { a, b, next: 0 }),
                    true => {}
                }
            }
            let Some(pair) = pending.last_mut() else { return Some(true) };
            match pair.step() {
                Step::Equal => drop(pending.pop()),
                Step::Differs => return Some(false),
                Step::Unknown => return None,
                Step::Inside(a, b) => inside = Some((a, b)),
            }
        }
    }

    /// A number that no other container has while this one is held; `None` for what is no container.
    pub(crate) fn address(&self) -> Option<usize> {
        Some(match self {
            IValue::List(list) => list.address(),
            IValue::Dict(dict) => dict.address(),
            IValue::Tuple(tuple) => Rc::as_ptr(tuple).cast::<()>() as usize,
            IValue::Future(future) => Rc::as_ptr(future).cast::<()>() as usize,
            IValue::Object(object) => object.address(),
            _ => return None,
        })
    }

    /// [`Self::address`] of a container that somebody else may hold beside the one that holds it here and
    /// the copy that is looked at.
    fn shared_address(&self) -> Option<usize> {
        const HELD_HERE: usize = 2;
        let count = match self {
            IValue::List(list) => list.count(),
            IValue::Dict(dict) => dict.count(),
            IValue::Tuple(tuple) => Rc::strong_count(tuple),
            _ => return None,
        };
        if count > HELD_HERE { self.address() } else { None }
    }
}

/// What is known without a look into containers; `None` where both are containers of one kind.
fn leaves(a: &IValue, b: &IValue) -> Option<Option<bool>> {
    Some(Some(match (a, b) {
        (IValue::Int(a), IValue::Float(b)) | (IValue::Float(b), IValue::Int(a)) => *a as f64 == *b,
        (IValue::Complex(a, b), IValue::Complex(c, d)) => a == c && b == d,
        (IValue::Complex(a, b), other) | (other, IValue::Complex(a, b)) => {
            *b == 0.0
                && match other {
                    IValue::Int(int) => *int as f64 == *a,
                    IValue::Float(float) => float == a,
                    _ => false,
                }
        }
        (IValue::Str(a), IValue::Str(b)) => a == b,
        (IValue::Tensor(_), _) | (_, IValue::Tensor(_)) => return Some(None),
        (IValue::List(_), IValue::List(_))
        | (IValue::Tuple(_), IValue::Tuple(_))
        | (IValue::Dict(_), IValue::Dict(_)) => return None,
        _ => a.is(b),
    }))
}

fn same_length(a: &IValue, b: &IValue) -> bool {
    match (a, b) {
        (IValue::List(a), IValue::List(b)) => a.read().items.len() == b.read().items.len(),
        (IValue::Tuple(a), IValue::Tuple(b)) => a.items.len() == b.items.len(),
        (IValue::Dict(a), IValue::Dict(b)) => a.read().len() == b.read().len(),
        _ => false,
    }
}

impl Pair {
    /// Compares on until a container is met, or the end.
    fn step(&mut self) -> Step {
        match (&self.a, &self.b) {
            (IValue::List(a), IValue::List(b)) => {
                among(&a.read().items, &b.read().items, &mut self.next)
            }
            (IValue::Tuple(a), IValue::Tuple(b)) => among(&a.items, &b.items, &mut self.next),
            (IValue::Dict(a), IValue::Dict(b)) => {
                let (a, b) = (a.read(), b.read());
                while let Some(entry) = a.entry(self.next) {
                    self.next += 1;
                    let Some((key, value)) = entry else { continue };
                    let Some(other) = b.get(key) else { return Step::Differs };
                    if let Some(step) = compare(value, other) {
                        return step;
                    }
                }
                Step::Equal
            }
            _ => Step::Differs,
        }
    }
}

fn among(a: &[IValue], b: &[IValue], next: &mut usize) -> Step {
    while let (Some(a), Some(b)) = (a.get(*next), b.get(*next)) {
        *next += 1;
        if let Some(step) = compare(a, b) {
            return step;
        }
    }
    Step::Equal
}

/// `None` where both are equal.
fn compare(a: &IValue, b: &IValue) -> Option<Step> {
    match leaves(a, b) {
        Some(Some(true)) => None,
        Some(Some(false)) => Some(Step::Differs),
        Some(None) => Some(Step::Unknown),
        None => Some(Step::Inside(a.clone(), b.clone())),
    }
}

#[cfg(test)]
mod tests {
    use sconce_ir::Type;

    use super::*;

    fn list(items: Vec<IValue>) -> IValue {
        IValue::list(Type::Any, items)
    }

    #[test]
    fn containers_are_equal_by_what_they_hold() {
        let nested = |last: i64| {
            list(vec![
                1i64.into(),
                IValue::tuple(vec!["a".into(), list(vec![2.5f64.into()])]),
                IValue::dict(vec![("k".into(), list(vec![last.into()]))]).unwrap(),
            ])
        };
        assert_eq!(nested(1).equal(&nested(1)), Some(true));
        assert_eq!(nested(1).equal(&nested(2)), Some(false));
        assert_eq!(list(vec![]).equal(&list(vec![1i64.into()])), Some(false));
        assert_eq!(list(vec![]).equal(&IValue::tuple(vec![])), Some(false));
        let nan = list(vec![f64::NAN.into()]);
        assert_eq!(nan.equal(&nan), Some(false));
        let tensor = IValue::Tensor(crate::Tensor::from_slice(&[1f32], &[1]).unwrap());
        assert_eq!(list(vec![tensor.clone()]).equal(&list(vec![tensor])), None);
    }

    #[test]
    fn depth_sharing_and_cycles_cost_no_stack_and_no_time() {
        let work = || {
            let deep = || (0..300_000).fold(IValue::None, |inner, _| list(vec![inner]));
            assert_eq!(deep().equal(&deep()), Some(true));
            assert_eq!(deep().equal(&list(vec![deep()])), Some(false));
            let wide = |last: i64| {
                (0..100).fold(list(vec![last.into()]), |inner, _| {
                    IValue::tuple(vec![inner.clone(), inner])
                })
            };
            assert_eq!(wide(1).equal(&wide(1)), Some(true));
            assert_eq!(wide(1).equal(&wide(2)), Some(false));
            let cycle = || {
                let own = list(vec![]);
                let IValue::List(items) = &own else { unreachable!() };
                items.write().items.push(list(vec![own.clone()]));
                own
            };
            let (one, other) = (cycle(), cycle());
            assert_eq!(one.equal(&other), Some(true));
            assert_eq!(one.equal(&one), Some(true));
            for value in [one, other] {
                let IValue::List(items) = &value else { unreachable!() };
                items.write().items.clear();
            }
        };
        std::thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap().join().unwrap();
    }
}
