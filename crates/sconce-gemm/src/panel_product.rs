//! Rows times panels: the microkernels, which keep the sums of a tile in registers.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]
#![allow(clippy::needless_range_loop, reason = "rows are registers")]

use std::ops::Range;

use sconce_kernel_core::simd::dispatch::{Level, best};

use crate::bounds::lies_in;
use crate::panel::{PANEL, Shape, TILE_ROWS, tiles};

/// A product of more than one row, which several threads compute parts of.
pub(crate) struct Product<'a> {
    pub(crate) shape: Shape,
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    pub(crate) packed: &'a [f32],
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) out: *mut f32,
    /// Rows that are computed alike: parts of the product begin at multiples of it.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "vectors take any rows"))]
    pub(crate) unit: usize,
}

// SAFETY: `out` is only written through in `compute` of `packed_gemm`, whose callers keep its parts apart.
unsafe impl Sync for Product<'_> {}

impl Product<'_> {
    /// Some lines of a panel.
    pub(crate) fn lines_of(&self, panel: usize, lines: &Range<usize>) -> &[f32] {
        &self.packed[(panel * self.shape.k + lines.start) * PANEL..][..lines.len() * PANEL]
    }

    /// What is read after these lines of a panel. Need not be valid.
    pub(crate) fn next_panel(
        &self,
        panel: usize,
        panels: &Range<usize>,
        lines: &Range<usize>,
    ) -> *const f32 {
        let (next, line) = match panel + 1 < panels.end {
            true => (panel + 1, lines.start),
            false => (panels.start, lines.end),
        };
        self.packed.as_ptr().wrapping_add((next * self.shape.k + line) * PANEL)
    }

    /// What the columns of a panel begin with.
    pub(crate) fn bias_of(&self, panel: usize) -> [f32; PANEL] {
        let mut begin = [0f32; PANEL];
        if let Some(bias) = self.bias {
            let bias = &bias[..self.shape.n][panel * PANEL..];
            let width = PANEL.min(bias.len());
            begin[..width].copy_from_slice(&bias[..width]);
        }
        begin
    }

    /// Adds the products of some rows and some lines of a panel; `next` is read soon.
    ///
    /// # Safety
    /// As [`Product::compute`].
    pub(crate) unsafe fn compute_panel(
        &self,
        rows: Range<usize>,
        at: usize,
        lines: &Range<usize>,
        next: *const f32,
    ) {
        let (level, n) = (best(), self.shape.n);
        let depth = lines.len();
        let panel = self.lines_of(at, lines);
        let ahead_step = (PANEL * size_of::<f32>()).div_ceil(rows.len().div_ceil(tile_rows(level)));
        let column = at * PANEL;
        let width = PANEL.min(n - column);
        let begin = self.bias_of(at);
        for (tile, part) in tiles(rows.len(), tile_rows(level)).enumerate() {
            let first = rows.start + part.start;
            let x = &self.x[first * self.x_stride + lines.start..];
            // SAFETY: inside the product, as `first` is below m and `column` below n.
            let out = unsafe { self.out.add(first * n + column) };
            let (begin, begin_stride) = match lines.start {
                0 => (begin.as_ptr(), 0),
                _ => (out.cast_const(), n),
            };
            let tile = Tile {
                depth,
                x: x.as_ptr(),
                x_stride: self.x_stride,
                panel: panel.as_ptr(),
                begin,
                begin_stride,
                out,
                out_stride: n,
                ahead: next.wrapping_byte_add(tile * depth * ahead_step),
                ahead_step,
            };
            assert!(lies_in(part.len(), self.x_stride, depth, x.len()));
            // SAFETY: `x` and `panel` were held against the slices; the rows of `out` are this caller's,
            // `width` columns of each, and `begin` is those or one row.
            unsafe { tile.compute_columns(level, part.len(), width) };
        }
    }
}

/// Adds the product of `rows` rows, `x_stride` apart, and a panel to 32 columns of `out`, whose rows are
/// `stride` apart. Strides of a multiple of 4 KiB are slow: all rows share a few lines of the first
/// cache.
pub fn add_panel(
    rows: usize,
    x: &[f32],
    x_stride: usize,
    panel: &[f32],
    out: &mut [f32],
    stride: usize,
) {
    let (level, depth) = (best(), panel.len() / PANEL);
    for rows in tiles(rows, tile_rows(level)) {
        let (x, out) = (&x[rows.start * x_stride..], &mut out[rows.start * stride..]);
        assert!(lies_in(rows.len(), x_stride, depth, x.len()));
        assert!(lies_in(rows.len(), stride, PANEL, out.len()));
        let out = out.as_mut_ptr();
        let tile = Tile {
            depth,
            x: x.as_ptr(),
            x_stride,
            panel: panel.as_ptr(),
            begin: out,
            begin_stride: stride,
            out,
            out_stride: stride,
            ahead: panel.as_ptr(),
            ahead_step: 0,
        };
        // SAFETY: the assertions above; `out` is borrowed mutably.
        unsafe { tile.compute(level, rows.len()) };
    }
}

