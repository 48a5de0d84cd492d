//! One sequence through a packed recurrent layer.
//!
//! Units are computed 32 at a time, a [`Stretch`]: a step goes once over its part of the weight of the
//! hidden state, and has then all that its next state takes. The inputs are multiplied five steps at
//! a time, beside the products of the steps before ([`crate::panel_vector`]). Where a step is long
//! enough, threads share its stretches: whoever is free takes the next one, and all of them begin the
//! next step when this one is done.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::panel_vector::{TILE_ROWS, Tile, vector_beside};
use crate::panels::{self, PANEL, Shape};
use crate::recurrent_packed::{Layer, Operands, Out, State};
use crate::recurrent_steps::{gru_gates, lstm_gates, plain_gates};
use crate::{Cell, team, threads};

/// Weights of the hidden state that a thread should have in each step, in elements: fewer take less
/// time than threads take to hear of each other.
const SHARE: usize = 16 << 10;
/// Weights that are gone over in all steps together, in elements, below which one thread is enough.
const WORTH_SHARING: usize = 512 << 10;

/// Runs over a sequence that comes alone: from the state at its start to the one at its end.
pub(crate) fn run(
    layer: Layer,
    operands: Operands<'_>,
    state: State<'_>,
    out: Option<Out<'_>>,
    backwards: bool,
) {
    let Layer { steps, inputs, order, .. } = layer;
    let blocks = Blocks { steps, backwards };
    let (hidden, width) = (order.hidden, order.width());
    let rows = blocks.rows(0);
    let mut of_first = vec![0f32; rows.len() * width];
    let shape = Shape { m: rows.len(), k: inputs, n: width };
    let x = &operands.x[rows.start * inputs..];
    panels::multiply(shape, x, operands.input, Some(operands.bias), &mut of_first, false);
    let sequence = Sequence { layer, operands, blocks, of_first: &of_first };
    let mut later = vec![0f32; if steps > rows.len() { 2 * TILE_ROWS * width } else { 0 }];
    let mut later = later.chunks_mut(TILE_ROWS * order.gates * PANEL);
    let mut stretches: Vec<Stretch<'_>> = (0..order.units() / PANEL)
        .map(|_| {
            let [gates, ahead] = [(); 2].map(|()| later.next().unwrap_or_default());
            let out = Vec::with_capacity(if out.is_some() { steps } else { 0 });
            Stretch { cell: [0.0; PANEL], next: [0.0; PANEL], gates, ahead, out }
        })
        .collect();
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
struct Stretch<'a> {
    cell: [f32; PANEL],
    /// The hidden state after the last step; zeros for units that are none.
    next: [f32; PANEL],
    /// What the inputs of a block give to the gates, a row for each step; not of the first block.
    gates: &'a mut [f32],
    /// The same of the next block.
    ahead: &'a mut [f32],
    /// Where the hidden state of each step goes, if it goes anywhere.
    out: Vec<&'a mut [f32]>,
}

/// The steps of a sequence in blocks. The inputs of the first block are multiplied before it begins;
/// all others have [`TILE_ROWS`] steps and are multiplied while the block before is computed.
#[derive(Clone, Copy)]
struct Blocks {
    steps: usize,
    backwards: bool,
}

/// Where a step is.
struct Step {
    /// The number of its block.
    block: usize,
    /// Which of the block's steps it is.
    within: usize,
    /// The rows of the input that the block takes, and those of the next block.
    rows: Range<usize>,
    following: Range<usize>,
}

impl Blocks {
    /// How many steps the first block has.
    fn first(self) -> usize {
        if self.steps < 2 * TILE_ROWS { self.steps } else { TILE_ROWS + self.steps % TILE_ROWS }
    }

    /// The place of a step.
    fn place(self, step: usize) -> Step {
        let (block, within) = match step.checked_sub(self.first()) {
            Some(after) => (1 + after / TILE_ROWS, after % TILE_ROWS),
            None => (0, step),
        };
        Step { block, within, rows: self.rows(block), following: self.rows(block + 1) }
    }

    /// The rows of the input that a block takes; none after the last block.
    fn rows(self, block: usize) -> Range<usize> {
        let steps = self.steps;
        let end = (self.first() + block * TILE_ROWS).min(steps);
        let start = if block == 0 { 0 } else { end.min(self.first() + (block - 1) * TILE_ROWS) };
        if self.backwards { steps - end..steps - start } else { start..end }
    }
}

/// What a run over one sequence reads.
#[derive(Clone, Copy)]
struct Sequence<'a> {
    layer: Layer,
    operands: Operands<'a>,
    blocks: Blocks,
    /// What the inputs of the first block give to the gates, a row of all gates for each step.
    of_first: &'a [f32],
}

impl<'a> Sequence<'a> {
    /// How many threads are worth having beside this one.
    fn helpers(&self) -> usize {
        let Layer { steps, inputs, order, .. } = self.layer;
        let each = order.hidden * order.width();
        if steps * (each + order.width() * inputs) < WORTH_SHARING {
            return 0;
        }
        let stretches = order.units() / PANEL;
        threads::get().min(stretches).min(each / SHARE).saturating_sub(1)
    }

