//! A module that can be called.

use std::sync::Arc;

use sconce_checkpoint::Value;
use sconce_export_program::tree_spec::TreeSpec;
use sconce_export_program::{Calling, Program};
use sconce_ir::FunctionId;
use sconce_kernels::Memory;
use sconce_torchscript::Module;

use crate::Error;
use crate::bytecode::interpreter::{Machine, Prepared};
use crate::bytecode::need::Need;
use crate::limits::{Budget, Limits};
use crate::memory_left::memory_left;
use crate::op_context::OpContext;
use crate::options::Options;
use crate::profile::ProfileEntry;
use crate::program::memory_plans::MemoryPlans;
use crate::program::plans::{Plans, SharedPlans};
use crate::program::prepare::{Missing, ready};
use crate::program::to_objects::{to_object, to_object_as};
use crate::program::{exported, instantiate, matching};
use crate::sink::Silent;
use crate::value::IValue;

/// What exported programs have.
const FORWARD: &str = "forward";

/// A module's objects, live: calls see what earlier calls changed. Weights are those of the loaded
/// module; they are copied only when they are written.
pub struct Session {
    machine: Machine,
    module: Module,
    root: IValue,
    limits: Limits,
    missing: Missing,
    memory: Memory,
    plans: Plans,
    memory_plans: MemoryPlans,
    /// How `forward` is called, of a program that was exported.
    calling: Option<Arc<Calling>>,
}

impl Session {
    /// Makes the objects of a module.
    ///
    /// # Errors
    /// When a value has no run-time form, or a `__setstate__` needs what is not here or raises, and where options
    /// contradict each other.
    pub fn new(module: &Module, options: Options) -> Result<Self, Error> {
        Self::sharing(module, options, None)
    }

    /// [`Self::new`] of a module whose plans are shared with other sessions.
    pub(crate) fn sharing(
        module: &Module,
        options: Options,
        shared: Option<&Arc<SharedPlans>>,
    ) -> Result<Self, Error> {
        options.check()?;
        let sink = options.sink.unwrap_or_else(|| Box::new(Silent));
        let mut machine = Machine::new(module, sink, options.profile);
        let Options { limits, missing, memory, optimize, exact, precision, .. } = options;
        (machine.exact, machine.precision) = (exact, precision);
        let memory = Memory::new(memory.or_else(memory_left));
        let plans = if optimize { Plans::new(module, shared) } else { Plans::none() };
        machine.budget = Budget::new(&limits, &memory);
        let entered = memory.enter();
        let root = instantiate::instantiate(&mut machine, module, missing)?;
        drop(entered);
        let (module, calling) = (module.clone(), None);
        let memory_plans = MemoryPlans::default();
        Ok(Session { machine, module, root, limits, missing, memory, plans, memory_plans, calling })
    }

    /// Makes the objects of a program that was exported. Calls of `forward` take and give what the program says.
    ///
    /// # Errors
    /// As [`Self::new`], and when the program has an operator that nobody knows.
    pub fn of_program(program: &Program, options: Options) -> Result<Self, Error> {
        check_operators(program)?;
        let session = Session::new(program.module(), options)?;
        Ok(Session { calling: Some(Arc::clone(program.calling())), ..session })
    }

    /// How `forward` is called of a program that was exported.
    pub(crate) fn calling(self, calling: Option<Arc<Calling>>) -> Self {
        Session { calling, ..self }
    }

    /// How long the instructions took that have run, in no order; empty unless
    /// [`Options::profile`] was set. A call's time is that of what is called, instruction by
    /// instruction.
    pub fn profile(&self) -> Vec<ProfileEntry> {
        self.machine.profile()
    }

    /// How many bytes the session's values hold, and the most they held at once.
    pub fn memory(&self) -> (usize, usize) {
        (self.memory.used(), self.memory.peak())
    }

    /// The module itself as a value.
    pub fn root(&self) -> &IValue {
        &self.root
    }