/// The rows that a level's kernel holds in registers.
fn tile_rows(level: Level) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => TILE_ROWS,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => 6,
        #[cfg(target_arch = "aarch64")]
        Level::Neon => 6,
        Level::Baseline => 4,
    }
}

/// Some rows times `depth` lines of a panel: `begin + x · panel`.
#[derive(Clone, Copy)]
struct Tile {
    depth: usize,
    x: *const f32,
    x_stride: usize,
    panel: *const f32,
    begin: *const f32,
    begin_stride: usize,
    out: *mut f32,
    out_stride: usize,
    /// What is read soon, and by how many bytes it goes on with each line. Need not be valid.
    ahead: *const f32,
    ahead_step: usize,
}

impl Tile {
    /// Computes `width` columns of this many rows.
    ///
    /// # Safety
    /// As [`Tile::compute`], but for `out` and, with a stride, `begin`, whose rows have `width` columns.
    unsafe fn compute_columns(self, level: Level, rows: usize, width: usize) {
        // SAFETY: the caller's; the rows of `whole` are whole ones.
        unsafe {
            if width == PANEL {
                return self.compute(level, rows);
            }
            // The last panel of a product whose columns are no multiple of the panel's.
            let mut whole = [0f32; TILE_ROWS * PANEL];
            for (r, row) in whole.chunks_exact_mut(PANEL).take(rows).enumerate() {
                let begin = self.begin.add(r * self.begin_stride);
                begin.copy_to_nonoverlapping(row.as_mut_ptr(), width);
            }
            let out = whole.as_mut_ptr();
            let (begin, begin_stride) = (out.cast_const(), PANEL);
            Tile { begin, begin_stride, out, out_stride: PANEL, ..self }.compute(level, rows);
            for (r, row) in whole.chunks_exact(PANEL).take(rows).enumerate() {
                let out = self.out.add(r * self.out_stride);
                out.copy_from_nonoverlapping(row.as_ptr(), width);
            }
        }
    }

    /// Computes this many rows of 32 columns.
    ///
    /// # Safety
    /// `x` must have `rows` rows of `depth` elements, `panel` `depth` × 32, `begin` and `out` `rows` rows
    /// of 32, all from one to the next their stride, and nobody else may use `out`. There are at most
    /// as many rows as the level's tiles have, and the CPU has the level's instructions.
    unsafe fn compute(self, level: Level, rows: usize) {
        macro_rules! by_rows {
            ($module:ident, $($rows:literal)*) => {
                match rows {
                    // SAFETY: the caller's.
                    $($rows => unsafe { $module::tile::<$rows>(self) },)*
                    _ => unreachable!("tiles have as many rows as the level's kernel"),
                }
            };
        }
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => by_rows!(avx512, 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => by_rows!(avx2, 1 2 3 4 5 6),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => by_rows!(neon, 1 2 3 4 5 6),
            Level::Baseline => by_rows!(portable, 1 2 3 4),
        }
    }
}

/// Kernels of 512-bit vectors: a panel is two of them.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512, _MM_HINT_T1, _mm_prefetch, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps,
        _mm512_storeu_ps,
    };

    use super::{PANEL, Tile};

    /// # Safety
    /// As [`Tile::compute`], of M rows; the CPU has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn tile<const M: usize>(tile: Tile) {
        let Tile { depth, x, x_stride, panel, begin, begin_stride, out, out_stride, .. } = tile;
        let mut ahead = tile.ahead;
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums: [[__m512; 2]; M] = std::array::from_fn(|r| {
                let row = begin.add(r * begin_stride);
                [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))]
            });
            for i in 0..depth {
                _mm_prefetch::<_MM_HINT_T1>(ahead.cast());
                ahead = ahead.wrapping_byte_add(tile.ahead_step);
                let line = panel.add(i * PANEL);
                let (low, high) = (_mm512_loadu_ps(line), _mm512_loadu_ps(line.add(16)));
                for r in 0..M {
                    let x = _mm512_set1_ps(*x.add(r * x_stride + i));
                    sums[r][0] = _mm512_fmadd_ps(x, low, sums[r][0]);
                    sums[r][1] = _mm512_fmadd_ps(x, high, sums[r][1]);
                }
            }
            for r in 0..M {
                let row = out.add(r * out_stride);
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
        __m256, _MM_HINT_T1, _mm_prefetch, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps,
        _mm256_storeu_ps,
    };

    use super::{PANEL, Tile};

    /// # Safety
    /// As [`Tile::compute`], of M rows; the CPU has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn tile<const M: usize>(tile: Tile) {
        let Tile { depth, x, x_stride, panel, begin, begin_stride, out, out_stride, .. } = tile;
        // Half of what is read ahead with each half of the panel.
        let (mut ahead, step) = (tile.ahead, tile.ahead_step.div_ceil(2));
        // SAFETY: the caller's promise.
        unsafe {
            for half in [0, 16] {
                let mut sums: [[__m256; 2]; M] = std::array::from_fn(|r| {
                    let row = begin.add(r * begin_stride + half);
                    [_mm256_loadu_ps(row), _mm256_loadu_ps(row.add(8))]
                });
                for i in 0..depth {
                    _mm_prefetch::<_MM_HINT_T1>(ahead.cast());
                    ahead = ahead.wrapping_byte_add(step);
                    let line = panel.add(i * PANEL + half);
                    let (low, high) = (_mm256_loadu_ps(line), _mm256_loadu_ps(line.add(8)));
                    for r in 0..M {
                        let x = _mm256_set1_ps(*x.add(r * x_stride + i));
                        sums[r][0] = _mm256_fmadd_ps(x, low, sums[r][0]);
                        sums[r][1] = _mm256_fmadd_ps(x, high, sums[r][1]);
                    }
                }
                for r in 0..M {
                    let row = out.add(r * out_stride + half);
                    _mm256_storeu_ps(row, sums[r][0]);
                    _mm256_storeu_ps(row.add(8), sums[r][1]);
                }
            }
        }
    }
}

