//! Runs TorchScript programs, without libtorch.
//!
//! A program only runs when the caller runs it, and has no way to read or write anything but its
//! values: no files, no processes, no network. What it prints goes to the caller's [`Sink`], what it
//! may spend is bounded by [`Limits`]. An operator that is not here is an error that names it when the
//! program comes to it, or before anything runs: [`Missing::Refuse`].
//!
//! Programs compute with [`RunTensor`]s, which share memory and are written in place, as in PyTorch. Those of
//! checkpoints, [`crate::Tensor`], are read only; [`input`] and [`output`] make one of the other. A [`Model`] is
//! `Send` and `Sync`; a [`Session`], its values and [`RunTensor`]s stay on one thread.
//!
//! ```
//! use sconce::run::{IValue, Run, RunTensor};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifier.pt");
//! let model = sconce::jit::load(path)?;
//! let x = RunTensor::from_slice(&[0.5f32; 8], &[1, 8])?;
//! let y = model.forward(&[x.into()])?;
//! let scores: Vec<f32> = y.as_tensor().expect("a tensor").to_vec()?;
//! assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-6);
//!
//! // Any exported method; arguments by name by way of a session.
//! assert_eq!(model.call("name_of", &[2.into()])?.as_str(), Some("bird"));
//!
//! // Arguments that do not fit are an error in the schema's words.
//! let error = model.forward(&["text".into()]).unwrap_err();
//! assert!(error.to_string().contains("Expected a value of type 'Tensor' for argument 'x'"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Session`] keeps what calls change, and prepares code once:
//!
//! ```
//! use sconce::run::{IValue, Limits, Options, Session, RunTensor};
//! use std::time::Duration;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifier.pt");
//! let model = sconce::jit::load(path)?;
//! let limits = Limits { time: Some(Duration::from_secs(5)), ..Limits::default() };
//! let mut session = Session::new(&model, Options { limits, ..Options::default() })?;
//! for round in 1..4i64 {
//!     let x = RunTensor::from_slice(&[1f32; 16], &[2, 8])?;
//!     let y = session.call_with("forward", &[x.into()], &[("rounds", round.into())])?;
//!     assert_eq!(y.as_tensor().expect("a tensor").sizes(), [2, 4]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Model`] is shared by threads: each has a session of its own over the same weights.
//!
//! ```
//! use sconce::run::{Model, Options, RunTensor};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifier.pt");
//! let model = Model::new(sconce::jit::load(path)?);
//! std::thread::scope(|scope| {
//!     for round in 1..4 {
//!         let model = &model;
//!         scope.spawn(move || {
//!             let x = RunTensor::from_slice(&[round as f32; 8], &[1, 8]).expect("8 numbers");
//!             let y = model.session(Options::default())?.call("forward", &[x.into()])?;
//!             assert_eq!(y.as_tensor().expect("a tensor").sizes(), [1, 4]);
//!             Ok::<(), sconce::run::Error>(())
//!         });
//!     }
//! });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Arguments that `torch.save` wrote, and results that `torch.load` reads:
//!
//! ```
//! use sconce::run::{Run, arguments, to_object};
//! use sconce::{Checkpoint, Draft, SaveOptions, Source, Value};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifier.pt");
//! # let x = sconce::Tensor::from_slice(&[1f32; 8], &[1, 8])?;
//! # let saved = Draft::from(Value::list([Value::from(x), Value::from(2)]));
//! # let file = SaveOptions::new().save_to(saved.root(), Vec::new())?;
//! # let file = Source::from_vec("args.pt", file);
//! // torch.save([torch.ones(1, 8), 2], file)
//! let saved = Checkpoint::from_source(file)?;
//! let y = sconce::jit::load(path)?.forward(&arguments(saved.root())?)?;
//! let result = Draft::from(to_object(&y)?);
//! let written = SaveOptions::new().save_to(result.root(), Vec::new())?;
//! # assert!(written.starts_with(b"PK"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`input`] and [`output`] join programs to the tensors of checkpoints, and by those to `ndarray` and
//! candle:
//!
#![cfg_attr(feature = "ndarray", doc = "```")]
#![cfg_attr(not(feature = "ndarray"), doc = "```ignore")]
//! use sconce::interop::ndarray::{from_array, to_array};
//! use sconce::run::{Run, input, output};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifier.pt");
//! let x = ndarray::Array2::<f32>::ones((3, 8));
//! let y = sconce::jit::load(path)?.forward(&[input(&from_array(&x)?)?])?;
//! let y = to_array::<f32>(&output(&y)?)?;
//! assert_eq!(y.shape(), [3, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use sconce_runtime::{
    Away, CountingAllocator, Dict, Error, Exception, Future, Generator, IValue, Limits, List,
    Missing, Model, Need, Nested, Object, OperatorArgs, OperatorError, Options, Plain, Poll,
    Precision, ProfileEntry, RegisterError, Registry, Session, SessionHandle, Shared, Silent, Sink,
    Tensor as RunTensor, TensorError, Text, Tuple, arguments, from_object, lift_ceiling,
    limit_vector_instructions, memory_left, needs, needs_of, normal_in_place, num_threads,
    set_ceiling, set_num_threads, size_text, to_object, to_object_as, uniform_in_place,
    vector_instructions,
};

