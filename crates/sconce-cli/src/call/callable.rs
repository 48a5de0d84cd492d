//! What can be called: TorchScript modules, and programs that torch.export saved.

use sconce::export_program::Program;
use sconce::jit::Module;
use sconce::run::{Error, Options, Session};

use crate::call::method;
use crate::error::Failure;

/// What can be called.
#[derive(Clone)]
pub enum Callable {
    /// A TorchScript module.
    Module(Module),
    /// A program that was exported.
    Program(Program),
}

impl Callable {
    /// What has the method at a path from the root, and the method's name there.
    pub fn method(&self, path: &str, file: &str) -> Result<(Callable, String), Failure> {
        match self {
            Callable::Module(module) => {
                let found = method::find(module, path, file)?;
                Ok((Callable::Module(found.module), found.name))
            }
            // Its submodules are flattened away.
            Callable::Program(program) => {
                let found = method::find(program.module(), path, file)?;
                Ok((self.clone(), found.name))
            }
        }
    }

    /// Its objects, live.
    pub fn session(&self, options: Options) -> Result<Session, Error> {
        match self {
            Callable::Module(module) => Session::new(module, options),
            Callable::Program(program) => Session::of_program(program, options),
        }
    }
}
