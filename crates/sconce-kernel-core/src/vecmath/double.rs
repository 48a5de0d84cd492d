//! Transcendental functions of `f64` without branches, so that loops over them become vector code.
//!
//! They serve operators of `f64`. Unless noted, they are accurate for every number to 3 units in the
//! last place. Nothing is fused, so every CPU gives the same bits. NaN gives NaN.

use std::f64::consts::{FRAC_2_PI, FRAC_2_SQRT_PI, LOG2_E};

use crate::vecmath::single::polynomial;

/// 1.5 * 2^52: added to a small number it leaves the nearest integer in the low bits.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts, the first of 32 bits.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// π/2 in three parts, the first two of 33 bits.
const HALF_PI: [f64; 3] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];

/// The nearest integer to a number below 2^51, as a number and in the low bits.
#[inline(always)]
pub fn nearest(x: f64) -> (f64, u64) {
    let shifted = x + TO_INTEGER;
    (shifted - TO_INTEGER, shifted.to_bits())
}

/// 2^n for an integer n from -1022 to 1023.
#[inline(always)]
pub fn power_of_two(n: f64) -> f64 {
    f64::from_bits((nearest(n).1 << 52).wrapping_add(1f64.to_bits()))
}

/// `e^x = 2^n (1 + y)`: n and y.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, f64) {
    // Beyond these the result is infinite or 0; comparisons let NaN through.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let (n, _) = nearest(x * LOG2_E);
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    // Reciprocals of factorials.
    let tail = polynomial(
        r,
        [
            1.605_904_383_682_161_5e-10,
            2.087_675_698_786_81e-9,
            2.505_210_838_544_172e-8,
            2.755_731_922_398_589_3e-7,
            2.755_731_922_398_589e-6,
            2.480_158_730_158_73e-5,
            1.984_126_984_126_984e-4,
            1.388_888_888_888_889e-3,
            8.333_333_333_333_333e-3,
            4.166_666_666_666_666_4e-2,
            1.666_666_666_666_666_6e-1,
            0.5,
        ],
    );
    (n, tail * r * r + r)
}

/// `2^n x`, in two steps for results near the ends.
#[inline(always)]
fn scaled(x: f64, n: f64) -> f64 {
    let (half, _) = nearest(n * 0.5);
    x * power_of_two(half) * power_of_two(n - half)
}

/// e^x.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let (n, y) = exp_parts(x);
    scaled(y + 1.0, n)
}

/// `e^x - 1`.
#[inline(always)]
pub fn exp_m1(x: f64) -> f64 {
    let (n, y) = exp_parts(if x < -50.0 { -50.0 } else { x });
    // Nothing of 1 is left beside the largest.
    let one = if n > 60.0 { 0.0 } else { power_of_two(if n > 60.0 { 60.0 } else { -n }) };
    let result = scaled(y + (1.0 - one), n);
    // The sign of -0 as well.
    if x == 0.0 { x } else { result }
}

/// The natural logarithm.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const MIDDLE: u64 = 0x3fe6_a09e_667f_3bcd;
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    let extra = if tiny { 1077.0 } else { 1023.0 };
    // The mantissa between sqrt(1/2) and sqrt(2).
    let from_middle = scaled.to_bits().wrapping_sub(MIDDLE).wrapping_add(1f64.to_bits());
    let exponent = f64::from_bits(0x4330_0000_0000_0000 | (from_middle >> 52));
    let e = exponent - (4_503_599_627_370_496.0 + extra);
    let m = f64::from_bits((from_middle & 0x000f_ffff_ffff_ffff).wrapping_add(MIDDLE));
    // ln(1 + f) = 2 artanh s, a series in s².
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let series = polynomial(
        z,
        [
            2.0 / 21.0,
            2.0 / 19.0,
            2.0 / 17.0,
            2.0 / 15.0,
            2.0 / 13.0,
            2.0 / 11.0,
            2.0 / 9.0,
            2.0 / 7.0,
            2.0 / 5.0,
            2.0 / 3.0,
        ],
    ) * z;
    let square = 0.5 * f * f;
    let y = e * LN_2[0] - ((square - (s * (square + series) + e * LN_2[1])) - f);
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < 0.0 { f64::NAN } else { y }
}

