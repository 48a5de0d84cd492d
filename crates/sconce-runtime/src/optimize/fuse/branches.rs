//! Convolutions of one value that are added up, as one convolution.
//!
//! A sum of convolutions with the same steps is the convolution with the sum of their weights: those of
//! small windows with zeros around them. Batch normalisation in evaluation is a convolution, too, whose
//! window is one pixel of its own channel. Networks that are trained with such branches (RepVGG,
//! MobileOne) become what they are deployed as.
//!
//! Weights are added up in double precision and rounded once. A result so differs from the sum of the
//! branches by what rounding makes of either: a few units in the last place of the largest product that
//! is added up.

use sconce_ir::{Constant, NodeId, ValueId};
use sconce_kernels::{DType, Tensor};

use crate::optimize::Optimization;
use crate::optimize::fuse::batch_norm;

/// The most sums that are looked through for branches.
const MOST_SUMS: usize = 32;

/// Merges branches, for each sum that is no part of another one.
pub(crate) fn merge(optimization: &mut Optimization) {
    let mut any = false;
    for node in optimization.nodes().into_iter().rev() {
        any |= merge_before(optimization, node).is_some();
    }
    if any {
        optimization.simplify();
    }
}

/// A convolution with all that decides what it may be added to.
#[derive(Debug, Clone, PartialEq)]
struct Steps {
    input: ValueId,
    stride: [i64; 2],
    dilation: [i64; 2],
    groups: i64,
    channels: i64,
}

/// A branch: its weight `[O, I/groups, h, w]` and bias, in double precision.
struct Branch {
    node: NodeId,
    /// Whether it is batch normalisation.
    is_norm: bool,
    padding: [i64; 2],
    window: [i64; 2],
    weight: Vec<f64>,
    bias: Vec<f64>,
}

fn merge_before(o: &mut Optimization, sum: NodeId) -> Option<()> {
    summands(o, sum)?;
    let (mut leaves, mut open, mut sums) = (Vec::new(), vec![sum], Vec::new());
    while let Some(node) = open.pop() {
        sums.push(node);
        for value in summands(o, node)? {
            let from = o.producer(value);
            let only = o.is_used_once(value) && !o.is_written(value);
            match only && sums.len() + open.len() < MOST_SUMS && summands(o, from).is_some() {
                true => open.push(from),
                false => leaves.push(value),
            }
        }
    }
    let first = leaves.iter().find_map(|&leaf| steps(o, leaf))?;
    let of_one = |&leaf: &ValueId| match steps(o, leaf) {
        Some(steps) => steps == first,
        None => is_norm_of(o, leaf, &first),
    };
    let (branches, others): (Vec<ValueId>, Vec<ValueId>) = leaves.into_iter().partition(of_one);
    if branches.len() < 2 || others.len() > 1 {
        return None;
    }
    let branches: Vec<Branch> =
        branches.into_iter().map(|leaf| branch(o, leaf, &first)).collect::<Option<_>>()?;
    // One has the window of the result, so no pixel is looked at that none looked at before.
    let largest = branches.iter().max_by_key(|branch| (branch.window, !branch.is_norm))?;
    let (weight, bias) = added_up(&branches, largest, &first)?;
    let inputs = o.graph.node(largest.node).inputs().to_vec();
    // Where channels lie in the weight decides where they lie in what the convolution gives.
    let strides = o.constant_tensor(*inputs.get(1)?)?.preserved_strides();
    let weight = weight.with_strides(&strides).ok()?;
    let at = o.graph.node(largest.node);
    let (kind, operator, range) = (at.kind.clone(), at.operator, at.range.clone());
    let [_, _, _, rest @ ..] = inputs.as_slice() else { return None };
    let mut new_inputs =
        vec![first.input, o.insert_tensor(weight, sum), o.insert_tensor(bias, sum)];
    new_inputs.extend(rest);
    let new = o.graph.new_node_with(kind, &new_inputs, sconce_ir::Type::Tensor);
    let made = o.graph.node_mut(new);
    (made.operator, made.range) = (operator, range);
    o.graph.insert_before(new, sum);
    let merged = o.graph.node(new).output();
    match others.as_slice() {
        [] => o.replace(sum, merged),
        &[other] => {
            o.graph.replace_node_input(sum, 0, merged);
            o.graph.replace_node_input(sum, 1, other);
        }
        _ => return None,
    }
    // Those that use what others give come first.
    for node in sums.into_iter().filter(|&node| node != sum) {
        o.graph.destroy(node);
    }
    Some(())
}

/// What a node adds up, if it is a sum of two tensors.
fn summands(o: &Optimization, node: NodeId) -> Option<[ValueId; 2]> {
    let at = o.graph.node(node);
    if !at.is_alive() || at.outputs().len() != 1 || o.is_written(at.output()) {
        return None;
    }
    let unit = match (at.kind.symbol(), at.inputs()) {
        ("aten::add", &[_, _, alpha]) => o.constant(alpha) == Some(Constant::Int(1)),
        ("sconce::add", _) => true,
        _ => false,
    };
    let &[a, b, ..] = at.inputs() else { return None };
    let is_tensor = |value| *o.graph.ty(value) == sconce_ir::Type::Tensor;
    (unit && is_tensor(a) && is_tensor(b)).then_some([a, b])
}

