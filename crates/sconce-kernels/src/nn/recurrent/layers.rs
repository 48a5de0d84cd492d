//! Recurrent layers: LSTM, GRU and plain RNNs over padded and packed sequences.

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::unary::unary;
use crate::elementwise::unary_op::UnaryOp;
use crate::nn::recurrent::cell::{Cell, CellWeights};
use crate::nn::recurrent::gates::single_step;
use crate::nn::recurrent::packed::pack_and_run;
use crate::{Dropout, Error, Generator, Result, Tensor, cat, chunk, dropout, linear, stack};

/// How a stack of layers is run.
#[derive(Debug, Clone, Copy)]
pub struct Recurrent<'a> {
    /// What each step computes.
    pub cell: Cell,
    /// Weights and biases of every layer and direction, in PyTorch's order.
    pub params: &'a [Tensor],
    /// Whether there are biases among them.
    pub has_biases: bool,
    /// Layers.
    pub layers: usize,
    /// The chance of dropout between layers; 0 outside training.
    pub dropout: f64,
    /// Whether each layer also runs backwards.
    pub bidirectional: bool,
}

fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(BinaryOp::Add, a.into(), b.into())
}

fn sub(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(BinaryOp::Sub, a.into(), b.into())
}

fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(BinaryOp::Mul, a.into(), b.into())
}

/// One step: `state` is the hidden state, and for an LSTM the cell state.
///
/// # Errors
/// Where sizes or dtypes do not fit.
pub fn cell_step(
    cell: Cell,
    input: &Tensor,
    state: &[Tensor],
    weights: CellWeights<'_>,
) -> Result<Vec<Tensor>> {
    step(cell, &linear(input, weights.input, weights.input_bias)?, state, weights)
}

fn parts<const N: usize>(gates: &Tensor) -> Result<[Tensor; N]> {
    if gates.size(-1)? % N as i64 != 0 {
        return Err(Error::runtime(format!("the gates cannot be split into {N}")));
    }
    <[Tensor; N]>::try_from(chunk(gates, N as i64, -1)?)
        .map_err(|_| Error::runtime(format!("the gates cannot be split into {N}")))
}

fn hidden_of(state: &[Tensor]) -> Result<&Tensor> {
    state.first().ok_or_else(|| Error::runtime("a cell without a hidden state"))
}

/// One step whose input has been multiplied by its weights.
fn step(
    cell: Cell,
    input_gates: &Tensor,
    state: &[Tensor],
    weights: CellWeights<'_>,
) -> Result<Vec<Tensor>> {
    let hidden = hidden_of(state)?;
    let hidden_gates = linear(hidden, weights.hidden, weights.hidden_bias)?;
    let mut state = gate_step(cell, input_gates, &hidden_gates, state)?;
    if let (Some(projection), Some(hidden)) = (weights.projection, state.first_mut()) {
        *hidden = linear(hidden, projection, None)?;
    }
    Ok(state)
}

