//! Gives closures graphs of their own: PyTorch's `liftClosures`.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::constant_pooling::pool;
use crate::{Attribute, BlockId, Graph, NodeId, Prim, Type, ValueId};

/// Turns the block of every `prim::Closure` into a graph that takes a tuple of what the block used
/// from outside, and the closure into a pair of itself and that tuple.
pub fn lift_closures(graph: &mut Graph) {
    // A closure's own closures are lifted in its graph.
    let mut closures = Vec::new();
    let mut blocks = vec![graph.root()];
    while let Some(block) = blocks.pop() {
        for node in graph.block_nodes(block) {
            if graph.node(node).is(Prim::Closure) {
                closures.push(node);
            } else {
                blocks.extend(graph.node(node).blocks().iter().copied());
            }
        }
    }
    for closure in closures {
        if !graph.node(closure).blocks().is_empty() {
            lift(graph, closure);
        }
    }
    super::finish(graph, "lift_closures");
}

fn lift(graph: &mut Graph, closure: NodeId) {
    let block = graph.node(closure).blocks()[0];
    pool(graph, block);
    let captures = captures(graph, block);
    let types: Vec<Type> = captures.iter().map(|&value| graph.ty(value).clone()).collect();
    let context_type = Type::tuple(types);
    let captured: FxHashSet<ValueId> = captures.iter().copied().collect();

    let mut body = Graph::new();
    let context = body.add_input(context_type.clone());
    body.set_name(context, "context");
    let unpack = body.new_node(Prim::TupleUnpack, &[context]);
    body.append(body.root(), unpack);
    let mut map = FxHashMap::default();
    let end = body.return_node(body.root());
    let nodes: Vec<NodeId> = graph.block_nodes(block).collect();
    // What is captured is unpacked when a copy first asks for it, which numbers are given by.
    for node in nodes {
        // What the transform of exits put there and nothing came to use.
        let outputs = graph.node(node).outputs();
        let is_dead = outputs.iter().all(|&output| graph.value(output).uses().is_empty());
        if is_dead && graph.node(node).is(Prim::Constant) {
            continue;
        }
        for value in used_by(graph, node) {
            if captured.contains(&value) {
                unpacked(graph, value, &mut body, unpack, &mut map);
            }
        }
        let copy = body.copy_node(graph, node, &mut map);
        body.insert_before(copy, end);
    }
    for &output in graph.block_outputs(block) {
        let output = unpacked(graph, output, &mut body, unpack, &mut map);
        body.add_block_output(body.root(), output);
    }
    lift_closures(&mut body);

    let pack = graph.new_node_with(Prim::TupleConstruct, &captures, context_type.clone());
    graph.insert_after(pack, closure);
    let function = graph.node(closure).output();
    let pair_type = Type::tuple(vec![graph.ty(function).clone(), context_type]);
    let pair = graph.new_node_with(Prim::TupleConstruct, &[], pair_type);
    graph.insert_after(pair, pack);
    graph.replace_all_uses(function, graph.node(pair).output());
    graph.add_node_input(pair, function);
    graph.add_node_input(pair, graph.node(pack).output());
    graph.erase_block(closure, 0);
    graph.node_mut(closure).set_attribute("Subgraph", Attribute::Graph(Arc::new(body)));
}

/// A value of the graph in the body of a closure, taken from its context unless it is there.
fn unpacked(
    graph: &Graph,
    value: ValueId,
    body: &mut Graph,
    unpack: NodeId,
    map: &mut FxHashMap<ValueId, ValueId>,
) -> ValueId {
    if let Some(&known) = map.get(&value) {
        return known;
    }
    let inner = body.add_output(unpack, graph.ty(value).clone());
    if let Some(name) = graph.value(value).name() {
        body.set_name(inner, name);
    }
    map.insert(value, inner);
    inner
}

/// What a node and its blocks use.
fn used_by(graph: &Graph, node: NodeId) -> Vec<ValueId> {
    let mut used = graph.node(node).inputs().to_vec();
    for &block in graph.node(node).blocks() {
        for inner in graph.preorder(block) {
            used.extend(graph.node(inner).inputs());
            for &deeper in graph.node(inner).blocks() {
                used.extend(graph.block_outputs(deeper));
            }
        }
        used.extend(graph.block_outputs(block));
    }
    used
}

/// What a block uses that is made outside of it, in the order of first use.
fn captures(graph: &Graph, block: BlockId) -> Vec<ValueId> {
    let mut inside: FxHashSet<ValueId> = graph.block_inputs(block).iter().copied().collect();
    for node in graph.preorder(block) {
        inside.extend(graph.node(node).outputs());
        for &inner in graph.node(node).blocks() {
            inside.extend(graph.block_inputs(inner));
        }
    }
    let mut captures = Vec::new();
    // In the order in which a copy of the block asks for them: a node's inputs, then its blocks,
    // then what they give.
    let mut open = vec![(block, graph.next(graph.param_node(block)))];
    while let Some((block, node)) = open.pop() {
        for &input in graph.node(node).inputs() {
            if inside.insert(input) {
                captures.push(input);
            }
        }
        if node == graph.return_node(block) {
            continue;
        }
        open.push((block, graph.next(node)));
        for &inner in graph.node(node).blocks().iter().rev() {
            open.push((inner, graph.next(graph.param_node(inner))));
        }
    }
    captures
}
