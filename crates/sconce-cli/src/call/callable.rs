//! What can be called: TorchScript modules, and programs that torch.export saved.

use sconce::export_program::Program;
use sconce::jit::Module;
use sconce::run::{Error, Options, Session};

/// What can be called.
pub enum Callable {
    /// A TorchScript module.
    Module(Module),
    /// A program that was exported.
    Program(Program),
}

impl Callable {
    /// Its objects, live.
    pub fn session(&self, options: Options) -> Result<Session, Error> {
        match self {
            Callable::Module(module) => Session::new(module, options),
            Callable::Program(program) => Session::of_program(program, options),
        }
    }
}
