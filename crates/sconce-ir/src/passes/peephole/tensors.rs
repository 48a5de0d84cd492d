//! What holds of tensors whatever their sizes.

use super::{int, literal, maker, replace, replace_by};
use crate::alias::AliasAnalyser;
use crate::{Constant, Graph, Kind, NodeId, Type, ValueId};

/// A matrix transposed twice, a number made a tensor and taken out again, and results that can only be
/// `None`.
pub(super) fn plain(graph: &mut Graph, id: NodeId) -> bool {
    let mut changed = false;
    for index in 0..graph.node(id).outputs().len() {
        let output = graph.node(id).outputs()[index];
        if *graph.ty(output) == Type::None && literal(graph, output).is_none() {
            let none = super::insert_constant(graph, id, &Constant::None);
            changed = replace(graph, output, none);
        }
    }
    let wanted = match graph.node(id).kind.symbol() {
        "aten::t" => "aten::t",
        "aten::Int"
        | "aten::Float"
        | "aten::IntImplicit"
        | "aten::FloatImplicit"
        | "aten::ScalarImplicit" => "prim::NumToTensor",
        _ => return changed,
    };
    let inner = maker(graph, graph.node(id).inputs()[0]);
    let is_wanted = graph.node(inner).kind.symbol() == wanted;
    changed | (is_wanted && replace(graph, graph.node(id).output(), graph.node(inner).inputs()[0]))
}

/// What depends on the memory of tensors: dimensions of results of convolutions, and sums with zero
/// and products with one, which are new memory.
pub(super) fn peephole(graph: &mut Graph, nodes: &[NodeId]) -> bool {
    let found: Vec<NodeId> = nodes.iter().copied().filter(|&id| applies(graph, id)).collect();
    if found.is_empty() {
        return false;
    }
    let aliases = AliasAnalyser::new(graph);
    let written = aliases.written_values();
    let is_written = |value: ValueId| written[value.0 as usize];
    let mut given = vec![false; aliases.location_count()];
    for &output in graph.outputs() {
        aliases.mark_locations(output, &mut given);
    }
    let escapes = |locations: &[u32]| {
        locations.iter().any(|&location| aliases.escapes(location) || given[location as usize])
    };
    // Of what was replaced before, the memory is not known any more.
    let mut stale = vec![false; aliases.location_count()];
    let is_safe = |id: &NodeId| {
        let (input, output) = (graph.node(*id).inputs()[0], graph.node(*id).output());
        if rank(graph, *id).is_some() {
            return !is_written(input);
        }
        if is_written(input) || is_written(output) {
            return false;
        }
        let both = [aliases.locations(input), aliases.locations(output)];
        if both.iter().all(|locations| escapes(locations))
            || both.iter().flatten().any(|&location| stale[location as usize])
        {
            return false;
        }
        both.iter().flatten().for_each(|&location| stale[location as usize] = true);
        true
    };
    let safe: Vec<NodeId> = found.into_iter().filter(is_safe).collect();
    for &id in &safe {
        match rank(graph, id) {
            Some(rank) => replace_by(graph, id, &Constant::Int(rank)),
            None => replace(graph, graph.node(id).output(), graph.node(id).inputs()[0]),
        };
    }
    !safe.is_empty()
}

fn applies(graph: &Graph, id: NodeId) -> bool {
    rank(graph, id).is_some() || is_identity(graph, id)
}

/// What `aten::dim` of the result of a convolution gives.
fn rank(graph: &Graph, id: NodeId) -> Option<i64> {
    let node = graph.node(id);
    if node.kind.symbol() != "aten::dim" {
        return None;
    }
    match graph.node(maker(graph, *node.inputs().first()?)).kind.symbol() {
        "aten::conv1d" => Some(3),
        "aten::conv2d" => Some(4),
        "aten::conv3d" => Some(5),
        _ => None,
    }
}

/// Whether a node gives a tensor equal to its first operand.
fn is_identity(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let Kind::Op(symbol) = &node.kind else { return false };
    let is = |value, wanted| int(graph, value) == Some(wanted);
    match (&**symbol, node.inputs()) {
        ("aten::mul", &[a, b]) => graph.ty(a).is_tensor() && is(b, 1),
        ("aten::add" | "aten::sub", &[a, b, alpha]) => {
            graph.ty(a).is_tensor() && is(b, 0) && is(alpha, 1)
        }
        _ => false,
    }
}
