//! Batch normalisation and scaling of channels after a convolution or a linear layer, folded into its weight and bias.

use sconce_ir::{Constant, NodeId, ValueId};
use sconce_kernels::{DType, Tensor};

use crate::optimize::Optimization;

/// Folds batch normalisation in evaluation, and products with a constant for each channel, into the layer before,
/// where nothing else sees what that gives.
pub(crate) fn fold(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = fold_one(optimization, node);
    }
    optimization.refresh();
}

/// A layer with weights that are known.
struct Layer {
    node: NodeId,
    dtype: DType,
    /// The dimensions of its result behind that of the channels.
    behind: usize,
    kernel: Tensor,
    /// Which of the kernel's dimensions is that of the result's channels.
    dim: usize,
    bias: Option<Vec<f64>>,
}

impl Layer {
    fn channels(&self) -> Option<usize> {
        usize::try_from(*self.kernel.sizes().get(self.dim)?).ok()
    }
}

fn fold_one(o: &mut Optimization, follower: NodeId) -> Option<()> {
    let at = o.graph.node(follower);
    let &[first, ref rest @ ..] = at.inputs() else { return None };
    let (input, layer, (scale, mut shift)) = match at.kind.symbol() {
        "aten::batch_norm" => {
            let layer = layer_of_norm(o, first)?;
            let channels = layer.channels()?;
            let both = scale_and_shift(o, follower, layer.dtype, channels)?;
            (first, layer, both)
        }
        "aten::mul" => {
            let &other = rest.first()?;
            let is_constant = o.constant_tensor(first).is_some();
            let (input, factor) = if is_constant { (other, first) } else { (first, other) };
            let layer = layer(o, input, &[]).or_else(|| layer_behind_order(o, input))?;
            let channels = layer.channels()?;
            let scale = each_channel(o.constant_tensor(factor)?, &layer, channels)?;
            (input, layer, (scale, vec![0.0; channels]))
        }
        _ => return None,
    };
    if let Some(bias) = &layer.bias {
        shift.iter_mut().zip(&scale).zip(bias).for_each(|((to, scale), x)| *to += x * scale);
    }
    if !scale.iter().chain(&shift).all(|x| x.is_finite()) {
        return None;
    }
    let kernel = scaled(&layer.kernel, layer.dim, &scale)?;
    let shift = Tensor::from_slice(&shift, &[shift.len() as i64]).ok()?;
    if let Some(&weight) = o.graph.node(layer.node).inputs().get(1) {
        o.release(weight);
    }
    let kernel = o.insert_tensor(kernel, layer.node);
    let shift = o.insert_tensor(shift.to_dtype(layer.dtype).ok()?, layer.node);
    o.graph.replace_node_input(layer.node, 1, kernel);
    o.graph.replace_node_input(layer.node, 2, shift);
    o.replace(follower, input);
    Some(())
}

/// The layer whose result is normalised: a convolution, or a linear layer of rows, which may have been flattened for it.
fn layer_of_norm(o: &Optimization, input: ValueId) -> Option<Layer> {
    if let Some(layer) = layer(o, input, &[]) {
        // The channels of what is normalised are its second dimension.
        let rank = o.fact(input)?.rank;
        return (rank == layer.behind + 2).then_some(layer);
    }
    let flatten = o.producer(input);
    let fits = o.is_op(flatten, "aten::flatten") && o.is_used_once(input) && !o.is_written(input);
    let &[whole, start, end] = o.graph.node(flatten).inputs() else { return None };
    let layer = layer(o, whole, &[flatten])?;
    let int = |value| match o.constant(value) {
        Some(Constant::Int(int)) => Some(int),
        _ => None,
    };
    let rank = o.fact(whole)?.rank as i64;
    let (start, end) = (int(start)?, int(end)?);
    let is_of_rows = start == 0 && (end == -2 || end == rank - 2) && layer.behind == 0;
    (fits && is_of_rows).then_some(layer)
}

/// A linear layer of pixels whose channels are put before height and width.
fn layer_behind_order(o: &Optimization, ordered: ValueId) -> Option<Layer> {
    let permute = o.producer(ordered);
    let is_private = o.is_used_once(ordered) && !o.is_written(ordered);
    let &[pixels, order] = o.graph.node(permute).inputs() else { return None };
    let fits = o.is_op(permute, "aten::permute") && is_private && o.ints(order)? == [0, 3, 1, 2];
    let layer = layer(o, pixels, &[]).filter(|layer| fits && layer.behind == 0)?;
    Some(Layer { behind: 2, ..layer })
}

