//! Encoder layers of transformers and attention with many heads, with constant weights: packed once.

use sconce_ir::{Kind, NodeId, ValueId};

use crate::ops::{ENCODER_LAYER_PACKED, ENCODER_WEIGHTS, HEAD_WEIGHTS, MANY_HEADS_PACKED};
use crate::optimize::Optimization;
use crate::optimize::prepack::linear::packed;

/// Replaces `aten::_transformer_encoder_layer_fwd` and `aten::_native_multi_head_attention` by the same with packed
/// weights.
pub(crate) fn pack(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = pack_one(optimization, node);
    }
    optimization.refresh();
}

fn pack_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    let (symbol, places): (_, &[usize]) = match o.graph.node(node).kind.symbol() {
        "aten::_transformer_encoder_layer_fwd" => (ENCODER_LAYER_PACKED, &ENCODER_WEIGHTS),
        "aten::_native_multi_head_attention" => (MANY_HEADS_PACKED, &HEAD_WEIGHTS),
        _ => return None,
    };
    let mut inputs: Vec<ValueId> = o.graph.node(node).inputs().to_vec();
    let weights = places.iter().map(|&at| packed(o, *inputs.get(at)?));
    for weight in weights.collect::<Option<Vec<_>>>()? {
        inputs.push(o.insert_tensor(weight, node));
    }
    // They stay operands, for what is not computed with packed weights.
    places.iter().for_each(|&at| o.release(inputs[at]));
    let outputs = o.graph.node(node).outputs().to_vec();
    let new = o.graph.new_node(Kind::Op(symbol.into()), &inputs);
    o.insert_at(new, node);
    for output in outputs {
        let ty = o.graph.ty(output).clone();
        let by = o.graph.add_output(new, ty);
        o.graph.replace_all_uses(output, by);
    }
    o.graph.destroy(node);
    Some(())
}
