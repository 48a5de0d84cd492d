//! Tensors as PyTorch's files hold them: dtypes, storages, strided views, sparse, quantized and
//! nested layouts, and PyTorch's way of printing them.
//!
//! A [`Storage`] is a shared run of bytes: a slice of a mapped file, a buffer, or something loaded on
//! first use. A [`Tensor`] is a view of one: a [`DType`], sizes, strides and an offset, or one of the
//! other layouts built of such views. Building a tensor checks that it lies inside its storage and
//! reads nothing; the numbers may come from a hostile file.
//!
//! ```
//! use sconce_tensor::{DType, Device, PrintOptions, Storage, Tensor};
//! # fn main() -> Result<(), sconce_tensor::Error> {
//! let bytes: Vec<u8> = [1.0f32, 2.5, -3.0, 4.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
//! let storage = Storage::from_bytes(bytes.into(), Device::CPU);
//! let matrix = Tensor::strided(storage.clone(), DType::Float32, 0, &[2, 2], &[2, 1])?;
//! let diagonal = Tensor::strided(storage, DType::Float32, 0, &[2], &[3])?;
//! assert_eq!(diagonal.to_vec::<f32>()?, [1.0, 4.0]);
//! let text = matrix.display(&PrintOptions::default()).to_string();
//! assert_eq!(text, "tensor([[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]])");
//! # Ok(())
//! # }
//! ```
//!
//! Architecture invariant: nothing here knows a file format but `.npy`, and nothing computes; the
//! only arithmetic on elements is what reading needs (decoding, dequantizing, summing duplicates of a
//! sparse tensor) and [`Stats`]. There is no `unsafe`.

mod byte_order;
mod cast;
mod device;
mod dtype;
mod element;
mod error;
mod geometry;
mod layout;
mod npy;
mod print;
mod scalar;
mod small_float;
mod stats;
mod storage;
mod tensor;
mod views;

pub use byte_order::ByteOrder;
pub use device::{Device, DeviceKind};
pub use dtype::DType;
pub use element::{Bool, Element};
pub use error::{Error, ErrorKind, ViewShape};
pub use geometry::Dims;
pub use layout::Layout;
pub use npy::{npy_header, read_npy, read_npy_header, write_npy};
pub use print::{Display, PrintOptions};
pub use scalar::{Scalar, Values};
pub use small_float::{Float8, decode_float4_pair};
pub use stats::{Histogram, Stats};
pub use storage::{LazyError, Load, Storage};
pub use tensor::Tensor;
pub use tensor::nested::Nested;
pub use tensor::quantized::{ChannelScheme, Quantizer};
pub use tensor::sparse::{SparseCompressed, SparseCoo};