fn pair(o: &Optimization, value: ValueId) -> Option<[i64; 2]> {
    match *o.ints(value)?.as_slice() {
        [both] => Some([both, both]),
        [height, width] => Some([height, width]),
        _ => None,
    }
}

/// How a convolution that only this sum uses walks, if it is one of numbers that are known.
fn steps(o: &Optimization, leaf: ValueId) -> Option<Steps> {
    let node = o.producer(leaf);
    if !o.is_op(node, "aten::conv2d") || !o.is_used_once(leaf) || o.is_written(leaf) {
        return None;
    }
    let &[input, weight, _, stride, padding, dilation, groups] = o.graph.node(node).inputs() else {
        return None;
    };
    let fact = o.fact(input)?;
    let weight = o.constant_tensor(weight)?;
    let fits = (fact.dtype, fact.rank) == (DType::Float32, 4) && !o.is_written(input);
    if !fits || (weight.dtype(), weight.dim()) != (DType::Float32, 4) {
        return None;
    }
    pair(o, padding)?;
    let Constant::Int(groups) = o.constant(groups)? else { return None };
    let (stride, dilation) = (pair(o, stride)?, pair(o, dilation)?);
    let positive = stride.iter().chain(&dilation).all(|&step| step > 0) && groups > 0;
    let channels = *weight.sizes().first()?;
    positive.then_some(Steps { input, stride, dilation, groups, channels })
}

/// Whether a value is batch normalisation of what convolutions take, and has the size of what they
/// give where they keep it.
fn is_norm_of(o: &Optimization, leaf: ValueId, steps: &Steps) -> bool {
    let node = o.producer(leaf);
    o.is_op(node, "aten::batch_norm")
        && o.is_used_once(leaf)
        && !o.is_written(leaf)
        && o.graph.node(node).inputs().first() == Some(&steps.input)
        && steps.stride == [1, 1]
}

fn branch(o: &Optimization, leaf: ValueId, steps: &Steps) -> Option<Branch> {
    let node = o.producer(leaf);
    let channels = usize::try_from(steps.channels).ok()?;
    if o.is_op(node, "aten::batch_norm") {
        let (scale, bias) = batch_norm::scale_and_shift(o, node, DType::Float32, channels)?;
        let per_group = channels / usize::try_from(steps.groups).ok()?;
        let mut weight = vec![0.0; channels * per_group];
        for (channel, scale) in scale.into_iter().enumerate() {
            *weight.get_mut(channel * per_group + channel % per_group)? = scale;
        }
        return Some(Branch { node, is_norm: true, padding: [0, 0], window: [1, 1], weight, bias });
    }
    let &[_, weight, bias, _, padding, ..] = o.graph.node(node).inputs() else { return None };
    let padding = pair(o, padding)?;
    let weight = o.constant_tensor(weight)?;
    let &[_, _, height, width] = weight.sizes() else { return None };
    let numbers = |tensor: &Tensor| tensor.to_dtype(DType::Float64).ok()?.to_vec::<f64>().ok();
    let bias = match o.constant(bias)? {
        Constant::None => vec![0.0; channels],
        _ => numbers(o.constant_tensor(bias)?)?,
    };
    let weight = numbers(weight)?;
    Some(Branch { node, is_norm: false, padding, window: [height, width], weight, bias })
}

/// The weight and the bias of all branches together, in the window of the largest.
fn added_up(branches: &[Branch], largest: &Branch, steps: &Steps) -> Option<(Tensor, Tensor)> {
    let taps = |window: [i64; 2]| (window[0] * window[1]) as usize;
    let filters = largest.weight.len().checked_div(taps(largest.window))?;
    let mut weight = vec![0.0; largest.weight.len()];
    let mut bias = vec![0.0; largest.bias.len()];
    for branch in branches {
        if branch.weight.len() != filters * taps(branch.window) || branch.bias.len() != bias.len() {
            return None;
        }
        let mut first = [0; 2];
        for (axis, first) in first.iter_mut().enumerate() {
            // As many pixels before the window as after it: results are of one size.
            let border = largest.window[axis] - branch.window[axis];
            let dilation = steps.dilation[axis];
            let before = largest.padding[axis] - branch.padding[axis];
            if border < 0 || before < 0 || 2 * before != border * dilation {
                return None;
            }
            *first = (before / dilation) as usize;
        }
        let [height, width] = branch.window.map(|size| size as usize);
        let (line, all) = (largest.window[1] as usize, taps(largest.window));
        for (filter, own) in branch.weight.chunks_exact(height * width).enumerate() {
            for (index, x) in own.iter().enumerate() {
                let (y, x_at) = (index / width + first[0], index % width + first[1]);
                weight[filter * all + y * line + x_at] += x;
            }
        }
        bias.iter_mut().zip(&branch.bias).for_each(|(sum, x)| *sum += x);
    }
    let tensor = |numbers: &[f64], sizes: &[i64]| {
        Tensor::from_slice(numbers, sizes).ok()?.to_dtype(DType::Float32).ok()
    };
    let per_filter = (filters as i64).checked_div(steps.channels)?;
    let sizes = [steps.channels, per_filter, largest.window[0], largest.window[1]];
    let finite = weight.iter().chain(&bias).all(|x| (*x as f32).is_finite());
    finite.then_some((tensor(&weight, &sizes)?, tensor(&bias, &[bias.len() as i64])?))
}
