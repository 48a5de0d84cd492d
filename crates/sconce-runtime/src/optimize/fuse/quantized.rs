//! Layers of programs that were quantized by export: what the importer of programs makes of `quantized_decomposed`, and
//! a layer on `float32` between, becomes a layer on integers.

use sconce_ir::{Constant, Kind, NodeId, Type, ValueId};
use sconce_kernels::{DType, Tensor, integer_weight};

use crate::ops::{INTEGER_LINEAR, INTEGER_RESULT_DTYPE, OF_CODES, TO_CODES};
use crate::optimize::Optimization;

/// `torch.float32`
const FLOAT32: i64 = 6;

/// Puts linear layers on integers in the place of those whose input and weight were made of integers, with the activation
/// and the step of quantization that follow; of the steps that are left, each becomes one operator. Convolutions stay on
/// `float32`, in the blocked layout: those of integers take four times as long.
pub(crate) fn fuse(optimization: &mut Optimization) {
    let layers = optimization.nodes();
    let any = layers.iter().filter(|&&node| fuse_layer(optimization, node).is_some()).count();
    if any == 0 && !has_codes(optimization) {
        return;
    }
    // What was before a layer is needed no more.
    optimization.simplify();
    for node in optimization.nodes() {
        if optimization.graph.node(node).is_alive() {
            let _ = name_step(optimization, node);
        }
    }
    optimization.simplify();
}

/// Numbers that become integers: `clamp(round(x * inverse) + zero_point, least, most).to(dtype)`.
#[derive(Debug, Clone, Copy)]
struct Quantize {
    input: ValueId,
    inverse: f64,
    zero_point: i64,
    least: i64,
    most: i64,
    dtype: i64,
}

/// Integers as the numbers that they stand for: `(codes.to(float32) - zero_point) * scale`.
#[derive(Debug, Clone, Copy)]
struct Dequantize {
    codes: ValueId,
    scale: f64,
    zero_point: i64,
}

/// The operands of the operator that makes a value, if it is this one and nothing writes to what it gives.
fn operands<const N: usize>(
    o: &Optimization,
    value: ValueId,
    symbol: &str,
) -> Option<[ValueId; N]> {
    let node = o.producer(value);
    let inputs = o.is_op(node, symbol).then(|| o.graph.node(node).inputs())?;
    (!o.is_written(value)).then_some(())?;
    inputs.try_into().ok()
}

fn int(o: &Optimization, value: ValueId) -> Option<i64> {
    match o.constant(value) {
        Some(Constant::Int(value)) => Some(value),
        _ => None,
    }
}

fn float(o: &Optimization, value: ValueId) -> Option<f64> {
    match o.constant(value) {
        Some(Constant::Float(value)) => Some(value),
        _ => None,
    }
}

/// What a value is converted from, and to which dtype.
fn converted(o: &Optimization, value: ValueId) -> Option<(ValueId, i64)> {
    let [from, dtype, non_blocking, copy, format] = operands(o, value, "aten::to")?;
    let no = Some(Constant::Bool(false));
    let is_plain = o.constant(non_blocking) == no
        && o.constant(copy) == no
        && o.constant(format) == Some(Constant::None);
    is_plain.then_some((from, int(o, dtype)?))
}

/// Whether a value is what this pass has made integers of.
fn gives_codes(o: &Optimization, value: ValueId) -> bool {
    let node = o.producer(value);
    let is_layer = o.is_op(node, INTEGER_LINEAR);
    let dtype = o.graph.node(node).inputs().get(INTEGER_RESULT_DTYPE);
    o.is_op(node, TO_CODES)
        || is_layer && dtype.is_some_and(|&dtype| o.constant(dtype) != Some(Constant::None))
}

