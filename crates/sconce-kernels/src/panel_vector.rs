//! A vector times a packed matrix ([`crate::panels`]), and beside it a part of another product.
//!
//! Of a matrix that is multiplied with one vector every element is used once, so the product takes
//! as long as the matrix takes to come from the second cache, and half of the arithmetic units have
//! nothing to do. [`vector_beside`] gives them something: a recurrent layer multiplies the inputs of
//! later steps while it waits for the weights of the current one.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::blocked::lanes::{Avx2, Avx512};
use crate::blocked::lanes::{LANES, Lanes, Portable};
use crate::panels::PANEL;
use crate::simd::{Level, best};

/// Lines of a panel that all rows are multiplied with before the next lines: they stay in the first
/// cache beside what the vector's panels bring.
const CHUNK: usize = 64;

/// How the rows of a [`Beside`] are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowsBeside {
    /// Rows are taken so many at a time: only multiples of it are allowed.
    pub(crate) unit: usize,
    /// How many rows should be multiplied together: where registers allow only few at a time, a panel
    /// should come from the second cache for more of them.
    pub(crate) best: usize,
}

/// How this processor takes rows.
pub(crate) fn rows_beside() -> RowsBeside {
    rows_of(best())
}

fn rows_of(level: Level) -> RowsBeside {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => RowsBeside { unit: 5, best: 5 },
        _ => RowsBeside { unit: 4, best: 16 },
    }
}

/// A part of the product of some rows and some panels, which is added to what is there.
pub(crate) struct Beside<'a> {
    /// How many rows there are, and their elements, `stride` from one row to the next.
    pub(crate) rows: usize,
    pub(crate) x: &'a [f32],
    pub(crate) stride: usize,
    /// The panels, of `depth` lines each, from one to the next `apart` elements.
    pub(crate) panels: &'a [f32],
    pub(crate) depth: usize,
    pub(crate) apart: usize,
    /// The lines that are taken, of the panels' one after the other.
    pub(crate) lines: Range<usize>,
    /// The product, 32 columns for each panel, and `out_stride` from one row to the next.
    pub(crate) out: &'a mut [f32],
    pub(crate) out_stride: usize,
}

/// Adds a vector times the packed matrix to `out`, whose first element is the first of a panel.
pub(crate) fn vector(x: &[f32], packed: &[f32], out: &mut [f32]) {
    let level = best();
    let (whole, rest) = out.as_chunks_mut::<PANEL>();
    at(level, x, packed, whole, None);
    if !rest.is_empty() {
        let packed = packed.get(whole.len() * PANEL * x.len()..).unwrap_or_default();
        let mut sums = [0f32; PANEL];
        let len = rest.len();
        sums[..len].copy_from_slice(rest);
        at(level, x, packed, std::slice::from_mut(&mut sums), None);
        rest.copy_from_slice(&sums[..len]);
    }
}

/// Adds a vector times some panels to `sums`, and computes a part of another product meanwhile.
pub(crate) fn vector_beside(
    x: &[f32],
    panels: &[f32],
    sums: &mut [[f32; PANEL]],
    beside: Beside<'_>,
) {
    at(best(), x, panels, sums, Some(beside));
}

/// The same with the instructions of a level that this processor has.
fn at(
    level: Level,
    x: &[f32],
    panels: &[f32],
    sums: &mut [[f32; PANEL]],
    beside: Option<Beside<'_>>,
) {
    assert!(panels.len() >= x.len() * PANEL * sums.len(), "fewer panels than sums");
    let unit = rows_of(level).unit;
    let tiles = beside.map_or(Tiles::NONE, |beside| Tiles::new(beside, unit));
    let vector = RawVector {
        k: x.len(),
        line: 0,
        x: x.as_ptr(),
        panels: panels.as_ptr(),
        count: sums.len(),
        sums: sums.as_mut_ptr().cast(),
    };
    // SAFETY: the assertion above and those of `Tiles::new` hold what is read and written against the
    // slices, which are borrowed, those that are written mutably; tiles have the rows of the level,
    // and `level` is what this processor was found to have.
    unsafe {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512(vector, tiles),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2(vector, tiles),
            Level::Baseline => {
                both::<Portable, 1, 1, 1, 4, 1>(vector, Tiles::NONE);
                both::<Portable, 1, 1, 1, 4, 1>(RawVector { count: 0, ..vector }, tiles);
            }
        }
    }
}

