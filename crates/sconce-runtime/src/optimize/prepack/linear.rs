//! Linear layers with constant weights: packed once, with the activation that follows.

use sconce_ir::{Constant, Kind, NodeId, Type, ValueId};
use sconce_kernels::{DType, Tensor, pack_linear};

use crate::ops::{ACTIVATIONS, LINEAR_PACKED};
use crate::optimize::Optimization;

/// Replaces `aten::linear` by the product with a packed weight, and takes in the activation where
/// nothing else sees what it is given.
pub(crate) fn pack(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = pack_one(optimization, node);
    }
    // Later passes ask what is written, the new values among it.
    optimization.refresh();
}

fn pack_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    if !o.is_op(node, "aten::linear") {
        return None;
    }
    let &[input, weight, bias] = o.graph.node(node).inputs() else { return None };
    let packed = packed(o, weight)?;
    // It stays an operand, for what is not computed with packed weights.
    o.release(weight);
    let follower = activation_after(o, node);
    let packed = o.insert_tensor(packed, node);
    let code = follower.map_or(-1, |(_, code)| code as i64);
    let code = o.insert_constant(&Constant::Int(code), node);
    let inputs = [input, packed, weight, bias, code];
    let new = o.graph.new_node_with(Kind::Op(LINEAR_PACKED.into()), &inputs, Type::Tensor);
    o.insert_at(new, node);
    let result = o.graph.node(new).output();
    if let Some((follower, _)) = follower {
        o.replace(follower, result);
    }
    o.replace(node, result);
    Some(())
}

/// A constant weight, packed.
pub(crate) fn packed(o: &Optimization, weight: ValueId) -> Option<Tensor> {
    let weight = o.constant_tensor(weight)?;
    let floating = matches!(weight.dtype(), DType::Float32 | DType::Float16 | DType::BFloat16);
    let fits = floating && weight.dim() == 2 && weight.numel() > 0;
    pack_linear(weight, o.precision).ok().filter(|_| fits)
}

/// The activation that alone uses what a node gives, and its place in the table.
fn activation_after(o: &Optimization, node: NodeId) -> Option<(NodeId, usize)> {
    let result = o.graph.node(node).output();
    if !o.is_used_once(result) || o.is_written(result) {
        return None;
    }
    let [only] = o.graph.value(result).uses() else { return None };
    let at = o.graph.node(only.user);
    let mode = at.inputs().get(1).and_then(|&mode| o.constant(mode));
    let is_wanted = |symbol: &str, wanted: Option<&str>| {
        at.kind.symbol() == symbol
            && only.index == 0
            && match (wanted, &mode) {
                (None, None) => at.inputs().len() == 1,
                (Some(wanted), Some(Constant::Str(mode))) => &**mode == wanted,
                _ => false,
            }
    };
    let place = ACTIVATIONS.iter().position(|&(symbol, mode, ..)| is_wanted(symbol, mode))?;
    Some((only.user, place))
}
