//! One name for each operator: PyTorch's `NormalizeOps`.

use rustc_hash::FxHashMap;

use crate::{Graph, Kind, NodeId, Type, operators};

/// Gives operators that have several names the one that PyTorch keeps, `rsub` the form of `sub`, and
/// `is` between bools that of `==`.
pub fn normalize_ops(graph: &mut Graph) {
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).collect();
    for node in nodes {
        let Kind::Op(symbol) = &graph.node(node).kind else { continue };
        let Some(name) = symbol.strip_prefix("aten::") else { continue };
        if let Some(other) = operators::normal_name(name) {
            rename(graph, node, other);
            continue;
        }
        match name {
            "rsub" if takes_two_tensors(graph, node) => {
                let (a, b) = (graph.node(node).inputs()[0], graph.node(node).inputs()[1]);
                graph.replace_node_input(node, 0, b);
                graph.replace_node_input(node, 1, a);
                rename(graph, node, "sub");
            }
            "__is__" if takes_bools(graph, node) => rename(graph, node, "eq"),
            "__isnot__" if takes_bools(graph, node) => rename(graph, node, "ne"),
            _ => {}
        }
    }
    super::finish(graph, "normalize_ops");
}

/// Puts another operator in the place of a node, whose values are new ones.
fn rename(graph: &mut Graph, node: NodeId, name: &str) {
    let mut map = FxHashMap::default();
    let new = graph.duplicate_node(node, &mut map);
    graph.insert_before(new, node);
    let outputs = graph.node(node).outputs().to_vec();
    for output in outputs {
        if let Some(&replacement) = map.get(&output) {
            graph.replace_all_uses(output, replacement);
        }
    }
    graph.destroy(node);
    let at = graph.node_mut(new);
    at.kind = Kind::Op(format!("aten::{name}").into());
    at.operator = None;
    graph.node_mut(new).operator = graph.operator(new).map(|operator| operator.id);
}

fn takes_two_tensors(graph: &Graph, node: NodeId) -> bool {
    match graph.node(node).inputs() {
        [a, b, _] => graph.ty(*a).is_tensor() && graph.ty(*b).is_tensor(),
        _ => false,
    }
}

fn takes_bools(graph: &Graph, node: NodeId) -> bool {
    let inputs = graph.node(node).inputs();
    inputs.len() == 2 && inputs.iter().all(|&input| *graph.ty(input) == Type::Bool)
}
