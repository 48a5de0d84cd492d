//! Products of `bfloat16` on CPUs with AVX512-BF16: one instruction multiplies pairs of numbers and
//! adds both products to an `f32`. That is twice the rate of products of widened numbers.
//!
//! Subnormal numbers count as zeros, as in PyTorch where it uses the instruction.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]
#![allow(clippy::needless_range_loop, reason = "rows are registers")]

use std::arch::x86_64::*;
use std::ops::Range;

use half::bf16;
use sconce_kernel_core::simd::dispatch::{has_amx_bf16, has_avx512_bf16, prefetch_far};
use sconce_kernel_core::simd::lanes::Avx512;

use crate::amx::{self, TileConfig, UNIT, add_pairs};
use crate::bounds::lies_in;
use crate::dot_vector::DotVector;
use crate::panel::{PANEL, tiles};

/// The rows that registers hold.
const TILE_ROWS: usize = 14;

/// Lines that are put in pairs at a time: the first cache holds them.
const DEPTH: usize = 256;

/// A line of numbers and the next one, column by column.
type Pair = [bf16; 2 * PANEL];

/// Lines of up to 32 numbers, `stride` from one to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bf16Lines<'a> {
    pub(crate) all: &'a [bf16],
    pub(crate) stride: usize,
    pub(crate) depth: usize,
    pub(crate) width: usize,
}

/// Adds the product of `rows` rows, `x_stride` apart, and some lines to 32 columns of `sums`, whose rows are
/// `sums_stride` apart; what columns beyond the lines' hold then means nothing. Where they are all rows of a
/// product (`together`), matrices of them are multiplied if the CPU can: sums of the last rows are
/// made in another order then.
///
/// # Panics
/// Where the CPU lacks the instruction, or an operand is short.
pub(crate) fn add_panel(
    rows: usize,
    (x, x_stride): (&[bf16], usize),
    lines: Bf16Lines<'_>,
    (sums, sums_stride): (&mut [f32], usize),
    together: bool,
) {
    let Bf16Lines { all, stride, depth, width } = lines;
    if rows == 0 || depth == 0 {
        return;
    }
    assert!(has_avx512_bf16() && width <= PANEL);
    assert!(lies_in(rows, x_stride, depth, x.len()));
    assert!(lies_in(depth, stride, width, all.len()));
    assert!(lies_in(rows, sums_stride, PANEL, sums.len()));
    let configured = (together && has_amx_bf16() && rows >= UNIT).then(TileConfig::new);
    let (x, sums) = (x.as_ptr(), sums.as_mut_ptr());
    let mut pairs = [[bf16::ZERO; 2 * PANEL]; DEPTH / 2];
    for from in (0..depth).step_by(DEPTH) {
        let depth = DEPTH.min(depth - from);
        let pairs = &mut pairs[..depth.div_ceil(2)];
        // SAFETY: the assertions above; the CPU has the instructions.
        unsafe {
            pair_up(all.as_ptr().add(from * stride), stride, depth, width, pairs);
            let (x, sums) = ((x.add(from), x_stride), (sums, sums_stride));
            let pairs = (pairs.as_ptr(), pairs.as_ptr(), 0);
            add_products(rows, x, pairs, depth, sums, configured.as_ref());
        }
    }
}

/// Adds the product of `rows` rows of `depth` numbers and lines that are in pairs, 32 columns of each, to `sums`. Strides
/// are those of rows. `next` is read soon, and need not be valid. `together` as in [`add_panel`].
///
/// # Panics
/// Where the CPU lacks the instruction, or an operand is short.
pub(crate) fn add_paired(
    rows: usize,
    (x, x_stride): (&[bf16], usize),
    (pairs, next): (&[bf16], *const bf16),
    depth: usize,
    (sums, sums_stride): (&mut [f32], usize),
    together: bool,
) {
    if rows == 0 || depth == 0 {
        return;
    }
    assert!(has_avx512_bf16());
    assert!(lies_in(rows, x_stride, depth, x.len()));
    assert!(lies_in(depth.div_ceil(2), 2 * PANEL, 2 * PANEL, pairs.len()));
    assert!(lies_in(rows, sums_stride, PANEL, sums.len()));
    let configured = (together && has_amx_bf16() && rows >= UNIT).then(TileConfig::new);
    // Each tile asks for a part of what comes next.
    let ahead_step = size_of::<Pair>().div_ceil(rows.div_ceil(TILE_ROWS));
    // SAFETY: the assertions; the CPU has the instructions.
    unsafe {
        let (x, sums) = ((x.as_ptr(), x_stride), (sums.as_mut_ptr(), sums_stride));
        let pairs = (pairs.as_ptr().cast(), next.cast(), ahead_step);
        add_products(rows, x, pairs, depth, sums, configured.as_ref());
    }
}

