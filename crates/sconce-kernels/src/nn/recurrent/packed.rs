//! Recurrent layers over `f32` with packed weights.
//!
//! A step goes over the packed weight of the hidden state 32 units at a time, with a panel of each gate
//! side by side. Then it has all that the next state of these units needs. [`single_sequence`] runs the
//! steps of one sequence, [`batch`] those of several.

use sconce_gemm::panel::PANEL;

use crate::nn::recurrent::cell::{Cell, CellWeights, gates_of};
use crate::nn::recurrent::packed_layout::{GateLayout, HiddenOutput, Layer, Operands, State};
use crate::nn::recurrent::{batch, single_sequence};
use crate::{DType, Result, Tensor};

/// Rows of inputs below which packing weights takes longer than using them as they are.
const WORTH_PACKING: i64 = 4;

/// Packs the weights of a layer in one direction: those of the input, those of the hidden state, and
/// what is added to their products. `None` for weights that are not `float32` matrices of one
/// layer, and where the hidden state is projected.
///
/// # Errors
/// Where memory is short.
pub fn pack_recurrent(cell: Cell, weights: CellWeights<'_>) -> Result<Option<[Tensor; 3]>> {
    let gates = gates_of(cell);
    let (&[rows, inputs], &[_, hidden]) = (weights.input.sizes(), weights.hidden.sizes()) else {
        return Ok(None);
    };
    let single = |tensor: &Tensor| tensor.dtype() == DType::Float32;
    let biases = [weights.input_bias, weights.hidden_bias];
    let fits = weights.projection.is_none()
        && hidden > 0
        && rows == hidden.saturating_mul(gates as i64)
        && weights.hidden.sizes() == [rows, hidden]
        && single(weights.input)
        && single(weights.hidden)
        && biases.iter().flatten().all(|bias| single(bias) && bias.sizes() == [rows]);
    if !fits {
        return Ok(None);
    }
    let order = GateLayout { gates, hidden: hidden as usize };
    let width = order.width();
    let pack = |weight: &Tensor, k: i64| -> Result<Tensor> {
        let sorted = order.fill_up(&weight.contiguous()?.read::<f32>()?, k as usize);
        let packed =
            Tensor::for_overwrite(&[(width / PANEL) as i64, k, PANEL as i64], DType::Float32)?;
        sconce_gemm::panel::pack(&sorted, width, k as usize, &mut packed.write::<f32>()?);
        Ok(packed)
    };
    let add = |bias: Option<&Tensor>, sums: &mut [f32]| -> Result<()> {
        let Some(bias) = bias else { return Ok(()) };
        let sorted = order.fill_up(&bias.contiguous()?.read::<f32>()?, 1);
        sums.iter_mut().zip(sorted).for_each(|(sum, bias)| *sum += bias);
        Ok(())
    };
    let mut sums = vec![0f32; width];
    add(weights.input_bias, &mut sums)?;
    if cell == Cell::Gru {
        // The new state of a GRU scales what the hidden state gives, its bias among it.
        sums.resize(2 * width, 0.0);
        add(weights.hidden_bias, &mut sums[width..])?;
    } else {
        add(weights.hidden_bias, &mut sums)?;
    }
    let input = pack(weights.input, inputs)?;
    let hidden = pack(weights.hidden, hidden)?;
    Ok(Some([input, hidden, Tensor::from_slice(&sums, &[sums.len() as i64])?]))
}

/// A stack of recurrent layers with weights that [`pack_recurrent`] packed.
#[derive(Debug, Clone, Copy)]
pub struct PackedRecurrent<'a> {
    /// What each step computes.
    pub cell: Cell,
    /// What was packed for every layer and direction, in PyTorch's order.
    pub packed: &'a [[&'a Tensor; 3]],
    /// Whether each layer also runs backwards.
    pub bidirectional: bool,
}

