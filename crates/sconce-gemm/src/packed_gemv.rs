//! A vector times a packed matrix ([`crate::panel`]), optionally interleaved with part of another
//! product.
//!
//! A matrix-vector product uses every element of the matrix once. It takes as long as the matrix takes
//! to arrive from the second cache, and half of the arithmetic units are idle. [`gemv_interleaved`]
//! uses them: a recurrent layer multiplies the inputs of later steps while it waits for the weights of
//! the current one.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]

use std::ops::Range;

use sconce_kernel_core::simd::dispatch::{Level, best};
#[cfg(target_arch = "aarch64")]
use sconce_kernel_core::simd::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::{Avx2, Avx512};
use sconce_kernel_core::simd::lanes::{LANES, Lanes, Portable};

use crate::bounds::lies_in;
use crate::interleaved_tiles::{InterleavedProduct, Tiles, load_rows, store_rows, tile_line};
use crate::panel::PANEL;

/// How [`gemv_interleaved`] takes the rows of an [`InterleavedProduct`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterleavedRows {
    /// Rows are taken this many at a time. The number of rows must be a multiple of it.
    pub unit: usize,
    /// How many rows should be multiplied together: where registers allow only few at a time, a panel
    /// should come from the second cache for more of them.
    pub best: usize,
}

/// The row counts that suit this CPU.
pub fn interleaved_rows() -> InterleavedRows {
    rows_of(best())
}

fn rows_of(level: Level) -> InterleavedRows {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => InterleavedRows { unit: 10, best: 10 },
        _ => InterleavedRows { unit: 4, best: 16 },
    }
}

/// Panels of a packed matrix in groups of `side`: the first panel of each group, one after the other, and
/// `apart` elements further the second ones, and so on.
#[derive(Debug, Clone, Copy)]
pub struct PanelGroups<'a> {
    /// The panels.
    pub panels: &'a [f32],
    /// How many panels a group has.
    pub side: usize,
    /// Elements from a panel of a group to the next of it.
    pub apart: usize,
    /// Whether lines are read from last to first. A caller that reads the same panels repeatedly should
    /// alternate: then the first cache still holds the lines that came last.
    pub backwards: bool,
}

/// Adds a vector times the packed matrix to `out`, whose first element is the first of a panel.
pub fn gemv(x: &[f32], packed: &[f32], out: &mut [f32]) {
    let level = best();
    let side = at_once(level);
    let panel = x.len() * PANEL;
    let groups = out.len() / PANEL / side;
    let (whole, rest) = out.split_at_mut(groups * side * PANEL);
    let sums = whole.as_chunks_mut().0;
    let first = PanelGroups { panels: packed, side, apart: groups * panel, backwards: false };
    at(level, x, first, sums, None);
    // What is left may end within a panel.
    let mut sums = [[0f32; PANEL]; 4];
    let sums = &mut sums[..rest.len().div_ceil(PANEL)];
    sums.as_flattened_mut()[..rest.len()].copy_from_slice(rest);
    let panels = packed.get(groups * side * panel..).unwrap_or_default();
    let last = PanelGroups { panels, side: sums.len(), apart: panel, backwards: false };
    at(level, x, last, sums, None);
    rest.copy_from_slice(&sums.as_flattened()[..rest.len()]);
}

/// Adds a vector times some panels to `sums`, and meanwhile computes part of another product.
pub fn gemv_interleaved(
    x: &[f32],
    panels: PanelGroups<'_>,
    sums: &mut [[f32; PANEL]],
    beside: InterleavedProduct<'_>,
) {
    at(best(), x, panels, sums, Some(beside));
}

/// How many panels are multiplied together at a level.
fn at_once(level: Level) -> usize {
    match level {
        // So they come from the second cache half as fast again as one after the other.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => 4,
        _ => 1,
    }
}

