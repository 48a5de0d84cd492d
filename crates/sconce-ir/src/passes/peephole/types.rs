//! What types alone decide.

use super::{literal, replace, replace_by};
use crate::{Attribute, Constant, Graph, Kind, NodeId, Prim, Type, Unit, ValueId};

/// Removes casts and unwraps that change nothing, decides comparisons with `None`, and takes the
/// condition of a `prim::If` for its output where that says the same.
pub(super) fn peephole(graph: &mut Graph, id: NodeId, unit: &Unit) -> bool {
    let node = graph.node(id);
    match (&node.kind, node.inputs()) {
        (Kind::Prim(Prim::If), &[condition]) => branches(graph, id, condition, unit),
        (Kind::Prim(Prim::UncheckedCast), &[input]) => {
            graph.ty(input).is_subtype_of(graph.ty(node.output()), unit)
                && replace(graph, node.output(), input)
        }
        (Kind::Prim(Prim::UncheckedUnwrapOptional), &[input]) => unwrap(graph, id, input),
        (Kind::Op(symbol), inputs) => match (&**symbol, inputs) {
            ("aten::_unwrap_optional", &[input]) => unwrap(graph, id, input),
            ("aten::Int", &[input]) if *graph.ty(input) == Type::Int => {
                replace(graph, node.output(), input)
            }
            ("aten::__is__" | "aten::__isnot__", &[a, b]) => {
                let is_decided =
                    |none, other| must_be_none(graph, none) && never_none(graph.ty(other));
                let constant = Constant::Bool(&**symbol == "aten::__isnot__");
                (is_decided(a, b) || is_decided(b, a)) && replace_by(graph, id, &constant)
            }
            _ => false,
        },
        _ => false,
    }
}

fn unwrap(graph: &mut Graph, id: NodeId, input: ValueId) -> bool {
    never_none(graph.ty(input)) && replace(graph, graph.node(id).output(), input)
}

fn must_be_none(graph: &Graph, value: ValueId) -> bool {
    *graph.ty(value) == Type::None
        || (matches!(graph.ty(value), Type::Optional(_))
            && matches!(literal(graph, value), Some(None)))
}

/// Whether no value of a type is `None`; as PyTorch has it, this holds of `Any`.
fn never_none(ty: &Type) -> bool {
    match ty {
        Type::None | Type::Optional(_) => false,
        Type::Union(members) => !members.contains(&Type::None),
        _ => true,
    }
}

fn branches(graph: &mut Graph, id: NodeId, condition: ValueId, unit: &Unit) -> bool {
    let &[yes, no] = graph.node(id).blocks() else { return false };
    let mut changed = false;
    for index in 0..graph.node(id).outputs().len() {
        let output = graph.node(id).outputs()[index];
        let (a, b) = (graph.block_outputs(yes)[index], graph.block_outputs(no)[index]);
        let truth = |value| match literal(graph, value)? {
            Some(&Attribute::Int(int)) => Some(int != 0),
            _ => None,
        };
        if *graph.ty(output) == Type::Bool {
            if truth(a) == Some(true) && truth(b) == Some(false) {
                changed |= replace(graph, output, condition);
            }
        } else if matches!(graph.ty(output), Type::Optional(_)) {
            let (a, b) = (graph.ty(a), graph.ty(b));
            let optional = |ty: &Type| matches!(ty, Type::Optional(_));
            if optional(a) || optional(b) {
                continue;
            }
            if let Some(ty) = Type::unify(a, b, false, None, unit) {
                graph.set_type(output, ty);
                changed = true;
            }
        }
    }
    changed
}
