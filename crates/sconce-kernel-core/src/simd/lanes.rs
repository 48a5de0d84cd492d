//! Vectors of sixteen `f32`: AVX-512, AVX2 with FMA, NEON, or portable code.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

/// How many channels lie side by side in the blocked layout.
pub const LANES: usize = 16;

/// Sixteen numbers that instructions of one kind work on.
///
/// # Safety
/// The methods may be called where the CPU has the instructions that the implementation is
/// named after, and only inlined into functions that enable them; pointers must be valid for sixteen
/// numbers (one for `broadcast`).
pub trait Lanes: Copy {
    /// Sixteen times the same number.
    unsafe fn splat(x: f32) -> Self;
    /// Sixteen numbers from memory of any alignment.
    unsafe fn load(from: *const f32) -> Self;
    /// The first this many numbers, fewer than sixteen, and zeros; the pointer must be valid for those.
    unsafe fn load_first(from: *const f32, count: usize) -> Self;
    /// Sixteen times the number in memory.
    unsafe fn broadcast(from: *const f32) -> Self;
    /// Writes sixteen numbers to memory of any alignment.
    unsafe fn store(self, to: *mut f32);
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self * other`.
    unsafe fn mul(self, other: Self) -> Self;
    /// `self + a * b`.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// The larger; NaN where `self` is NaN.
    unsafe fn at_least(self, low: Self) -> Self;
    /// The smaller; NaN where `self` is NaN.
    unsafe fn at_most(self, high: Self) -> Self;
    /// All sixteen added up, in an order of its own.
    unsafe fn sum(self) -> f32;
}

/// Plain code, which compilers turn into what the target has.
#[derive(Clone, Copy)]
pub struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn with(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut out = self;
        for (out, other) in out.0.iter_mut().zip(other.0) {
            *out = f(*out, other);
        }
        out
    }
}

// SAFETY: no instructions but the target's own; pointers are read and written as the trait allows.
impl Lanes for Portable {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Portable([x; LANES])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: valid for sixteen numbers, of any alignment.
        Portable(unsafe { from.cast::<[f32; LANES]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut all = [0f32; LANES];
        // SAFETY: valid for this many numbers.
        unsafe { from.copy_to_nonoverlapping(all.as_mut_ptr(), count.min(LANES)) };
        Portable(all)
    }
    #[inline(always)]
    unsafe fn broadcast(from: *const f32) -> Self {
        // SAFETY: valid for one number.
        Portable([unsafe { *from }; LANES])
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: valid for sixteen numbers, of any alignment.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        let mut out = self;
        for ((out, a), b) in out.0.iter_mut().zip(a.0).zip(b.0) {
            *out += a * b;
        }
        out
    }
    #[inline(always)]
    unsafe fn at_least(self, low: Self) -> Self {
        self.with(low, |x, low| if x < low { low } else { x })
    }
    #[inline(always)]
    unsafe fn at_most(self, high: Self) -> Self {
        self.with(high, |x, high| if x > high { high } else { x })
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let all = self.0;
        let eight: [f32; 8] = std::array::from_fn(|l| all[l] + all[l + 8]);
        let four: [f32; 4] = std::array::from_fn(|l| eight[l] + eight[l + 4]);
        (four[0] + four[2]) + (four[1] + four[3])
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

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
            /// Set lanes and clear ones: read from this many before the clear ones on, this many are set.
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
        unsafe fn sum(self) -> f32 {
            // SAFETY: the caller has found the instructions; they work on registers alone.
            unsafe {
                let eight = _mm256_add_ps(self.0, self.1);
                let four =
                    _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub use neon::Neon;

#[cfg(target_arch = "aarch64")]
mod neon {
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
        unsafe fn sum(self) -> f32 {
            // SAFETY: the caller has found the instructions; they work on registers alone.
            unsafe {
                let four = vaddq_f32(vaddq_f32(self.0, self.2), vaddq_f32(self.1, self.3));
                vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)))
            }
        }
    }
}
