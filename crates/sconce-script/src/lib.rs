//! Python source to TorchScript: what `torch.jit.script` does, without Python.
//!
//! Files are parsed and their names looked up; nothing in them is run but the constructors of modules,
//! in an interpreter of their own. Functions, classes and modules become PyTorch's trees
//! ([`sconce_syntax`]), graphs ([`sconce_compiler`]), and at last a module that saves as
//! `torch.jit.save` saves it ([`sconce_torchscript`]).

mod concrete_module;
mod environment;
mod error;
mod frontend;
pub mod hub;
mod interpreter;
mod library;
mod limits;
mod loader;
mod module;
mod nesting;
mod objects;
mod rebinding;
mod resolver;
mod script;
mod snippet;

pub use error::Error;
pub use limits::ScriptLimits;
pub use script::{ScriptOptions, Scripted, script};
