//! TorchScript archives: what `torch.jit.save` writes.
//!
//! [`load`] reads an archive's objects and keeps its code as it is; a class is looked up when an
//! object needs it, and a method is compiled when its graph is asked for.

mod bytecode;
mod code;
mod constant_expressions;
mod constants;
mod custom_classes;
mod debug;
mod deflater;
mod edit;
mod error;
mod freeze;
mod importer;
mod legacy_types;
mod load;
mod model_json;
mod module;
mod names;
mod opcodes;
mod pickler;
mod quantized_convolutions;
mod save;
mod unpickle;
mod values;

pub use bytecode::{Bytecode, BytecodeFunction, Instruction};
pub use code::OperatorUse;
pub use error::Error;
pub use importer::Program;
pub use load::{LoadOptions, load};
pub use module::{Method, Module};
pub use save::SaveOptions;
pub use sconce_ir as ir;
pub use values::{Object, Value, ValueId, Values};
