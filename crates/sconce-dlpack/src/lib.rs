//! DLPack: tensors lent to other languages and libraries, and taken from them, without copying elements.
//!
//! [`export`] and [`export_unversioned`] give a pointer that whoever gets it owns and gives back by the deleter in it.
//! [`borrow`] and [`from_blob`] do without such a pointer's ownership.
//! [`import`] and [`import_unversioned`] take such a pointer, whatever library made it: numbers in it are checked, and
//! only that the memory is there must be believed.
//!
//! ```
//! use sconce_dlpack::{export, import};
//! use sconce_tensor::Tensor;
//!
//! let tensor = Tensor::from_vec(vec![1f32, 2.0, 3.0, 4.0], &[2, 2])?.transpose(0, 1)?;
//! let lent = export(&tensor)?;
//! // SAFETY: `lent` comes from `export` and is given to nobody else.
//! let again = unsafe { import(lent.as_ptr()) }?;
//! assert_eq!(again.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abi;
mod dtypes;
mod lend;
mod take;

pub use abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
    FLAG_READ_ONLY,
};
pub use dtypes::{from_dl, to_dl};
pub use lend::{data_pointer, export, export_unversioned};
pub use take::{borrow, from_blob, import, import_unversioned};

/// Why a tensor cannot be lent or taken.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// DLPack has no word for it, or nothing here has.
    #[error("{0}")]
    Unsupported(String),
    /// What was lent contradicts itself.
    #[error("a DLPack tensor that does not hold together: {0}")]
    Malformed(String),
    /// The elements cannot be had.
    #[error(transparent)]
    Tensor(#[from] sconce_tensor::Error),
}
