//! One node for each constant: PyTorch's `ConstantPooling`.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use crate::alias::{AliasAnalyser, is_mutable};
use crate::{Attribute, BlockId, Constant, Graph, NodeId, Prim, ValueId};

/// Moves the constants of all blocks to the start of the graph, one for each type and value. Each
/// that is new goes before all others, so that they stand in the reverse order of discovery.
pub fn constant_pooling(graph: &mut Graph) {
    pool(graph, graph.root());
    super::finish(graph, "constant_pooling");
}

/// Does so with the constants of one block, and those of the blocks within.
pub(super) fn pool(graph: &mut Graph, block: BlockId) {
    let constants: Vec<NodeId> =
        graph.preorder(block).filter(|&node| graph.node(node).is(Prim::Constant)).collect();
    let written = written(graph, &constants);
    let mut known: FxHashMap<u64, SmallVec<[NodeId; 1]>> = FxHashMap::default();
    for node in constants {
        let alike = known.entry(hash(graph, node)).or_default();
        if let Some(&first) = alike.iter().find(|&&first| same(graph, first, node)) {
            let (old, new) = (graph.node(node).output(), graph.node(first).output());
            let is_written = written.contains(&old) || written.contains(&new);
            if !is_written || is_one_object(graph, old) {
                graph.replace_all_uses(old, new);
                graph.destroy(node);
            }
            continue;
        }
        alike.push(node);
        let front = graph.next(graph.param_node(block));
        graph.move_before(node, front);
    }
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
            // By their bits: two nans are one, -0.0 is not 0.0.
            (Some(Constant::Float(x)), Some(Constant::Float(y))) => x.to_bits() == y.to_bits(),
            // PyTorch never takes two generators for one, and two members of an enum only where both
            // are copies of one constant.
            (Some(Constant::Generator(..)), _) => false,
            (Some(Constant::Enum(..)), _) if !come_from_one_place(graph, a, b) => false,
            (Some(x), Some(y)) => x == y,
            _ => false,
        }
}

/// Whether a constant equal to this is the same object: an entry of an archive's table. What writes to one
/// writes to the other, so nothing changes where they become one.
fn is_one_object(graph: &Graph, value: ValueId) -> bool {
    matches!(graph.constant(value), Some(Constant::Tensor(_) | Constant::Object(..)))
}

/// Whether two nodes are copies of one, which is told by where they come from in source.
fn come_from_one_place(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    let (a, b) = (&graph.node(a).range, &graph.node(b).range);
    a.is_some() && a == b
}

/// The constants that something may write to: two equal ones stay two, if they are two objects.
fn written(graph: &Graph, constants: &[NodeId]) -> FxHashSet<ValueId> {
    let values = constants.iter().map(|&node| graph.node(node).output());
    let mutable: Vec<ValueId> = values.filter(|&value| is_mutable(graph.ty(value))).collect();
    if mutable.is_empty() {
        return FxHashSet::default();
    }
    let aliases = AliasAnalyser::new(graph);
    let written = aliases.all_written();
    let is_written = |value: &ValueId| {
        aliases.locations(*value).iter().any(|&location| written[location as usize])
    };
    mutable.into_iter().filter(is_written).collect()
}
