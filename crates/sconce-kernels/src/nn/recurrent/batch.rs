//! Several sequences of equal length through a packed recurrent layer.
//!
//! Sequences are independent: each thread takes some of them from their first step to their last. Where
//! a step has too few rows to keep the arithmetic units busy, the inputs of several steps are
//! multiplied together.

use sconce_gemm::panel::PANEL;
use sconce_gemm::panel_product::add_panel;
use sconce_kernel_core::parallel::partition;

use crate::nn::recurrent::cell::Cell;
use crate::nn::recurrent::gates::{gru_gates, lstm_gates, plain_gates};
use crate::nn::recurrent::packed_layout::{HiddenOutput, Layer, Operands, State};

/// Rows of inputs that are multiplied at a time at least.
const ROWS: usize = 28;
/// Sequences that a thread should have at least: one alone takes as long as two.
const SHARE: usize = 2;
/// Multiply-adds below which one thread is enough.
const WORTH_SHARING: usize = 2 << 20;
/// What lies between rows, in elements: without it rows of 4 KiB would share a few lines of the first
/// cache.
const GAP: usize = 16;

/// Runs over all sequences: from the states at their start to those at their end.
pub(crate) fn run(
    layer: Layer,
    operands: Operands<'_>,
    state: State<'_>,
    out: Option<HiddenOutput<'_>>,
    backwards: bool,
) {
    let Layer { steps, batch, inputs, order, .. } = layer;
    let hidden = order.hidden;
    let work = steps * batch * order.width() * (hidden + inputs);
    let count =
        if work < WORTH_SHARING { 1 } else { partition::num_threads().min(batch / SHARE).max(1) };
    let each = batch.div_ceil(count);
    let mut cells = state.c.map(|c| c.chunks_mut(each * hidden));
    let mut parts: Vec<Part<'_>> = state
        .h
        .chunks_mut(each * hidden)
        .enumerate()
        .map(|(at, h)| Part {
            first: at * each,
            h,
            c: cells.as_mut().and_then(Iterator::next),
            out: Vec::new(),
        })
        .collect();
    if let Some(out) = out {
        for (at, row) in out.all.chunks_exact_mut(out.stride).enumerate() {
            parts[at % batch / each].out.push(&mut row[out.column..][..hidden]);
        }
    }
    let [bias, hidden_bias] = [0, order.width()].map(|from| {
        let row = operands.bias.get(from..).unwrap_or_default();
        (0..order.units() / PANEL)
            .flat_map(|at| order.stretch_of(row, at).into_iter().take(order.gates * PANEL))
            .collect()
    });
    let batch = Batch { layer, operands, bias, hidden_bias, backwards };
    partition::for_each(parts.into_iter(), |part| batch.run(part));
}

/// Some sequences.
struct Part<'a> {
    /// Which of the batch is the first.
    first: usize,
    h: &'a mut [f32],
    c: Option<&'a mut [f32]>,
    /// Where the hidden states go, step by step; nowhere where there are none.
    out: Vec<&'a mut [f32]>,
}

/// What a run over a batch reads.
struct Batch<'a> {
    layer: Layer,
    operands: Operands<'a>,
    /// What the gates begin with, stretch after stretch.
    bias: Vec<f32>,
    /// What the products of the hidden state begin with, if that is something else.
    hidden_bias: Vec<f32>,
    backwards: bool,
}

