//! The next state of recurrent cells over `f32`, from their gates.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::vecmath::single::{exp_beside_one, tanh};

use crate::nn::recurrent::cell::{Cell, gates_of};
use crate::{DType, Result, Tensor};

/// One step from what input and hidden state give to the gates, batch × (gates · hidden) each, and
/// the state; `None` where an operand is of another dtype or size, which the ordinary way has to deal
/// with.
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
    let (width, hidden) = (width as usize, hidden as usize);
    let next: Vec<Tensor> = state.iter().map(Tensor::copy).collect::<Result<_>>()?;
    {
        let (x, y) = (from_input.read::<f32>()?, from_hidden.read::<f32>()?);
        let gates = x.chunks_exact(width).zip(y.chunks_exact(width));
        let mut h = next[0].write::<f32>()?;
        let rows = h.chunks_exact_mut(hidden).zip(gates);
        match next.get(1) {
            Some(c) => {
                let mut c = c.write::<f32>()?;
                for ((h, (x, y)), c) in rows.zip(c.chunks_exact_mut(hidden)) {
                    let sums: Vec<f32> = x.iter().zip(y).map(|(x, y)| x + y).collect();
                    lstm_gates(&sums, c, h);
                }
            }
            None => rows.for_each(|(h, (x, y))| gru_gates(x, y, h)),
        }
    }
    Ok(Some(next))
}

/// Units that are computed side by side: the next of them need not wait for the results of these.
const LANES: usize = 32;

/// A number for each of this many units.
type OfUnits = [f32; LANES];

/// From the summed gates, the next cell and hidden state.
pub(crate) fn lstm_gates(gates: &[f32], cell: &mut [f32], hidden: &mut [f32]) {
    // Sigmoids and hyperbolic tangents with their divisions put together.
    #[inline(always)]
    fn units(
        [input, forget, new, output]: [&OfUnits; 4],
        cell: &mut OfUnits,
        hidden: &mut OfUnits,
    ) {
        let (mut next, mut h) = ([0f32; LANES], [0f32; LANES]);
        for l in 0..LANES {
            let input = exp_beside_one(-input[l]).1;
            let forget = exp_beside_one(-forget[l]).1;
            let (minus, plus) = exp_beside_one(-2.0 * new[l]);
            let scale = input * plus;
            let c = (cell[l] * scale - minus * forget) / (forget * scale);
            let output = exp_beside_one(-output[l]).1;
            let (minus, plus) = exp_beside_one(-2.0 * c);
            next[l] = c;
            h[l] = -minus / (output * plus);
        }
        (*cell, *hidden) = (next, h);
    }
    let gates = split::<4>(gates, cell.len());
    dispatch(
        #[inline(always)]
        || {
            let ((cells, last_cell), (hiddens, last)) =
                (cell.as_chunks_mut(), hidden.as_chunks_mut());
            for (at, (cell, hidden)) in cells.iter_mut().zip(hiddens).enumerate() {
                units(gates.map(|gate| &gate.as_chunks().0[at]), cell, hidden);
            }
            if !last.is_empty() {
                let (mut c, mut h) = (filled_up(last_cell), [0f32; LANES]);
                let gates = gates.map(|gate| filled_up(gate.as_chunks::<LANES>().1));
                units(gates.each_ref(), &mut c, &mut h);
                last_cell.copy_from_slice(&c[..last_cell.len()]);
                last.copy_from_slice(&h[..last.len()]);
            }
        },
    );
}

/// From what input and hidden state give to the gates, the next hidden state.
pub(crate) fn gru_gates(from_input: &[f32], from_hidden: &[f32], hidden: &mut [f32]) {
    #[inline(always)]
    fn units(x: [&OfUnits; 3], y: [&OfUnits; 3], hidden: &mut OfUnits) {
        let mut next = [0f32; LANES];
        for l in 0..LANES {
            let reset = exp_beside_one(-(x[0][l] + y[0][l])).1;
            let update = exp_beside_one(-(x[1][l] + y[1][l])).1;
            let (minus, plus) = exp_beside_one(-2.0 * (x[2][l] + y[2][l] / reset));
            // (h - new) * sigmoid + new, with the divisions put together.
            next[l] = (hidden[l] * plus - minus * (update - 1.0)) / (update * plus);
        }
        *hidden = next;
    }
    let len = hidden.len();
    let (x, y) = (split::<3>(from_input, len), split::<3>(from_hidden, len));
    dispatch(
        #[inline(always)]
        || {
            let (hiddens, last) = hidden.as_chunks_mut();
            for (at, hidden) in hiddens.iter_mut().enumerate() {
                let [x, y] = [x, y].map(|gates| gates.map(|gate| &gate.as_chunks().0[at]));
                units(x, y, hidden);
            }
            if !last.is_empty() {
                let [x, y] =
                    [x, y].map(|gates| gates.map(|gate| filled_up(gate.as_chunks::<LANES>().1)));
                let mut h = filled_up(last);
                units(x.each_ref(), y.each_ref(), &mut h);
                last.copy_from_slice(&h[..last.len()]);
            }
        },
    );
}

/// Several stretches of `len` numbers, one after the other.
fn split<const N: usize>(all: &[f32], len: usize) -> [&[f32]; N] {
    std::array::from_fn(|at| &all[at * len..][..len])
}

/// Numbers of fewer units, and zeros.
fn filled_up(from: &[f32]) -> OfUnits {
    let mut all = [0f32; LANES];
    all[..from.len()].copy_from_slice(from);
    all
}

/// The next hidden state of a plain cell.
pub(crate) fn plain_gates(cell: Cell, gates: &[f32], hidden: &mut [f32]) {
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
        for n in [1, 5, 32, 67] {
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