fn quantize(o: &Optimization, codes: ValueId) -> Option<Quantize> {
    let (clamped, dtype) = converted(o, codes)?;
    let [moved, least, most] = operands(o, clamped, "aten::clamp")?;
    let [rounded, zero_point, alpha] = operands(o, moved, "aten::add")?;
    let [scaled] = operands(o, rounded, "aten::round")?;
    let [input, inverse] = operands(o, scaled, "aten::mul")?;
    let (least, most) = (int(o, least)?, int(o, most)?);
    let held = match DType::from_scalar_type_number(dtype) {
        Some(DType::UInt8) => 0..=255,
        Some(DType::Int8) => -128..=127,
        _ => return None,
    };
    let fits = least <= most && held.contains(&least) && held.contains(&most);
    (fits && int(o, alpha) == Some(1)).then_some(())?;
    let (from, to) = converted(o, input).unwrap_or((input, FLOAT32));
    (to == FLOAT32).then_some(())?;
    let is_float = |value| o.fact(value).is_some_and(|fact| fact.dtype == DType::Float32);
    // The conversion to what it is already is left out.
    let input = if from != input && is_float(from) { from } else { input };
    let (inverse, zero_point) = (float(o, inverse)?, int(o, zero_point)?);
    Some(Quantize { input, inverse, zero_point, least, most, dtype })
}

fn dequantize(o: &Optimization, value: ValueId) -> Option<Dequantize> {
    let [moved, scale] = operands(o, value, "aten::mul")?;
    let [wide, zero_point, alpha] = operands(o, moved, "aten::sub")?;
    let (codes, to) = converted(o, wide)?;
    let is_known = match o.fact(codes) {
        Some(fact) => matches!(fact.dtype, DType::UInt8 | DType::Int8),
        None => quantize(o, codes).is_some() || gives_codes(o, codes),
    };
    let fits = to == FLOAT32 && is_known && !o.is_written(codes) && int(o, alpha) == Some(1);
    let (scale, zero_point) = (float(o, scale)?, int(o, zero_point)?);
    (fits && (-128..=255).contains(&zero_point)).then_some(Dequantize { codes, scale, zero_point })
}

/// The integers of a constant weight with their scales, as a layer here takes them.
fn weight(o: &Optimization, value: ValueId) -> Option<Tensor> {
    if let Some(Dequantize { codes, scale, zero_point: 0 }) = dequantize(o, value) {
        return integer_weight(o.constant_tensor(codes)?, &[scale]).ok();
    }
    let (back, to) = converted(o, value)?;
    let [scaled, axis, last] = operands(o, back, "aten::transpose")?;
    let [moved, scales] = operands(o, scaled, "aten::mul")?;
    let (moved, zero_points) = match operands(o, moved, "aten::sub") {
        Some([moved, zero_points, alpha]) => {
            (int(o, alpha) == Some(1)).then_some(())?;
            (moved, Some(zero_points))
        }
        None => (moved, None),
    };
    let [codes, same_axis, same_last] = operands(o, moved, "aten::transpose")?;
    let places = [axis, last, same_axis, same_last].map(|value| int(o, value));
    (to == FLOAT32 && places == [Some(0), Some(-1), Some(0), Some(-1)]).then_some(())?;
    if let Some(zero_points) = zero_points {
        let zero_points = o.constant_tensor(zero_points)?.to_dtype(DType::Int64).ok()?;
        zero_points.to_vec::<i64>().ok()?.iter().all(|&zero| zero == 0).then_some(())?;
    }
    let codes = o.constant_tensor(codes)?;
    let scales = o.constant_tensor(scales)?.to_dtype(DType::Float64).ok()?.to_vec::<f64>().ok()?;
    let fits = codes.dim() >= 2 && codes.sizes()[0] == scales.len() as i64;
    fits.then(|| integer_weight(codes, &scales).ok()).flatten()
}

