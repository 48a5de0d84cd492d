//! What a condition says about the types of variables.

use std::sync::Arc;

use sconce_ir::{Type, ValueId};

/// That a variable is of a type.
#[derive(Clone, PartialEq)]
pub(super) struct Refinement {
    pub(super) name: Arc<str>,
    pub(super) ty: Type,
}

/// What holds when a condition is true, and what when it is false.
#[derive(Clone, Default)]
pub(super) struct Refinements {
    pub(super) when_true: Vec<Refinement>,
    pub(super) when_false: Vec<Refinement>,
}

/// A condition: its value, what it says about types, and whether it is known beforehand.
pub(super) struct Condition {
    pub(super) value: ValueId,
    pub(super) refinements: Refinements,
    pub(super) known: Option<bool>,
}

impl Refinements {
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            when_true: union(&self.when_true, &other.when_true),
            when_false: intersection(&self.when_false, &other.when_false),
        }
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        self.clone().not().and(&other.clone().not()).not()
    }

    pub(super) fn not(self) -> Self {
        Self { when_true: self.when_false, when_false: self.when_true }
    }
}

/// What both say; nothing about a variable on which they differ.
fn union(a: &[Refinement], b: &[Refinement]) -> Vec<Refinement> {
    let mut result = a.to_vec();
    for refinement in b {
        match result.iter().position(|other| other.name == refinement.name) {
            None => result.push(refinement.clone()),
            Some(at) if result[at].ty != refinement.ty => {
                result.remove(at);
            }
            Some(_) => {}
        }
    }
    result
}

fn intersection(a: &[Refinement], b: &[Refinement]) -> Vec<Refinement> {
    a.iter().filter(|refinement| b.contains(refinement)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use sconce_ir::Type;

    use super::{Refinement, Refinements};

    fn says(name: &str, ty: Type) -> Refinements {
        let when_true = vec![Refinement { name: name.into(), ty }];
        Refinements { when_true, when_false: Vec::new() }
    }

    #[test]
    fn both_hold_after_and() {
        let both = says("x", Type::Int).and(&says("y", Type::Str));
        assert_eq!(both.when_true.len(), 2);
        assert!(both.when_false.is_empty());
    }

    #[test]
    fn what_contradicts_is_dropped() {
        assert!(says("x", Type::Int).and(&says("x", Type::Str)).when_true.is_empty());
        assert!(says("x", Type::Int).or(&says("y", Type::Str)).when_true.is_empty());
        assert_eq!(says("x", Type::Int).or(&says("x", Type::Int)).when_true.len(), 1);
    }
}
