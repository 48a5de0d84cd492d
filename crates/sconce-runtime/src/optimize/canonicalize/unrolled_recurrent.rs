//! LSTM layers that were exported step by step (`ep.run_decompositions()`): one layer again.
//!
//! A step is `gates = linear(hidden) + slice of linear(input)`, split in four, and what follows of them; the steps of a
//! layer meet where their hidden states are joined. The layer backwards is one whose steps take the input from behind
//! and are joined from behind. What is taken for a step is nothing but that: whatever else uses what a step gives, but
//! for the last one, keeps the steps as they are.

use sconce_ir::{Constant, Kind, NodeId, Prim, Type, ValueId, operators};
use sconce_kernels::DType;

use crate::optimize::Optimization;

/// Names layers whose steps are joined.
pub(crate) fn name_layers(optimization: &mut Optimization) {
    let mut any = false;
    for node in optimization.nodes() {
        any |= optimization.is_op(node, "aten::cat") && name_one(optimization, node).is_some();
    }
    if any {
        optimization.simplify();
    }
}

/// A linear layer over what is seen as a matrix, its result seen with the sizes of a sequence again.
#[derive(Clone, Copy, PartialEq)]
struct Projection {
    /// The matrix that goes in.
    input: ValueId,
    weight: ValueId,
    /// `None` as a constant where there is none.
    bias: ValueId,
    /// `[steps, batch, 4 * hidden]`.
    sizes: [i64; 3],
}

/// One step of an LSTM.
struct Step {
    hidden: Projection,
    cell_before: ValueId,
    cell: ValueId,
    /// The projected input of all steps, and which of them is this one's.
    inputs: ValueId,
    index: i64,
}

fn name_one(o: &mut Optimization, join: NodeId) -> Option<()> {
    let &[list, dim] = o.graph.node(join).inputs() else { return None };
    let first_dim = o.constant(dim) == Some(Constant::Int(0));
    let made = o.graph.node(o.producer(list));
    let fits = first_dim && made.is(Prim::ListConstruct) && !o.is_written(list);
    let mut states = if fits { made.inputs().to_vec() } else { return None };
    let (&front, &back) = (states.first()?, states.last()?);
    if states.len() < 2 {
        return None;
    }
    let backwards = step(o, front)?.index > step(o, back)?.index;
    if backwards {
        states.reverse();
    }
    let (first, last) = (step(o, *states.first()?)?, step(o, *states.last()?)?);
    let [_, batch, gates] = first.hidden.sizes;
    let hidden = gates / 4;
    let mut before: Option<(ValueId, Step)> = None;
    for (index, &state) in states.iter().enumerate() {
        let at = step(o, state)?;
        let same = at.index == index as i64
            && at.inputs == first.inputs
            && at.hidden.sizes == first.hidden.sizes
            && (at.hidden.weight, at.hidden.bias) == (first.hidden.weight, first.hidden.bias);
        same.then_some(())?;
        if let Some((state, before)) = &before {
            let (matrix, _) = view(o, at.hidden.input, 2)?;
            let follows = matrix == *state && at.cell_before == before.cell;
            // One use is the next step, the other the list or the hidden state.
            let inner = [*state, before.cell];
            let only = inner.iter().all(|&value| o.graph.value(value).uses().len() == 2);
            (follows && only).then_some(())?;
        }
        before = Some((state, at));
    }
    let (sequence, flipped) = match of_one_and(o, first.inputs, "aten::flip") {
        Some((sequence, dims)) if o.ints(dims)? == [0] => (sequence, true),
        _ => (first.inputs, false),
    };
    let input = projection(o, sequence)?;
    let whole = [states.len() as i64, batch, gates];
    (backwards == flipped && input.sizes == whole).then_some(())?;
    let with_bias = |projection: &Projection| o.constant(projection.bias) != Some(Constant::None);
    let has_biases = with_bias(&input);
    (has_biases == with_bias(&first.hidden)).then_some(())?;
    // Weights say what the gates are computed in, and the first cell state what the others are.
    let of_layers = state_of_layers(o, first.cell_before);
    let cell_before = o.fact(of_layers.unwrap_or(first.cell_before))?;
    (cell_before.rank == 3 && cell_before.dtype == DType::Float32).then_some(())?;

    let ints = |o: &mut Optimization, of: &[i64]| {
        let items = of.iter().map(|&int| Constant::Int(int)).collect();
        o.insert_constant(&Constant::List(Type::Int, items), join)
    };
    let width = o.constant_tensor(input.weight)?.sizes().get(1).copied()?;
    let sizes = ints(o, &[whole[0], batch, width]);
    let mut sequence = call(o, join, "aten::view", "", &[input.input, sizes])?;
    let front = ints(o, &[0]);
    if backwards {
        sequence = call(o, join, "aten::flip", "", &[sequence, front])?;
    }
    let sizes = ints(o, &[1, batch, hidden]);
    let state = call(o, join, "aten::view", "", &[first.hidden.input, sizes])?;
    let no = o.insert_constant(&Constant::Bool(false), join);
    let cell = call(o, join, "aten::expand", "", &[first.cell_before, sizes, no])?;
    let states_before = tensors(o, join, &[state, cell]);
    let weights = [input.weight, first.hidden.weight, input.bias, first.hidden.bias];
    let weights = tensors(o, join, if has_biases { &weights } else { &weights[..2] });
    let flag = o.insert_constant(&Constant::Bool(has_biases), join);
    let one = o.insert_constant(&Constant::Int(1), join);
    let rate = o.insert_constant(&Constant::Float(0.0), join);
    let given = [sequence, states_before, weights, flag, one, rate, no, no, no];
    let mut joined = call(o, join, "aten::lstm", "input", &given)?;
    let layer = o.producer(joined);
    let states_after = [(); 2].map(|()| o.graph.add_output(layer, Type::Tensor));
    if backwards {
        joined = call(o, join, "aten::flip", "", &[joined, front])?;
    }
    o.replace(join, joined);
    // The last step's users are after it, and the layer is where the steps are joined.
    for (of_step, of_layer) in [*states.last()?, last.cell].into_iter().zip(states_after) {
        o.graph.replace_uses_after(layer, of_step, of_layer);
    }
    Some(())
}