/// The products of [`add_panel`] and [`add_paired`]: by matrices where those are configured. With the pairs comes what is
/// read after them, and how many bytes of it each tile asks for at each pair.
///
/// # Safety
/// All must be valid for as many numbers as the sizes say, but what is read later; the CPU must have the instructions.
unsafe fn add_products(
    rows: usize,
    (x, x_stride): (*const bf16, usize),
    (pairs, next, ahead_step): (*const Pair, *const Pair, usize),
    depth: usize,
    (sums, sums_stride): (*mut f32, usize),
    configured: Option<&TileConfig>,
) {
    let matrices = if configured.is_some() { rows / UNIT } else { 0 };
    // SAFETY: the caller's.
    unsafe {
        let tiles_of = |rows: Range<usize>, begin: usize| {
            for (at, part) in tiles(rows.len(), TILE_ROWS).enumerate() {
                let first = rows.start + part.start;
                let tile = Tile {
                    depth: depth - begin,
                    x: x.add(first * x_stride + begin),
                    x_stride,
                    pairs: pairs.add(begin / 2),
                    sums: sums.add(first * sums_stride),
                    sums_stride,
                    ahead: next.wrapping_byte_add(at * depth / 2 * ahead_step),
                    ahead_step,
                };
                tile.compute(part.len());
            }
        };
        if let Some(configured) = configured {
            let blocks = depth / amx::DEPTH;
            for first in (0..matrices).map(|at| at * UNIT) {
                let rows = (x.add(first * x_stride), x_stride);
                let sums = (sums.add(first * sums_stride), sums_stride);
                add_pairs(configured, rows, pairs, blocks, sums);
            }
            let begin = blocks * amx::DEPTH;
            if begin < depth {
                tiles_of(0..matrices * UNIT, begin);
            }
        }
        tiles_of(matrices * UNIT..rows, 0);
    }
}

/// The product of one row and lines in pairs, added to 32 `sums`. Four sums are kept for each column, or the sums would
/// wait for each other.
///
/// # Panics
/// Where the CPU lacks the instruction, or there are fewer pairs of lines than of numbers.
pub(crate) fn add_row(x: &[bf16], pairs: &[bf16], sums: &mut [f32; PANEL]) {
    assert!(has_avx512_bf16());
    let (x, pairs) = (x.as_chunks().0, pairs.as_chunks().0);
    assert!(pairs.len() >= x.len());
    // SAFETY: the CPU has the instructions.
    unsafe { row(x, &pairs[..x.len()], sums) }
}

/// # Safety
/// The CPU must have the instructions; there are as many pairs of lines as of numbers.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn row(x: &[[bf16; 2]], pairs: &[Pair], sums: &mut [f32; PANEL]) {
    // SAFETY: pairs of numbers and lines are below the length of both slices.
    unsafe {
        let mut all = [[_mm512_setzero_ps(); 2]; 4];
        let add = |sum: &mut [__m512; 2], at: usize| {
            let x = x.as_ptr().add(at).cast::<i32>().read_unaligned();
            let x = Bf16x32::of(_mm512_set1_epi32(x)).0;
            let pair: *const __m512i = pairs.as_ptr().add(at).cast();
            for half in 0..2 {
                let factors = Bf16x32::of(_mm512_loadu_si512(pair.add(half))).0;
                sum[half] = _mm512_dpbf16_ps(sum[half], x, factors);
            }
        };
        let whole = x.len() / 4 * 4;
        for at in (0..whole).step_by(4) {
            for part in 0..4 {
                add(&mut all[part], at + part);
            }
        }
        for at in whole..x.len() {
            add(&mut all[at - whole], at);
        }
        for half in 0..2 {
            let [a, b, c, d] = all.map(|sum| sum[half]);
            let product = _mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d));
            let to = sums.as_mut_ptr().add(16 * half);
            _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), product));
        }
    }
}

