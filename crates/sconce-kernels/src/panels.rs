//! Products with a matrix that was put in the processor's order beforehand: weights.
//!
//! [`pack`] turns a weight of `n` rows of `k` elements, as `torch.nn.Linear` has it, into panels: 32
//! rows side by side, element by element. A panel is read in one direction whatever the product, so
//! nothing is copied or reordered per call. The order in which an element of a product is added up
//! does not depend on the number of threads: that of `k`, unless there is one row
//! ([`crate::panel_vector`]).
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]
#![allow(clippy::needless_range_loop, reason = "rows are registers")]

use std::ops::Range;

use crate::panel_vector::vector;
use crate::simd::{Level, best};
use crate::threads;

/// Columns of a panel.
pub(crate) const PANEL: usize = 32;

/// Steps along `k` between two visits of the product: a panel of so many fits the first cache.
const DEPTH: usize = 384;

/// Rows of the left operand that are prepared at a time.
const ROWS: usize = 252;

/// Multiply-adds below which other threads cost more than they bring.
const PARALLEL: usize = 1 << 20;

/// What becomes of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Rows of the left operand and of the product.
    pub(crate) m: usize,
    /// What is added up.
    pub(crate) k: usize,
    /// Columns of the product: rows of the weight.
    pub(crate) n: usize,
}

/// The elements of the packed form of a weight: whole panels, filled up with zeros.
pub(crate) fn packed_len(n: usize, k: usize) -> usize {
    n.div_ceil(PANEL) * PANEL * k
}

/// Packs a row-major weight of `n` rows of `k` elements.
pub(crate) fn pack(weight: &[f32], n: usize, k: usize, packed: &mut [f32]) {
    if k == 0 {
        return;
    }
    let panels = packed.chunks_exact_mut(PANEL * k).zip(weight.chunks(PANEL * k));
    for (panel, rows) in panels {
        debug_assert!(rows.len() <= PANEL * k && n * k >= rows.len());
        for (i, line) in panel.as_chunks_mut::<PANEL>().0.iter_mut().enumerate() {
            for (out, row) in line.iter_mut().zip(rows.chunks_exact(k)) {
                *out = row[i];
            }
        }
    }
}

/// `out = x · weightᵀ + bias`, all row-major without gaps, the weight packed; or `out += …` where
/// `accumulate`.
///
/// # Panics
/// Where a slice is shorter than the shape says, which callers rule out.
pub(crate) fn multiply(
    shape: Shape,
    x: &[f32],
    packed: &[f32],
    bias: Option<&[f32]>,
    out: &mut [f32],
    accumulate: bool,
) {
    let Shape { m, k, n } = shape;
    assert!(x.len() >= m * k && packed.len() >= packed_len(n, k) && out.len() >= m * n);
    assert!(bias.is_none_or(|bias| bias.len() >= n));
    let out = &mut out[..m * n];
    if n == 0 {
        return;
    }
    for row in out.chunks_exact_mut(n) {
        match bias {
            Some(bias) if accumulate => row.iter_mut().zip(bias).for_each(|(x, b)| *x += b),
            Some(bias) => row.copy_from_slice(&bias[..n]),
            None if accumulate => {}
            None => row.fill(0.0),
        }
    }
    if k == 0 {
        return;
    }
    let serial = |limit: usize, unit: usize| {
        if m * n * k < PARALLEL { usize::MAX } else { limit * unit }
    };
    if m == 1 {
        threads::pieces(out, PANEL, serial(8, PANEL), |start, out| {
            vector(&x[..k], &packed[start * k..], out);
        });
    } else {
        threads::pieces(out, n, serial(8, n), |start, out| {
            let rows = out.len() / n;
            let x = &x[start / n * k..][..rows * k];
            for (x, out) in x.chunks(ROWS * k).zip(out.chunks_mut(ROWS * n)) {
                rows_times(x, k, n, packed, out);
            }
        });
    }
}

/// Adds the product of at most [`ROWS`] rows to `out`.
fn rows_times(x: &[f32], k: usize, n: usize, packed: &[f32], out: &mut [f32]) {
    let m = x.len() / k;
    let level = best();
    let tiles = || tiles(m, tile_rows(level));
    let mut prepared = vec![0f32; m * DEPTH.min(k)];
    for from in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - from);
        for rows in tiles() {
            let height = rows.len();
            let block = &mut prepared[rows.start * depth..rows.end * depth];
            for (r, row) in rows.enumerate() {
                let row = &x[row * k + from..row * k + from + depth];
                for (i, &x) in row.iter().enumerate() {
                    block[i * height + r] = x;
                }
            }
        }
        for (panel, column) in (0..n).step_by(PANEL).enumerate() {
            let panel = &packed[panel * PANEL * k + from * PANEL..][..depth * PANEL];
            let width = PANEL.min(n - column);
            for rows in tiles() {
                let x = &prepared[rows.start * depth..rows.end * depth];
                let block = Block { x, rows: rows.len(), stride: None };
                let out = &mut out[rows.start * n + column..(rows.end - 1) * n + column + width];
                tile_times(level, block, panel, out, n, width);
            }
        }
    }
}