use crate::export_program::{Archive, Program};
use crate::jit::Module;
use crate::{FileKind, MapMode, Source};

/// The program of a file, whatever wrote it: `torch.jit.save` or `torch.export.save`. Nothing in it runs.
///
/// ```
/// use sconce::run::open_model;
/// use sconce::Source;
///
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
/// # let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/hand/lookalike");
/// for name in ["classifier.pt", "shapes.pt2"] {
///     let model = open_model(Source::open(format!("{folder}/{name}"))?)?;
///     assert!(model.module().method("forward").is_ok());
/// }
/// let wrong = open_model(Source::open(format!("{other}/tensors.safetensors"))?).unwrap_err();
/// assert!(wrong.to_string().contains("is not a TorchScript archive but: "));
/// # Ok::<(), sconce::Error>(())
/// ```
///
/// # Errors
/// When the file cannot be read, is something else ([`crate::Error::NotAProgram`]), or has what cannot be run.
pub fn open_model(source: Source) -> Result<Model, crate::Error> {
    let kind = crate::try_identify(&source)?.kind;
    match kind {
        FileKind::Pt2 | FileKind::AotInductor => {
            let options = crate::LoadOptions::new().map_mode(MapMode::CopyOnWrite);
            let archive = Archive::from_source(source, &options)?;
            let program = Program::of_archive(&archive, archive.model(None)?)?;
            Ok(Model::of_program(&program)?)
        }
        // What a damaged archive looks like, its reader says best.
        FileKind::TorchScript | FileKind::Zip | FileKind::MobileFlatbuffer => {
            Ok(Model::new(crate::jit::LoadOptions::new().read(source)?))
        }
        kind => Err(crate::Error::NotAProgram { file: source.name().to_owned(), kind }),
    }
}

/// Calls methods of a module: `module.forward(&[x.into()])`.
///
/// Every call starts from the module as it was loaded, and leaves it so. Use a [`Session`] to call
/// many times, to keep what calls change, and to set limits.
pub trait Run {
    /// The module, live.
    ///
    /// # Errors
    /// As [`Session::new`].
    fn session(&self, options: Options) -> Result<Session, Error>;

    /// Calls a method with these arguments.
    ///
    /// # Errors
    /// When there is no such method, the arguments do not fit its schema, the program needs an
    /// operator that is not here, or raises.
    fn call(&self, method: &str, args: &[IValue]) -> Result<IValue, Error>;

    /// Calls `forward`.
    ///
    /// # Errors
    /// As [`Run::call`].
    fn forward(&self, args: &[IValue]) -> Result<IValue, Error> {
        self.call("forward", args)
    }
}

impl Run for Module {
    fn session(&self, options: Options) -> Result<Session, Error> {
        Session::new(self, options)
    }

    fn call(&self, method: &str, args: &[IValue]) -> Result<IValue, Error> {
        self.session(Options::default())?.call(method, args)
    }
}

impl Run for Program {
    fn session(&self, options: Options) -> Result<Session, Error> {
        Session::of_program(self, options)
    }

    fn call(&self, method: &str, args: &[IValue]) -> Result<IValue, Error> {
        self.session(Options::default())?.call(method, args)
    }
}

/// A tensor of a checkpoint as an argument. Nothing is copied before a program writes to it.
///
/// # Errors
/// For tensors that are sparse, quantized or nested, and data that cannot be loaded.
pub fn input(tensor: &crate::Tensor) -> Result<IValue, Error> {
    RunTensor::from_file(tensor)
        .map(IValue::Tensor)
        .map_err(|error| Error::Arguments(error.message().to_owned()))
}

/// A result that is a tensor, row-major, as one that can be saved, printed and handed to other crates.
///
/// # Errors
/// When the result is something else.
pub fn output(result: &IValue) -> Result<crate::Tensor, Error> {
    let tensor = result.as_tensor().ok_or_else(|| {
        Error::Arguments(format!(
            "the result is not a tensor but a value of the kind {}",
            result.kind_name()
        ))
    })?;
    tensor.to_file().map_err(|error| Error::Arguments(error.message().to_owned()))
}
