//! Layers that were exported as the operators that they are made of (`ep.run_decompositions()`): the passes that
//! follow know them by the names that they had.

use sconce_ir::{Constant, Kind, NodeId, Type, ValueId, operators};

use crate::optimize::Optimization;

/// Gives decomposed layers their names again, where nothing needs more than their first result.
pub(crate) fn name_layers(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        if optimization.graph.node(node).is_alive() {
            let _ = name_one(optimization, node);
        }
    }
    optimization.simplify();
}

fn name_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    let at = o.graph.node(node);
    let (symbol, inputs) = (at.kind.symbol().to_owned(), at.inputs().to_vec());
    let others = at.outputs().get(1..).unwrap_or_default();
    if others.iter().any(|&other| !o.graph.value(other).uses().is_empty()) {
        return None;
    }
    match (symbol.as_str(), inputs.as_slice()) {
        (
            "aten::_native_batch_norm_legit_no_training",
            &[input, weight, bias, mean, variance, momentum, eps],
        ) => {
            let no = bool_before(o, node, false);
            let inputs = [input, weight, bias, mean, variance, no, momentum, eps, no];
            replace(o, node, "aten::batch_norm", "", &inputs)
        }
        ("aten::native_layer_norm", &[input, shape, weight, bias, eps]) => {
            let no = bool_before(o, node, false);
            replace(o, node, "aten::layer_norm", "", &[input, shape, weight, bias, eps, no])
        }
        ("aten::native_group_norm", &[input, weight, bias, _, channels, _, groups, eps]) => {
            // What it was made of is a tensor with so many channels in its second dimension.
            let known = weight_len(o, weight)? == o.constant(channels).and_then(int)?;
            known.then_some(())?;
            let no = bool_before(o, node, false);
            replace(o, node, "aten::group_norm", "", &[input, groups, weight, bias, eps, no])
        }
        ("aten::max_pool2d_with_indices", inputs) => {
            replace(o, node, "aten::max_pool2d", "", inputs)
        }
        (
            "aten::_scaled_dot_product_flash_attention_for_cpu",
            &[query, key, value, dropout, causal, mask, scale],
        ) => {
            let no = bool_before(o, node, false);
            let inputs = [query, key, value, mask, dropout, causal, scale, no];
            replace(o, node, "aten::scaled_dot_product_attention", "", &inputs)
        }
        ("aten::_softmax", &[input, dim, to_float])
            if o.constant(to_float) == Some(Constant::Bool(false)) =>
        {
            let none = o.insert_constant(&Constant::None, node);
            replace(o, node, "aten::softmax", "int", &[input, dim, none])
        }
        ("aten::addmm", &[bias, input, weight, beta, alpha])
            if is_one(o, beta)
                && is_one(o, alpha)
                && o.fact(bias).is_some_and(|of| of.rank == 1) =>
        {
            let weight = transposed(o, weight)?;
            replace(o, node, "aten::linear", "", &[input, weight, bias])
        }
        ("aten::mm", &[input, weight]) => {
            let weight = transposed(o, weight)?;
            o.constant_tensor(weight)?;
            let none = o.insert_constant(&Constant::None, node);
            replace(o, node, "aten::linear", "", &[input, weight, none])
        }
        _ => None,
    }
}

/// The matrix of which a value is the transpose.
fn transposed(o: &Optimization, value: ValueId) -> Option<ValueId> {
    let node = o.producer(value);
    let &[matrix, order, ..] = o.graph.node(node).inputs() else { return None };
    let is_transpose =
        (o.is_op(node, "aten::permute") && o.ints(order)? == [1, 0]) || (o.is_op(node, "aten::t"));
    let is_matrix = o.fact(matrix).is_some_and(|of| of.rank == 2) && !o.is_written(matrix);
    (is_transpose && is_matrix).then_some(matrix)
}

fn weight_len(o: &Optimization, weight: ValueId) -> Option<i64> {
    o.constant_tensor(weight).map(|weight| weight.numel())
}

fn int(constant: Constant) -> Option<i64> {
    match constant {
        Constant::Int(value) => Some(value),
        _ => None,
    }
}

fn is_one(o: &Optimization, value: ValueId) -> bool {
    o.constant(value) == Some(Constant::Int(1)) || o.constant(value) == Some(Constant::Float(1.0))
}

fn bool_before(o: &mut Optimization, node: NodeId, value: bool) -> ValueId {
    o.insert_constant(&Constant::Bool(value), node)
}

/// Puts a call of another operator in the place of one.
fn replace(
    o: &mut Optimization,
    node: NodeId,
    symbol: &str,
    overload: &str,
    inputs: &[ValueId],
) -> Option<()> {
    let operator = operators::find(symbol, overload)?;
    if operator.schema.arguments.len() != inputs.len() {
        return None;
    }
    let kind = Kind::Op(operator.schema.name.clone());
    let new = o.graph.new_node_with(kind, inputs, Type::Tensor);
    o.graph.node_mut(new).operator = Some(operator.id);
    o.insert_at(new, node);
    let result = o.graph.node(new).output();
    let old = *o.graph.node(node).outputs().first()?;
    o.graph.replace_all_uses(old, result);
    o.graph.destroy(node);
    Some(())
}
