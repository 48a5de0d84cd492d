//! Orders what `prim::If` and `prim::Loop` give by its first use: PyTorch's `CanonicalizeOutputs`.

use std::cmp::Ordering;

use crate::{BlockId, Graph, Kind, NodeId, Prim, Use, ValueId};

/// Sorts the outputs of every `prim::If` and `prim::Loop` by where they are first used; those that
/// are not used come last, in the order they had.
pub fn canonicalize_outputs(graph: &mut Graph) {
    in_block(graph, graph.root());
    super::finish(graph, "canonicalize_outputs");
}

/// The order of a node's outputs depends on what comes after it, blocks of later nodes included, and
/// on nothing before.
fn in_block(graph: &mut Graph, block: BlockId) {
    let nodes: Vec<NodeId> = graph.block_nodes(block).rev().collect();
    for node in nodes {
        match graph.node(node).kind {
            Kind::Prim(Prim::If) => sort(graph, node, 0),
            Kind::Prim(Prim::Loop) => sort(graph, node, 1),
            _ => {}
        }
        for index in 0..graph.node(node).blocks().len() {
            in_block(graph, graph.node(node).blocks()[index]);
        }
    }
}

/// Sorts the outputs of a node; its blocks give `offset` values before those.
fn sort(graph: &mut Graph, node: NodeId, offset: usize) {
    let outputs = graph.node(node).outputs();
    let first: Vec<Option<Use>> = outputs.iter().map(|&output| first_use(graph, output)).collect();
    let mut order: Vec<usize> = (0..outputs.len()).collect();
    order.sort_by(|&a, &b| match (first[a], first[b]) {
        (Some(a), Some(b)) => compare(graph, a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(&b),
    });
    if order.is_sorted() {
        return;
    }
    graph.permute_outputs(node, 0, &order);
    let is_loop = graph.node(node).is(Prim::Loop);
    if is_loop {
        graph.permute_inputs(node, 2, &order);
    }
    for index in 0..graph.node(node).blocks().len() {
        let block = graph.node(node).blocks()[index];
        if is_loop {
            graph.permute_outputs(graph.param_node(block), 1, &order);
        }
        graph.permute_inputs(graph.return_node(block), offset, &order);
    }
}

fn first_use(graph: &Graph, value: ValueId) -> Option<Use> {
    let uses = graph.value(value).uses().iter().copied();
    uses.min_by(|&a, &b| compare(graph, a, b))
}

fn compare(graph: &Graph, a: Use, b: Use) -> Ordering {
    if a.user == b.user { a.index.cmp(&b.index) } else { graph.compare(a.user, b.user) }
}