/// [`gemv_interleaved`] at a level that this CPU has.
fn at(
    level: Level,
    x: &[f32],
    panels: PanelGroups<'_>,
    sums: &mut [[f32; PANEL]],
    beside: Option<InterleavedProduct<'_>>,
) {
    let PanelGroups { panels, side, apart, backwards } = panels;
    let k = x.len();
    let groups = sums.len().checked_div(side).unwrap_or(0);
    if groups > 0 {
        assert!(groups * side == sums.len(), "as many panels in each group");
        let group = groups.checked_mul(k).and_then(|lines| lines.checked_mul(PANEL));
        let fits = group.is_some_and(|group| lies_in(side, apart, group, panels.len()));
        assert!(fits, "fewer panels than sums");
    }
    let unit = rows_of(level).unit;
    let mut tiles = beside.map_or(Tiles::NONE, |beside| Tiles::new(beside, unit));
    let vector = RawVector {
        k,
        line: 0,
        x: x.as_ptr(),
        side,
        groups,
        panels: panels.as_ptr(),
        panels_apart: apart,
        sums: sums.as_mut_ptr().cast(),
        sums_apart: groups * PANEL,
    };
    // SAFETY: the assertions above and those of `Tiles::new` hold what is read and written against the
    // slices, which are borrowed, those that are written mutably; tiles have the rows of the level,
    // and `level` is what this CPU was found to have.
    unsafe {
        match (level, backwards) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, false) => avx512::<false>(vector, &mut tiles),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, true) => avx512::<true>(vector, &mut tiles),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, false) => avx2::<false>(vector, &mut tiles),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, true) => avx2::<true>(vector, &mut tiles),
            #[cfg(target_arch = "aarch64")]
            (Level::Neon, false) => neon::<false>(vector, &mut tiles),
            #[cfg(target_arch = "aarch64")]
            (Level::Neon, true) => neon::<true>(vector, &mut tiles),
            (Level::Baseline, _) => {
                for at in 0..vector.side {
                    alone::<Portable, 1, false>(vector.beside(at));
                }
                remaining_tiles::<Portable, 4, 1>(&mut tiles);
            }
        }
    }
}

/// A vector of k elements, panels of k lines, and 32 sums for each panel. The panels are in groups of
/// `side`: the first of each group follow one another, and so do the second ones, `panels_apart` further.
/// Lines before `line` of the group that is multiplied next are in its sums already.
#[derive(Clone, Copy)]
struct RawVector {
    k: usize,
    line: usize,
    x: *const f32,
    side: usize,
    groups: usize,
    panels: *const f32,
    panels_apart: usize,
    sums: *mut f32,
    sums_apart: usize,
}

impl RawVector {
    /// The same from its last line on, if it is to go backwards.
    #[inline(always)]
    fn in_turn<const BACK: bool>(self) -> RawVector {
        let last = if BACK { self.k.saturating_sub(1) } else { 0 };
        let (x, panels) = (self.x.wrapping_add(last), self.panels.wrapping_add(last * PANEL));
        RawVector { x, panels, ..self }
    }

    /// The groups after the first one.
    #[inline(always)]
    fn next(self) -> RawVector {
        RawVector {
            line: 0,
            groups: self.groups - 1,
            panels: self.panels.wrapping_add(self.k * PANEL),
            sums: self.sums.wrapping_add(PANEL),
            ..self
        }
    }

    /// The panels of all groups but for the first `panels` of each.
    #[inline(always)]
    fn beside(self, panels: usize) -> RawVector {
        RawVector {
            side: self.side - panels,
            panels: self.panels.wrapping_add(panels * self.panels_apart),
            sums: self.sums.wrapping_add(panels * self.sums_apart),
            ..self
        }
    }
}

/// # Safety
/// As [`beside`]; the CPU must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512<const BACK: bool>(vector: RawVector, tiles: &mut Tiles) {
    // SAFETY: the caller's.
    unsafe {
        let mut vector = vector.in_turn::<BACK>();
        while vector.side > 0 {
            let taken = vector.side.min(4);
            match taken {
                1 => groups::<Avx512, 1, 4, 1, 10, 2, BACK>(vector, tiles),
                2 => groups::<Avx512, 2, 2, 1, 10, 2, BACK>(vector, tiles),
                3 => groups::<Avx512, 3, 1, 2, 10, 2, BACK>(vector, tiles),
                _ => groups::<Avx512, 4, 1, 2, 10, 2, BACK>(vector, tiles),
            }
            vector = vector.beside(taken);
        }
        remaining_tiles::<Avx512, 10, 2>(tiles);
    }
}

