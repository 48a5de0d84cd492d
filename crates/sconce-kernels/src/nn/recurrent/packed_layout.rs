//! The layout of packed weights, states and results of a recurrent layer.

use sconce_gemm::panel::PANEL;

use crate::nn::recurrent::cell::Cell;

/// The rows of packed weights: for each gate those of all units, filled up to whole panels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GateLayout {
    pub(crate) gates: usize,
    pub(crate) hidden: usize,
}

impl GateLayout {
    /// Units, filled up to whole panels.
    pub(crate) fn units(self) -> usize {
        self.hidden.div_ceil(PANEL) * PANEL
    }

    /// Rows of a packed weight.
    pub(crate) fn width(self) -> usize {
        self.units() * self.gates
    }

    /// Rows of `k` numbers with zeros for the units that are none.
    pub(crate) fn fill_up(self, rows: &[f32], k: usize) -> Vec<f32> {
        let mut filled = vec![0f32; self.width() * k];
        let gates = filled.chunks_exact_mut((self.units() * k).max(1));
        for (to, gate) in gates.zip(rows.chunks_exact((self.hidden * k).max(1))) {
            to[..gate.len()].copy_from_slice(gate);
        }
        filled
    }

    /// The panels of a packed weight of rows of `k` numbers, each with the position it has where all gates of
    /// 32 units come before those of the next.
    pub(crate) fn panels(self, packed: &[f32], k: usize) -> impl Iterator<Item = (usize, &[f32])> {
        let (len, stretches) = (PANEL * k, self.units() / PANEL);
        (0..self.gates * stretches).map(move |at| {
            let position = at % stretches * self.gates + at / stretches;
            (position, &packed[at * len..][..len])
        })
    }

    /// The gates of 32 units, from a row that has one gate after the other: as many as there are.
    pub(crate) fn stretch_of(self, row: &[f32], at: usize) -> [f32; 4 * PANEL] {
        let mut gates = [0f32; 4 * PANEL];
        for (to, gate) in
            gates.as_chunks_mut::<PANEL>().0.iter_mut().zip(row.chunks_exact(self.units()))
        {
            to.copy_from_slice(&gate[at * PANEL..][..PANEL]);
        }
        gates
    }
}

/// A layer in one direction, with the sizes of what it runs over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer {
    pub(crate) cell: Cell,
    pub(crate) steps: usize,
    pub(crate) batch: usize,
    pub(crate) inputs: usize,
    pub(crate) order: GateLayout,
}

/// The state of a layer: hidden, and for an LSTM the cell, batch × hidden. Changed in place.
pub(crate) struct State<'a> {
    pub(crate) h: &'a mut [f32],
    pub(crate) c: Option<&'a mut [f32]>,
}

/// Where the hidden states of all steps go: rows of `stride` numbers, from `column` on.
pub(crate) struct HiddenOutput<'a> {
    pub(crate) all: &'a mut [f32],
    pub(crate) column: usize,
    pub(crate) stride: usize,
}

/// The operands of a layer as slices.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) input: &'a [f32],
    pub(crate) hidden: &'a [f32],
    pub(crate) bias: &'a [f32],
}
