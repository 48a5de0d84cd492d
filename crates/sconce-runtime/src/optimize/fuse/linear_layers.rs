//! Linear layers of one input, and the layer normalisation that only they read, as one operator.
//!
//! Queries, keys and values become one product with three weights, and so do a gate and what it lets through.

use rustc_hash::FxHashMap;
use sconce_ir::{BlockId, Constant, Kind, NodeId, Prim, Type, ValueId, passes};

use crate::ops::{GATHERED_LINEAR, LINEAR_PACKED};
use crate::optimize::Optimization;

/// The most layers that are gathered.
const MOST_LAYERS: usize = 16;

/// Gathers layers that were packed before. The operators that are fused later look at nothing else.
pub(crate) fn gather(optimization: &mut Optimization) {
    let mut of_input: FxHashMap<(ValueId, BlockId), Vec<NodeId>> = FxHashMap::default();
    let mut inputs = Vec::new();
    for node in optimization.nodes() {
        if let Some((input, block)) = layer(optimization, node) {
            let layers = of_input.entry((input, block)).or_default();
            if layers.is_empty() {
                inputs.push((input, block));
            }
            if layers.len() < MOST_LAYERS {
                layers.push(node);
            }
        }
    }
    for input in inputs {
        replace(optimization, input.0, &of_input[&input]);
    }
    passes::eliminate_dead_code(&mut optimization.graph);
    optimization.refresh();
}

/// The input of a packed linear layer whose other operands are constants, and its block.
fn layer(o: &Optimization, node: NodeId) -> Option<(ValueId, BlockId)> {
    let at = o.graph.node(node);
    if !o.is_op(node, LINEAR_PACKED) {
        return None;
    }
    let (&input, others) = at.inputs().split_first()?;
    let is_constant = |&value: &ValueId| o.graph.node(o.producer(value)).is(Prim::Constant);
    let fits = others.iter().all(is_constant) && !o.is_written(input);
    let block = at.owner()?;
    fits.then_some((input, block))
}

/// Puts one operator in the place of the first of some layers, which are in program order.
fn replace(o: &mut Optimization, input: ValueId, layers: &[NodeId]) -> Option<()> {
    let &first = layers.first()?;
    let norm = norm_before(o, input, layers);
    if layers.len() < 2 && norm.is_none() {
        return None;
    }
    let mut inputs = match norm {
        Some(norm) => {
            let &[input, _, weight, bias, eps, ..] = o.graph.node(norm).inputs() else {
                return None;
            };
            vec![input, weight, bias, eps]
        }
        None => {
            let none = o.insert_constant(&Constant::None, first);
            vec![input, none, none, none]
        }
    };
    for &layer in layers {
        let constants: Vec<ValueId> =
            o.graph.node(layer).inputs().iter().skip(1).copied().collect();
        for value in constants {
            // Those of later layers may stand behind the first.
            let constant = o.constant(value)?;
            inputs.push(o.insert_constant(&constant, first));
        }
    }
    let new = o.graph.new_node(Kind::Op(GATHERED_LINEAR.into()), &inputs);
    o.insert_at(new, first);
    for &layer in layers {
        let result = o.graph.add_output(new, Type::Tensor);
        o.replace(layer, result);
    }
    if let Some(norm) = norm {
        o.graph.destroy(norm);
    }
    Some(())
}

/// The layer normalisation of the last dimension, with constant parameters, that nothing but these layers reads.
fn norm_before(o: &Optimization, input: ValueId, layers: &[NodeId]) -> Option<NodeId> {
    let norm = o.producer(input);
    let at = o.graph.node(norm);
    let is_theirs = |used: &sconce_ir::Use| layers.contains(&used.user) && used.index == 0;
    let fits = o.is_op(norm, "aten::layer_norm")
        && at.owner() == o.graph.node(*layers.first()?).owner()
        && o.graph.value(input).uses().iter().all(is_theirs);
    let &[from, shape, weight, bias, eps, ..] = at.inputs() else { return None };
    let &[size] = o.ints(shape)?.as_slice() else { return None };
    let parameter = |value| match o.constant(value) {
        Some(Constant::None) => true,
        _ => o.constant_tensor(value).is_some_and(|tensor| tensor.sizes() == [size]),
    };
    let is_number = matches!(o.constant(eps), Some(Constant::Float(_)));
    (fits && is_number && parameter(weight) && parameter(bias) && !o.is_written(from))
        .then_some(norm)
}
