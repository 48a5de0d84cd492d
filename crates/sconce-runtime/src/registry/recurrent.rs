//! Operators of recurrent layers and of sequences of different lengths.

use sconce_kernels::{self as kernels, Cell, CellWeights, Recurrent, Tensor};

use super::tensor_args::{kernel, made};
use super::{Args, Table};
use crate::error::Raise;
use crate::interpreter::Machine;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::lstm", "input", |machine, args| padded(machine, &args, Cell::Lstm)),
    ("aten::lstm", "data", |machine, args| packed(machine, &args, Cell::Lstm)),
    ("aten::gru", "input", |machine, args| padded(machine, &args, Cell::Gru)),
    ("aten::gru", "data", |machine, args| packed(machine, &args, Cell::Gru)),
    ("aten::rnn_tanh", "input", |machine, args| padded(machine, &args, Cell::Tanh)),
    ("aten::rnn_tanh", "data", |machine, args| packed(machine, &args, Cell::Tanh)),
    ("aten::rnn_relu", "input", |machine, args| padded(machine, &args, Cell::Relu)),
    ("aten::rnn_relu", "data", |machine, args| packed(machine, &args, Cell::Relu)),
    ("aten::lstm_cell", "-", |_, args| step(&args, Cell::Lstm)),
    ("aten::gru_cell", "-", |_, args| step(&args, Cell::Gru)),
    ("aten::rnn_tanh_cell", "-", |_, args| step(&args, Cell::Tanh)),
    ("aten::rnn_relu_cell", "-", |_, args| step(&args, Cell::Relu)),
    ("aten::_pack_padded_sequence", "-", |_, args| {
        let (data, sizes) = kernels::pack_padded(args.tensor(0)?, args.tensor(1)?, args.bool(2)?)
            .map_err(kernel)?;
        Ok(tensors(vec![data, sizes]))
    }),
    ("aten::_pad_packed_sequence", "-", |machine, args| {
        let (sizes, total) = (numbers(args.tensor(1)?)?, args.int(4)?);
        machine.budget.check_sizes(&[total.max(0), sizes.first().copied().unwrap_or(0).max(0)])?;
        let (padded, lengths) =
            kernels::pad_packed(args.tensor(0)?, &sizes, args.bool(2)?, args.scalar(3)?, total)
                .map_err(kernel)?;
        Ok(tensors(vec![padded, lengths]))
    }),
    ("aten::pad_sequence", "-", |_, args| {
        let on_the_left = match &*args.str(3)? {
            "left" => true,
            "right" => false,
            other => {
                return Err(Raise::message(format!(
                    "Expected padding_side to be one of left or right, but got {other}."
                )));
            }
        };
        let sequences = args.tensors(0)?;
        made(kernels::pad_sequence(&sequences, args.bool(1)?, args.scalar(2)?, on_the_left))
    }),
];

fn tensors(tensors: Vec<Tensor>) -> IValue {
    IValue::tuple(tensors.into_iter().map(IValue::Tensor).collect())
}

fn numbers(tensor: &Tensor) -> Result<Vec<i64>> {
    let wide = tensor.to_dtype(kernels::DType::Int64).map_err(kernel)?;
    wide.to_vec::<i64>().map_err(kernel)
}

/// The states to start from: a list for an LSTM, one tensor for the others.
fn states(args: &Args<'_>, index: usize, cell: Cell) -> Result<Vec<Tensor>> {
    match cell {
        Cell::Lstm => args.tensors(index),
        _ => Ok(vec![args.tensor(index)?.clone()]),
    }
}

/// The operands from `params` on: weights, whether there are biases, layers, dropout, whether in
/// training, whether in both directions.
fn network<'a>(
    args: &Args<'_>,
    at: usize,
    cell: Cell,
    params: &'a [Tensor],
) -> Result<Recurrent<'a>> {
    let training = args.bool(at + 4)?;
    Ok(Recurrent {
        cell,
        params,
        has_biases: args.bool(at + 1)?,
        layers: usize::try_from(args.int(at + 2)?).unwrap_or(0),
        dropout: if training { args.real(at + 3)? } else { 0.0 },
        bidirectional: args.bool(at + 5)?,
    })
}

fn padded(machine: &mut Machine, args: &Args<'_>, cell: Cell) -> Result {
    let batch_first = args.bool(8)?;
    let turned = |tensor: &Tensor| match batch_first {
        true => tensor.transpose(0, 1),
        false => Ok(tensor.clone()),
    };
    let params = args.tensors(2)?;
    let network = network(args, 2, cell, &params)?;
    let input = turned(args.tensor(0)?).map_err(kernel)?;
    let (output, last) =
        network.run(&input, &states(args, 1, cell)?, &mut machine.generator).map_err(kernel)?;
    let mut results = vec![turned(&output).map_err(kernel)?];
    results.extend(last);
    Ok(tensors(results))
}

fn packed(machine: &mut Machine, args: &Args<'_>, cell: Cell) -> Result {
    let params = args.tensors(3)?;
    let network = network(args, 3, cell, &params)?;
    let sizes = numbers(args.tensor(1)?)?;
    let (output, last) = network
        .run_packed(args.tensor(0)?, &sizes, &states(args, 2, cell)?, &mut machine.generator)
        .map_err(kernel)?;
    let mut results = vec![output];
    results.extend(last);
    Ok(tensors(results))
}

pub(super) fn step(args: &Args<'_>, cell: Cell) -> Result {
    let weights = CellWeights {
        input: args.tensor(2)?,
        hidden: args.tensor(3)?,
        input_bias: args.optional_tensor(4)?,
        hidden_bias: args.optional_tensor(5)?,
        projection: None,
    };
    let state = states(args, 1, cell)?;
    let mut next = kernels::cell_step(cell, args.tensor(0)?, &state, weights).map_err(kernel)?;
    match (cell, next.pop(), next.is_empty()) {
        (_, Some(hidden), true) => Ok(IValue::Tensor(hidden)),
        (_, memory, _) => {
            next.extend(memory);
            Ok(tensors(next))
        }
    }
}