    /// Seeds the random numbers of what is called from now on, `torch.manual_seed`: equal seeds
    /// and calls give the numbers that PyTorch gives on the CPU.
    pub fn manual_seed(&mut self, seed: u64) {
        self.machine.generator = sconce_kernels::Generator::new(seed);
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
        self.machine.budget = Budget::new(&self.limits, &self.memory);
        let _entered = self.memory.enter();
        let function = self.function(method)?;
        let mut schema = (*self.module.method(method)?.schema).clone();
        schema.name = method.into();
        let mut all = vec![self.root.clone()];
        let calling = self.calling.clone().filter(|_| method == FORWARD);
        match &calling {
            Some(calling) => {
                matching::check_all(args, named)?;
                let values = exported::take_apart(calling, args, named)?;
                all.extend(matching::match_arguments(&mut self.machine, &schema, &values, &[])?);
            }
            None => all.extend(matching::match_arguments(&mut self.machine, &schema, args, named)?),
        }
        let Prepared { asks_for_gradients, .. } = ready(&mut self.machine, function, self.missing)?;
        self.machine.autograd.begin(asks_for_gradients);
        // Optimised code has operators of its own, whose derivatives nobody knows.
        let optimized = if asks_for_gradients { None } else { self.call_optimized(method, &all) };
        let result = match optimized {
            Some(result) => result,
            None => self.machine.call(function, all),
        };
        match calling {
            Some(calling) => {
                let values = result.map_err(exported::plain)?.items().unwrap_or_default();
                exported::put_together(&calling.out_spec, values)
            }
            None => result,
        }
    }

    /// The structure of what a method gives, where that is known: `forward` of a program that was exported. Values
    /// have named tuples as tuples, and other classes as the dict or list that they are made of.
    pub fn structure(&self, method: &str) -> Option<&TreeSpec> {
        self.calling.as_ref().filter(|_| method == FORWARD).map(|calling| &calling.out_spec)
    }

    /// A result of a method as an object to be saved, of the structure that the method gives it.
    ///
    /// # Errors
    /// As [`crate::to_object`].
    pub fn to_object(&self, method: &str, result: &IValue) -> Result<Value, Error> {
        match self.structure(method) {
            Some(structure) => to_object_as(result, structure),
            None => to_object(result),
        }
    }

    /// What the optimised method gives; `None` where there is none, or it cannot do this call.
    fn call_optimized(&mut self, method: &str, args: &[IValue]) -> Option<Result<IValue, Error>> {
        if !Plans::covers(method) {
            // Which may change what was frozen.
            self.plans.forget();
            return None;
        }
        let plan = self.plans.plan(&mut self.machine, args)?;
        let memory = self.memory_plans.begin(args);
        let result = self.machine.attempt(plan, args.into(), self.plans.draws());
        self.memory_plans.end(memory);
        result
    }

    /// What a method and all that it calls need and is not here, place by place.
    ///
    /// # Errors
    /// When there is no such method, or its code does not compile.
    pub fn needs(&mut self, method: &str) -> Result<Vec<Need>, Error> {
        let function = self.function(method)?;
        Ok(self.machine.prepare(function)?.missing)
    }

    fn function(&mut self, method: &str) -> Result<FunctionId, Error> {
        // The module's own words when there is none.
        self.module.method(method)?;
        self.machine.method(&self.root, method)
    }
}

/// Whether everybody knows the operators of a program.
pub(crate) fn check_operators(program: &Program) -> Result<(), Error> {
    match program.unknown_operators() {
        [] => Ok(()),
        unknown => {
            let mut what = format!("the operator {}", unknown.join(", "));
            if unknown.iter().any(|name| name.starts_with("torch._functorch.")) {
                what.push_str(
                    ", which ep.run_decompositions() before torch.export.save writes out,",
                );
            }
            Err(Error::Unsupported { what, range: None })
        }
    }
}
