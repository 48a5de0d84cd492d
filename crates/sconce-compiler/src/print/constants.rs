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
        let mut text = String::new();
        self.write_constant(value, &mut text);
        text
    }

    fn write_constant(&mut self, value: &Constant, text: &mut String) {
        match value {
            Constant::Tensor(_) | Constant::Object(..) => self.write_reference(value, text),
            _ if holds_non_ascii(value) => self.write_reference(value, text),
            Constant::List(element, values) => {
                let annotated = values.is_empty() || !is_inferred(element);
                if annotated {
                    text.push_str(&format!("annotate({}, ", value.ty().annotation()));
                }
                text.push('[');
                self.write_constants(values, text);
                text.push_str(if annotated { "])" } else { "]" });
            }
            Constant::Dict(_, of, entries) => {
                let annotated = entries.is_empty() || !is_inferred(of);
                if annotated {
                    // No space after the comma, in PyTorch too.
                    text.push_str(&format!("annotate({},", value.ty().annotation()));
                }
                text.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { ", " });
                    self.write_constant(key, text);
                    text.push_str(": ");
                    self.write_constant(value, text);
                }
                text.push_str(if annotated { "})" } else { "}" });
            }
            Constant::Tuple(values, named) => {
                if let Some(named) = named {
                    text.push_str(&self.annotation(named));
                }
                text.push('(');
                self.write_constants(values, text);
                text.push_str(if values.len() == 1 { ",)" } else { ")" });
            }
            Constant::Function(_) => text.push_str(&self.annotation(&value.ty())),
            leaf => text.push_str(&leaf.code_text()),
        }
    }

    fn write_constants(&mut self, values: &[Constant], text: &mut String) {
        for (index, value) in values.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            self.write_constant(value, text);
        }
    }

    fn write_reference(&mut self, value: &Constant, text: &mut String) {
        text.push_str(&format!("CONSTANTS.c{}", self.constants.index_of(value)));
    }
}

fn holds_non_ascii(value: &Constant) -> bool {
    match value {
        Constant::Str(text) => !text.is_ascii(),
        Constant::List(_, values) | Constant::Tuple(values, _) => {
            values.iter().any(holds_non_ascii)
        }
        Constant::Dict(_, _, entries) => {
            entries.iter().any(|(key, value)| holds_non_ascii(key) || holds_non_ascii(value))
        }
        _ => false,
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
