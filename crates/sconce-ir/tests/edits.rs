//! Random edits leave a graph that holds together.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use proptest::prelude::*;
use sconce_ir::{Graph, Kind, NodeId, Prim, Type, ValueId, passes, verify};

/// An edit, with numbers that pick what it works on.
#[derive(Clone, Debug)]
enum Edit {
    Append(u8, u8, u8),
    Branch(u8, u8),
    AddInput(u8, u8),
    InsertInput(u8, u8, u8),
    RemoveInput(u8, u8),
    ReplaceInput(u8, u8, u8),
    Replace(u8, u8),
    Permute,
    Move(u8, u8),
    Name(u8, u8),
    Destroy(u8),
    Output(u8),
    Clean,
}

fn edit() -> impl Strategy<Value = Edit> {
    let n = any::<u8>;
    prop_oneof![
        4 => (n(), n(), n()).prop_map(|(a, b, c)| Edit::Append(a, b, c)),
        2 => (n(), n()).prop_map(|(a, b)| Edit::Branch(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Edit::AddInput(a, b)),
        1 => (n(), n(), n()).prop_map(|(a, b, c)| Edit::InsertInput(a, b, c)),
        1 => (n(), n()).prop_map(|(a, b)| Edit::RemoveInput(a, b)),
        1 => (n(), n(), n()).prop_map(|(a, b, c)| Edit::ReplaceInput(a, b, c)),
        1 => (n(), n()).prop_map(|(a, b)| Edit::Replace(a, b)),
        1 => Just(Edit::Permute),
        1 => (n(), n()).prop_map(|(a, b)| Edit::Move(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Edit::Name(a, b)),
        1 => n().prop_map(Edit::Destroy),
        1 => n().prop_map(Edit::Output),
        1 => Just(Edit::Clean),
    ]
}

fn pick<T: Copy>(items: &[T], index: u8) -> Option<T> {
    (!items.is_empty()).then(|| items[index as usize % items.len()])
}

/// The nodes of the root block: every value they make is seen by those after them.
fn nodes(graph: &Graph) -> Vec<NodeId> {
    graph.block_nodes(graph.root()).filter(|&id| !graph.node(id).is(Prim::If)).collect()
}

/// What can be seen before a node of the root block.
fn visible(graph: &Graph, before: NodeId) -> Vec<ValueId> {
    let mut values = graph.inputs().to_vec();
    for node in graph.block_nodes(graph.root()) {
        if node == before {
            break;
        }
        values.extend(graph.node(node).outputs());
    }
    values
}

fn apply(graph: &mut Graph, edit: &Edit) {
    let all = nodes(graph);
    let end = graph.return_node(graph.root());
    match *edit {
        Edit::Append(a, b, at) => {
            let before = pick(&all, at).unwrap_or(end);
            let values = visible(graph, before);
            let inputs: Vec<ValueId> = [a, b].iter().filter_map(|&i| pick(&values, i)).collect();
            let kind = Kind::from_symbol("aten::add");
            let node = graph.new_node_with(kind, &inputs, Type::Tensor);
            graph.insert_before(node, before);
        }
        Edit::Branch(a, b) => {
            let values = visible(graph, end);
            let (Some(condition), Some(value)) = (pick(&values, a), pick(&values, b)) else {
                return;
            };
            let node = graph.new_node_with(Prim::If, &[condition], Type::Tensor);
            for _ in 0..2 {
                let block = graph.add_block(node);
                let kind = Kind::from_symbol("aten::relu");
                let inner = graph.new_node_with(kind, &[value], Type::Tensor);
                graph.append(block, inner);
                let output = graph.node(inner).output();
                graph.add_block_output(block, output);
            }
            graph.append(graph.root(), node);
        }
        Edit::AddInput(n, v) | Edit::InsertInput(n, v, _) => {
            let Some(node) = pick(&all, n) else { return };
            let Some(value) = pick(&visible(graph, node), v) else { return };
            match *edit {
                Edit::InsertInput(_, _, at) => {
                    let index = at as usize % (graph.node(node).inputs().len() + 1);
                    graph.insert_node_input(node, index, value);
                }
                _ => graph.add_node_input(node, value),
            }
        }
        Edit::RemoveInput(n, at) => {
            let Some(node) = pick(&all, n) else { return };
            let count = graph.node(node).inputs().len();
            if count > 0 {
                graph.remove_node_input(node, at as usize % count);
            }
        }
        Edit::ReplaceInput(n, at, v) => {
            let Some(node) = pick(&all, n) else { return };
            let count = graph.node(node).inputs().len();
            let Some(value) = pick(&visible(graph, node), v) else { return };
            if count > 0 {
                graph.replace_node_input(node, at as usize % count, value);
            }
        }
        Edit::Replace(n, v) => {
            let Some(node) = pick(&all, n) else { return };
            let Some(value) = pick(&visible(graph, node), v) else { return };
            graph.replace_all_uses(graph.node(node).output(), value);
        }
        Edit::Permute => passes::canonicalize_outputs(graph),
        Edit::Move(n, at) => {
            let (Some(node), Some(before)) = (pick(&all, n), pick(&all, at)) else { return };
            let output = graph.node(node).output();
            if graph.value(output).uses().is_empty() && graph.node(node).inputs().is_empty() {
                graph.move_before(node, before);
            }
        }
        Edit::Name(v, name) => {
            if let Some(value) = pick(&visible(graph, end), v) {
                graph.set_name(value, ["", "x", "x.1", "y"][name as usize % 4]);
            }
        }
        Edit::Destroy(n) => {
            let Some(node) = pick(&all, n) else { return };
            let output = graph.node(node).output();
            if graph.value(output).uses().is_empty() {
                graph.destroy(node);
            }
        }
        Edit::Output(v) => {
            if let Some(value) = pick(&visible(graph, end), v) {
                graph.add_block_output(graph.root(), value);
            }
        }
        Edit::Clean => passes::eliminate_dead_code(graph),
    }
}

proptest! {
    #[test]
    fn edits_keep_a_graph_whole(edits in proptest::collection::vec(edit(), 0..80)) {
        let mut graph = Graph::new();
        graph.add_input(Type::Tensor);
        graph.add_input(Type::Bool);
        for edit in &edits {
            apply(&mut graph, edit);
            if let Err(errors) = verify(&graph) {
                panic!("{edit:?}: {errors:?}\n{graph}");
            }
        }
        let text = graph.to_string();
        let again = Graph::parse(&text).unwrap();
        prop_assert_eq!(again.canonical_text(), graph.canonical_text());
    }

    #[test]
    fn no_text_panics(text in "(graph|\\(|\\)|%[ab1]|:| |int|\\[|\\]|=|prim::If|\n|block0|->|return|,|\"|[0-9.j-]){0,60}") {
        let _ = Graph::parse(&text);
    }

    #[test]
    fn prepending_and_appending_keep_order(at in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut graph = Graph::new();
        let mut order: Vec<NodeId> = Vec::new();
        for index in at {
            let place = index as usize % (order.len() + 1);
            let before = order.get(place).copied().unwrap_or(graph.return_node(graph.root()));
            let node = graph.new_node(Kind::from_symbol("aten::x"), &[]);
            graph.insert_before(node, before);
            order.insert(place, node);
        }
        prop_assert_eq!(graph.block_nodes(graph.root()).collect::<Vec<_>>(), order.clone());
        for pair in order.windows(2) {
            prop_assert!(graph.is_before(pair[0], pair[1]));
        }
    }
}
