//! Transcendental functions of `f64` without branches, so that loops over them become vector code.
//!
//! They serve operators of `f32` that [`crate::vecmath`] has no function for: computed here and rounded
//! once, their results are nearly always the nearest numbers. `exp`, `exp_m1` and `ln_1p` hold
//! for every `f64`, to 3 units in the last place. The others say what they hold for. As there, nothing
//! is fused, and NaN gives NaN.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LOG2_E, PI, SQRT_2};

/// 1.5 * 2^52: added to a small number it leaves the nearest integer in the low bits.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts, the first of 32 bits.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// π/2 in three parts, the first two of 33 bits.
const HALF_PI: [f64; 3] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];

/// A polynomial: its coefficients, that of the highest power first.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[0];
    for coefficient in &coefficients[1..] {
        sum = sum * x + coefficient;
    }
    sum
}

/// The nearest integer to a number below 2^51, as a number and in the low bits.
#[inline(always)]
fn nearest(x: f64) -> (f64, u64) {
    let shifted = x + TO_INTEGER;
    (shifted - TO_INTEGER, shifted.to_bits())
}

/// 2^n for an integer n from -1022 to 1023.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
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
pub(crate) fn exp(x: f64) -> f64 {
    let (n, y) = exp_parts(x);
    scaled(y + 1.0, n)
}

/// `e^x - 1`.
#[inline(always)]
pub(crate) fn exp_m1(x: f64) -> f64 {
    let (n, y) = exp_parts(if x < -50.0 { -50.0 } else { x });
    // Nothing of 1 is left beside the largest.
    let one = if n > 60.0 { 0.0 } else { power_of_two(if n > 60.0 { 60.0 } else { -n }) };
    let result = scaled(y + (1.0 - one), n);
    // The sign of -0 as well.
    if x == 0.0 { x } else { result }
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
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
pub(crate) fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    // What rounding the sum has lost counts where the sum is small.
    let lost = if sum > 0.0 { (x - (sum - 1.0)) / sum } else { 0.0 };
    let y = ln(sum) + lost;
    if x == 0.0 || x == f64::INFINITY { x } else { y }
}

/// The largest number, of either sign, that [`sin`], [`cos`] and [`tan`] hold for.
pub(crate) const LARGEST_ANGLE: f64 = 1e6;

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

/// The sine, up to [`LARGEST_ANGLE`].
#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    let (sin, cos, quarters) = within_a_quarter(x);
    let value = if quarters & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ ((quarters & 2) << 62))
}

/// The cosine, up to [`LARGEST_ANGLE`].
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    let (sin, cos, quarters) = within_a_quarter(x);
    let value = if quarters & 1 == 0 { cos } else { sin };
    f64::from_bits(value.to_bits() ^ ((quarters.wrapping_add(1) & 2) << 62))
}

/// The tangent, up to [`LARGEST_ANGLE`].
#[inline(always)]
pub(crate) fn tan(x: f64) -> f64 {
    let (sin, cos, quarters) = within_a_quarter(x);
    let even = quarters & 1 == 0;
    (if even { sin } else { -cos }) / (if even { cos } else { sin })
}

/// The angle of a point with neither coordinate negative.
#[inline(always)]
fn angle(y: f64, x: f64) -> f64 {
    let diagonal = y == f64::INFINITY && x == f64::INFINITY;
    let (y, x) = if diagonal { (1.0, 1.0) } else { (y, x) };
    // Turned back by an eighth or a quarter of a turn, so that the quotient is small.
    let (far, half) = (y > x * (SQRT_2 + 1.0), y > x * (SQRT_2 - 1.0));
    let top = if far {
        -x
    } else if half {
        y - x
    } else {
        y
    };
    let bottom = if far {
        y
    } else if half {
        y + x
    } else {
        x
    };
    let turned = if far {
        FRAC_PI_2
    } else if half {
        FRAC_PI_4
    } else {
        0.0
    };
    let q = if y == 0.0 && x == 0.0 { 0.0 } else { top / bottom };
    let z = q * q;
    // Fitted to (atan(q) / q - 1) / z for q up to sqrt(2) - 1.
    let tail = polynomial(
        z,
        [
            -0.019_176_271_517_526_34,
            0.039_231_155_619_872_3,
            -0.050_854_323_376_990_765,
            0.058_581_455_876_282_02,
            -0.066_645_110_645_993_71,
            0.076_921_831_636_509_18,
            -0.090_909_045_769_541_17,
            0.111_111_110_152_275_72,
            -0.142_857_142_846_661_84,
            0.199_999_999_999_954_65,
            -1.0 / 3.0,
        ],
    );
    turned + (tail * z * q + q)
}

