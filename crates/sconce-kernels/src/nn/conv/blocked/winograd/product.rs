//! The product of transformed tiles and transformed weights for one position: a few tiles of one or two blocks of
//! result channels in registers.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use sconce_kernel_core::simd::dispatch::{Level, prefetch_far};
#[cfg(target_arch = "aarch64")]
use sconce_kernel_core::simd::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::{Avx2, Avx512};
use sconce_kernel_core::simd::lanes::{LANES, Lanes, Portable};

use super::super::tile::{compiled_for, for_each_index};

/// How many channels are added up before their sum is added to that of the channels before: sums of many numbers, one
/// after the other, lose more to rounding, and what is lost here grows when products become pixels.
const SUM: usize = 32;

/// The operands for one position.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    /// `[tile][channel]` for each block of input channels, blocks `block` numbers apart.
    pub(super) input: &'a [f32],
    pub(super) block: usize,
    pub(super) tiles: usize,
    /// Input channels.
    pub(super) channels: usize,
    /// `[input channel][result channel]` of one or two blocks of result channels.
    pub(super) weights: &'a [f32],
    /// What weights come next, of as many numbers: it is brought near meanwhile.
    pub(super) next: Option<&'a [f32]>,
}

/// Multiplies; `out` is `[tile][channel]` of one block of result channels, or of two.
pub(super) fn multiply(level: Level, product: &Product<'_>, out: [&mut [f32]; 2]) {
    let blocks = if out[1].is_empty() { 1 } else { 2 };
    let Product { block, tiles, channels, .. } = *product;
    let last = (channels.div_ceil(LANES).max(1) - 1).checked_mul(block);
    let reach = last.and_then(|last| last.checked_add(tiles * LANES));
    assert!(reach.is_some_and(|reach| reach <= product.input.len()), "tiles that are not there");
    assert!(product.weights.len() >= channels * blocks * LANES);
    assert!(out[0].len() >= tiles * LANES && (blocks == 1 || out[1].len() >= tiles * LANES));
    // SAFETY: the assertions hold every access against the slices; `or_best` gives a level that this CPU has.
    unsafe {
        match level.or_best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512(product, out, blocks),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => by_blocks_avx2(product, out, blocks),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => by_blocks_neon(product, out, blocks),
            Level::Baseline => by_blocks::<Portable>(product, out, blocks),
        }
    }
}

/// # Safety
/// What [`multiply`] asserts must hold; the CPU must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(product: &Product<'_>, out: [&mut [f32]; 2], blocks: usize) {
    let [a, b] = out.map(<[f32]>::as_mut_ptr);
    // SAFETY: the caller's.
    unsafe {
        match blocks {
            1 => tiles::<Avx512, 1, 1, 14>(product, 0, [a]),
            _ => tiles::<Avx512, 2, 2, 14>(product, 0, [a, b]),
        }
    }
}

compiled_for!("x86_64", "avx2,fma", by_blocks_avx2, Avx2, by_blocks,
    (product: &Product<'_>, out: [&mut [f32]; 2], blocks: usize) -> ());
compiled_for!("aarch64", "neon", by_blocks_neon, Neon, by_blocks,
    (product: &Product<'_>, out: [&mut [f32]; 2], blocks: usize) -> ());

/// One block of result channels after the other, six tiles at a time, as in direct convolution.
///
/// # Safety
/// What [`multiply`] asserts must hold; the CPU must have what `V` needs.
#[inline(always)]
unsafe fn by_blocks<V: Lanes>(product: &Product<'_>, out: [&mut [f32]; 2], blocks: usize) {
    for (block, out) in out.into_iter().take(blocks).enumerate() {
        // SAFETY: the caller's.
        unsafe {
            match blocks {
                1 => tiles::<V, 1, 1, 6>(product, block, [out.as_mut_ptr()]),
                _ => tiles::<V, 2, 1, 6>(product, block, [out.as_mut_ptr()]),
            }
        }
    }
}

/// Cuts the tiles evenly into parts of at most `P`. The weights are those of `W` blocks, of which `B` from `first` on
/// are computed.
///
/// # Safety
/// What [`multiply`] asserts must hold; the CPU must have what `V` needs.
#[inline(always)]
unsafe fn tiles<V: Lanes, const W: usize, const B: usize, const P: usize>(
    product: &Product<'_>,
    first: usize,
    out: [*mut f32; B],
) {
    let parts = product.tiles.div_ceil(P);
    let mut at = 0;
    // The first part brings the next weights near; for others they are those that they read.
    let mut ahead = product.next.map_or(product.weights.as_ptr(), <[f32]>::as_ptr);
    for part in 0..parts {
        let count = (product.tiles - at).div_ceil(parts - part);
        /// A part for each count up to the most that registers hold.
        macro_rules! part_of {
            ($($tiles:literal)*) => {
                match count {
                    $($tiles if $tiles <= P => {
                        // Never more than `P`, for which registers are counted.
                        part_product::<V, W, B, $tiles>(product, first, ahead, out, at);
                    })*
                    _ => {}
                }
            };
        }
        // SAFETY: the caller's; no part goes beyond the tiles.
        unsafe { part_of!(1 2 3 4 5 6 7 8 9 10 11 12 13 14) };
        ahead = product.weights.as_ptr();
        at += count;
    }
}

/// # Safety
/// As [`tiles`]; `at + P` tiles must be there.
#[inline(always)]
unsafe fn part_product<V: Lanes, const W: usize, const B: usize, const P: usize>(
    product: &Product<'_>,
    first: usize,
    ahead: *const f32,
    out: [*mut f32; B],
    at: usize,
) {
    // SAFETY: reads and writes lie in the slices as the caller has checked; what is only brought near need not.
    unsafe {
        let mut weights = product.weights.as_ptr().wrapping_add(first * LANES);
        let mut ahead = ahead.wrapping_add(first * LANES);
        let mut left = product.channels;
        let mut input = product.input.as_ptr().wrapping_add(at * LANES);
        let mut is_first = true;
        while left > 0 {
            let mut sums = [[V::splat(0.0); P]; B];
            for _ in 0..left.min(SUM).div_ceil(LANES) {
                for channel in 0..left.min(LANES) {
                    let mut w = [V::splat(0.0); B];
                    for (b, w) in w.iter_mut().enumerate() {
                        *w = V::load(weights.add(b * LANES));
                        prefetch_far(ahead.wrapping_add(b * LANES));
                    }
                    for_each_index!(p < P, {
                        let x = V::broadcast(input.add(p * LANES + channel));
                        for b in 0..B {
                            sums[b][p] = sums[b][p].fma(x, w[b]);
                        }
                    });
                    weights = weights.wrapping_add(W * LANES);
                    ahead = ahead.wrapping_add(W * LANES);
                }
                left -= left.min(LANES);
                input = input.wrapping_add(product.block);
            }
            for b in 0..B {
                for_each_index!(p < P, {
                    let to = out[b].add((at + p) * LANES);
                    if !is_first {
                        sums[b][p] = sums[b][p].add(V::load(to));
                    }
                    sums[b][p].store(to);
                });
            }
            is_first = false;
        }
    }
}
