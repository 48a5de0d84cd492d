//! Which types and functions printed code mentions.

use rustc_hash::FxHashSet;
use sconce_ir::{Type, Unit};

/// The classes, interfaces, NamedTuples, enums and functions met while printing, each once, in the
/// order PyTorch finds them: in that order an archive defines them.
///
/// A function is its [`Type::Function`]. One table serves a whole save.
#[derive(Debug, Default)]
pub struct Dependencies {
    order: Vec<Type>,
    known: FxHashSet<Type>,
    /// The ids of the classes whose attributes have been gone through.
    walked: FxHashSet<u32>,
}

impl Dependencies {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a named type, if it is not there.
    pub fn add(&mut self, ty: &Type) {
        if self.known.insert(ty.clone()) {
            self.order.push(ty.clone());
        }
    }

    /// Adds the named types that a type consists of: itself first, then the types of a class's
    /// attributes, of a list's elements, and so on.
    pub fn add_all(&mut self, unit: &Unit, ty: &Type) {
        if ty.qualified_name().is_none() && ty.contained().is_empty() {
            return;
        }
        let mut stack = vec![ty.clone()];
        while let Some(ty) = stack.pop() {
            if matches!(ty, Type::Class(_) | Type::Interface(_) | Type::Enum(_))
                || matches!(&ty, Type::Tuple(_) if ty.qualified_name().is_some())
            {
                self.add(&ty);
            }
            if let Type::Class(class) = &ty {
                if self.walked.insert(class.id)
                    && let Some(class) = unit.class_of(class)
                {
                    let attributes = class.attributes.iter();
                    stack.extend(attributes.rev().map(|attribute| attribute.ty.clone()));
                }
            } else {
                stack.extend(ty.contained().into_iter().rev().cloned());
            }
        }
    }

    /// The type at a place of the table.
    pub fn get(&self, index: usize) -> Option<&Type> {
        self.order.get(index)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Type> {
        self.order.iter()
    }
}