    /// All steps on this thread.
    fn run_here(&self, stretches: &mut [Stretch<'_>], h: &mut [f32]) {
        for step in 0..self.layer.steps {
            let step = self.blocks.place(step);
            for (at, stretch) in stretches.iter_mut().enumerate() {
                self.step(at, stretch, h, &step);
            }
            for (h, stretch) in h.chunks_mut(PANEL).zip(&*stretches) {
                copy_units(&stretch.next, h);
            }
        }
    }

    /// All steps on this thread and others.
    fn run_shared<'s>(
        &self,
        helpers: usize,
        stretches: Vec<Stretch<'s>>,
        h: &mut [f32],
    ) -> Vec<Stretch<'s>> {
        let shared = Shared {
            done: stretches.iter().map(|_| AtomicUsize::new(0)).collect(),
            stretches: stretches.into_iter().map(Mutex::new).collect(),
            states: [&*h, &*h].map(|h| h.iter().map(|h| AtomicU32::new(h.to_bits())).collect()),
            stopped: AtomicBool::new(false),
        };
        let arrived = AtomicUsize::new(0);
        team::share(helpers, &|| {
            let _stop = StopOnPanic(&shared.stopped);
            let number = arrived.fetch_add(1, Ordering::Relaxed);
            self.take_part(&shared, number * shared.done.len() / (helpers + 1));
        });
        shared.read(self.layer.steps, h);
        shared
            .stretches
            .into_iter()
            .map(|s| s.into_inner().unwrap_or_else(|e| e.into_inner()))
            .collect()
    }

    /// Works on steps from the current one to the last, on the stretches that nobody has taken, `first`
    /// before others.
    fn take_part(&self, shared: &Shared<'_>, first: usize) {
        let count = shared.done.len();
        let mut h = vec![0f32; self.layer.order.hidden];
        let mut step = shared.step();
        while step < self.layer.steps {
            shared.read(step, &mut h);
            let place = self.blocks.place(step);
            for at in (first..count).chain(0..first) {
                // Who comes late finds all of the step done, and has read what may be of another step.
                let Some(mut stretch) = shared.take(at, step) else { continue };
                self.step(at, &mut stretch, &h, &place);
                shared.give(at, step + 1, &stretch.next);
            }
            if !shared.wait(step + 1) {
                return;
            }
            step += 1;
        }
    }

    /// One step of a stretch: from the gates of the input and the hidden state `h`, its cell state and its
    /// next hidden state. Steps come in their order.
    fn step(&self, at: usize, stretch: &mut Stretch<'_>, h: &[f32], step: &Step) {
        let Layer { cell, inputs, order, .. } = self.layer;
        let width = order.gates * PANEL;
        let Step { block, within, ref rows, ref following } = *step;
        if within == 0 {
            if block > 0 {
                std::mem::swap(&mut stretch.gates, &mut stretch.ahead);
            }
            let bias = &order.stretch_of(&self.operands.bias[..order.width()], at)[..width];
            let ahead = stretch.ahead.chunks_exact_mut(width).take(following.len());
            ahead.for_each(|row| row.copy_from_slice(bias));
        }
        let row = if self.blocks.backwards { rows.len() - 1 - within } else { within };
        let mut gates = [0f32; 4 * PANEL];
        if block == 0 {
            gates = order.stretch_of(&self.of_first[row * order.width()..][..order.width()], at);
        } else {
            gates[..width].copy_from_slice(&stretch.gates[row * width..][..width]);
        }
        let mut sums = gates;
        if cell == Cell::Gru {
            let bias = &self.operands.bias[order.width() + at * width..][..width];
            sums[..width].copy_from_slice(bias);
        }
        let sums = &mut sums[..width];
        // A block has more steps than a stretch has panels: one is multiplied in each.
        let tile = (within < order.gates && !following.is_empty()).then(|| Tile {
            x: &self.operands.x[following.start * inputs..],
            stride: inputs,
            panel: self.input(at, within),
            out: &mut stretch.ahead[within * PANEL..],
            out_stride: width,
        });
        let panels = &self.operands.hidden[at * width * h.len()..][..width * h.len()];
        vector_beside(h, panels, sums.as_chunks_mut::<PANEL>().0, tile);
        let next = &mut stretch.next;
        match cell {
            Cell::Lstm => lstm_gates(sums, &mut stretch.cell, next),
            Cell::Gru => {
                // Units that are none stay 0.
                let there = PANEL.min(h.len() - at * PANEL);
                next[..there].copy_from_slice(&h[at * PANEL..][..there]);
                gru_gates(&gates, sums, next);
            }
            Cell::Tanh | Cell::Relu => plain_gates(cell, sums, next),
        }
        if let Some(out) = stretch.out.get_mut(rows.start + row) {
            copy_units(next, out);
        }
    }

    /// A stretch's part of the input's weight for a gate: a panel.
    fn input(&self, at: usize, gate: usize) -> &'a [f32] {
        let Layer { inputs, order, .. } = self.layer;
        &self.operands.input[(gate * order.units() + at * PANEL) * inputs..][..PANEL * inputs]
    }
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
    stretches: Vec<Mutex<Stretch<'a>>>,
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

    /// The hidden state after so many steps.
    fn read(&self, steps: usize, h: &mut [f32]) {
        for (h, shared) in h.iter_mut().zip(&self.states[steps % 2]) {
            *h = f32::from_bits(shared.load(Ordering::Relaxed));
        }
    }

    /// A stretch, if a step of it is to be done and nobody does it.
    fn take(&self, at: usize, step: usize) -> Option<MutexGuard<'_, Stretch<'a>>> {
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

    /// Gives the hidden state of a stretch after so many steps to the others.
    fn give(&self, at: usize, steps: usize, next: &[f32]) {
        let to = self.states[steps % 2][at * PANEL..].iter();
        to.zip(next).for_each(|(to, next)| to.store(next.to_bits(), Ordering::Relaxed));
        self.done[at].store(steps, Ordering::Release);
    }

    /// Waits until so many steps of all stretches are done; whether they will be.
    fn wait(&self, steps: usize) -> bool {
        let mut turns = 0u32;
        while self.step() < steps {
            turns += 1;
            // The others may wait for this processor.
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
