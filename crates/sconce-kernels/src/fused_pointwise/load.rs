//! Operands of a fused chain that do not lie as its result does: they are put in order block by block. Where they repeat
//! themselves, as a number for each channel does, a block is filled once and serves for those that follow.

use sconce_kernel_core::layout::strided_iter;
use sconce_kernel_core::tensor::copy::copy_row;

use crate::elementwise::binary::BinaryKernels;
use crate::{Bool, Dims};

/// A tensor that is put in order block by block.
pub(super) struct Load<'a, T> {
    sizes: Dims,
    strides: Dims,
    offset: i64,
    elements: Elements<'a, T>,
    repeat: Option<Repeat>,
}

#[derive(Clone, Copy)]
pub(super) enum Elements<'a, T> {
    Numbers(&'a [T]),
    Bools(&'a [Bool]),
}

/// How a load repeats itself: within each run, what `period` elements hold comes again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repeat {
    period: usize,
    run: usize,
}

impl Repeat {
    fn of(sizes: &[i64], strides: &[i64]) -> Option<Repeat> {
        let dim = strides.iter().rposition(|&stride| stride == 0)?;
        let period: i64 = sizes[dim + 1..].iter().product();
        let run = (period * sizes[dim]) as usize;
        Some(Repeat { period: period as usize, run }).filter(|_| run >= MIN_RUN)
    }
}

/// Elements of the shortest run that blocks end with. Blocks of fewer are too small.
const MIN_RUN: usize = 256;

/// What a cell holds of a load: the run, where in the period it begins, and how many elements.
pub(super) type Held = (usize, usize, usize);

/// Nothing.
pub(super) const HELD_NONE: Held = (0, 0, 0);

/// The size of blocks, at most this one, that begin where the periods of loads do, as far as such blocks are not too
/// long.
pub(super) fn block_of<T: BinaryKernels>(loads: &[Load<'_, T>], most: usize) -> usize {
    let mut step = 1;
    for Repeat { period, .. } in loads.iter().filter_map(|load| load.repeat) {
        let mut both = step.max(period);
        while both <= most && (both % step != 0 || both % period != 0) {
            both += step.max(period);
        }
        if both <= most {
            step = both;
        }
    }
    most / step * step
}

impl<'a, T: BinaryKernels> Load<'a, T> {
    /// Of a tensor with these strides in the sizes of the result.
    pub(super) fn new(
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
        elements: Elements<'a, T>,
    ) -> Load<'a, T> {
        let (sizes, [strides]) = strided_iter::merge(sizes, [strides]);
        let repeat = Repeat::of(&sizes, &strides);
        Load { sizes, strides, offset, elements, repeat }
    }

    /// Whether blocks may hold the same elements as those before them.
    pub(super) fn repeats(&self) -> bool {
        self.repeat.is_some()
    }

    /// How many elements from one on, of so many, a block takes, so that it ends with a run.
    pub(super) fn within_run(&self, start: usize, count: usize) -> usize {
        self.repeat.map_or(count, |Repeat { run, .. }| count.min(run - start % run))
    }

    /// [`Load::fill`], where the cell does not hold these elements already.
    pub(super) fn fill_new(&self, start: usize, out: &mut [T], held: &mut Held) {
        if let Some(Repeat { period, run }) = self.repeat {
            let (at, phase) = (start / run, start % period);
            if (at, phase) == (held.0, held.1) && out.len() <= held.2 {
                return;
            }
            *held = (at, phase, out.len());
            // The block lies in one run: what comes after the first period is that again.
            let mut done = period.min(out.len());
            self.fill(start, &mut out[..done]);
            while done < out.len() {
                let (filled, rest) = out.split_at_mut(done);
                let count = done.min(rest.len());
                rest[..count].copy_from_slice(&filled[..count]);
                done += count;
            }
            return;
        }
        self.fill(start, out);
    }
}

