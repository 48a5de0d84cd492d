//! Batch normalisation after a convolution, folded into its weight and bias.

use sconce_ir::{Constant, NodeId, ValueId};
use sconce_kernels::{DType, Tensor};

use crate::optimize::Optimization;

/// Folds batch normalisation in evaluation into the convolution before it, where nothing else sees
/// what the convolution gives.
pub(crate) fn fold(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = fold_one(optimization, node);
    }
    optimization.refresh();
}

fn fold_one(o: &mut Optimization, norm: NodeId) -> Option<()> {
    if !o.is_op(norm, "aten::batch_norm") {
        return None;
    }
    let &input = o.graph.node(norm).inputs().first()?;
    let conv = o.producer(input);
    // The number of dimensions of space, and the weight's dimension of result channels.
    let (spatial, dim) = match o.graph.node(conv).kind.symbol() {
        "aten::conv1d" => (1, 0),
        "aten::conv2d" => (2, 0),
        "aten::conv3d" => (3, 0),
        "aten::conv_transpose1d" => (1, 1),
        "aten::conv_transpose2d" => (2, 1),
        "aten::conv_transpose3d" => (3, 1),
        _ => return None,
    };
    let &[image, weight, bias, _, _, _, groups, ..] = o.graph.node(conv).inputs() else {
        return None;
    };
    // Channels of several groups share a place in the weight of a transposed convolution.
    if dim == 1 && o.constant(groups) != Some(Constant::Int(1)) {
        return None;
    }
    let fact = o.fact(image)?;
    let fits = fact.rank == spatial + 2
        && matches!(fact.dtype, DType::Float32 | DType::Float64)
        && o.is_used_once(input)
        && !o.is_written(input);
    if !fits {
        return None;
    }
    let kernel = o.constant_tensor(weight)?.clone();
    let channels = *kernel.sizes().get(dim)? as usize;
    let (scale, mut shift) = scale_and_shift(o, norm, fact.dtype, channels)?;
    if o.constant(bias)? != Constant::None {
        let bias = per_channel(o.constant_tensor(bias)?, fact.dtype, channels)?;
        shift.iter_mut().zip(&scale).zip(bias).for_each(|((to, scale), x)| *to += x * scale);
    }
    if kernel.dtype() != fact.dtype || !scale.iter().chain(&shift).all(|x| x.is_finite()) {
        return None;
    }
    let kernel = scaled(&kernel, dim, &scale)?;
    let shift = Tensor::from_slice(&shift, &[channels as i64]).ok()?.to_dtype(fact.dtype).ok()?;
    let kernel = o.insert_tensor(kernel, conv);
    let shift = o.insert_tensor(shift, conv);
    o.graph.replace_node_input(conv, 1, kernel);
    o.graph.replace_node_input(conv, 2, shift);
    o.replace(norm, input);
    Some(())
}

/// What batch normalisation in evaluation multiplies each channel by, and what it adds then; `None` where
/// that is not known, or is not finite.
pub(crate) fn scale_and_shift(
    o: &Optimization,
    norm: NodeId,
    dtype: DType,
    channels: usize,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let &[_, scale, shift, mean, variance, train, _, eps, _] = o.graph.node(norm).inputs() else {
        return None;
    };
    let Constant::Float(eps) = o.constant(eps)? else { return None };
    if o.constant(train) != Some(Constant::Bool(false)) {
        return None;
    }
    let numbers = |value: ValueId, default: f64| match o.constant(value)? {
        Constant::None => Some(vec![default; channels]),
        _ => per_channel(o.constant_tensor(value)?, dtype, channels),
    };
    let (scale, shift) = (numbers(scale, 1.0)?, numbers(shift, 0.0)?);
    let mean = per_channel(o.constant_tensor(mean)?, dtype, channels)?;
    let variance = per_channel(o.constant_tensor(variance)?, dtype, channels)?;
    let deviations = variance.iter().map(|variance| (variance + eps).sqrt());
    let scale: Vec<f64> = scale.iter().zip(deviations).map(|(scale, by)| scale / by).collect();
    let shift: Vec<f64> =
        (0..channels).map(|channel| shift[channel] - mean[channel] * scale[channel]).collect();
    let is_finite = scale.iter().chain(&shift).all(|x| x.is_finite());
    is_finite.then_some((scale, shift))
}

/// One number for each channel, of the dtype that the convolution has.
fn per_channel(tensor: &Tensor, dtype: DType, channels: usize) -> Option<Vec<f64>> {
    let fits = tensor.dtype() == dtype && tensor.dim() == 1 && tensor.numel() == channels as i64;
    fits.then_some(())?;
    tensor.to_dtype(DType::Float64).ok()?.to_vec::<f64>().ok()
}

/// Each index of a dimension times its number.
fn scaled(kernel: &Tensor, dim: usize, scale: &[f64]) -> Option<Tensor> {
    let mut all = kernel.to_dtype(DType::Float64).ok()?.to_vec::<f64>().ok()?;
    let inner: i64 = kernel.sizes().get(dim + 1..)?.iter().product();
    let inner = usize::try_from(inner).ok().filter(|&inner| inner > 0)?;
    for (weights, scale) in all.chunks_exact_mut(inner).zip(scale.iter().cycle()) {
        weights.iter_mut().for_each(|weight| *weight *= scale);
    }
    let scaled = Tensor::from_slice(&all, kernel.sizes()).ok()?;
    // Where channels lie in the weight decides where they lie in what the convolution gives.
    scaled.to_dtype(kernel.dtype()).ok()?.with_strides(&kernel.preserved_strides()).ok()
}
