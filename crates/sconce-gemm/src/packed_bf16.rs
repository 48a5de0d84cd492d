//! Products of `float32` with a packed weight that was rounded to `bfloat16`: the row of a layer's input is rounded as
//! well, sums are `float32`.
//!
//! A panel holds 32 rows of the weight side by side, as in [`crate::panel`], but two elements of a row after each other:
//! the order in which CPUs multiply pairs. Where there is no instruction for that, numbers are widened and multiplied as
//! `float32`: sums are then rounded in another order, and of the same numbers.
//!
//! The order in which an element is summed does not depend on the number of threads.

use std::ops::Range;

use half::bf16;
use sconce_kernel_core::Result;
use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::half_precision::Half;

use crate::half_gemm::{Part, parts_of_cols, parts_of_rows, try_parts};
use crate::panel::{PANEL, ROWS, Shape};
use crate::panel_product::add_panel;

/// Elements of rows that are multiplied before the next panel: the first cache holds as many of a panel and of the rows
/// of a tile.
#[cfg(target_arch = "x86_64")]
const DEPTH: usize = 512;

/// Panels whose columns are computed together: as many sums as a first cache holds beside a panel would be few rows.
const PANELS: usize = 8;

/// Numbers below which several threads do not speed up their rounding.
const PARALLEL: usize = 1 << 16;

/// Numbers of a pair of lines.
const PAIR: usize = 2 * PANEL;

/// The number of elements of a weight of `n` rows of `k` elements that [`pack`] packs.
pub fn packed_len(n: usize, k: usize) -> usize {
    n.div_ceil(PANEL) * k.div_ceil(2) * PAIR
}

/// Rounds and packs a row-major weight of `n` rows of `k` elements. What no row fills is zero.
pub fn pack(weight: &[f32], n: usize, k: usize, packed: &mut [bf16]) {
    if k == 0 {
        return;
    }
    debug_assert!(weight.len() == n * k && packed.len() == packed_len(n, k));
    let panels = packed.chunks_exact_mut(k.div_ceil(2) * PAIR).zip(weight.chunks(PANEL * k));
    for (panel, rows) in panels {
        for (at, pair) in panel.as_chunks_mut::<PAIR>().0.iter_mut().enumerate() {
            pair.fill(bf16::ZERO);
            for (pair, row) in pair.as_chunks_mut::<2>().0.iter_mut().zip(rows.chunks_exact(k)) {
                for (to, &x) in pair.iter_mut().zip(&row[2 * at..]) {
                    *to = bf16::nearest(x);
                }
            }
        }
    }
}

/// Whether this CPU multiplies pairs of `bfloat16`.
pub fn has_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return sconce_kernel_core::simd::dispatch::has_avx512_bf16();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// `out = x · weightᵀ + bias`, all row-major without gaps, the weight packed.
///
/// # Errors
/// Where memory is short.
pub fn multiply(
    shape: Shape,
    x: &[f32],
    packed: &[bf16],
    bias: Option<&[f32]>,
    out: &mut [f32],
) -> Result<()> {
    multiply_with(has_instructions(), shape, x, packed, bias, out)
}

/// [`multiply`] by the instructions for pairs, or without.
fn multiply_with(
    by_pairs: bool,
    shape: Shape,
    x: &[f32],
    packed: &[bf16],
    bias: Option<&[f32]>,
    out: &mut [f32],
) -> Result<()> {
    let Shape { m, k, n } = shape;
    if m == 0 || n == 0 {
        return Ok(());
    }
    // Rows begin at pairs; what fills the last one is multiplied by zeros.
    let stride = k.next_multiple_of(2);
    let mut rounded = Block::for_overwrite(m * stride * size_of::<bf16>())?;
    let rounded: &mut [bf16] = &mut bytemuck::cast_slice_mut(rounded.bytes_mut())[..m * stride];
    partition::for_each_chunk(rounded, stride.max(1), PARALLEL, |start, to| {
        let rows = x[start / stride.max(1) * k..].chunks_exact(k.max(1));
        for (to, row) in to.chunks_exact_mut(stride.max(1)).zip(rows) {
            round(row, &mut to[..k]);
            to[k..].fill(bf16::ZERO);
        }
    });
    let rows = Rows { all: rounded, stride };
    let few = m <= ROWS;
    let parts =
        if few { parts_of_cols(out, n, PANELS * PANEL) } else { parts_of_rows(out, n, ROWS) };
    try_parts([m, k, n], parts, |Part { rows: wanted, cols, out }| {
        let rows = rows.part(&wanted);
        let mut sums = Block::for_overwrite(wanted.len() * PANELS * PANEL * size_of::<f32>())?;
        let sums: &mut [f32] = bytemuck::cast_slice_mut(sums.bytes_mut());
        let mut out = out;
        for from in (cols.start..cols.end).step_by(PANELS * PANEL) {
            let columns = from..cols.end.min(from + PANELS * PANEL);
            let width = columns.len().next_multiple_of(PANEL);
            let sums = &mut sums[..wanted.len() * width];
            for sums in sums.chunks_exact_mut(width) {
                sums.fill(0.0);
                if let Some(bias) = bias {
                    sums[..columns.len()].copy_from_slice(&bias[columns.clone()]);
                }
            }
            let panels = &packed[from / PANEL * (stride * PANEL)..][..width * stride];
            if by_pairs {
                rows.add_pairs(m == 1, panels, (sums, width));
            } else {
                rows.add_widened(panels, (sums, width))?;
            }
            let begin = from - cols.start;
            for (sums, out) in sums.chunks_exact(width).zip(&mut out) {
                out[begin..begin + columns.len()].copy_from_slice(&sums[..columns.len()]);
            }
        }
        Ok(())
    })
}

