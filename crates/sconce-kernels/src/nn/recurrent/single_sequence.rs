//! One sequence through a packed recurrent layer.
//!
//! Units are computed 32 at a time, a [`UnitBlock`]. A step reads its part of the weight of the hidden
//! state once and then has all that the next state of these units needs. The inputs are multiplied a
//! block of steps at a time, interleaved with the products of the block before
//! ([`sconce_gemm::packed_gemv`]). Where a step is long enough, threads share its stretches: each free
//! thread takes the next one, and all threads begin the next step when this one is done.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use sconce_gemm::interleaved_tiles::InterleavedProduct;
use sconce_gemm::packed_gemm;
use sconce_gemm::packed_gemv::{InterleavedRows, PanelGroups, gemv_interleaved, interleaved_rows};
use sconce_gemm::panel::{PANEL, Shape};
use sconce_kernel_core::parallel::{partition, thread_pool};

use crate::nn::recurrent::cell::Cell;
use crate::nn::recurrent::gates::{gru_gates, lstm_gates, plain_gates};
use crate::nn::recurrent::packed_layout::{HiddenOutput, Layer, Operands, State};

/// Weights of the hidden state that a thread should have in each step, in elements: fewer take less
/// time than threads take to hear of each other.
const SHARE: usize = 16 << 10;
/// Weights that are iterated over in all steps together, in elements, below which one thread is enough.
const WORTH_SHARING: usize = 512 << 10;

/// Runs over a sequence that comes alone: from the state at its start to the one at its end.
pub(crate) fn run(
    layer: Layer,
    operands: Operands<'_>,
    state: State<'_>,
    out: Option<HiddenOutput<'_>>,
    backwards: bool,
) {
    let Layer { steps, inputs, order, .. } = layer;
    let blocks = StepBlocks::new(steps, backwards, interleaved_rows());
    let (hidden, width) = (order.hidden, order.width());
    let rows = blocks.rows(0);
    let mut of_first = vec![0f32; rows.len() * width];
    let shape = Shape { m: rows.len(), k: inputs, n: width };
    let x = &operands.x[rows.start * inputs..];
    packed_gemm::multiply(shape, x, operands.input, Some(operands.bias), &mut of_first);
    let of_stretch = order.gates * PANEL;
    let mut gates = vec![0f32; 2 * blocks.longest() * width];
    let mut gates = gates.chunks_mut((blocks.longest() * of_stretch).max(1));
    let mut stretches: Vec<UnitBlock<'_>> = (0..order.units() / PANEL)
        .map(|at| {
            let [gates, ahead] = [(); 2].map(|()| gates.next().unwrap_or_default());
            let of_first = of_first.chunks_exact(width);
            for (to, row) in gates.chunks_exact_mut(of_stretch).zip(of_first) {
                to.copy_from_slice(&order.stretch_of(row, at)[..of_stretch]);
            }
            let out = Vec::with_capacity(if out.is_some() { steps } else { 0 });
            let [cell, next] = [[0.0; PANEL]; 2];
            UnitBlock { cell, next, gates, ahead, products: [0.0; 4 * PANEL], out }
        })
        .collect();
    for (stretch, h) in stretches.iter_mut().zip(state.h.chunks(PANEL)) {
        stretch.next[..h.len()].copy_from_slice(h);
    }
    if let Some(out) = out {
        for row in out.all.chunks_exact_mut(out.stride) {
            let parts = row[out.column..][..hidden].chunks_mut(PANEL);
            stretches.iter_mut().zip(parts).for_each(|(stretch, part)| stretch.out.push(part));
        }
    }
    if let Some(c) = &state.c {
        for (stretch, c) in stretches.iter_mut().zip(c.chunks(PANEL)) {
            stretch.cell[..c.len()].copy_from_slice(c);
        }
    }
    let sequence = Sequence { layer, operands, blocks };
    match sequence.helpers() {
        0 => sequence.run_here(&mut stretches, state.h),
        helpers => stretches = sequence.run_shared(helpers, stretches, state.h),
    }
    if let Some(c) = state.c {
        for (stretch, c) in stretches.iter().zip(c.chunks_mut(PANEL)) {
            c.copy_from_slice(&stretch.cell[..c.len()]);
        }
    }
}