/// A vector of k elements, panels of k lines, and 32 sums for each panel. Lines of the first panel before
/// `line` are in its sums already.
#[derive(Clone, Copy)]
struct RawVector {
    k: usize,
    line: usize,
    x: *const f32,
    panels: *const f32,
    count: usize,
    sums: *mut f32,
}

/// Some lines of a panel, or of a half of it, some rows' elements for them, and the product.
#[derive(Clone, Copy)]
struct RawTile {
    depth: usize,
    x: *const f32,
    stride: usize,
    panel: *const f32,
    out: *mut f32,
    out_stride: usize,
}

/// A [`Beside`] in tiles of `unit` rows: all rows for some lines of a panel, then the next lines.
struct Tiles {
    /// The first rows and all lines of the first panel.
    first: RawTile,
    apart: usize,
    unit: usize,
    rows: usize,
    lines: Range<usize>,
    /// The next tile's first row, and its first column within the panel.
    row: usize,
    column: usize,
}

impl Tiles {
    const NONE: Tiles = Tiles {
        first: RawTile {
            depth: 1,
            x: std::ptr::null(),
            stride: 0,
            panel: std::ptr::null(),
            out: std::ptr::null_mut(),
            out_stride: 0,
        },
        apart: 0,
        unit: 1,
        rows: 0,
        lines: 0..0,
        row: 0,
        column: 0,
    };

    /// # Panics
    /// Where the product reaches beyond its operands or has rows that are no whole units.
    fn new(beside: Beside<'_>, unit: usize) -> Tiles {
        let Beside { rows, x, stride, panels, depth, apart, lines, out, out_stride } = beside;
        if rows == 0 || lines.is_empty() {
            return Tiles::NONE;
        }
        let last = (lines.end - 1) / depth;
        assert!(rows.is_multiple_of(unit), "rows are taken {unit} at a time");
        assert!(x.len() >= (rows - 1) * stride + depth, "fewer elements than rows have");
        assert!(panels.len() >= last * apart + depth * PANEL, "fewer lines than are taken");
        assert!(out.len() >= (rows - 1) * out_stride + (last + 1) * PANEL, "too small a product");
        let (x, panel, out) = (x.as_ptr(), panels.as_ptr(), out.as_mut_ptr());
        let first = RawTile { depth, x, stride, panel, out, out_stride };
        Tiles { first, apart, unit, rows, lines, row: 0, column: 0 }
    }

    /// The next tile, `columns` wide.
    ///
    /// # Safety
    /// What [`Tiles::new`] was given must still be borrowed.
    unsafe fn next(&mut self, columns: usize) -> Option<RawTile> {
        if self.lines.is_empty() {
            return None;
        }
        let RawTile { depth, x, stride, panel: panels, out, out_stride } = self.first;
        let (panel, line) = (self.lines.start / depth, self.lines.start % depth);
        // Lines that are taken once need not stay.
        let most = if self.rows == self.unit { depth } else { CHUNK };
        let len = self.lines.len().min(depth - line).min(most);
        // SAFETY: inside the operands, as `new` made sure.
        let tile = unsafe {
            RawTile {
                depth: len,
                x: x.add(self.row * stride + line),
                panel: panels.add(panel * self.apart + line * PANEL + self.column),
                out: out.add(self.row * out_stride + panel * PANEL + self.column),
                stride,
                out_stride,
            }
        };
        self.row += self.unit;
        if self.row == self.rows {
            self.row = 0;
            self.column += columns;
            if self.column == PANEL {
                self.column = 0;
                self.lines.start += len;
            }
        }
        Some(tile)
    }
}

