//! Products of `float32` with a packed weight that was quantized to eight bits. Inputs and sums are `float32`: less of the
//! weight comes from memory, and nothing else changes.
//!
//! 32 elements of a row have one scale, their largest magnitude divided by 127. A panel holds 32 rows side by side: for 32
//! elements of each, as many lines of numbers, then the scales of the 32 rows as bytes.
//!
//! The order in which an element is summed does not depend on the number of threads.

use std::ops::Range;

use sconce_kernel_core::Result;
use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::simd::dispatch::dispatch;

use crate::half_gemm::{Part, parts_of_cols, try_parts};
use crate::panel::{PANEL, Shape};
use crate::panel_product::add_panel;

/// Elements of a row that have one scale.
const GROUP: usize = 32;

/// Lines of a panel that a group's scales take.
const SCALES: usize = size_of::<f32>();

/// Panels whose columns are computed together.
const PANELS: usize = 4;

/// The lines of a panel of rows of `k` elements, each of 32 bytes.
pub fn lines(k: usize) -> usize {
    k.saturating_add(k.div_ceil(GROUP).saturating_mul(SCALES))
}

/// Quantizes and packs a row-major weight of `n` rows of `k` elements to `n` / 32 panels. Gives false, and means
/// nothing by what it has written, where a number is not finite: no scale would be.
pub fn pack(weight: &[f32], n: usize, k: usize, packed: &mut [i8]) -> bool {
    debug_assert!(weight.len() == n * k);
    if k == 0 {
        return true;
    }
    packed.fill(0);
    let panels = packed.chunks_exact_mut(lines(k) * PANEL).zip(weight.chunks(PANEL * k));
    for (panel, rows) in panels {
        for (column, row) in rows.chunks_exact(k).enumerate() {
            let mut panel = &mut *panel;
            for group in row.chunks(GROUP) {
                let (own, rest) = panel.split_at_mut((group.len() + SCALES) * PANEL);
                panel = rest;
                let (numbers, scales) = own.split_at_mut(group.len() * PANEL);
                if group.iter().any(|x| !x.is_finite()) {
                    return false;
                }
                let largest = group.iter().fold(0f32, |most, x| most.max(x.abs()));
                let scale = largest / 127.0;
                for (line, &x) in numbers.chunks_exact_mut(PANEL).zip(group) {
                    // Where the scale is zero or subnormal, its inverse may be none; the bounds hold then.
                    let steps = if scale > 0.0 { x / scale } else { 0.0 };
                    line[column] = steps.round_ties_even().clamp(-127.0, 127.0) as i8;
                }
                let bytes = &mut scales[column * SCALES..(column + 1) * SCALES];
                bytes.copy_from_slice(bytemuck::cast_slice(&[scale]));
            }
        }
    }
    true
}

/// `out = x · weightᵀ + bias`, all row-major without gaps, the weight packed.
///
/// # Errors
/// Where memory is short.
pub fn multiply(
    shape: Shape,
    x: &[f32],
    packed: &[i8],
    bias: Option<&[f32]>,
    out: &mut [f32],
) -> Result<()> {
    let Shape { m, k, n } = shape;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let panel = lines(k) * PANEL;
    try_parts([m, k, n], parts_of_cols(out, n, PANELS * PANEL), |Part { cols, out, .. }| {
        let width = cols.len().next_multiple_of(PANEL);
        let mut sums = Block::for_overwrite(m * width * size_of::<f32>())?;
        let sums: &mut [f32] = &mut bytemuck::cast_slice_mut(sums.bytes_mut())[..m * width];
        sums.fill(0.0);
        if let Some(bias) = bias {
            for sums in sums.chunks_exact_mut(width) {
                sums[..cols.len()].copy_from_slice(&bias[cols.clone()]);
            }
        }
        let panels = &packed[cols.start / PANEL * panel..][..width / PANEL * panel];
        for (at, panel) in panels.chunks_exact(panel.max(1)).enumerate() {
            match m {
                1 => add_row(x, panel, &mut sums[at * PANEL..(at + 1) * PANEL]),
                _ => add_rows((x, k), panel, (&mut sums[at * PANEL..], width)),
            }
        }
        for (sums, out) in sums.chunks_exact(width).zip(out) {
            out.copy_from_slice(&sums[..cols.len()]);
        }
        Ok(())
    })
}

