//! Panels: 32 rows of a weight side by side, element by element. Packed products read weights in this
//! order.

use std::borrow::Cow;
use std::ops::Range;

use sconce_kernel_core::parallel::partition;

/// Columns of a panel.
pub const PANEL: usize = 32;

/// Rows of the left operand that a panel is multiplied with before the next panel. The second cache holds
/// them and both panels.
pub const ROWS: usize = 252;

/// Rows whose distance is a multiple of this many elements share too few lines of the first cache.
const CROWDED: usize = 1024;

/// Elements of padding between such rows.
const GAP: usize = 16;

/// The sizes of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the left operand and of the product.
    pub m: usize,
    /// The length of each sum.
    pub k: usize,
    /// Columns of the product: rows of the weight.
    pub n: usize,
}

/// The number of elements of a packed weight: whole panels, padded with zeros.
pub fn packed_len(n: usize, k: usize) -> usize {
    n.div_ceil(PANEL) * PANEL * k
}

/// Packs a row-major weight of `n` rows of `k` elements. Rows that are missing in the last panel are left as they are.
pub fn pack<T: Copy + Send + Sync>(weight: &[T], n: usize, k: usize, packed: &mut [T]) {
    /// Elements of a row that are copied at a time, so that rows whose distance is a power of two stay in the cache.
    const BLOCK: usize = 16;
    if k == 0 {
        return;
    }
    let panels = packed.chunks_exact_mut(PANEL * k).zip(weight.chunks(PANEL * k));
    partition::for_each(panels, |(panel, rows)| {
        debug_assert!(rows.len() <= PANEL * k && n * k >= rows.len());
        let Some(&first) = rows.first() else { return };
        let mut tile = [[first; BLOCK]; PANEL];
        for (block, lines) in panel.chunks_mut(PANEL * BLOCK).enumerate() {
            let width = lines.len() / PANEL;
            for (tile, row) in tile.iter_mut().zip(rows.chunks_exact(k)) {
                tile[..width].copy_from_slice(&row[block * BLOCK..][..width]);
            }
            for (i, line) in lines.chunks_exact_mut(PANEL).enumerate() {
                line.iter_mut().zip(&tile[..rows.len() / k]).for_each(|(to, row)| *to = row[i]);
            }
        }
    });
}

/// The stride of rows of `k` elements of which the first cache can hold several.
pub fn uncrowded_stride(k: usize) -> usize {
    if k.is_multiple_of(CROWDED) { k + GAP } else { k }
}

/// Rows of `k` elements, copied to a greater stride where the first cache could not hold several, and that
/// stride.
pub fn uncrowded(x: &[f32], k: usize) -> (Cow<'_, [f32]>, usize) {
    let stride = uncrowded_stride(k);
    if stride == k {
        return (Cow::Borrowed(x), k);
    }
    let mut apart = Vec::with_capacity(x.len() / k * stride);
    for row in x.chunks_exact(k) {
        apart.extend_from_slice(row);
        apart.resize(apart.len() + stride - k, 0.0);
    }
    (Cow::Owned(apart), stride)
}

/// Cuts rows into tiles of about equal height, so that no tile has few rows.
pub fn tiles(rows: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = rows.div_ceil(most);
    (0..count).map(move |tile| tile * rows / count..(tile + 1) * rows / count)
}

/// The most rows of a tile at any level.
pub const TILE_ROWS: usize = 14;

#[cfg(test)]
pub(crate) mod tests {
    /// A product under test: of rows, weights and a bias, for numbers of rows, of their elements and of results.
    type Product<'a> = &'a (dyn Fn([usize; 3], &[f32], &[f32], Option<&[f32]>) -> Vec<f32> + Sync);

    /// What a kernel makes of a row of its operands.
    type Kept<'a> = &'a dyn Fn(&[f32]) -> Vec<f64>;

    /// Some numbers from -1 to 1.
    pub(crate) fn numbers(len: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    /// Compares products of many sizes with those in double precision of what a kernel makes of its operands: `kept`
    /// gives it for rows of so many numbers, first of the rows and then of the weights.
    pub(crate) fn assert_products(product: Product<'_>, kept: [Kept<'_>; 2]) {
        let sizes = [
            [1, 1, 1],
            [1, 33, 70],
            [2, 7, 32],
            [2, 64, 32],
            [15, 300, 45],
            [33, 1030, 300],
            [300, 65, 33],
            [5, 0, 7],
            [1, 0, 3],
        ];
        for sizes @ [m, k, n] in sizes {
            let (x, w, bias) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
            let [rows, weights] =
                [(&x, kept[0]), (&w, kept[1])].map(|(numbers, kept)| -> Vec<f64> {
                    numbers.chunks(k.max(1)).flat_map(kept).collect()
                });
            for bias in [None, Some(&*bias)] {
                for (at, found) in product(sizes, &x, &w, bias).into_iter().enumerate() {
                    let (row, column) = (at / n, at % n);
                    let products = (0..k).map(|i| rows[row * k + i] * weights[column * k + i]);
                    let begin = bias.map_or(0.0, |bias| f64::from(bias[column]));
                    let exact = products.sum::<f64>() + begin;
                    let error = (f64::from(found) - exact).abs();
                    assert!(error < 1e-6 * (k as f64 + 4.0), "{sizes:?} {at}: {found} {exact}");
                }
            }
        }
    }

    /// One thread and three give the same bits.
    pub(crate) fn assert_same_on_threads(product: Product<'_>) {
        let in_pool = |threads, sizes: [usize; 3]| {
            let [m, k, n] = sizes;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
            pool.install(|| product(sizes, &x, &w, None))
        };
        for sizes in [[1, 700, 2000], [70, 600, 500], [600, 128, 100]] {
            assert_eq!(in_pool(1, sizes), in_pool(3, sizes), "{sizes:?}");
        }
    }
}
