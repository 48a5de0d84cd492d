//! Recurrent layers over `f32` with weights that were packed beforehand.
//!
//! The rows of both weights are put into the order of units, 32 at a time: all gates of the first 32
//! units, then those of the next. So a step goes once over the packed weight of the hidden state, and
//! after every few panels it has all that the next state of 32 units takes. Sequences that come alone
//! are multiplied by the input's weight five steps at a time, beside the products of the steps before
//! ([`crate::panel_vector`]); for batches that is one product at the start.

use crate::panel_vector::{TILE_ROWS, Tile, vector_beside};
use crate::panels::{self, PANEL, Shape};
use crate::recurrent_steps::{gates_of, gru_gates, lstm_gates, plain_gates};
use crate::{Cell, CellWeights, DType, Result, Tensor};

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
    let order = Order { gates, hidden: hidden as usize };
    let width = order.width();
    let pack = |weight: &Tensor, k: i64| -> Result<Tensor> {
        let sorted = order.sort(&weight.contiguous()?.read::<f32>()?, k as usize);
        let packed = Tensor::unset(&[(width / PANEL) as i64, k, PANEL as i64], DType::Float32)?;
        panels::pack(&sorted, width, k as usize, &mut packed.write::<f32>()?);
        Ok(packed)
    };
    let mut sums = vec![0f32; width * if cell == Cell::Gru { 2 } else { 1 }];
    for (at, bias) in biases.into_iter().enumerate() {
        let Some(bias) = bias else { continue };
        let sorted = order.sort(&bias.contiguous()?.read::<f32>()?, 1);
        for (i, bias) in sorted.into_iter().enumerate() {
            // The new state of a GRU scales what the hidden state gives, its bias among it.
            let apart = cell == Cell::Gru && at == 1 && i / PANEL % gates == 2;
            if let Some(sum) = sums.get_mut(if apart { width + i } else { i }) {
                *sum += bias;
            }
        }
    }
    let bias = Tensor::from_slice(&sums, &[sums.len() as i64])?;
    Ok(Some([pack(weights.input, inputs)?, pack(weights.hidden, hidden)?, bias]))
}

/// The order of rows: for every 32 units, all of a gate, then all of the next gate.
#[derive(Debug, Clone, Copy)]
struct Order {
    gates: usize,
    hidden: usize,
}

impl Order {
    /// Units, filled up to whole panels.
    fn units(self) -> usize {
        self.hidden.div_ceil(PANEL) * PANEL
    }

    /// Rows of a packed weight.
    fn width(self) -> usize {
        self.units() * self.gates
    }

    /// The rows of `k` numbers in this order, zeros for units that are none.
    fn sort(self, rows: &[f32], k: usize) -> Vec<f32> {
        let mut sorted = vec![0f32; self.width() * k];
        for unit in 0..self.hidden {
            for gate in 0..self.gates {
                let to = (unit / PANEL * self.gates + gate) * PANEL + unit % PANEL;
                let row = &rows[(gate * self.hidden + unit) * k..][..k];
                sorted[to * k..][..k].copy_from_slice(row);
            }
        }
        sorted
    }
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
                let place = (at * directions + direction) * size;
                let mut parts = states.iter_mut().map(|state| &mut state[place..][..size]);
                let (Some(h), c) = (parts.next(), parts.next()) else { return Ok(None) };
                let column = direction * layer.order.hidden;
                let mut all = output.write::<f32>()?;
                let out = Some(Out { all: &mut all, column, stride: sizes[2] as usize });
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
        let out = Some(Out { all: &mut all, column: 0, stride: hidden as usize });
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

/// A layer in one direction, with the sizes of what it runs over.
#[derive(Debug, Clone, Copy)]
struct Layer {
    cell: Cell,
    steps: usize,
    batch: usize,
    inputs: usize,
    order: Order,
}

/// The state of a layer: hidden, and for an LSTM the cell, batch × hidden. Changed in place.
struct State<'a> {
    h: &'a mut [f32],
    c: Option<&'a mut [f32]>,
}

/// Where the hidden states of all steps go: rows of `stride` numbers, from `column` on.
struct Out<'a> {
    all: &'a mut [f32],
    column: usize,
    stride: usize,
}

impl Out<'_> {
    fn put(&mut self, row: usize, hidden: &[f32]) {
        self.all[row * self.stride + self.column..][..hidden.len()].copy_from_slice(hidden);
    }
}

/// The operands of a layer as slices.
#[derive(Clone, Copy)]
struct Operands<'a> {
    x: &'a [f32],
    input: &'a [f32],
    hidden: &'a [f32],
    bias: &'a [f32],
}

