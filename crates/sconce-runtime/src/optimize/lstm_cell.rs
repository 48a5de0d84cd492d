//! Steps of an LSTM with constant weights: packed once, not in every round of the loop.

use sconce_ir::{Kind, NodeId, Type, ValueId};

use super::Optimization;
use super::linear::packed;
use crate::registry::LSTM_CELL_PACKED;

/// Replaces `aten::lstm_cell` by the step with packed weights.
pub(super) fn pack(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = pack_one(optimization, node);
    }
    optimization.refresh();
}

fn pack_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    if !o.is_op(node, "aten::lstm_cell") {
        return None;
    }
    let &[_, _, input, hidden, ..] = o.graph.node(node).inputs() else { return None };
    let packed = [packed(o, input)?, packed(o, hidden)?];
    let mut inputs = o.graph.node(node).inputs().to_vec();
    inputs.extend(packed.map(|packed| o.insert_tensor(packed, node)));
    let new = o.graph.new_node(Kind::Op(LSTM_CELL_PACKED.into()), &inputs);
    o.graph.insert_before(new, node);
    let range = o.graph.node(node).range.clone();
    o.graph.node_mut(new).range = range;
    let results: Vec<ValueId> = o.graph.node(node).outputs().to_vec();
    for result in results {
        let by = o.graph.add_output(new, Type::Tensor);
        o.graph.replace_all_uses(result, by);
    }
    o.graph.destroy(node);
    o.changed = true;
    Some(())
}
