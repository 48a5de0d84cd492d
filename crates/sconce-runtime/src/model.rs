//! A program and its weights, which threads share.

use sconce_torchscript::Module;

use crate::Error;
use crate::options::Options;
use crate::session::Session;

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
