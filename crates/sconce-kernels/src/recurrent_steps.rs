//! The steps of recurrent layers over `f32`: the weight is packed once, every step is one product
//! and one loop over the gates.

use crate::panels::{self, Shape};
use crate::simd::dispatch;
use crate::vecmath::{sigmoid, tanh};
use crate::{Cell, DType, Result, Tensor};

/// Gates of a unit.
fn gates_of(cell: Cell) -> usize {
    match cell {
        Cell::Lstm => 4,
        Cell::Gru => 3,
        Cell::Tanh | Cell::Relu => 1,
    }
}

/// Runs one layer in one direction. `gates` is what the input gives at each step, time × batch ×
/// (gates · hidden); `state` the hidden state, batch × hidden, and for an LSTM the cell state;
/// `weight` and `bias` are the hidden state's. Gives the hidden states of all steps and the last
/// state; `None` where an operand is of another dtype or size, which the ordinary way has to deal
/// with.
///
/// # Errors
/// Where memory is short.
pub(crate) fn run_steps(
    cell: Cell,
    gates: &Tensor,
    state: &[Tensor],
    weight: &Tensor,
    bias: Option<&Tensor>,
    backwards: bool,
) -> Result<Option<(Tensor, Vec<Tensor>)>> {
    let (&[steps, batch, width], Some(&[rows, hidden])) =
        (gates.sizes(), state.first().map(Tensor::sizes))
    else {
        return Ok(None);
    };
    let single = |tensor: &Tensor| tensor.dtype() == DType::Float32;
    let fits = rows == batch
        && width == hidden.saturating_mul(gates_of(cell) as i64)
        && state.len() == if cell == Cell::Lstm { 2 } else { 1 }
        && state.iter().all(|state| single(state) && state.sizes() == [batch, hidden])
        && weight.sizes() == [width, hidden]
        && single(gates)
        && single(weight)
        && bias.is_none_or(|bias| single(bias) && bias.sizes() == [width]);
    if !fits || gates.numel() == 0 {
        return Ok(None);
    }
    let size = Size { batch: batch as usize, hidden: hidden as usize, width: width as usize };
    // Changed in place below.
    let gates = gates.copy()?;
    let (h, c) = (state[0].copy()?, state.get(1).map(Tensor::copy).transpose()?);
    let out = Tensor::empty(&[steps, batch, hidden], DType::Float32)?;
    let mut packed = vec![0f32; panels::packed_len(size.width, size.hidden)];
    panels::pack(&weight.contiguous()?.read::<f32>()?, size.width, size.hidden, &mut packed);
    let bias = bias.map(Tensor::contiguous).transpose()?;
    {
        let bias = bias.as_ref().map(Tensor::read::<f32>).transpose()?;
        let mut all = gates.write::<f32>()?;
        let mut h = h.write::<f32>()?;
        let mut c = c.as_ref().map(Tensor::write::<f32>).transpose()?;
        let mut out = out.write::<f32>()?;
        let mut scratch = vec![0f32; if cell == Cell::Gru { size.batch * size.width } else { 0 }];
        for at in 0..steps as usize {
            let at = if backwards { steps as usize - 1 - at } else { at };
            let step = size.batch * size.width;
            let gates = &mut all[at * step..][..step];
            let bias = bias.as_deref();
            match (cell, &mut c) {
                (Cell::Gru, _) => {
                    panels::multiply(size.shape(), &h, &packed, bias, &mut scratch, false);
                    gru(size, gates, &scratch, &mut h);
                }
                (Cell::Lstm, Some(c)) => {
                    panels::multiply(size.shape(), &h, &packed, bias, gates, true);
                    lstm(size, gates, c, &mut h);
                }
                _ => {
                    panels::multiply(size.shape(), &h, &packed, bias, gates, true);
                    plain(cell, gates, &mut h);
                }
            }
            let step = size.batch * size.hidden;
            out[at * step..][..step].copy_from_slice(&h);
        }
    }
    Ok(Some((out, std::iter::once(h).chain(c).collect())))
}

