//! The values of an archive: modules, their attributes, and what those hold.

use std::sync::Arc;

use sconce_ir::{ClassId, Type};
use sconce_tensor::Tensor;

/// A value of a [`Values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

/// A value as an archive holds it: PyTorch's `IValue`, with children by id, so that what is shared
/// in the archive is shared here.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Value {
    /// `None`
    None,
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(Arc<str>),
    /// A device, such as `cuda:0`.
    Device(Arc<str>),
    /// A tensor.
    Tensor(Tensor),
    /// A list with the type of its elements.
    List {
        /// The type of the elements.
        element: Type,
        /// The elements.
        items: Vec<ValueId>,
    },
    /// A dict with the types of its keys and values, in order.
    Dict {
        /// The type of the keys.
        key: Type,
        /// The type of the values.
        value: Type,
        /// Keys and values.
        entries: Vec<(ValueId, ValueId)>,
    },
    /// A tuple; a NamedTuple's names are in the type of what holds it.
    Tuple(Vec<ValueId>),
    /// A member of an enum: the type and the member's index.
    Enum(Type, u32),
    /// An object of a class, a module most often.
    Object(Object),
}

/// An object of a class.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its class.
    pub class: ClassId,
    /// Its attributes in slot order; empty while `state` is there.
    pub slots: Vec<ValueId>,
    /// What `__getstate__` gave when it was saved, for `__setstate__` to take.
    pub state: Option<ValueId>,
}

/// All values of an archive, by id.
#[derive(Debug, Clone, Default)]
pub struct Values {
    nodes: Vec<Value>,
}

impl Values {
    /// Adds a value.
    pub fn push(&mut self, value: Value) -> ValueId {
        let id = ValueId(self.nodes.len() as u32);
        self.nodes.push(value);
        id
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All of them, in the order they were added.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.nodes.len() as u32).map(ValueId)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A value.
    pub fn get(&self, id: ValueId) -> &Value {
        &self.nodes[id.0 as usize]
    }

    /// A value; `None` when the id is of another archive's.
    pub(crate) fn find(&self, id: ValueId) -> Option<&Value> {
        self.nodes.get(id.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, id: ValueId) -> &mut Value {
        &mut self.nodes[id.0 as usize]
    }

    /// The object that a value is.
    pub fn object(&self, id: ValueId) -> Option<&Object> {
        match self.get(id) {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl Value {
    /// The values that this one holds, in order.
    pub fn children(&self) -> Vec<ValueId> {
        match self {
            Value::List { items, .. } | Value::Tuple(items) => items.clone(),
            Value::Dict { entries, .. } => {
                entries.iter().flat_map(|&(key, value)| [key, value]).collect()
            }
            Value::Object(object) => {
                object.slots.iter().chain(object.state.as_ref()).copied().collect()
            }
            _ => Vec::new(),
        }
    }
}
