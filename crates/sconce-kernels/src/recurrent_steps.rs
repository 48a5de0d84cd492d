//! What recurrent cells over `f32` make of their gates.

use crate::simd::dispatch;
use crate::vecmath::{exp_beside_one, tanh};
use crate::{Cell, DType, Result, Tensor};

/// Gates of a unit.
pub(crate) fn gates_of(cell: Cell) -> usize {
    match cell {
        Cell::Lstm => 4,
        Cell::Gru => 3,
        Cell::Tanh | Cell::Relu => 1,
    }
}

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

/// A number for each of so many units.
type OfUnits = [f32; LANES];

/// From the summed gates, the next cell and hidden state.
pub(crate) fn lstm_gates(gates: &[f32], cell: &mut [f32], hidden: &mut [f32]) {
    // Sigmoids and hyperbolic tangents with their divisions put together.
    #[inline(always)]
    fn some([input, forget, new, output]: [&OfUnits; 4], c: &mut OfUnits, h: &mut OfUnits) {
        let input = each(|l| exp_beside_one(-input[l]).1);
        let forget = each(|l| exp_beside_one(-forget[l]).1);
        let output = each(|l| exp_beside_one(-output[l]).1);
        let (minus, plus) = both(|l| exp_beside_one(-2.0 * new[l]));
        *c = each(|l| {
            let scale = input[l] * plus[l];
            (c[l] * scale - minus[l] * forget[l]) / (forget[l] * scale)
        });
        let (minus, plus) = both(|l| exp_beside_one(-2.0 * c[l]));
        *h = each(|l| -minus[l] / (output[l] * plus[l]));
    }
    let [input, forget, new, output] = split(gates, cell.len());
    dispatch(
        #[inline(always)]
        || {
            for from in (0..cell.len()).step_by(LANES) {
                let gates = [
                    &lanes(&input[from..]),
                    &lanes(&forget[from..]),
                    &lanes(&new[from..]),
                    &lanes(&output[from..]),
                ];
                let (mut c, mut h) = (lanes(&cell[from..]), [0f32; LANES]);
                some(gates, &mut c, &mut h);
                put(&c, &mut cell[from..]);
                put(&h, &mut hidden[from..]);
            }
        },
    );
}

/// Several stretches of `len` numbers, one after the other.
fn split<const N: usize>(all: &[f32], len: usize) -> [&[f32]; N] {
    std::array::from_fn(|at| &all[at * len..][..len])
}

/// A number for each unit.
#[inline(always)]
fn each(f: impl Fn(usize) -> f32) -> OfUnits {
    let mut out = [0f32; LANES];
    for (l, out) in out.iter_mut().enumerate() {
        *out = f(l);
    }
    out
}

/// Two numbers for each unit.
#[inline(always)]
fn both(f: impl Fn(usize) -> (f32, f32)) -> (OfUnits, OfUnits) {
    let (mut first, mut second) = ([0f32; LANES], [0f32; LANES]);
    for l in 0..LANES {
        (first[l], second[l]) = f(l);
    }
    (first, second)
}

/// The first numbers of a slice; zeros for those that it has not.
#[inline(always)]
fn lanes(from: &[f32]) -> OfUnits {
    match from.first_chunk() {
        Some(whole) => *whole,
        None => each(|l| from.get(l).copied().unwrap_or(0.0)),
    }
}

/// Puts numbers where there is room for them.
#[inline(always)]
fn put(from: &OfUnits, to: &mut [f32]) {
    match to.first_chunk_mut() {
        Some(whole) => *whole = *from,
        None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
    }
}

/// From what input and hidden state give to the gates, the next hidden state.
pub(crate) fn gru_gates(from_input: &[f32], from_hidden: &[f32], hidden: &mut [f32]) {
    #[inline(always)]
    fn some(x: [&OfUnits; 3], y: [&OfUnits; 3], h: &mut OfUnits) {
        let reset = each(|l| exp_beside_one(-(x[0][l] + y[0][l])).1);
        let update = each(|l| exp_beside_one(-(x[1][l] + y[1][l])).1);
        let new = each(|l| -2.0 * (x[2][l] + y[2][l] / reset[l]));
        let (minus, plus) = both(|l| exp_beside_one(new[l]));
        // (h - new) * sigmoid + new, with the divisions put together.
        *h = each(|l| (h[l] * plus[l] - minus[l] * (update[l] - 1.0)) / (update[l] * plus[l]));
    }
    let len = hidden.len();
    let (x, y) = (split::<3>(from_input, len), split::<3>(from_hidden, len));
    dispatch(
        #[inline(always)]
        || {
            for from in (0..len).step_by(LANES) {
                let (a, b) = (&x, &y);
                let x = [&lanes(&a[0][from..]), &lanes(&a[1][from..]), &lanes(&a[2][from..])];
                let y = [&lanes(&b[0][from..]), &lanes(&b[1][from..]), &lanes(&b[2][from..])];
                let mut h = lanes(&hidden[from..]);
                some(x, y, &mut h);
                put(&h, &mut hidden[from..]);
            }
        },
    );
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
