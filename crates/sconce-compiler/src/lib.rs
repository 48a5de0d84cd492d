//! TorchScript source to graphs, and graphs back to source.

mod annotations;
mod apply_upgraders;
mod builtins;
mod compile;
mod definition;
mod emit;
mod error;
mod native;
mod nesting;
mod passes;
pub mod print;
mod resolver;
pub mod ssa;
mod suggestions;

pub use annotations::type_of_expression;
pub use compile::{Options, compile, compile_owned, completed, declare, evaluate, upgrade};
pub use definition::Definition;
pub use error::Error;
pub use native::{NativeResolver, define};
pub use resolver::{Dispatch, Global, ModuleKind, ModuleMember, Resolver, Special};