impl<T: BinaryKernels> Load<'_, T> {
    /// Fills a block with the elements from `start` on; 1 is true and 0 is false.
    fn fill(&self, start: usize, out: &mut [T]) {
        let [yes, no] = [1.0, 0.0].map(T::from_double);
        if let (Elements::Numbers(all), &[.., len @ ..=SHORT]) = (self.elements, &self.sizes[..])
            && self.sizes.len() > 1
        {
            return self.fill_short_rows(all, len as usize, start, out);
        }
        let range = start..start + out.len();
        let mut rest = out;
        strided_iter::rows_within(
            &self.sizes,
            [&self.strides],
            [self.offset],
            range,
            |[at], [step], len| {
                let (out, after) = std::mem::take(&mut rest).split_at_mut(len);
                rest = after;
                match (self.elements, step) {
                    (Elements::Numbers(all), 1) => copy_row(out, &all[at..at + len]),
                    (Elements::Numbers(all), 0) => out.fill(all[at]),
                    (Elements::Numbers(all), step) => {
                        let some = all[at..].iter().step_by(step);
                        out.iter_mut().zip(some).for_each(|(out, &x)| *out = x);
                    }
                    (Elements::Bools(all), 0) => out.fill(if all[at].get() { yes } else { no }),
                    (Elements::Bools(all), step) => {
                        let some = all[at..].iter().step_by(step);
                        let bools = out.iter_mut().zip(some);
                        bools.for_each(|(out, x)| *out = if x.get() { yes } else { no });
                    }
                }
            },
        );
    }
}

/// Elements of rows that are filled one by one.
const SHORT: i64 = 8;

impl<T: BinaryKernels> Load<'_, T> {
    /// [`Load::fill`] where rows have so few elements, `len`, that each is the work of a moment.
    fn fill_short_rows(&self, all: &[T], len: usize, start: usize, out: &mut [T]) {
        let step = self.strides[self.strides.len() - 1] as usize;
        let (mut column, row) = (start % len, start / len);
        let dims = self.sizes.len() - 1;
        let (sizes, strides) = (&self.sizes[..dims], &self.strides[..dims]);
        let rows = row..(start + out.len()).div_ceil(len);
        let mut rest = out;
        strided_iter::rows_within(sizes, [strides], [self.offset], rows, |[at], [next], count| {
            for row in 0..count {
                let from = at + row * next;
                let here = (len - column).min(rest.len());
                let (out, after) = std::mem::take(&mut rest).split_at_mut(here);
                rest = after;
                for (i, out) in out.iter_mut().enumerate() {
                    *out = all[from + (column + i) * step];
                }
                column = 0;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load<'a>(sizes: &[i64], strides: &[i64], numbers: &'a [f32]) -> Load<'a, f32> {
        Load::new(sizes, strides, 0, Elements::Numbers(numbers))
    }

    #[test]
    fn loads_repeat_along_dimensions_that_are_broadcast() {
        let of = |sizes: &[i64], strides: &[i64]| {
            load(sizes, strides, &[]).repeat.map(|repeat| (repeat.period, repeat.run))
        };
        assert_eq!(of(&[2, 5, 100, 16], &[0, 16, 0, 1]), Some((16, 1600)));
        assert_eq!(of(&[100, 40], &[0, 1]), Some((40, 4000)));
        assert_eq!(of(&[40, 300], &[1, 0]), Some((1, 300)));
        assert_eq!(of(&[40, 30], &[1, 0]), None);
        assert_eq!(of(&[40, 300], &[1, 40]), None);
    }

    #[test]
    fn blocks_begin_where_periods_do() {
        let numbers = [];
        let of = |period: i64| load(&[1000, period], &[0, 1], &numbers);
        assert_eq!(block_of::<f32>(&[], 1024), 1024);
        assert_eq!(block_of(&[of(40)], 1024), 1000);
        assert_eq!(block_of(&[of(40), of(16)], 1024), 960);
        assert_eq!(block_of(&[of(40), of(1500)], 1024), 1000);
        assert_eq!(block_of(&[of(511), of(510)], 1024), 1022);
    }

    #[test]
    fn what_is_held_is_not_filled_again() {
        let numbers: Vec<f32> = (0..32).map(|x| x as f32).collect();
        let load = load(&[2, 100, 16], &[16, 0, 1], &numbers);
        assert_eq!(load.within_run(1500, 960), 100);
        let (mut cell, mut held) = ([0.0; 64], HELD_NONE);
        let expected =
            |run: usize| -> Vec<f32> { (0..64).map(|at| (run * 16 + at % 16) as f32).collect() };
        load.fill_new(0, &mut cell, &mut held);
        assert_eq!(cell, *expected(0));
        cell[0] = 7.0;
        load.fill_new(64, &mut cell, &mut held);
        assert_eq!(cell[0], 7.0);
        load.fill_new(1600, &mut cell, &mut held);
        assert_eq!(cell, *expected(1));
        load.fill_new(1608, &mut cell[..8], &mut held);
        assert_eq!(cell[..8], expected(1)[8..16]);
    }
}