/// One step from what input and hidden state give to the gates, batch × (gates · hidden) each, and
/// the state; `None` as [`run_steps`].
///
/// # Errors
/// Where memory is short.
pub(crate) fn single_step(
    cell: Cell,
    from_input: &Tensor,
    from_hidden: &Tensor,
    state: &[Tensor],
) -> Result<Option<Vec<Tensor>>> {
    let Some(&[batch, hidden]) = state.first().map(Tensor::sizes) else { return Ok(None) };
    let width = hidden.saturating_mul(gates_of(cell) as i64);
    let plain = |tensor: &Tensor, sizes: [i64; 2]| {
        tensor.dtype() == DType::Float32 && tensor.is_contiguous() && tensor.sizes() == sizes
    };
    let fits = matches!(cell, Cell::Lstm | Cell::Gru)
        && state.len() == if cell == Cell::Lstm { 2 } else { 1 }
        && state.iter().all(|state| plain(state, [batch, hidden]))
        && plain(from_input, [batch, width])
        && plain(from_hidden, [batch, width]);
    if !fits || state[0].numel() == 0 {
        return Ok(None);
    }
    let size = Size { batch: batch as usize, hidden: hidden as usize, width: width as usize };
    let h = state[0].copy()?;
    let c = state.get(1).map(Tensor::copy).transpose()?;
    let (x, y) = (from_input.read::<f32>()?, from_hidden.read::<f32>()?);
    match &c {
        Some(c) => {
            let sums: Vec<f32> = x.iter().zip(&*y).map(|(x, y)| x + y).collect();
            lstm(size, &sums, &mut c.write::<f32>()?, &mut h.write::<f32>()?);
        }
        None => gru(size, &x, &y, &mut h.write::<f32>()?),
    }
    Ok(Some(std::iter::once(h).chain(c).collect()))
}

/// One step of an LSTM whose weights [`pack_linear`](crate::pack_linear) packed: what
/// `torch.lstm_cell` gives, the next hidden and cell state; `None` where an operand is of another
/// dtype or size, which the ordinary operator has to deal with. `biases` are the input's and the
/// hidden state's.
///
/// # Errors
/// Where memory is short.
pub fn lstm_cell_packed(
    input: &Tensor,
    state: [&Tensor; 2],
    packed: [&Tensor; 2],
    biases: [Option<&Tensor>; 2],
) -> Result<Option<[Tensor; 2]>> {
    let (&[batch, inputs], &[_, hidden]) = (input.sizes(), state[0].sizes()) else {
        return Ok(None);
    };
    let width = hidden.saturating_mul(gates_of(Cell::Lstm) as i64);
    let plain = |tensor: &Tensor, sizes: &[i64]| {
        tensor.dtype() == DType::Float32 && tensor.is_contiguous() && tensor.sizes() == sizes
    };
    let panels = (width as usize).div_ceil(panels::PANEL) as i64;
    let fits = batch > 0
        && hidden > 0
        && plain(input, &[batch, inputs])
        && state.iter().all(|state| plain(state, &[batch, hidden]))
        && plain(packed[0], &[panels, inputs, panels::PANEL as i64])
        && plain(packed[1], &[panels, hidden, panels::PANEL as i64])
        && biases.iter().flatten().all(|bias| plain(bias, &[width]));
    if !fits {
        return Ok(None);
    }
    let size = Size { batch: batch as usize, hidden: hidden as usize, width: width as usize };
    let next = [state[0].copy()?, state[1].copy()?];
    let mut gates = vec![0f32; size.batch * size.width];
    for (at, (x, packed)) in [input, state[0]].into_iter().zip(packed).enumerate() {
        let bias = biases[at].map(Tensor::read::<f32>).transpose()?;
        let shape = Shape { k: x.sizes()[1] as usize, ..size.shape() };
        let (x, packed) = (x.read::<f32>()?, packed.read::<f32>()?);
        panels::multiply(shape, &x, &packed, bias.as_deref(), &mut gates, at == 1);
    }
    lstm(size, &gates, &mut next[1].write::<f32>()?, &mut next[0].write::<f32>()?);
    Ok(Some(next))
}

#[derive(Clone, Copy)]
struct Size {
    batch: usize,
    hidden: usize,
    width: usize,
}

impl Size {
    fn shape(self) -> Shape {
        Shape { m: self.batch, k: self.hidden, n: self.width }
    }
}

/// Units that are computed side by side.
const LANES: usize = 16;

/// From the summed gates, the next cell and hidden state.
pub(crate) fn lstm_gates(gates: &[f32], cell: &mut [f32], hidden: &mut [f32]) {
    #[inline(always)]
    fn some<const N: usize>(
        [input, forget, new, output]: [[f32; N]; 4],
        cell: &mut [f32; N],
        hidden: &mut [f32; N],
    ) {
        let (mut c, mut h) = (*cell, [0f32; N]);
        for l in 0..N {
            c[l] = sigmoid(forget[l]) * c[l] + sigmoid(input[l]) * tanh(new[l]);
            h[l] = sigmoid(output[l]) * tanh(c[l]);
        }
        (*cell, *hidden) = (c, h);
    }
    let quarters = split::<4>(gates, cell.len());
    dispatch(
        #[inline(always)]
        || {
            let whole = quarters.map(|gate| gate.as_chunks::<LANES>());
            let (cells, cell_rest) = cell.as_chunks_mut::<LANES>();
            let (hiddens, hidden_rest) = hidden.as_chunks_mut::<LANES>();
            for (at, (cell, hidden)) in cells.iter_mut().zip(hiddens).enumerate() {
                some(whole.map(|gate| gate.0[at]), cell, hidden);
            }
            let (cells, _) = cell_rest.as_chunks_mut::<1>();
            let (hiddens, _) = hidden_rest.as_chunks_mut::<1>();
            for (at, (cell, hidden)) in cells.iter_mut().zip(hiddens).enumerate() {
                some(whole.map(|gate| [gate.1[at]]), cell, hidden);
            }
        },
    );
}

