//! The microkernel of blocked convolution for `bfloat16`: one instruction multiplies a pair of input channels and adds
//! both products to a `float32`, twice as much as a multiply-add of `float32` does.
//!
//! Subnormal numbers count as zeros, as in PyTorch where it uses the instruction.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use half::bf16;
use sconce_kernel_core::simd::dispatch::Level;

use super::tile::Row;

/// Whether this CPU has the instruction, and may use it at this level.
pub(super) fn has_pairs(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    return level == Level::Avx512 && sconce_kernel_core::simd::dispatch::has_avx512_bf16();
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// Computes a row of one or two blocks of channels. Its weights are those of
/// [`DerivedWeights`](super::derived_weights::DerivedWeights): pairs of channels side by side.
///
/// # Panics
/// Where the CPU lacks the instruction, or the row does not lie in its slices.
pub(super) fn pair_row(row: &Row<'_, bf16>, out: [&mut [f32]; 2]) {
    #[cfg(target_arch = "x86_64")]
    avx512::pair_row(row, out);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (row, out);
        unreachable!("`has_pairs` says that there are none");
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use half::bf16;
    use sconce_kernel_core::simd::dispatch::{has_avx512_bf16, prefetch_far};
    use sconce_kernel_core::simd::lanes::{Avx512, LANES, Lanes};

    use super::super::tile::{Row, checked_size, finish, for_each_index};

    /// The most pixels of a tile: as many sums of two blocks as registers hold.
    const PIXELS: usize = 14;

    pub(super) fn pair_row(row: &Row<'_, bf16>, out: [&mut [f32]; 2]) {
        if out[0].len() < LANES {
            return;
        }
        let [blocks, pixels] = checked_size(row, &out);
        assert!(has_avx512_bf16() && row.run == LANES);
        let [a, b] = out;
        let out = [a.as_mut_ptr(), b.as_mut_ptr()];
        // SAFETY: `checked_size` holds every access of the tiles against the slices; the CPU has the instructions.
        unsafe {
            match (blocks, row.step) {
                (1, 16) => tiles::<16, 1>(row, [out[0]], pixels),
                (1, 32) => tiles::<32, 1>(row, [out[0]], pixels),
                (1, _) => tiles::<0, 1>(row, [out[0]], pixels),
                (_, 16) => tiles::<16, 2>(row, out, pixels),
                (_, 32) => tiles::<32, 2>(row, out, pixels),
                _ => tiles::<0, 2>(row, out, pixels),
            }
        }
    }

    /// Cuts a row into tiles.
    ///
    /// # Safety
    /// The row's slices must reach as far as [`checked_size`] checks, and the CPU must have the instructions.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16,avx2,fma")]
    unsafe fn tiles<const STEP: usize, const B: usize>(
        row: &Row<'_, bf16>,
        out: [*mut f32; B],
        pixels: usize,
    ) {
        let mut at = 0;
        while at < pixels {
            let ahead = at == 0 && row.ahead > 0;
            // SAFETY: the caller's; no tile has more pixels than are left.
            at += unsafe {
                match pixels - at {
                    // The first tile asks for the weights that come next.
                    PIXELS.. if ahead => tile::<STEP, B, 14, true>(row, out, at),
                    8.. if ahead => tile::<STEP, B, 8, true>(row, out, at),
                    7 if ahead => tile::<STEP, B, 7, true>(row, out, at),
                    PIXELS.. => tile::<STEP, B, 14, false>(row, out, at),
                    8.. => tile::<STEP, B, 8, false>(row, out, at),
                    7 => tile::<STEP, B, 7, false>(row, out, at),
                    4.. => tile::<STEP, B, 4, false>(row, out, at),
                    2.. => tile::<STEP, B, 2, false>(row, out, at),
                    _ => tile::<STEP, B, 1, false>(row, out, at),
                }
            };
        }
    }

    /// # Safety
    /// As [`tiles`]; `at + P` pixels must be there.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16,avx2,fma")]
    #[inline]
    unsafe fn tile<const STEP: usize, const B: usize, const P: usize, const AHEAD: bool>(
        row: &Row<'_, bf16>,
        out: [*mut f32; B],
        at: usize,
    ) -> usize {
        /// Numbers of a line of weights: for each channel of a block two.
        const LINE: usize = 2 * LANES;
        let step = if STEP == 0 { row.step } else { STEP };
        // SAFETY: reads and writes lie in the slices as the caller has checked; numbers of this type may have any bits.
        unsafe {
            let input = row.input.as_ptr().add(row.start + at * step);
            let mut weights = row.weights.as_ptr();
            let mut sums = [[_mm512_setzero_ps(); P]; B];
            for (b, sums) in sums.iter_mut().enumerate() {
                if row.part.first {
                    *sums = [_mm512_loadu_ps(row.bias.as_ptr().add(b * LANES)); P];
                } else {
                    let from = out[b].add(at * LANES);
                    for_each_index!(p < P, {
                        sums[p] = _mm512_loadu_ps(from.add(p * LANES));
                    });
                }
            }
            let bits = |x: __m512i| std::mem::transmute::<__m512i, __m512bh>(x);
            for (element, &offset) in row.offsets.iter().enumerate() {
                let from = input.add(offset);
                let channels = if element < row.whole { LANES } else { row.rest };
                for pair in 0..channels.div_ceil(2) {
                    let mut w = [bits(_mm512_setzero_si512()); B];
                    for (b, w) in w.iter_mut().enumerate() {
                        *w = bits(_mm512_loadu_si512(weights.add(b * LINE).cast()));
                    }
                    for_each_index!(p < P, {
                        let x = from.add(p * step + 2 * pair).cast::<i32>().read_unaligned();
                        let x = bits(_mm512_set1_epi32(x));
                        for b in 0..B {
                            sums[b][p] = _mm512_dpbf16_ps(sums[b][p], x, w[b]);
                        }
                    });
                    if AHEAD {
                        for b in 0..B {
                            prefetch_far(weights.wrapping_add(row.ahead + b * LINE).cast());
                        }
                    }
                    weights = weights.add(B * LINE);
                }
                // The weights of channels that are not there are zero.
                weights = weights.add((LANES / 2 - channels.div_ceil(2)) * B * LINE);
            }
            for b in 0..B {
                let to = out[b].add(at * LANES);
                for_each_index!(p < P, {
                    let mut value = Avx512(sums[b][p]);
                    if row.part.last {
                        if let Some(residual) = row.residual[b] {
                            let residual = residual.as_ptr().add((at + p) * LANES);
                            value = value.add(Avx512::load(residual));
                        }
                        value = finish(row.activation, value);
                    }
                    value.store(to.add(p * LANES));
                });
            }
        }
        P
    }
}
