//! What can be called: TorchScript modules, and programs that torch.export saved.

use std::sync::Arc;

use sconce::checkpoint::{Draft, Value};
use sconce::export_program::Program;
use sconce::jit::Module;
use sconce::jit::ir::{Argument, Constant, Schema, Type};
use sconce::run::{Error, IValue, Options, Session, from_object};

use crate::call::method;
use crate::error::Failure;
use crate::read::archive::Loaded;

/// What an argument of a Python function is where it is not given.
#[derive(Clone)]
pub struct Default {
    /// Its place among the arguments.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// The value.
    pub value: IValue,
}

/// The defaults of a function's arguments. One that is neither plain data nor a member of an enum has to be given.
pub fn defaults(schema: &Schema) -> Vec<Default> {
    let arguments = schema.arguments.iter().enumerate();
    let default = |(place, argument): (usize, &Argument)| {
        let value = match argument.default.as_ref()? {
            Constant::Enum(Type::Enum(of), member) => IValue::Enum(Arc::clone(of), *member),
            constant => from_object(Draft::from(plain(constant)?).root()).ok()?,
        };
        Some(Default { place, name: argument.name.to_string(), value })
    };
    arguments.filter_map(default).collect()
}

fn plain(constant: &Constant) -> Option<Value> {
    let all = |items: &[Constant]| items.iter().map(plain).collect::<Option<Vec<Value>>>();
    Some(match constant {
        Constant::None => Value::None,
        Constant::Bool(value) => Value::Bool(*value),
        Constant::Int(value) => Value::Int(*value),
        Constant::Float(value) => Value::Float(*value),
        Constant::Str(text) => Value::Str(text.to_string()),
        Constant::List(_, items) => Value::List(all(items)?),
        Constant::Tuple(items, _) => Value::Tuple(all(items)?),
        _ => return None,
    })
}

/// What can be called.
#[derive(Clone)]
pub enum Callable {
    /// A TorchScript module.
    Module(Module),
    /// A Python function: the module that an archive has it in, which forgets the defaults, and those.
    Function(Module, Vec<Default>),
    /// A program that was exported.
    Program(Program),
}

impl From<Loaded> for Callable {
    fn from(loaded: Loaded) -> Callable {
        match loaded {
            Loaded::Module(module) => Callable::Module(module),
            Loaded::Program(program) => Callable::Program(program),
        }
    }
}

impl Callable {
    /// What has the method at a path from the root, and the method's name there.
    pub fn method(&self, path: &str, file: &str) -> Result<(Callable, String), Failure> {
        match self {
            Callable::Module(module) => {
                let found = method::find(module, path, file)?;
                Ok((Callable::Module(found.module), found.name))
            }
            Callable::Function(module, _) => {
                let found = method::find(module, path, file)?;
                Ok((self.clone(), found.name))
            }
            // Its submodules are flattened away.
            Callable::Program(program) => {
                let found = method::find(program.module(), path, file)?;
                Ok((self.clone(), found.name))
            }
        }
    }

    /// What arguments are where they are not given, beside what the method says itself.
    pub fn defaults(&self) -> &[Default] {
        match self {
            Callable::Function(_, defaults) => defaults,
            _ => &[],
        }
    }

    /// Its objects, live.
    pub fn session(&self, options: Options) -> Result<Session, Error> {
        match self {
            Callable::Module(module) | Callable::Function(module, _) => {
                Session::new(module, options)
            }
            Callable::Program(program) => Session::of_program(program, options),
        }
    }
}
