//! Products with a packed matrix: the weights of a layer.
//!
//! [`pack`](crate::panel::pack) turns a weight of `n` rows of `k` elements, as `torch.nn.Linear` has
//! it, into panels: 32 rows side by side, element by element. Every product reads a panel in the same
//! direction, so nothing is reordered per call. While one panel is multiplied, the next is prefetched,
//! since weights come from the last cache or from memory.
//!
//! The order in which an element is summed does not depend on the number of threads. It is that of `k`,
//! except where there is one row ([`crate::packed_gemv`]).
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]
#![allow(clippy::needless_range_loop, reason = "rows are registers")]

use std::borrow::Cow;
use std::ops::Range;

use sconce_kernel_core::parallel::partition;
use smallvec::SmallVec;

#[cfg(target_arch = "x86_64")]
use crate::amx::UNIT;
#[cfg(target_arch = "x86_64")]
use crate::bf16x3_gemm;
use crate::bounds::lies_in;
use crate::packed_gemv::gemv;
use crate::panel::{PANEL, ROWS, Shape, TILE_ROWS, uncrowded};
use crate::panel_product::Product;

/// The stretch of `k` that is multiplied before the product is visited again.
const DEPTH: usize = 384;

/// Multiply-adds below which other threads cost more than they bring.
const PARALLEL: usize = 1 << 20;

/// Whether [`multiply`] takes each number for a sum of three bfloat16 numbers, which AMX multiplies exactly.
pub fn is_by_bf16_parts(m: usize, k: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    return bf16x3_gemm::is_worth_it(m, k);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (m, k);
        false
    }
}

/// A packed weight that rows are multiplied with, and where the product goes.
#[derive(Debug)]
pub struct Factor<'a> {
    /// Columns of the product: rows of the weight.
    pub n: usize,
    /// The weight, packed.
    pub packed: &'a [f32],
    /// What is added to each row, `n` elements.
    pub bias: Option<&'a [f32]>,
    /// The product, of as many rows as are multiplied and `n` columns.
    pub out: &'a mut [f32],
}

/// `out = x · weightᵀ + bias`, all row-major without gaps, the weight packed.
///
/// # Panics
/// Where a slice is shorter than the shape says, which callers rule out.
pub fn multiply(shape: Shape, x: &[f32], packed: &[f32], bias: Option<&[f32]>, out: &mut [f32]) {
    let Shape { m, k, n } = shape;
    let factor = Factor { n, packed, bias, out };
    multiply_each(m, k, x, &mut [factor], partition::num_threads());
}