impl PackedRecurrent<'_> {
    /// As [`crate::Recurrent::run`] outside training; `None` where an operand is of another dtype or
    /// size, which the ordinary operator has to deal with.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn run(&self, input: &Tensor, initial: &[Tensor]) -> Result<Option<(Tensor, Vec<Tensor>)>> {
        let directions = if self.bidirectional { 2 } else { 1 };
        let (&[steps, batch, _], Some(&[count, _, hidden])) =
            (input.sizes(), initial.first().map(Tensor::sizes))
        else {
            return Ok(None);
        };
        let fits = steps > 0
            && batch > 0
            && count as usize == self.packed.len()
            && self.packed.len().is_multiple_of(directions)
            && are_states(self.cell, initial, &[count, batch, hidden]);
        if !fits {
            return Ok(None);
        }
        let last: Vec<Tensor> = initial.iter().map(Tensor::copy).collect::<Result<_>>()?;
        let mut sequence = input.clone();
        for (at, packed) in self.packed.chunks_exact(directions).enumerate() {
            let sizes = [steps, batch, hidden.saturating_mul(directions as i64)];
            let output = Tensor::empty(&sizes, DType::Float32)?;
            let size = (batch * hidden) as usize;
            let mut states = last.iter().map(Tensor::write::<f32>).collect::<Result<Vec<_>>>()?;
            for (direction, &packed) in packed.iter().enumerate() {
                let Some(layer) = Layer::new(self.cell, packed, &sequence, hidden) else {
                    return Ok(None);
                };
                let position = (at * directions + direction) * size;
                let mut parts = states.iter_mut().map(|state| &mut state[position..][..size]);
                let (Some(h), c) = (parts.next(), parts.next()) else { return Ok(None) };
                let column = direction * layer.order.hidden;
                let mut all = output.write::<f32>()?;
                let out = Some(HiddenOutput { all: &mut all, column, stride: sizes[2] as usize });
                layer.run(packed, &sequence, State { h, c }, out, direction == 1)?;
            }
            sequence = output;
        }
        Ok(Some((sequence, last)))
    }

    /// As [`crate::cell_step`] of the first layer: the next states; `None` as [`PackedRecurrent::run`].
    ///
    /// # Errors
    /// Where memory is short.
    pub fn step(&self, input: &Tensor, state: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
        let (&[batch, inputs], Some(&[_, hidden]), Some(&packed)) =
            (input.sizes(), state.first().map(Tensor::sizes), self.packed.first())
        else {
            return Ok(None);
        };
        if batch == 0 || !are_states(self.cell, state, &[batch, hidden]) {
            return Ok(None);
        }
        let input = input.view(&[1, batch, inputs])?;
        let Some(layer) = Layer::new(self.cell, packed, &input, hidden) else { return Ok(None) };
        let next: Vec<Tensor> = state.iter().map(Tensor::copy).collect::<Result<_>>()?;
        {
            let mut parts = next.iter().map(Tensor::write::<f32>);
            let (Some(h), c) = (parts.next(), parts.next()) else { return Ok(None) };
            let (mut h, mut c) = (h?, c.transpose()?);
            let state = State { h: &mut h, c: c.as_deref_mut() };
            layer.run(packed, &input, state, None, false)?;
        }
        Ok(Some(next))
    }
}

/// Packs weights for one run over `input`, time × batch × features. Gives the hidden states of all
/// steps and the last state; `None` where that is not worth its time or operands are of another
/// dtype or size.
///
/// # Errors
/// Where memory is short.
pub(crate) fn pack_and_run(
    cell: Cell,
    input: &Tensor,
    state: &[Tensor],
    weights: CellWeights<'_>,
    backwards: bool,
) -> Result<Option<(Tensor, Vec<Tensor>)>> {
    let (&[steps, batch, _], Some(&[_, hidden])) =
        (input.sizes(), state.first().map(Tensor::sizes))
    else {
        return Ok(None);
    };
    let worth = steps.saturating_mul(batch) >= WORTH_PACKING;
    if !worth || !are_states(cell, state, &[batch, hidden]) {
        return Ok(None);
    }
    let Some(packed) = pack_recurrent(cell, weights)? else { return Ok(None) };
    let packed = [&packed[0], &packed[1], &packed[2]];
    let Some(layer) = Layer::new(cell, packed, input, hidden) else { return Ok(None) };
    let last: Vec<Tensor> = state.iter().map(Tensor::copy).collect::<Result<_>>()?;
    let output = Tensor::empty(&[steps, batch, hidden], DType::Float32)?;
    {
        let mut parts = last.iter().map(Tensor::write::<f32>);
        let (Some(h), c) = (parts.next(), parts.next()) else { return Ok(None) };
        let (mut h, mut c) = (h?, c.transpose()?);
        let state = State { h: &mut h, c: c.as_deref_mut() };
        let mut all = output.write::<f32>()?;
        let out = Some(HiddenOutput { all: &mut all, column: 0, stride: hidden as usize });
        layer.run(packed, input, state, out, backwards)?;
    }
    Ok(Some((output, last)))
}