/// `ln(1 + x)`.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    // What rounding the sum has lost counts where the sum is small.
    let lost = if sum > 0.0 { (x - (sum - 1.0)) / sum } else { 0.0 };
    let y = ln(sum) + lost;
    if x == 0.0 || x == f64::INFINITY { x } else { y }
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let a = x.abs();
    // From there on it is 1.
    let a = if a > 22.0 { 22.0 } else { a };
    let e = exp_m1(a + a);
    (e / (e + 2.0)).copysign(x)
}

/// The error function.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    // Fitted to erf(x) / x for x up to 1.
    const SMALL: [f64; 13] = [
        5.945_255_584_223_488e-11,
        -1.136_567_067_182_716e-9,
        1.465_788_353_091_965_3e-8,
        -1.635_002_619_207_727e-7,
        1.646_097_295_415_376_5e-6,
        -1.492_559_351_872_822_6e-5,
        0.000_120_553_310_375_511_08,
        -0.000_854_832_697_876_514_9,
        0.005_223_977_624_781_37,
        -0.026_866_170_645_072_96,
        0.112_837_916_709_548_58,
        -0.376_126_389_031_837_5,
        FRAC_2_SQRT_PI,
    ];
    // Fitted to e^(x²) (1 - erf x) for x from 1 to 6, in (x - 3) / (x + 3).
    const LARGE: [f64; 17] = [
        -2.045_912_937_085_540_8e-7,
        -2.703_612_219_421_069e-7,
        1.246_025_660_476_111_8e-6,
        2.112_952_383_899_793_5e-6,
        -7.977_611_402_685_714e-6,
        -1.285_943_444_202_039_3e-5,
        6.405_655_737_442_152e-5,
        4.525_520_920_017_316e-5,
        -0.000_597_061_951_188_419_1,
        0.000_707_746_443_169_349_5,
        0.004_269_136_332_984_282,
        -0.024_392_499_318_779_87,
        0.071_665_837_197_975_34,
        -0.150_115_936_500_775_95,
        0.245_603_801_712_330_9,
        -0.326_233_560_043_037_2,
        0.179_001_151_181_389_96,
    ];
    let a = x.abs();
    let small = polynomial(x * x, SMALL) * x;
    // From there on it is 1.
    let a = if a > 6.0 { 6.0 } else { a };
    let large = 1.0 - polynomial((a - 3.0) / (a + 3.0), LARGE) * exp(-a * a);
    if a < 1.0 { small } else { large.copysign(x) }
}

/// The largest number, of either sign, that [`sin`] and [`cos`] hold for.
pub const LARGEST_ANGLE: f64 = 1e6;

/// The sine and cosine of what is left of an angle when quarters of a turn are taken away, and how many.
#[inline(always)]
fn within_a_quarter(x: f64) -> (f64, f64, u64) {
    let (n, quarters) = nearest(x * FRAC_2_PI);
    let r = ((x - n * HALF_PI[0]) - n * HALF_PI[1]) - n * HALF_PI[2];
    let z = r * r;
    // Reciprocals of factorials, with alternating signs.
    let sin = polynomial(
        z,
        [
            -7.647_163_731_819_816e-13,
            1.605_904_383_682_161_5e-10,
            -2.505_210_838_544_172e-8,
            2.755_731_922_398_589e-6,
            -1.984_126_984_126_984e-4,
            8.333_333_333_333_333e-3,
            -1.666_666_666_666_666_6e-1,
        ],
    );
    let cos = polynomial(
        z,
        [
            4.779_477_332_387_385e-14,
            -1.147_074_559_772_972_5e-11,
            2.087_675_698_786_81e-9,
            -2.755_731_922_398_589_3e-7,
            2.480_158_730_158_73e-5,
            -1.388_888_888_888_889e-3,
            4.166_666_666_666_666_4e-2,
            -0.5,
        ],
    );
    // A product, for the sign of -0.
    ((sin * z + 1.0) * r, cos * z + 1.0, quarters)
}

