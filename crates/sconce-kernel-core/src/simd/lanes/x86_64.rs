//! Sixteen `f32` in registers of x86-64: one of AVX-512, or two of AVX2.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use std::arch::x86_64::*;

use super::{LANES, Lanes};

/// One 512-bit register.
#[derive(Clone, Copy)]
pub struct Avx512(pub __m512);

// SAFETY: callers see to AVX-512F and to pointers; loads and stores need no alignment.
impl Lanes for Avx512 {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        Avx512(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        Avx512(unsafe { _mm512_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: the caller has found the instructions; no more is read than the pointer is valid for.
        Avx512(unsafe { _mm512_maskz_loadu_ps((1 << count) - 1, from) })
    }
    #[inline(always)]
    unsafe fn broadcast(from: *const f32) -> Self {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        Avx512(unsafe { _mm512_set1_ps(*from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        Avx512(unsafe { _mm512_add_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        Avx512(unsafe { _mm512_mul_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        Avx512(unsafe { _mm512_fmadd_ps(a.0, b.0, self.0) })
    }
    #[inline(always)]
    unsafe fn at_least(self, low: Self) -> Self {
        // Gives the second operand where one is NaN.
        // SAFETY: the caller has found the instructions; they work on registers alone.
        Avx512(unsafe { _mm512_max_ps(low.0, self.0) })
    }
    #[inline(always)]
    unsafe fn at_most(self, high: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        Avx512(unsafe { _mm512_min_ps(high.0, self.0) })
    }
    #[inline(always)]
    unsafe fn permute(self, lanes: &[u32; LANES]) -> Self {
        // SAFETY: the caller has found the instructions; the array holds sixteen numbers.
        Avx512(unsafe { _mm512_permutexvar_ps(_mm512_loadu_si512(lanes.as_ptr().cast()), self.0) })
    }
    #[inline(always)]
    unsafe fn with_lanes_of(self, other: Self, lanes: &[u32; LANES]) -> Self {
        // SAFETY: the caller has found the instructions; the array holds sixteen numbers.
        unsafe {
            let lanes = _mm512_loadu_si512(lanes.as_ptr().cast());
            let named = _mm512_cmplt_epu32_mask(lanes, _mm512_set1_epi32(LANES as i32));
            Avx512(_mm512_mask_permutexvar_ps(self.0, named, lanes, other.0))
        }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
}

/// Two 256-bit registers.
#[derive(Clone, Copy)]
pub struct Avx2(__m256, __m256);

// SAFETY: callers see to AVX2, FMA and to pointers; loads and stores need no alignment.
impl Lanes for Avx2 {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        let x = unsafe { _mm256_set1_ps(x) };
        Avx2(x, x)
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        unsafe { Avx2(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        /// A window of sixteen entries, from entry 16 - `count` on, has `count` set lanes followed by clear
        /// ones.
        const MASK: [i32; 32] = {
            let mut mask = [0; 32];
            let mut lane = 0;
            while lane < 16 {
                mask[lane] = -1;
                lane += 1;
            }
            mask
        };
        // SAFETY: the caller has found the instructions; no more is read than the pointer is valid for.
        unsafe {
            let mask = MASK.as_ptr().add(16 - count.min(16));
            let (low, high) =
                (_mm256_loadu_si256(mask.cast()), _mm256_loadu_si256(mask.add(8).cast()));
            Avx2(_mm256_maskload_ps(from, low), _mm256_maskload_ps(from.wrapping_add(8), high))
        }
    }
    #[inline(always)]
    unsafe fn broadcast(from: *const f32) -> Self {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        let x = unsafe { _mm256_broadcast_ss(&*from) };
        Avx2(x, x)
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe { Avx2(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe { Avx2(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe { Avx2(_mm256_fmadd_ps(a.0, b.0, self.0), _mm256_fmadd_ps(a.1, b.1, self.1)) }
    }
    #[inline(always)]
    unsafe fn at_least(self, low: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe { Avx2(_mm256_max_ps(low.0, self.0), _mm256_max_ps(low.1, self.1)) }
    }
    #[inline(always)]
    unsafe fn at_most(self, high: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe { Avx2(_mm256_min_ps(high.0, self.0), _mm256_min_ps(high.1, self.1)) }
    }
    #[inline(always)]
    unsafe fn permute(self, lanes: &[u32; LANES]) -> Self {
        // Of each number the three low bits count, which say where in a half.
        // SAFETY: the caller has found the instructions; the array holds sixteen numbers.
        unsafe {
            let low = _mm256_loadu_si256(lanes.as_ptr().cast());
            let high = _mm256_loadu_si256(lanes.as_ptr().add(8).cast());
            Avx2(_mm256_permutevar8x32_ps(self.0, low), _mm256_permutevar8x32_ps(self.1, high))
        }
    }
    #[inline(always)]
    unsafe fn with_lanes_of(self, other: Self, lanes: &[u32; LANES]) -> Self {
        // SAFETY: the caller has found the instructions; the array holds two times eight numbers.
        unsafe {
            Avx2(
                eight_with_lanes_of(self.0, other, lanes.as_ptr()),
                eight_with_lanes_of(self.1, other, lanes.as_ptr().add(8)),
            )
        }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe {
            let eight = _mm256_add_ps(self.0, self.1);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
}

/// Half of [`Lanes::with_lanes_of`].
///
/// # Safety
/// The CPU must have AVX2, and the pointer must be valid for eight numbers.
#[inline(always)]
unsafe fn eight_with_lanes_of(own: __m256, other: Avx2, lanes: *const u32) -> __m256 {
    // SAFETY: the caller's.
    unsafe {
        let lanes = _mm256_loadu_si256(lanes.cast());
        let low = _mm256_permutevar8x32_ps(other.0, lanes);
        let high = _mm256_permutevar8x32_ps(other.1, lanes);
        let is_high = _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(7));
        let found = _mm256_blendv_ps(low, high, _mm256_castsi256_ps(is_high));
        // Numbers are compared with signs: what is not below sixteen is large or negative.
        let is_beyond = _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(LANES as i32 - 1));
        let is_negative = _mm256_cmpgt_epi32(_mm256_setzero_si256(), lanes);
        let is_none = _mm256_or_si256(is_beyond, is_negative);
        _mm256_blendv_ps(found, own, _mm256_castsi256_ps(is_none))
    }
}
