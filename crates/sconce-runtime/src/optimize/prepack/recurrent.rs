//! Recurrent layers and cells with constant weights: packed once, not in every call or round of a
//! loop.

use sconce_ir::{Constant, Kind, NodeId, ValueId};
use sconce_kernels::{CellWeights, Tensor, pack_recurrent};

use crate::ops::{RECURRENT_PACKED, RecurrentPacked};
use crate::optimize::Optimization;

/// Replaces `aten::lstm`, `aten::lstm_cell` and the like by what takes packed weights.
pub(crate) fn pack(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = pack_one(optimization, node);
    }
    optimization.refresh();
}

fn pack_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    let operator = o.graph.operator(node)?;
    let (symbol, overload) = (&*operator.schema.name, &*operator.schema.overload);
    let is_it = |line: &&RecurrentPacked| line.symbol == symbol && line.overload == overload;
    let line = RECURRENT_PACKED.iter().find(is_it)?;
    let packed = match line.layers {
        true => packed_layers(o, node, line)?,
        false => {
            let &[_, _, input, hidden, input_bias, hidden_bias] = o.graph.node(node).inputs()
            else {
                return None;
            };
            let weights = [o.constant_tensor(input)?.clone(), o.constant_tensor(hidden)?.clone()];
            let biases = [optional(o, input_bias)?, optional(o, hidden_bias)?];
            pack_layer(line, &weights, biases.each_ref().map(Option::as_ref))?.to_vec()
        }
    };
    let mut inputs = o.graph.node(node).inputs().to_vec();
    inputs.extend(packed.into_iter().map(|packed| o.insert_tensor(packed, node)));
    let new = o.graph.new_node(Kind::Op(line.packed.into()), &inputs);
    o.insert_at(new, node);
    let results: Vec<ValueId> = o.graph.node(node).outputs().to_vec();
    for result in results {
        let by = o.graph.add_output(new, o.graph.ty(result).clone());
        o.graph.replace_all_uses(result, by);
    }
    o.graph.destroy(node);
    Some(())
}

/// Packs the weights of every layer and direction, where they are constants and nothing is
/// projected.
fn packed_layers(o: &Optimization, node: NodeId, line: &RecurrentPacked) -> Option<Vec<Tensor>> {
    let &[_, _, params, has_biases, layers, _, _, bidirectional, _] = o.graph.node(node).inputs()
    else {
        return None;
    };
    let flag = |value| match o.constant(value) {
        Some(Constant::Bool(flag)) => Some(flag),
        _ => None,
    };
    let Some(Constant::Int(layers)) = o.constant(layers) else { return None };
    let (has_biases, bidirectional) = (flag(has_biases)?, flag(bidirectional)?);
    let count = usize::try_from(layers).ok()?.checked_mul(if bidirectional { 2 } else { 1 })?;
    let each = if has_biases { 4 } else { 2 };
    let params = o.tensors(params)?;
    if count == 0 || params.len() != count.checked_mul(each)? {
        return None;
    }
    let mut packed = Vec::with_capacity(count * 3);
    for weights in params.chunks_exact(each) {
        packed.extend(pack_layer(line, weights, [weights.get(2), weights.get(3)])?);
    }
    Some(packed)
}

/// Packs weights of input and hidden state.
fn pack_layer(
    line: &RecurrentPacked,
    weights: &[Tensor],
    [input_bias, hidden_bias]: [Option<&Tensor>; 2],
) -> Option<[Tensor; 3]> {
    let [input, hidden, ..] = weights else { return None };
    let weights = CellWeights { input, hidden, input_bias, hidden_bias, projection: None };
    pack_recurrent(line.cell, weights).ok().flatten()
}

/// A constant tensor or `None`.
fn optional(o: &Optimization, value: ValueId) -> Option<Option<Tensor>> {
    match o.constant(value) {
        Some(Constant::None) => Some(None),
        _ => o.constant_tensor(value).cloned().map(Some),
    }
}