fn fuse_layer(o: &mut Optimization, node: NodeId) -> Option<()> {
    if !o.is_op(node, "aten::linear") {
        return None;
    }
    let &[input, filter, bias] = o.graph.node(node).inputs() else { return None };
    let Dequantize { codes, scale, zero_point } = dequantize(o, input)?;
    let filter = weight(o, filter)?;
    let result = o.graph.node(node).output();
    // What follows, as far as nothing else sees what is between.
    let (mut last, mut relu) = (node, false);
    if let Some(next) = only_user(o, result)
        && (o.is_op(next, "aten::relu") || o.is_op(next, "aten::relu_"))
    {
        (last, relu) = (next, true);
    }
    let step = step_after(o, o.graph.node(last).output());
    let steps = match step {
        Some((_, step)) => [
            Constant::Float(step.inverse),
            Constant::Int(step.zero_point),
            Constant::Int(step.least),
            Constant::Int(step.most),
            Constant::Int(step.dtype),
        ],
        None => [const { Constant::None }; 5],
    };
    let place = step.map_or(last, |(end, _)| end);
    let mut inputs = vec![codes];
    for constant in [Constant::Float(scale), Constant::Int(zero_point)] {
        inputs.push(o.insert_constant(&constant, place));
    }
    inputs.push(o.insert_tensor(filter, place));
    inputs.push(bias);
    for constant in [Constant::Bool(relu)].iter().chain(&steps) {
        inputs.push(o.insert_constant(constant, place));
    }
    let new = o.graph.new_node_with(Kind::Op(INTEGER_LINEAR.into()), &inputs, Type::Tensor);
    o.insert_at(new, place);
    let by = o.graph.node(new).output();
    o.graph.replace_all_uses(o.graph.node(place).output(), by);
    Some(())
}

/// The node that alone uses a value, in the block in which it is made, where nothing writes to it.
fn only_user(o: &Optimization, value: ValueId) -> Option<NodeId> {
    let [only] = o.graph.value(value).uses() else { return None };
    (o.is_used_once(value) && only.index == 0).then_some(only.user)
}

/// The step of quantization that alone uses a value, with the node that ends it. Its integers must go to layers and
/// other steps alone: how they lie in memory is nobody's business then.
fn step_after(o: &Optimization, value: ValueId) -> Option<(NodeId, Quantize)> {
    let mut at = value;
    for symbol in ["aten::to", "aten::mul", "aten::round", "aten::add", "aten::clamp", "aten::to"] {
        let next = only_user(o, at)?;
        match o.is_op(next, symbol) {
            true => at = o.graph.node(next).output(),
            // Where the conversion to `float32` was not needed.
            false if symbol == "aten::to" && at == value => {}
            false => return None,
        }
    }
    let step = quantize(o, at)?;
    let goes_on = |used: &sconce_ir::Use| {
        let wide = o.graph.node(used.user).outputs().first()?;
        let [moved] = o.graph.value(*wide).uses() else { return None };
        let moved = o.graph.node(moved.user).outputs().first()?;
        let [scaled] = o.graph.value(*moved).uses() else { return None };
        let scaled = o.graph.node(scaled.user).outputs().first()?;
        dequantize(o, *scaled).filter(|step| step.codes == at)
    };
    let all = o.graph.value(at).uses().iter().all(|used| goes_on(used).is_some());
    all.then_some((o.producer(at), step))
}

/// Whether a graph has steps of quantization at all.
fn has_codes(o: &Optimization) -> bool {
    let results = o.nodes().into_iter().flat_map(|node| o.graph.node(node).outputs().to_vec());
    results.into_iter().any(|value| quantize(o, value).is_some())
}

/// Makes one operator of a step that no layer has taken in.
fn name_step(o: &mut Optimization, node: NodeId) -> Option<()> {
    let &[value] = o.graph.node(node).outputs() else { return None };
    let (symbol, first, constants) = if let Some(step) = quantize(o, value) {
        let constants = vec![
            Constant::Float(step.inverse),
            Constant::Int(step.zero_point),
            Constant::Int(step.least),
            Constant::Int(step.most),
            Constant::Int(step.dtype),
        ];
        let is_float = o.fact(step.input).is_some_and(|fact| fact.dtype == DType::Float32);
        is_float.then_some(())?;
        (TO_CODES, step.input, constants)
    } else {
        let step = dequantize(o, value)?;
        (OF_CODES, step.codes, vec![Constant::Float(step.scale), Constant::Int(step.zero_point)])
    };
    let mut inputs = vec![first];
    inputs.extend(constants.iter().map(|constant| o.insert_constant(constant, node)));
    let new = o.graph.new_node_with(Kind::Op(symbol.into()), &inputs, Type::Tensor);
    o.insert_at(new, node);
    let by = o.graph.node(new).output();
    o.replace(node, by);
    Some(())
}
