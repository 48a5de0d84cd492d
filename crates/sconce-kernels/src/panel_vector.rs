//! A vector times a packed matrix ([`crate::panels`]), and beside it a part of another product.
//!
//! Of a matrix that is multiplied with one vector every element is used once, so the product takes
//! as long as the matrix takes to come from the second cache, and half of the arithmetic units have
//! nothing to do. [`vector_beside`] gives them something: a recurrent layer multiplies the inputs of
//! later steps while it waits for the weights of the current one.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]

#[cfg(target_arch = "x86_64")]
use crate::blocked::lanes::{Avx2, Avx512};
use crate::blocked::lanes::{LANES, Lanes, Portable};
use crate::panels::PANEL;
use crate::simd::{Level, best};

/// Rows of a [`Tile`].
pub(crate) const TILE_ROWS: usize = 5;

/// A part of the product of [`TILE_ROWS`] rows and a panel, which is added to what is there.
pub(crate) struct Tile<'a> {
    /// The rows' elements, `stride` from one row to the next.
    pub(crate) x: &'a [f32],
    pub(crate) stride: usize,
    /// As many lines of a packed panel as elements of a row are taken.
    pub(crate) panel: &'a [f32],
    /// The first of 32 elements of the product in each row, `out_stride` from one row to the next.
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

/// Adds a vector times some panels to `sums`, and computes a tile meanwhile.
pub(crate) fn vector_beside(
    x: &[f32],
    panels: &[f32],
    sums: &mut [[f32; PANEL]],
    tile: Option<Tile<'_>>,
) {
    at(best(), x, panels, sums, tile);
}

/// The same with the instructions of a level that this processor has.
fn at(level: Level, x: &[f32], panels: &[f32], sums: &mut [[f32; PANEL]], tile: Option<Tile<'_>>) {
    assert!(panels.len() >= x.len() * PANEL * sums.len(), "fewer panels than sums");
    let depth = tile.as_ref().map_or(0, |tile| tile.panel.len() / PANEL);
    let fits = |tile: &Tile<'_>| {
        tile.x.len() >= (TILE_ROWS - 1) * tile.stride + depth
            && tile.out.len() >= (TILE_ROWS - 1) * tile.out_stride + PANEL
    };
    assert!(tile.as_ref().is_none_or(fits), "a tile reaches beyond its operands");
    let vector = RawVector {
        k: x.len(),
        x: x.as_ptr(),
        panels: panels.as_ptr(),
        count: sums.len(),
        sums: sums.as_mut_ptr().cast(),
    };
    let tile = tile.filter(|_| depth > 0).map(|tile| RawTile {
        depth,
        x: tile.x.as_ptr(),
        stride: tile.stride,
        panel: tile.panel.as_ptr(),
        out: tile.out.as_mut_ptr(),
        out_stride: tile.out_stride,
    });
    // SAFETY: the assertions hold what is read and written against the slices, which are borrowed,
    // those that are written mutably; `level` is what this processor was found to have.
    unsafe {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => match tile {
                Some(tile) => avx512_beside(vector, tile),
                None => avx512(vector),
            },
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2(vector, tile),
            Level::Baseline => {
                both::<Portable, 1, 0>(vector, RawTile::NONE);
                if let Some(tile) = tile {
                    tile_alone::<Portable>(tile);
                }
            }
        }
    }
}

/// A vector of k elements, panels of k lines, and 32 sums for each panel.
#[derive(Clone, Copy)]
struct RawVector {
    k: usize,
    x: *const f32,
    panels: *const f32,
    count: usize,
    sums: *mut f32,
}

/// A [`Tile`] of `depth` lines.
#[derive(Clone, Copy)]
struct RawTile {
    depth: usize,
    x: *const f32,
    stride: usize,
    panel: *const f32,
    out: *mut f32,
    out_stride: usize,
}

impl RawTile {
    const NONE: RawTile = RawTile {
        depth: 0,
        x: std::ptr::null(),
        stride: 0,
        panel: std::ptr::null(),
        out: std::ptr::null_mut(),
        out_stride: 0,
    };
}

/// # Safety
/// As [`both`]; the processor must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(vector: RawVector) {
    // SAFETY: the caller's.
    unsafe { both::<Avx512, 4, 0>(vector, RawTile::NONE) }
}

/// # Safety
/// As [`both`]; the processor must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512_beside(vector: RawVector, tile: RawTile) {
    // SAFETY: the caller's.
    unsafe { both::<Avx512, 4, TILE_ROWS>(vector, tile) }
}

/// Sixteen registers are too few for both at a time.
///
/// # Safety
/// As [`both`]; the processor must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(vector: RawVector, tile: Option<RawTile>) {
    // SAFETY: the caller's.
    unsafe {
        both::<Avx2, 2, 0>(vector, RawTile::NONE);
        if let Some(tile) = tile {
            tile_alone::<Avx2>(tile);
        }
    }
}