/// Fills a slice with the nearest numbers.
pub fn round(from: &[f32], to: &mut [bf16]) {
    dispatch(
        #[inline(always)]
        || to.iter_mut().zip(from).for_each(|(to, &x)| *to = bf16::nearest(x)),
    );
}

/// Rounded rows of an even number of elements.
#[derive(Clone, Copy)]
struct Rows<'a> {
    all: &'a [bf16],
    stride: usize,
}

impl<'a> Rows<'a> {
    fn part(self, rows: &Range<usize>) -> Rows<'a> {
        let all = &self.all[rows.start * self.stride..rows.end * self.stride];
        Rows { all, ..self }
    }

    /// Adds products with some panels to rows of `width` sums, by instructions for pairs.
    #[cfg(target_arch = "x86_64")]
    fn add_pairs(self, alone: bool, panels: &[bf16], (sums, width): (&mut [f32], usize)) {
        use crate::avx512_bf16::{add_paired, add_row};
        let depth = self.stride;
        if depth == 0 {
            return;
        }
        if alone {
            let sums = sums.as_chunks_mut::<PANEL>().0;
            for (panel, sums) in panels.chunks_exact(depth * PANEL).zip(sums) {
                add_row(self.all, panel, sums);
            }
            return;
        }
        let count = self.all.len() / depth;
        for from in (0..depth).step_by(DEPTH) {
            let lines = DEPTH.min(depth - from);
            for at in 0..width / PANEL {
                let begin = at * depth + from;
                let pairs = &panels[begin * PANEL..][..lines * PANEL];
                let next = match at + 1 < width / PANEL {
                    true => begin + depth,
                    false => from + lines,
                };
                let next = panels.as_ptr().wrapping_add(next * PANEL);
                let sums = (&mut sums[at * PANEL..], width);
                let x = (&self.all[from..], depth);
                add_paired(count, x, (pairs, next), lines, sums, true);
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn add_pairs(self, _: bool, panels: &[bf16], sums: (&mut [f32], usize)) {
        // Nobody asks for them: `has_instructions` says so.
        let _ = self.add_widened(panels, sums);
    }

    /// The same by products of `float32`.
    fn add_widened(self, panels: &[bf16], (sums, width): (&mut [f32], usize)) -> Result<()> {
        const LINES: usize = 128;
        let depth = self.stride;
        if depth == 0 {
            return Ok(());
        }
        let mut rows = Block::for_overwrite(self.all.len() * size_of::<f32>())?;
        let rows: &mut [f32] = &mut bytemuck::cast_slice_mut(rows.bytes_mut())[..self.all.len()];
        rows.iter_mut().zip(self.all).for_each(|(to, x)| *to = x.widened());
        let count = rows.len() / depth;
        let mut wide = [0f32; LINES * PANEL];
        for (at, panel) in panels.chunks_exact(depth * PANEL).enumerate() {
            for (part, pairs) in panel.chunks(LINES * PANEL).enumerate() {
                let wide = &mut wide[..pairs.len()];
                widen_pairs(pairs, wide);
                let (x, sums) = (&rows[part * LINES..], &mut sums[at * PANEL..]);
                add_panel(count, x, depth, wide, sums, width);
            }
        }
        Ok(())
    }
}

/// Widens lines in pairs to lines.
fn widen_pairs(pairs: &[bf16], lines: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            let lines = lines.as_chunks_mut::<PAIR>().0;
            for (pair, lines) in pairs.as_chunks::<PAIR>().0.iter().zip(lines) {
                let (one, other) = lines.split_at_mut(PANEL);
                for (column, pair) in pair.as_chunks::<2>().0.iter().enumerate() {
                    one[column] = pair[0].widened();
                    other[column] = pair[1].widened();
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::{assert_products, assert_same_on_threads, numbers};

    fn product(
        by_pairs: bool,
        [m, k, n]: [usize; 3],
        x: &[f32],
        w: &[f32],
        bias: Option<&[f32]>,
    ) -> Vec<f32> {
        let mut packed = vec![bf16::ONE; packed_len(n, k)];
        pack(w, n, k, &mut packed);
        let mut out = vec![f32::NAN; m * n];
        multiply_with(by_pairs, Shape { m, k, n }, x, &packed, bias, &mut out).unwrap();
        out
    }

    #[test]
    fn products_are_those_of_rounded_numbers_with_and_without_the_instructions() {
        let rounded = |row: &[f32]| -> Vec<f64> {
            row.iter().map(|&x| f64::from(bf16::from_f32(x).to_f32())).collect()
        };
        for by_pairs in [false, has_instructions()] {
            let found = |sizes, x: &[f32], w: &[f32], bias: Option<&[f32]>| {
                product(by_pairs, sizes, x, w, bias)
            };
            assert_products(&found, [&rounded, &rounded]);
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let (m, k, n) = (3, 37, 40);
        let mut x = numbers(m * k, 1);
        (x[k + 3], x[2 * k + 5]) = (f32::INFINITY, f32::NAN);
        let w: Vec<f32> = numbers(n * k, 2).iter().map(|x| x.abs() + 0.1).collect();
        for by_pairs in [false, has_instructions()] {
            let found = product(by_pairs, [m, k, n], &x, &w, None);
            assert!(found[..n].iter().all(|x| x.is_finite()));
            assert!(found[n..2 * n].iter().all(|&x| x == f32::INFINITY));
            assert!(found[2 * n..].iter().all(|x| x.is_nan()));
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        assert_same_on_threads(&|sizes, x, w, bias| product(has_instructions(), sizes, x, w, bias));
    }
}
