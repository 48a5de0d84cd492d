//! Replaces calls by the bodies of what is called: PyTorch's `Inline`, which takes bodies that it has
//! optimised, and the same with the bodies as they are.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{constant_pooling, constant_propagation_immutable_types, peephole};
use crate::{ClassId, FunctionId, Graph, Kind, MAX_BLOCK_DEPTH, NodeId, Prim, Type, Unit};

/// How many nodes a graph may come to have; calls can make it grow exponentially.
const MAX_NODES: usize = 1_000_000;

/// How many nodes the bodies may have together that are optimised to be inlined.
const MAX_BODIES: usize = MAX_NODES / 2;

/// How deep calls may nest; a function that calls itself has no end.
const MAX_CALLS: usize = 512;

/// Why calls cannot be replaced by bodies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InlineError {
    /// The graph would be too large.
    #[error("the graph has more than {MAX_NODES} nodes once all calls in it are inlined")]
    TooLarge,
    /// Blocks would nest too deeply.
    #[error(
        "the graph has more than {MAX_BLOCK_DEPTH} blocks in each other once all calls in it are inlined"
    )]
    TooDeep,
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
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).collect();
    // What is being inlined, with the nodes of its body still to be looked at.
    let mut open: Vec<(Option<FunctionId>, std::vec::IntoIter<NodeId>)> =
        vec![(None, nodes.into_iter())];
    while let Some((_, nodes)) = open.last_mut() {
        let Some(node) = nodes.next() else {
            open.pop();
            continue;
        };
        let Some((callee, body)) = callee(graph, node, unit) else { continue };
        let function = unit.function(callee);
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

/// The same with bodies that are optimised: [`peephole`], [`constant_propagation_immutable_types`] and
/// [`constant_pooling`] are applied to each once the calls in it are inlined. The graph itself is
/// not optimised.
///
/// # Errors
/// As [`inline`]; bodies that are too large together count as well.
pub fn inline_optimized(graph: &mut Graph, unit: &Unit) -> Result<(), InlineError> {
    let mut bodies: FxHashMap<FunctionId, Graph> = FxHashMap::default();
    let mut made = 0;
    // Functions whose calls are to be inlined, each with those it calls that are not looked at yet.
    let mut open: Vec<(Option<FunctionId>, Vec<FunctionId>)> = vec![(None, callees(graph, unit))];
    while let Some((function, callees)) = open.last_mut() {
        if let Some(callee) = callees.pop() {
            if bodies.contains_key(&callee) {
                continue;
            }
            let function = unit.function(callee);
            if open.len() > MAX_CALLS || open.iter().any(|(caller, _)| *caller == Some(callee)) {
                return Err(InlineError::Recursive(Arc::clone(&function.qualified_name)));
            }
            let inner = function.graph.as_ref().map(|body| self::callees(body, unit));
            open.push((Some(callee), inner.unwrap_or_default()));
            continue;
        }
        let function = function.take();
        open.pop();
        let Some((function, body)) =
            function.and_then(|id| Some((id, unit.function(id).graph.as_ref()?)))
        else {
            continue;
        };
        let mut body = body.renumbered();
        replace_all(&mut body, unit, &bodies)?;
        made += body.node_count();
        if made > MAX_BODIES {
            return Err(InlineError::TooLarge);
        }
        peephole(&mut body, unit);
        constant_propagation_immutable_types(&mut body);
        constant_pooling(&mut body);
        bodies.insert(function, body);
    }
    replace_all(graph, unit, &bodies)?;
    super::finish(graph, "inline_optimized");
    Ok(())
}

/// The functions with graphs that a graph calls, the first last.
fn callees(graph: &Graph, unit: &Unit) -> Vec<FunctionId> {
    let calls = graph.preorder(graph.root()).filter_map(|node| callee(graph, node, unit));
    let mut callees: Vec<FunctionId> = calls.map(|(id, _)| id).collect();
    callees.reverse();
    callees
}

/// Puts bodies in the place of calls.
fn replace_all(
    graph: &mut Graph,
    unit: &Unit,
    bodies: &FxHashMap<FunctionId, Graph>,
) -> Result<(), InlineError> {
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).collect();
    for node in nodes {
        let body = callee(graph, node, unit).and_then(|(id, _)| Some((id, bodies.get(&id)?)));
        let Some((id, body)) = body else { continue };
        replace(graph, node, body, &unit.function(id).qualified_name)?;
        if graph.node_count() > MAX_NODES {
            return Err(InlineError::TooLarge);
        }
    }
    Ok(())
}

/// The function that a node calls, and its graph.
fn callee<'u>(graph: &Graph, node: NodeId, unit: &'u Unit) -> Option<(FunctionId, &'u Graph)> {
    let at = graph.node(node);
    let first = graph.ty(*at.inputs().first()?);
    let id = match (&at.kind, first) {
        (Kind::Prim(Prim::CallFunction), Type::Function(function)) => unit
            .functions()
            .nth(function.id as usize)
            .map(|(id, _)| id)
            .or_else(|| unit.find_function(&function.name)),
        (Kind::Prim(Prim::CallMethod), Type::Class(class)) => {
            unit.find_method(ClassId(class.id), at.str_attribute("name")?)
        }
        _ => None,
    }?;
    Some((id, unit.function(id).graph.as_deref()?))
}

/// How many blocks are in each other in a graph, its own not counted.
fn depth(graph: &Graph) -> usize {
    let holders =
        graph.preorder(graph.root()).filter(|&node| !graph.node(node).blocks().is_empty());
    holders.map(|node| graph.depth(node) + 1).max().unwrap_or(0)
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
    if graph.depth(call) + depth(body) > MAX_BLOCK_DEPTH {
        return Err(InlineError::TooDeep);
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
            calls.extend(graph.preorder(block));
        }
        node = graph.next(node);
    }
    calls.retain(|&node| {
        matches!(graph.node(node).kind, Kind::Prim(Prim::CallFunction | Prim::CallMethod))
    });
    graph.destroy(call);
    Ok(calls)
}