/// 32 units of a layer, and what only they need.
struct UnitBlock<'a> {
    cell: [f32; PANEL],
    /// The hidden state after the last step; zeros for units that are none.
    next: [f32; PANEL],
    /// What the inputs of a block give to the gates, a row for each step. But for a GRU's, that of the hidden
    /// state is added in its step.
    gates: &'a mut [f32],
    /// The same of the next block.
    ahead: &'a mut [f32],
    /// What the hidden state gives to the gates of a GRU.
    products: [f32; 4 * PANEL],
    /// Where the hidden state of each step goes, if it goes anywhere.
    out: Vec<&'a mut [f32]>,
}

/// The steps of a sequence in blocks. The inputs of the first block are multiplied before it begins;
/// those of all others while the block before is computed.
#[derive(Debug)]
struct StepBlocks {
    /// The step after the last one of each block.
    ends: Vec<usize>,
    backwards: bool,
}

/// Where a step is.
struct StepPosition {
    /// Whether the step goes over stretches and their weights from the last to the first. Every other one
    /// does, and begins with what the one before has left in the first cache.
    back: bool,
    /// The number of its block.
    block: usize,
    /// Which of the block's steps it is.
    within: usize,
    /// The rows of the input that the block takes, and those of the next block.
    rows: Range<usize>,
    following: Range<usize>,
    /// Which of the block's rows the step takes.
    row: usize,
}

impl StepBlocks {
    /// The first block is short, and has the steps that make no whole unit; each of the others is at most
    /// twice as long as the one before it.
    fn new(steps: usize, backwards: bool, rows: InterleavedRows) -> StepBlocks {
        let InterleavedRows { unit, best } = rows;
        let first = if steps < 2 * unit { steps } else { unit + steps % unit };
        let (mut ends, mut length) = (vec![first], unit);
        while ends[ends.len() - 1] < steps {
            let start = ends[ends.len() - 1];
            ends.push(start + length.min(steps - start));
            length = (2 * length).min(best);
        }
        StepBlocks { ends, backwards }
    }

    /// The steps of the longest block.
    fn longest(&self) -> usize {
        let later = self.ends.windows(2).map(|ends| ends[1] - ends[0]);
        later.fold(self.ends[0], usize::max)
    }

    /// The position of a step.
    fn position(&self, step: usize) -> StepPosition {
        let block = self.ends.partition_point(|&end| end <= step);
        let start = if block == 0 { 0 } else { self.ends[block - 1] };
        let (within, rows) = (step - start, self.rows(block));
        let row = if self.backwards { rows.len() - 1 - within } else { within };
        StepPosition {
            back: step % 2 == 1,
            block,
            within,
            rows,
            following: self.rows(block + 1),
            row,
        }
    }

    /// The rows of the input that a block takes; none after the last block.
    fn rows(&self, block: usize) -> Range<usize> {
        let steps = self.ends[self.ends.len() - 1];
        let end = self.ends.get(block).copied().unwrap_or(steps);
        let start = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        if self.backwards { steps - end..steps - start } else { start..end }
    }
}

/// What a run over one sequence reads.
struct Sequence<'a> {
    layer: Layer,
    operands: Operands<'a>,
    blocks: StepBlocks,
}

