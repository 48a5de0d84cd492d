//! Chains of element-wise operators, fused into one pass over the elements.

use std::cmp::Ordering;

use sconce_ir::{Constant, Kind, NodeId, Type, ValueId};

use super::Optimization;
use crate::registry::{CHAIN, CHAIN_OPERATORS};

/// Steps of a chain at most, so that what lies between them stays in the first cache.
const MAX_STEPS: usize = 12;

/// Operands of a chain at most.
const MAX_OPERANDS: usize = 8;

/// Fuses what feeds one element-wise operator alone into it. An operator is moved down to the one
/// that uses it, so nothing that the chain reads may be written anywhere.
pub(super) fn fuse(optimization: &mut Optimization) {
    for node in optimization.nodes().into_iter().rev() {
        let _ = fuse_one(optimization, node);
    }
}

fn fuse_one(o: &mut Optimization, root: NodeId) -> Option<()> {
    operator_of(o, root)?;
    let mut group = vec![root];
    let mut next = 0;
    while let Some(&node) = group.get(next) {
        next += 1;
        for operand in operands_of(o, node) {
            let producer = o.producer(operand);
            let joins = group.len() < MAX_STEPS
                && !group.contains(&producer)
                && operator_of(o, producer).is_some()
                && o.graph.node(producer).owner() == o.graph.node(root).owner()
                && o.graph.value(operand).uses().iter().all(|used| group.contains(&used.user));
            if joins {
                group.push(producer);
            }
        }
    }
    if group.len() < 2 {
        return None;
    }
    group.sort_by(|&a, &b| match (a == b, o.graph.is_before(a, b)) {
        (true, _) => Ordering::Equal,
        (_, true) => Ordering::Less,
        _ => Ordering::Greater,
    });
    let made: Vec<ValueId> = group.iter().map(|&node| o.graph.node(node).output()).collect();
    let mut operands: Vec<ValueId> = Vec::new();
    for &node in &group {
        for operand in operands_of(o, node) {
            if !made.contains(&operand) && !operands.contains(&operand) {
                operands.push(operand);
            }
        }
    }
    if operands.len() > MAX_OPERANDS {
        return None;
    }
    let place = |value: ValueId| {
        let own = operands.iter().position(|&operand| operand == value);
        own.or_else(|| made.iter().position(|&m| m == value).map(|at| at + operands.len()))
    };
    let mut program = Vec::new();
    for &node in &group {
        let code = operator_of(o, node)? as i64;
        let values = operands_of(o, node);
        let a = place(*values.first()?)? as i64;
        let b = values.get(1).map_or(Some(a as usize), |&value| place(value))? as i64;
        program.extend([code, a, b].map(Constant::Int));
    }
    let program = Constant::List(Type::Int, program.into());
    let program = o.insert_constant(&program, root);
    let inputs: Vec<ValueId> = std::iter::once(program).chain(operands).collect();
    let new = o.graph.new_node_with(Kind::Op(CHAIN.into()), &inputs, Type::Tensor);
    o.graph.insert_before(new, root);
    let range = o.graph.node(root).range.clone();
    o.graph.node_mut(new).range = range;
    let result = o.graph.node(new).output();
    group.reverse();
    for node in group {
        if node == root {
            o.replace(node, result);
        } else {
            o.graph.destroy(node);
        }
    }
    Some(())
}

/// The operator's place in the table of those that chains may have, if all it works on are
/// numbers and tensors that nothing writes to. Dtypes are looked at when the chain is run.
fn operator_of(o: &Optimization, node: NodeId) -> Option<usize> {
    let at = o.graph.node(node);
    let &[output] = at.outputs() else { return None };
    if !at.is_alive() || o.is_written(output) {
        return None;
    }
    let symbol = at.kind.symbol();
    let place = CHAIN_OPERATORS.iter().position(|line| {
        line.symbol == symbol && {
            let rest = at.inputs().get(line.operands..).unwrap_or_default();
            match (line.mode, rest) {
                (None, []) => true,
                // `alpha`, which is 1.
                (None, &[alpha]) if line.operands == 2 => {
                    o.constant(alpha) == Some(Constant::Int(1))
                }
                (Some(mode), &[given]) => {
                    matches!(o.constant(given), Some(Constant::Str(given)) if &*given == mode)
                }
                _ => false,
            }
        }
    })?;
    let fits = |(index, &value): (usize, &ValueId)| match o.graph.ty(value) {
        Type::Int | Type::Float => index > 0,
        Type::Tensor => !o.is_written(value),
        _ => false,
    };
    let operands = at.inputs().get(..CHAIN_OPERATORS.get(place)?.operands)?;
    operands.iter().enumerate().all(fits).then_some(place)
}

/// The tensors and numbers that an operator of the table works on.
fn operands_of(o: &Optimization, node: NodeId) -> Vec<ValueId> {
    let at = o.graph.node(node);
    let symbol = at.kind.symbol();
    let count = CHAIN_OPERATORS.iter().find(|line| line.symbol == symbol);
    at.inputs().iter().take(count.map_or(0, |line| line.operands)).copied().collect()
}
