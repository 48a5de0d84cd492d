//! The ground that kernels stand on: tensors at run time, their memory, threads, vector instructions.
//!
//! A [`Tensor`] here is what `torch.Tensor` is at run time: a view of a [`Storage`] that other tensors share
//! and that in-position operators write. [`iter`] goes over tensors element by element, [`parallel`] divides work
//! among threads, [`simd`] compiles loops for the vector instructions that a CPU may have, and [`vecmath`]
//! has functions that become vector code.
//!
//! Architecture invariant: no operator is here, and nothing here knows of one.

pub mod alloc;
pub mod c_format;
pub mod chosen_implementation;
pub mod element;
pub mod error;
pub mod iter;
pub mod layout;
pub mod parallel;
pub mod simd;
pub mod tensor;
pub mod vecmath;

pub use alloc::counting_allocator::{CountingAllocator, lift_ceiling, set_ceiling};
pub use alloc::memory_limit::{Charge, Entered, Memory, size_text};
pub use element::PodElement;
pub use error::{Error, ErrorKind, Result, cpp_type_name};
pub use iter::result_layout::ResultLayout;
pub use layout::contiguous_strides;
pub use layout::memory_format::MemoryFormat;
pub use sconce_tensor::{Bool, DType, Dims, Element};
pub use simd::dispatch::dispatch;
pub use tensor::export::Exporter;
pub use tensor::import::Importer;
pub use tensor::overlap::Overlap;
pub use tensor::promotion::{Operand, can_cast, check_cast, promote_types, result_type};
pub use tensor::quantization::{int_repr, per_tensor, quantizer};
pub use tensor::quantizer::Quantizer;
pub use tensor::scalar::Scalar;
pub use tensor::storage::Storage;
pub use tensor::strided::Tensor;
