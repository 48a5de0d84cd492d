//! CPU maths over strided tensors with PyTorch's semantics.
//!
//! A [`Tensor`] here is what `torch.Tensor` is at run time: a view of a [`Storage`] that other
//! tensors share and that in-place operators write. Kernels are plain functions over tensors:
//! type promotion, broadcasting, aliasing and the wording of errors are PyTorch's. Results do not
//! depend on the number of threads.
//!
//! Architecture invariant: nothing here knows of graphs, values or schemas; nothing reads a file.

mod activate;
mod annex_g;
mod attention;
mod bags;
mod batch_stats;
#[cfg(target_arch = "x86_64")]
mod bfloat16_products;
mod bilinear;
mod binary;
mod block;
mod blocked;
mod chain;
mod choose;
mod class_loss;
mod complex;
mod complex_functions;
mod conv;
mod conv_columns;
mod conv_transpose;
mod copy;
mod covariance;
mod create;
mod ctc;
mod cumulative;
mod deform;
mod dense;
mod depthwise;
mod differences;
mod distance;
mod distributions;
mod dots;
mod dropout;
mod element;
mod error;
mod export;
mod extremum;
mod fake_quantize;
mod float_parts;
mod fold;
mod gemm;
mod gemv;
mod generator;
mod grid_sample;
#[cfg(target_arch = "x86_64")]
mod half_instructions;
mod half_linear;
mod half_products;
mod halves;
mod histogram;
mod import;
mod index;
mod integer_dots;
mod integers;
mod introsort;
mod iteration;
mod join;
mod linear_packed;
mod loss;
mod maths;
mod matmul;
#[cfg(target_arch = "x86_64")]
mod matrix_registers;
mod memory;
mod memory_format;
mod norm;
pub mod number_text;
mod numbers;
mod order_statistics;
mod overlap;
mod packed;
mod pad;
mod panel_tiles;
mod panel_vector;
mod panels;
mod patches;
mod picks;
mod places;
mod pointwise;
mod pool;
mod promotion;
mod quantized;
mod quantized_layers;
mod quantized_math;
mod quantized_rows;
mod random;
mod random_whole;
mod ranks;
mod rearrange;
mod recurrent;
mod recurrent_batch;
mod recurrent_packed;
mod recurrent_sequence;
mod recurrent_steps;
mod reduce;
mod regions;
mod remainders;
mod rotated;
mod rows;
mod scalar;
mod scaled_dot_products;
mod scatter;
mod segment_reduce;
pub mod shape;
mod shuffle;
mod simd;
mod softmax_columns;
mod sort;
pub mod special;
#[cfg(target_arch = "x86_64")]
mod split_products;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod squares;
mod statistics;
mod storage;
mod team;
mod tensor;
mod ternary;
pub mod threads;
mod transposed;
mod unary;
mod unique;
mod upsample;
mod vecmath;
mod vecmath_double;
mod vecmath_wide;
mod views;
mod walk;
mod window;
mod zip;

