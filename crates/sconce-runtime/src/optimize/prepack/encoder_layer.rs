//! Encoder layers of transformers with constant weights: packed once.

use sconce_ir::{Kind, NodeId, Type, ValueId};

use crate::ops::{ENCODER_LAYER_PACKED, ENCODER_WEIGHTS};
use crate::optimize::Optimization;
use crate::optimize::prepack::linear::packed;

/// Replaces `aten::_transformer_encoder_layer_fwd` by the layer with packed weights.
pub(crate) fn pack(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = pack_one(optimization, node);
    }
    optimization.refresh();
}

fn pack_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    if !o.is_op(node, "aten::_transformer_encoder_layer_fwd") {
        return None;
    }
    let mut inputs: Vec<ValueId> = o.graph.node(node).inputs().to_vec();
    let weights = ENCODER_WEIGHTS.map(|at| packed(o, *inputs.get(at)?));
    for weight in weights.into_iter().collect::<Option<Vec<_>>>()? {
        inputs.push(o.insert_tensor(weight, node));
    }
    let kind = Kind::Op(ENCODER_LAYER_PACKED.into());
    let new = o.graph.new_node_with(kind, &inputs, Type::Tensor);
    o.insert_at(new, node);
    let result = o.graph.node(new).output();
    o.replace(node, result);
    Some(())
}
