//! Replaces calls by the bodies of what is called: PyTorch's `Inline`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{ClassId, FunctionId, Graph, Kind, NodeId, Prim, Type, Unit};

/// How many nodes a graph may come to have; calls can make it grow exponentially.
const MAX_NODES: usize = 1_000_000;

/// How deep calls may nest; a function that calls itself has no end.
const MAX_CALLS: usize = 512;

/// Why calls cannot be replaced by bodies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InlineError {
    /// The graph would be too large.
    #[error("the graph has more than {MAX_NODES} nodes once all calls in it are inlined")]
    TooLarge,
    /// Calls nest too deeply.
    #[error("function '{0}' is called recursively. Recursive calls are not supported")]
    Recursive(Arc<str>),
    /// A call gives another number of arguments than the graph takes.
    #[error("'{0}' is called with {1} arguments but takes {2}")]
    Arguments(Arc<str>, usize, usize),
}

/// Replaces `prim::CallFunction` and `prim::CallMethod` of functions that have graphs by those
/// graphs, calls in them included. Calls of interfaces' methods, and of functions without a graph,
/// stay.
///
/// # Errors
/// When a function calls itself or the graph grows too large.
pub fn inline(graph: &mut Graph, unit: &Unit) -> Result<(), InlineError> {
    let nodes: Vec<NodeId> = graph.walk(graph.root()).collect();
    // What is being inlined, with the nodes of its body still to be looked at.
    let mut open: Vec<(Option<FunctionId>, std::vec::IntoIter<NodeId>)> =
        vec![(None, nodes.into_iter())];
    while let Some((_, nodes)) = open.last_mut() {
        let Some(node) = nodes.next() else {
            open.pop();
            continue;
        };
        let Some(callee) = callee(graph, node, unit) else { continue };
        let function = unit.function(callee);
        let Some(body) = &function.graph else { continue };
        if open.len() > MAX_CALLS || open.iter().any(|(caller, _)| *caller == Some(callee)) {
            return Err(InlineError::Recursive(Arc::clone(&function.qualified_name)));
        }
        let inlined = replace(graph, node, body, &function.qualified_name)?;
        if graph.node_count() > MAX_NODES {
            return Err(InlineError::TooLarge);
        }
        open.push((Some(callee), inlined.into_iter()));
    }
    super::finish(graph, "inline");
    Ok(())
}

/// The function that a node calls.
fn callee(graph: &Graph, node: NodeId, unit: &Unit) -> Option<FunctionId> {
    let at = graph.node(node);
    let first = graph.ty(*at.inputs().first()?);
    match (&at.kind, first) {
        (Kind::Prim(Prim::CallFunction), Type::Function(function)) => unit
            .functions()
            .nth(function.id as usize)
            .map(|(id, _)| id)
            .or_else(|| unit.find_function(&function.name)),
        (Kind::Prim(Prim::CallMethod), Type::Class(class)) => {
            unit.find_method(ClassId(class.id), at.str_attribute("name")?)
        }
        _ => None,
    }
}

/// Puts a graph in the place of a call, and gives the calls that came with it.
fn replace(
    graph: &mut Graph,
    call: NodeId,
    body: &Graph,
    name: &Arc<str>,
) -> Result<Vec<NodeId>, InlineError> {
    let skip = usize::from(graph.node(call).is(Prim::CallFunction));
    let arguments = graph.node(call).inputs().get(skip..).unwrap_or_default();
    if arguments.len() != body.inputs().len()
        || graph.node(call).outputs().len() != body.outputs().len()
    {
        let (given, taken) = (arguments.len(), body.inputs().len());
        return Err(InlineError::Arguments(Arc::clone(name), given, taken));
    }
    let mut map: FxHashMap<_, _> =
        body.inputs().iter().copied().zip(arguments.iter().copied()).collect();
    let before = graph.previous(call);
    let results = graph.insert_copy(body, body.root(), call, &mut map);
    let outputs = graph.node(call).outputs().to_vec();
    for (output, result) in outputs.into_iter().zip(results) {
        graph.take_name(output, result);
        graph.replace_all_uses(output, result);
    }
    let mut calls = Vec::new();
    let mut node = graph.next(before);
    while node != call {
        calls.push(node);
        for &block in graph.node(node).blocks() {
            calls.extend(graph.walk(block));
        }
        node = graph.next(node);
    }
    calls.retain(|&node| {
        matches!(graph.node(node).kind, Kind::Prim(Prim::CallFunction | Prim::CallMethod))
    });
    graph.destroy(call);
    Ok(calls)
}