/// # Safety
/// As [`beside`]; the CPU must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<const BACK: bool>(vector: RawVector, tiles: &mut Tiles) {
    // SAFETY: the caller's.
    unsafe { by_sides::<Avx2, BACK>(vector, tiles) }
}

/// # Safety
/// As [`beside`]; the CPU must have NEON.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn neon<const BACK: bool>(vector: RawVector, tiles: &mut Tiles) {
    // SAFETY: the caller's.
    unsafe { by_sides::<Neon, BACK>(vector, tiles) }
}

/// The first panels of all groups, then the second ones, and so on: with AVX2 and NEON there are registers
/// for the sums of one panel and of a tile.
///
/// # Safety
/// As [`beside`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn by_sides<V: Lanes, const BACK: bool>(vector: RawVector, tiles: &mut Tiles) {
    // SAFETY: the caller's.
    unsafe {
        let vector = vector.in_turn::<BACK>();
        for at in 0..vector.side {
            let at = if BACK { vector.side - 1 - at } else { at };
            groups::<V, 1, 1, 2, 4, 1, BACK>(vector.beside(at), tiles);
        }
        remaining_tiles::<V, 4, 1>(tiles);
    }
}

/// Products with a vector and `SIDE` panels of each group, and beside them tiles as [`beside`] has them,
/// as long as there are any.
///
/// # Safety
/// As [`beside`].
#[inline(always)]
unsafe fn groups<
    V: Lanes,
    const SIDE: usize,
    const CHAINS: usize,
    const EACH: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const BACK: bool,
>(
    vector: RawVector,
    tiles: &mut Tiles,
) {
    // SAFETY: the caller's.
    unsafe {
        let vector = beside::<V, SIDE, CHAINS, EACH, ROWS, COLUMNS, BACK>(vector, tiles);
        alone::<V, SIDE, BACK>(vector);
    }
}

/// Products with a vector and `SIDE` panels of each group, and beside them tiles of `ROWS` rows and
/// `COLUMNS` times 16 columns: a line of one for every `EACH` times `CHAINS` lines of the vector's panels.
/// What a line of those adds to the sums waits for the line before it, but for `CHAINS` lines that have
/// sums of their own. Gives the groups that are left when tiles end.
///
/// # Safety
/// The pointers of `vector` must be valid for what [`RawVector`] says, of which groups have `SIDE`
/// panels or more; `tiles` must be of operands that are borrowed and have units of `ROWS` rows; the
/// CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn beside<
    V: Lanes,
    const SIDE: usize,
    const CHAINS: usize,
    const EACH: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const BACK: bool,
>(
    mut vector: RawVector,
    tiles: &mut Tiles,
) -> RawVector {
    let k = vector.k;
    // SAFETY: lines are below k or the tile's depth, rows below `ROWS`, panels below `SIDE`.
    unsafe {
        if vector.groups == 0 {
            return vector;
        }
        let Some((mut tile, mut added)) = tiles.take(COLUMNS * LANES) else { return vector };
        let mut rows: [[V; COLUMNS]; ROWS] = load_rows(tile);
        while vector.groups > 0 {
            let mut all = load_sums::<V, SIDE, CHAINS>(vector);
            let mut line = 0;
            loop {
                let rounds = ((k - line) / (EACH * CHAINS)).min(tile.depth - added);
                for i in 0..rounds {
                    for part in 0..EACH {
                        let line = line + (i * EACH + part) * CHAINS;
                        lines::<V, SIDE, CHAINS, BACK>(vector, line, &mut all);
                    }
                    tile_line(tile, added + i, &mut rows);
                }
                (line, added) = (line + rounds * EACH * CHAINS, added + rounds);
                if added < tile.depth {
                    break;
                }
                store_rows(tile, rows);
                let Some(next) = tiles.next(COLUMNS * LANES) else {
                    store_sums(all, vector);
                    return RawVector { line, ..vector };
                };
                (tile, added) = (next, 0);
                rows = load_rows(tile);
            }
            remaining_lines::<V, SIDE, CHAINS, BACK>(vector, line..k, &mut all);
            store_sums(all, vector);
            vector = vector.next();
        }
        store_rows(tile, rows);
        tiles.put_back(tile, added);
        vector
    }
}