/// One step whose input and hidden state have been multiplied by their weights: `state` is the hidden
/// state, and for an LSTM the cell state.
///
/// # Errors
/// Where sizes or dtypes do not fit.
pub fn gate_step(
    cell: Cell,
    input_gates: &Tensor,
    hidden_gates: &Tensor,
    state: &[Tensor],
) -> Result<Vec<Tensor>> {
    if let Some(state) = single_step(cell, input_gates, hidden_gates, state)? {
        return Ok(state);
    }
    match cell {
        Cell::Tanh => Ok(vec![unary(UnaryOp::Tanh, &add(input_gates, hidden_gates)?)?]),
        Cell::Relu => Ok(vec![unary(UnaryOp::Relu, &add(input_gates, hidden_gates)?)?]),
        Cell::Gru => {
            let hidden = hidden_of(state)?;
            let [reset, update, new] = parts(input_gates)?;
            let [hidden_reset, hidden_update, hidden_new] = parts(hidden_gates)?;
            let reset = unary(UnaryOp::Sigmoid, &add(&reset, &hidden_reset)?)?;
            let update = unary(UnaryOp::Sigmoid, &add(&update, &hidden_update)?)?;
            let new = unary(UnaryOp::Tanh, &add(&new, &mul(&reset, &hidden_new)?)?)?;
            Ok(vec![add(&mul(&sub(hidden, &new)?, &update)?, &new)?])
        }
        Cell::Lstm => {
            let memory =
                state.get(1).ok_or_else(|| Error::runtime("an LSTM without a cell state"))?;
            let [input, forget, new, output] = parts(&add(input_gates, hidden_gates)?)?;
            let input = unary(UnaryOp::Sigmoid, &input)?;
            let forget = unary(UnaryOp::Sigmoid, &forget)?;
            let memory = add(&mul(&forget, memory)?, &mul(&input, &unary(UnaryOp::Tanh, &new)?)?)?;
            let output = unary(UnaryOp::Sigmoid, &output)?;
            Ok(vec![mul(&output, &unary(UnaryOp::Tanh, &memory)?)?, memory])
        }
    }
}

