//! The order of reductions: along rows, or down columns without transposing them first.
//!
//! The order depends on the length alone, never on the layout in memory or the number of threads:
//! [`LANES`] numbers are added side by side, these are joined by halves, and long runs are divided by
//! halves as well. So rounding errors of sums grow slowly, and rows and columns of the same numbers
//! give the same bits.

use std::ops::Range;

use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use smallvec::SmallVec;

use crate::PodElement;

/// Numbers that are taken in side by side.
pub(crate) const LANES: usize = 16;

/// The longest run that is not halved.
pub(crate) const LEAF: usize = 1024;

/// Columns that are folded side by side.
pub(crate) const WIDTH: usize = 64;

/// Elements below which other threads cost more than they bring.
const PARALLEL: usize = 1 << 16;

/// How numbers become one: what there is of none, what becomes of one, and how two are joined. The
/// first changes nothing that it is joined with.
#[derive(Clone, Copy)]
pub(crate) struct OrderedFold<A, M, J> {
    pub(crate) start: A,
    pub(crate) of: M,
    pub(crate) join: J,
    /// Whether every order of steps gives the same.
    exact: bool,
}

impl<A, M, J> OrderedFold<A, M, J> {
    pub(crate) fn new(start: A, of: M, join: J) -> OrderedFold<A, M, J> {
        OrderedFold { start, of, join, exact: false }
    }

    /// Of integers: every order of steps gives the same, and the compiler may choose one.
    pub(crate) fn exact(start: A, of: M, join: J) -> OrderedFold<A, M, J> {
        OrderedFold { start, of, join, exact: true }
    }
}

/// Columns of equal length: where they start, [`WIDTH`] or fewer side by side.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Where each matrix starts, in elements.
    pub(crate) starts: SmallVec<[usize; 8]>,
    /// Columns of a matrix.
    pub(crate) width: usize,
    /// Elements of a column.
    pub(crate) len: usize,
    /// Steps from an element of a column to the next.
    pub(crate) step: usize,
}

impl Columns {
    /// The columns of all matrices in pieces that are folded side by side: calls `f` with where the
    /// piece starts in the operand, and its part of `out`, which holds one element for each column.
    pub(crate) fn each<U: Send>(&self, out: &mut [U], f: impl Fn(usize, &mut [U]) + Sync) {
        partition::for_each_chunk(out, WIDTH, PARALLEL / self.len.max(1), |mut at, mut out| {
            while !out.is_empty() {
                let column = at % self.width;
                let count = WIDTH.min(self.width - column).min(out.len());
                let (piece, rest) = out.split_at_mut(count);
                f(self.starts[at / self.width] + column, piece);
                (at, out) = (at + count, rest);
            }
        });
    }
}

impl<A: Copy, M, J: Fn(A, A) -> A + Copy> OrderedFold<A, M, J> {
    /// A row of at most [`LEAF`] numbers.
    #[inline(always)]
    pub(crate) fn short<T: Copy>(self, row: &[T]) -> A
    where
        M: Fn(T) -> A + Copy,
    {
        if self.exact {
            // What goes lane by lane the compiler would gather from many positions.
            return row.iter().fold(self.start, |all, &x| (self.join)(all, (self.of)(x)));
        }
        let mut lanes = [self.start; LANES];
        let (chunks, rest) = row.as_chunks::<LANES>();
        for chunk in chunks {
            for l in 0..LANES {
                lanes[l] = (self.join)(lanes[l], (self.of)(chunk[l]));
            }
        }
        let first = if chunks.is_empty() { self.start } else { self.halved(lanes) };
        rest.iter().fold(first, |all, &x| (self.join)(all, (self.of)(x)))
    }

    /// The lanes joined by halves. Apart, because the last steps would have the compiler put two lanes
    /// into a vector instead of eight.
    #[inline(never)]
    fn halved(self, mut lanes: [A; LANES]) -> A {
        let mut width = LANES / 2;
        while width > 0 {
            for l in 0..width {
                lanes[l] = (self.join)(lanes[l], lanes[l + width]);
            }
            width /= 2;
        }
        lanes[0]
    }

    /// A row of any length.
    pub(crate) fn row<T: Copy>(self, row: &[T]) -> A
    where
        M: Fn(T) -> A + Copy,
    {
        if row.len() > LEAF {
            let (a, b) = row.split_at(row.len() / 2);
            return (self.join)(self.row(a), self.row(b));
        }
        dispatch(
            #[inline(always)]
            || self.short(row),
        )
    }

    /// Fills `out` with what `finish` makes of the rows of `len` numbers each.
    pub(crate) fn rows<T: PodElement, U: Send>(
        self,
        all: &[T],
        len: usize,
        out: &mut [U],
        finish: impl Fn(A) -> U + Copy + Sync,
    ) where
        A: Send + Sync,
        M: Fn(T) -> A + Copy + Sync,
        J: Sync,
    {
        if let [out] = out
            && len >= PARALLEL
        {
            *out = finish(self.row_shared(all));
            return;
        }
        partition::for_each_chunk(out, 1, PARALLEL / len.max(1), |start, out| {
            let rows = (start..start + out.len()).map(|row| &all[row * len..(row + 1) * len]);
            if len > LEAF {
                out.iter_mut().zip(rows).for_each(|(out, row)| *out = finish(self.row(row)));
                return;
            }
            dispatch(
                #[inline(always)]
                || {
                    for (out, row) in out.iter_mut().zip(rows) {
                        *out = finish(self.short(row));
                    }
                },
            );
        });
    }

