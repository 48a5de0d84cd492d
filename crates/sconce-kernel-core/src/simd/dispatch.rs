//! Dispatch on the CPU: the level of vector instructions it has, and loops compiled for each level.
//!
//! The default x86-64 target has 128-bit vectors only. [`dispatch`] runs a closure in a copy that is
//! compiled for what this CPU has. The closure and what it calls must be inlined for that to matter, so
//! it is written `#[inline(always)] || …`. Multiplications and additions are never fused, and the order
//! of additions is written out: every copy gives the same bits.
//!
//! Instructions beyond the levels ([`has_f16c`], [`has_avx512_bf16`], [`has_amx_bf16`]) are asked about
//! here as well. No other file asks the CPU.
#![allow(unsafe_code, reason = "calls functions compiled for processor features it has checked")]

#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;
use std::sync::OnceLock;

use crate::{DType, Element};

/// Which instructions a copy is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// What the target always has: SSE2 on x86-64.
    Baseline,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512, the parts that every CPU since Skylake-X has.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON. Plain code is compiled for it as well, but leaves most of its registers empty.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The level itself, or the best one where this CPU lacks what it needs.
    #[inline]
    pub fn or_best(self) -> Level {
        let best = best();
        if self.rank() <= best.rank() { self } else { best }
    }

    /// How much a level needs: what has one has all below it.
    #[inline]
    const fn rank(self) -> u8 {
        match self {
            Level::Baseline => 0,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => 1,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => 2,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => 1,
        }
    }

    /// Its usual name.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Baseline => "SSE2",
            #[cfg(not(target_arch = "x86_64"))]
            Level::Baseline => "none",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            Level::Neon => "NEON",
        }
    }

    /// Those that are used on this CPU: tests compare them.
    pub fn all() -> Vec<Level> {
        Level::up_to(best())
    }

    /// Those that this CPU has, used or not.
    pub fn of_cpu() -> Vec<Level> {
        Level::up_to(of_this_cpu())
    }

    fn up_to(best: Level) -> Vec<Level> {
        match best {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => vec![Level::Baseline, Level::Avx2, Level::Avx512],
            Level::Baseline => vec![Level::Baseline],
            best => vec![Level::Baseline, best],
        }
    }
}

/// The level that is used, decided once in a process.
static USED: OnceLock<Level> = OnceLock::new();

/// The best that this CPU has, or what [`limit`] allows of it.
#[inline]
pub fn best() -> Level {
    *USED.get_or_init(of_this_cpu)
}

/// Uses the instructions of `most` and of the levels below it alone, in the whole process: to measure and to try what
/// older CPUs do. To be called before anything is computed. `false` where the CPU lacks that level, or another one has
/// been in use already.
pub fn limit(most: Level) -> bool {
    most.rank() <= of_this_cpu().rank() && *USED.get_or_init(|| most) == most
}

#[cfg(target_arch = "x86_64")]
fn of_this_cpu() -> Level {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Baseline,
    }
}

#[cfg(target_arch = "aarch64")]
fn of_this_cpu() -> Level {
    if std::arch::is_aarch64_feature_detected!("neon") { Level::Neon } else { Level::Baseline }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn of_this_cpu() -> Level {
    Level::Baseline
}

/// Whether this CPU has the instructions that convert `float16`.
#[cfg(target_arch = "x86_64")]
pub fn has_f16c() -> bool {
    static HAS: LazyLock<bool> =
        LazyLock::new(|| is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avx"));
    *HAS
}

/// Whether this CPU multiplies pairs of `bfloat16` (AVX512-BF16).
#[cfg(target_arch = "x86_64")]
pub fn has_avx512_bf16() -> bool {
    static HAS: LazyLock<bool> =
        LazyLock::new(|| best() == Level::Avx512 && is_x86_feature_detected!("avx512bf16"));
    *HAS
}

/// Whether this CPU multiplies matrices of `bfloat16` in registers (AMX), and the operating system
/// lends them.
#[cfg(target_arch = "x86_64")]
pub fn has_amx_bf16() -> bool {
    static HAS: LazyLock<bool> =
        LazyLock::new(|| has_avx512_bf16() && has_amx_registers() && may_use_amx());
    *HAS
}

/// Whether the CPU has registers of this size and the instruction, and the operating system knows
/// them.
#[cfg(target_arch = "x86_64")]
fn has_amx_registers() -> bool {
    /// Bits of what CPUs say of themselves.
    const SAVES: u32 = 1 << 27;
    const BFLOAT16: u32 = 1 << 22;
    const REGISTERS: u32 = 1 << 24;
    const SAVED: u64 = 0b11 << 17;
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    if __cpuid(0).eax < 0x1d || __cpuid(1).ecx & SAVES == 0 {
        return false;
    }
    // SAFETY: the CPU has the instruction, as it says.
    let saved = unsafe { _xgetbv(0) };
    let has = __cpuid_count(7, 0).edx;
    let sizes = __cpuid_count(0x1d, 1);
    let (row, count, rows) = (sizes.ebx & 0xffff, sizes.ebx >> 16, sizes.ecx & 0xffff);
    saved & SAVED == SAVED
        && has & (BFLOAT16 | REGISTERS) == BFLOAT16 | REGISTERS
        && (row, count, rows) == (64, 8, 16)
}

/// Asks Linux for the registers, for all threads of this process.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn may_use_amx() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const REQUEST: i64 = 0x1023;
    const REGISTERS: i64 = 18;
    let refused: i64;
    // SAFETY: a system call that gives this process the use of registers and touches no memory.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => refused,
            in("rdi") REQUEST,
            in("rsi") REGISTERS,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    refused == 0
}

#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn may_use_amx() -> bool {
    false
}