/// The arctangent.
#[inline(always)]
pub(crate) fn atan(x: f64) -> f64 {
    angle(x.abs(), 1.0).copysign(x)
}

/// The angle of a point.
#[inline(always)]
pub(crate) fn atan2(y: f64, x: f64) -> f64 {
    let right = angle(y.abs(), x.abs());
    (if x.is_sign_negative() { PI - right } else { right }).copysign(y)
}

/// The arcsine.
#[inline(always)]
pub(crate) fn asin(x: f64) -> f64 {
    let a = x.abs();
    angle(a, ((1.0 - a) * (1.0 + a)).sqrt()).copysign(x)
}

/// The arccosine.
#[inline(always)]
pub(crate) fn acos(x: f64) -> f64 {
    let a = x.abs();
    let right = angle(((1.0 - a) * (1.0 + a)).sqrt(), a);
    if x < 0.0 { PI - right } else { right }
}

/// The hyperbolic sine, to 700.
#[inline(always)]
pub(crate) fn sinh(x: f64) -> f64 {
    let e = exp_m1(x.abs());
    let sum = if e < f64::INFINITY { e + e / (e + 1.0) } else { e };
    (0.5 * sum).copysign(x)
}

/// The hyperbolic cosine, to 700.
#[inline(always)]
pub(crate) fn cosh(x: f64) -> f64 {
    let e = exp(x.abs());
    0.5 * (e + 1.0 / e)
}

/// The inverse of [`sinh`], for numbers whose square is finite, and infinities.
#[inline(always)]
pub(crate) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let y = ln_1p(a + square / (1.0 + (square + 1.0).sqrt()));
    (if a < f64::INFINITY { y } else { a }).copysign(x)
}

/// The inverse of [`cosh`], for numbers whose square is finite, and infinities.
#[inline(always)]
pub(crate) fn acosh(x: f64) -> f64 {
    let above = if x < 1.0 { f64::NAN } else { x - 1.0 };
    ln_1p(above + (above * (x + 1.0)).sqrt())
}

/// The inverse of the hyperbolic tangent.
#[inline(always)]
pub(crate) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * ln_1p(2.0 * a / (1.0 - a))).copysign(x)
}

/// `1 - erf(x)`, to ten digits, and 0 from 12.
#[inline(always)]
pub(crate) fn erfc(x: f64) -> f64 {
    let a = x.abs();
    // Comparisons let NaN through.
    let a = if a > 12.0 { 12.0 } else { a };
    let t = 2.0 / (2.0 + a);
    // Fitted to e^(a²) erfc(a) for a up to 11.
    let y = polynomial(t, ERFCX) * exp(-a * a);
    if x < 0.0 { 2.0 - y } else { y }
}