/// Whether these are the states that a cell takes, `float32` of these sizes.
fn are_states(cell: Cell, states: &[Tensor], sizes: &[i64]) -> bool {
    states.len() == if cell == Cell::Lstm { 2 } else { 1 }
        && sizes.iter().all(|&size| size > 0)
        && states.iter().all(|state| state.dtype() == DType::Float32 && state.sizes() == sizes)
}

impl Layer {
    /// The layer, if what was packed fits it and the input, time × batch × features.
    fn new(cell: Cell, packed: [&Tensor; 3], input: &Tensor, hidden: i64) -> Option<Layer> {
        let &[steps, batch, inputs] = input.sizes() else { return None };
        let order = GateLayout { gates: gates_of(cell), hidden: usize::try_from(hidden).ok()? };
        let panels = (order.width() / PANEL) as i64;
        let sums = order.width() * if cell == Cell::Gru { 2 } else { 1 };
        let is = |tensor: &Tensor, sizes: &[i64]| {
            tensor.dtype() == DType::Float32 && tensor.is_contiguous() && tensor.sizes() == sizes
        };
        let fits = input.dtype() == DType::Float32
            && is(packed[0], &[panels, inputs, PANEL as i64])
            && is(packed[1], &[panels, hidden, PANEL as i64])
            && is(packed[2], &[sums as i64]);
        let [steps, batch, inputs] = [steps, batch, inputs].map(|size| size as usize);
        fits.then_some(Layer { cell, steps, batch, inputs, order })
    }

