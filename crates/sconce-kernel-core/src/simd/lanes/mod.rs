//! Vectors of sixteen `f32`: AVX-512, AVX2 with FMA, NEON, or portable code.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// The number of `f32` in a vector: the channels of a block in the blocked layout.
pub const LANES: usize = 16;

/// Vectors of sixteen numbers.
///
/// # Safety
/// The methods may be called where the CPU has the instructions that the implementation is
/// named after, and only inlined into functions that enable them; pointers must be valid for sixteen
/// numbers (one for `broadcast`).
#[allow(clippy::missing_safety_doc, reason = "the same holds for all methods, and stands above")]
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
    /// For each lane, the number of the lane that it names, which must be of its own half: lanes 0 to 7, or 8 to 15.
    unsafe fn permute(self, lanes: &[u32; LANES]) -> Self;
    /// For each lane, the number of the lane of `other` that it names; where it names none of the sixteen, its own.
    unsafe fn with_lanes_of(self, other: Self, lanes: &[u32; LANES]) -> Self;
    /// All sixteen added up, in an order of its own.
    unsafe fn sum(self) -> f32;
}

/// Portable code, which the compiler turns into what the target has.
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
    unsafe fn permute(self, lanes: &[u32; LANES]) -> Self {
        Portable(lanes.map(|lane| self.0[lane as usize % LANES]))
    }
    #[inline(always)]
    unsafe fn with_lanes_of(self, other: Self, lanes: &[u32; LANES]) -> Self {
        let mut out = self;
        for (out, &lane) in out.0.iter_mut().zip(lanes) {
            *out = other.0.get(lane as usize).copied().unwrap_or(*out);
        }
        out
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
pub use x86_64::{Avx2, Avx512};

#[cfg(target_arch = "aarch64")]
pub use aarch64::Neon;