/// Adds the product of `rows` rows, `x_stride` apart, and a panel to 32 columns of `out`, whose rows are
/// `stride` apart. Strides of a multiple of 4 KiB are slow: all rows share a few lines of the first
/// cache.
pub(crate) fn add_panel(
    rows: usize,
    x: &[f32],
    x_stride: usize,
    panel: &[f32],
    out: &mut [f32],
    stride: usize,
) {
    let level = best();
    for rows in tiles(rows, tile_rows(level)) {
        let block =
            Block { x: &x[rows.start * x_stride..], rows: rows.len(), stride: Some(x_stride) };
        tile_kernel(level, block, panel, &mut out[rows.start * stride..], stride);
    }
}

/// So many rows in tiles of about one height, so that none is left with a few.
fn tiles(rows: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = rows.div_ceil(most);
    (0..count).map(move |tile| tile * rows / count..(tile + 1) * rows / count)
}

/// Some rows of the left operand.
#[derive(Clone, Copy)]
struct Block<'a> {
    x: &'a [f32],
    rows: usize,
    /// From one row to the next; `None` where rows were put side by side, element by element.
    stride: Option<usize>,
}

/// The rows that a level's kernel holds in registers.
fn tile_rows(level: Level) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => 14,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => 6,
        Level::Baseline => 4,
    }
}

/// Adds to `width` columns of rows of `out`, `stride` apart, the product of a block and a panel.
fn tile_times(
    level: Level,
    block: Block<'_>,
    panel: &[f32],
    out: &mut [f32],
    stride: usize,
    width: usize,
) {
    if width == PANEL {
        return tile_kernel(level, block, panel, out, stride);
    }
    // The last panel of a product whose columns are no multiple of the panel's: computed beside.
    let mut whole = [0f32; 14 * PANEL];
    let rows = whole.chunks_exact_mut(PANEL).zip(out.chunks(stride));
    rows.for_each(|(whole, out)| whole[..width].copy_from_slice(&out[..width]));
    tile_kernel(level, block, panel, &mut whole[..block.rows * PANEL], PANEL);
    let rows = whole.chunks_exact(PANEL).zip(out.chunks_mut(stride));
    rows.for_each(|(whole, out)| out[..width].copy_from_slice(&whole[..width]));
}

fn tile_kernel(level: Level, block: Block<'_>, panel: &[f32], out: &mut [f32], stride: usize) {
    let depth = panel.len() / PANEL;
    let Block { x, rows, stride: x_stride } = block;
    assert!(match x_stride {
        None => x.len() >= depth * rows,
        Some(x_stride) => x.len() >= (rows - 1) * x_stride + depth,
    });
    assert!(out.len() >= (rows - 1) * stride + PANEL);
    macro_rules! by_rows {
        ($module:ident, $($rows:literal)*) => {
            match (rows, x_stride) {
                $(
                    // SAFETY: the assertions above hold what the kernel reads of `x` and `panel` (depth ×
                    // PANEL) and writes of `out` (rows of PANEL elements, `stride` apart) inside the
                    // slices, and `out` is borrowed mutably; `level` is what this processor was found
                    // to have.
                    ($rows, None) => unsafe {
                        $module::tile::<$rows, false>(
                            depth, x.as_ptr(), 0, panel.as_ptr(), out.as_mut_ptr(), stride,
                        );
                    },
                    // SAFETY: the same.
                    ($rows, Some(x_stride)) => unsafe {
                        $module::tile::<$rows, true>(
                            depth, x.as_ptr(), x_stride, panel.as_ptr(), out.as_mut_ptr(), stride,
                        );
                    },
                )*
                _ => portable::tile(depth, block, panel, out, stride),
            }
        };
    }
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => by_rows!(avx512, 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => by_rows!(avx2, 1 2 3 4 5 6),
        Level::Baseline => portable::tile(depth, block, panel, out, stride),
    }
}

/// Kernels of 512-bit vectors: a panel is two of them.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps,
    };

    use super::PANEL;

    /// # Safety
    /// `x` has M rows of depth elements, `x_stride` apart where `APART` and else side by side; `panel`
    /// has depth × PANEL, and `out` M rows of PANEL, `stride` apart. The processor has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn tile<const M: usize, const APART: bool>(
        depth: usize,
        x: *const f32,
        x_stride: usize,
        panel: *const f32,
        out: *mut f32,
        stride: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums: [[__m512; 2]; M] = std::array::from_fn(|r| {
                let row = out.add(r * stride);
                [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))]
            });
            for i in 0..depth {
                let line = panel.add(i * PANEL);
                let (low, high) = (_mm512_loadu_ps(line), _mm512_loadu_ps(line.add(16)));
                for r in 0..M {
                    let at = if APART { r * x_stride + i } else { i * M + r };
                    let x = _mm512_set1_ps(*x.add(at));
                    sums[r][0] = _mm512_fmadd_ps(x, low, sums[r][0]);
                    sums[r][1] = _mm512_fmadd_ps(x, high, sums[r][1]);
                }
            }
            for r in 0..M {
                let row = out.add(r * stride);
                _mm512_storeu_ps(row, sums[r][0]);
                _mm512_storeu_ps(row.add(16), sums[r][1]);
            }
        }
    }
}