/// The layer that gives a value, if its weights are known and nothing sees the numbers of the value but its only user,
/// or these.
fn layer(o: &Optimization, value: ValueId, readers: &[NodeId]) -> Option<Layer> {
    let node = o.producer(value);
    let (rank, behind, dim) = match o.graph.node(node).kind.symbol() {
        "aten::linear" => (None, 0, 0),
        "aten::conv1d" => (Some(3), 1, 0),
        "aten::conv2d" => (Some(4), 2, 0),
        "aten::conv3d" => (Some(5), 3, 0),
        "aten::conv_transpose1d" => (Some(3), 1, 1),
        "aten::conv_transpose2d" => (Some(4), 2, 1),
        "aten::conv_transpose3d" => (Some(5), 3, 1),
        _ => return None,
    };
    let asks_sizes = |user: NodeId, index: u32| {
        o.is_op(user, "aten::size")
            || (index == 1
                && ["aten::reshape_as", "aten::view_as"].iter().any(|op| o.is_op(user, op)))
    };
    let is_private = if readers.is_empty() {
        o.is_used_once(value)
    } else {
        let uses = o.graph.value(value).uses();
        let own = o.graph.node(node).owner();
        uses.iter().all(|only| {
            let read = readers.contains(&only.user) || asks_sizes(only.user, only.index);
            read && o.graph.node(only.user).owner() == own
        })
    };
    let &[input, weight, bias, ref rest @ ..] = o.graph.node(node).inputs() else { return None };
    // Channels of several groups share a place in the weight of a transposed convolution.
    if dim == 1 && o.constant(*rest.get(3)?) != Some(Constant::Int(1)) {
        return None;
    }
    let fact = o.fact(input)?;
    let fits = rank.is_none_or(|rank| fact.rank == rank)
        && matches!(fact.dtype, DType::Float32 | DType::Float64)
        && is_private
        && !o.is_written(value);
    let kernel = o.constant_tensor(weight).filter(|kernel| fits && kernel.dtype() == fact.dtype)?;
    let channels = *kernel.sizes().get(dim)? as usize;
    let bias = match o.constant(bias)? {
        Constant::None => None,
        _ => Some(per_channel(o.constant_tensor(bias)?, fact.dtype, channels)?),
    };
    Some(Layer { node, dtype: fact.dtype, behind, kernel: kernel.clone(), dim, bias })
}

/// A number for each channel of what a layer gives, where a factor is that.
fn each_channel(factor: &Tensor, layer: &Layer, channels: usize) -> Option<Vec<f64>> {
    let of_channels = factor.dim().checked_sub(layer.behind + 1)?;
    let fits = factor.sizes().iter().enumerate().all(|(dim, &size)| match dim == of_channels {
        true => size == channels as i64,
        false => size == 1,
    });
    // More dimensions than the result's would be dimensions of the product.
    let most = if layer.behind == 0 { 1 } else { layer.behind + 2 };
    if !fits || factor.dim() > most || factor.dtype() != layer.dtype {
        return None;
    }
    factor.to_dtype(DType::Float64).ok()?.to_vec::<f64>().ok()
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

/// [`scaled`] in one pass over memory, the products rounded once as well.
fn scaled_once(kernel: &Tensor, dim: usize, scale: &[f64]) -> Option<Tensor> {
    let inner: i64 = kernel.sizes().get(dim + 1..)?.iter().product();
    let inner = usize::try_from(inner).ok().filter(|&inner| inner > 0)?;
    let result = Tensor::for_overwrite(kernel.sizes(), DType::Float32).ok()?;
    {
        let (from, mut to) = (kernel.read::<f32>().ok()?, result.write::<f32>().ok()?);
        let rows = to.chunks_exact_mut(inner).zip(from.chunks_exact(inner));
        for ((to, from), scale) in rows.zip(scale.iter().cycle()) {
            to.iter_mut().zip(from).for_each(|(to, &x)| *to = (f64::from(x) * scale) as f32);
        }
    }
    Some(result)
}

/// Each index of a dimension times its number.
fn scaled(kernel: &Tensor, dim: usize, scale: &[f64]) -> Option<Tensor> {
    if kernel.dtype() == DType::Float32 && kernel.is_contiguous() {
        return scaled_once(kernel, dim, scale);
    }
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