/// The step that a value is the hidden state after.
fn step(o: &Optimization, state: ValueId) -> Option<Step> {
    let (out, shown) = product(o, state)?;
    let cell = of_one(o, shown, "aten::tanh")?;
    let (kept, new) = sum(o, cell)?;
    let ((forget, cell_before), (write, candidate)) = (product(o, kept)?, product(o, new)?);
    let opened = [write, forget, out].map(|gate| of_one(o, gate, "aten::sigmoid"));
    let parts = [opened[0]?, opened[1]?, of_one(o, candidate, "aten::tanh")?, opened[2]?];
    let unpack = o.graph.node(o.producer(parts[0]));
    (unpack.is(Prim::ListUnpack) && unpack.outputs() == parts).then_some(())?;
    let split = o.graph.node(o.producer(*unpack.inputs().first()?));
    let &[gates, lens, dim] = split.inputs() else { return None };
    let last_dim = matches!(o.constant(dim), Some(Constant::Int(2 | -1)));
    let of_gates = split.kind.symbol() == "aten::split_with_sizes" && last_dim;
    let lens = o.ints(lens).filter(|_| of_gates && !o.is_written(gates))?;
    let (hidden, part) = sum(o, gates)?;
    let hidden = projection(o, hidden)?;
    let [one, _, width] = hidden.sizes;
    (one == 1 && lens.iter().all(|&len| len.checked_mul(4) == Some(width))).then_some(())?;
    let (row, dims) = of_one_and(o, part, "aten::squeeze")?;
    (o.ints(dims)? == [0]).then_some(())?;
    let (inputs, index) = one_of(o, row)?;
    Some(Step { hidden, cell_before, cell, inputs, index })
}

/// The states of all layers, of which a value is that of one with a first dimension of 1: it has as many dimensions,
/// unless there are fewer layers, and then its second step cannot be.
fn state_of_layers(o: &Optimization, value: ValueId) -> Option<ValueId> {
    let (state, dim) = of_one_and(o, value, "aten::unsqueeze")?;
    let (layer, dims) = of_one_and(o, state, "aten::squeeze")?;
    let first = o.constant(dim) == Some(Constant::Int(0)) && o.ints(dims)? == [0];
    one_of(o, layer).filter(|_| first).map(|(states, _)| states)
}

