//! Layers that were exported as the operators that they are made of (`ep.run_decompositions()`): the passes that
//! follow know them by the names that they had.

use sconce_ir::{Constant, Kind, NodeId, Type, ValueId, operators};
use sconce_kernels::DType;

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
        ("aten::mul", &[a, b]) => {
            let is_sigmoid_of = |of, value| of_one(o, value, "aten::sigmoid") == Some(of);
            let input = match () {
                () if is_sigmoid_of(a, b) => a,
                () if is_sigmoid_of(b, a) => b,
                () => return None,
            };
            is_float(o, input).then_some(())?;
            replace(o, node, "aten::silu", "", &[input])
        }
        ("aten::div", &[scaled, six]) if number(o, six) == Some(6.0) => {
            let (symbol, input) = match hard_step(o, scaled) {
                Some(input) => ("aten::hardsigmoid", input),
                None => ("aten::hardswish", hard_product(o, scaled)?),
            };
            is_float(o, input).then_some(())?;
            replace(o, node, symbol, "", &[input])
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

/// What an operator of one operand is given that makes a value.
fn of_one(o: &Optimization, value: ValueId, symbol: &str) -> Option<ValueId> {
    let node = o.producer(value);
    match o.graph.node(node).inputs() {
        &[input] if o.is_op(node, symbol) && !o.is_written(value) => Some(input),
        _ => None,
    }
}

/// The value `x` of `clamp(x + 3, 0, 6)`, be it one operator or one for each bound.
fn hard_step(o: &Optimization, value: ValueId) -> Option<ValueId> {
    let clamped = |value| {
        let node = o.producer(value);
        let &[input, least, most] = o.graph.node(node).inputs() else { return None };
        (o.is_op(node, "aten::clamp") && !o.is_written(value)).then_some((input, least, most))
    };
    let none = |value| o.constant(value) == Some(Constant::None);
    let (mut moved, mut least, most) = clamped(value)?;
    if none(least) {
        let (input, other, above) = clamped(moved)?;
        none(above).then_some(())?;
        (moved, least) = (input, other);
    }
    let node = o.producer(moved);
    let &[input, three, alpha] = o.graph.node(node).inputs() else { return None };
    let fits = o.is_op(node, "aten::add")
        && !o.is_written(moved)
        && is_one(o, alpha)
        && number(o, three) == Some(3.0)
        && number(o, least) == Some(0.0)
        && number(o, most) == Some(6.0);
    fits.then_some(input)
}

/// The value `x` of `x * clamp(x + 3, 0, 6)`.
fn hard_product(o: &Optimization, value: ValueId) -> Option<ValueId> {
    let node = o.producer(value);
    let &[a, b] = o.graph.node(node).inputs() else { return None };
    (o.is_op(node, "aten::mul") && !o.is_written(value)).then_some(())?;
    [(a, b), (b, a)].into_iter().find_map(|(x, step)| (hard_step(o, step)? == x).then_some(x))
}

/// Whether a value is computed in `float32`: in half precision, layers round once and what they are made of more often.
fn is_float(o: &Optimization, value: ValueId) -> bool {
    o.fact(value).is_some_and(|fact| fact.dtype == DType::Float32) && !o.is_written(value)
}

fn number(o: &Optimization, value: ValueId) -> Option<f64> {
    match o.constant(value)? {
        Constant::Int(value) => Some(value as f64),
        Constant::Float(value) => Some(value),
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
