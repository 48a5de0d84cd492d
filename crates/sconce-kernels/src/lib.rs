//! CPU maths over strided tensors with PyTorch's semantics.
//!
//! A [`Tensor`] here is what `torch.Tensor` is at run time: a view of a [`Storage`] that other
//! tensors share and that in-place operators write. Kernels are plain functions over tensors:
//! type promotion, broadcasting, aliasing and the wording of errors are PyTorch's. Results do not
//! depend on the number of threads.
//!
//! Architecture invariant: nothing here knows of graphs, values or schemas; nothing reads a file.

mod attention;
mod bags;
mod binary;
mod block;
mod choose;
mod class_loss;
mod conv;
mod copy;
mod create;
mod ctc;
mod distance;
mod dropout;
mod element;
mod error;
mod export;
mod gemm;
mod generator;
mod import;
mod index;
mod join;
mod loss;
mod matmul;
mod memory;
mod norm;
mod packed;
mod pool;
mod promotion;
mod random;
mod random_whole;
mod recurrent;
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

pub use attention::{
    AttentionOptions, EncoderLayer, HeadMask, HeadWeights, attention, encoder_layer,
    flash_attention, is_left_aligned, masked_softmax, multi_head_attention, safe_softmax,
};
pub use bags::{BagMode, BagOptions, Bags, embedding_bag, embedding_renorm};
pub use binary::{BinaryOp, add, binary, binary_in_place, store, sub};
pub use choose::{clamp, elu, leaky_relu, masked_fill, masked_fill_in_place, softplus, where_};
pub use class_loss::{
    ClassLoss, cross_entropy_loss, multi_margin_loss, multilabel_margin_loss, nll_loss, one_hot,
};
pub use conv::{ConvOptions, conv};
pub use create::{arange, eye, linspace, tril, triu};
pub use ctc::{Ctc, ctc_loss};
pub use distance::{cdist, cosine_similarity, pairwise_distance, pdist};
pub use dropout::{Dropout, dropout, native_dropout, rrelu};
pub use element::{Bool, Element};
pub use error::{Error, ErrorKind, Result};
pub use export::Exporter;
pub use generator::Generator;
pub use import::Importer;
pub use index::{embedding, gather, index, index_put, index_select, nonzero, scatter};
pub use join::{cat, chunk, split, split_with_sizes, stack};
pub use loss::{
    Reduction, Triplet, binary_cross_entropy, binary_cross_entropy_with_logits,
    cosine_embedding_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss,
    mse_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss,
};
pub use matmul::{addmm, baddbmm, bmm, dot, linear, matmul, mm, mv};
pub use memory::{Charge, Entered, Memory};
pub use norm::{batch_norm, group_norm, layer_norm};
pub use packed::{pack_padded, pad_packed, pad_sequence};
pub use pool::{PoolOptions, adaptive_avg_pool2d, avg_pool2d, max_pool2d};
pub use promotion::{Operand, can_cast, promote_types, result_type};
pub use random::{
    bernoulli_from, bernoulli_in_place, cauchy_in_place, empty_like, exponential_in_place,
    geometric_in_place, log_normal_in_place, normal_in_place, uniform_in_place,
};
pub use random_whole::{multinomial, poisson, random_between, random_in_place, randperm};
pub use recurrent::{Cell, CellWeights, Recurrent, cell_step};
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
