//! Python source to TorchScript: what `torch.jit.script` does, without Python.
//!
//! Files are parsed and their names looked up; nothing in them is run. Functions and classes become
//! PyTorch's trees ([`sconce_syntax`]), graphs ([`sconce_compiler`]), and at last a module that
//! saves as `torch.jit.save` saves it ([`sconce_torchscript`]).

#[allow(dead_code, reason = "the compilation of modules calls it")]
mod construct;
mod error;
mod frontend;
#[allow(dead_code, reason = "the compilation of modules looks methods up")]
mod inheritance;
mod library;
mod nesting;
#[expect(dead_code, reason = "constructors make them")]
mod objects;
mod resolver;
mod script;
mod snippet;
mod top_level;
mod world;

pub use error::Error;
pub use script::{ScriptOptions, Scripted, script};
