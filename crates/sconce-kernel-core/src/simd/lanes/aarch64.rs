//! Sixteen `f32` in registers of AArch64: four of NEON.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use std::arch::aarch64::*;

use super::{LANES, Lanes};

/// Four 128-bit registers.
#[derive(Clone, Copy)]
pub struct Neon(float32x4_t, float32x4_t, float32x4_t, float32x4_t);

impl Neon {
    #[inline(always)]
    fn with(self, b: Self, f: impl Fn(float32x4_t, float32x4_t) -> float32x4_t) -> Self {
        Neon(f(self.0, b.0), f(self.1, b.1), f(self.2, b.2), f(self.3, b.3))
    }
}

/// Copies this many numbers, and gives the positions after them.
///
/// # Safety
/// The pointers must be valid for them.
#[inline(always)]
unsafe fn copy<const N: usize>((from, to): (*const f32, *mut f32)) -> (*const f32, *mut f32) {
    // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
    unsafe {
        from.copy_to_nonoverlapping(to, N);
        (from.add(N), to.add(N))
    }
}

// SAFETY: callers see to NEON and to pointers; loads and stores need no alignment.
impl Lanes for Neon {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        let x = unsafe { vdupq_n_f32(x) };
        Neon(x, x, x, x)
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        unsafe {
            Neon(
                vld1q_f32(from),
                vld1q_f32(from.add(4)),
                vld1q_f32(from.add(8)),
                vld1q_f32(from.add(12)),
            )
        }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut all = [0f32; LANES];
        let mut at = (from, all.as_mut_ptr());
        // One copy of any length would be a call.
        // SAFETY: the caller has found the instructions; no more is read than the pointer is valid for.
        unsafe {
            if count & 8 != 0 {
                at = copy::<8>(at);
            }
            if count & 4 != 0 {
                at = copy::<4>(at);
            }
            if count & 2 != 0 {
                at = copy::<2>(at);
            }
            if count & 1 != 0 {
                copy::<1>(at);
            }
            Lanes::load(all.as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn broadcast(from: *const f32) -> Self {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        let x = unsafe { vld1q_dup_f32(from) };
        Neon(x, x, x, x)
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller has found the instructions, and the pointer is valid for what is read or written.
        unsafe {
            vst1q_f32(to, self.0);
            vst1q_f32(to.add(4), self.1);
            vst1q_f32(to.add(8), self.2);
            vst1q_f32(to.add(12), self.3);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        self.with(other, |a, b| unsafe { vaddq_f32(a, b) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        self.with(other, |a, b| unsafe { vmulq_f32(a, b) })
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe {
            Neon(
                vfmaq_f32(self.0, a.0, b.0),
                vfmaq_f32(self.1, a.1, b.1),
                vfmaq_f32(self.2, a.2, b.2),
                vfmaq_f32(self.3, a.3, b.3),
            )
        }
    }
    #[inline(always)]
    unsafe fn at_least(self, low: Self) -> Self {
        // Not by `vmaxq_f32`, which gives NaN where either is, and +0 where both are zeros.
        // SAFETY: the caller has found the instructions; they work on registers alone.
        self.with(low, |x, low| unsafe { vbslq_f32(vcltq_f32(x, low), low, x) })
    }
    #[inline(always)]
    unsafe fn at_most(self, high: Self) -> Self {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        self.with(high, |x, high| unsafe { vbslq_f32(vcgtq_f32(x, high), high, x) })
    }
    #[inline(always)]
    unsafe fn permute(self, lanes: &[u32; LANES]) -> Self {
        let mut all = [0f32; LANES];
        // SAFETY: the caller has found the instructions; both arrays hold sixteen numbers.
        unsafe {
            Lanes::store(self, all.as_mut_ptr());
            Lanes::load(lanes.map(|lane| all[lane as usize % LANES]).as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn with_lanes_of(self, other: Self, lanes: &[u32; LANES]) -> Self {
        let (mut own, mut all) = ([0f32; LANES], [0f32; LANES]);
        // SAFETY: the caller has found the instructions; both arrays hold sixteen numbers.
        unsafe {
            Lanes::store(self, own.as_mut_ptr());
            Lanes::store(other, all.as_mut_ptr());
            for (own, &lane) in own.iter_mut().zip(lanes) {
                *own = all.get(lane as usize).copied().unwrap_or(*own);
            }
            Lanes::load(own.as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: the caller has found the instructions; they work on registers alone.
        unsafe {
            let four = vaddq_f32(vaddq_f32(self.0, self.2), vaddq_f32(self.1, self.3));
            vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)))
        }
    }
}
