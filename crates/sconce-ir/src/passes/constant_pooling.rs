//! One node for each constant: PyTorch's `ConstantPooling`.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::alias::{AliasAnalyser, is_mutable};
use crate::{Attribute, Constant, Graph, NodeId, Prim, ValueId};

/// Moves the constants of all blocks to the start of the graph, one for each type and value. Each
/// that is new goes before all others, so that they stand in the reverse order of discovery.
pub fn constant_pooling(graph: &mut Graph) {
    let constants: Vec<NodeId> =
        graph.walk(graph.root()).filter(|&node| graph.node(node).is(Prim::Constant)).collect();
    let mut known: FxHashMap<u64, SmallVec<[NodeId; 1]>> = FxHashMap::default();
    for node in constants {
        let alike = known.entry(hash(graph, node)).or_default();
        if let Some(&first) = alike.iter().find(|&&first| same(graph, first, node)) {
            let (old, new) = (graph.node(node).output(), graph.node(first).output());
            if may_be_one(graph, old, new) {
                graph.replace_all_uses(old, new);
                graph.destroy(node);
            }
            continue;
        }
        alike.push(node);
        let front = graph.next(graph.param_node(graph.root()));
        graph.move_before(node, front);
    }
    super::finish(graph, "constant_pooling");
}

fn hash(graph: &Graph, node: NodeId) -> u64 {
    let mut hasher = FxHasher::default();
    graph.ty(graph.node(node).output()).hash(&mut hasher);
    match graph.node(node).attribute("value") {
        Some(Attribute::Int(value)) => value.hash(&mut hasher),
        Some(Attribute::Float(value)) => value.to_bits().hash(&mut hasher),
        Some(Attribute::Str(text)) => text.hash(&mut hasher),
        Some(Attribute::Tensor(tensor)) => tensor.index.hash(&mut hasher),
        _ => {}
    }
    hasher.finish()
}

/// Whether two constants have the same type and value.
pub(super) fn same(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    let (x, y) = (graph.node(a).output(), graph.node(b).output());
    graph.ty(x) == graph.ty(y)
        && match (graph.constant(x), graph.constant(y)) {
            // PyTorch compares floats as numbers: no two nans are one, and -0.0 is 0.0.
            (Some(Constant::Float(x)), Some(Constant::Float(y))) => x == y,
            (Some(x), Some(y)) => x == y,
            _ => false,
        }
}

/// Two mutable constants are one only where nothing writes to either.
fn may_be_one(graph: &Graph, a: ValueId, b: ValueId) -> bool {
    if !is_mutable(graph.ty(a)) {
        return true;
    }
    let aliases = AliasAnalyser::new(graph);
    !aliases.has_writers(a) && !aliases.has_writers(b)
}