/// Kernels of 256-bit vectors: a panel is four of them, taken two by two.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
    };

    use super::PANEL;

    /// # Safety
    /// As the 512-bit kernel; the processor has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn tile<const M: usize, const APART: bool>(
        depth: usize,
        x: *const f32,
        x_stride: usize,
        panel: *const f32,
        out: *mut f32,
        stride: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            for half in [0, 16] {
                let mut sums: [[__m256; 2]; M] = std::array::from_fn(|r| {
                    let row = out.add(r * stride + half);
                    [_mm256_loadu_ps(row), _mm256_loadu_ps(row.add(8))]
                });
                for i in 0..depth {
                    let line = panel.add(i * PANEL + half);
                    let (low, high) = (_mm256_loadu_ps(line), _mm256_loadu_ps(line.add(8)));
                    for r in 0..M {
                        let at = if APART { r * x_stride + i } else { i * M + r };
                        let x = _mm256_set1_ps(*x.add(at));
                        sums[r][0] = _mm256_fmadd_ps(x, low, sums[r][0]);
                        sums[r][1] = _mm256_fmadd_ps(x, high, sums[r][1]);
                    }
                }
                for r in 0..M {
                    let row = out.add(r * stride + half);
                    _mm256_storeu_ps(row, sums[r][0]);
                    _mm256_storeu_ps(row.add(8), sums[r][1]);
                }
            }
        }
    }
}

/// What any processor can do.
mod portable {
    use super::{Block, PANEL};

    pub(super) fn tile(
        depth: usize,
        block: Block<'_>,
        panel: &[f32],
        out: &mut [f32],
        stride: usize,
    ) {
        debug_assert_eq!(panel.len(), depth * PANEL);
        let Block { x, rows, stride: x_stride } = block;
        for (r, out) in out.chunks_mut(stride).take(rows).enumerate() {
            let Some(out) = out.first_chunk_mut::<PANEL>() else { continue };
            let mut sums = *out;
            for (i, line) in panel.as_chunks::<PANEL>().0.iter().enumerate() {
                let x = x[x_stride.map_or(i * rows + r, |stride| r * stride + i)];
                for l in 0..PANEL {
                    sums[l] += x * line[l];
                }
            }
            *out = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    #[test]
    fn products_are_right_for_every_edge() {
        let sizes = [
            (1, 1, 1),
            (1, 7, 33),
            (1, 128, 512),
            (2, 3, 5),
            (3, 400, 31),
            (14, 16, 32),
            (15, 385, 64),
            (29, 800, 100),
            (300, 20, 40),
            (4, 0, 8),
            (0, 3, 3),
            (6, 5, 0),
        ];
        for (m, k, n) in sizes {
            let (x, weight, bias) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
            let mut packed = vec![0f32; packed_len(n, k)];
            pack(&weight, n, k, &mut packed);
            let mut out = vec![7f32; m * n];
            multiply(Shape { m, k, n }, &x, &packed, Some(&bias), &mut out, false);
            for i in 0..m {
                for j in 0..n {
                    let product: f64 = (0..k)
                        .map(|l| f64::from(x[i * k + l]) * f64::from(weight[j * k + l]))
                        .sum();
                    let exact = product + f64::from(bias[j]);
                    let found = f64::from(out[i * n + j]);
                    assert!((found - exact).abs() < 1e-4, "{m} {k} {n}: {i} {j}: {found} {exact}");
                }
            }
            let once = out.clone();
            multiply(Shape { m, k, n }, &x, &packed, None, &mut out, true);
            for ((twice, once), column) in out.iter().zip(&once).zip((0..m).flat_map(|_| &bias)) {
                assert!((twice - (2.0 * once - column)).abs() < 1e-3);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_kernels_of_all_levels_agree() {
        let (depth, rows) = (77, 6);
        let (x, panel) = (numbers(depth * rows, 4), numbers(depth * PANEL, 5));
        let mut beside = vec![0f32; x.len()];
        for (r, row) in x.chunks_exact(depth).enumerate() {
            row.iter().enumerate().for_each(|(i, &x)| beside[i * rows + r] = x);
        }
        let run = |level: Level, x: &[f32], stride| {
            let mut out = vec![0.5f32; rows * 40];
            tile_kernel(level, Block { x, rows, stride }, &panel, &mut out, 40);
            out
        };
        let portable = run(Level::Baseline, &beside, None);
        let has = |level: Level| match best() {
            Level::Avx512 => true,
            Level::Avx2 => level == Level::Avx2,
            Level::Baseline => false,
        };
        for level in [Level::Avx2, Level::Avx512].into_iter().filter(|&level| has(level)) {
            let (apart, beside) = (run(level, &x, Some(depth)), run(level, &beside, None));
            assert_eq!(apart, beside, "{level:?}");
            for (a, b) in apart.iter().zip(&portable) {
                assert!((a - b).abs() < 1e-4, "{level:?}");
            }
        }
    }
}
