//! What a checkpoint holds, as a graph of inert objects.
//!
//! Every Python object of the file is a [`Node`] with an [`ObjectId`]; containers name their
//! elements by id, so objects that were one object in Python still are, cycles included. Nothing
//! here was ever called: a class that sconce does not know is an [`Instance`] with its class,
//! arguments and state.

mod copy;
mod dict;
mod module;
mod name_budget;
mod node;
mod numpy_dtype;
mod python;
mod repr;
mod view;
mod walk;

pub use dict::{Dict, DictKind};
pub use module::Module;
pub use node::{
    Array, ArrayData, ClassRef, Construction, Instance, Node, ObjectId, StorageObject, TensorClass,
    TensorObject,
};
pub use numpy_dtype::NumpyDType;
pub use view::Object;
pub use walk::{NamedArray, NamedTensor};

pub(crate) use name_budget::NameBudget;
pub(crate) use node::{ArrayForm, Described, Graph};
pub(crate) use walk::{MAX_DEPTH, Walk, push_key};
