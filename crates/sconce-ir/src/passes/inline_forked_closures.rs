//! Gives `prim::fork` the graph of the closure it runs: PyTorch's `inlineForkedClosures`.

use std::sync::Arc;

use crate::{Attribute, Graph, Kind, NodeId, Prim};

/// What is forked is not a function made in the graph; the node is the fork.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Cannot fork this value")]
pub struct CannotFork {
    /// The `prim::forkClosure`.
    pub node: NodeId,
}

/// Replaces every `prim::forkClosure` of a lifted closure by a `prim::fork` whose graph takes the
/// closed-over values one by one; `prim::awaitableClosure` likewise.
///
/// # Errors
/// When what is forked is not a closure without parameters.
pub fn inline_forked_closures(graph: &mut Graph) -> Result<(), CannotFork> {
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).collect();
    for node in nodes {
        match graph.node(node).kind {
            Kind::Prim(Prim::ForkClosure) => replace(graph, node, Prim::Fork)?,
            Kind::Prim(Prim::AwaitableClosure) => replace(graph, node, Prim::Awaitable)?,
            _ => {}
        }
    }
    super::finish(graph, "inline_forked_closures");
    Ok(())
}

fn replace(graph: &mut Graph, node: NodeId, kind: Prim) -> Result<(), CannotFork> {
    let error = CannotFork { node };
    let (mut body, captures) = closure(graph, node).ok_or(error.clone())?;

    let &[context] = body.inputs() else { return Err(error) };
    let &[only] = body.value(context).uses() else { return Err(error) };
    let unpack = only.user;
    let elements = body.node(unpack).outputs().to_vec();
    if !body.node(unpack).is(Prim::TupleUnpack) || elements.len() != captures.len() {
        return Err(error);
    }
    for (index, (&capture, element)) in captures.iter().zip(elements).enumerate() {
        let input = body.insert_block_input(body.root(), index, graph.ty(capture).clone());
        if let Some(name) = graph.value(capture).name() {
            body.set_name(input, name);
        }
        body.replace_all_uses(element, input);
    }
    body.destroy(unpack);
    body.erase_block_input(body.root(), captures.len());
    inline_forked_closures(&mut body)?;

    let old = graph.node(node).output();
    let fork = graph.new_node_with(kind, &captures, graph.ty(old).clone());
    graph.node_mut(fork).range = graph.node(node).range.clone();
    graph.node_mut(fork).set_attribute("Subgraph", Attribute::Graph(Arc::new(body)));
    graph.insert_after(fork, node);
    let new = graph.node(fork).output();
    if let Some(name) = graph.value(old).name().map(str::to_owned) {
        graph.set_name(new, &name);
    }
    graph.replace_all_uses(old, new);
    graph.destroy(node);
    Ok(())
}

/// The graph of the closure that is forked, and what it closes over.
fn closure(graph: &Graph, fork: NodeId) -> Option<(Graph, Vec<crate::ValueId>)> {
    let &[pair] = graph.node(fork).inputs() else { return None };
    let &[function, context] = graph.node(graph.value(pair).node()).inputs() else { return None };
    let (function, context) = (graph.value(function).node(), graph.value(context).node());
    if !graph.node(function).is(Prim::Closure) || !graph.node(context).is(Prim::TupleConstruct) {
        return None;
    }
    match graph.node(function).attribute("Subgraph")? {
        Attribute::Graph(body) => Some((Graph::clone(body), graph.node(context).inputs().to_vec())),
        _ => None,
    }
}