/// Kernels of 128-bit vectors: a panel is eight of them, taken four by four.
#[cfg(target_arch = "aarch64")]
mod neon {
    use super::{PANEL, Tile};
    use sconce_kernel_core::simd::dispatch::prefetch_far;
    use sconce_kernel_core::simd::lanes::{LANES, Lanes, Neon};

    /// # Safety
    /// As [`Tile::compute`], of M rows; the CPU has NEON.
    #[target_feature(enable = "neon")]
    pub(super) unsafe fn tile<const M: usize>(tile: Tile) {
        let Tile { depth, x, x_stride, panel, begin, begin_stride, out, out_stride, .. } = tile;
        // Half of what is read ahead with each half of the panel.
        let (mut ahead, step) = (tile.ahead, tile.ahead_step.div_ceil(2));
        // SAFETY: the caller's promise.
        unsafe {
            for half in [0, LANES] {
                let mut sums = [Neon::splat(0.0); M];
                for r in 0..M {
                    sums[r] = Neon::load(begin.add(r * begin_stride + half));
                }
                for i in 0..depth {
                    prefetch_far(ahead);
                    ahead = ahead.wrapping_byte_add(step);
                    let line = Neon::load(panel.add(i * PANEL + half));
                    for r in 0..M {
                        sums[r] = sums[r].fma(line, Neon::broadcast(x.add(r * x_stride + i)));
                    }
                }
                for r in 0..M {
                    sums[r].store(out.add(r * out_stride + half));
                }
            }
        }
    }
}

/// What any CPU can do.
mod portable {
    use super::{PANEL, Tile};

    /// # Safety
    /// As [`Tile::compute`], of M rows.
    pub(super) unsafe fn tile<const M: usize>(tile: Tile) {
        // SAFETY: the caller's promise; the lines of the panel are whole ones.
        unsafe {
            let panel = std::slice::from_raw_parts(tile.panel, tile.depth * PANEL);
            for r in 0..M {
                let x = std::slice::from_raw_parts(tile.x.add(r * tile.x_stride), tile.depth);
                let mut sums = *tile.begin.add(r * tile.begin_stride).cast::<[f32; PANEL]>();
                for (&x, line) in x.iter().zip(panel.as_chunks::<PANEL>().0) {
                    for l in 0..PANEL {
                        sums[l] += x * line[l];
                    }
                }
                *tile.out.add(r * tile.out_stride).cast::<[f32; PANEL]>() = sums;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::numbers;

    #[test]
    fn the_kernels_of_all_levels_agree() {
        let (depth, rows) = (77, 6);
        let (x, panel) = (numbers(depth * rows, 4), numbers(depth * PANEL, 5));
        let run = |level: Level, rows: usize| {
            let mut out = vec![0.5f32; rows * 40];
            let tile = Tile {
                depth,
                x: x.as_ptr(),
                x_stride: depth,
                panel: panel.as_ptr(),
                begin: out.as_ptr(),
                begin_stride: 40,
                out: out.as_mut_ptr(),
                out_stride: 40,
                ahead: panel.as_ptr(),
                ahead_step: 64,
            };
            // SAFETY: six rows at most, which the operands have; levels are of this CPU.
            unsafe { tile.compute(level, rows) };
            out
        };
        for rows in 1..=rows {
            // The portable kernel has fewer rows.
            let plain = |r: usize, j: usize| {
                let products = (0..depth).map(|i| x[r * depth + i] * panel[i * PANEL + j]);
                0.5 + products.sum::<f32>()
            };
            for level in Level::all().into_iter().filter(|&level| rows <= tile_rows(level)) {
                let found = run(level, rows);
                for (r, row) in found.chunks_exact(40).enumerate() {
                    for (j, &found) in row[..PANEL].iter().enumerate() {
                        assert!((found - plain(r, j)).abs() < 1e-4, "{level:?} {rows}");
                    }
                    assert!(row[PANEL..].iter().all(|&x| x == 0.5), "{level:?} {rows}");
                }
            }
        }
    }
}
