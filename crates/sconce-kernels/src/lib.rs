//! CPU maths over strided tensors with PyTorch's semantics.
//!
//! A [`Tensor`] here is what `torch.Tensor` is at run time: a view of a [`Storage`] that other
//! tensors share and that in-place operators write. Kernels are plain functions over tensors:
//! type promotion, broadcasting, aliasing and the wording of errors are PyTorch's. Results do not
//! depend on the number of threads.
//!
//! Architecture invariant: nothing here knows of graphs, values or schemas; nothing reads a file.

mod binary;
mod block;
mod choose;
mod conv;
mod copy;
mod create;
mod dense;
mod element;
mod error;
mod export;
mod gemm;
mod import;
mod index;
mod join;
mod matmul;
mod memory;
mod norm;
mod pool;
mod promotion;
mod reduce;
mod resample;
mod scalar;
pub mod shape;
mod sort;
mod storage;
mod tensor;
mod unary;
mod views;
mod walk;

pub use binary::{BinaryOp, add, binary, binary_in_place, store, sub};
pub use choose::{clamp, elu, leaky_relu, masked_fill, masked_fill_in_place, softplus, where_};
pub use conv::{ConvOptions, conv};
pub use create::{arange, eye, linspace, tril, triu};
pub use dense::{dense_binary, dense_binary_in_place, dense_unary};
pub use element::{Bool, Element};
pub use error::{Error, ErrorKind, Result};
pub use export::Exporter;
pub use import::Importer;
pub use index::{embedding, gather, index, index_put, index_select, nonzero, scatter};
pub use join::{cat, chunk, split, split_with_sizes, stack};
pub use matmul::{addmm, baddbmm, bmm, dot, linear, matmul, mm, mv};
pub use memory::{Charge, Entered, Memory};
pub use norm::{batch_norm, group_norm, layer_norm};
pub use pool::{PoolOptions, adaptive_avg_pool2d, avg_pool2d, max_pool2d};
pub use promotion::{Operand, can_cast, promote_types, result_type};
pub use reduce::{
    Extremum, all, amax, amin, any, count_nonzero, cumsum, extremum, log_softmax, logsumexp, mean,
    norm, prod, softmax, std, sum, var,
};
pub use resample::{PadMode, pad, upsample_bilinear2d, upsample_nearest2d};
pub use scalar::Scalar;
pub use sconce_tensor::{DType, Dims};
pub use sort::{sort, topk};
pub use storage::Storage;
pub use tensor::Tensor;
pub use unary::{UnaryOp, bitwise_not, isfinite, isinf, isnan, logical_not, unary, unary_in_place};
