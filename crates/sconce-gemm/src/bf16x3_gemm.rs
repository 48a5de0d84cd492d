//! Products of `float32` on CPUs with AMX ([`crate::amx`]), by splitting each number into three of
//! `bfloat16`.
//!
//! A `float32` is the sum of three `bfloat16`: 24 bits are three times eight. Of the nine products of
//! two such sums, the three least lie below the last bit that `float32` keeps of a product; the other
//! six are added up. Every product of parts is exact, so sums are as accurate as a series of fused
//! multiply-adds. Six products at sixteen times the rate of vectors, less the time that splitting
//! takes, are about one and a half times as fast.
//!
//! That holds where no product of parts overflows or underflows `float32`. Rows and panels with numbers
//! outside [`IN_RANGE`], infinities and NaN among them, are left to vector instructions.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]

use std::arch::x86_64::*;
use std::cell::Cell;
use std::ops::Range;

use bytemuck::Zeroable;
use sconce_kernel_core::simd::dispatch::has_amx_bf16;

use crate::amx::{
    AHEAD, DEPTH, PARTS, ProductTile, ROWS, SplitBlock, TileConfig, UNIT, add_products,
};
use crate::bounds::lies_in;
use crate::panel::{self, PANEL};
use crate::panel_product::Product;

/// The most units that a part of a product has.
const MOST_UNITS: usize = panel::ROWS.div_ceil(UNIT);

/// Blocks of a panel that all rows are multiplied with before the next ones: the first cache holds them.
const TOGETHER: usize = 3;

/// The sizes of the numbers that have three parts and whose products do, as bits: 2^-100 to 2^60. Zero has
/// them as well. The instructions take subnormal numbers for zeros.
const IN_RANGE: Range<u32> = (127 - 100) << 23..(127 + 60) << 23;

/// The least exponents, as in bits, of rows and of a panel that are multiplied so add up to this at least:
/// from 2^-100 on the least bits of a product's parts are no subnormal numbers, and in its sums none is lost.
const LEAST_EXPONENTS: u32 = 2 * 127 - 100;

/// The exponent that zeros stand for: no product with them is too small.
const OF_ZEROS: u32 = LEAST_EXPONENTS;

/// Whether this way is faster than vectors for this many rows of `k` numbers. A unit takes as long as 20
/// rows, splitting a panel as long as ten more, and starting a part as long as 24 lines.
pub(crate) fn is_worth_it(m: usize, k: usize) -> bool {
    let rows = 20 * m.div_ceil(UNIT) + 10;
    let lines = k.next_multiple_of(DEPTH) + 24;
    has_amx_bf16() && rows.saturating_mul(lines) <= m.saturating_mul(k)
}