pub use activate::{
    celu, glu, hardshrink, hardtanh, log_sigmoid, prelu, prelu_kernel, selu, softshrink, threshold,
};
pub use attention::{
    AttentionOptions, EncoderLayer, HeadMask, HeadWeights, Layer, attention,
    attention_with_weights, encoder_layer, flash_attention, is_left_aligned, masked_softmax,
    multi_head_attention, safe_softmax,
};
pub use bags::{BagMode, BagOptions, Bags, embedding_bag, embedding_renorm};
pub use batch_stats::{
    BatchNorm, instance_norm, native_batch_norm, native_group_norm, native_layer_norm, rms_norm,
    trained_batch_norm,
};
pub use bilinear::bilinear;
pub use binary::{BinaryOp, add, binary, binary_in_place, store, sub};
pub use blocked::{
    Activation, BlockedConv, conv_blocked, from_blocked, max_pool2d_blocked, mean_blocked,
    pack_bias, pack_weight, to_blocked,
};
pub use chain::{ChainOp, ChainResults, ChainStep, MOST_OPERANDS, chain};
pub use choose::{clamp, elu, leaky_relu, masked_fill, masked_fill_in_place, softplus, where_};
pub use class_loss::{
    ClassLoss, cross_entropy_loss, multi_margin_loss, multilabel_margin_loss, nll_loss, one_hot,
};
pub use complex::{
    angle, complex, complex_dtype, complex_sgn, conj, imag, polar, real, real_dtype,
    view_as_complex, view_as_real,
};
pub use complex_functions::{complex_logaddexp, complex_sinc};
pub use conv::{ConvOptions, conv, conv_same};
pub use conv_transpose::conv_transpose;
pub use covariance::{corrcoef, cov};
pub use create::{arange, eye, linspace, logspace, tril, triu};
pub use ctc::{Ctc, ctc_loss};
pub use cumulative::{cumprod, cumsum, logcumsumexp, product, running_extremum};
pub use deform::{DeformOptions, deform_conv2d};
pub use dense::{dense_binary, dense_binary_in_place, dense_unary};
pub use differences::{Spacing, cumulative_trapezoid, diff, gradient, trapezoid};
pub use distance::{cdist, cosine_similarity, pairwise_distance, pdist};
pub use distributions::{binomial, sample_dirichlet, standard_gamma};
pub use dropout::{Dropout, check_dropout, check_slopes, dropout, native_dropout, rrelu};
pub use element::{Bool, Element};
pub use error::{Error, ErrorKind, Result, cpp_type_name};
pub use export::Exporter;
pub use extremum::{Extremum, amax, amin, arg_extremum, extreme_values, extremum};
pub use fake_quantize::{FakeQuantizer, MovingRange, fake_quantize};
pub use float_parts::{frexp, ldexp, nextafter, signbit};
pub use generator::Generator;
pub use grid_sample::{GridMode, GridPadding, affine_grid, grid_sample};
pub use histogram::{Bins, bincount, histc, histogramdd, searchsorted};
pub use import::Importer;
pub use index::{embedding, gather, index, index_put, index_select, nonzero, scatter};
pub use iteration::Iteration;
pub use join::{cat, chunk, split, split_with_sizes, stack, unbind};
pub use linear_packed::{LinearActivation, linear_packed, pack_linear};
pub use loss::{
    Reduction, Triplet, binary_cross_entropy, binary_cross_entropy_with_logits,
    cosine_embedding_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss,
    mse_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss,
};
pub use matmul::{addmm, baddbmm, bmm, dot, linear, matmul, mm, mv};
pub use memory::{Charge, Entered, Memory};
pub use memory_format::MemoryFormat;
pub use norm::{batch_norm, group_norm, layer_norm};
pub use order_statistics::{Interpolation, kthvalue, median, median_all, mode, quantile, topk};
pub use overlap::Overlap;
pub use packed::{pack_padded, pad_packed, pad_sequence};
pub use pad::{PadMode, check_padding, pad};
pub use patches::{PatchOptions, col2im, im2col};
pub use pointwise::{
    equal, filled_like, float_power, gcd, heaviside, is_exactly, isclose, isin, lcm, logit,
    map_float, map_floating, nan_to_num, polynomial, round_decimals, zip_float, zip_floating,
};
pub use pool::{
    PoolOptions, adaptive_avg_pool, adaptive_max_pool, avg_pool, fractional_max_pool, max_pool,
    max_pool_sizes, max_pool_with_indices, max_unpool,
};
pub use promotion::{Operand, can_cast, check_cast, promote_types, result_type};
pub use quantized::{
    Quantizer, choose_parameters, dequantize, int_repr, per_tensor, quantize,
    quantized_hardsigmoid, quantized_relu, quantizer, through_floats, through_integers,
};
pub use quantized_layers::{
    Output, half_linear, quantized_conv, quantized_conv_dynamic, quantized_conv_transpose,
    quantized_linear, quantized_linear_dynamic, quantized_mul,
};
pub use quantized_math::{
    quantized_add_scalar, quantized_clamp, quantized_matmul, quantized_mul_scalar,
    quantized_threshold, rearranged, rearranged_with_indices,
};
pub use quantized_rows::{
    CodeBits, RowBags, pack_quantized_rows, pack_rows, quantized_embedding,
    quantized_embedding_bag, unpack_rows,
};
pub use random::{
    bernoulli_from, bernoulli_in_place, cauchy_in_place, check_deviation, empty_like,
    exponential_in_place, geometric_in_place, log_normal_in_place, normal_in_place,
    uniform_in_place,
};
pub use random_whole::{multinomial, poisson, random_between, random_in_place, randperm};
pub use rearrange::{
    at_least, block_diag, broadcast_tensors, cartesian_prod, combinations, diag, diag_embed, flip,
    meshgrid, repeat, repeat_interleave, repetitions, roll, rot90, split_at, split_evenly,
    sum_to_size, tile, unflatten,
};
pub use recurrent::{Cell, CellWeights, Recurrent, cell_step, gate_step};
pub use recurrent_packed::{PackedRecurrent, pack_recurrent};
pub use reduce::{
    all, any, count_nonzero, log_softmax, logsumexp, mean, norm, prod, softmax, std, sum, var,
};
pub use regions::{RoiOptions, nms, ps_roi_align, ps_roi_pool, roi_align, roi_pool};
pub use rotated::box_iou_rotated;
pub use scalar::Scalar;
pub use scatter::{
    Fold, as_strided_scatter, index_fill, index_fold, masked_scatter, masked_select,
    nonzero_static, put, scatter_fold, scatter_view, take, take_along_dim,
};
pub use sconce_tensor::{DType, Dims};
pub use segment_reduce::{SegmentReduce, Segments, segment_reduce};
pub use shape::contiguous_strides;
pub use shuffle::{channel_shuffle, pixel_shuffle, pixel_unshuffle};
pub use simd::dispatch;
pub use sort::sort;
pub use statistics::{
    all_true, count_nonzero_dims, deviation, dist, hash, isreal, nanmean, nansum, renorm,
    triangle_indices, truth_dims, vander, variance,
};
pub use storage::Storage;
pub use tensor::Tensor;
pub use ternary::{addcdiv, addcmul, lerp};
pub use unary::{UnaryOp, bitwise_not, isfinite, isinf, isnan, logical_not, unary, unary_in_place};
pub use unique::{Unique, unique, unique_consecutive, unique_dim};
pub use upsample::{Upsample, upsample};
