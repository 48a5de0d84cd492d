//! Cells of recurrent layers and their weights.

use crate::Tensor;

/// What a layer computes at each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// `torch.lstm_cell`: the state is hidden and cell.
    Lstm,
    /// `torch.gru_cell`.
    Gru,
    /// `torch.rnn_tanh_cell`.
    Tanh,
    /// `torch.rnn_relu_cell`.
    Relu,
}

/// The weights of one layer in one direction.
#[derive(Debug, Clone, Copy)]
pub struct CellWeights<'a> {
    /// Of the input: gates × inputs.
    pub input: &'a Tensor,
    /// Of the hidden state: gates × hidden.
    pub hidden: &'a Tensor,
    /// Added to what the input gives.
    pub input_bias: Option<&'a Tensor>,
    /// Added to what the hidden state gives.
    pub hidden_bias: Option<&'a Tensor>,
    /// Projects the hidden state of an LSTM.
    pub projection: Option<&'a Tensor>,
}

/// Gates of a unit.
pub(crate) fn gates_of(cell: Cell) -> usize {
    match cell {
        Cell::Lstm => 4,
        Cell::Gru => 3,
        Cell::Tanh | Cell::Relu => 1,
    }
}
