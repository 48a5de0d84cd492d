//! An `if` on what the `if` before it decided is part of it.
//!
//! PyTorch's `inlineConsecutiveIfs`: `if x: return 1` and what follows become one `if` with `else`.

use rustc_hash::FxHashMap;
use sconce_ir::{BlockId, Constant, Graph, NodeId, Prim, ValueId};

use super::{first_in_block, next_in_block};

/// Merges such pairs in a block and all blocks within.
pub(super) fn merge(graph: &mut Graph, block: BlockId) {
    let mut at = first_in_block(graph, block);
    while let Some(node) = at {
        for index in 0..graph.node(node).blocks().len() {
            merge(graph, graph.node(node).blocks()[index]);
        }
        // After a merge, the same node meets a new neighbour.
        if !merge_with_next(graph, node) {
            at = next_in_block(graph, node);
        }
    }
}

fn merge_with_next(graph: &mut Graph, first: NodeId) -> bool {
    let Some((second, decisions)) = decided_by(graph, first) else { return false };
    for (index, decision) in decisions.into_iter().enumerate() {
        let into = graph.node(first).blocks()[index];
        let from = graph.node(second).blocks()[usize::from(!decision)];
        let outputs = graph.node(first).outputs().iter().copied();
        let here = graph.block_outputs(into).iter().copied();
        let mut map: FxHashMap<ValueId, ValueId> = outputs.zip(here).collect();
        let results = graph.duplicate_nodes(from, graph.return_node(into), &mut map);
        for result in results {
            graph.add_block_output(into, result);
        }
    }
    for index in 0..graph.node(second).outputs().len() {
        let old = graph.node(second).outputs()[index];
        let new = graph.add_output(first, graph.ty(old).clone());
        graph.take_name(old, new);
        graph.replace_all_uses(old, new);
    }
    graph.destroy(second);
    true
}

/// The `if` after `first` if `first` decides it, and how in each of its branches: differently.
fn decided_by(graph: &Graph, first: NodeId) -> Option<(NodeId, [bool; 2])> {
    let second = next_in_block(graph, first)?;
    let is_if = |id| graph.node(id).is(Prim::If) && graph.node(id).blocks().len() == 2;
    if !is_if(first) || !is_if(second) {
        return None;
    }
    let condition = graph.value(*graph.node(second).inputs().first()?);
    if condition.node() != first {
        return None;
    }
    let decide = |block: BlockId| {
        let value = graph.block_outputs(block).get(condition.index())?;
        match graph.constant(*value)? {
            Constant::Bool(value) => Some(value),
            _ => None,
        }
    };
    let on_true = decide(graph.node(first).blocks()[0])?;
    let on_false = decide(graph.node(first).blocks()[1])?;
    (on_true != on_false).then_some((second, [on_true, on_false]))
}
