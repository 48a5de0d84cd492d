//! TorchScript's types, schemas, operator table and graphs.
//!
//! Knows nothing of archives, and never sees a tensor's bytes.

pub mod alias;
mod graph;
mod hash;
mod kind;
mod matching;
pub mod operators;
pub mod passes;
mod scalar_type;
mod schema;
mod text;
mod types;
mod typing;
mod unit;
mod verify;

pub use graph::{
    Attribute, Attributes, BlockId, BlockNodes, Graph, MAX_BLOCK_DEPTH, Node, NodeId, Preorder,
    Use, Value, ValueId,
};
pub use hash::{hash_bytes, hash_constant, hash_float, hash_sequence};
pub use kind::{Kind, Prim};
pub use operators::{AliasAnalysis, Operator, OperatorId};
pub use schema::{Alias, Argument, Schema, SchemaError};
pub use text::ParseError;
pub use types::constant::{Constant, DEVICE_KINDS, TensorConstant, float_text, quoted};
pub use types::{EnumType, NamedRef, NamedTuple, TensorType, TupleType, Type};
pub use typing::TypeVariables;
pub use unit::{
    Attribute as ClassAttribute, Class, ClassConstant, ClassId, Function, FunctionId, Interface,
    InterfaceId, Role, Slots, Unit,
};
pub use verify::{VerifyError, verify, verify_after, verify_links_after};