/// The products of a few steps' inputs, computed while other steps are.
struct Ahead<'a> {
    /// [`TILE_ROWS`] rows of inputs.
    x: &'a [f32],
    /// As many rows of gates.
    gates: &'a mut [f32],
    /// How many panels of the weight have been multiplied.
    done: usize,
}

impl Layer {
    /// The layer, if what was packed fits it and the input, time × batch × features.
    fn new(cell: Cell, packed: [&Tensor; 3], input: &Tensor, hidden: i64) -> Option<Layer> {
        let &[steps, batch, inputs] = input.sizes() else { return None };
        let order = Order { gates: gates_of(cell), hidden: usize::try_from(hidden).ok()? };
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
        out: Option<Out<'_>>,
        backwards: bool,
    ) -> Result<()> {
        let input = input.contiguous()?;
        let x = input.read::<f32>()?;
        let (input, hidden) = (packed[0].read::<f32>()?, packed[1].read::<f32>()?);
        let bias = packed[2].read::<f32>()?;
        let operands = Operands { x: &x, input: &input, hidden: &hidden, bias: &bias };
        match self.batch {
            1 => self.run_alone(operands, state, out, backwards),
            _ => self.run_batch(operands, state, out, backwards)?,
        }
        Ok(())
    }

    /// What the inputs of some rows give to the gates.
    fn input_gates(self, operands: Operands<'_>, from: usize, rows: usize, gates: &mut [f32]) {
        let shape = Shape { m: rows, k: self.inputs, n: self.order.width() };
        let x = &operands.x[from * self.inputs..];
        panels::multiply(shape, x, operands.input, Some(operands.bias), gates, false);
    }

