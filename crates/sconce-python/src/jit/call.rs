//! A call of a method: arguments in, the program without the interpreter, results out.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sconce::jit::Method;
use sconce::run::{Error, IValue, Plain, Session};

use super::options;
use super::values::{from_python, to_python};
use crate::boundary::detached;
use crate::error;

/// Arguments that any thread may have.
pub struct Arguments {
    positional: Vec<Plain>,
    named: Vec<(String, Plain)>,
}

impl Arguments {
    /// Reads the arguments of a call; of an exported program `method` does not say what they are.
    pub fn new(
        method: Option<&Method>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let taken = method.map_or(&[][..], |method| &method.schema.arguments);
        // The first is the module itself.
        let taken = taken.get(1..).unwrap_or_default();
        let mut positional = Vec::with_capacity(args.len());
        for (at, given) in args.iter().enumerate() {
            let argument = taken.get(at);
            let name =
                argument.map_or_else(|| at.to_string(), |argument| argument.name.to_string());
            positional.push(from_python(&given, argument.map(|argument| &argument.ty), &name)?);
        }
        let mut named = Vec::new();
        for (name, given) in kwargs.into_iter().flat_map(|kwargs| kwargs.iter()) {
            let name: String = name.extract()?;
            let argument = taken.iter().find(|argument| *argument.name == *name);
            let value = from_python(&given, argument.map(|argument| &argument.ty), &name)?;
            named.push((name, value));
        }
        Ok(Arguments { positional, named })
    }
}

/// Calls a method in a session that this thread has.
pub fn in_session(
    session: &mut Session,
    module: &sconce::jit::Module,
    method: &str,
    arguments: Arguments,
) -> Result<Plain, Error> {
    let positional = arguments.positional.iter().map(Plain::to_program);
    let positional = positional.collect::<Result<Vec<IValue>, Error>>()?;
    let named = arguments.named.iter().map(|(name, value)| Ok((&**name, value.to_program()?)));
    let named = named.collect::<Result<Vec<(&str, IValue)>, Error>>()?;
    let result = session.call_with(method, &positional, &named)?;
    drop((positional, named));
    drop(arguments);
    Plain::of_program(result, module)
}

/// Runs a program without the interpreter, and gives what it gave.
pub fn run<'py>(
    py: Python<'py>,
    file: &str,
    work: impl FnOnce() -> Result<Plain, Error> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    // What an earlier call left belongs to nobody.
    drop(options::raised());
    let result = detached(py, work)?;
    match (result, options::raised()) {
        (Ok(_) | Err(Error::Interrupted), Some(raised)) => Err(raised),
        (Ok(result), None) => to_python(py, result),
        (Err(failed), _) => Err(error::of_run(py, failed, file)),
    }
}
