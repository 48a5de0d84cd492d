//! CPU operators over strided tensors with PyTorch's semantics.
//!
//! A [`Tensor`] is what `torch.Tensor` is at run time: a view of a [`Storage`] that other tensors share
//! and that in-position operators write. Operators are plain functions over tensors. Type promotion,
//! broadcasting, aliasing and the wording of errors are PyTorch's. Results do not depend on the number
//! of threads.
//!
//! A folder holds a family of operators. What they stand on is in `sconce-kernel-core`, matrix products
//! over slices in `sconce-gemm`.
//!
//! Architecture invariant: nothing here knows of graphs, values or schemas; nothing reads a file.

use sconce_kernel_core::simd::dispatch;

mod elementwise;
mod fused_pointwise;
mod indexing;
mod matmul;
mod nn;
mod products;
mod quantize;
mod quantized;
mod random;
mod reduction;
mod shape;
mod sorting;
mod sparse;
pub mod special;
mod torchaudio;
mod torchvision;

pub use elementwise::activation::{
    celu, glu, hardshrink, hardtanh, log_sigmoid, prelu, prelu_kernel, selu, softshrink, threshold,
};
pub use elementwise::any_dtype::{
    filled_like, float_power, gcd, heaviside, is_exactly, isclose, isin, lcm, logit, map_float,
    map_floating, nan_to_num, round_decimals, zip_float, zip_floating,
};
pub use elementwise::binary::{add, binary, sub};
pub use elementwise::binary_op::BinaryOp;
pub use elementwise::complex::{
    angle, complex, complex_dtype, complex_sgn, conj, imag, polar, real, real_dtype,
    view_as_complex, view_as_real,
};
pub use elementwise::complex_functions::{complex_logaddexp, complex_sinc};
pub use elementwise::conditional::{
    clamp, elu, leaky_relu, masked_fill, masked_fill_in_place, quantized_clamp, softplus, where_,
};
pub use elementwise::contiguous::{
    contiguous_binary, contiguous_binary_in_place, contiguous_unary,
};
pub use elementwise::float_parts::{frexp, ldexp, nextafter, signbit};
pub use elementwise::in_place::{binary_in_place, store, unary_in_place};
pub use elementwise::ternary::{addcdiv, addcmul, lerp};
pub use elementwise::unary::{
    bitwise_not, isfinite, isinf, isnan, logical_not, quantized_hardsigmoid, quantized_relu, unary,
};
pub use elementwise::unary_op::UnaryOp;
pub use fused_pointwise::{
    MAX_OPERANDS, PointwiseOp, PointwiseResults, PointwiseStep, fused_pointwise,
};
pub use indexing::index::{embedding, gather, index, index_put, index_select, nonzero, scatter};
pub use indexing::scatter::{
    ScatterReduce, as_strided_scatter, index_fill, index_reduce, masked_scatter, masked_select,
    nonzero_static, put, scatter_reduce, scatter_view, take, take_along_dim,
};
pub use matmul::{addmm, baddbmm, bmm, dot, linear, matmul, mm, mv};
pub use nn::attention::multi_head::{
    AttentionOptions, EncoderLayer, HeadMask, HeadWeights, Layer, attention,
    attention_with_weights, encoder_layer, flash_attention, is_left_aligned, masked_softmax,
    multi_head_attention, safe_softmax,
};
pub use nn::conv::blocked::{
    Activation, BlockedConv, BlockedConvTranspose, ChannelRun, adaptive_avg_pool2d_blocked,
    affine_blocked, avg_pool2d_blocked, cat_blocked, conv_blocked, conv_transpose_blocked,
    from_blocked, from_blocked_channels_last, gate_blocked, group_norm_blocked, layer_norm_blocked,
    max_pool2d_blocked, mean_blocked, norm_blocked, pack_bias, pack_transposed_weight, pack_weight,
    select_blocked, to_blocked, upsample_blocked,
};
pub use nn::conv::convolution::{ConvOptions, conv, conv_same};
pub use nn::conv::im2col::{PatchOptions, col2im, im2col};
pub use nn::conv::transpose::conv_transpose;
pub use nn::dropout::{Dropout, check_dropout, check_slopes, dropout, native_dropout, rrelu};
pub use nn::embedding::embedding_bag::{
    BagMode, BagOptions, Bags, embedding_bag, embedding_renorm,
};
pub use nn::linear::activation::LinearActivation;
pub use nn::linear::bilinear::bilinear;
pub use nn::linear::gathered::{PackedLinear, RowNorm, gathered_linear};
pub use nn::linear::packed::{Precision, linear_packed, pack_linear};
pub use nn::loss::classification::{
    ClassLoss, cross_entropy_loss, multi_margin_loss, multilabel_margin_loss, nll_loss, one_hot,
};
pub use nn::loss::ctc::{Ctc, ctc_loss};
pub use nn::loss::elementwise::{
    Reduction, Triplet, binary_cross_entropy, binary_cross_entropy_with_logits,
    cosine_embedding_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss,
    mse_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss,
};
pub use nn::norm::batch_statistics::{
    BatchNorm, instance_norm, native_batch_norm, native_group_norm, native_layer_norm, rms_norm,
    trained_batch_norm,
};
pub use nn::norm::normalization::{batch_norm, group_norm, layer_norm};
pub use nn::pool::{
    PoolOptions, adaptive_avg_pool, adaptive_max_pool, avg_pool, fractional_max_pool, max_pool,
    max_pool_sizes, max_pool_with_indices, max_unpool,
};
pub use nn::recurrent::cell::{Cell, CellWeights};
pub use nn::recurrent::layers::{Recurrent, cell_step, gate_step};
pub use nn::recurrent::pack_padded::{pack_padded, pad_packed, pad_sequence};
pub use nn::recurrent::packed::{PackedRecurrent, pack_recurrent};
pub use nn::resample::grid_sample::{GridMode, GridPadding, affine_grid, grid_sample};
pub use nn::resample::upsample::{Upsample, upsample};
pub use products::einsum::einsum;
pub use products::tensor_products::{
    addbmm, addmv, addr, batch_addmm, cross, inner, kron, linalg_cross, linalg_vander, multi_dot,
    outer, tensordot, trace, vdot, vecdot,
};
pub use quantize::{
    choose_parameters, dequantize, quantize, rearranged, rearranged_with_indices, through_floats,
    through_integers,
};
pub use quantized::arithmetic::{
    quantized_add_scalar, quantized_matmul, quantized_mul_scalar, quantized_threshold,
};
pub use quantized::embedding::{
    CodeBits, RowBags, pack_quantized_rows, pack_rows, quantized_embedding,
    quantized_embedding_bag, unpack_rows,
};
pub use quantized::fake_quantize::{FakeQuantizer, MovingRange, fake_quantize};
pub use quantized::integer_layers::{
    CodeSteps, IntegerLayer, integer_linear, integer_weight, numbers_of_codes,
};
pub use quantized::layers::{
    OutputParameters, half_linear, quantized_conv, quantized_conv_dynamic,
    quantized_conv_transpose, quantized_linear, quantized_linear_dynamic, quantized_mul,
};
pub use quantized::weight_only::{
    Scaling, int4_weight_product, int8_weight_product, pack_int4_weight, scaled_product,
};
pub use random::continuous::{
    bernoulli_from, bernoulli_in_place, cauchy_in_place, check_deviation, empty_like,
    exponential_in_place, geometric_in_place, log_normal_in_place, normal_in_place,
    uniform_in_place,
};
pub use random::distributions::{binomial, sample_dirichlet, standard_gamma};
pub use random::generator::Generator;
pub use random::random_int::{multinomial, poisson, random_from_to, random_in_place, randperm};
pub use reduction::covariance::{corrcoef, cov};
pub use reduction::cumulative::{cumprod, cumsum, cumulative_min_max, logcumsumexp, product};
pub use reduction::differences::{Spacing, cumulative_trapezoid, diff, gradient, trapezoid};
pub use reduction::distance::{cdist, cosine_similarity, pairwise_distance, pdist};
pub use reduction::histogram::{Bins, bincount, histc, histogramdd, searchsorted};
pub use reduction::min_max::{MinMax, amax, amin, arg_min_max, min_max, min_max_values};
pub use reduction::reduce::{
    all, any, count_nonzero, mean, norm, prod, std, sum, sum_to_size, var,
};
pub use reduction::segment_reduce::{SegmentReduce, Segments, segment_reduce};
pub use reduction::softmax::{log_softmax, logsumexp, softmax};
pub use reduction::statistics::{
    all_true, count_nonzero_dims, deviation, dist, equal, hash, isreal, nanmean, nansum, renorm,
    triangle_indices, truth_dims, vander, variance,
};
pub use reduction::vector_norm::{check_norm_dtype, vector_norm};
pub use sconce_kernel_core::alloc::memory_plan;
pub use sconce_kernel_core::chosen_implementation::take_choice;
pub use sconce_kernel_core::parallel::partition::{num_threads, set_num_threads};
pub use sconce_kernel_core::{
    Bool, Charge, CountingAllocator, DType, Dims, Element, Entered, Error, ErrorKind, Exporter,
    Importer, Memory, MemoryFormat, Operand, Overlap, PodElement, Quantizer, Result, ResultLayout,
    Scalar, Storage, Tensor, c_format, can_cast, check_cast, contiguous_strides, cpp_type_name,
    dispatch, int_repr, layout, lift_ceiling, per_tensor, promote_types, quantizer, result_type,
    set_ceiling, size_text,
};
pub use shape::creation::{arange, eye, linspace, logspace, tril, triu};
pub use shape::join::{cat, chunk, split, split_with_sizes, stack, unbind};
pub use shape::pad::{PadMode, check_padding, pad};
pub use shape::pixel_shuffle::{channel_shuffle, pixel_shuffle, pixel_unshuffle};
pub use shape::rearrange::{
    at_least, block_diag, broadcast_tensors, cartesian_prod, combinations, diag, diag_embed, flip,
    meshgrid, repeat, repeat_interleave, repetitions, roll, rot90, split_at, split_evenly, tile,
    unflatten,
};
pub use shape::window::{Window, window};
pub use sorting::order_statistics::{
    Interpolation, kthvalue, median, median_all, mode, quantile, topk,
};
pub use sorting::sort::sort;
pub use sorting::unique::{Unique, unique, unique_consecutive, unique_dim};
pub use sparse::{
    DenseOrSparse, Sparse, SparseParts, add_sparse, add_to_dense, addmm_sparse, bmm_sparse,
    cat_sparse, compressed_from_coordinates, coordinates_from_compressed, layout_name,
    mm_of_sparse, mm_sparse, mm_sparse_reduce, mul_sparse, mul_with_dense, reduce_compressed,
    sampled_addmm, sparse_log_softmax, sparse_softmax, sum_sparse,
};
pub use special::of_tensors::polynomial;
pub use torchaudio::filter::{lfilter_loop, overdrive_loop};
pub use torchaudio::forced_align::forced_align;
pub use torchaudio::transducer_loss::{TransducerOptions, transducer_loss};
pub use torchvision::deform_conv::{DeformOptions, deform_conv2d};
pub use torchvision::roi_ops::{RoiOptions, nms, ps_roi_align, ps_roi_pool, roi_align, roi_pool};
pub use torchvision::rotated_boxes::box_iou_rotated;

/// The name of the vector instructions that kernels use on this CPU: `AVX-512`.
pub fn vector_instructions() -> &'static str {
    dispatch::best().name()
}

/// Lets kernels of this process use no newer vector instructions than those of a name that
/// [`vector_instructions`] gives on some CPU (`SSE2`, `AVX2`, `AVX-512`; `NEON` or `none`), in whatever case: to measure
/// and to try what older CPUs do. To be called before anything is computed.
///
/// # Errors
/// Where the CPU lacks them, the name is of no level, or kernels have used others already.
pub fn limit_vector_instructions(name: &str) -> Result<()> {
    let levels = dispatch::Level::of_cpu();
    let Some(&level) = levels.iter().find(|level| level.name().eq_ignore_ascii_case(name)) else {
        let names: Vec<_> = levels.iter().map(|level| level.name()).collect();
        let names = names.join(", ");
        return Err(Error::runtime(format!("this CPU has no '{name}'; it has {names}")));
    };
    if dispatch::limit(level) {
        return Ok(());
    }
    let used = vector_instructions();
    Err(Error::runtime(format!(
        "vector instructions cannot be limited to {name} any more: {used} has been used"
    )))
}
