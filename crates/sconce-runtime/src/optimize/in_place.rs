//! Activations in place of their operand, made to give a tensor of their own where nobody can tell.

use sconce_ir::{NodeId, operators};

use super::Optimization;

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

/// Replaces `relu_` and the like by `relu` where the operand was made by an operator that gives
/// memory of its own and is used by nothing else.
pub(super) fn make_functional(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        if let Some(functional) = functional(optimization, node) {
            let at = optimization.graph.node_mut(node);
            at.kind = sconce_ir::Kind::Op(functional.schema.name.clone());
            at.operator = Some(functional.id);
            optimization.changed = true;
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

/// Whether a value is a tensor with memory of its own, or one that an operator before it has written
/// to in its place and nobody else knows.
fn is_fresh(o: &Optimization, value: sconce_ir::ValueId) -> bool {
    let mut node = o.producer(value);
    loop {
        let Some(operator) = o.graph.operator(node) else { return false };
        let [result] = operator.schema.returns.as_slice() else { return false };
        if result.alias.is_none() {
            return operator.alias_analysis == sconce_ir::AliasAnalysis::FromSchema;
        }
        // `x.add_(y)` is x.
        let in_place = operator.schema.name.ends_with('_');
        match o.graph.node(node).inputs().first() {
            Some(&operand) if in_place && o.is_used_once(operand) => node = o.producer(operand),
            _ => return false,
        }
    }
}
