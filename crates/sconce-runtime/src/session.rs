//! A module that can be called.

use sconce_ir::FunctionId;
use sconce_kernels::Memory;
use sconce_syntax::SourceRange;
use sconce_torchscript::Module;

use crate::Error;
use crate::bytecode::interpreter::{Machine, Prepared};
use crate::limits::{Budget, Limits};
use crate::memory_left::memory_left;
use crate::op_context::OpContext;
use crate::program::needs::Need;
use crate::program::plans::Plans;
use crate::program::prepare::{Missing, ready};
use crate::program::{instantiate, matching};
use crate::value::IValue;

/// Where a program's output goes.
pub trait Sink {
    /// What `print` prints, with its line break. Text of more than 64 KiB comes in several pieces.
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

/// How a session is made.
pub struct Options {
    /// What a call may spend.
    pub limits: Limits,
    /// What becomes of programs that need what is not here.
    pub missing: Missing,
    /// Where output goes; dropped when `None`.
    pub sink: Option<Box<dyn Sink>>,
    /// How many bytes the values that the session makes may hold at once: tensors, strings, lists, dicts,
    /// tuples and objects. When `None`, what the machine and the control groups of the process have
    /// left, less a reserve ([`memory_left`]). What would be too much is an error before it is made. The
    /// archive's weights count once they are written to.
    ///
    /// What a kernel needs during a call counts where the program has installed
    /// [`CountingAllocator`](crate::CountingAllocator): the limit then is one on all that the process
    /// allocates from when the session is made, so that it also counts what others do beside it.
    pub memory: Option<usize>,
    /// Whether to measure how long each instruction takes: [`Session::profile`].
    pub profile: bool,
    /// Whether `forward` is frozen and optimised, as
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
            memory: None,
            profile: false,
            optimize: true,
        }
    }
}

/// A program and its weights, for any number of threads: each makes a [`Session`] of its own.
///
/// Weights are read where they are in the file or in memory, and never written; a session that
/// writes to one has its own copy from then on.
///
/// ```
/// use sconce_runtime::{IValue, Model, Options};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/loops/model.pt");
/// let model = Model::new(sconce_torchscript::load(path)?);
/// std::thread::scope(|scope| {
///     for n in [10, 20] {
///         let model = &model;
///         scope.spawn(move || {
///             let mut session = model.session(Options::default())?;
///             session.call("forward", &[IValue::Int(n)]).map(drop)
///         });
///     }
/// });
/// # Ok::<(), sconce_torchscript::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Model {
    module: Module,
}

// What a model is for.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Model>();
};

impl Model {
    /// A module that has been loaded.
    pub fn new(module: Module) -> Self {
        Model { module }
    }

    /// The module itself.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// State for one thread: the objects of the module, live.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn session(&self, options: Options) -> Result<Session, Error> {
        Session::new(&self.module, options)
    }
}

/// What an instruction of a program has taken.
#[derive(Debug, Clone)]
pub struct ProfileEntry {
    /// The operator by its full name, such as `aten::add.Tensor`, or the instruction's.
    pub operator: String,
    /// The function it is in.
    pub function: String,
    /// Its place in the program.
    pub range: Option<SourceRange>,
    /// How often it ran.
    pub calls: u64,
    /// How long it took, all times together.
    pub nanoseconds: u64,
}

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
}

impl Session {
    /// Makes the objects of a module.
    ///
    /// # Errors
    /// When a value has no run-time form, or a `__setstate__` needs what is not here or raises.
    pub fn new(module: &Module, options: Options) -> Result<Self, Error> {
        let sink = options.sink.unwrap_or_else(|| Box::new(Silent));
        let mut machine = Machine::new(module, sink, options.profile);
        let Options { limits, missing, memory, optimize, .. } = options;
        let memory = Memory::new(memory.or_else(memory_left));
        let plans = if optimize { Plans::new(module) } else { Plans::default() };
        machine.budget = Budget::new(&limits, &memory);
        let entered = memory.enter();
        let root = instantiate::instantiate(&mut machine, module, missing)?;
        drop(entered);
        Ok(Session { machine, module: module.clone(), root, limits, missing, memory, plans })
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
        all.extend(matching::match_arguments(&mut self.machine, &schema, args, named)?);
        let Prepared { asks_for_gradients, .. } = ready(&mut self.machine, function, self.missing)?;
        self.machine.autograd.begin(asks_for_gradients);
        // Optimised code has operators of its own, whose derivatives nobody knows.
        let optimized = if asks_for_gradients { None } else { self.call_optimized(method, &all) };
        match optimized {
            Some(result) => result,
            None => self.machine.call(function, all),
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
        self.machine.attempt(plan, args.into(), self.plans.draws())
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