/// What a value is a slice of, of length 1 in the first dimension, and where.
fn one_of(o: &Optimization, value: ValueId) -> Option<(ValueId, i64)> {
    let node = o.producer(value);
    let &[of, dim, from, to, by] = o.graph.node(node).inputs() else { return None };
    let ints = [dim, from, to, by].map(|value| match o.constant(value) {
        Some(Constant::Int(int)) => Some(int),
        _ => None,
    });
    let [Some(0), Some(index), Some(end), Some(1)] = ints else { return None };
    let fits = o.is_op(node, "aten::slice") && end.checked_sub(1) == Some(index);
    (fits && index >= 0 && !o.is_written(value)).then_some((of, index))
}

/// The linear layer that a value is the result of, seen with three dimensions.
fn projection(o: &Optimization, value: ValueId) -> Option<Projection> {
    let (matrix, sizes) = view(o, value, 3)?;
    let linear = o.producer(matrix);
    let &[input, weight, bias] = o.graph.node(linear).inputs() else { return None };
    (o.is_op(linear, "aten::linear") && !o.is_written(matrix)).then_some(())?;
    let sizes = <[i64; 3]>::try_from(sizes).ok()?;
    let matrix = o.constant_tensor(weight)?;
    let fits = matrix.sizes().first() == Some(&sizes[2]) && matrix.dtype() == DType::Float32;
    fits.then_some(())?;
    Some(Projection { input, weight, bias, sizes })
}

/// What a value is another view of, with so many dimensions of known sizes.
fn view(o: &Optimization, value: ValueId, rank: usize) -> Option<(ValueId, Vec<i64>)> {
    let (of, sizes) = of_one_and(o, value, "aten::view")?;
    let sizes = o.ints(sizes)?;
    (sizes.len() == rank && sizes.iter().all(|&size| size > 0)).then_some((of, sizes))
}

/// What an operator of one operand is given that makes a value.
fn of_one(o: &Optimization, value: ValueId, symbol: &str) -> Option<ValueId> {
    let node = o.producer(value);
    let &[input] = o.graph.node(node).inputs() else { return None };
    (o.is_op(node, symbol) && !o.is_written(value)).then_some(input)
}

/// What an operator of two operands is given that makes a value.
fn of_one_and(o: &Optimization, value: ValueId, symbol: &str) -> Option<(ValueId, ValueId)> {
    let node = o.producer(value);
    let &[input, other] = o.graph.node(node).inputs() else { return None };
    (o.is_op(node, symbol) && !o.is_written(value)).then_some((input, other))
}

fn product(o: &Optimization, value: ValueId) -> Option<(ValueId, ValueId)> {
    of_one_and(o, value, "aten::mul")
}

fn sum(o: &Optimization, value: ValueId) -> Option<(ValueId, ValueId)> {
    let node = o.producer(value);
    let &[a, b, alpha] = o.graph.node(node).inputs() else { return None };
    let plain = o.is_op(node, "aten::add") && o.constant(alpha) == Some(Constant::Int(1));
    (plain && !o.is_written(value)).then_some((a, b))
}

/// Calls an operator before a node; gives its first result.
fn call(
    o: &mut Optimization,
    before: NodeId,
    symbol: &str,
    overload: &str,
    inputs: &[ValueId],
) -> Option<ValueId> {
    let operator = operators::find(symbol, overload)?;
    let kind = Kind::Op(operator.schema.name.clone());
    let node = o.graph.new_node_with(kind, inputs, Type::Tensor);
    o.graph.node_mut(node).operator = Some(operator.id);
    o.insert_at(node, before);
    Some(o.graph.node(node).output())
}

fn tensors(o: &mut Optimization, before: NodeId, items: &[ValueId]) -> ValueId {
    let list = o.graph.new_node_with(Prim::ListConstruct, items, Type::list(Type::Tensor));
    o.insert_at(list, before);
    o.graph.node(list).output()
}
