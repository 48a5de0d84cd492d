//! PyTorch's files without PyTorch: no Python, no libtorch, nothing in a file is ever run.
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
//! * [`Checkpoint`] and [`LoadOptions`] open what `torch.save` wrote, in any version.
//! * [`Object`] walks what is inside; [`Tensor`] is a view of a [`Storage`], as in PyTorch.
//! * [`identify`] says what a file is.
//! * [`pickle`] disassembles and traces the pickles underneath; [`archive`] reads and verifies the
//!   containers.
//! * `interop` (features `ndarray` and `candle`) hands tensors to other crates.

#[cfg(any(feature = "ndarray", feature = "candle"))]
pub mod interop;

pub use sconce_archive as archive;
pub use sconce_checkpoint as checkpoint;
pub use sconce_export as export;
pub use sconce_pickle as pickle;
pub use sconce_source as source;
pub use sconce_syntax as syntax;
pub use sconce_tensor as tensor;
pub use sconce_torchscript as jit;

pub use sconce_checkpoint::{
    AllowList, Checkpoint, Draft, Error, ErrorKind, FileKind, Identity, LoadOptions, MapLocation,
    Module, NamedTensor, Node, Object, Policy, SaveOptions, StateDict, identify,
};
pub use sconce_source::{Limits, MapMode, Source};
pub use sconce_tensor::{ByteOrder, DType, Device, Layout, Storage, Tensor};

/// Opens a checkpoint with the default options: anything opens and nothing runs.
///
/// # Errors
/// When the file cannot be read or is something else; the error says what.
pub fn load(path: impl AsRef<std::path::Path>) -> Result<Checkpoint, Error> {
    Checkpoint::open(path)
}