impl Sequence<'_> {
    /// How many threads are worth having beside this one.
    fn helpers(&self) -> usize {
        let Layer { steps, inputs, order, .. } = self.layer;
        let each = order.hidden * order.width();
        if steps * (each + order.width() * inputs) < WORTH_SHARING {
            return 0;
        }
        let stretches = order.units() / PANEL;
        partition::num_threads().min(stretches).min(each / SHARE).saturating_sub(1)
    }

    /// All steps on this thread.
    fn run_here(&self, stretches: &mut [UnitBlock<'_>], h: &mut [f32]) {
        for step in 0..self.layer.steps {
            let step = self.blocks.position(step);
            for at in in_turn(0..stretches.len(), step.back) {
                self.multiply(at, &mut stretches[at], h, &step);
                self.next_state(&mut stretches[at], &step);
            }
            h.chunks_mut(PANEL)
                .zip(&*stretches)
                .for_each(|(h, stretch)| copy_units(&stretch.next, h));
        }
    }

    /// All steps on this thread and others.
    fn run_shared<'s>(
        &self,
        helpers: usize,
        stretches: Vec<UnitBlock<'s>>,
        h: &mut [f32],
    ) -> Vec<UnitBlock<'s>> {
        let shared = Shared {
            done: stretches.iter().map(|_| AtomicUsize::new(0)).collect(),
            stretches: stretches.into_iter().map(Mutex::new).collect(),
            states: [&*h, &*h].map(|h| h.iter().map(|h| AtomicU32::new(h.to_bits())).collect()),
            stopped: AtomicBool::new(false),
        };
        let arrived = AtomicUsize::new(0);
        thread_pool::run(helpers, &|_| {
            let _stop = StopOnPanic(&shared.stopped);
            let number = arrived.fetch_add(1, Ordering::Relaxed);
            let first = |number: usize| number * shared.done.len() / (helpers + 1);
            self.take_part(&shared, first(number)..first(number + 1));
        });
        shared.read(self.layer.steps, h);
        shared
            .stretches
            .into_iter()
            .map(|s| s.into_inner().unwrap_or_else(|e| e.into_inner()))
            .collect()
    }

    /// Works on steps from the current one to the last, on the stretches that nobody has taken, its `own`
    /// before others.
    fn take_part(&self, shared: &Shared<'_>, own: Range<usize>) {
        let count = shared.done.len();
        let mut h = vec![0f32; self.layer.order.hidden];
        let mut step = shared.step();
        while step < self.layer.steps {
            shared.read(step, &mut h);
            let position = self.blocks.position(step);
            for at in in_turn(own.clone(), position.back).chain(own.end..count).chain(0..own.start)
            {
                // Who comes late finds all of the step done, and has read what may be of another step.
                let Some(mut stretch) = shared.take(at, step) else { continue };
                self.multiply(at, &mut stretch, &h, &position);
                self.next_state(&mut stretch, &position);
                shared.give(at, step + 1, &stretch.next);
            }
            if !shared.wait(step + 1) {
                return;
            }
            step += 1;
        }
    }

    /// The products of a step of a stretch: what the hidden state `h` gives to its gates, and its share of what
    /// the inputs of the next block give to them. Steps come in their order.
    fn multiply(&self, at: usize, stretch: &mut UnitBlock<'_>, h: &[f32], step: &StepPosition) {
        let Layer { cell, inputs, order, .. } = self.layer;
        let width = order.gates * PANEL;
        let StepPosition { back, block, within, ref rows, ref following, row } = *step;
        if within == 0 {
            if block > 0 {
                std::mem::swap(&mut stretch.gates, &mut stretch.ahead);
            }
            let bias = &order.stretch_of(&self.operands.bias[..order.width()], at)[..width];
            let ahead = stretch.ahead.chunks_exact_mut(width).take(following.len());
            ahead.for_each(|row| row.copy_from_slice(bias));
        }
        let sums = if cell == Cell::Gru {
            stretch.products = order.stretch_of(&self.operands.bias[order.width()..], at);
            &mut stretch.products[..width]
        } else {
            &mut stretch.gates[row * width..][..width]
        };
        // Each step of this block takes some lines: as long a part of a panel as there are steps for, or
        // where there are too few of them, some panels.
        let parts = (rows.len() / order.gates).max(1);
        let panels = order.gates.div_ceil(rows.len()).max(1);
        let lines = |step: usize| {
            let part = (step % parts * inputs.div_ceil(parts)).min(inputs);
            (step / parts * panels * inputs + part).min(order.gates * inputs)
        };
        let beside = InterleavedProduct {
            rows: following.len(),
            x: &self.operands.x[following.start * inputs..following.end * inputs],
            stride: inputs,
            panels: &self.operands.input[at * PANEL * inputs..],
            depth: inputs,
            apart: order.units() * inputs,
            lines: lines(within)..lines(within + 1),
            out: &mut *stretch.ahead,
            out_stride: width,
        };
        let panels = PanelGroups {
            panels: &self.operands.hidden[at * PANEL * h.len()..],
            side: order.gates,
            apart: order.units() * h.len(),
            backwards: back,
        };
        gemv_interleaved(h, panels, sums.as_chunks_mut::<PANEL>().0, beside);
    }

    /// The next state of a stretch, from what [`Sequence::multiply`] gave.
    fn next_state(&self, stretch: &mut UnitBlock<'_>, step: &StepPosition) {
        let Layer { cell, order, .. } = self.layer;
        let UnitBlock { gates, products, cell: c, next, out, .. } = stretch;
        let width = order.gates * PANEL;
        let gates = &gates[step.row * width..][..width];
        match cell {
            Cell::Lstm => lstm_gates(gates, c, next),
            Cell::Gru => gru_gates(gates, &products[..width], next),
            Cell::Tanh | Cell::Relu => plain_gates(cell, gates, next),
        }
        if let Some(out) = out.get_mut(step.rows.start + step.row) {
            copy_units(next, out);
        }
    }
}