/// Several stretches of `len` numbers, one after the other.
fn split<const N: usize>(all: &[f32], len: usize) -> [&[f32]; N] {
    std::array::from_fn(|at| &all[at * len..][..len])
}

fn lstm(size: Size, gates: &[f32], cell: &mut [f32], hidden: &mut [f32]) {
    let states = cell.chunks_exact_mut(size.hidden).zip(hidden.chunks_exact_mut(size.hidden));
    for (gates, (cell, hidden)) in gates.chunks_exact(size.width).zip(states) {
        lstm_gates(gates, cell, hidden);
    }
}

fn gru(size: Size, from_input: &[f32], from_hidden: &[f32], hidden: &mut [f32]) {
    let gates = from_input.chunks_exact(size.width).zip(from_hidden.chunks_exact(size.width));
    for ((x, y), hidden) in gates.zip(hidden.chunks_exact_mut(size.hidden)) {
        gru_gates(x, y, hidden);
    }
}

/// From what input and hidden state give to the gates, the next hidden state.
pub(crate) fn gru_gates(from_input: &[f32], from_hidden: &[f32], hidden: &mut [f32]) {
    #[inline(always)]
    fn some<const N: usize>(x: [[f32; N]; 3], y: [[f32; N]; 3], hidden: &mut [f32; N]) {
        let mut h = *hidden;
        for l in 0..N {
            let reset = sigmoid(x[0][l] + y[0][l]);
            let update = sigmoid(x[1][l] + y[1][l]);
            let new = tanh(x[2][l] + reset * y[2][l]);
            h[l] = (h[l] - new) * update + new;
        }
        *hidden = h;
    }
    let len = hidden.len();
    let (x, y) = (split::<3>(from_input, len), split::<3>(from_hidden, len));
    dispatch(
        #[inline(always)]
        || {
            let x = x.map(|gate| gate.as_chunks::<LANES>());
            let y = y.map(|gate| gate.as_chunks::<LANES>());
            let (whole, rest) = hidden.as_chunks_mut::<LANES>();
            for (at, hidden) in whole.iter_mut().enumerate() {
                some(x.map(|gate| gate.0[at]), y.map(|gate| gate.0[at]), hidden);
            }
            for (at, hidden) in rest.as_chunks_mut::<1>().0.iter_mut().enumerate() {
                some(x.map(|gate| [gate.1[at]]), y.map(|gate| [gate.1[at]]), hidden);
            }
        },
    );
}

fn plain(cell: Cell, gates: &[f32], hidden: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            for (h, &x) in hidden.iter_mut().zip(gates) {
                let relu = if x < 0.0 { 0.0 } else { x };
                *h = if cell == Cell::Relu { relu } else { tanh(x) };
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_of_any_number_of_units_are_computed() {
        let exact = |x: f32| 1.0 / (1.0 + f64::from(-x).exp());
        for n in [1, 5, 16, 35] {
            let gates: Vec<f32> = (0..4 * n).map(|i| (i as f32 * 0.7).sin() * 2.0).collect();
            let (mut cell, mut hidden) = (vec![0.5f32; n], vec![0f32; n]);
            lstm_gates(&gates, &mut cell, &mut hidden);
            for i in 0..n {
                let new = f64::from(gates[2 * n + i]).tanh();
                let c = exact(gates[n + i]) * 0.5 + exact(gates[i]) * new;
                assert!((f64::from(cell[i]) - c).abs() < 1e-6);
                let h = exact(gates[3 * n + i]) * c.tanh();
                assert!((f64::from(hidden[i]) - h).abs() < 1e-6);
            }
            let (x, y) = (&gates[..3 * n], &gates[n..]);
            let mut state = vec![0.25f32; n];
            gru_gates(x, y, &mut state);
            for i in 0..n {
                let reset = exact(x[i] + y[i]);
                let update = exact(x[n + i] + y[n + i]);
                let new = (f64::from(x[2 * n + i]) + reset * f64::from(y[2 * n + i])).tanh();
                assert!((f64::from(state[i]) - ((0.25 - new) * update + new)).abs() < 1e-6);
            }
        }
    }
}