const ERFCX: [f64; 14] = [
    0.007_800_365_625_966_39,
    -0.091_235_420_458_976_94,
    0.440_948_284_004_592_8,
    -1.171_687_804_288_015,
    1.868_383_140_361_027_2,
    -1.800_843_297_966_807,
    1.043_157_301_602_969,
    -0.492_525_192_247_259_27,
    0.238_722_700_361_936_88,
    0.141_306_033_116_675_22,
    0.252_315_485_149_820_2,
    0.281_530_283_603_916_96,
    0.282_129_046_268_933_8,
    -9.251_456_057_481_233e-7,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A function, that of the standard library, and the numbers it is compared at.
    type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, [f64; 2]);

    #[test]
    fn functions_of_float32_are_rounded_once() {
        let all = [-f64::INFINITY, f64::INFINITY];
        let cases: [Case; 16] = [
            ("exp", exp, f64::exp, all),
            ("exp_m1", exp_m1, f64::exp_m1, all),
            ("ln", ln, f64::ln, all),
            ("ln_1p", ln_1p, f64::ln_1p, all),
            ("sin", sin, f64::sin, [-LARGEST_ANGLE, LARGEST_ANGLE]),
            ("cos", cos, f64::cos, [-LARGEST_ANGLE, LARGEST_ANGLE]),
            ("tan", tan, f64::tan, [-LARGEST_ANGLE, LARGEST_ANGLE]),
            ("atan", atan, f64::atan, all),
            ("asin", asin, f64::asin, all),
            ("acos", acos, f64::acos, all),
            ("sinh", sinh, f64::sinh, [-700.0, 700.0]),
            ("cosh", cosh, f64::cosh, [-700.0, 700.0]),
            ("asinh", asinh, f64::asinh, all),
            ("acosh", acosh, f64::acosh, all),
            ("atanh", atanh, f64::atanh, all),
            ("erfc", erfc, libm::erfc, all),
        ];
        for (name, function, exact, [low, high]) in cases {
            let (mut apart, mut compared) = (0, 0);
            for bits in (0..=u32::MAX).step_by(9973) {
                let x = f64::from(f32::from_bits(bits));
                if !(x.is_nan() || (low..=high).contains(&x)) {
                    continue;
                }
                compared += 1;
                let (found, exact) = (function(x) as f32, exact(x) as f32);
                if found.is_nan() && exact.is_nan() {
                    continue;
                }
                let steps = found.to_bits().abs_diff(exact.to_bits());
                assert!(steps <= 1, "{name} of {x}: {found}, not {exact}");
                apart += usize::from(steps != 0);
            }
            assert!(apart * 10_000 <= compared, "{name}: {apart} of {compared}");
        }
    }

    #[test]
    fn functions_of_float64_are_near_those_of_the_standard_library() {
        let cases: [Case; 3] = [
            ("exp", exp, f64::exp, [-750.0, 711.0]),
            ("exp_m1", exp_m1, f64::exp_m1, [-750.0, 711.0]),
            ("ln_1p", ln_1p, f64::ln_1p, [-0.999, 1e9]),
        ];
        for (name, function, exact, [low, high]) in cases {
            for i in 0..=100_000 {
                let share = f64::from(i) / 1e5;
                for x in [low + (high - low) * share, (share - 0.5) * 3.0, share * 1e-9] {
                    let (found, exact) = (function(x), exact(x));
                    let steps = found.to_bits().abs_diff(exact.to_bits());
                    // Below the least normal number it is rounded twice.
                    assert!(x < low || steps <= 4, "{name} of {x:e}: {found:e}, not {exact:e}");
                }
            }
        }
    }

    #[test]
    fn edges_are_those_of_the_standard_library() {
        let numbers = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.5, -2.0];
        for x in numbers {
            for y in numbers {
                let (found, exact) = (atan2(y, x) as f32, y.atan2(x) as f32);
                assert!(
                    found.to_bits() == exact.to_bits() || found.is_nan() && exact.is_nan(),
                    "{y}, {x}"
                );
            }
        }
        for function in [exp_m1, ln_1p, sin, tan, atan, asin, sinh, asinh, atanh] {
            assert_eq!(function(-0.0).to_bits(), (-0f64).to_bits());
            assert!(function(f64::NAN).is_nan());
        }
        assert_eq!(exp(f64::MAX), f64::INFINITY);
        assert_eq!(exp(f64::MIN), 0.0);
        assert_eq!(exp_m1(f64::MAX), f64::INFINITY);
        assert_eq!(ln(5e-324), 5e-324f64.ln());
    }
}
