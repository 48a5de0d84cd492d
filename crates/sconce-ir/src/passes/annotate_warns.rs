//! Numbers the calls of `warnings.warn`: PyTorch's `AnnotateWarns`.

use crate::{Attribute, Graph, NodeId};

/// Gives every `aten::warn` an attribute `warn_id`, from `next` on, so that each place warns once.
/// PyTorch counts through the whole process.
pub fn annotate_warns(graph: &mut Graph, next: &mut i64) {
    let warns = |&node: &NodeId| graph.node(node).kind.symbol() == "aten::warn";
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).filter(warns).collect();
    for node in nodes {
        graph.node_mut(node).set_attribute("warn_id", Attribute::Int(*next));
        *next += 1;
    }
    super::finish(graph, "annotate_warns");
}
