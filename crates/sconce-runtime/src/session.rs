//! A module that can be called.

use sconce_ir::FunctionId;
use sconce_torchscript::Module;

use crate::interpreter::Machine;
use crate::limits::{Budget, Limits};
use crate::optimize::Optimizer;
use crate::value::IValue;
use crate::{Error, instantiate, matching};

/// Where a program's output goes.
pub trait Sink {
    /// What `print` prints, with its line break.
    fn print(&mut self, text: &str);
    /// The message of `warnings.warn`.
    fn warn(&mut self, message: &str);
}

/// A sink that drops what it is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Sink for Silent {
    fn print(&mut self, _: &str) {}
    fn warn(&mut self, _: &str) {}
}

/// What becomes of a program that needs an operator that is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// It is refused before it runs.
    #[default]
    Refuse,
    /// It runs, and stops with an error if it comes to the operator.
    WhenReached,
}

/// How a session is made.
pub struct Options {
    /// What a call may spend.
    pub limits: Limits,
    /// What becomes of programs that need what is not here.
    pub missing: Missing,
    /// Where output goes; dropped when `None`.
    pub sink: Option<Box<dyn Sink>>,
    /// Whether `forward` of a module in evaluation mode is frozen and optimised, as
    /// `torch.jit.freeze` does: its results may then differ by what another order of sums makes.
    /// Attributes must then be changed by methods alone, not through [`Session::root`].
    pub optimize: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            limits: Limits::default(),
            missing: Missing::default(),
            sink: None,
            optimize: true,
        }
    }
}

/// A module's objects, live: calls see what earlier calls changed. Weights are those of the loaded
/// module; they are copied only when they are written.
pub struct Session {
    machine: Machine,
    module: Module,
    root: IValue,
    limits: Limits,
    missing: Missing,
    optimizer: Optimizer,
}

impl Session {
    /// Makes the objects of a module.
    ///
    /// # Errors
    /// When a value has no run-time form, or a `__setstate__` needs what is not here or raises.
    pub fn new(module: &Module, options: Options) -> Result<Self, Error> {
        let sink = options.sink.unwrap_or_else(|| Box::new(Silent));
        let mut machine = Machine::new(module, sink);
        machine.budget = Budget::new(&options.limits);
        let missing = options.missing;
        let optimizer = options.optimize.then(|| Optimizer::new(module)).unwrap_or_default();
        let root = instantiate::instantiate(&mut machine, module, missing)?;
        let Options { limits, .. } = options;
        Ok(Session { machine, module: module.clone(), root, limits, missing, optimizer })
    }

    /// The module itself as a value.
    pub fn root(&self) -> &IValue {
        &self.root
    }

    /// Calls a method: `module.method(*args)`.
    ///
    /// # Errors
    /// When there is no such method, the arguments do not fit, the program needs what is not here,
    /// raises, or reaches a limit.
    pub fn call(&mut self, method: &str, args: &[IValue]) -> Result<IValue, Error> {
        self.call_with(method, args, &[])
    }

    /// Calls a method with arguments by name as well.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn call_with(
        &mut self,
        method: &str,
        args: &[IValue],
        named: &[(&str, IValue)],
    ) -> Result<IValue, Error> {
        self.machine.budget = Budget::new(&self.limits);
        let function = self.function(method)?;
        let mut schema = (*self.module.method(method)?.schema).clone();
        schema.name = method.into();
        let mut all = vec![self.root.clone()];
        all.extend(matching::match_arguments(&mut self.machine, &schema, args, named)?);
        ready(&mut self.machine, function, self.missing)?;
        match self.call_optimized(method, &all) {
            Some(result) => result,
            None => self.machine.call(function, all),
        }
    }

    /// What the optimised method gives; `None` where there is none, or it cannot do this call.
    fn call_optimized(&mut self, method: &str, args: &[IValue]) -> Option<Result<IValue, Error>> {
        if !Optimizer::covers(method) {
            // Which may change what was frozen.
            self.optimizer.forget();
            return None;
        }
        let plan = self.optimizer.plan(&mut self.machine, args)?;
        match self.machine.run(plan, args.to_vec()) {
            Err(Error::Raised(_) | Error::Unsupported { .. } | Error::Malformed(_)) => None,
            result => Some(result),
        }
    }

    fn function(&mut self, method: &str) -> Result<FunctionId, Error> {
        // The module's own words when there is none.
        self.module.method(method)?;
        self.machine.method(&self.root, method)
    }
}

/// Lowers a function and all it calls, and refuses it if something is missing.
pub(crate) fn ready(
    machine: &mut Machine,
    function: FunctionId,
    missing: Missing,
) -> Result<(), Error> {
    let needed = machine.prepare(function)?;
    match (missing, needed.into_iter().next()) {
        (Missing::Refuse, Some((what, range))) => Err(Error::Unsupported { what, range }),
        _ => Ok(()),
    }
}