/// # Safety
/// As [`both`]; the processor must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(vector: RawVector, tiles: Tiles) {
    // SAFETY: the caller's.
    unsafe { both::<Avx512, 4, 4, 4, 5, 2>(vector, tiles) }
}

/// # Safety
/// As [`both`]; the processor must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(vector: RawVector, tiles: Tiles) {
    // SAFETY: the caller's.
    unsafe { both::<Avx2, 1, 2, 2, 4, 1>(vector, tiles) }
}

/// Products with a vector, and beside them tiles of `ROWS` rows and `COLUMNS` times 16 columns, a line
/// of one for every `EACH` lines of the vector's panels. What a line of those adds to the sums waits
/// for the line before it, but for `CHAINS` lines that have sums of their own, and `ALONE` where no
/// tile is left.
///
/// # Safety
/// The pointers of `vector` must be valid for what [`RawVector`] says, `tiles` be of operands that are
/// borrowed and have units of `ROWS` rows; the processor must have the instructions of `V`.
#[inline(always)]
unsafe fn both<
    V: Lanes,
    const CHAINS: usize,
    const ALONE: usize,
    const EACH: usize,
    const ROWS: usize,
    const COLUMNS: usize,
>(
    mut vector: RawVector,
    mut tiles: Tiles,
) {
    // SAFETY: the caller's.
    unsafe {
        if let Some(first) = tiles.next(COLUMNS * LANES) {
            vector = beside::<V, CHAINS, EACH, ROWS, COLUMNS>(vector, first, tiles);
        }
        alone::<V, ALONE>(vector);
    }
}

/// All tiles, with as many of the vector's lines as go beside them. Gives what is left of those.
///
/// # Safety
/// As [`both`]; `vector` begins with a whole panel.
#[inline(always)]
unsafe fn beside<
    V: Lanes,
    const CHAINS: usize,
    const EACH: usize,
    const ROWS: usize,
    const COLUMNS: usize,
>(
    vector: RawVector,
    mut tile: RawTile,
    mut tiles: Tiles,
) -> RawVector {
    let RawVector { k, x, .. } = vector;
    // SAFETY: lines are below k or the tile's depth, rows below `ROWS`, panels below `count`.
    unsafe {
        let mut rows: [[V; COLUMNS]; ROWS] = load_rows(tile);
        // Lines of the tile that have been added.
        let mut added = 0;
        for p in 0..vector.count {
            let panels = vector.panels.add(p * k * PANEL);
            let sums = vector.sums.add(p * PANEL);
            let mut all = load_sums::<V, CHAINS>(sums);
            let mut line = 0;
            loop {
                let rounds = ((k - line) / EACH).min(tile.depth - added);
                for i in 0..rounds {
                    for part in 0..EACH / CHAINS {
                        lines(x, panels, line + i * EACH + part * CHAINS, &mut all);
                    }
                    tile_line(tile, added + i, &mut rows);
                }
                (line, added) = (line + rounds * EACH, added + rounds);
                if added < tile.depth {
                    break;
                }
                store_rows(tile, rows);
                let Some(next) = tiles.next(COLUMNS * LANES) else {
                    store_sums(all, sums);
                    let count = vector.count - p;
                    return RawVector { line, panels, count, sums, ..vector };
                };
                (tile, added) = (next, 0);
                rows = load_rows(tile);
            }
            remaining_lines(x, panels, line..k, &mut all);
            store_sums(all, sums);
        }
        loop {
            for i in added..tile.depth {
                tile_line(tile, i, &mut rows);
            }
            store_rows(tile, rows);
            let Some(next) = tiles.next(COLUMNS * LANES) else { break };
            (tile, added) = (next, 0);
            rows = load_rows(tile);
        }
        RawVector { count: 0, ..vector }
    }
}

