//! Computes what is known at compile time: PyTorch's `ConstantPropagationImmutableTypes`.

use super::constant_pooling::same;
use super::dead_code::has_side_effects;
use super::eliminate_dead_code;
use super::evaluate::evaluate;
use crate::alias::is_mutable;
use crate::{BlockId, Constant, Graph, Kind, NodeId, Prim, Type, ValueId};

/// Replaces operators on constants of types that cannot be changed by what they give; inlines the
/// branch that a `prim::If` takes, removes loops that never run, and outputs of both that are the
/// same as a value outside. Says whether anything changed; if so dead code is removed.
pub fn constant_propagation_immutable_types(graph: &mut Graph) -> bool {
    let mut changed = false;
    let root = graph.root();
    block(graph, root, &mut changed);
    super::finish(graph, "constant_propagation");
    if changed {
        eliminate_dead_code(graph);
    }
    changed
}

fn block(graph: &mut Graph, block: BlockId, changed: &mut bool) {
    let end = graph.return_node(block);
    let mut at = graph.next(graph.param_node(block));
    while at != end {
        let next = graph.next(at);
        node(graph, at, changed);
        at = next;
    }
}

fn blocks(graph: &mut Graph, node: NodeId, changed: &mut bool) {
    for index in 0..graph.node(node).blocks().len() {
        block(graph, graph.node(node).blocks()[index], changed);
    }
}

fn node(graph: &mut Graph, id: NodeId, changed: &mut bool) {
    match graph.node(id).kind {
        Kind::Prim(Prim::If) => {
            let condition =
                graph.node(id).inputs().first().and_then(|&value| graph.constant(value));
            match (condition, graph.node(id).blocks()) {
                (Some(Constant::Bool(condition)), &[yes, no]) => {
                    let taken = if condition { yes } else { no };
                    block(graph, taken, changed);
                    inline_branch(graph, id, taken);
                    *changed = true;
                }
                _ => {
                    blocks(graph, id, changed);
                    *changed |= remove_extra_branch_outputs(graph, id);
                }
            }
        }
        Kind::Prim(Prim::Loop) => {
            if never_runs(graph, id) {
                remove_loop(graph, id);
                *changed = true;
            } else {
                blocks(graph, id, changed);
                *changed |= remove_extra_carried(graph, id);
            }
        }
        _ if is_computable(graph, id) => *changed |= compute(graph, id),
        _ => blocks(graph, id, changed),
    }
}

/// Whether nothing but constants goes in, and nothing that could be changed goes in or comes out.
fn is_computable(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let is_constant = |&value: &ValueId| graph.node(graph.value(value).node()).is(Prim::Constant);
    let immutable = |&value: &ValueId| !is_mutable(graph.ty(value));
    node.blocks().is_empty()
        && !matches!(
            node.kind,
            Kind::Prim(
                Prim::Constant
                    | Prim::Closure
                    | Prim::Uninitialized
                    | Prim::UncheckedUnwrapOptional
                    | Prim::Awaitable
            )
        )
        && node.inputs().iter().all(is_constant)
        && node.inputs().iter().chain(node.outputs()).all(immutable)
        && !has_side_effects(graph, id)
        && !graph.operator(id).is_some_and(|operator| operator.is_nondeterministic)
}

fn compute(graph: &mut Graph, id: NodeId) -> bool {
    let constants: Option<Vec<Constant>> =
        graph.node(id).inputs().iter().map(|&input| graph.constant(input)).collect();
    let Some(results) = constants.and_then(|constants| results(graph, id, constants)) else {
        return false;
    };
    let outputs = graph.node(id).outputs().to_vec();
    if results.len() != outputs.len() {
        return false;
    }
    for (output, result) in outputs.iter().zip(results) {
        let is_none = result == Constant::None;
        let constant = graph.new_constant(&result);
        graph.insert_before(constant, id);
        let value = graph.node(constant).output();
        if is_none {
            graph.set_type(value, graph.ty(*output).clone());
        }
        graph.replace_all_uses(*output, value);
    }
    if outputs.is_empty() {
        return false;
    }
    discard(graph, id);
    true
}

/// Destroys a node that was computed, and the constants that nothing else uses: strings that each line makes
/// longer are not to be there all at once.
fn discard(graph: &mut Graph, id: NodeId) {
    let mut inputs = graph.node(id).inputs().to_vec();
    inputs.sort_unstable();
    inputs.dedup();
    graph.destroy(id);
    for input in inputs {
        if graph.value(input).uses().is_empty() {
            graph.destroy(graph.value(input).node());
        }
    }
}