/// The tiles that are left when the panels are finished.
///
/// # Safety
/// As [`beside`].
#[inline(always)]
unsafe fn remaining_tiles<V: Lanes, const ROWS: usize, const COLUMNS: usize>(tiles: &mut Tiles) {
    // SAFETY: lines are below the tile's depth.
    unsafe {
        while let Some((tile, added)) = tiles.take(COLUMNS * LANES) {
            let mut rows: [[V; COLUMNS]; ROWS] = load_rows(tile);
            for i in added..tile.depth {
                tile_line(tile, i, &mut rows);
            }
            store_rows(tile, rows);
        }
    }
}

/// Sums of a panel where there is no tile. As many for any number of panels: which of them are multiplied
/// together depends on the number of threads.
const ALONE: usize = 2;

/// Products with a vector and `SIDE` panels of each group.
///
/// # Safety
/// As [`beside`].
#[inline(always)]
unsafe fn alone<V: Lanes, const SIDE: usize, const BACK: bool>(mut vector: RawVector) {
    // SAFETY: lines are below k, panels below `SIDE`.
    unsafe {
        while vector.groups > 0 {
            let RawVector { k, line, .. } = vector;
            let mut all = load_sums::<V, SIDE, ALONE>(vector);
            let rounds = (k - line) / ALONE;
            for i in 0..rounds {
                lines::<V, SIDE, ALONE, BACK>(vector, line + i * ALONE, &mut all);
            }
            remaining_lines::<V, SIDE, ALONE, BACK>(vector, line + rounds * ALONE..k, &mut all);
            store_sums(all, vector);
            vector = vector.next();
        }
    }
}

/// For each of `SIDE` panels `CHAINS` sums.
type Sums<V, const SIDE: usize, const CHAINS: usize> = [[[V; 2]; SIDE]; CHAINS];

/// The sums of the first panels, and zeros for the others that are added to them in the end.
///
/// # Safety
/// As [`beside`]; there is a group.
#[inline(always)]
unsafe fn load_sums<V: Lanes, const SIDE: usize, const CHAINS: usize>(
    vector: RawVector,
) -> Sums<V, SIDE, CHAINS> {
    // SAFETY: the caller's.
    unsafe {
        let mut all = [[[V::splat(0.0); 2]; SIDE]; CHAINS];
        for (panel, sum) in all[0].iter_mut().enumerate() {
            let sums = vector.sums.add(panel * vector.sums_apart);
            *sum = [V::load(sums), V::load(sums.add(LANES))];
        }
        all
    }
}

/// Adds the sums of each panel up and puts them back.
///
/// # Safety
/// As [`load_sums`].
#[inline(always)]
unsafe fn store_sums<V: Lanes, const SIDE: usize, const CHAINS: usize>(
    mut all: Sums<V, SIDE, CHAINS>,
    vector: RawVector,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut half = CHAINS / 2;
        while half > 0 {
            let (first, second) = all.split_at_mut(half);
            for (first, second) in first.iter_mut().zip(second) {
                for (a, b) in first.iter_mut().zip(second) {
                    *a = [a[0].add(b[0]), a[1].add(b[1])];
                }
            }
            half /= 2;
        }
        for (panel, [left, right]) in all[0].into_iter().enumerate() {
            let sums = vector.sums.add(panel * vector.sums_apart);
            left.store(sums);
            right.store(sums.add(LANES));
        }
    }
}