    /// [`OrderedFold::row`] of a row so long that other threads pay: its quarters are those of halving twice.
    fn row_shared<T: PodElement>(self, row: &[T]) -> A
    where
        A: Send + Sync,
        M: Fn(T) -> A + Copy + Sync,
        J: Sync,
    {
        let (a, b) = row.split_at(row.len() / 2);
        let ((a, b), (c, d)) = (a.split_at(a.len() / 2), b.split_at(b.len() / 2));
        let mut parts = [self.start; 4];
        partition::for_each(parts.iter_mut().zip([a, b, c, d]), |(to, part)| *to = self.row(part));
        let [a, b, c, d] = parts;
        (self.join)((self.join)(a, b), (self.join)(c, d))
    }

    /// Fills `out` with what `finish` makes of columns.
    pub(crate) fn columns<T: PodElement, U: Send>(
        self,
        all: &[T],
        columns: &Columns,
        out: &mut [U],
        finish: impl Fn(A) -> U + Copy + Sync,
    ) where
        A: Sync,
        M: Fn(T) -> A + Copy + Sync,
        J: Sync,
    {
        columns.each(out, |start, out| {
            let folded = self.side_by_side(&all[start..], columns.step, 0..columns.len, out.len());
            out.iter_mut().zip(folded).for_each(|(out, folded)| *out = finish(folded));
        });
    }

    /// The first columns, `width` of them, of the rows in this range.
    pub(crate) fn side_by_side<T: Copy>(
        self,
        all: &[T],
        step: usize,
        rows: Range<usize>,
        width: usize,
    ) -> [A; WIDTH]
    where
        M: Fn(T) -> A + Copy,
    {
        if rows.len() > LEAF {
            let middle = rows.start + rows.len() / 2;
            let mut first = self.side_by_side(all, step, rows.start..middle, width);
            let second = self.side_by_side(all, step, middle..rows.end, width);
            first.iter_mut().zip(second).for_each(|(a, b)| *a = (self.join)(*a, b));
            return first;
        }
        dispatch(
            #[inline(always)]
            || self.side_by_side_short(all, step, rows, width),
        )
    }

    #[inline(always)]
    fn side_by_side_short<T: Copy>(
        self,
        all: &[T],
        step: usize,
        rows: Range<usize>,
        width: usize,
    ) -> [A; WIDTH]
    where
        M: Fn(T) -> A + Copy,
    {
        let mut folded = [self.start; WIDTH];
        let whole = rows.start + rows.len() / LANES * LANES;
        if whole > rows.start {
            let mut lanes = [[self.start; WIDTH]; LANES];
            for at in rows.start..whole {
                self.take_in(&mut lanes[(at - rows.start) % LANES], &all[at * step..], width);
            }
            let lanes = lanes.as_flattened_mut();
            let mut half = lanes.len() / 2;
            while half >= WIDTH {
                let (low, high) = lanes.split_at_mut(half);
                low.iter_mut().zip(high).for_each(|(a, &mut b)| *a = (self.join)(*a, b));
                half /= 2;
            }
            folded.copy_from_slice(&lanes[..WIDTH]);
        }
        for at in whole..rows.end {
            self.take_in(&mut folded, &all[at * step..], width);
        }
        folded
    }

    /// A row joined with what there is of its columns.
    #[inline(always)]
    fn take_in<T: Copy>(self, columns: &mut [A; WIDTH], row: &[T], width: usize)
    where
        M: Fn(T) -> A + Copy,
    {
        let join = |(a, &x): (&mut A, &T)| *a = (self.join)(*a, (self.of)(x));
        match row.first_chunk::<WIDTH>() {
            // Known to be this many, they are folded without a loop for what is left over.
            Some(row) if width == WIDTH => columns.iter_mut().zip(row).for_each(join),
            _ => columns[..width].iter_mut().zip(&row[..width]).for_each(join),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_of_any_length_give_the_same_bits() {
        let sum = OrderedFold::new(0f32, |x: f32| x * 0.7, |a, b| a + b);
        for len in [1, 5, 15, 16, 17, 40, 1024, 1025, 3001] {
            for width in [1, 3, 64, 65, 200] {
                let rows: Vec<f32> =
                    (0..len * width).map(|i| (i * 7919 % 1013) as f32 * 0.013 - 6.0).collect();
                // Two matrices, the second one behind the first.
                let mut transposed = vec![0f32; 2 * len * width];
                for (i, &x) in rows.iter().enumerate() {
                    transposed[i % len * width + i / len] = x;
                    transposed[(len + i % len) * width + i / len] = -x;
                }
                let starts = [0, len * width].into_iter().collect();
                let columns = Columns { starts, width, len, step: width };
                let (mut by_row, mut by_column) = (vec![0f32; width], vec![0f32; 2 * width]);
                sum.rows(&rows, len, &mut by_row, |x| x);
                sum.columns(&transposed, &columns, &mut by_column, |x| x);
                assert_eq!(by_row, by_column[..width], "{len} {width}");
                assert!(by_row.iter().zip(&by_column[width..]).all(|(a, b)| *a == -b));
            }
        }
    }

    #[test]
    fn a_row_that_is_shared_gives_the_same_bits() {
        let sum = OrderedFold::new(0f32, |x: f32| x, |a, b| a + b);
        let row: Vec<f32> = (0..PARALLEL + 77).map(|i| (i % 1013) as f32 * 0.013).collect();
        assert_eq!(sum.row(&row), sum.row_shared(&row));
    }
}