/// Products with a vector.
///
/// # Safety
/// As [`both`].
#[inline(always)]
unsafe fn alone<V: Lanes, const CHAINS: usize>(vector: RawVector) {
    let RawVector { k, x, mut line, .. } = vector;
    // SAFETY: lines are below k, panels below `count`.
    unsafe {
        for p in 0..vector.count {
            let panel = vector.panels.add(p * k * PANEL);
            let sums = vector.sums.add(p * PANEL);
            let mut all = load_sums::<V, CHAINS>(sums);
            let rounds = (k - line) / CHAINS;
            for i in 0..rounds {
                lines(x, panel, line + i * CHAINS, &mut all);
            }
            remaining_lines(x, panel, line + rounds * CHAINS..k, &mut all);
            store_sums(all, sums);
            line = 0;
        }
    }
}

/// The sums of a panel, the first of several that are added up in the end.
///
/// # Safety
/// As [`both`].
#[inline(always)]
unsafe fn load_sums<V: Lanes, const N: usize>(sums: *const f32) -> [[V; 2]; N] {
    // SAFETY: the caller's.
    unsafe {
        let mut all = [[V::splat(0.0); 2]; N];
        all[0] = [V::load(sums), V::load(sums.add(LANES))];
        all
    }
}

/// Adds several sums up.
///
/// # Safety
/// As [`both`].
#[inline(always)]
unsafe fn store_sums<V: Lanes, const N: usize>(mut all: [[V; 2]; N], sums: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        let mut half = N / 2;
        while half > 0 {
            for c in 0..half {
                all[c] = [all[c][0].add(all[c + half][0]), all[c][1].add(all[c + half][1])];
            }
            half /= 2;
        }
        all[0][0].store(sums);
        all[0][1].store(sums.add(LANES));
    }
}

/// Lines that are too few for all sums.
///
/// # Safety
/// As [`both`]; the lines are below k.
#[inline(always)]
unsafe fn remaining_lines<V: Lanes, const N: usize>(
    x: *const f32,
    panel: *const f32,
    left: Range<usize>,
    all: &mut [[V; 2]; N],
) {
    for line in left {
        let mut one = [all[0]];
        // SAFETY: the caller's.
        unsafe { lines(x, panel, line, &mut one) };
        all[0] = one[0];
    }
}

/// `N` lines of a panel, each into a sum of its own.
///
/// # Safety
/// As [`both`]; `from + N` is at most k.
#[inline(always)]
unsafe fn lines<V: Lanes, const N: usize>(
    x: *const f32,
    panel: *const f32,
    from: usize,
    all: &mut [[V; 2]; N],
) {
    // SAFETY: the caller's.
    unsafe {
        for (c, sum) in all.iter_mut().enumerate() {
            let line = panel.add((from + c) * PANEL);
            let x = V::broadcast(x.add(from + c));
            sum[0] = sum[0].fma(x, V::load(line));
            sum[1] = sum[1].fma(x, V::load(line.add(LANES)));
        }
    }
}

/// A line of a tile's panel.
///
/// # Safety
/// As [`both`]; `i` is below the tile's depth.
#[inline(always)]
unsafe fn tile_line<V: Lanes, const ROWS: usize, const COLUMNS: usize>(
    tile: RawTile,
    i: usize,
    rows: &mut [[V; COLUMNS]; ROWS],
) {
    // SAFETY: the caller's.
    unsafe {
        let line = tile.panel.add(i * PANEL);
        let line: [V; COLUMNS] = std::array::from_fn(|column| V::load(line.add(column * LANES)));
        for (r, row) in rows.iter_mut().enumerate() {
            let x = V::broadcast(tile.x.add(r * tile.stride + i));
            for (sum, line) in row.iter_mut().zip(line) {
                *sum = sum.fma(x, line);
            }
        }
    }
}

/// What a tile adds to.
///
/// # Safety
/// As [`both`].
#[inline(always)]
unsafe fn load_rows<V: Lanes, const ROWS: usize, const COLUMNS: usize>(
    tile: RawTile,
) -> [[V; COLUMNS]; ROWS] {
    std::array::from_fn(|r| {
        std::array::from_fn(|column| {
            // SAFETY: the caller's.
            unsafe { V::load(tile.out.add(r * tile.out_stride + column * LANES)) }
        })
    })
}