impl Batch<'_> {
    /// All steps of some sequences.
    fn run(&self, mut part: Part<'_>) {
        let Layer { steps, order, .. } = self.layer;
        let (hidden, width) = (order.hidden, order.width());
        let count = part.h.len() / hidden;
        let mut state = Rows::new(count, order.units(), part.h.chunks_exact(hidden));
        let mut cell = match &part.c {
            Some(c) => Rows::new(count, order.units(), c.chunks_exact(hidden)),
            None => Rows::default(),
        };
        let at_a_time = ROWS.div_ceil(count).min(steps);
        let mut gates = vec![0f32; at_a_time * count * width];
        let mut products = vec![0f32; if self.layer.cell == Cell::Gru { count * width } else { 0 }];
        for from in (0..steps).step_by(at_a_time) {
            let block = from..steps.min(from + at_a_time);
            let gates = &mut gates[..block.len() * count * width];
            let position = |step| if self.backwards { steps - 1 - step } else { step };
            self.multiply_inputs(block.clone().map(position), part.first, count, gates);
            for (step, gates) in block.map(position).zip(gates.chunks_exact_mut(count * width)) {
                self.step(gates, &mut products, &mut state, &mut cell);
                if let Some(out) = part.out.get_mut(step * count..) {
                    let rows = out.iter_mut().zip(state.rows());
                    rows.for_each(|(out, h)| out.copy_from_slice(&h[..hidden]));
                }
            }
        }
        let states = [Some((part.h, state)), part.c.take().map(|c| (c, cell))];
        for (to, from) in states.into_iter().flatten() {
            let rows = to.chunks_exact_mut(hidden).zip(from.rows());
            rows.for_each(|(to, row)| to.copy_from_slice(&row[..hidden]));
        }
    }

    /// What the inputs of some steps give to the gates, and the bias.
    fn multiply_inputs(
        &self,
        steps: impl Iterator<Item = usize>,
        first: usize,
        count: usize,
        gates: &mut [f32],
    ) {
        let Layer { batch, inputs, order, .. } = self.layer;
        let width = order.width();
        let rows = steps.flat_map(|step| {
            (0..count)
                .map(move |r| &self.operands.x[(step * batch + first + r) * inputs..][..inputs])
        });
        let x = Rows::new(gates.len() / width, inputs, rows);
        gates.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(&self.bias));
        for (position, panel) in order.panels(self.operands.input, inputs) {
            x.add_product(panel, &mut gates[position * PANEL..], width);
        }
    }

    /// One step: from what the inputs give to the gates, the next states.
    fn step(&self, gates: &mut [f32], products: &mut [f32], state: &mut Rows, cell: &mut Rows) {
        let Layer { cell: kind, order, .. } = self.layer;
        let (hidden, width) = (order.hidden, order.width());
        let products_begin = &self.hidden_bias;
        products.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(products_begin));
        let sums = if kind == Cell::Gru { &mut *products } else { &mut *gates };
        for (position, panel) in order.panels(self.operands.hidden, hidden) {
            state.add_product(panel, &mut sums[position * PANEL..], width);
        }
        let stretch = order.gates * PANEL;
        for (r, gates) in gates.chunks_exact(width).enumerate() {
            for (at, gates) in gates.chunks_exact(stretch).enumerate() {
                let h = state.part(r, at);
                match kind {
                    Cell::Lstm => lstm_gates(gates, cell.part(r, at), h),
                    Cell::Gru => gru_gates(gates, &products[r * width + at * stretch..], h),
                    Cell::Tanh | Cell::Relu => plain_gates(kind, gates, h),
                }
            }
        }
    }
}

/// Rows of one length, with gaps between them.
#[derive(Default)]
struct Rows {
    numbers: Vec<f32>,
    stride: usize,
}

impl Rows {
    /// Rows of `len` numbers, which begin with what `rows` gives.
    fn new<'r>(count: usize, len: usize, rows: impl Iterator<Item = &'r [f32]>) -> Rows {
        let stride = len.next_multiple_of(GAP) + GAP;
        let mut numbers = vec![0f32; count * stride];
        for (to, row) in numbers.chunks_exact_mut(stride).zip(rows) {
            to[..row.len()].copy_from_slice(row);
        }
        Rows { numbers, stride }
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.numbers.chunks_exact(self.stride)
    }

    /// 32 units of a row.
    fn part(&mut self, row: usize, stretch: usize) -> &mut [f32] {
        &mut self.numbers[row * self.stride + stretch * PANEL..][..PANEL]
    }

    /// Adds the product with a panel to 32 columns of as many rows, `stride` apart.
    fn add_product(&self, panel: &[f32], out: &mut [f32], stride: usize) {
        add_panel(self.numbers.len() / self.stride, &self.numbers, self.stride, panel, out, stride);
    }
}