fn results(graph: &Graph, id: NodeId, inputs: Vec<Constant>) -> Option<Vec<Constant>> {
    let node = graph.node(id);
    match (&node.kind, &inputs[..]) {
        (Kind::Prim(Prim::TupleConstruct), _) => {
            let ty = graph.ty(node.output());
            let is_named = matches!(ty, Type::Tuple(of) if of.named.is_some());
            Some(vec![Constant::Tuple(inputs.into(), is_named.then(|| ty.clone()))])
        }
        (Kind::Prim(Prim::TupleUnpack), [Constant::Tuple(elements, _)]) => Some(elements.to_vec()),
        (Kind::Prim(Prim::TupleIndex), [Constant::Tuple(elements, _), Constant::Int(index)]) => {
            let index = if *index < 0 { index + elements.len() as i64 } else { *index };
            Some(vec![elements.get(usize::try_from(index).ok()?)?.clone()])
        }
        _ => {
            let operator = graph.operator(id)?;
            if operator.schema.is_vararg && !node.is(Prim::UncheckedCast) {
                return None;
            }
            evaluate(&operator.schema, &inputs)
        }
    }
}

/// Moves the nodes of a branch to before its `prim::If`, which is destroyed.
fn inline_branch(graph: &mut Graph, id: NodeId, branch: BlockId) {
    let nodes: Vec<NodeId> = graph.block_nodes(branch).collect();
    for node in nodes {
        graph.move_before(node, id);
    }
    for index in 0..graph.node(id).outputs().len() {
        let (output, result) =
            (graph.node(id).outputs()[index], graph.block_outputs(branch)[index]);
        graph.replace_all_uses(output, result);
    }
    graph.destroy(id);
}

/// An output that both branches take from the same place, or that is the same constant in both, is
/// that value.
fn remove_extra_branch_outputs(graph: &mut Graph, id: NodeId) -> bool {
    let &[yes, no] = graph.node(id).blocks() else { return false };
    let before = graph.node(id).outputs().len();
    let mut index = 0;
    while index < graph.node(id).outputs().len() {
        let (a, b) = (graph.block_outputs(yes)[index], graph.block_outputs(no)[index]);
        let (x, y) = (graph.value(a).node(), graph.value(b).node());
        let replacement = if a == b {
            Some(a)
        } else if graph.node(x).is(Prim::Constant)
            && graph.node(y).is(Prim::Constant)
            && same(graph, x, y)
        {
            graph.constant(a).map(|constant| {
                let node = graph.new_constant(&constant);
                graph.insert_before(node, id);
                graph.node(node).output()
            })
        } else {
            None
        };
        let Some(replacement) = replacement else {
            index += 1;
            continue;
        };
        graph.replace_all_uses(graph.node(id).outputs()[index], replacement);
        graph.erase_output(id, index);
        graph.erase_block_output(yes, index);
        graph.erase_block_output(no, index);
    }
    graph.node(id).outputs().len() != before
}

fn never_runs(graph: &Graph, id: NodeId) -> bool {
    let &[count, condition, ..] = graph.node(id).inputs() else { return false };
    let none = matches!(graph.constant(count), Some(Constant::Int(count)) if count <= 0);
    none || graph.constant(condition) == Some(Constant::Bool(false))
}

fn remove_loop(graph: &mut Graph, id: NodeId) {
    for index in 0..graph.node(id).outputs().len() {
        let (output, input) = (graph.node(id).outputs()[index], graph.node(id).inputs()[index + 2]);
        graph.replace_all_uses(output, input);
    }
    graph.destroy(id);
}

/// What a loop carries unchanged is the value it began with.
fn remove_extra_carried(graph: &mut Graph, id: NodeId) -> bool {
    let Some(&body) = graph.node(id).blocks().first() else { return false };
    let before = graph.node(id).outputs().len();
    for index in (0..before).rev() {
        let taken = graph.block_inputs(body)[index + 1];
        if taken != graph.block_outputs(body)[index + 1] {
            continue;
        }
        let first = graph.node(id).inputs()[index + 2];
        graph.replace_all_uses(graph.node(id).outputs()[index], first);
        graph.replace_all_uses(taken, first);
        graph.erase_output(id, index);
        graph.remove_node_input(id, index + 2);
        graph.erase_block_input(body, index + 1);
        graph.erase_block_output(body, index + 1);
    }
    graph.node(id).outputs().len() != before
}
