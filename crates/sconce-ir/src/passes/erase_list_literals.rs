//! Gives `[]` without a type the type of a list of tensors: PyTorch's `EraseListLiterals`.

use crate::{Graph, NodeId, Prim, Type};

/// Replaces every `prim::EmptyListLiteral` that is used by an empty list of tensors.
pub fn erase_list_literals(graph: &mut Graph) {
    let is_literal = |&node: &NodeId| graph.node(node).is(Prim::EmptyListLiteral);
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).filter(is_literal).collect();
    for node in nodes {
        let literal = graph.node(node).output();
        if !graph.value(literal).uses().is_empty() {
            let list = graph.new_node_with(Prim::ListConstruct, &[], Type::list(Type::Tensor));
            graph.insert_before(list, node);
            graph.replace_all_uses(literal, graph.node(list).output());
        }
        graph.destroy(node);
    }
    super::finish(graph, "erase_list_literals");
}
