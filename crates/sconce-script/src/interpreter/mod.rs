//! Runs what makes modules: a small interpreter of Python for constructors, apart from everything else.
//!
//! It runs functions and classes of files along the path, with the built-in types and what
//! constructors use of the libraries. Nothing of the machine can be reached from it, and what it may
//! spend is bounded. Tensors are computed by TorchScript programs made of single calls
//! (`tensors/programs.rs`); the numbers of random ones are not made up: they are not known until a state
//! dict gives them. What Python has and this has not is an error that names it, with its line.

mod arguments;
mod attributes;
mod builtins;
mod calls;
mod classes;
mod compare;
mod control_flow;
mod dicts;
mod execution;
mod expressions;
mod formatting;
mod garbage_collection;
mod iteration;
mod libraries;
mod lists;
mod operators;
mod scopes;
mod state_dict;
mod statements;
mod strings;
mod tensors;
#[cfg(test)]
mod tests;
mod to_objects;
mod top_level;
mod value;
mod versions;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::Error;
use sconce_kernels::{Memory, size_text};
use sconce_syntax::SourceRange;

use crate::limits::ScriptLimits;
use crate::loader::{Module, ModuleLoader};
use crate::nesting;
use crate::objects;

use control_flow::{Outcome, refuse};
pub(crate) use execution::{Hubconf, Made, MadeObject};
pub(crate) use top_level::{
    TopLevel, condition_at_top, decorated_at_top, expression_at_top, name_at_top,
};

use value::{Arena, Attributes, Cell, Id, Value};

/// How deep calls may nest.
const MAX_CALLS: usize = 500;
/// How deep expressions, statements and calls may nest together.
const MAX_LEVELS: usize = 10_000;

/// How deep tuples may nest that are hashed or leave the interpreter: they are freed recursively.
const MAX_NESTED: usize = 200;
/// How many steps pass between two looks at the clock and at what the process holds.
const INTERVAL: u64 = 1024;

/// What the text of an expression that is in no file is called.
const EXPRESSION: &str = "<expression>";

/// What is made of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Construction {
    /// The object: any expression of the file's names. A class is called without arguments.
    pub(crate) expression: String,
    /// A checkpoint that `load_state_dict` is called with.
    pub(crate) state: Option<PathBuf>,
    /// Whether `eval()` is called.
    pub(crate) eval: bool,
    /// What the constructors may spend.
    pub(crate) limits: ScriptLimits,
}

/// Runs the constructors that an expression of a file's names calls.
///
/// # Errors
/// When they raise, or use of Python what is not here; when the state dict does not fit, in
/// PyTorch's words.
pub(crate) fn construct(
    loader: &mut ModuleLoader,
    module: &Arc<Module>,
    what: &Construction,
) -> Result<(objects::Heap, objects::Value), Error> {
    let mut interpreter = Interpreter::new(loader, &what.limits);
    interpreter.construct(module, what).map_err(|stop| interpreter.uncaught(stop))
}

/// Runs Python.
pub(super) struct Interpreter<'w> {
    loader: &'w mut ModuleLoader,
    /// Where files are run from top to bottom.
    execution: Option<execution::Execution<'w>>,
    arena: Arena,
    /// The file whose names the expression is of.
    entry: Option<Arc<Module>>,
    /// Variables at the top of files, by file and name, that have been asked for.
    globals: FxHashMap<(Arc<str>, Arc<str>), Value>,
    /// Those that are being evaluated.
    open: FxHashSet<(Arc<str>, Arc<str>)>,
    /// Functions and classes at the top of files, by file and place.
    definitions: FxHashMap<(Arc<str>, u32), Value>,
    /// Nested functions, classes and lambdas, by file and place.
    texts: FxHashMap<(Arc<str>, u32), Text>,
    programs: tensors::programs::Programs,
    /// Which families of tensors have numbers that are known.
    known: Vec<bool>,
    /// Dicts that are the attributes of objects: what is written to them is written to the objects.
    dicts_of_instances: FxHashMap<Id, Id>,
    /// The same the other way round: what is set of an object is set in its dict.
    instances_with_dicts: FxHashMap<Id, Id>,
    /// What `state_dict()` of PyTorch wrote beside the tensors of a dict: its `_metadata`.
    metadata_of_dicts: FxHashMap<Id, Value>,
    /// Classes that metaclasses are at work on, innermost last.
    pending_classes: Vec<Id>,
    /// The exceptions whose handlers run, innermost last.
    handled: Vec<Value>,
    limits: ScriptLimits,
    deadline: Option<Instant>,
    memory: Memory,
    steps: u64,
    /// Bytes of objects but tensors, in all; where the allocator counts what is held, that counts instead.
    bytes: usize,
    /// Bytes of the tensors that have not been freed, and of all that were made.
    tensor_bytes: usize,
    made_tensor_bytes: usize,
    calls: usize,
    levels: usize,
    /// Whether something of what may be spent is used up.
    is_exhausted: bool,
}

/// The tree of something that is defined within a function.
#[derive(Clone)]
enum Text {
    Function(Arc<py::StmtFunctionDef>),
    Class(Arc<py::StmtClassDef>),
    Lambda(Arc<py::ExprLambda>),
}

/// Where code runs: the file and, within functions, the variables.
#[derive(Clone)]
pub(super) struct Frame {
    module: Arc<Module>,
    scope: Option<Id>,
}

