//! Convolutions of volumes with constant weights: packed once, as those of pictures for each slice of the window.

use sconce_ir::{Constant, Kind, NodeId, Prim, Type, ValueId};
use sconce_kernels::{DType, Tensor, pack_bias, pack_weight};

use crate::ops::{CONV3D_PACKED, MAX_PLANAR};
use crate::optimize::Optimization;

/// Result channels below which blocks of them would be mostly empty.
const LEAST_CHANNELS: i64 = 8;

/// Replaces `aten::conv3d` where pictures in blocks are quicker.
pub(crate) fn pack(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = pack_one(optimization, node);
    }
    optimization.refresh();
}

fn pack_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    if !o.is_op(node, "aten::conv3d") {
        return None;
    }
    let inputs = o.graph.node(node).inputs().to_vec();
    let &[input, weight_value, bias, stride, padding, dilation, groups] = inputs.as_slice() else {
        return None;
    };
    let fact = o.fact(input)?;
    let is_volume = (fact.rank, fact.dtype) == (5, DType::Float32);
    if !is_volume || o.constant(groups)? != Constant::Int(1) {
        return None;
    }
    let weight = o.constant_tensor(weight_value)?.clone();
    let &[out_channels, in_channels, depth, height, width] = weight.sizes() else { return None };
    let [stride, padding, dilation] = [stride, padding, dilation].map(|list| triple(o, list));
    let (stride, padding, dilation) = (stride?, padding?, dilation?);
    // One element of the window is to add to every result.
    let is_centred =
        padding[0] == 0 || (depth % 2 == 1 && 2 * padding[0] == dilation[0] * (depth - 1));
    let planar = in_channels <= MAX_PLANAR;
    let steps = matches!(stride[1], 1 | 2) || (planar && matches!(stride[1], 4 | 16));
    let is_plain = [depth, height, width] == [1; 3];
    let fits = weight.dtype() == DType::Float32
        && out_channels >= LEAST_CHANNELS
        && is_centred
        && steps
        && stride[1] == stride[2]
        && stride.iter().chain(&dilation).all(|&step| step > 0)
        && !is_plain;
    if !fits {
        return None;
    }
    let bias = match o.constant(bias)? {
        Constant::None => None,
        _ => Some(o.constant_tensor(bias)?.clone()),
    };
    let is_known = |bias: &Tensor| bias.dtype() == DType::Float32 && bias.sizes() == [out_channels];
    if !bias.as_ref().is_none_or(is_known) {
        return None;
    }
    let slice = |at: i64| pack_weight(&weight.select(2, at).ok()?, 1).ok()?;
    let slices: Vec<Tensor> = (0..depth).map(slice).collect::<Option<_>>()?;
    let biases = [bias.as_ref(), None].map(|bias| pack_bias(bias, out_channels).ok());
    let [Some(bias), Some(zeros)] = biases else { return None };
    o.release(weight_value);
    let slices: Vec<ValueId> =
        slices.into_iter().map(|slice| o.insert_tensor(slice, node)).collect();
    let list = o.graph.new_node_with(Prim::ListConstruct, &slices, Type::list(Type::Tensor));
    o.graph.insert_before(list, node);
    let list = o.graph.node(list).output();
    let (bias, zeros) = (o.insert_tensor(bias, node), o.insert_tensor(zeros, node));
    let inputs = [inputs, vec![list, bias, zeros]].concat();
    let new = o.graph.new_node_with(Kind::Op(CONV3D_PACKED.into()), &inputs, Type::Tensor);
    o.insert_at(new, node);
    let result = o.graph.node(new).output();
    o.replace(node, result);
    Some(())
}

/// Three numbers; one stands for all.
fn triple(o: &Optimization, list: ValueId) -> Option<[i64; 3]> {
    match *o.ints(list)?.as_slice() {
        [all] => Some([all; 3]),
        [depth, height, width] => Some([depth, height, width]),
        _ => None,
    }
}
