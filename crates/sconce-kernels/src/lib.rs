//! CPU maths over strided tensors with PyTorch's semantics.
//!
//! A [`Tensor`] here is what `torch.Tensor` is at run time: a view of a [`Storage`] that other
//! tensors share and that in-place operators write. Kernels are plain functions over tensors:
//! type promotion, broadcasting, aliasing and the wording of errors are PyTorch's. Results do not
//! depend on the number of threads.
//!
//! Architecture invariant: nothing here knows of graphs, values or schemas; nothing reads a file.

mod copy;
mod element;
mod error;
mod import;
mod promotion;
mod scalar;
pub mod shape;
mod storage;
mod tensor;
mod views;
mod walk;

pub use element::{Bool, Element};
pub use error::{Error, ErrorKind, Result};
pub use import::Importer;
pub use promotion::{Operand, can_cast, promote_types, result_type};
pub use scalar::Scalar;
pub use sconce_tensor::{DType, Dims};
pub use storage::Storage;
pub use tensor::Tensor;
