//! Activations and arithmetic in place of their operand, made to give a tensor of their own where nobody can tell.

use sconce_ir::{AliasAnalysis, NodeId, Type, ValueId, operators};

use crate::optimize::Optimization;

const ACTIVATIONS: &[&str] = &[
    "aten::relu_",
    "aten::relu6_",
    "aten::hardtanh_",
    "aten::silu_",
    "aten::hardswish_",
    "aten::hardsigmoid_",
    "aten::sigmoid_",
    "aten::leaky_relu_",
    "aten::elu_",
];

/// Arithmetic whose result has the shape of the first operand, or is an error.
const ARITHMETIC: &[(&str, &str)] = &[("aten::add_", "sconce::add"), ("aten::mul_", "sconce::mul")];

/// Replaces `relu_` and the like by `relu` where the operand was made by an operator that gives
/// memory of its own and is used by nothing else. Only the strides of dimensions of size 1 may be
/// others then, so nothing is done where the program looks at strides.
pub(crate) fn make_functional(optimization: &mut Optimization) {
    let nodes = optimization.nodes();
    if nodes.iter().any(|&node| optimization.is_op(node, "aten::stride")) {
        return;
    }
    for node in nodes {
        if let Some(symbol) = arithmetic(optimization, node) {
            let at = optimization.graph.node_mut(node);
            (at.kind, at.operator) = (sconce_ir::Kind::from_symbol(symbol), None);
        } else if let Some(functional) =
            functional(optimization, node).or_else(|| with_number(optimization, node))
        {
            let at = optimization.graph.node_mut(node);
            at.kind = sconce_ir::Kind::Op(functional.schema.name.clone());
            at.operator = Some(functional.id);
        }
    }
    optimization.refresh();
}

fn functional(o: &Optimization, node: NodeId) -> Option<&'static operators::Operator> {
    let at = o.graph.node(node);
    let symbol = at.kind.symbol();
    if !ACTIVATIONS.contains(&symbol) {
        return None;
    }
    let &operand = at.inputs().first()?;
    let is_float = o.fact(operand).is_some_and(|fact| fact.dtype.is_floating_point());
    if !is_float || !o.is_used_once(operand) || !is_fresh(o, operand) {
        return None;
    }
    operators::find(symbol.strip_suffix('_')?, "")
}

/// The operator for `a.add_(number)`, where the number may be a tensor without dimensions.
fn with_number(o: &Optimization, node: NodeId) -> Option<&'static operators::Operator> {
    let at = o.graph.node(node);
    let symbol = at.kind.symbol();
    ARITHMETIC.iter().find(|(in_place, _)| *in_place == symbol)?;
    let &[a, b, ..] = at.inputs() else { return None };
    let is_number = matches!(o.graph.ty(b), Type::Int | Type::Float)
        || o.fact(b).is_some_and(|b| b.rank == 0 && !b.dtype.is_complex());
    let fits = o.fact(a).is_some_and(|a| a.dtype.is_floating_point() && a.rank > 0);
    if !is_number || !fits || !o.is_used_once(a) || !is_fresh(o, a) {
        return None;
    }
    let overload = &o.graph.operator(node)?.schema.overload;
    operators::find(symbol.strip_suffix('_')?, overload)
}

/// The private operator for `a.add_(b)`, where nobody can tell `a` from a new tensor.
fn arithmetic(o: &Optimization, node: NodeId) -> Option<&'static str> {
    let at = o.graph.node(node);
    let &(_, private) = ARITHMETIC.iter().find(|(symbol, _)| *symbol == at.kind.symbol())?;
    let (a, b, unit) = match *at.inputs() {
        [a, b] => (a, b, true),
        [a, b, alpha] => (a, b, o.constant(alpha) == Some(sconce_ir::Constant::Int(1))),
        _ => return None,
    };
    let same =
        o.fact(a).zip(o.fact(b)).is_some_and(|(a, b)| a.is_like(b) && a.dtype.is_floating_point());
    let fresh = || is_fresh(o, a) || (is_part_of_fresh(o, a) && !is_viewed(o, node));
    (unit && same && a != b && o.is_used_once(a) && fresh()).then_some(private)
}

/// Whether a value is part of a tensor with memory of its own that nobody else sees: slices of it, one of the other.
fn is_part_of_fresh(o: &Optimization, mut value: ValueId) -> bool {
    loop {
        let node = o.producer(value);
        let slice = ["aten::slice", "aten::narrow"].iter().any(|slice| o.is_op(node, slice));
        match o.graph.node(node).inputs().first() {
            Some(&whole) if slice && o.is_used_once(whole) => value = whole,
            _ => return is_fresh(o, value),
        }
    }
}

/// Whether a view of what a node gives is made: of a part of a tensor other views can be made than of a tensor.
fn is_viewed(o: &Optimization, node: NodeId) -> bool {
    let uses = o.graph.value(o.graph.node(node).output()).uses();
    uses.iter().any(|only| match o.graph.operator(only.user) {
        Some(operator) => {
            let gives_alias = operator.schema.returns.iter().any(|result| result.alias.is_some());
            operator.alias_analysis != AliasAnalysis::FromSchema || (gives_alias && only.index == 0)
        }
        None => !o.graph.node(only.user).kind.is_private(),
    })
}

/// Whether a value is a tensor with memory of its own, or one that an operator before it has written
/// to in its place and nobody else knows.
fn is_fresh(o: &Optimization, value: ValueId) -> bool {
    let mut node = o.producer(value);
    loop {
        if o.graph.node(node).kind.is_private() {
            return true;
        }
        let Some(operator) = o.graph.operator(node) else { return false };
        let [result] = operator.schema.returns.as_slice() else { return false };
        if result.alias.is_none() {
            return operator.alias_analysis == AliasAnalysis::FromSchema;
        }
        // `x.add_(y)` is x.
        let in_place = operator.schema.name.ends_with('_');
        match o.graph.node(node).inputs().first() {
            Some(&operand) if in_place && o.is_used_once(operand) => node = o.producer(operand),
            _ => return false,
        }
    }
}
