//! PyTorch's files without PyTorch: no Python, no libtorch, and nothing in a file runs unless [`run`]
//! is asked to.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
//! let checkpoint = sconce::Checkpoint::open(path)?;
//! for named in checkpoint.tensors() {
//!     println!("{} {} {:?}", named.name, named.tensor.dtype().name(), named.tensor.sizes());
//! }
//! let weight = checkpoint.tensor("state_dict.classifier.weight").expect("a classifier");
//! let values: &[f32] = weight.as_slice()?; // straight out of the mapped file
//! assert_eq!(values.len(), 640);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Three doors
//!
//! | to | call | gives |
//! |---|---|---|
//! | read | [`load`], with options [`LoadOptions`] | a [`Checkpoint`]: [`Object`]s, [`Tensor`]s, what the file is |
//! | run | [`jit::load`], then [`run::Run::forward`] | the results of a TorchScript program |
//! | write | [`save`], with options [`SaveOptions`] | a file that `torch.load` reads |
//!
//! Beside them: [`identify`] says what a file is, `scan` what it would do when PyTorch loads it; [`Draft`] changes a
//! checkpoint; [`export`] writes safetensors and npz; [`pickle`] and [`archive`] are the layers underneath; `interop`
//! hands tensors to `ndarray` and candle. `?` turns the error of each into one [`Error`].
//!
//! [`Checkpoint`], [`Tensor`], [`Storage`], [`jit::Module`] and [`run::Model`] are `Send` and `Sync`. A
//! [`run::Session`] stays on the thread that made it.
//!
//! # Features
//!
//! | feature | default | gives |
//! |---|---|---|
//! | `run` | yes | runs programs of TorchScript and torch.export: module [`run`] |
//! | `linalg` | yes | factorizations of matrices and Fourier transforms in programs that are run |
//! | `script` | yes | compiles Python source: [`jit::ScriptOptions`] |
//! | `jit` | by `run` and `script` | TorchScript archives as programs: module [`jit`] |
//! | `export-program` | yes | programs of torch.export: module [`export_program`] |
//! | `scan` | yes | what a file would do when PyTorch loads it: module `scan` |
//! | `hub` | yes | `torch.hub`, and files on web servers: module `hub` |
//! | `safetensors` | yes | opens `.safetensors` files |
//! | `parallel` | yes | checksums on several threads while a file is written |
//! | `ndarray`, `candle` | no | conversions to and from those crates: module `interop` |
//!
//! Without any, `sconce = { version = "0.1", default-features = false }` reads and writes checkpoints
//! with fewer than 50 crates in its tree.
//!
//! # TorchScript
//!
//! What `torch.jit.save` writes is a program with its objects. [`jit::load`] reads the objects and
//! finds the classes that they need; a method is compiled when its code or graph is asked for, so a
//! method that does not compile only matters to who asks for it. Nothing runs by being loaded.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifier.pt");
//! # let folder = std::env::temp_dir().join(format!("sconce-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let model = sconce::jit::load(path)?;
//! assert_eq!(model.class_name(), "Classifier");
//! let names: Vec<String> = model.named_parameters()?.into_iter().map(|(name, _)| name).collect();
//! assert_eq!(names, ["encoder.weight", "encoder.bias"]);
//!
//! // What the methods take and give, and what is in them.
//! let forward = model.method("forward")?;
//! assert!(forward.schema.to_string().ends_with("Tensor x, int rounds=1) -> Tensor"));
//! assert!(model.code("forward")?.ends_with("return torch.softmax(y0, 1)\n"));
//! assert!(model.original_source("forward")?.contains("for _ in range(rounds):"));
//! let operators: Vec<String> = model.operators()?.into_iter().map(|used| used.name).collect();
//! assert!(operators.contains(&"aten::linear".to_owned()));
//!
//! // As torch.jit.freeze begins: calls inlined, attributes as constants.
//! let graph = model.frozen_graph("forward")?;
//! assert!(!graph.to_string().contains("prim::GetAttr"));
//!
//! // Saved again as torch.jit.save does, with another attribute and an extra file.
//! model.set_attr("most", sconce::jit::Value::Float(3.0))?;
//! let options = sconce::jit::SaveOptions::new().replace(true).extra_file("why.txt", "a test");
//! options.save(&model, folder.join("classifier.pt"))?;
//! let again = sconce::jit::load(folder.join("classifier.pt"))?;
//! assert!(matches!(again.attr("most")?, sconce::jit::Value::Float(most) if most == 3.0));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An error of a program says where: [`jit::Error::program`] has the places in the archive's code,
//! and each [`syntax::SourceRange`] knows the original source behind it where the archive does.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifier.pt");
//! let model = sconce::jit::load(path)?;
//! let graph = model.graph("forward")?;
//! let last = graph.block_nodes(graph.root()).last().expect("a node");
//! let place = graph.node(last).range.as_ref().expect("a place");
//! assert!(place.highlight().contains("return torch.softmax(y0, 1)"));
//! let original = place.original().expect("debug records");
//! assert!(original.highlight().starts_with("  File \"make_classifier.py\", line "));
//! # Ok::<(), sconce::jit::Error>(())
//! ```
//!
//! # Writing
//!
//! ```
//! use sconce::{Checkpoint, Draft, SaveOptions, StateDict, Tensor, Value};
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/hand/lookalike");
//! // From slices, with the version that nn.Linear's state_dict() has,
//! let mut state = StateDict::new();
//! state.insert("weight", Tensor::from_slice(&[1f32, 2.0], &[1, 2])?);
//! state.insert("bias", Tensor::from_slice(&[0.5f32], &[1])?);
//! state.version("", 1);
//! // from the tensors of a .safetensors or .npz file, whose elements are read when they are written,
//! let file = Checkpoint::open(format!("{folder}/tensors.safetensors"))?;
//! let loaded: StateDict =
//!     file.tensors().into_iter().map(|named| (named.name, named.tensor.clone())).collect();
//! // and the whole as torch.save({"model": …, "ema": …, "epoch": 3}, f) writes it.
//! let checkpoint = Value::dict([
//!     ("model", Value::from(state)),
//!     ("ema", Value::from(loaded)),
//!     ("epoch", Value::from(3)),
//! ]);
//! let written = SaveOptions::new().save_to(Draft::from(checkpoint).root(), Vec::new())?;
//! # assert!(written.starts_with(b"PK"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