/// Puts what [`load_rows`] took back.
///
/// # Safety
/// As [`both`].
#[inline(always)]
unsafe fn store_rows<V: Lanes, const ROWS: usize, const COLUMNS: usize>(
    tile: RawTile,
    rows: [[V; COLUMNS]; ROWS],
) {
    for (r, row) in rows.into_iter().enumerate() {
        for (column, sum) in row.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { sum.store(tile.out.add(r * tile.out_stride + column * LANES)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| (((i + seed) * 29 % 31) as f32 - 15.0) / 16.0).collect()
    }

    fn levels() -> Vec<Level> {
        #[cfg(target_arch = "x86_64")]
        match best() {
            Level::Avx512 => return vec![Level::Baseline, Level::Avx2, Level::Avx512],
            Level::Avx2 => return vec![Level::Baseline, Level::Avx2],
            Level::Baseline => {}
        }
        vec![Level::Baseline]
    }

    #[test]
    fn a_vector_and_any_part_of_a_product_are_multiplied_at_every_level() {
        let cases = [
            (0, 3, 20),
            (1, 0, 20),
            (3, 1, 40),
            (4, 2, 20),
            (7, 9, 20),
            (64, 16, 40),
            (65, 150, 20),
        ];
        for (k, depth, rows) in cases {
            let (x, panels) = (numbers(k, 1), numbers(2 * k * PANEL, 2));
            let (left, right) = (numbers(rows * (depth + 1), 3), numbers(3 * depth * PANEL, 4));
            // The first and the last lines are left out.
            for (level, taken) in levels().into_iter().flat_map(|level| {
                [(level, 0..3 * depth), (level, depth / 2..(5 * depth).div_ceil(2))]
            }) {
                let mut sums = [[0.25f32; PANEL]; 2];
                let width = 3 * PANEL + 8;
                let mut out = vec![0.5f32; rows * width];
                let beside = Beside {
                    rows,
                    x: &left,
                    stride: depth + 1,
                    panels: &right,
                    depth,
                    apart: depth * PANEL,
                    lines: taken.clone(),
                    out: &mut out,
                    out_stride: width,
                };
                at(level, &x, &panels, &mut sums, Some(beside));
                for (j, found) in sums.as_flattened().iter().enumerate() {
                    let panel = &panels[j / PANEL * k * PANEL..];
                    let exact: f32 = (0..k).map(|i| x[i] * panel[i * PANEL + j % PANEL]).sum();
                    assert!((found - exact - 0.25).abs() < 1e-4, "{level:?} {k}");
                }
                for (at, &found) in out.iter().enumerate() {
                    let (r, j) = (at / width, at % width);
                    let product =
                        |i: usize| left[r * (depth + 1) + i % depth] * right[i * PANEL + j % PANEL];
                    let of_column = (j / PANEL * depth)..((j / PANEL + 1) * depth);
                    let exact: f32 =
                        taken.clone().filter(|line| of_column.contains(line)).map(product).sum();
                    assert!((found - exact - 0.5).abs() < 1e-4, "{level:?} {depth} {r} {j}");
                }
            }
        }
    }

    #[test]
    fn the_last_panel_may_be_a_part_of_one() {
        let (k, n) = (6, 45);
        let (x, weight) = (numbers(k, 5), numbers(n * k, 6));
        let mut packed = vec![0f32; crate::panels::packed_len(n, k)];
        crate::panels::pack(&weight, n, k, &mut packed);
        let mut out = vec![1f32; n];
        vector(&x, &packed, &mut out);
        for (j, &found) in out.iter().enumerate() {
            let exact: f32 = (0..k).map(|i| x[i] * weight[j * k + i]).sum();
            assert!((found - exact - 1.0).abs() < 1e-4);
        }
    }
}