impl<'a> Recurrent<'a> {
    fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// The weights of every layer and direction.
    fn weights(&self, projected: bool) -> Result<Vec<CellWeights<'a>>> {
        let each = 2 + if self.has_biases { 2 } else { 0 } + usize::from(projected);
        let count = self.layers.saturating_mul(self.directions());
        let found = self.params.len();
        if !found.is_multiple_of(each) {
            let message =
                format!("MatrixRef: ArrayRef size {found} not divisible by stride {each}");
            return Err(Error::runtime(message));
        }
        // An LSTM does not look at more than it has layers for.
        let wanted = count.saturating_mul(each);
        if count == 0 || found < wanted || (found > wanted && self.cell != Cell::Lstm) {
            return Err(Error::runtime("Expected more weights in stacked_rnn"));
        }
        let weights = self.params.chunks_exact(each).take(count).map(|params| CellWeights {
            input: &params[0],
            hidden: &params[1],
            input_bias: params.get(2).filter(|_| self.has_biases),
            hidden_bias: params.get(3).filter(|_| self.has_biases),
            projection: params.last().filter(|_| projected),
        });
        Ok(weights.collect())
    }

    /// Runs over `input` (time × batch × features) from the states in `initial`, each
    /// (layers · directions) × batch × hidden. Gives the outputs and the last states.
    ///
    /// # Errors
    /// Where sizes or dtypes do not fit, and for sequences of no steps.
    pub fn run(
        &self,
        input: &Tensor,
        initial: &[Tensor],
        generator: &mut Generator,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        if input.dim() != 3 {
            let message = format!("RNN: Expected input to be 3-D, but got {}-D", input.dim());
            return Err(Error::runtime(message));
        }
        if input.sizes()[0] == 0 {
            let message = "Expected sequence length to be larger than 0 in RNN";
            return Err(Error::runtime(message));
        }
        self.stacked(input, initial, generator, |weights, input, state, backwards| {
            if let Some(done) = pack_and_run(self.cell, input, &state, weights, backwards)? {
                return Ok(done);
            }
            let gates = linear(input, weights.input, weights.input_bias)?;
            let steps = input.sizes()[0];
            let mut state = state;
            let mut outputs = Vec::new();
            for at in 0..steps {
                let at = if backwards { steps - 1 - at } else { at };
                state = step(self.cell, &gates.select(0, at)?, &state, weights)?;
                outputs.push(state[0].clone());
            }
            if backwards {
                outputs.reverse();
            }
            Ok((stack(&outputs, 0)?, state))
        })
    }

    /// Runs over a packed sequence: `data` holds the first steps of all sequences, then the second
    /// ones of those that have one, and so on; `batch_sizes` says how many each step has.
    ///
    /// # Errors
    /// As [`Recurrent::run`], and for batch sizes that grow.
    pub fn run_packed(
        &self,
        data: &Tensor,
        batch_sizes: &[i64],
        initial: &[Tensor],
        generator: &mut Generator,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let falling = batch_sizes.windows(2).all(|pair| pair[0] >= pair[1]);
        if batch_sizes.is_empty() || !falling || batch_sizes.iter().any(|&size| size <= 0) {
            return Err(Error::runtime("batch sizes of a packed sequence that do not fall"));
        }
        if batch_sizes.iter().try_fold(0, |sum: i64, &size| sum.checked_add(size))
            != Some(data.size(0)?)
        {
            return Err(Error::runtime("batch sizes that do not fit the packed sequence"));
        }
        self.stacked(data, initial, generator, |weights, data, state, backwards| {
            let gates = linear(data, weights.input, weights.input_bias)?;
            match backwards {
                false => self.packed_forwards(&gates, batch_sizes, state, weights),
                true => self.packed_backwards(&gates, batch_sizes, &state, weights),
            }
        })
    }

    fn packed_forwards(
        &self,
        gates: &Tensor,
        batch_sizes: &[i64],
        mut state: Vec<Tensor>,
        weights: CellWeights<'_>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let (mut outputs, mut ended) = (Vec::new(), Vec::new());
        let mut start = 0;
        for &size in batch_sizes {
            let running = state[0].size(0)?;
            if size < running {
                ended.push(narrowed(&state, size, running - size)?);
                state = narrowed(&state, 0, size)?;
            }
            state = step(self.cell, &gates.narrow(0, start, size)?, &state, weights)?;
            outputs.push(state[0].clone());
            start += size;
        }
        ended.push(state);
        // The sequences that ended last come first.
        ended.reverse();
        let last: Result<Vec<Tensor>> = (0..ended[0].len())
            .map(|part| cat(&ended.iter().map(|state| state[part].clone()).collect::<Vec<_>>(), 0))
            .collect();
        Ok((cat(&outputs, 0)?, last?))
    }

    fn packed_backwards(
        &self,
        gates: &Tensor,
        batch_sizes: &[i64],
        initial: &[Tensor],
        weights: CellWeights<'_>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let mut outputs = Vec::new();
        let mut state: Vec<Tensor> = Vec::new();
        let mut end: i64 = batch_sizes.iter().sum();
        for &size in batch_sizes.iter().rev() {
            let running = state.first().map_or(Ok(0), |hidden| hidden.size(0))?;
            if size > running {
                let joining = narrowed(initial, running, size - running)?;
                state = match state.is_empty() {
                    true => joining,
                    false => {
                        let pairs = state.into_iter().zip(joining);
                        pairs.map(|(a, b)| cat(&[a, b], 0)).collect::<Result<_>>()?
                    }
                };
            }
            state = step(self.cell, &gates.narrow(0, end - size, size)?, &state, weights)?;
            outputs.push(state[0].clone());
            end -= size;
        }
        outputs.reverse();
        Ok((cat(&outputs, 0)?, state))
    }

    /// Runs every layer in every direction by `layer`, with dropout between layers.
    fn stacked(
        &self,
        input: &Tensor,
        initial: &[Tensor],
        generator: &mut Generator,
        layer: impl Fn(CellWeights<'a>, &Tensor, Vec<Tensor>, bool) -> Result<(Tensor, Vec<Tensor>)>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let wanted = if self.cell == Cell::Lstm { 2 } else { 1 };
        if initial.len() != wanted || initial.iter().any(|state| state.dim() != 3) {
            return Err(match self.cell {
                Cell::Lstm => Error::runtime("lstm expects two hidden states"),
                _ => Error::runtime("a recurrent network expects one hidden state"),
            });
        }
        let projected = self.cell == Cell::Lstm && initial[0].size(2)? != initial[1].size(2)?;
        let weights = self.weights(projected)?;
        if initial.iter().any(|state| state.sizes()[0] != weights.len() as i64) {
            return Err(Error::runtime("Expected more hidden states in stacked_rnn"));
        }
        let mut last: Vec<Vec<Tensor>> = vec![Vec::new(); wanted];
        let mut sequence = input.clone();
        for (at, weights) in weights.chunks_exact(self.directions()).enumerate() {
            let mut outputs = Vec::new();
            for (direction, &weights) in weights.iter().enumerate() {
                let index = (at * self.directions() + direction) as i64;
                let state: Result<Vec<Tensor>> =
                    initial.iter().map(|state| state.select(0, index)).collect();
                let (output, state) = layer(weights, &sequence, state?, direction == 1)?;
                outputs.push(output);
                for (last, state) in last.iter_mut().zip(state) {
                    last.push(state);
                }
            }
            sequence = if outputs.len() == 1 { outputs.remove(0) } else { cat(&outputs, -1)? };
            if self.dropout != 0.0 && at + 1 < self.layers {
                sequence = dropout(&sequence, self.dropout, Dropout::default(), generator)?;
            }
        }
        let last: Result<Vec<Tensor>> = last.iter().map(|states| stack(states, 0)).collect();
        Ok((sequence, last?))
    }
}

