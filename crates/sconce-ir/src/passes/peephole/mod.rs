//! Small patterns that have a shorter form: PyTorch's `PeepholeOptimize`, without what needs the sizes
//! of tensors.

mod arithmetic;
mod concats;
mod dicts;
mod lists;
mod tensors;
mod types;

use super::eliminate_dead_code;
use crate::alias::AliasAnalyser;
use crate::{Attribute, BlockId, Constant, Graph, Kind, NodeId, Prim, Type, Unit, ValueId};

/// How many elements lists made in one go may have together; sums of lists double.
const MAX_ELEMENTS: usize = 1_000_000;

/// Replaces what is known of numbers made to tensors, lists, dicts, types and sums by what it is, and
/// says whether anything changed; if so dead code is removed. As in PyTorch, one kind of pattern is
/// looked for after the other, each once, in the order of the program: what only a later one makes
/// plain stays. As there, the quotient of an int and 1 is the int.
pub fn peephole(graph: &mut Graph, unit: &Unit) -> bool {
    let mut nodes = Vec::new();
    collect(graph, graph.root(), &mut nodes);
    let (mut changed, mut room) = (false, MAX_ELEMENTS);
    for &node in &nodes {
        changed |= tensors::plain(graph, node);
    }
    changed |= lists::peephole(graph, &nodes, &mut room);
    changed |= dicts::peephole(graph, &nodes);
    changed |= tensors::peephole(graph, &nodes);
    for &node in &nodes {
        changed |= types::peephole(graph, node, unit) || arithmetic::peephole(graph, node);
    }
    changed |= concats::peephole(graph, &nodes, &mut room);
    super::finish(graph, "peephole");
    if changed {
        eliminate_dead_code(graph);
    }
    changed
}

/// The nodes of a block, each after those of its own blocks.
fn collect(graph: &Graph, block: BlockId, nodes: &mut Vec<NodeId>) {
    for node in graph.block_nodes(block) {
        for &inner in graph.node(node).blocks() {
            collect(graph, inner, nodes);
        }
        nodes.push(node);
    }
}

/// Puts one value in the place of another.
#[inline(never)]
fn replace(graph: &mut Graph, old: ValueId, new: ValueId) -> bool {
    graph.replace_all_uses(old, new);
    true
}

/// Puts a constant in the place of what a node gives.
#[inline(never)]
fn replace_by(graph: &mut Graph, id: NodeId, constant: &Constant) -> bool {
    let made = insert_constant(graph, id, constant);
    replace(graph, graph.node(id).output(), made)
}

#[inline(never)]
fn insert_constant(graph: &mut Graph, before: NodeId, constant: &Constant) -> ValueId {
    let node = graph.new_constant(constant);
    graph.insert_before(node, before);
    graph.node(node).output()
}

/// Makes a list before a node, of the type of another; nothing where there is no room for it.
fn insert_list(
    graph: &mut Graph,
    before: NodeId,
    elements: &[ValueId],
    like: ValueId,
    room: &mut usize,
) -> Option<ValueId> {
    *room = room.checked_sub(elements.len())?;
    let ty = graph.ty(like).clone();
    let node = graph.new_node_with(Prim::ListConstruct, elements, ty);
    graph.insert_before(node, before);
    Some(graph.node(node).output())
}

#[inline(never)]
fn maker(graph: &Graph, value: ValueId) -> NodeId {
    graph.value(value).node()
}

/// The value of a constant int. Not inlined, as what else is called all over: the binary is to be small.
#[inline(never)]
fn int(graph: &Graph, value: ValueId) -> Option<i64> {
    match (graph.ty(value), literal(graph, value)) {
        (Type::Int, Some(Some(&Attribute::Int(int)))) => Some(int),
        _ => None,
    }
}

/// What a constant holds, if it holds anything; nothing for what is not a constant.
#[inline(never)]
fn literal(graph: &Graph, value: ValueId) -> Option<Option<&Attribute>> {
    let node = graph.node(maker(graph, value));
    node.is(Prim::Constant).then(|| node.attribute("value"))
}

/// For each value, whether anything may write to it; nothing where no node of this kind is.
#[inline(never)]
fn written(graph: &Graph, nodes: &[NodeId], kind: Prim) -> Option<Vec<bool>> {
    let any = nodes.iter().any(|&node| graph.node(node).kind == Kind::Prim(kind));
    any.then(|| AliasAnalyser::new(graph).written_values())
}
