//! The windows of a pool along one dimension.

use std::ops::Range;

use crate::reduction::reduction_order::OrderedFold;

/// A window along one dimension: a range of the input, and how much of the padded input it covers.
#[derive(Debug, Clone, Copy)]
pub(in crate::nn) struct Window {
    pub(in crate::nn) start: usize,
    pub(in crate::nn) end: usize,
    pub(in crate::nn) covered: i64,
}

/// The windows along one dimension.
#[derive(Debug)]
pub(in crate::nn) struct Axis {
    pub(in crate::nn) windows: Vec<Window>,
    /// Steps between elements of a window.
    pub(in crate::nn) step: usize,
}

impl Axis {
    /// A dimension that is not there.
    pub(in crate::nn) fn unit() -> Axis {
        Axis { windows: vec![Window { start: 0, end: 1, covered: 1 }], step: 1 }
    }

    /// How many elements a window has.
    pub(in crate::nn) fn len(&self, window: Window) -> usize {
        window.end.saturating_sub(window.start).div_ceil(self.step)
    }

    /// The windows from the first of the greatest length on that have this length, each as far after the
    /// one before.
    pub(in crate::nn) fn run(&self) -> Run {
        let elements = self.windows.iter().map(|&window| self.len(window)).max().unwrap_or(0);
        let is_whole = |window: &Window| self.len(*window) == elements;
        let first = self.windows.iter().position(is_whole).unwrap_or(0);
        let whole = &self.windows[first..];
        let stride = match whole {
            [a, b, ..] => b.start.saturating_sub(a.start).max(1),
            _ => 1,
        };
        let follows = |at: &usize| whole[*at].start == whole[0].start + at * stride;
        let count = (0..whole.len()).take_while(|at| is_whole(&whole[*at]) && follows(at)).count();
        Run { windows: first..first + count, stride, elements }
    }

    /// Takes the elements of a line into what there is of each window.
    #[inline(always)]
    pub(in crate::nn) fn fold<T: Copy, A: Copy>(
        &self,
        run: &Run,
        line: &[T],
        all: &mut [A],
        fold: OrderedFold<A, impl Fn(T) -> A + Copy, impl Fn(A, A) -> A + Copy>,
    ) {
        // Side by side, as long as there are more windows than elements in each.
        let run = if run.windows.len() > run.elements { run.clone() } else { Run::default() };
        let step = |sum: A, &x: &T| (fold.join)(sum, (fold.of)(x));
        for at in (0..run.windows.start).chain(run.windows.end..all.len()) {
            let Window { start, end, .. } = self.windows[at];
            let part = line.get(start..end).unwrap_or_default();
            all[at] = match self.step {
                1 if part.len() >= LONG => (fold.join)(all[at], fold.short(part)),
                steps => part.iter().step_by(steps).fold(all[at], step),
            };
        }
        let Some(first) = self.windows.get(run.windows.start).filter(|_| !run.windows.is_empty())
        else {
            return;
        };
        let all = &mut all[run.windows];
        // Windows one behind the other are iterated over once.
        if self.step == 1 && run.stride == run.elements {
            let line = &line[first.start..];
            match run.stride {
                2 => return groups::<2, _, _>(line, all, step),
                3 => return groups::<3, _, _>(line, all, step),
                4 => return groups::<4, _, _>(line, all, step),
                _ => {}
            }
        }
        for element in 0..run.elements {
            let from = &line[first.start + element * self.step..];
            match run.stride {
                1 => all.iter_mut().zip(from).for_each(|(sum, x)| *sum = step(*sum, x)),
                2 => every::<2, _, _>(from, all, step),
                3 => every::<3, _, _>(from, all, step),
                4 => every::<4, _, _>(from, all, step),
                stride => {
                    let elements = from.iter().step_by(stride);
                    all.iter_mut().zip(elements).for_each(|(sum, x)| *sum = step(*sum, x));
                }
            }
        }
    }

    /// Whether there is one window, all of a line of this size.
    pub(in crate::nn) fn is_whole(&self, size: usize) -> bool {
        self.step == 1 && matches!(self.windows[..], [Window { start: 0, end, .. }] if end == size)
    }
}

/// This many neighbours are taken in side by side.
pub(in crate::nn) const LONG: usize = 16;

/// Takes in windows of this many elements, one behind the other.
#[inline(always)]
fn groups<const LEN: usize, T, A: Copy>(from: &[T], all: &mut [A], step: impl Fn(A, &T) -> A) {
    for (sum, group) in all.iter_mut().zip(from.as_chunks::<LEN>().0) {
        *sum = group.iter().fold(*sum, &step);
    }
}

/// Takes in every `STRIDE`th element, a number that is known when this is compiled: only then it
/// becomes vector code.
#[inline(always)]
fn every<const STRIDE: usize, T, A: Copy>(from: &[T], all: &mut [A], step: impl Fn(A, &T) -> A) {
    let (groups, rest) = from.as_chunks::<STRIDE>();
    all.iter_mut().zip(groups).for_each(|(sum, group)| *sum = step(*sum, &group[0]));
    // The last window may end before its group does.
    if let (Some(sum), Some(x)) = (all.get_mut(groups.len()), rest.first()) {
        *sum = step(*sum, x);
    }
}

/// Windows that follow one another evenly.
#[derive(Debug, Clone, Default)]
pub(in crate::nn) struct Run {
    pub(in crate::nn) windows: Range<usize>,
    /// Steps from one window to the next.
    pub(in crate::nn) stride: usize,
    /// Elements of each.
    pub(in crate::nn) elements: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::pool::sizes::{WindowSteps, adaptive};
    use crate::{DType, Tensor};

    /// The windows along a line of this many elements, taken one by one and side by side.
    #[track_caller]
    fn check(axis: &Axis, len: usize) {
        let line: Vec<i64> = (0..len as i64).map(|i| i * i + 1).collect();
        let mut found = vec![0; axis.windows.len()];
        let sum = OrderedFold::new(0, |x| x, |a: i64, b: i64| a + b);
        axis.fold(&axis.run(), &line, &mut found, sum);
        let expected = axis.windows.iter().map(|window| {
            let elements = (window.start..window.end).step_by(axis.step);
            elements.map(|at| line[at]).sum::<i64>()
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "{axis:?}");
    }

    #[test]
    fn windows_side_by_side_are_windows_one_by_one() {
        for (kernel, stride, padding, dilation, size, ceil_mode) in [
            (3, 1, 1, 1, 9, false),
            (3, 2, 1, 1, 14, true),
            (2, 2, 0, 1, 20, false),
            (2, 3, 1, 2, 20, false),
            (5, 1, 2, 1, 3, false),
            (1, 1, 0, 1, 7, false),
            (3, 4, 0, 1, 17, true),
        ] {
            let walk = WindowSteps { kernel, stride, padding, dilation };
            let count = walk.count(size, ceil_mode).unwrap();
            check(&walk.axis(size, count).unwrap(), size as usize);
        }
        for (size, output) in [(7, 14), (14, 7), (7, 3), (5, 5), (3, 7), (1, 6), (64, 16)] {
            let input = Tensor::zeros(&[1, 1, size], DType::Float32).unwrap();
            let ([.., axis], _) = adaptive(&input, "", &[output]).unwrap();
            check(&axis, size as usize);
        }
    }
}