/// Products with a vector, each added up in `CHAINS` sums that do not wait for one another, and
/// `ROWS` rows of a tile, a line of it for every `CHAINS` lines of the vector's panels.
///
/// # Safety
/// The pointers of `vector` must be valid for what [`RawVector`] says and, where `ROWS` is not 0, those
/// of `tile` for what [`Tile`] says; the processor must have the instructions of `V`.
#[inline(always)]
unsafe fn both<V: Lanes, const CHAINS: usize, const ROWS: usize>(vector: RawVector, tile: RawTile) {
    // SAFETY: lines are below k or `depth`, rows below `ROWS`, panels below `count`.
    unsafe {
        let mut rows = [[V::splat(0.0); 2]; ROWS];
        for (r, row) in rows.iter_mut().enumerate() {
            let out = tile.out.add(r * tile.out_stride);
            *row = [V::load(out), V::load(out.add(LANES))];
        }
        // Lines of the tile that have been added.
        let mut added = 0;
        let rounds = vector.k / CHAINS;
        for p in 0..vector.count {
            let panel = vector.panels.add(p * vector.k * PANEL);
            let sums = vector.sums.add(p * PANEL);
            let mut all = [[V::splat(0.0); 2]; CHAINS];
            all[0] = [V::load(sums), V::load(sums.add(LANES))];
            let common = if ROWS == 0 { 0 } else { rounds.min(tile.depth - added) };
            for i in 0..common {
                lines::<V, CHAINS>(vector.x, panel, i * CHAINS, &mut all);
                tile_line::<V, ROWS>(tile, added + i, &mut rows);
            }
            added += common;
            for i in common..rounds {
                lines::<V, CHAINS>(vector.x, panel, i * CHAINS, &mut all);
            }
            for i in rounds * CHAINS..vector.k {
                let mut one = [all[0]];
                lines::<V, 1>(vector.x, panel, i, &mut one);
                all[0] = one[0];
            }
            let mut half = CHAINS / 2;
            while half > 0 {
                for c in 0..half {
                    all[c] = [all[c][0].add(all[c + half][0]), all[c][1].add(all[c + half][1])];
                }
                half /= 2;
            }
            all[0][0].store(sums);
            all[0][1].store(sums.add(LANES));
        }
        if ROWS > 0 {
            for i in added..tile.depth {
                tile_line::<V, ROWS>(tile, i, &mut rows);
            }
        }
        for (r, row) in rows.into_iter().enumerate() {
            let out = tile.out.add(r * tile.out_stride);
            row[0].store(out);
            row[1].store(out.add(LANES));
        }
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
unsafe fn tile_line<V: Lanes, const ROWS: usize>(
    tile: RawTile,
    i: usize,
    rows: &mut [[V; 2]; ROWS],
) {
    // SAFETY: the caller's.
    unsafe {
        let line = tile.panel.add(i * PANEL);
        let line = [V::load(line), V::load(line.add(LANES))];
        for (r, row) in rows.iter_mut().enumerate() {
            let x = V::broadcast(tile.x.add(r * tile.stride + i));
            *row = [row[0].fma(x, line[0]), row[1].fma(x, line[1])];
        }
    }
}

/// A tile, one half after the other.
///
/// # Safety
/// As [`both`].
#[inline(always)]
unsafe fn tile_alone<V: Lanes>(tile: RawTile) {
    // SAFETY: the caller's.
    unsafe {
        for half in [0, LANES] {
            let mut rows = [V::splat(0.0); TILE_ROWS];
            for (r, row) in rows.iter_mut().enumerate() {
                *row = V::load(tile.out.add(r * tile.out_stride + half));
            }
            for i in 0..tile.depth {
                let line = V::load(tile.panel.add(i * PANEL + half));
                for (r, row) in rows.iter_mut().enumerate() {
                    *row = row.fma(V::broadcast(tile.x.add(r * tile.stride + i)), line);
                }
            }
            for (r, row) in rows.into_iter().enumerate() {
                row.store(tile.out.add(r * tile.out_stride + half));
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
    fn a_vector_and_a_tile_of_any_depth_are_multiplied_at_every_level() {
        for (k, depth) in [(0, 3), (1, 0), (3, 1), (4, 2), (7, 9), (64, 16), (65, 19)] {
            let (x, panels) = (numbers(k, 1), numbers(2 * k * PANEL, 2));
            let (rows, lines) = (numbers(TILE_ROWS * 20, 3), numbers(depth * PANEL, 4));
            for level in levels() {
                let mut sums = [[0.25f32; PANEL]; 2];
                let mut out = vec![0.5f32; TILE_ROWS * 40];
                let tile =
                    Tile { x: &rows, stride: 20, panel: &lines, out: &mut out, out_stride: 40 };
                at(level, &x, &panels, &mut sums, Some(tile));
                for (j, found) in sums.as_flattened().iter().enumerate() {
                    let panel = &panels[j / PANEL * k * PANEL..];
                    let exact: f32 = (0..k).map(|i| x[i] * panel[i * PANEL + j % PANEL]).sum();
                    assert!((found - exact - 0.25).abs() < 1e-4, "{level:?} {k}");
                }
                for (at, &found) in out.iter().enumerate() {
                    let (r, j) = (at / 40, at % 40);
                    let product = |i: usize| rows[r * 20 + i] * lines[i * PANEL + j];
                    let exact: f32 = match j {
                        0..PANEL => (0..depth).map(product).sum(),
                        _ => 0.0,
                    };
                    assert!((found - exact - 0.5).abs() < 1e-4, "{level:?} {depth}");
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
