//! Regions of `torch.autocast`: programs record the operators in them without the casts of their operands.

use sconce_ir::{Constant, Schema, Type, ValueId};

use super::builder::{Builder, Result};

/// The operators of the CPU that compute in the region's dtype.
const LOWER: &[&str] = &[
    "_convolution",
    "_native_multi_head_attention",
    "addbmm",
    "addmm",
    "baddbmm",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linalg_vecdot",
    "linear",
    "matmul",
    "mkldnn_rnn_layer",
    "mm",
    "prelu",
    "scaled_dot_product_attention",
];

/// The operators of the CPU that compute in float32.
const FULL: &[&str] = &[
    "_lu_with_info",
    "adaptive_avg_pool3d",
    "adaptive_max_pool3d",
    "avg_pool3d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cdist",
    "cholesky_inverse",
    "cholesky_solve",
    "cosine_embedding_loss",
    "cross_entropy_loss",
    "ctc_loss",
    "fake_quantize_per_tensor_affine",
    "fft_fft",
    "fft_fft2",
    "fft_fftn",
    "fft_hfft",
    "fft_ifft",
    "fft_ifft2",
    "fft_ifftn",
    "fft_ihfft",
    "fft_irfft",
    "fft_irfft2",
    "fft_irfftn",
    "fft_rfft",
    "fft_rfft2",
    "fft_rfftn",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "geqrf",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "hinge_embedding_loss",
    "huber_loss",
    "inverse",
    "kl_div",
    "l1_loss",
    "linalg_cholesky",
    "linalg_cholesky_ex",
    "linalg_cond",
    "linalg_eig",
    "linalg_eigh",
    "linalg_eigvals",
    "linalg_eigvalsh",
    "linalg_householder_product",
    "linalg_inv",
    "linalg_inv_ex",
    "linalg_lstsq",
    "linalg_matrix_rank",
    "linalg_matrix_sqrth",
    "linalg_qr",
    "linalg_solve",
    "linalg_svd",
    "linalg_svdvals",
    "linalg_tensorinv",
    "linalg_tensorsolve",
    "lu_solve",
    "margin_ranking_loss",
    "max_pool3d",
    "max_unpool2d",
    "max_unpool3d",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_margin_loss_forward",
    "nanquantile",
    "nll_loss",
    "nll_loss2d",
    "orgqr",
    "ormqr",
    "pinverse",
    "poisson_nll_loss",
    "polar",
    "prod",
    "quantile",
    "reflection_pad1d",
    "reflection_pad2d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "smooth_l1_loss",
    "soft_margin_loss",
    "stft",
    "svd",
    "trace",
    "triangular_solve",
    "triplet_margin_loss",
    "view_as_complex",
];

/// Casts the operands of an operator as a region of this dtype does.
pub(super) fn cast_operands(
    builder: &mut Builder,
    schema: &Schema,
    inputs: &mut [ValueId],
    dtype: i64,
) -> Result<()> {
    let Some(name) = schema.name.strip_prefix("aten::") else { return Ok(()) };
    let lower = LOWER.contains(&name);
    if !lower && !FULL.contains(&name) {
        return Ok(());
    }
    for (input, formal) in inputs.iter_mut().zip(&schema.arguments) {
        let takes = match &formal.ty {
            Type::Optional(of) => **of == Type::Tensor,
            ty => *ty == Type::Tensor,
        };
        if !takes || *builder.ty(*input) != Type::Tensor {
            continue;
        }
        let (no, yes) = (Constant::Bool(false), Constant::Bool(true));
        let mut operands = vec![*input, builder.constant(&no), builder.constant(&yes)];
        let cast = match lower {
            true => {
                operands.extend([builder.int(dtype), builder.int(dtype)]);
                "aten::_autocast_to_reduced_precision"
            }
            false => "aten::_autocast_to_full_precision",
        };
        *input = builder.known(cast, &operands)?;
    }
    Ok(())
}
