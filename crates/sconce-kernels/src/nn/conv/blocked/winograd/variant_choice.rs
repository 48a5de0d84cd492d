//! Which variant is the quickest, if any is quicker than direct convolution.

use sconce_kernel_core::simd::dispatch::Level;
use sconce_kernel_core::simd::lanes::LANES;

use super::outline::Outline;
use super::points::Variant;

/// Bytes up to which weights come from a cache that all cores share, and not from memory.
const CACHED: f64 = (8u64 << 20) as f64;

/// Bytes of weights in a nanosecond, from that cache and from memory.
const FROM_CACHE: f64 = 100.0;
const FROM_MEMORY: f64 = 40.0;

/// Of the shorter of two things that go on side by side, how much shows.
const SHOWS: f64 = 0.35;

/// Of the time of direct convolution, what a variant may take to be worth its rounding and its memory.
const WORTH: f64 = 0.9;

/// The variant for a convolution; `None` for direct convolution, which may be one of pairs of `bfloat16` (`by_pairs`). The
/// numbers are measured on a Zen 5.
pub(in super::super) fn choose(level: Level, outline: &Outline, by_pairs: bool) -> Option<Variant> {
    let [height, width] = outline.output;
    let pixels = (outline.batch * height * width) as f64;
    // Direct convolution goes through the weights once for each image.
    let passes = outline.batch as f64;
    let products = outline.channels as f64 * (outline.out_blocks * LANES) as f64;
    // Two products are as quick as one of `float32`, and weights half as large.
    let part = if by_pairs { 0.5 } else { 1.0 };
    let direct = time(level, part * 18.0 * pixels * products, part * 36.0 * products, passes);
    let of = |variant: Variant| {
        let positions = variant.positions() as f64;
        let tiles = outline.tiles(variant) as f64;
        let [input, output] = match variant {
            Variant::Four => [2.9, 1.8],
            Variant::Two => [1.2, 0.8],
        };
        let transforms = tiles
            * (input * outline.channels as f64 + output * (outline.out_blocks * LANES) as f64)
            * (FLOPS_BEST / flops(level));
        time(level, 2.0 * positions * tiles * products, 4.0 * positions * products, 1.0)
            + transforms
    };
    let (four, two) = (of(Variant::Four), of(Variant::Two));
    // Where both are about as quick, the smaller weights are better.
    let (best, time) = if four < 0.9 * two { (Variant::Four, four) } else { (Variant::Two, two) };
    (time < WORTH * direct).then_some(best)
}

const FLOPS_BEST: f64 = 250.0;

/// Operations in a nanosecond.
fn flops(level: Level) -> f64 {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => FLOPS_BEST,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => FLOPS_BEST / 2.0,
        #[cfg(target_arch = "aarch64")]
        Level::Neon => FLOPS_BEST / 4.0,
        Level::Baseline => FLOPS_BEST / 8.0,
    }
}

/// Nanoseconds of so many operations, beside which so many bytes of weights are read so many times.
fn time(level: Level, operations: f64, bytes: f64, passes: f64) -> f64 {
    let computing = operations / flops(level);
    let reading = passes * bytes / if bytes > CACHED { FROM_MEMORY } else { FROM_CACHE };
    computing.max(reading) + SHOWS * computing.min(reading)
}
