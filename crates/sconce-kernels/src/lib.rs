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
mod blocked;
mod choose;
mod conv;
mod conv_transpose;
mod copy;
mod create;
mod cumulative;
mod dense;
mod element;
mod error;
mod export;
mod gemm;
mod histogram;
mod import;
mod index;
mod introsort;
mod join;
mod matmul;
mod memory;
mod norm;
mod numbers;
mod order_statistics;
mod pointwise;
mod pool;
mod promotion;
mod rearrange;
mod reduce;
mod resample;
mod scalar;
mod scatter;
pub mod shape;
mod sort;
pub mod special;
mod statistics;
mod storage;
mod tensor;
mod unary;
mod unique;
mod views;
mod walk;
mod window;

pub use binary::{BinaryOp, add, binary, binary_in_place, store, sub};
pub use blocked::{
    Activation, BlockedConv, conv_blocked, from_blocked, max_pool2d_blocked, mean_blocked,
    pack_bias, pack_weight, to_blocked,
};
pub use choose::{clamp, elu, leaky_relu, masked_fill, masked_fill_in_place, softplus, where_};
pub use conv::{ConvOptions, conv, conv_same};
pub use conv_transpose::conv_transpose;
pub use create::{arange, eye, linspace, tril, triu};
pub use cumulative::{cumprod, cumsum, logcumsumexp, product, running_extremum};
pub use dense::{dense_binary, dense_unary};
pub use element::{Bool, Element};
pub use error::{Error, ErrorKind, Result};
pub use export::Exporter;
pub use histogram::{Bins, bincount, histc, histogramdd, searchsorted};
pub use import::Importer;
pub use index::{embedding, gather, index, index_put, index_select, nonzero, scatter};
pub use join::{cat, chunk, split, split_with_sizes, stack};
pub use matmul::{addmm, baddbmm, bmm, dot, linear, matmul, mm, mv};
pub use memory::{Charge, Entered, Memory};
pub use norm::{batch_norm, group_norm, layer_norm};
pub use order_statistics::{Interpolation, kthvalue, median, median_all, mode, quantile, topk};
pub use pointwise::{
    addcdiv, addcmul, equal, filled_like, float_power, frexp, gcd, heaviside, is_exactly, isclose,
    isin, lcm, ldexp, lerp, logit, map_float, map_floating, nan_to_num, nextafter, polynomial,
    round_decimals, signbit, zip_float, zip_floating,
};
pub use pool::{PoolOptions, adaptive_avg_pool2d, avg_pool2d, max_pool2d};
pub use promotion::{Operand, can_cast, promote_types, result_type};
pub use rearrange::{
    at_least, block_diag, broadcast_tensors, cartesian_prod, combinations, diag, diag_embed, flip,
    meshgrid, repeat, repeat_interleave, repetitions, roll, rot90, split_at, split_evenly,
    sum_to_size, tile,
};
pub use reduce::{
    Extremum, all, amax, amin, any, count_nonzero, extremum, log_softmax, logsumexp, mean, norm,
    prod, softmax, std, sum, var,
};
pub use resample::{PadMode, pad, upsample_bilinear2d, upsample_nearest2d};
pub use scalar::Scalar;
pub use scatter::{
    Fold, index_fill, index_fold, masked_scatter, masked_select, nonzero_static, put, scatter_fold,
    scatter_view, take, take_along_dim,
};
pub use sconce_tensor::{DType, Dims};
pub use sort::sort;
pub use statistics::{
    SegmentReduce, Spacing, all_true, corrcoef, count_nonzero_dims, cov, cumulative_trapezoid,
    deviation, diff, dist, gradient, hash, isreal, nanmean, nansum, renorm, safe_softmax,
    segment_reduce, trapezoid, triangle_indices, truth_dims, vander, variance,
};
pub use storage::Storage;
pub use tensor::Tensor;
pub use unary::{UnaryOp, bitwise_not, isfinite, isinf, isnan, logical_not, unary, unary_in_place};
pub use unique::{Unique, unique, unique_consecutive, unique_dim};
