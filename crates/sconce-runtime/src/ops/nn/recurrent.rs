//! Operators of recurrent layers and of sequences of different lengths.

use sconce_kernels as kernels;
use sconce_kernels::{Cell, CellWeights, DType, PackedRecurrent, Recurrent, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

/// An operator that a pass puts in the place of another when it has packed its weights
/// ([`kernels::pack_recurrent`]): they follow the other operator's operands.
pub(crate) struct Packed {
    /// The other operator and its overload.
    pub(crate) symbol: &'static str,
    pub(crate) overload: &'static str,
    /// This one.
    pub(crate) packed: &'static str,
    pub(crate) cell: Cell,
    /// Whether it runs over sequences and takes a list of weights; if not, it makes one step.
    pub(crate) layers: bool,
}

const fn layers(symbol: &'static str, packed: &'static str, cell: Cell) -> Packed {
    Packed { symbol, overload: "input", packed, cell, layers: true }
}

const fn one_step(symbol: &'static str, packed: &'static str, cell: Cell) -> Packed {
    Packed { symbol, overload: "", packed, cell, layers: false }
}

/// All of them.
pub(crate) const PACKED: &[Packed] = &[
    layers("aten::lstm", "sconce::lstm_packed", Cell::Lstm),
    layers("aten::gru", "sconce::gru_packed", Cell::Gru),
    layers("aten::rnn_tanh", "sconce::rnn_tanh_packed", Cell::Tanh),
    layers("aten::rnn_relu", "sconce::rnn_relu_packed", Cell::Relu),
    one_step("aten::lstm_cell", "sconce::lstm_cell_packed", Cell::Lstm),
    one_step("aten::gru_cell", "sconce::gru_cell_packed", Cell::Gru),
    one_step("aten::rnn_tanh_cell", "sconce::rnn_tanh_cell_packed", Cell::Tanh),
    one_step("aten::rnn_relu_cell", "sconce::rnn_relu_cell_packed", Cell::Relu),
];

pub(crate) const TABLE: Table = &[
    op("sconce::lstm_packed", "-", |context, args| padded_packed(context, &args, Cell::Lstm)),
    op("sconce::gru_packed", "-", |context, args| padded_packed(context, &args, Cell::Gru)),
    op("sconce::rnn_tanh_packed", "-", |context, args| padded_packed(context, &args, Cell::Tanh)),
    op("sconce::rnn_relu_packed", "-", |context, args| padded_packed(context, &args, Cell::Relu)),
    op("sconce::lstm_cell_packed", "-", |_, args| step_packed(&args, Cell::Lstm)),
    op("sconce::gru_cell_packed", "-", |_, args| step_packed(&args, Cell::Gru)),
    op("sconce::rnn_tanh_cell_packed", "-", |_, args| step_packed(&args, Cell::Tanh)),
    op("sconce::rnn_relu_cell_packed", "-", |_, args| step_packed(&args, Cell::Relu)),
    op("aten::lstm", "input", |context, args| padded(context, &args, Cell::Lstm)),
    op("aten::lstm", "data", |context, args| packed(context, &args, Cell::Lstm)),
    op("aten::gru", "input", |context, args| padded(context, &args, Cell::Gru)),
    op("aten::gru", "data", |context, args| packed(context, &args, Cell::Gru)),
    op("aten::rnn_tanh", "input", |context, args| padded(context, &args, Cell::Tanh)),
    op("aten::rnn_tanh", "data", |context, args| packed(context, &args, Cell::Tanh)),
    op("aten::rnn_relu", "input", |context, args| padded(context, &args, Cell::Relu)),
    op("aten::rnn_relu", "data", |context, args| packed(context, &args, Cell::Relu)),
    op("aten::lstm_cell", "-", |_, args| step(&args, Cell::Lstm)),
    op("aten::gru_cell", "-", |_, args| step(&args, Cell::Gru)),
    op("aten::rnn_tanh_cell", "-", |_, args| step(&args, Cell::Tanh)),
    op("aten::rnn_relu_cell", "-", |_, args| step(&args, Cell::Relu)),
    op("aten::_pack_padded_sequence", "-", |_, args| {
        let lengths = lengths(args.tensor(1)?)?;
        let (data, sizes) =
            kernels::pack_padded(args.tensor(0)?, lengths, args.bool(2)?).map_err(kernel)?;
        Ok(tensors(vec![data, sizes]))
    }),
    op("aten::_pad_packed_sequence", "-", |context, args| {
        let (sizes, total) = (numbers(lengths(args.tensor(1)?)?)?, args.int(4)?);
        context
            .budget()
            .check_sizes(&[total.max(0), sizes.first().copied().unwrap_or(0).max(0)])?;
        let (padded, lengths) =
            kernels::pad_packed(args.tensor(0)?, &sizes, args.bool(2)?, args.scalar(3)?, total)
                .map_err(kernel)?;
        Ok(tensors(vec![padded, lengths]))
    }),
    op("aten::pad_sequence", "-", |_, args| {
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

/// Lengths of sequences, or of batches of their steps.
fn lengths(tensor: &Tensor) -> Result<&Tensor> {
    if tensor.dim() == 1 && tensor.dtype() == DType::Int64 {
        return Ok(tensor);
    }
    Err(Raise::message(format!(
        "'lengths' argument should be a 1D CPU int64 tensor, but got {}D cpu {} tensor",
        tensor.dim(),
        tensor.dtype().scalar_type_name()
    )))
}

fn tensors(tensors: Vec<Tensor>) -> IValue {
    IValue::tuple(tensors.into_iter().map(IValue::Tensor).collect())
}

fn numbers(tensor: &Tensor) -> Result<Vec<i64>> {
    let wide = tensor.to_dtype(kernels::DType::Int64).map_err(kernel)?;
    wide.to_vec::<i64>().map_err(kernel)
}

/// The states to start from: a list for an LSTM, one tensor for the others.
pub(crate) fn states(args: &Args<'_>, index: usize, cell: Cell) -> Result<Vec<Tensor>> {
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

fn padded(context: &mut dyn OpContext, args: &Args<'_>, cell: Cell) -> Result {
    let params = args.tensors(2)?;
    let network = network(args, 2, cell, &params)?;
    let input = time_first(args, args.tensor(0)?)?;
    let (output, last) =
        network.run(&input, &states(args, 1, cell)?, context.generator()).map_err(kernel)?;
    outputs(time_first(args, &output)?, last)
}

/// As [`padded`], with packed weights behind the nine operands.
fn padded_packed(context: &mut dyn OpContext, args: &Args<'_>, cell: Cell) -> Result {
    let drops_out = args.bool(6)? && args.real(5)? != 0.0;
    if !drops_out {
        let packed = packed_weights(args, 9)?;
        let network = PackedRecurrent { cell, packed: &packed, bidirectional: args.bool(7)? };
        let input = time_first(args, args.tensor(0)?)?;
        let result = network.run(&input, &states(args, 1, cell)?).map_err(kernel)?;
        if let Some((output, last)) = result {
            return outputs(time_first(args, &output)?, last);
        }
    }
    padded(context, args, cell)
}

/// A tensor as it is, or with its first two dimensions swapped where the batch comes first.
pub(crate) fn time_first(args: &Args<'_>, tensor: &Tensor) -> Result<Tensor> {
    match args.bool(8)? {
        true => tensor.transpose(0, 1).map_err(kernel),
        false => Ok(tensor.clone()),
    }
}

/// The packed weights of every layer and direction, from an operand on.
fn packed_weights<'a>(args: &'a Args<'_>, from: usize) -> Result<Vec<[&'a Tensor; 3]>> {
    let starts = (from..args.len()).step_by(3);
    starts.map(|at| Ok([args.tensor(at)?, args.tensor(at + 1)?, args.tensor(at + 2)?])).collect()
}

pub(crate) fn outputs(output: Tensor, last: Vec<Tensor>) -> Result {
    Ok(tensors(std::iter::once(output).chain(last).collect()))
}

fn packed(context: &mut dyn OpContext, args: &Args<'_>, cell: Cell) -> Result {
    let params = args.tensors(3)?;
    let network = network(args, 3, cell, &params)?;
    let sizes = numbers(args.tensor(1)?)?;
    let (output, last) = network
        .run_packed(args.tensor(0)?, &sizes, &states(args, 2, cell)?, context.generator())
        .map_err(kernel)?;
    outputs(output, last)
}

fn step(args: &Args<'_>, cell: Cell) -> Result {
    let weights = CellWeights {
        input: args.tensor(2)?,
        hidden: args.tensor(3)?,
        input_bias: args.optional_tensor(4)?,
        hidden_bias: args.optional_tensor(5)?,
        projection: None,
    };
    let state = states(args, 1, cell)?;
    stepped(kernels::cell_step(cell, args.tensor(0)?, &state, weights).map_err(kernel)?)
}

/// As [`step`], with packed weights behind the six operands.
fn step_packed(args: &Args<'_>, cell: Cell) -> Result {
    let packed = [args.tensor(6)?, args.tensor(7)?, args.tensor(8)?];
    let network = PackedRecurrent { cell, packed: &[packed], bidirectional: false };
    match network.step(args.tensor(0)?, &states(args, 1, cell)?).map_err(kernel)? {
        Some(next) => stepped(next),
        None => step(args, cell),
    }
}

/// The next states: a tuple for an LSTM, one tensor for the others.
pub(crate) fn stepped(mut next: Vec<Tensor>) -> Result {
    match next.len() {
        1 => Ok(next.pop().map_or(IValue::None, IValue::Tensor)),
        _ => Ok(tensors(next)),
    }
}