    /// Runs over all steps.
    fn run(
        self,
        packed: [&Tensor; 3],
        input: &Tensor,
        state: State<'_>,
        out: Option<HiddenOutput<'_>>,
        backwards: bool,
    ) -> Result<()> {
        let input = input.contiguous()?;
        let x = input.read::<f32>()?;
        let (input, hidden) = (packed[0].read::<f32>()?, packed[1].read::<f32>()?);
        let bias = packed[2].read::<f32>()?;
        let operands = Operands { x: &x, input: &input, hidden: &hidden, bias: &bias };
        match self.batch {
            1 => single_sequence::run(self, operands, state, out, backwards),
            _ => batch::run(self, operands, state, out, backwards),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Generator, Recurrent};

    fn tensor(sizes: &[i64], seed: i64) -> Tensor {
        let count: i64 = sizes.iter().product();
        let numbers = (0..count).map(|i| (((i + seed) * 37 % 101) as f32 - 50.0) / 800.0);
        Tensor::from_slice(&numbers.collect::<Vec<f32>>(), sizes).unwrap()
    }

    fn close(found: &Tensor, expected: &Tensor, case: &str) {
        assert_eq!(found.numel(), expected.numel(), "{case}");
        let pairs = found.to_vec::<f32>().unwrap().into_iter();
        for (found, expected) in pairs.zip(expected.to_vec::<f32>().unwrap()) {
            let near = (found - expected).abs() < 1e-5 * expected.abs().max(1.0);
            assert!(near, "{case}: {found} {expected}");
        }
    }

    /// Packs layers and directions of four parameters each.
    fn pack_layers(cell: Cell, params: &[Tensor]) -> Vec<[Tensor; 3]> {
        let pack = |layer: &[Tensor]| {
            let weights = CellWeights {
                input: &layer[0],
                hidden: &layer[1],
                input_bias: Some(&layer[2]),
                hidden_bias: Some(&layer[3]),
                projection: None,
            };
            pack_recurrent(cell, weights).unwrap().unwrap()
        };
        params.chunks_exact(4).map(pack).collect()
    }

    #[test]
    fn packed_layers_give_what_steps_one_by_one_give() {
        let cells = [(Cell::Lstm, 4), (Cell::Gru, 3), (Cell::Tanh, 1), (Cell::Relu, 1)];
        let sizes = [(1, 1, 3, 1), (5, 1, 1, 20), (13, 1, 40, 33), (22, 1, 7, 64), (6, 3, 9, 33)];
        for ((cell, gates), (steps, batch, inputs, hidden)) in
            cells.into_iter().flat_map(|cell| sizes.map(|size| (cell, size)))
        {
            let case = format!("{cell:?} {steps} {batch} {inputs} {hidden}");
            // Two layers in both directions.
            let params: Vec<Tensor> = (0..4)
                .flat_map(|at| {
                    let inputs = if at < 2 { inputs } else { 2 * hidden };
                    let rows = gates * hidden;
                    let sizes = [vec![rows, inputs], vec![rows, hidden], vec![rows], vec![rows]];
                    sizes.into_iter().enumerate().map(move |(i, s)| tensor(&s, at * 5 + i as i64))
                })
                .collect();
            let states = if cell == Cell::Lstm { 2 } else { 1 };
            let initial: Vec<Tensor> =
                (0..states).map(|at| tensor(&[4, batch, hidden], at + 3)).collect();
            let input = tensor(&[steps, batch, inputs], 11);
            let ordinary = Recurrent {
                cell,
                params: &params,
                has_biases: true,
                layers: 2,
                dropout: 0.0,
                bidirectional: true,
            };
            let data = input.view(&[steps * batch, inputs]).unwrap();
            let batches = vec![batch; steps as usize];
            let generator = &mut Generator::default();
            let expected = ordinary.run_packed(&data, &batches, &initial, generator).unwrap();
            let packed = pack_layers(cell, &params);
            let packed: Vec<[&Tensor; 3]> = packed.iter().map(|layer| layer.each_ref()).collect();
            let network = PackedRecurrent { cell, packed: &packed, bidirectional: true };
            let found = network.run(&input, &initial).unwrap().unwrap();
            let again = ordinary.run(&input, &initial, generator).unwrap();
            for found in [found, again] {
                close(&found.0, &expected.0, &case);
                found.1.iter().zip(&expected.1).for_each(|(a, b)| close(a, b, &case));
            }
            // Other sizes and dtypes are left to the ordinary operator.
            let wider = tensor(&[steps, batch, inputs + 1], 0);
            assert!(network.run(&wider, &initial).unwrap().is_none());
            let doubles = input.to_dtype(DType::Float64).unwrap();
            assert!(network.run(&doubles, &initial).unwrap().is_none());
        }
    }

    #[test]
    fn threads_that_share_sequences_change_nothing() {
        let cells = [(Cell::Lstm, 4), (Cell::Gru, 3), (Cell::Tanh, 1)];
        for ((cell, gates), batch) in cells.into_iter().flat_map(|cell| [(cell, 1), (cell, 7)]) {
            let (inputs, hidden, steps) = (24, 201, 37);
            let rows = gates * hidden;
            let sizes = [vec![rows, inputs], vec![rows, hidden], vec![rows], vec![rows]];
            let params: Vec<Tensor> = (0..2)
                .flat_map(|at| {
                    sizes.iter().enumerate().map(move |(i, s)| tensor(s, at * 9 + i as i64))
                })
                .collect();
            let packed = pack_layers(cell, &params);
            let packed: Vec<[&Tensor; 3]> = packed.iter().map(|layer| layer.each_ref()).collect();
            let network = PackedRecurrent { cell, packed: &packed, bidirectional: true };
            let states = if cell == Cell::Lstm { 2 } else { 1 };
            let initial: Vec<Tensor> =
                (0..states).map(|at| tensor(&[2, batch, hidden], at)).collect();
            let input = tensor(&[steps, batch, inputs], 5);
            let run = |threads| {
                sconce_kernel_core::parallel::partition::set_num_threads(threads);
                let (out, last) = network.run(&input, &initial).unwrap().unwrap();
                let mut all = out.to_vec::<f32>().unwrap();
                last.iter().for_each(|state| all.extend(state.to_vec::<f32>().unwrap()));
                sconce_kernel_core::parallel::partition::set_num_threads(0);
                all
            };
            let expected = run(1);
            for threads in [2, 3, 8, 2, 3] {
                assert!(run(threads) == expected, "{cell:?} {batch} {threads}");
            }
        }
    }
}