impl Product<'_> {
    /// Some lines of some panels with some rows, which begin at a multiple of [`UNIT`].
    ///
    /// # Safety
    /// As [`Product::compute`].
    pub(crate) unsafe fn compute_split(
        &self,
        rows: Range<usize>,
        panels: Range<usize>,
        lines: Range<usize>,
    ) {
        let (blocks, units) = (lines.len().div_ceil(DEPTH), rows.len().div_ceil(UNIT));
        let unit = |at: usize| {
            let start = rows.start + at * UNIT;
            start..rows.end.min(start + UNIT)
        };
        // The next panel comes while this one is multiplied.
        let ahead_bytes = lines.len() * size_of::<[f32; PANEL]>();
        let ahead_step = ahead_bytes.div_ceil(units * blocks).next_multiple_of(64).min(AHEAD);
        let configured = TileConfig::new();
        with_blocks(units * (blocks + 1) + TOGETHER, |all| {
            let (columns, all) = all.split_at_mut(TOGETHER);
            let (sums, all) = all.split_at_mut(units);
            let mut least = [None; MOST_UNITS];
            for (at, blocks) in all.chunks_exact_mut(blocks).enumerate() {
                let x = &self.x[unit(at).start * self.x_stride + lines.start..];
                least[at] = split_rows(unit(at).len(), x, self.x_stride, lines.len(), blocks);
            }
            for panel in panels.clone() {
                let next = self.next_panel(panel, &panels, &lines);
                let bias = self.bias_of(panel);
                let mut ahead = next;
                let mut of_panel = Some(OF_ZEROS);
                for from in (0..blocks).step_by(TOGETHER) {
                    let start = lines.start + from * DEPTH;
                    let end = lines.end.min(start + TOGETHER * DEPTH);
                    let of_lines = split_panel(self.lines_of(panel, &(start..end)), columns);
                    of_panel = of_panel.zip(of_lines).map(|(least, other)| least.min(other));
                    let part = from..blocks.min(from + TOGETHER);
                    for (at, split) in all.chunks_exact(blocks).enumerate() {
                        let exponents = of_panel.zip(least[at]);
                        if exponents.is_none_or(|(a, b)| a + b < LEAST_EXPONENTS) {
                            if part.end == blocks {
                                // SAFETY: the caller's.
                                unsafe { self.compute_panel(unit(at), panel, &lines, next) };
                            }
                            continue;
                        }
                        let position = Destination {
                            rows: unit(at),
                            panel,
                            begins: match from {
                                0 if lines.start == 0 => Some(InitialSums::Bias(&bias)),
                                0 => Some(InitialSums::Product),
                                _ => None,
                            },
                            writes: part.end == blocks,
                        };
                        let hint = (ahead, ahead_step);
                        ahead = ahead.wrapping_byte_add(part.len() * ahead_step);
                        let operands = [&split[part.clone()], &columns[..part.len()]];
                        // SAFETY: the caller's.
                        unsafe { self.add(&configured, operands, position, &mut sums[at], hint) };
                    }
                }
            }
        });
    }

    /// Adds the products of some blocks to `sums`, memory for 32 rows of 32 numbers, or from and to the
    /// product itself.
    ///
    /// # Safety
    /// As [`Product::compute`].
    unsafe fn add(
        &self,
        configured: &TileConfig,
        [rows, columns]: [&[SplitBlock]; 2],
        position: Destination<'_>,
        sums: &mut SplitBlock,
        (ahead, ahead_step): (*const f32, usize),
    ) {
        let n = self.shape.n;
        let column = position.panel * PANEL;
        let (count, width) = (position.rows.len(), PANEL.min(n - column));
        let is_whole = (count, width) == (UNIT, PANEL);
        let sums: *mut f32 = bytemuck::cast_slice_mut(std::slice::from_mut(sums)).as_mut_ptr();
        // SAFETY: rows are below m and `column` below n, so this lies in the product, `count` rows of `width`
        // columns of which are this caller's; `begin` is those or one row. `sums` has whole ones.
        unsafe {
            let product = self.out.add(position.rows.start * n + column);
            let (mut begin, mut begin_stride) = (sums.cast_const(), PANEL);
            if let Some(from) = position.begins {
                let (from, stride) = match from {
                    InitialSums::Bias(bias) => (bias.as_ptr(), 0),
                    InitialSums::Product => (product.cast_const(), n),
                };
                if is_whole {
                    (begin, begin_stride) = (from, stride);
                } else {
                    for r in 0..count {
                        let row = sums.add(r * PANEL);
                        row.copy_from_nonoverlapping(from.add(r * stride), width);
                    }
                }
            }
            let (out, out_stride) =
                if position.writes && is_whole { (product, n) } else { (sums, PANEL) };
            let to = ProductTile { begin, begin_stride, out, out_stride, ahead, ahead_step };
            add_products(configured, rows, columns, to);
            if position.writes && !is_whole {
                for r in 0..count {
                    let row = sums.add(r * PANEL).cast_const();
                    product.add(r * n).copy_from_nonoverlapping(row, width);
                }
            }
        }
    }
}

/// Where a sum of products belongs.
struct Destination<'a> {
    rows: Range<usize>,
    panel: usize,
    /// The initial value of the sums, for the first part of them.
    begins: Option<InitialSums<'a>>,
    /// Whether the sums are written to the product.
    writes: bool,
}