/// Puts `depth` lines in pairs; zeros are beside the last one where it has no other.
///
/// # Safety
/// The lines must be valid; the CPU must have the instructions.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn pair_up(
    first: *const bf16,
    stride: usize,
    depth: usize,
    width: usize,
    pairs: &mut [Pair],
) {
    /// For a half of the columns, the positions in both lines: those of the second begin at 32.
    const fn positions(from: i16) -> [i16; 32] {
        let mut positions = [0; 32];
        let mut column = 0;
        while column < 16 {
            positions[2 * column] = from + column as i16;
            positions[2 * column + 1] = 32 + from + column as i16;
            column += 1;
        }
        positions
    }
    const PLACES: [[i16; 32]; 2] = [positions(0), positions(16)];
    let mask = u32::MAX >> (PANEL - width);
    // SAFETY: the mask leaves out what lies beyond a line; lines are below `depth`.
    unsafe {
        let [low, high] =
            PLACES.each_ref().map(|positions| _mm512_loadu_si512(positions.as_ptr().cast()));
        for (at, pair) in pairs.iter_mut().enumerate() {
            let line = first.add(2 * at * stride);
            let one = _mm512_maskz_loadu_epi16(mask, line.cast());
            let other = match 2 * at + 1 < depth {
                true => _mm512_maskz_loadu_epi16(mask, line.add(stride).cast()),
                false => _mm512_setzero_si512(),
            };
            let to: *mut __m512i = pair.as_mut_ptr().cast();
            _mm512_storeu_si512(to, _mm512_permutex2var_epi16(one, low, other));
            _mm512_storeu_si512(to.add(1), _mm512_permutex2var_epi16(one, high, other));
        }
    }
}

/// Some rows of `depth` numbers, as many lines in pairs, and 32 sums for each row.
#[derive(Clone, Copy)]
struct Tile {
    depth: usize,
    x: *const bf16,
    x_stride: usize,
    pairs: *const Pair,
    sums: *mut f32,
    sums_stride: usize,
    /// What is read soon, which need not be valid, and how far apart the bytes of it are that are asked for.
    ahead: *const Pair,
    ahead_step: usize,
}

impl Tile {
    /// # Safety
    /// The operands must be valid for what the fields say, and for this many rows, at most [`TILE_ROWS`];
    /// the CPU must have the instructions.
    unsafe fn compute(self, rows: usize) {
        macro_rules! by_rows {
            ($($rows:literal)*) => {
                match rows {
                    // SAFETY: the caller's.
                    $($rows => unsafe { self.rows::<$rows>() },)*
                    _ => unreachable!("tiles have as many rows as registers hold"),
                }
            };
        }
        by_rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    }

