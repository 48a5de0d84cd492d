//! Constants in printed code.

use rustc_hash::FxHashMap;
use sconce_ir::{Constant, Type};

use super::Session;

/// What code refers to as `CONSTANTS.cN`: tensors, objects, and strings that are not ASCII. One
/// table serves a whole save; its order is that of an archive's `constants.pkl`.
#[derive(Debug, Default)]
pub struct ConstantTable {
    values: Vec<Constant>,
    tensors: FxHashMap<u32, usize>,
}

impl ConstantTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The index of a value: a new one, unless it is a tensor that is there already.
    fn index_of(&mut self, value: &Constant) -> usize {
        let next = self.values.len();
        let index = match value {
            Constant::Tensor(tensor) => *self.tensors.entry(tensor.index).or_insert(next),
            _ => next,
        };
        if index == next {
            self.values.push(value.clone());
        }
        index
    }

    /// The values, in order.
    pub fn values(&self) -> &[Constant] {
        &self.values
    }

    /// The values, in order.
    pub fn into_values(self) -> Vec<Constant> {
        self.values
    }
}

impl Session<'_> {
    /// A constant as code.
    pub(super) fn constant_text(&mut self, value: &Constant) -> String {
        value.code_text(&mut |external| self.constants.index_of(external), self.rename)
    }
}

/// Whether the type of a list or dict can be told from elements of this type. PyTorch's
/// `elementTypeCanBeInferredFromMembers`.
pub(super) fn is_inferred(element: &Type) -> bool {
    !matches!(
        element,
        Type::Union(_) | Type::Optional(_) | Type::Number | Type::Interface(_) | Type::Any
    )
}