/// The initial value of sums.
enum InitialSums<'a> {
    Bias(&'a [f32; PANEL]),
    Product,
}

/// Lends this many blocks of any content, which the thread keeps for the next call.
fn with_blocks<R>(count: usize, work: impl FnOnce(&mut [SplitBlock]) -> R) -> R {
    thread_local! {
        static KEPT: Cell<Vec<SplitBlock>> = const { Cell::new(Vec::new()) };
    }
    let mut all = KEPT.take();
    if all.len() < count {
        all.resize(count, SplitBlock::zeroed());
    }
    let result = work(&mut all[..count]);
    KEPT.set(all);
    result
}

/// Splits up to 32 rows, from one to the next `stride`, of `depth` numbers. Gives the least exponent if all
/// are in range.
fn split_rows(
    rows: usize,
    x: &[f32],
    stride: usize,
    depth: usize,
    blocks: &mut [SplitBlock],
) -> Option<u32> {
    assert!(has_amx_bf16() && rows <= UNIT && blocks.len() >= depth.div_ceil(DEPTH));
    assert!(lies_in(rows, stride, depth, x.len()));
    // SAFETY: the assertions; the CPU has the instructions.
    unsafe { rows_of(rows, x.as_ptr(), stride, depth, blocks) }
}

/// Splits the lines of a panel. Gives the least exponent if all numbers are in range.
fn split_panel(panel: &[f32], blocks: &mut [SplitBlock]) -> Option<u32> {
    let lines = panel.as_chunks::<PANEL>().0;
    assert!(has_amx_bf16() && blocks.len() >= lines.len().div_ceil(DEPTH));
    // SAFETY: the CPU has the instructions.
    unsafe { panel_of(lines, blocks) }
}

/// # Safety
/// As [`split_rows`] asserts.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn rows_of(
    rows: usize,
    x: *const f32,
    stride: usize,
    depth: usize,
    blocks: &mut [SplitBlock],
) -> Option<u32> {
    let mut sizes = MagnitudeRange::new();
    for (at, block) in blocks[..depth.div_ceil(DEPTH)].iter_mut().enumerate() {
        let left = depth - at * DEPTH;
        let masks = [left, left.saturating_sub(16)].map(|count| ((1 << count.min(16)) - 1) as u16);
        for r in 0..UNIT {
            let mut parts = [[_mm512_setzero_ps(); 2]; PARTS];
            if r < rows {
                for half in 0..2 {
                    // SAFETY: the mask leaves out what lies beyond the row.
                    let numbers = unsafe {
                        let from = x.add(r * stride + at * DEPTH).wrapping_add(half * 16);
                        _mm512_maskz_loadu_ps(masks[half], from)
                    };
                    sizes.add(numbers);
                    for (parts, part) in parts.iter_mut().zip(split(numbers)) {
                        parts[half] = part;
                    }
                }
            }
            for (part, [low, high]) in parts.into_iter().enumerate() {
                // SAFETY: numbers of this kind may have any bits.
                let row: __m512i = unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(high, low)) };
                let to = block.0[part][r / ROWS][r % ROWS].as_mut_ptr();
                // SAFETY: a row of a register has 64 bytes.
                unsafe { _mm512_store_si512(to.cast(), row) };
            }
        }
    }
    sizes.least_exponent()
}

/// # Safety
/// The CPU must have the instructions; there are enough blocks.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn panel_of(lines: &[[f32; PANEL]], blocks: &mut [SplitBlock]) -> Option<u32> {
    let (whole, rest) = lines.as_chunks::<DEPTH>();
    let mut sizes = MagnitudeRange::new();
    for (lines, block) in whole.iter().zip(&mut *blocks) {
        block_of(lines, block, &mut sizes);
    }
    if !rest.is_empty() {
        let mut lines = [[0f32; PANEL]; DEPTH];
        lines[..rest.len()].copy_from_slice(rest);
        block_of(&lines, &mut blocks[whole.len()], &mut sizes);
    }
    sizes.least_exponent()
}