/// Runs `f` in the best copy for this CPU: for loops of other crates that compute beside these
/// kernels. `f` is written `#[inline(always)] || …`.
#[inline]
pub fn dispatch<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        dispatch_at(best(), f)
    }
    #[cfg(not(target_arch = "x86_64"))]
    f()
}

/// As [`dispatch`], for loops that read elements of `T` and write those of `U`. Only what programs compute most of has
/// a copy for AVX-512: floating point numbers as such, and what they are made of and become. Other loops, of integers
/// and complex numbers, run in the copy for AVX2 there: a third copy of each would be a tenth of the crate's code.
#[inline]
pub fn dispatch_for<T: Element, U: Element, R>(f: impl FnOnce() -> R) -> R {
    if const { is_common(T::DTYPE, U::DTYPE) } { dispatch(f) } else { dispatch_up_to_avx2(f) }
}

const fn is_common(from: DType, to: DType) -> bool {
    match (from, to) {
        (DType::Float32, _) | (_, DType::Float32) => true,
        (DType::Float64, to) => matches!(to, DType::Float64 | DType::Bool),
        _ => false,
    }
}

/// As [`dispatch`], without a copy for AVX-512.
#[inline]
fn dispatch_up_to_avx2<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match best() {
        // SAFETY: what has AVX-512 as a level has AVX2 and FMA, too.
        Level::Avx2 | Level::Avx512 => unsafe { avx2(f) },
        Level::Baseline => f(),
    }
    #[cfg(not(target_arch = "x86_64"))]
    f()
}

/// Runs `f` in one copy; in the best one where this CPU lacks what it needs.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn dispatch_at<R>(level: Level, f: impl FnOnce() -> R) -> R {
    match level.or_best() {
        // SAFETY: `or_best` gives no level that this CPU lacks.
        Level::Avx512 => unsafe { avx512(f) },
        // SAFETY: as above.
        Level::Avx2 => unsafe { avx2(f) },
        Level::Baseline => f(),
    }
}

/// Asks for numbers to be brought near, for they are read or written soon.
#[inline]
pub fn prefetch<T>(numbers: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for number in numbers.iter().step_by((64 / size_of::<T>().max(1)).max(1)) {
        // SAFETY: a hint, which reads nothing as far as the program can tell.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast());
        }
    }
    #[cfg(target_arch = "aarch64")]
    for number in numbers.iter().step_by((64 / size_of::<T>().max(1)).max(1)) {
        // SAFETY: a hint, which reads nothing as far as the program can tell.
        unsafe {
            std::arch::asm!(
                "prfm pldl1keep, [{}]",
                in(reg) number,
                options(readonly, nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = numbers;
}

/// Asks for a line to be brought to the second cache. The pointer need not be valid.
#[inline(always)]
pub fn prefetch_far(line: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing as far as the program can tell.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(line.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint, which reads nothing as far as the program can tell.
    unsafe {
        std::arch::asm!(
            "prfm pldl2keep, [{}]",
            in(reg) line,
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::vecmath::single;

    #[test]
    fn every_copy_gives_the_same_bits() {
        let input: Vec<f32> =
            (0..1000).map(|i| (i as f32 - 500.0) * 0.37).chain([f32::NAN, f32::INFINITY]).collect();
        let run = |level| {
            let mut out = vec![0f32; input.len()];
            dispatch_at(
                level,
                #[inline(always)]
                || {
                    for (out, &x) in out.iter_mut().zip(&input) {
                        *out = single::gelu(x) + single::tanh(x) * single::exp(x * 0.01);
                    }
                },
            );
            // Which NaN it is, no rule says: Miri draws one.
            let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
            out.iter().map(bits).collect::<Vec<u32>>()
        };
        assert_eq!(run(Level::Baseline), run(Level::Avx2));
        assert_eq!(run(Level::Baseline), run(Level::Avx512));
    }
}
