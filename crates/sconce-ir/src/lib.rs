//! TorchScript's types, schemas, operator table and graphs.
//!
//! Knows nothing of archives, and never sees a tensor's bytes.

mod constant;
mod graph;
mod interim;
mod kind;
mod operators;
mod schema;
mod text;
mod types;
mod unit;

pub use constant::{Constant, TensorConstant};
pub use graph::{
    Attribute, BlockId, BlockNodes, Graph, MAX_BLOCK_DEPTH, Node, NodeId, Use, Value, ValueId,
};
pub use kind::{Kind, Prim};
pub use operators::OperatorId;
pub use schema::{Alias, Argument, Schema};
pub use text::ParseError;
pub use types::{EnumType, NamedRef, NamedTuple, TensorType, TupleType, Type};
pub use unit::{
    Attribute as ClassAttribute, Class, ClassConstant, ClassId, Function, FunctionId, Interface,
    InterfaceId, Role, Unit,
};
