//! Takes apart tuples that are put together in the graph: PyTorch's `LowerSimpleTuples`.

use super::eliminate_dead_code;
use crate::{Attribute, Constant, Graph, Kind, NodeId, Prim, Type};

/// Replaces what is taken out of a tuple by what was put in, then removes dead code.
pub fn lower_simple_tuples(graph: &mut Graph) {
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).collect();
    for node in nodes {
        lower(graph, node);
    }
    super::finish(graph, "lower_simple_tuples");
    eliminate_dead_code(graph);
}

fn lower(graph: &mut Graph, node: NodeId) {
    let Kind::Prim(prim @ (Prim::TupleUnpack | Prim::TupleIndex | Prim::TupleSlice)) =
        graph.node(node).kind
    else {
        return;
    };
    let Some(&tuple) = graph.node(node).inputs().first() else { return };
    let construct = graph.value(tuple).node();
    if !graph.node(construct).is(Prim::TupleConstruct) {
        return;
    }
    let elements = graph.node(construct).inputs().to_vec();
    match prim {
        Prim::TupleUnpack => {
            let outputs = graph.node(node).outputs().to_vec();
            for (output, element) in outputs.into_iter().zip(elements) {
                graph.replace_all_uses(output, element);
            }
        }
        Prim::TupleIndex => {
            let index = graph.node(node).inputs().get(1).and_then(|&index| graph.constant(index));
            let Some(Constant::Int(index)) = index else { return };
            let index = if index < 0 { index + elements.len() as i64 } else { index };
            let element = usize::try_from(index).ok().and_then(|index| elements.get(index));
            if let Some(&element) = element {
                graph.replace_all_uses(graph.node(node).output(), element);
            }
        }
        _ => {
            let bound = |name| match graph.node(node).attribute(name) {
                Some(&Attribute::Int(bound)) => usize::try_from(bound).ok(),
                _ => None,
            };
            let (Some(from), Some(to)) = (bound("beg"), bound("end")) else { return };
            let Some(part) = elements.get(from..to) else { return };
            let types = part.iter().map(|&element| graph.ty(element).clone()).collect();
            let new = graph.new_node_with(Prim::TupleConstruct, part, Type::tuple(types));
            graph.insert_before(new, node);
            graph.replace_all_uses(graph.node(node).output(), graph.node(new).output());
        }
    }
}