/// Splits 32 lines.
#[target_feature(enable = "avx512f,avx512bw")]
fn block_of(lines: &[[f32; PANEL]; DEPTH], block: &mut SplitBlock, sizes: &mut MagnitudeRange) {
    for (pair, lines) in lines.as_chunks::<2>().0.iter().enumerate() {
        for half in 0..2 {
            // No closure: in the function that it is handed to, it cannot be inlined.
            let mut parts = [[_mm512_setzero_ps(); PARTS]; 2];
            for (parts, line) in parts.iter_mut().zip(lines) {
                // SAFETY: a half of a line.
                let numbers = unsafe { _mm512_loadu_ps(line.as_ptr().add(half * 16)) };
                sizes.add(numbers);
                *parts = split(numbers);
            }
            let [even, odd] = parts;
            for part in 0..PARTS {
                let even = _mm512_srli_epi32::<16>(_mm512_castps_si512(even[part]));
                let both = _mm512_or_si512(_mm512_castps_si512(odd[part]), even);
                // SAFETY: a row of a register has 64 bytes.
                unsafe { _mm512_store_si512(block.0[part][half][pair].as_mut_ptr().cast(), both) };
            }
        }
    }
}

/// Three numbers whose sum a number is: the upper half of its bits, rounded, then of what is left, and the
/// rest. The lower halves of their bits are zeros, but for the third part of a number that is out of
/// range.
#[inline]
#[target_feature(enable = "avx512f")]
fn split(number: __m512) -> [__m512; PARTS] {
    let upper = _mm512_set1_epi32(0xffff_0000_u32 as i32);
    let upper_of = |bits| _mm512_castsi512_ps(_mm512_and_si512(bits, upper));
    let half = _mm512_set1_epi32(0x8000);
    let first = upper_of(_mm512_add_epi32(_mm512_castps_si512(number), half));
    let rest = _mm512_sub_ps(number, first);
    let second = upper_of(_mm512_castps_si512(rest));
    let third = _mm512_sub_ps(rest, second);
    [first, second, upper_of(_mm512_castps_si512(third))]
}

/// The least and the greatest size of the numbers in each lane, as bits; of the least one less, which puts
/// zero last.
struct MagnitudeRange {
    least: __m512i,
    greatest: __m512i,
}

impl MagnitudeRange {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> MagnitudeRange {
        MagnitudeRange { least: _mm512_set1_epi32(-1), greatest: _mm512_setzero_si512() }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(&mut self, numbers: __m512) {
        let without_sign = _mm512_set1_epi32(i32::MAX);
        let sizes = _mm512_and_si512(_mm512_castps_si512(numbers), without_sign);
        let one_less = _mm512_add_epi32(sizes, _mm512_set1_epi32(-1));
        self.least = _mm512_min_epu32(self.least, one_less);
        self.greatest = _mm512_max_epu32(self.greatest, sizes);
    }

