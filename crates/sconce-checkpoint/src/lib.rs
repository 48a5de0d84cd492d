//! Every checkpoint that `torch.save` ever wrote, read without PyTorch.
//!
//! [`Checkpoint::open`] takes a zip archive (torch 1.6 and later), a legacy stream (0.1.10 to 1.5), a
//! tar file (older still), a bare pickle, a sharded checkpoint by its index, a TorchScript archive as
//! data, the weights of a program of torch.export, and, for comparison, safetensors, npy and npz files. It reads the directory and the
//! pickle; tensor data stays in the mapped file until it is used.
//!
//! Objects are inert: unpickling calls nothing, imports nothing, and keeps what it does not know as
//! an [`Instance`] with class, arguments and state. [`Policy::WeightsOnly`] refuses exactly what
//! PyTorch's `weights_only` unpickler refuses.
//!
//! ```
//! use sconce_checkpoint::Checkpoint;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
//! let checkpoint = Checkpoint::open(path)?;
//! let epoch = checkpoint.root().get("epoch").and_then(|object| object.as_i64());
//! assert_eq!(epoch, Some(20));
//! for named in checkpoint.tensors() {
//!     println!("{} {:?}", named.name, named.tensor.sizes());
//! }
//! # Ok::<(), sconce_checkpoint::Error>(())
//! ```
//!
//! Architecture invariant: loading is proportional to the number of objects, never to the bytes of
//! tensors, and no depth or sharing in a file can overflow the stack.

mod allow_list;
mod allow_list_names;
mod checkpoint;
mod edit;
mod error;
mod formats;
mod globals;
mod identify;
mod info;
mod location;
mod object;
mod observe;
mod options;
mod python2_names;
mod rebuild;
mod records;
mod save;
mod weights_only;

pub use allow_list::AllowList;
pub use checkpoint::Checkpoint;
pub use edit::{Builder, CastOverflow, Change, ChangeKind, Draft, Made, StateDict, Value};
pub use error::{Error, ErrorKind};
pub use formats::{export, mobile_archive, pickle_limits, pickled_tensors, pt2};
pub use globals::{GlobalUse, unsafe_globals};
pub use identify::{FileKind, Identity, identify, try_identify};
pub use info::{Info, StorageRecord};
pub use location::{LocationRegistry, MapLocation, MapStorage, Tagger};
pub use object::{
    Array, ArrayData, ClassRef, Construction, Dict, DictKind, Instance, Module, NamedArray,
    NamedTensor, Node, NumpyDType, Object, ObjectId, StorageObject, TensorClass, TensorObject,
};
pub use observe::{Observer, Seen};
pub use options::{LoadOptions, Policy};
pub use python2_names::modern as python3_name;
pub use rebuild::Encoding;
pub use save::{ArchiveLayout, SaveOptions};
pub use weights_only::pytorch_message;