    /// Runs over a sequence that comes alone.
    fn run_alone(
        self,
        operands: Operands<'_>,
        state: State<'_>,
        mut out: Option<Out<'_>>,
        backwards: bool,
    ) {
        let (width, units) = (self.order.width(), self.order.units());
        let block = TILE_ROWS.min(self.steps);
        let mut gates = vec![0f32; block * width];
        let mut ahead = vec![0f32; if self.steps > block { block * width } else { 0 }];
        let mut cell = vec![0f32; if state.c.is_some() { units } else { 0 }];
        let mut next = vec![0f32; units];
        if let Some(c) = &state.c {
            cell[..c.len()].copy_from_slice(c);
        }
        // The rows of the block that comes after so many steps.
        let rows_after = |done: usize| {
            let count = TILE_ROWS.min(self.steps - done);
            let from = if backwards { self.steps - done - count } else { done };
            from..from + count
        };
        let mut rows = rows_after(0);
        self.input_gates(operands, rows.start, rows.len(), &mut gates);
        let mut done = 0;
        loop {
            done += rows.len();
            let following = rows_after(done);
            let mut job = (following.len() == TILE_ROWS).then(|| {
                let bias = &operands.bias[..width];
                ahead.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(bias));
                Ahead {
                    x: &operands.x[following.start * self.inputs..],
                    gates: &mut ahead,
                    done: 0,
                }
            });
            for at in 0..rows.len() {
                let at = if backwards { rows.len() - 1 - at } else { at };
                let gates = &gates[at * width..][..width];
                self.step_alone(operands, gates, state.h, &mut cell, &mut next, &mut job);
                state.h.copy_from_slice(&next[..self.order.hidden]);
                if let Some(out) = &mut out {
                    out.put(rows.start + at, state.h);
                }
            }
            if job.is_none() && !following.is_empty() {
                self.input_gates(operands, following.start, following.len(), &mut ahead);
            }
            if following.is_empty() {
                break;
            }
            std::mem::swap(&mut gates, &mut ahead);
            rows = following;
        }
        if let Some(c) = state.c {
            c.copy_from_slice(&cell[..c.len()]);
        }
    }

    /// One step: from the gates of the input and the hidden state `h`, the cell state and the next
    /// hidden state, both filled up to whole panels.
    fn step_alone(
        self,
        operands: Operands<'_>,
        gates: &[f32],
        h: &[f32],
        cell: &mut [f32],
        next: &mut [f32],
        ahead: &mut Option<Ahead<'_>>,
    ) {
        let stretch = self.order.gates * PANEL;
        let mut sums = [0f32; 4 * PANEL];
        let panels = operands.hidden.chunks_exact(PANEL * h.len() * self.order.gates);
        for (at, (panels, next)) in panels.zip(next.chunks_exact_mut(PANEL)).enumerate() {
            let gates = &gates[at * stretch..][..stretch];
            let sums = &mut sums[..stretch];
            sums.copy_from_slice(match self.cell {
                Cell::Gru => &operands.bias[self.order.width() + at * stretch..][..stretch],
                _ => gates,
            });
            let tile = ahead.as_mut().and_then(|ahead| self.tile_ahead(operands, ahead));
            vector_beside(h, panels, sums.as_chunks_mut::<PANEL>().0, tile);
            match self.cell {
                Cell::Lstm => lstm_gates(sums, &mut cell[at * PANEL..][..PANEL], next),
                Cell::Gru => {
                    // Units that are none stay 0.
                    let there = PANEL.min(h.len() - at * PANEL);
                    next[..there].copy_from_slice(&h[at * PANEL..][..there]);
                    gru_gates(gates, sums, next);
                }
                Cell::Tanh | Cell::Relu => plain_gates(self.cell, sums, next),
            }
        }
    }

    /// The next part of the gates of later steps, if there is one: a panel of the weight. There are
    /// no more panels than times that some units of [`TILE_ROWS`] steps are computed.
    fn tile_ahead<'a>(self, operands: Operands<'a>, ahead: &'a mut Ahead<'_>) -> Option<Tile<'a>> {
        let at = ahead.done * PANEL;
        if at >= self.order.width() {
            return None;
        }
        ahead.done += 1;
        let panel = &operands.input[at * self.inputs..][..PANEL * self.inputs];
        let out = &mut ahead.gates[at..];
        Some(Tile { x: ahead.x, stride: self.inputs, panel, out, out_stride: self.order.width() })
    }

    /// Runs over several sequences of one length side by side.
    fn run_batch(
        self,
        operands: Operands<'_>,
        state: State<'_>,
        mut out: Option<Out<'_>>,
        backwards: bool,
    ) -> Result<()> {
        let (width, units, hidden) = (self.order.width(), self.order.units(), self.order.hidden);
        let rows = self.steps * self.batch;
        let gates = Tensor::empty(&[rows as i64, width as i64], DType::Float32)?;
        let mut gates = gates.write::<f32>()?;
        self.input_gates(operands, 0, rows, &mut gates);
        let stretch = self.order.gates * PANEL;
        let mut cell = vec![0f32; if state.c.is_some() { self.batch * units } else { 0 }];
        let mut products = vec![0f32; if self.cell == Cell::Gru { self.batch * width } else { 0 }];
        if let Some(c) = &state.c {
            let rows = cell.chunks_exact_mut(units).zip(c.chunks_exact(hidden));
            rows.for_each(|(cell, c)| cell[..hidden].copy_from_slice(c));
        }
        let shape = Shape { m: self.batch, k: hidden, n: width };
        for at in 0..self.steps {
            let at = if backwards { self.steps - 1 - at } else { at };
            let gates = &mut gates[at * self.batch * width..][..self.batch * width];
            match self.cell {
                Cell::Gru => {
                    let bias = Some(&operands.bias[width..]);
                    let h = &*state.h;
                    panels::multiply(shape, h, operands.hidden, bias, &mut products, false);
                }
                _ => panels::multiply(shape, state.h, operands.hidden, None, gates, true),
            }
            for (row, h) in state.h.chunks_exact_mut(hidden).enumerate() {
                let stretches = gates[row * width..][..width].chunks_exact(stretch);
                for (at, (gates, h)) in stretches.zip(h.chunks_mut(PANEL)).enumerate() {
                    let mut next = [0f32; PANEL];
                    match self.cell {
                        Cell::Lstm => {
                            let cell = &mut cell[row * units + at * PANEL..][..PANEL];
                            lstm_gates(gates, cell, &mut next);
                        }
                        Cell::Gru => {
                            let products = &products[row * width + at * stretch..][..stretch];
                            next[..h.len()].copy_from_slice(h);
                            gru_gates(gates, products, &mut next);
                        }
                        Cell::Tanh | Cell::Relu => plain_gates(self.cell, gates, &mut next),
                    }
                    h.copy_from_slice(&next[..h.len()]);
                }
                if let Some(out) = &mut out {
                    out.put(at * self.batch + row, h);
                }
            }
        }
        if let Some(c) = state.c {
            let rows = cell.chunks_exact(units).zip(c.chunks_exact_mut(hidden));
            rows.for_each(|(cell, c)| c.copy_from_slice(&cell[..hidden]));
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
            let packed: Vec<[Tensor; 3]> = params
                .chunks_exact(4)
                .map(|layer| {
                    let weights = CellWeights {
                        input: &layer[0],
                        hidden: &layer[1],
                        input_bias: Some(&layer[2]),
                        hidden_bias: Some(&layer[3]),
                        projection: None,
                    };
                    pack_recurrent(cell, weights).unwrap().unwrap()
                })
                .collect();
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
}