impl<'w> Interpreter<'w> {
    fn new(loader: &'w mut ModuleLoader, limits: &ScriptLimits) -> Self {
        let limits = limits.or_what_is_left();
        Self {
            deadline: limits.time.and_then(|time| Instant::now().checked_add(time)),
            memory: Memory::new(limits.memory),
            limits,
            loader,
            execution: None,
            arena: Arena::default(),
            entry: None,
            globals: FxHashMap::default(),
            open: FxHashSet::default(),
            definitions: FxHashMap::default(),
            texts: FxHashMap::default(),
            programs: tensors::programs::Programs::default(),
            known: Vec::new(),
            dicts_of_instances: FxHashMap::default(),
            instances_with_dicts: FxHashMap::default(),
            metadata_of_dicts: FxHashMap::default(),
            pending_classes: Vec::new(),
            handled: Vec::new(),
            steps: 0,
            bytes: 0,
            tensor_bytes: 0,
            made_tensor_bytes: 0,
            calls: 0,
            levels: 0,
            is_exhausted: false,
        }
    }

    fn construct(
        &mut self,
        module: &Arc<Module>,
        what: &Construction,
    ) -> Outcome<(objects::Heap, objects::Value)> {
        let value = self.evaluate_text(module, &what.expression)?;
        let value = match self.is_module_class(&value)? {
            true => self.call(&value, Vec::new(), Vec::new())?,
            false => value,
        };
        if let Some(path) = &what.state {
            self.load_state(&value, path)?;
        }
        if what.eval {
            let method = self.attribute(&value, "eval")?;
            self.call(&method, Vec::new(), Vec::new())?;
        }
        self.lower(&value)
    }

    /// The value of an expression that is not in the file, of the names that are.
    fn evaluate_text(&mut self, module: &Arc<Module>, text: &str) -> Outcome<Value> {
        let command = Module::parse(EXPRESSION, EXPRESSION, format!("({text}\n)\n"), false)?;
        let Some(expression) = command.only_expression() else {
            return refuse(format!("'{text}' is not an expression of Python"));
        };
        self.entry = Some(Arc::clone(module));
        self.evaluate(&Frame { module: Arc::new(command), scope: None }, &expression)
    }

    /// Counts a step.
    fn step(&mut self) -> Outcome<()> {
        self.steps += 1;
        match self.steps > self.limits.steps || self.steps.is_multiple_of(INTERVAL) {
            true => self.look(),
            false => Ok(()),
        }
    }

    /// Whether the constructors may go on.
    #[cold]
    fn look(&mut self) -> Outcome<()> {
        if self.steps > self.limits.steps {
            self.is_exhausted = true;
            return refuse(format!("step limit of {} exceeded", self.limits.steps));
        }
        if let (Some(deadline), Some(time)) = (self.deadline, self.limits.time)
            && Instant::now() > deadline
        {
            self.is_exhausted = true;
            return refuse(format!("time limit of {} s exceeded", time.as_secs_f64()));
        }
        self.ask(0)
    }

    /// Asks for bytes on top of what is held.
    fn ask(&mut self, bytes: usize) -> Outcome<()> {
        let asked = self.memory.ask(bytes);
        self.is_exhausted |= asked.is_err();
        asked.or_else(|error| refuse(error.message().to_owned()))
    }

    /// Counts bytes that are about to be held.
    fn spend(&mut self, bytes: usize) -> Outcome<()> {
        if self.memory.counts_process() {
            return self.ask(bytes);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.check_bytes()
    }

    /// Whether what is known to be held is not too much.
    fn check_bytes(&mut self) -> Outcome<()> {
        let Some(most) = self.limits.memory else { return Ok(()) };
        let is_over = self.bytes.saturating_add(self.tensor_bytes) > most;
        self.is_exhausted |= is_over;
        match is_over {
            true => refuse(format!("memory limit of {} exceeded", size_text(most))),
            false => Ok(()),
        }
    }

    /// Counts the elements of a list, tuple, dict or set that are about to be made.
    fn spend_items(&mut self, count: usize) -> Outcome<()> {
        self.spend(count.saturating_mul(size_of::<Value>()).saturating_add(size_of::<Cell>()))
    }

    /// Goes one level down, if there may be one more, with the stack for it.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.levels >= MAX_LEVELS {
            return refuse("RecursionError: the constructors nest too deeply");
        }
        self.levels += 1;
        let result = nesting::with_stack(|| step(self));
        self.levels -= 1;
        result
    }

    fn new_list(&mut self, items: Vec<Value>) -> Outcome<Value> {
        self.spend_items(items.len())?;
        Ok(Value::Ref(self.arena.add(Cell::List(items))))
    }

    fn new_tuple(&mut self, items: Vec<Value>) -> Outcome<Value> {
        self.spend_items(items.len())?;
        let tuple = value::Tuple { items, class: None };
        Ok(Value::Ref(self.arena.add(Cell::Tuple(tuple))))
    }

    fn new_dict(&mut self, entries: value::Dict) -> Outcome<Value> {
        self.spend_items(entries.len().saturating_mul(3))?;
        Ok(Value::Ref(self.arena.add(Cell::Dict(entries))))
    }

    fn new_cell(&mut self, cell: Cell) -> Outcome<Value> {
        self.spend(size_of::<Cell>())?;
        Ok(Value::Ref(self.arena.add(cell)))
    }

    fn new_str(&mut self, text: String) -> Outcome<Value> {
        self.spend(text.len())?;
        Ok(Value::str(text))
    }

    fn new_iterator(&mut self, items: Vec<Value>) -> Outcome<Value> {
        self.spend_items(items.len())?;
        self.new_cell(Cell::Iterator(value::Iterator { items, at: 0 }))
    }
}

impl Frame {
    fn place(&self, node: &impl Ranged) -> SourceRange {
        self.module.place(node)
    }
}
