//! Vector registers whose products are summed: what the dot product kernels are generic over.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see the safety comments")]

use sconce_kernel_core::simd::lanes::{LANES, Lanes};

/// Numbers of a kind side by side, and what adds their products up.
///
/// # Safety
/// As [`Lanes`].
pub(crate) trait DotVector: Copy {
    type Number: Copy;
    type Sums: Lanes;
    const COUNT: usize;
    unsafe fn load(from: *const Self::Number) -> Self;
    /// The first this many numbers, fewer than there are positions, and zeros.
    unsafe fn load_first(from: *const Self::Number, count: usize) -> Self;
    unsafe fn add(sums: Self::Sums, a: Self, b: Self) -> Self::Sums;
}

// SAFETY: what `Lanes` asks for.
impl<V: Lanes> DotVector for V {
    type Number = f32;
    type Sums = V;
    const COUNT: usize = LANES;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> V {
        // SAFETY: the caller sees to the instructions, and the pointer is valid for what is read or written.
        unsafe { Lanes::load(from) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> V {
        // SAFETY: the caller sees to the instructions; no more is read than the pointer is valid for.
        unsafe { Lanes::load_first(from, count) }
    }

    #[inline(always)]
    unsafe fn add(sums: V, a: V, b: V) -> V {
        // SAFETY: the caller sees to the instructions; they work on registers alone.
        unsafe { sums.fma(a, b) }
    }
}
