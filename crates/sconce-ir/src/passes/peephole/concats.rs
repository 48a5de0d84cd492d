//! Tensors concatenated and concatenated again.

use super::{insert_list, int, maker, written};
use crate::{Graph, NodeId, Prim, ValueId};

/// Puts the operands of the first concatenation among those of another, along the same dimension, in
/// its place where nothing else uses it. As in PyTorch, whatever is written to in between.
pub(super) fn peephole(graph: &mut Graph, nodes: &[NodeId], room: &mut usize) -> bool {
    let mut known = None;
    let mut changed = false;
    for &node in nodes {
        let Some((dim, list)) = concat(graph, node) else { continue };
        if graph.value(list).uses().len() != 1 {
            continue;
        }
        let elements = graph.node(maker(graph, list)).inputs().to_vec();
        let inner = elements.iter().enumerate().find_map(|(index, &element)| {
            let (inner_dim, operands) = concat(graph, maker(graph, element))?;
            let fits = inner_dim == dim && graph.value(element).uses().len() == 1;
            fits.then_some((index, operands))
        });
        let Some((index, operands)) = inner else { continue };
        // Lists made meanwhile have one use, which does not write.
        let written = known
            .get_or_insert_with(|| written(graph, nodes, Prim::ListConstruct).unwrap_or_default());
        if written.get(operands.0 as usize).copied().unwrap_or(false) {
            continue;
        }
        let operands = graph.node(maker(graph, operands)).inputs();
        let all = [&elements[..index], operands, &elements[index + 1..]].concat();
        let Some(new) = insert_list(graph, node, &all, list, room) else { continue };
        graph.replace_node_input(node, 0, new);
        changed = true;
    }
    changed
}

/// The dimension of a concatenation and its list, which is put together in the graph.
fn concat(graph: &Graph, id: NodeId) -> Option<(i64, ValueId)> {
    let node = graph.node(id);
    let &[list, dim] = node.inputs() else { return None };
    let is_concat = node.kind.symbol() == "aten::cat";
    let is_made = graph.node(maker(graph, list)).is(Prim::ListConstruct);
    int(graph, dim).filter(|_| is_concat && is_made).map(|dim| (dim, list))
}