/// Lines that are too few for all sums.
///
/// # Safety
/// As [`load_sums`]; the lines are below k.
#[inline(always)]
unsafe fn remaining_lines<V: Lanes, const SIDE: usize, const CHAINS: usize, const BACK: bool>(
    vector: RawVector,
    left: Range<usize>,
    all: &mut Sums<V, SIDE, CHAINS>,
) {
    for line in left {
        let mut one = [all[0]];
        // SAFETY: the caller's.
        unsafe { lines::<V, SIDE, 1, BACK>(vector, line, &mut one) };
        all[0] = one[0];
    }
}

/// `CHAINS` lines of `SIDE` panels, each into sums of its own; `from` is counted from the last line where
/// it goes backwards.
///
/// # Safety
/// As [`load_sums`]; `from + CHAINS` is at most k.
#[inline(always)]
unsafe fn lines<V: Lanes, const SIDE: usize, const CHAINS: usize, const BACK: bool>(
    vector: RawVector,
    from: usize,
    all: &mut Sums<V, SIDE, CHAINS>,
) {
    let RawVector { x, panels, panels_apart, .. } = vector;
    // SAFETY: the caller's.
    unsafe {
        for (at, sums) in (from..).zip(all) {
            let (x, first) = match BACK {
                true => (x.sub(at), panels.sub(at * PANEL)),
                false => (x.add(at), panels.add(at * PANEL)),
            };
            let x = V::broadcast(x);
            for (panel, sum) in sums.iter_mut().enumerate() {
                let line = first.add(panel * panels_apart);
                sum[0] = sum[0].fma(x, V::load(line));
                sum[1] = sum[1].fma(x, V::load(line.add(LANES)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| (((i + seed) * 29 % 31) as f32 - 15.0) / 16.0).collect()
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
            let (x, panels) = (numbers(k, 1), numbers(12 * k * PANEL, 2));
            let (left, right) = (numbers(rows * (depth + 1), 3), numbers(3 * depth * PANEL, 4));
            // The first and the last lines are left out.
            let parts = [0..3 * depth, depth / 2..(5 * depth).div_ceil(2)];
            let sides =
                Level::all().into_iter().flat_map(|level| [1, 2, 3, 4, 6].map(|n| (level, n)));
            let sides = sides.flat_map(|(level, n)| [false, true].map(|back| (level, n, back)));
            for ((level, side, backwards), taken) in
                sides.flat_map(|at| parts.each_ref().map(|taken| (at, taken.clone())))
            {
                let mut sums = [[0.25f32; PANEL]; 12];
                let width = 3 * PANEL + 8;
                let mut out = vec![0.5f32; rows * width];
                let beside = InterleavedProduct {
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
                let apart = 12 / side * k * PANEL;
                let all = PanelGroups { panels: &panels, side, apart, backwards };
                at(level, &x, all, &mut sums, Some(beside));
                for (j, found) in sums.as_flattened().iter().enumerate() {
                    let panel = &panels[j / PANEL * k * PANEL..];
                    let exact: f32 = (0..k).map(|i| x[i] * panel[i * PANEL + j % PANEL]).sum();
                    assert!((found - exact - 0.25).abs() < 1e-4, "{level:?} {side} {k}");
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
    fn any_number_of_panels_is_multiplied_as_each_alone() {
        let k = 7;
        for n in [1, 32, 45, 64, 96, 100, 128, 129, 300] {
            let (x, weight) = (numbers(k, 5), numbers(n * k, 6));
            let mut packed = vec![0f32; crate::panel::packed_len(n, k)];
            crate::panel::pack(&weight, n, k, &mut packed);
            let mut out = vec![1f32; n];
            gemv(&x, &packed, &mut out);
            for (j, &found) in out.iter().enumerate() {
                let exact: f32 = (0..k).map(|i| x[i] * weight[j * k + i]).sum();
                assert!((found - exact - 1.0).abs() < 1e-4, "{n}");
            }
            // As on other threads, which have other pieces.
            let mut pieces = vec![1f32; n];
            for (at, piece) in pieces.chunks_mut(PANEL).enumerate() {
                gemv(&x, &packed[at * PANEL * k..], piece);
            }
            assert_eq!(out, pieces, "{n}");
        }
    }
}