/// The groups of a panel: which elements they are of, their lines, and their scales.
fn groups(panel: &[i8], k: usize) -> impl Iterator<Item = (Range<usize>, &[i8], [f32; PANEL])> {
    (0..k).step_by(GROUP).map(move |from| {
        let count = GROUP.min(k - from);
        let start = (from + from / GROUP * SCALES) * PANEL;
        let (lines, rest) = panel[start..].split_at(count * PANEL);
        let mut scales = [0f32; PANEL];
        let bytes: &mut [i8] = bytemuck::cast_slice_mut(&mut scales);
        bytes.copy_from_slice(&rest[..SCALES * PANEL]);
        (from..from + count, lines, scales)
    })
}

/// Adds a row times a panel to 32 sums. Nothing that is widened leaves the registers.
fn add_row(x: &[f32], panel: &[i8], sums: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            let mut all = [0f32; PANEL];
            for (elements, lines, scales) in groups(panel, x.len()) {
                let mut group = [0f32; PANEL];
                for (line, &x) in lines.as_chunks::<PANEL>().0.iter().zip(&x[elements]) {
                    for l in 0..PANEL {
                        group[l] += f32::from(line[l]) * x;
                    }
                }
                for l in 0..PANEL {
                    all[l] += group[l] * scales[l];
                }
            }
            sums.iter_mut().zip(all).for_each(|(sum, x)| *sum += x);
        },
    );
}

/// Adds rows of `k` numbers times a panel to rows of `width` sums; a few groups at a time are widened.
fn add_rows((x, k): (&[f32], usize), panel: &[i8], (sums, width): (&mut [f32], usize)) {
    const LINES: usize = 4 * GROUP;
    let mut wide = [0f32; LINES * PANEL];
    let (mut begin, mut filled) = (0, 0);
    let rows = x.len() / k.max(1);
    for (elements, lines, scales) in groups(panel, k) {
        let to = &mut wide[filled * PANEL..(filled + elements.len()) * PANEL];
        widen(lines, &scales, to);
        filled += elements.len();
        if filled == LINES || elements.end == k {
            add_panel(rows, &x[begin..], k, &wide[..filled * PANEL], sums, width);
            (begin, filled) = (elements.end, 0);
        }
    }
}

fn widen(lines: &[i8], scales: &[f32; PANEL], to: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            // Copied, so that they stay in registers.
            let scales = *scales;
            for (line, to) in lines.chunks_exact(PANEL).zip(to.chunks_exact_mut(PANEL)) {
                for ((to, &x), scale) in to.iter_mut().zip(line).zip(scales) {
                    *to = f32::from(x) * scale;
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::{assert_products, assert_same_on_threads};

    fn product([m, k, n]: [usize; 3], x: &[f32], w: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        let mut packed = vec![1i8; n.div_ceil(PANEL) * lines(k) * PANEL];
        assert!(pack(w, n, k, &mut packed));
        let mut out = vec![f32::NAN; m * n];
        multiply(Shape { m, k, n }, x, &packed, bias, &mut out).unwrap();
        out
    }

    #[test]
    fn products_are_those_of_quantized_weights() {
        let quantized = |row: &[f32]| -> Vec<f64> {
            let groups = row.chunks(GROUP).flat_map(|group| {
                let scale = group.iter().fold(0f32, |most, x| most.max(x.abs())) / 127.0;
                group.iter().map(move |x| f64::from((x / scale).round_ties_even() * scale))
            });
            groups.collect()
        };
        let as_they_are = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect();
        assert_products(&product, [&as_they_are, &quantized]);
    }

    #[test]
    fn numbers_of_all_sizes_are_kept_near() {
        let w = [0.0, 1e-45, -1e-40, 3e38, f32::MIN_POSITIVE, -3.4e38];
        for &number in &w {
            let found = product([1, 1, 1], &[1.0], &[number], None)[0];
            assert!((found - number).abs() <= number.abs() * 1e-6 + 1e-43, "{number}: {found}");
        }
        for number in [f32::NAN, f32::INFINITY] {
            assert!(!pack(&[number], 1, 1, &mut [0; 5 * PANEL]));
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        assert_same_on_threads(&product);
    }
}
