//! Sums and products of ints with constants, and numbers compared with themselves.

use super::{insert_constant, int, maker, replace, replace_by};
use crate::{Constant, Graph, NodeId, Type};

/// Removes what changes nothing, adds up constants that are added one after the other, and puts
/// constants second.
pub(super) fn peephole(graph: &mut Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let &[a, b] = node.inputs() else { return false };
    let symbol = node.kind.symbol();
    if matches!(symbol, "aten::eq" | "aten::ne") {
        let constant = Constant::Bool(symbol == "aten::eq");
        return a == b && is_plain(graph.ty(a)) && replace_by(graph, id, &constant);
    }
    let is_int = |value| *graph.ty(value) == Type::Int;
    if !is_int(a) || !is_int(b) {
        return false;
    }
    let is_product = matches!(symbol, "aten::mul" | "aten::floordiv" | "aten::div");
    let is_sum = matches!(symbol, "aten::add" | "aten::sub");
    if !is_product && !is_sum {
        return false;
    }
    let is_adding = symbol == "aten::add";
    let (a, b) = if (is_adding || symbol == "aten::mul") && int(graph, a).is_some() {
        graph.replace_node_input(id, 0, b);
        graph.replace_node_input(id, 1, a);
        (b, a)
    } else {
        (a, b)
    };
    let Some(constant) = int(graph, b) else { return false };
    if constant == i64::from(is_product) {
        return replace(graph, graph.node(id).output(), a);
    }
    is_sum && merge(graph, id, constant, is_adding)
}

/// `x + 1 + 2` is `x + 3`.
fn merge(graph: &mut Graph, id: NodeId, constant: i64, is_adding: bool) -> bool {
    let inner = graph.node(maker(graph, graph.node(id).inputs()[0]));
    let is_inner_adding = match inner.kind.symbol() {
        "aten::add" => true,
        "aten::sub" => false,
        _ => return false,
    };
    let &[first, second] = inner.inputs() else { return false };
    let Some(other) = int(graph, second).filter(|_| *graph.ty(first) == Type::Int) else {
        return false;
    };
    let total = match is_adding == is_inner_adding {
        true => constant.wrapping_add(other),
        false => constant.wrapping_sub(other),
    };
    if total == 0 {
        return replace(graph, graph.node(id).output(), first);
    }
    graph.replace_node_input(id, 0, first);
    let total = insert_constant(graph, id, &Constant::Int(total));
    graph.replace_node_input(id, 1, total);
    true
}

/// Types whose values are taken to be equal to themselves.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Int | Type::Float | Type::Bool => true,
        Type::List(of) => matches!(**of, Type::Int | Type::Float | Type::Bool),
        _ => false,
    }
}
