//! CPU maths over strided tensors with PyTorch's semantics.
//!
//! A [`Tensor`] here is what `torch.Tensor` is at run time: a view of a [`Storage`] that other
//! tensors share and that in-place operators write. Kernels are plain functions over tensors:
//! type promotion, broadcasting, aliasing and the wording of errors are PyTorch's. Results do not
//! depend on the number of threads.
//!
//! Architecture invariant: nothing here knows of graphs, values or schemas; nothing reads a file.

mod activate;
mod batch_stats;
mod bilinear;
mod binary;
mod block;
mod choose;
mod conv;
mod copy;
mod create;
mod deform;
mod element;
mod error;
mod export;
mod gemm;
mod grid_sample;
mod import;
mod index;
mod join;
mod matmul;
mod memory;
mod memory_format;
mod norm;
mod pad;
mod patches;
mod pool;
mod promotion;
mod rearrange;
mod reduce;
mod regions;
mod scalar;
pub mod shape;
mod sort;
mod storage;
mod tensor;
mod unary;
mod upsample;
mod views;
mod walk;

pub use activate::{
    celu, glu, hardshrink, hardtanh, log_sigmoid, prelu, prelu_kernel, selu, softshrink, threshold,
};
pub use batch_stats::{
    BatchNorm, instance_norm, native_batch_norm, native_group_norm, native_layer_norm, rms_norm,
    trained_batch_norm,
};
pub use bilinear::bilinear;
pub use binary::{BinaryOp, add, binary, binary_in_place, store, sub};
pub use choose::{clamp, elu, leaky_relu, masked_fill, masked_fill_in_place, softplus, where_};
pub use conv::{ConvOptions, conv};
pub use create::{arange, eye, linspace, tril, triu};
pub use deform::{DeformOptions, deform_conv2d};
pub use element::{Bool, Element};
pub use error::{Error, ErrorKind, Result};
pub use export::Exporter;
pub use grid_sample::{GridMode, GridPadding, affine_grid, grid_sample};
pub use import::Importer;
pub use index::{embedding, gather, index, index_put, index_select, nonzero, scatter};
pub use join::{cat, chunk, split, split_with_sizes, stack};
pub use matmul::{addmm, baddbmm, bmm, dot, linear, matmul, mm, mv};
pub use memory::{Charge, Entered, Memory};
pub use memory_format::MemoryFormat;
pub use norm::{batch_norm, group_norm, layer_norm};
pub use pad::{PadMode, pad};
pub use patches::{PatchOptions, col2im, im2col};
pub use pool::{
    PoolOptions, adaptive_avg_pool, adaptive_max_pool, avg_pool, fractional_max_pool, max_pool,
    max_pool_with_indices, max_unpool,
};
pub use promotion::{Operand, can_cast, promote_types, result_type};
pub use rearrange::{channel_shuffle, pixel_shuffle, pixel_unshuffle};
pub use reduce::{
    Extremum, all, amax, amin, any, count_nonzero, cumsum, extremum, log_softmax, logsumexp, mean,
    norm, prod, softmax, std, sum, var,
};
pub use scalar::Scalar;
pub use regions::{RoiOptions, nms, ps_roi_align, ps_roi_pool, roi_align, roi_pool};
pub use sconce_tensor::{DType, Dims};
pub use sort::{sort, topk};
pub use storage::Storage;
pub use tensor::Tensor;
pub use unary::{UnaryOp, bitwise_not, isfinite, isinf, isnan, logical_not, unary, unary_in_place};
pub use upsample::{Upsample, upsample};
