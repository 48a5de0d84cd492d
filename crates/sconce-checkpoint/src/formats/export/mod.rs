//! Tensors out of sconce: safetensors, npz and npy files.
//!
//! The writers stream: each tensor's bytes are fetched when their turn comes and let go of after it,
//! so a file larger than memory converts. What these formats cannot say (views, sharing, sparse and
//! quantized layouts) is decided beforehand by a [`Plan`], which reports every choice it makes.
//!
//! ```
//! use sconce_checkpoint::export::{Plan, Sharing, write_safetensors};
//! use sconce_tensor::Tensor;
//! # fn main() -> Result<(), sconce_checkpoint::export::Error> {
//! let weight = Tensor::from_vec(vec![1f32, 2.0], &[2])?;
//! let tied = weight.clone();
//! let plan = Plan::new([("embed".to_owned(), &weight), ("head".to_owned(), &tied)], Sharing::Keep)?;
//! assert_eq!(plan.aliases, [("head".to_owned(), "embed".to_owned())]);
//! let mut file = Vec::new();
//! write_safetensors(&plan.tensors, &plan.metadata(), &mut file, &mut |_| {})?;
//! assert!(file.len() > 8);
//! # Ok(())
//! # }
//! ```

pub(super) mod elements;
mod error;
mod plan;
mod storage_use_counts;

pub use error::{Error, ErrorKind};
pub use plan::{Plan, Sharing};
pub use sconce_tensor::{npy_header, write_npy};
pub(super) use storage_use_counts::StorageUseCounts;

pub use super::npz::{npz_name, write_npz};
pub use super::safetensors::{safetensors_header, safetensors_len, write_safetensors};