mod error;
#[cfg(any(feature = "ndarray", feature = "candle"))]
pub mod interop;

#[cfg(feature = "hub")]
pub mod hub;
#[cfg(feature = "jit")]
pub mod jit;
#[cfg(feature = "run")]
pub mod run;

pub use error::Error;
pub use sconce_archive as archive;
pub use sconce_checkpoint as checkpoint;
pub use sconce_checkpoint::export;
#[cfg(feature = "export-program")]
pub use sconce_export_program as export_program;
pub use sconce_pickle as pickle;
#[cfg(feature = "scan")]
pub use sconce_scan as scan;
pub use sconce_source as source;
#[cfg(feature = "jit")]
pub use sconce_syntax as syntax;
pub use sconce_tensor as tensor;

pub use sconce_checkpoint::{
    AllowList, Checkpoint, Draft, ErrorKind, FileKind, Identity, LoadOptions, MapLocation, Module,
    NamedTensor, Node, Object, Policy, SaveOptions, StateDict, Value, identify, try_identify,
};
pub use sconce_source::{Limits, MapMode, Source};
pub use sconce_tensor::{ByteOrder, DType, Device, Layout, Storage, Tensor};

/// Opens a checkpoint with the default options, as `torch.load` does: anything opens and nothing runs.
///
/// # Errors
/// When the file cannot be read or is something else; the error says what.
pub fn load(path: impl AsRef<Path>) -> Result<Checkpoint, Error> {
    Ok(Checkpoint::open(path)?)
}

/// Loads the program of a `.pt2` file, as `torch.export.load(path).module()` does: the model called `model`, or the
/// only one. [`run::Run`] calls it.
///
/// ```
/// # #[cfg(feature = "run")] {
/// use sconce::run::{Run, RunTensor};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shapes.pt2");
/// let program = sconce::load_program(path)?;
/// let picture = RunTensor::from_slice(&[0f32; 3 * 32 * 32], &[1, 3, 32, 32])?;
/// let scores = program.forward(&[picture.into()])?;
/// assert_eq!(scores.as_tensor().expect("a tensor").sizes(), [1, 8]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the file cannot be read or is something else, or the program has what cannot be run.
#[cfg(feature = "export-program")]
pub fn load_program(path: impl AsRef<Path>) -> Result<export_program::Program, Error> {
    let archive = export_program::Archive::open(path)?;
    let model = archive.model(None)?;
    Ok(export_program::Program::of_archive(&archive, model)?)
}

/// Writes a value to a file that is not there yet, as `torch.save` does.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("sconce-save-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let mut state = sconce::StateDict::new();
/// state.insert("weight", sconce::Tensor::from_slice(&[1f32, 2.0], &[1, 2])?);
/// sconce::save(state, folder.join("model.pt"))?;
/// let again = sconce::load(folder.join("model.pt"))?;
/// assert_eq!(again.tensor("weight").map(|weight| weight.shape()), Some(&[1, 2][..]));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the file exists, cannot be written, or holds what no pickle can.
pub fn save(value: impl Into<Value>, path: impl AsRef<Path>) -> Result<(), Error> {
    Ok(SaveOptions::new().save(Draft::from(value.into()).root(), path)?)
}

#[cfg(test)]
mod tests {
    fn is_shared<T: Send + Sync>() {}

    #[test]
    fn what_threads_share() {
        is_shared::<super::Checkpoint>();
        is_shared::<super::Tensor>();
        is_shared::<super::Storage>();
        is_shared::<super::Error>();
        #[cfg(feature = "jit")]
        is_shared::<crate::jit::Module>();
        #[cfg(feature = "run")]
        is_shared::<crate::run::Model>();
    }
}