fn narrowed(state: &[Tensor], start: i64, length: i64) -> Result<Vec<Tensor>> {
    state.iter().map(|state| state.narrow(0, start, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 gates · rows of (0, 1, 2, 3, 4, 0, …) shifted and halved twice.
    fn weight(gates: i64) -> Tensor {
        let numbers: Vec<f32> = (0..gates * 2).map(|i| ((i % 5) - 2) as f32 / 4.0).collect();
        Tensor::from_slice(&numbers, &[gates, 2]).unwrap()
    }

    #[test]
    fn two_steps_of_each_cell_are_pytorchs() {
        let cases: [(Cell, i64, &[&[f32]]); 4] = [
            (Cell::Lstm, 4, &[&[0.229_859_08, 0.044_277_82], &[0.044_277_82], &[0.091_907_16]]),
            (Cell::Gru, 3, &[&[0.614_630_94, 0.117_748_8], &[0.117_748_8]]),
            (Cell::Tanh, 1, &[&[0.0, -0.635_148_94], &[-0.635_148_94]]),
            (Cell::Relu, 1, &[&[0.0, 0.0], &[0.0]]),
        ];
        let input = Tensor::from_slice(&[1f32, -1.0, 0.5, 2.0], &[2, 1, 2]).unwrap();
        let half = Tensor::full(&[1, 1, 1], 0.5.into(), crate::DType::Float32).unwrap();
        for (cell, gates, expected) in cases {
            let hidden = unary(UnaryOp::Neg, &weight(gates).narrow(1, 0, 1).unwrap()).unwrap();
            let params = [weight(gates), hidden];
            let network = Recurrent {
                cell,
                params: &params,
                has_biases: false,
                layers: 1,
                dropout: 0.0,
                bidirectional: false,
            };
            let states = vec![half.clone(); expected.len() - 1];
            let mut generator = Generator::default();
            let (output, last) = network.run(&input, &states, &mut generator).unwrap();
            // The same sequence packed gives the same.
            let data = input.view(&[2, 2]).unwrap();
            let packed = network.run_packed(&data, &[1, 1], &states, &mut generator).unwrap();
            for results in [(output, last), packed] {
                let results = std::iter::once(results.0).chain(results.1);
                for (found, &expected) in results.zip(expected) {
                    let found = found.contiguous().unwrap().to_vec::<f32>().unwrap();
                    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
                    assert!(near && found.len() == expected.len(), "{cell:?}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let network = Recurrent {
            cell: Cell::Gru,
            params: &[],
            has_biases: true,
            layers: usize::MAX,
            dropout: 0.0,
            bidirectional: true,
        };
        let input = Tensor::zeros(&[2, 1, 2], crate::DType::Float32).unwrap();
        let state = Tensor::zeros(&[2, 1, 1], crate::DType::Float32).unwrap();
        assert!(network.run(&input, &[state], &mut Generator::default()).is_err());
    }
}