/// Numbers from the first to the last, or back.
fn in_turn(all: Range<usize>, back: bool) -> impl Iterator<Item = usize> {
    let (start, end) = (all.start, all.end);
    all.map(move |at| if back { end - 1 - (at - start) } else { at })
}

/// Copies units to where only those are that there are.
fn copy_units(units: &[f32; PANEL], to: &mut [f32]) {
    match to.first_chunk_mut() {
        Some(whole) => *whole = *units,
        None => to.copy_from_slice(&units[..to.len()]),
    }
}

/// What threads share that run over one sequence together.
struct Shared<'a> {
    stretches: Vec<Mutex<UnitBlock<'a>>>,
    /// How many steps of each stretch are done.
    done: Vec<AtomicUsize>,
    /// The hidden state after even and after odd numbers of steps, as bits. Nobody reads the one that is
    /// written, except who comes too late to use it.
    states: [Vec<AtomicU32>; 2],
    /// Whether somebody has panicked, so that a stretch may never be done.
    stopped: AtomicBool,
}

impl<'a> Shared<'a> {
    /// The number of steps that are done.
    fn step(&self) -> usize {
        self.done.iter().map(|done| done.load(Ordering::Acquire)).min().unwrap_or(0)
    }

    /// The hidden state after this many steps.
    fn read(&self, steps: usize, h: &mut [f32]) {
        for (h, shared) in h.iter_mut().zip(&self.states[steps % 2]) {
            *h = f32::from_bits(shared.load(Ordering::Relaxed));
        }
    }

    /// A stretch, if a step of it is to be done and nobody does it.
    fn take(&self, at: usize, step: usize) -> Option<MutexGuard<'_, UnitBlock<'a>>> {
        let waits = || self.done[at].load(Ordering::Acquire) == step;
        if !waits() {
            return None;
        }
        let stretch = match self.stretches[at].try_lock() {
            Ok(stretch) => stretch,
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return None,
        };
        waits().then_some(stretch)
    }

    /// Gives the hidden state of a stretch after this many steps to the others.
    fn give(&self, at: usize, steps: usize, next: &[f32]) {
        let to = self.states[steps % 2][at * PANEL..].iter();
        to.zip(next).for_each(|(to, next)| to.store(next.to_bits(), Ordering::Relaxed));
        self.done[at].store(steps, Ordering::Release);
    }

    /// Waits until this many steps of all stretches are done; whether they will be.
    fn wait(&self, steps: usize) -> bool {
        let mut turns = 0u32;
        while self.step() < steps {
            turns += 1;
            // The others may wait for this CPU.
            match turns % 64 {
                0 if self.stopped.load(Ordering::Relaxed) => return false,
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
        true
    }
}

/// Tells the others when its thread panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
