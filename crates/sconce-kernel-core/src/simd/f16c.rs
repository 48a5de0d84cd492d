//! Conversions and arithmetic of `float16` by instructions: F16C and AVX-512.
#![allow(unsafe_code, reason = "instructions that were found to be there; see the safety comments")]

use std::arch::x86_64::{
    __m128i, __m256i, __m512, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128,
    _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_storeu_ps,
    _mm256_storeu_si256, _mm512_add_ps, _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_loadu_ps,
    _mm512_mul_ps, _mm512_storeu_ps, _mm512_sub_ps,
};

use half::f16;

use crate::simd::arithmetic::Arithmetic;
use crate::simd::dispatch::{Level, best, has_f16c};

/// Elements that one instruction converts; with AVX-512 twice as many.
const LANES: usize = 8;

/// A vector of AVX-512.
type Wide = [f16; 2 * LANES];

/// Widens the elements that fill whole vectors, where there are instructions for it: how many they were.
pub fn widen(xs: &[f16], wide: &mut [f32]) -> usize {
    #[target_feature(enable = "avx,f16c")]
    fn run(xs: &[[f16; LANES]], wide: &mut [[f32; LANES]]) {
        for (xs, wide) in xs.iter().zip(wide) {
            // SAFETY: both are arrays of as many elements as are read and written.
            unsafe {
                let halves = _mm_loadu_si128(xs.as_ptr().cast::<__m128i>());
                _mm256_storeu_ps(wide.as_mut_ptr(), _mm256_cvtph_ps(halves));
            }
        }
    }
    #[target_feature(enable = "avx512f")]
    fn run_wide(xs: &[Wide], wide: &mut [[f32; 2 * LANES]]) {
        for (xs, wide) in xs.iter().zip(wide) {
            // SAFETY: both are arrays of as many elements as are read and written.
            unsafe {
                let halves = _mm256_loadu_si256(xs.as_ptr().cast::<__m256i>());
                _mm512_storeu_ps(wide.as_mut_ptr(), _mm512_cvtph_ps(halves));
            }
        }
    }
    let mut done = 0;
    if best() == Level::Avx512 {
        let (xs, wide) = (xs.as_chunks().0, wide.as_chunks_mut().0);
        // SAFETY: the CPU has the instructions.
        unsafe { run_wide(xs, wide) };
        done = xs.len().min(wide.len()) * 2 * LANES;
    }
    if !has_f16c() {
        return done;
    }
    let (xs, wide) = (xs[done..].as_chunks().0, wide[done..].as_chunks_mut().0);
    // SAFETY: the CPU has the instructions.
    unsafe { run(xs, wide) };
    done + xs.len().min(wide.len()) * LANES
}

/// Rounds the elements that fill whole vectors, as [`widen`].
pub fn narrow(wide: &[f32], out: &mut [f16]) -> usize {
    #[target_feature(enable = "avx,f16c")]
    fn run(wide: &[[f32; LANES]], out: &mut [[f16; LANES]]) {
        for (wide, out) in wide.iter().zip(out) {
            // SAFETY: both are arrays of as many elements as are read and written.
            unsafe {
                let numbers = _mm256_loadu_ps(wide.as_ptr());
                let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(numbers);
                _mm_storeu_si128(out.as_mut_ptr().cast::<__m128i>(), halves);
            }
        }
    }
    #[target_feature(enable = "avx512f")]
    fn run_wide(wide: &[[f32; 2 * LANES]], out: &mut [Wide]) {
        for (wide, out) in wide.iter().zip(out) {
            // SAFETY: both are arrays of as many elements as are read and written.
            unsafe {
                let numbers = _mm512_loadu_ps(wide.as_ptr());
                let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(numbers);
                _mm256_storeu_si256(out.as_mut_ptr().cast::<__m256i>(), halves);
            }
        }
    }
    let mut done = 0;
    if best() == Level::Avx512 {
        let (wide, out) = (wide.as_chunks().0, out.as_chunks_mut().0);
        // SAFETY: the CPU has the instructions.
        unsafe { run_wide(wide, out) };
        done = wide.len().min(out.len()) * 2 * LANES;
    }
    if !has_f16c() {
        return done;
    }
    let (wide, out) = (wide[done..].as_chunks().0, out[done..].as_chunks_mut().0);
    // SAFETY: the CPU has the instructions.
    unsafe { run(wide, out) };
    done + wide.len().min(out.len()) * LANES
}

/// Applies an operator that is one instruction to the pairs that fill whole vectors, as [`widen`].
pub fn zip(op: Arithmetic, xs: &[f16], ys: &[f16], out: &mut [f16]) -> usize {
    #[target_feature(enable = "avx512f")]
    fn run(xs: &[Wide], ys: &[Wide], out: &mut [Wide], f: impl Fn(__m512, __m512) -> __m512) {
        for ((xs, ys), out) in xs.iter().zip(ys).zip(out) {
            // SAFETY: all are arrays of as many elements as are read and written.
            unsafe {
                let x = _mm512_cvtph_ps(_mm256_loadu_si256(xs.as_ptr().cast::<__m256i>()));
                let y = _mm512_cvtph_ps(_mm256_loadu_si256(ys.as_ptr().cast::<__m256i>()));
                let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(f(x, y));
                _mm256_storeu_si256(out.as_mut_ptr().cast::<__m256i>(), halves);
            }
        }
    }
    if best() != Level::Avx512 {
        return 0;
    }
    let (xs, ys, out) = (xs.as_chunks().0, ys.as_chunks().0, out.as_chunks_mut().0);
    let done = xs.len().min(ys.len()).min(out.len()) * 2 * LANES;
    // SAFETY: the CPU has the instructions.
    unsafe {
        match op {
            Arithmetic::Add => run(xs, ys, out, |x, y| _mm512_add_ps(x, y)),
            Arithmetic::Sub => run(xs, ys, out, |x, y| _mm512_sub_ps(x, y)),
            Arithmetic::Mul => run(xs, ys, out, |x, y| _mm512_mul_ps(x, y)),
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::half_precision::Half;

    #[test]
    fn instructions_give_what_single_conversions_give() {
        // Miri takes hours for all.
        const EACH: usize = if cfg!(miri) { 1009 } else { 1 };
        let halves: Vec<f16> = (0..=u16::MAX).step_by(EACH).map(f16::from_bits).collect();
        let mut wide = vec![0f32; halves.len()];
        let done = widen(&halves, &mut wide);
        for (half, &wide) in halves[..done].iter().zip(&wide) {
            assert!(half.widened().to_bits() == wide.to_bits() || wide.is_nan() && half.is_nan());
        }
        let numbers: Vec<f32> =
            (0..1 << 20).step_by(EACH).map(|i: u32| f32::from_bits(i << 12 | i & 0xfff)).collect();
        let mut out = vec![f16::ZERO; numbers.len()];
        let done = narrow(&numbers, &mut out);
        assert_eq!(done, if has_f16c() { numbers.len() } else { 0 });
        for (&x, half) in numbers[..done].iter().zip(&out) {
            let expected = <f16 as Half>::nearest(x);
            assert!(expected.to_bits() == half.to_bits() || x.is_nan() && half.is_nan(), "{x:e}");
        }
    }
}
