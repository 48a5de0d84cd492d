//! Makes loops that both count and ask a condition `while` loops: PyTorch's
//! `CanonicalizeModifiedLoops`.

use sconce_syntax::SourceRange;

use crate::{Constant, Graph, Kind, NodeId, Prim, Type, ValueId, operators};

/// Turns every `prim::Loop` that has a trip count as well as a condition into one with a condition
/// alone, whose counter is carried.
pub fn canonicalize_modified_loops(graph: &mut Graph) {
    // Inner loops first, and of two loops the earlier one.
    let mut loops = Vec::new();
    let mut open: Vec<NodeId> = Vec::new();
    for node in graph.preorder(graph.root()) {
        let owner = graph.node(node).owner().and_then(|block| graph.block_owner(block));
        while open.last().is_some_and(|_| open.last().copied() != owner) {
            loops.extend(open.pop());
        }
        if !graph.node(node).blocks().is_empty() {
            open.push(node);
        }
    }
    loops.extend(open.into_iter().rev());
    for node in loops {
        if graph.node(node).is(Prim::Loop) && is_modified(graph, node) {
            rewrite(graph, node);
        }
    }
    super::finish(graph, "canonicalize_modified_loops");
}

/// Whether a loop counts and asks.
fn is_modified(graph: &Graph, node: NodeId) -> bool {
    let at = graph.node(node);
    let (&[count, condition, ..], &[body, ..]) = (at.inputs(), at.blocks()) else { return false };
    let (Some(&next), Some(&trip)) =
        (graph.block_outputs(body).first(), graph.block_inputs(body).first())
    else {
        return false;
    };
    let is_true = |value| graph.constant(value) == Some(Constant::Bool(true));
    let counts = graph.constant(count) != Some(Constant::Int(i64::MAX))
        || !graph.value(trip).uses().is_empty();
    counts && !(is_true(condition) && is_true(next))
}

fn rewrite(graph: &mut Graph, node: NodeId) {
    let (count, condition) = (graph.node(node).inputs()[0], graph.node(node).inputs()[1]);
    let body = graph.node(node).blocks()[0];
    let trip = graph.block_inputs(body)[0];
    let range = graph.node(node).range.clone();

    let zero = constant(graph, 0, node);
    let one = constant(graph, 1, node);
    let mut start = call(graph, ("aten::gt", "int"), &[count, zero], Type::Bool, node);
    let unbounded = constant(graph, i64::MAX, node);
    graph.replace_node_input(node, 0, unbounded);
    if graph.constant(condition) != Some(Constant::Bool(true)) {
        start = call(graph, ("aten::__and__", "bool"), &[start, condition], Type::Bool, node);
    }
    graph.replace_node_input(node, 1, start);

    graph.add_output(node, Type::Int);
    graph.add_node_input(node, zero);
    let counter = graph.add_block_input(body, Type::Int);
    graph.set_name(trip, "");
    graph.replace_all_uses(trip, counter);

    let end = graph.return_node(body);
    let following = call(graph, ("aten::add", "int"), &[counter, one], Type::Int, end);
    graph.add_block_output(body, following);
    let below = call(graph, ("aten::lt", "int"), &[following, count], Type::Bool, end);
    let goes_on = graph.block_outputs(body)[0];
    let next = call(graph, ("aten::__and__", "bool"), &[below, goes_on], Type::Bool, end);
    graph.replace_node_input(end, 0, next);
    graph.node_mut(node).range = range;
}

fn constant(graph: &mut Graph, value: i64, before: NodeId) -> ValueId {
    let node = graph.new_constant(&Constant::Int(value));
    graph.insert_before(node, before);
    graph.node(node).output()
}

fn call(
    graph: &mut Graph,
    (symbol, overload): (&str, &str),
    inputs: &[ValueId],
    output: Type,
    before: NodeId,
) -> ValueId {
    let node = graph.new_node_with(Kind::from_symbol(symbol), inputs, output);
    graph.node_mut(node).operator = operators::find(symbol, overload).map(|operator| operator.id);
    graph.node_mut(node).range = Some(SourceRange::fake());
    graph.insert_before(node, before);
    graph.node(node).output()
}
