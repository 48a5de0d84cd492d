//! Half precision: conversions to and from `f32`.
#![allow(clippy::redundant_closure, reason = "what is inlined for certain is a closure")]

use half::{bf16, f16};

use crate::PodElement;
use crate::layout::strided_iter::Strided;
use crate::simd::arithmetic::Arithmetic;
use crate::simd::map_slice::map_slice;

/// A type of half precision. Its conversions have no branches, so that loops over them are vector code.
pub trait Half: PodElement {
    /// Whether one shift widens a number.
    const BY_SHIFT: bool;

    /// The same number.
    fn widened(self) -> f32;
    /// The nearest number, of two that are as near the even one.
    fn nearest(x: f32) -> Self;
    /// Conversions of as many elements as the CPU has instructions for: how many were done.
    fn widen_by_instructions(_xs: &[Self], _wide: &mut [f32]) -> usize {
        0
    }
    /// As [`Half::widen_by_instructions`], an operator of pairs.
    fn zip_by_instructions(_: Arithmetic, _xs: &[Self], _ys: &[Self], _out: &mut [Self]) -> usize {
        0
    }
    /// As [`Half::widen_by_instructions`], to the nearest numbers.
    fn narrow_by_instructions(_wide: &[f32], _out: &mut [Self]) -> usize {
        0
    }
}

impl Half for f16 {
    const BY_SHIFT: bool = false;

    #[cfg(target_arch = "x86_64")]
    fn zip_by_instructions(op: Arithmetic, xs: &[f16], ys: &[f16], out: &mut [f16]) -> usize {
        crate::simd::f16c::zip(op, xs, ys, out)
    }

    #[inline(always)]
    fn widened(self) -> f32 {
        /// 2^112, between the exponents of both types.
        const SCALE: f32 = f32::from_bits((127 + 112) << 23);
        let bits = u32::from(self.to_bits());
        let number = f32::from_bits((bits & 0x7fff) << 13) * SCALE;
        // All bits of the exponent are set in what is infinite or NaN.
        let is_finite = bits & 0x7c00 != 0x7c00;
        let special = 0x7f80_0000 | ((bits & 0x03ff) << 13);
        let size = if is_finite { number.to_bits() } else { special };
        f32::from_bits(size | ((bits & 0x8000) << 16))
    }

    #[inline(always)]
    fn nearest(x: f32) -> f16 {
        let bits = x.to_bits();
        let size = bits & 0x7fff_ffff;
        // Half of the last place, and a little less where that is even; and another exponent.
        let normal = size.wrapping_add(0xc800_0fff + ((size >> 13) & 1)) >> 13;
        // Added to 1/2, a small number has its last place where that of a subnormal one is.
        let small = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let rounded = if size < 0x3880_0000 { small } else { normal };
        let finite = if size < 0x4780_0000 { rounded } else { 0x7c00 };
        let quiet = 0x7e00 | ((size >> 13) & 0x03ff);
        let half = if size > 0x7f80_0000 { quiet } else { finite };
        f16::from_bits((half | ((bits >> 16) & 0x8000)) as u16)
    }

    #[cfg(target_arch = "x86_64")]
    fn widen_by_instructions(xs: &[f16], wide: &mut [f32]) -> usize {
        crate::simd::f16c::widen(xs, wide)
    }

    #[cfg(target_arch = "x86_64")]
    fn narrow_by_instructions(wide: &[f32], out: &mut [f16]) -> usize {
        crate::simd::f16c::narrow(wide, out)
    }
}

impl Half for bf16 {
    const BY_SHIFT: bool = true;

    #[inline(always)]
    fn widened(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn nearest(x: f32) -> bf16 {
        let bits = x.to_bits();
        // Half of the last place, and a little less where that is even.
        let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
        let kept = if x.is_nan() { bits | 0x0040_0000 } else { nearest };
        bf16::from_bits((kept >> 16) as u16)
    }
}

/// Fills a slice with the same numbers.
pub fn widen<H: Half>(xs: &[H], wide: &mut [f32]) {
    let done = H::widen_by_instructions(xs, wide);
    if done == xs.len() {
        return;
    }
    map_slice(
        &xs[done..],
        &mut wide[done..],
        #[inline(always)]
        |x: H| x.widened(),
    );
}

/// Fills a slice with the nearest numbers.
pub fn narrow<H: Half>(wide: &[f32], out: &mut [H]) {
    let done = H::narrow_by_instructions(wide, out);
    if done == wide.len() {
        return;
    }
    map_slice(
        &wide[done..],
        &mut out[done..],
        #[inline(always)]
        |x| H::nearest(x),
    );
}

/// As many elements as there is space for, side by side; one that is repeated stays one.
pub fn widened<'a, H: Half>((xs, step): Strided<'_, H>, wide: &'a mut [f32]) -> Strided<'a, f32> {
    match step {
        0 => wide[0] = xs[0].widened(),
        1 => widen(xs, wide),
        _ => {
            let some = xs.iter().step_by(step);
            wide.iter_mut().zip(some).for_each(|(wide, x)| *wide = x.widened());
        }
    }
    (wide, step.min(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_those_of_single_numbers() {
        // Miri takes hours for all.
        const EACH: usize = if cfg!(miri) { 1009 } else { 1 };
        for bits in (0..=u16::MAX).step_by(EACH) {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            for (found, expected) in
                [(half.widened(), half.to_f32()), (brain.widened(), brain.to_f32())]
            {
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
                );
            }
        }
        let spread = (0..=u32::MAX).step_by(4999 * EACH).map(f32::from_bits);
        // Halfway between two numbers, and next to that.
        let ties = (0..=u16::MAX).step_by(EACH).flat_map(|bits| {
            let bits = f16::from_bits(bits).to_f32().to_bits();
            [0x0fff, 0x1000, 0x1001].map(|more| f32::from_bits(bits.wrapping_add(more)))
        });
        let small = (0..3000).map(|i| i as f32 * 0.25 * 2f32.powi(-24));
        for x in spread.chain(ties).chain(small) {
            let (half, brain) = (f16::nearest(x), bf16::nearest(x));
            let same = half.to_bits() == f16::from_f32(x).to_bits();
            assert!(same || half.is_nan() && x.is_nan(), "{x:e}");
            let same = brain.to_bits() == bf16::from_f32(x).to_bits();
            assert!(same || brain.is_nan() && x.is_nan(), "{x:e}");
        }
    }
}