    /// # Safety
    /// As [`Tile::compute`], for `ROWS` rows.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn rows<const ROWS: usize>(self) {
        let Tile { depth, x, x_stride, pairs, sums, sums_stride, ahead, ahead_step } = self;
        // SAFETY: pairs of numbers are below `depth`, rows below `ROWS`; a register of 32 numbers holds any
        // bits.
        unsafe {
            let mut all = [[_mm512_setzero_ps(); 2]; ROWS];
            for r in 0..ROWS {
                let sums = sums.add(r * sums_stride);
                all[r] = [_mm512_loadu_ps(sums), _mm512_loadu_ps(sums.add(16))];
            }
            let factors = |at: usize| {
                let pair: *const __m512i = pairs.add(at).cast();
                [_mm512_loadu_si512(pair), _mm512_loadu_si512(pair.add(1))]
                    .map(|half| Bf16x32::of(half).0)
            };
            let add = |all: &mut [__m512; 2], x: i32, factors: [__m512bh; 2]| {
                let x = Bf16x32::of(_mm512_set1_epi32(x)).0;
                all[0] = _mm512_dpbf16_ps(all[0], x, factors[0]);
                all[1] = _mm512_dpbf16_ps(all[1], x, factors[1]);
            };
            for at in 0..depth / 2 {
                let factors = factors(at);
                prefetch_far(ahead.wrapping_byte_add(at * ahead_step).cast());
                for r in 0..ROWS {
                    let x = x.add(r * x_stride + 2 * at).cast::<i32>().read_unaligned();
                    add(&mut all[r], x, factors);
                }
            }
            if !depth.is_multiple_of(2) {
                let factors = factors(depth / 2);
                for r in 0..ROWS {
                    let last = *x.add(r * x_stride + depth - 1);
                    add(&mut all[r], i32::from(last.to_bits()), factors);
                }
            }
            for r in 0..ROWS {
                let sums = sums.add(r * sums_stride);
                _mm512_storeu_ps(sums, all[r][0]);
                _mm512_storeu_ps(sums.add(16), all[r][1]);
            }
        }
    }
}

/// 32 numbers: [`DotVector`] where the CPU has the instruction.
#[derive(Clone, Copy)]
pub(crate) struct Bf16x32(__m512bh);

impl Bf16x32 {
    #[inline(always)]
    unsafe fn of(bits: __m512i) -> Bf16x32 {
        // SAFETY: numbers of this kind may have any bits.
        Bf16x32(unsafe { std::mem::transmute::<__m512i, __m512bh>(bits) })
    }
}

// SAFETY: callers see to the instructions and to pointers.
impl DotVector for Bf16x32 {
    type Number = bf16;
    type Sums = Avx512;
    const COUNT: usize = 32;

    #[inline(always)]
    unsafe fn load(from: *const bf16) -> Self {
        // SAFETY: the caller sees to the instructions, and the pointer is valid for what is read or written.
        unsafe { Bf16x32::of(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const bf16, count: usize) -> Self {
        // SAFETY: the caller sees to the instructions; no more is read than the pointer is valid for.
        unsafe { Bf16x32::of(_mm512_maskz_loadu_epi16((1 << count) - 1, from.cast())) }
    }

    #[inline(always)]
    unsafe fn add(sums: Avx512, a: Self, b: Self) -> Avx512 {
        // SAFETY: the caller sees to the instructions; they work on registers alone.
        Avx512(unsafe { _mm512_dpbf16_ps(sums.0, a.0, b.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_added_whatever_the_sizes() {
        if !has_avx512_bf16() {
            return;
        }
        let number = |i: usize| bf16::from_f32((i * 29 % 31) as f32 - 15.0);
        let sizes = [
            [1, 1, 1],
            [2, 7, 32],
            [15, 256, 5],
            [29, 259, 31],
            [3, 0, 9],
            [32, 64, 32],
            [70, 300, 31],
            [64, 31, 32],
        ];
        for [rows, depth, width] in sizes {
            let (x_stride, stride, sums_stride) = (depth + 3, width + 2, 40);
            let x: Vec<bf16> = (0..rows * x_stride).map(number).collect();
            let all: Vec<bf16> = (0..depth * stride).map(|i| number(i + 7)).collect();
            let mut sums = vec![0.5f32; rows * sums_stride];
            let lines = Bf16Lines { all: &all, stride, depth, width };
            add_panel(rows, (&x, x_stride), lines, (&mut sums, sums_stride), rows > 3);
            for (at, &sum) in sums.iter().enumerate() {
                let (row, column) = (at / sums_stride, at % sums_stride);
                let product =
                    |i: usize| x[row * x_stride + i].to_f32() * all[i * stride + column].to_f32();
                let counts = if column < width { depth } else { 0 };
                let exact = (0..counts).map(product).sum::<f32>() + 0.5;
                assert_eq!(sum, exact, "{rows} {depth} {width}, row {row}, column {column}");
            }
        }
    }
}
