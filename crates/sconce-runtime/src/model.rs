//! A program and its weights, which threads share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sconce_export_program::{Calling, Program};
use sconce_torchscript::Module;

use crate::Error;
use crate::optimize::{draws, is_contained};
use crate::options::Options;
use crate::program::plans::SharedPlans;
use crate::session::{Session, check_operators};

/// A program and its weights, for any number of threads: each makes a [`Session`] of its own.
///
/// Weights are read where they are in the file or in memory, and never written; a session that
/// writes to one has its own copy from then on. What `forward` is optimised to is made once for each kind of
/// arguments, and the weights that are packed for that are in memory once, whatever the number of sessions.
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
    /// How `forward` is called, of a program that was exported.
    calling: Option<Arc<Calling>>,
    plans: Arc<SharedPlans>,
    /// Of methods, whether they are stateless.
    stateless: Arc<Mutex<HashMap<String, bool>>>,
}

// What a model is for.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Model>();
};

impl Model {
    /// A module that has been loaded.
    pub fn new(module: Module) -> Self {
        Model { module, calling: None, plans: Arc::default(), stateless: Arc::default() }
    }

    /// A program that was exported. Calls of `forward` take and give what the program says.
    ///
    /// # Errors
    /// When the program has an operator that nobody knows.
    pub fn of_program(program: &Program) -> Result<Self, Error> {
        check_operators(program)?;
        let calling = Some(Arc::clone(program.calling()));
        Ok(Model { calling, ..Model::new(program.module().clone()) })
    }

    /// The module itself.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// How `forward` of a program that was exported is called.
    pub fn calling(&self) -> Option<&Arc<Calling>> {
        self.calling.as_ref()
    }

    /// State for one thread: the objects of the module, live.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn session(&self, options: Options) -> Result<Session, Error> {
        let session = Session::sharing(&self.module, options, Some(&self.plans))?;
        Ok(session.calling(self.calling.clone()))
    }

    /// Whether a call of this method leaves a session as it was, whatever it is given: it writes to no attribute and
    /// to no argument, and draws no random numbers. False where that cannot be told.
    ///
    /// # Errors
    /// When there is no such method, or its code does not compile.
    pub fn is_stateless(&self, method: &str) -> Result<bool, Error> {
        let lock = || self.stateless.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = lock().get(method) {
            return Ok(known);
        }
        self.module.method(method)?;
        // What freezing finds out about branches and lists counts, if it can be done.
        let graph = match self.module.frozen_graph_to_run(method) {
            Ok(graph) => graph,
            Err(_) => self.module.inlined_graph(method)?,
        };
        let stateless = is_contained(&graph) && !draws(&graph);
        lock().insert(method.to_owned(), stateless);
        Ok(stateless)
    }
}