    /// The exponent of the least, if all are zero or in [`IN_RANGE`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn least_exponent(&self) -> Option<u32> {
        let greatest = _mm512_reduce_max_epu32(self.greatest);
        match _mm512_reduce_min_epu32(self.least).checked_add(1) {
            None => Some(OF_ZEROS),
            Some(least) if least >= IN_RANGE.start && greatest < IN_RANGE.end => Some(least >> 23),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::packed_gemm::multiply;
    use crate::panel::tests::numbers;
    use crate::panel::{Shape, pack, packed_len};
    use sconce_kernel_core::parallel::partition;

    fn packed(weight: &[f32], n: usize, k: usize) -> Vec<f32> {
        let mut packed = vec![0f32; packed_len(n, k)];
        pack(weight, n, k, &mut packed);
        packed
    }

    #[test]
    fn products_are_those_of_float32() {
        for [m, k, n] in [[32, 384, 32], [55, 400, 33], [300, 385, 40], [60, 900, 70], [600, 64, 3]]
        {
            let (x, weight, bias) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
            let mut out = vec![7f32; m * n];
            multiply(Shape { m, k, n }, &x, &packed(&weight, n, k), Some(&bias), &mut out);
            for (at, &found) in out.iter().enumerate() {
                let (row, column) = (at / n, at % n);
                let product = |i| f64::from(x[row * k + i]) * f64::from(weight[column * k + i]);
                let exact = (0..k).map(product).sum::<f64>() + f64::from(bias[column]);
                let sizes = (0..k).map(|i| product(i).abs()).sum::<f64>();
                let error = (f64::from(found) - exact).abs();
                assert!(error < 2e-7 * sizes, "{m} {k} {n}: {row} {column}: {found} {exact}");
            }
        }
    }

    #[test]
    fn numbers_out_of_range_are_multiplied_as_they_are() {
        let [m, k, n] = [70, 400, 40];
        let odd = [f32::NAN, f32::INFINITY, f32::from_bits(u32::MAX), 3e38, 1e-40, -1e30];
        for odd in odd {
            let (mut x, mut weight) = (vec![1f32; m * k], vec![1f32; n * k]);
            x[40 * k + 390] = odd;
            let of_x = |_: usize, row: usize| if row == 40 { 399.0 + odd } else { 400.0 };
            check([m, k, n], &x, &weight, of_x);
            x[40 * k + 390] = 1.0;
            weight[35 * k + 5] = odd;
            let of_weight =
                |column: usize, _: usize| if column == 35 { 399.0 + odd } else { 400.0 };
            check([m, k, n], &x, &weight, of_weight);
        }
        // Beside nothing but zeros it is seen how small it is.
        for small in [1e-37, 1e-39, 1e-44] {
            let (mut x, mut weight) = (vec![0f32; m * k], vec![1f32; n * k]);
            x[3 * k + 7] = small;
            check([m, k, n], &x, &weight, |_, row| if row == 3 { small } else { 0.0 });
            x.fill(1.0);
            weight.fill(0.0);
            weight[35 * k + 5] = small;
            check([m, k, n], &x, &weight, |column, _| if column == 35 { small } else { 0.0 });
        }
    }

    /// Numbers that are in range by themselves, but the parts of whose products would not be.
    #[test]
    fn small_products_keep_their_bits() {
        let [m, k, n] = [70, 400, 40];
        let (a, b) = (1.0 + f32::EPSILON, 1.0 + 5.0 * f32::EPSILON);
        for exponent in [-48, -52, -58, -64, -70] {
            let scale = 2f32.powi(exponent);
            let (mut x, weight) = (vec![0f32; m * k], vec![b * scale; n * k]);
            x[3 * k + 7] = a * scale;
            let product = a * scale * (b * scale);
            assert!(product > 0.0);
            check([m, k, n], &x, &weight, |_, row| if row == 3 { product } else { 0.0 });
        }
    }

    fn check(
        [m, k, n]: [usize; 3],
        x: &[f32],
        weight: &[f32],
        exact: impl Fn(usize, usize) -> f32,
    ) {
        let mut out = vec![7f32; m * n];
        multiply(Shape { m, k, n }, x, &packed(weight, n, k), None, &mut out);
        for (at, &found) in out.iter().enumerate() {
            let exact = exact(at % n, at / n);
            let same = found == exact || found.is_nan() && exact.is_nan();
            assert!(same, "{}, {}: {found} {exact}", at / n, at % n);
        }
    }

    #[test]
    fn products_do_not_depend_on_the_number_of_threads() {
        let [m, k, n] = [300, 400, 1100];
        let (mut x, weight) = (numbers(m * k, 4), numbers(n * k, 5));
        x[100 * k] = 1e-38;
        let packed = packed(&weight, n, k);
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0f32; m * n];
            pool.install(|| multiply(Shape { m, k, n }, &x, &packed, None, &mut out));
            assert_eq!(pool.install(partition::num_threads), threads);
            out.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let one = bits(1);
        assert!((2..5).all(|threads| bits(threads) == one));
    }
}
