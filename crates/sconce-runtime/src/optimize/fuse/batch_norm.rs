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
    let &[input, scale, shift, mean, variance, train, _, eps, _] = o.graph.node(norm).inputs()
    else {
        return None;
    };
    let conv = o.producer(input);
    let spatial = match o.graph.node(conv).kind.symbol() {
        "aten::conv1d" => 1,
        "aten::conv2d" => 2,
        "aten::conv3d" => 3,
        _ => return None,
    };
    let &[image, weight, bias, ..] = o.graph.node(conv).inputs() else { return None };
    let (fact, eps) = (o.fact(image)?, o.constant(eps)?);
    let Constant::Float(eps) = eps else { return None };
    let fits = fact.rank == spatial + 2
        && matches!(fact.dtype, DType::Float32 | DType::Float64)
        && o.constant(train) == Some(Constant::Bool(false))
        && o.is_used_once(input)
        && !o.is_written(input);
    if !fits {
        return None;
    }
    let kernel = o.constant_tensor(weight)?.clone();
    let channels = *kernel.sizes().first()? as usize;
    let numbers = |value: ValueId, default: f64| match o.constant(value)? {
        Constant::None => Some(vec![default; channels]),
        _ => per_channel(o.constant_tensor(value)?, fact.dtype, channels),
    };
    let (scale, shift) = (numbers(scale, 1.0)?, numbers(shift, 0.0)?);
    let (mean, variance) = (
        per_channel(o.constant_tensor(mean)?, fact.dtype, channels)?,
        per_channel(o.constant_tensor(variance)?, fact.dtype, channels)?,
    );
    let bias = numbers(bias, 0.0)?;
    let scale: Vec<f64> = scale
        .iter()
        .zip(&variance)
        .map(|(scale, variance)| scale / (variance + eps).sqrt())
        .collect();
    let shift: Vec<f64> = (0..channels)
        .map(|channel| (bias[channel] - mean[channel]) * scale[channel] + shift[channel])
        .collect();
    if kernel.dtype() != fact.dtype || !scale.iter().chain(&shift).all(|x| x.is_finite()) {
        return None;
    }
    let kernel = scaled(&kernel, &scale)?;
    let shift = Tensor::from_slice(&shift, &[channels as i64]).ok()?.to_dtype(fact.dtype).ok()?;
    let kernel = o.insert_tensor(kernel, conv);
    let shift = o.insert_tensor(shift, conv);
    o.graph.replace_node_input(conv, 1, kernel);
    o.graph.replace_node_input(conv, 2, shift);
    o.replace(norm, input);
    Some(())
}

/// One number for each channel, of the dtype that the convolution has.
fn per_channel(tensor: &Tensor, dtype: DType, channels: usize) -> Option<Vec<f64>> {
    let fits = tensor.dtype() == dtype && tensor.dim() == 1 && tensor.numel() == channels as i64;
    fits.then_some(())?;
    tensor.to_dtype(DType::Float64).ok()?.to_vec::<f64>().ok()
}

/// Each of the rows times its number.
fn scaled(kernel: &Tensor, scale: &[f64]) -> Option<Tensor> {
    let mut all = kernel.to_dtype(DType::Float64).ok()?.to_vec::<f64>().ok()?;
    let row = all.len().checked_div(scale.len()).filter(|&row| row > 0)?;
    for (row, scale) in all.chunks_exact_mut(row).zip(scale) {
        row.iter_mut().for_each(|weight| *weight *= scale);
    }
    let scaled = Tensor::from_slice(&all, kernel.sizes()).ok()?;
    // Where channels lie in the weight decides where they lie in what the convolution gives.
    scaled.to_dtype(kernel.dtype()).ok()?.with_strides(&kernel.preserved_strides()).ok()
}