/// The sine of an angle: sine and cosine of what is left of it, and how many quarters of a turn were
/// taken off.
#[inline(always)]
pub fn sine_of((sin, cos, quarters): (f64, f64, u64)) -> f64 {
    let value = if quarters & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ ((quarters & 2) << 62))
}

/// The cosine of an angle, as [`sine_of`].
#[inline(always)]
pub fn cosine_of((sin, cos, quarters): (f64, f64, u64)) -> f64 {
    let value = if quarters & 1 == 0 { cos } else { sin };
    f64::from_bits(value.to_bits() ^ ((quarters.wrapping_add(1) & 2) << 62))
}

/// The sine, up to [`LARGEST_ANGLE`].
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    sine_of(within_a_quarter(x))
}

/// The cosine, up to [`LARGEST_ANGLE`].
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    cosine_of(within_a_quarter(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function, that of the standard library, the numbers it is compared at, and by how many units
    /// in the last place it may be off.
    type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, [f64; 2], u64);

    #[test]
    #[cfg_attr(
        miri,
        ignore = "Miri's functions of the standard library are a little off on purpose"
    )]
    fn functions_are_near_those_of_the_standard_library() {
        let cases: [Case; 8] = [
            ("exp", exp, f64::exp, [-750.0, 711.0], 4),
            ("exp_m1", exp_m1, f64::exp_m1, [-750.0, 711.0], 4),
            ("ln", ln, f64::ln, [0.0, 1e300], 2),
            ("ln_1p", ln_1p, f64::ln_1p, [-0.999, 1e9], 4),
            ("sin", sin, f64::sin, [-LARGEST_ANGLE, LARGEST_ANGLE], 3),
            ("cos", cos, f64::cos, [-LARGEST_ANGLE, LARGEST_ANGLE], 3),
            ("tanh", tanh, f64::tanh, [-25.0, 25.0], 4),
            ("erf", erf, libm::erf, [-7.0, 7.0], 3),
        ];
        for (name, function, exact, [low, high], limit) in cases {
            for i in 0..=100_000 {
                let share = f64::from(i) / 1e5;
                for x in [low + (high - low) * share, (share - 0.5) * 3.0, share * 1e-9] {
                    let (found, exact) = (function(x), exact(x));
                    let steps = found.to_bits().abs_diff(exact.to_bits());
                    // Below the least normal number it is rounded twice.
                    let same = steps <= limit || found.is_nan() && exact.is_nan();
                    assert!(x < low || same, "{name} of {x:e}: {found:e}, not {exact:e}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(
        miri,
        ignore = "Miri's functions of the standard library are a little off on purpose"
    )]
    fn edges_are_those_of_the_standard_library() {
        for function in [exp_m1, ln_1p, sin, tanh, erf] {
            assert_eq!(function(-0.0).to_bits(), (-0f64).to_bits());
            assert!(function(f64::NAN).is_nan());
        }
        for function in [exp, cos, ln] {
            assert!(function(f64::NAN).is_nan());
        }
        for function in [tanh, erf] {
            assert_eq!([function(f64::INFINITY), function(f64::NEG_INFINITY)], [1.0, -1.0]);
        }
        assert_eq!(exp(f64::MAX), f64::INFINITY);
        assert_eq!(exp(f64::MIN), 0.0);
        assert_eq!(exp_m1(f64::MAX), f64::INFINITY);
        assert_eq!(ln(5e-324), 5e-324f64.ln());
        assert_eq!([ln(0.0), ln(f64::INFINITY)], [f64::NEG_INFINITY, f64::INFINITY]);
        assert!(ln(-1.0).is_nan());
    }
}