/// [`multiply`] of `m` rows of `k` elements with each of several weights, on this many threads, which divide all of the
/// products at once.
///
/// # Panics
/// As [`multiply`].
pub fn multiply_each(m: usize, k: usize, x: &[f32], factors: &mut [Factor<'_>], threads: usize) {
    assert!(lies_in(m, k, k, x.len()));
    let x = &x[..m * k];
    for factor in &mut *factors {
        let Factor { n, packed, bias, out } = factor;
        // Products of sizes may be more than a `usize` holds, which must not pass for little.
        let panels = n.div_ceil(PANEL);
        assert!(lies_in(m, *n, *n, out.len()));
        let panel = k.checked_mul(PANEL);
        assert!(panel.is_some_and(|panel| lies_in(panels, panel, panel, packed.len())));
        assert!(bias.is_none_or(|bias| bias.len() >= *n));
        if m == 1 || k == 0 {
            multiply_row(m, k, x, factor, threads);
        }
    }
    if m <= 1 || k == 0 {
        return;
    }
    let unit = unit_of(m, k);
    let (x, x_stride) = if unit == 1 { uncrowded(x, k) } else { (Cow::Borrowed(x), k) };
    let operations = factors.iter().map(|factor| m.saturating_mul(factor.n).saturating_mul(k));
    let count = if operations.fold(0, usize::saturating_add) < PARALLEL { 1 } else { threads };
    let products = factors.iter_mut().filter(|factor| factor.n > 0).map(|factor| {
        let shape = Shape { m, k, n: factor.n };
        let (packed, bias, out) = (factor.packed, factor.bias, factor.out.as_mut_ptr());
        (Product { shape, x: &x, x_stride, packed, bias, out, unit }, Parts::of(shape, unit, count))
    });
    let products: SmallVec<[_; 1]> = products.collect();
    let of_product = |(product, parts): (usize, Parts)| {
        (0..parts.rows * parts.panels).map(move |at| (at / parts.panels, product, at))
    };
    let parts = products.iter().map(|(_, parts)| *parts).enumerate().flat_map(of_product);
    let mut parts: SmallVec<[_; 8]> = parts.collect();
    // The products of the same rows come one after the other, while these are in the cache.
    parts.sort_unstable();
    let compute = |(_, product, at): (usize, usize, usize)| {
        let (product, of) = &products[product];
        let (rows, panels) = of.at(at, product.shape);
        // SAFETY: no two parts have an element of a product in common, each is computed once, and
        // `out`, of m × n elements, is borrowed until all have been.
        unsafe { product.compute(rows, panels) };
    };
    if count == 1 {
        parts.into_iter().for_each(compute);
    } else {
        partition::for_each(parts.into_iter(), compute);
    }
}

/// The product of one row, or of rows of no elements.
fn multiply_row(m: usize, k: usize, x: &[f32], factor: &mut Factor<'_>, threads: usize) {
    let &mut Factor { n, packed, bias, ref mut out } = factor;
    let out = &mut out[..m * n];
    if out.is_empty() {
        return;
    }
    for row in out.chunks_exact_mut(n) {
        match bias {
            Some(bias) => row.copy_from_slice(&bias[..n]),
            None => row.fill(0.0),
        }
    }
    if k == 0 {
        return;
    }
    let is_little = threads == 1 || n.saturating_mul(k) < PARALLEL;
    let serial = if is_little { usize::MAX } else { 8 * PANEL };
    partition::for_each_chunk(out, PANEL, serial, |start, out| {
        gemv(x, &packed[start * k..], out);
    });
}

/// The number of rows that a kernel computes together. Parts of a product begin at multiples of it, so each
/// row is computed the same way whatever the partition.
#[cfg(target_arch = "x86_64")]
fn unit_of(m: usize, k: usize) -> usize {
    if bf16x3_gemm::is_worth_it(m, k) { UNIT } else { 1 }
}

/// Rows that are computed alike, whichever part of a product they are in.
#[cfg(not(target_arch = "x86_64"))]
fn unit_of(_: usize, _: usize) -> usize {
    1
}

/// The partition of a product: blocks of rows, each in blocks of panels. Blocks of rows begin at multiples
/// of `unit`.
#[derive(Debug, Clone, Copy)]
struct Parts {
    rows: usize,
    panels: usize,
    unit: usize,
}

impl Parts {
    /// For this many threads.
    fn of(shape: Shape, unit: usize, threads: usize) -> Parts {
        let rows = shape.m.div_ceil(ROWS.next_multiple_of(unit));
        if threads == 1 {
            return Parts { rows, panels: 1, unit };
        }
        // Two for each thread: one that comes late has less to do. Parts of all rows read each panel
        // once, parts of few rows read all panels each; the first panel of a part was not asked for. Where
        // rows are computed alike, each part begins by putting them in another order.
        let wanted = if unit == 1 { 2 * threads } else { threads };
        let all = shape.n.div_ceil(PANEL);
        let even = |panels: &usize| (rows * panels).is_multiple_of(threads);
        let least = wanted.div_ceil(rows);
        let panels = (least..2 * wanted).find(even).unwrap_or(least).min(all);
        let rows = rows.max(wanted.div_ceil(panels).min(shape.m / TILE_ROWS.max(unit)));
        Parts { rows, panels, unit }
    }

    fn at(self, at: usize, shape: Shape) -> (Range<usize>, Range<usize>) {
        let part = |of: usize, parts: usize, at: usize| at * of / parts..(at + 1) * of / parts;
        let panels = part(shape.n.div_ceil(PANEL), self.panels, at % self.panels);
        let units = part(shape.m.div_ceil(self.unit), self.rows, at / self.panels);
        (units.start * self.unit..shape.m.min(units.end * self.unit), panels)
    }
}

impl Product<'_> {
    /// Computes some rows of the columns of some panels.
    ///
    /// # Safety
    /// `out` must be valid for m × n elements, of which nobody else uses those that are computed.
    unsafe fn compute(&self, rows: Range<usize>, panels: Range<usize>) {
        let k = self.shape.k;
        for from in (0..k).step_by(DEPTH) {
            let lines = from..k.min(from + DEPTH);
            #[cfg(target_arch = "x86_64")]
            if self.unit == UNIT {
                // SAFETY: the caller's.
                unsafe { self.compute_split(rows.clone(), panels.clone(), lines) };
                continue;
            }
            for at in panels.clone() {
                let next = self.next_panel(at, &panels, &lines);
                // SAFETY: the caller's.
                unsafe { self.compute_panel(rows.clone(), at, &lines, next) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::numbers;
    use crate::panel::{pack, packed_len};

    #[test]
    fn products_are_right_for_every_edge() {
        let sizes = [
            (1, 1, 1),
            (1, 7, 33),
            (1, 128, 512),
            (2, 3, 5),
            (3, 1024, 40),
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
            for bias in [Some(&bias[..]), None] {
                multiply(Shape { m, k, n }, &x, &packed, bias, &mut out);
                for i in 0..m {
                    for j in 0..n {
                        let product: f64 = (0..k)
                            .map(|l| f64::from(x[i * k + l]) * f64::from(weight[j * k + l]))
                            .sum();
                        let exact = product + bias.map_or(0.0, |bias| f64::from(bias[j]));
                        let found = f64::from(out[i * n + j]);
                        let position = format!("{m} {k} {n}: {i} {j}");
                        assert!((found - exact).abs() < 1e-4, "{position}: {found} {exact}");
                    }
                }
            }
        }
    }

    #[test]
    fn parts_cover_a_product_once() {
        for (m, k, n) in [(2, 8192, 64), (40, 1000, 33), (128, 384, 1152), (3000, 64, 20)] {
            let shape = Shape { m, k, n };
            for (unit, threads) in [(1, 1), (1, 2), (1, 16), (32, 1), (32, 2), (32, 16)] {
                let parts = Parts::of(shape, unit, threads);
                let mut seen = vec![0; m * n.div_ceil(PANEL)];
                for at in 0..parts.rows * parts.panels {
                    let (rows, panels) = parts.at(at, shape);
                    assert!(
                        !rows.is_empty()
                            && rows.len() <= ROWS.next_multiple_of(unit)
                            && !panels.is_empty()
                    );
                    for row in rows {
                        for panel in panels.clone() {
                            seen[row * n.div_ceil(PANEL) + panel] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{shape:?}: {parts:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "lies_in")]
    fn sizes_whose_product_overflows_are_refused() {
        // As many elements as a `usize` has values would count as none.
        let half = 1 << (usize::BITS / 2);
        let shape = Shape { m: half, k: half, n: 1 };
        multiply(shape, &[], &[], None, &mut []);
    }
}
