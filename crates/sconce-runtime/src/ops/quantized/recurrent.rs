//! Recurrent layers and cells whose weights are quantized, or halves; inputs are floats.

use sconce_kernels as kernels;
use sconce_kernels::{Cell, Dropout, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::nn::recurrent::{outputs, states, stepped, time_first};
use crate::ops::quantized::packed_params::{CellParams, PackedParams};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::quantized_lstm", "input", |context, args| layers(context, &args, Cell::Lstm)),
    op("aten::quantized_gru", "input", |context, args| layers(context, &args, Cell::Gru)),
    op("quantized::quantized_lstm_cell_dynamic", "-", |_, args| step(&args, Cell::Lstm)),
    op("quantized::quantized_gru_cell_dynamic", "-", |_, args| step(&args, Cell::Gru)),
    op("quantized::quantized_rnn_tanh_cell_dynamic", "-", |_, args| step(&args, Cell::Tanh)),
    op("quantized::quantized_rnn_relu_cell_dynamic", "-", |_, args| step(&args, Cell::Relu)),
    op("quantized::make_quantized_cell_params_dynamic", "-", |context, mut args| {
        let reduce_range = args.take(4);
        CellParams::object(context, args.take(0), args.take(1), reduce_range)
    }),
    op("quantized::make_quantized_cell_params_fp16", "-", |context, mut args| {
        CellParams::object(context, args.take(0), args.take(1), IValue::None)
    }),
];

/// What packed weights make of a tensor, which is quantized by its own range.
fn gates(
    input: &Tensor,
    params: &PackedParams,
    reduce_range: Option<bool>,
) -> kernels::Result<Tensor> {
    let bias = params.bias.as_ref();
    match reduce_range {
        None => kernels::half_linear(input, &params.weight, bias),
        Some(reduce) => {
            kernels::quantized_linear_dynamic(input, &params.weight, bias, reduce, false)
        }
    }
}

/// `(input, state, input weights, hidden weights, biases…)`.
fn step(args: &Args<'_>, cell: Cell) -> Result {
    let (input, state) = (args.tensor(0)?, states(args, 1, cell)?);
    let (of_input, of_hidden) = (PackedParams::of(args.get(2))?, PackedParams::of(args.get(3))?);
    let Some(hidden) = state.first() else {
        return Err(Raise::message("a cell without a hidden state"));
    };
    // Halves are as good as they are; inputs of other weights are quantized to seven bits.
    let reduced = |params: &PackedParams| params.weight.dtype().is_quantized().then_some(true);
    let next = gates(input, &of_input, reduced(&of_input)).and_then(|of_input| {
        let of_hidden = gates(hidden, &of_hidden, reduced(&of_hidden))?;
        kernels::gate_step(cell, &of_input, &of_hidden, &state)
    });
    stepped(next.map_err(kernel)?)
}

/// `(input, states, params, has_biases, layers, dropout, training, bidirectional, batch_first)`.
fn layers(context: &mut dyn OpContext, args: &Args<'_>, cell: Cell) -> Result {
    let initial = states(args, 1, cell)?;
    let params =
        args.list(2)?.read().items.iter().map(CellParams::of).collect::<Result<Vec<_>>>()?;
    let dropout = if args.bool(6)? { args.real(5)? } else { 0.0 };
    let directions = if args.bool(7)? { 2 } else { 1 };
    let wanted = if cell == Cell::Lstm { 2 } else { 1 };
    if initial.len() != wanted || params.is_empty() || !params.len().is_multiple_of(directions) {
        return Err(Raise::message(
            "a recurrent network of other states or parameters than it has layers",
        ));
    }
    let mut sequence = time_first(args, args.tensor(0)?)?;
    let mut last = vec![Vec::new(); wanted];
    for (at, layer) in params.chunks_exact(directions).enumerate() {
        let mut outs = Vec::new();
        for (direction, params) in layer.iter().enumerate() {
            let index = (at * directions + direction) as i64;
            let state = initial.iter().map(|state| state.select(0, index));
            let state = state.collect::<kernels::Result<Vec<_>>>().map_err(kernel)?;
            let (out, state) =
                one_layer(cell, &sequence, state, params, direction == 1).map_err(kernel)?;
            outs.push(out);
            for (last, state) in last.iter_mut().zip(state) {
                last.push(state);
            }
        }
        sequence = kernels::cat(&outs, -1).map_err(kernel)?;
        if dropout != 0.0 && (at + 1) * directions < params.len() {
            let generator = context.generator();
            sequence = kernels::dropout(&sequence, dropout, Dropout::default(), generator)
                .map_err(kernel)?;
        }
    }
    let last = last.iter().map(|states| kernels::stack(states, 0));
    let last = last.collect::<kernels::Result<Vec<_>>>().map_err(kernel)?;
    outputs(time_first(args, &sequence)?, last)
}

/// One layer in one direction; all steps of the input are quantized together.
fn one_layer(
    cell: Cell,
    sequence: &Tensor,
    mut state: Vec<Tensor>,
    params: &CellParams,
    backwards: bool,
) -> kernels::Result<(Tensor, Vec<Tensor>)> {
    let of_input = gates(sequence, &params.input, params.reduce_range)?;
    let steps = sequence.size(0)?;
    let mut outs = Vec::new();
    for at in 0..steps {
        let at = if backwards { steps - 1 - at } else { at };
        let Some(hidden) = state.first() else { break };
        let of_hidden = gates(hidden, &params.hidden, params.reduce_range)?;
        state = kernels::gate_step(cell, &of_input.select(0, at)?, &of_hidden, &state)?;
        outs.extend(state.first().cloned());
    }
    if backwards {
        outs.reverse();
    }
    Ok((kernels::stack(&outs, 0)?, state))
}
