//! Transcendental functions for operators of `f32`, computed in `f64` and rounded once.
//!
//! Polynomials are only as long as that needs. Unless noted, they are within 2^-37 of the true value,
//! so nearly every result is the nearest `f32`. Nothing branches, so loops over them become vector
//! code; nothing is fused. NaN gives NaN. Operators of `f64` use [`crate::vecmath::double`].

use std::f64::consts::{
    FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_2, LOG10_E, PI, SQRT_2,
};

use crate::vecmath::double::{cosine_of, nearest, power_of_two, sine_of};
use crate::vecmath::single::polynomial;

/// π/2 in two parts, the first of 33 bits.
const HALF_PI: [f64; 2] = [1.570_796_326_734_125_6, 6.077_100_506_506_192e-11];

/// `e^r - 1` for r up to `ln 2 / 2`.
#[inline(always)]
fn exp_m1_of_rest(r: f64) -> f64 {
    const TAIL: [f64; 7] = [
        2.488_289_028_535_343e-5,
        0.000_199_049_319_457_736_1,
        0.001_388_880_849_612_052_3,
        0.008_333_289_004_602_552,
        0.041_666_666_960_100_84,
        0.166_666_667_543_556_6,
        0.499_999_999_997_260_25,
    ];
    polynomial(r, TAIL) * (r * r) + r
}

/// `e^x = 2^n (1 + y)`: 2^n and y, for x from -708 to 708; beyond, the values there.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, f64) {
    // Comparisons let NaN through.
    let x = if x > 708.0 { 708.0 } else { x };
    let x = if x < -708.0 { -708.0 } else { x };
    let (n, _) = nearest(x * LOG2_E);
    (power_of_two(n), exp_m1_of_rest(x - n * LN_2))
}

/// e^x; beyond 708, where `f32` does not hold it, the value there.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let (scale, y) = exp_parts(x);
    let value = scale * y + scale;
    // Not next to 0: infinities that it is multiplied with shall be NaN.
    if x < -708.0 { 0.0 } else { value }
}

/// `e^x - 1`; beyond 708 the value there.
#[inline(always)]
pub fn exp_m1(x: f64) -> f64 {
    let (scale, y) = exp_parts(x);
    let result = scale * y + (scale - 1.0);
    // The sign of -0 as well.
    if x == 0.0 { x } else { result }
}

/// `ln x = n ln 2 + y`: n and y.
#[inline(always)]
fn ln_parts(x: f64) -> (f64, f64) {
    const MIDDLE: u64 = 0x3fe6_a09e_667f_3bcd;
    const SERIES: [f64; 5] = [
        0.097_919_852_463_747_8,
        0.110_881_019_328_374_59,
        0.142_860_543_569_957_5,
        0.199_999_978_134_706_19,
        0.333_333_333_378_919_6,
    ];
    // The mantissa between sqrt(1/2) and sqrt(2). No `f32` is subnormal here.
    let from_middle = x.to_bits().wrapping_sub(MIDDLE).wrapping_add(1f64.to_bits());
    let exponent = f64::from_bits(0x4330_0000_0000_0000 | (from_middle >> 52));
    let n = exponent - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((from_middle & 0x000f_ffff_ffff_ffff).wrapping_add(MIDDLE));
    // ln m = 2 artanh s
    let s = (m - 1.0) / (m + 1.0);
    let (z, s) = (s * s, s + s);
    (n, polynomial(z, SERIES) * (z * s) + s)
}

/// A logarithm of x, or what it is where x is no positive number.
#[inline(always)]
fn or_edge(x: f64, logarithm: f64) -> f64 {
    let y = if x < f64::INFINITY { logarithm } else { x };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < 0.0 { f64::NAN } else { y }
}

/// The natural logarithm, but for what is subnormal as `f64`.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let (n, y) = ln_parts(x);
    or_edge(x, n * LN_2 + y)
}

/// A power, for what `f32` holds.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let size = exp(y * ln(x.abs()));
    let is_whole = y.trunc() == y;
    let half = y * 0.5;
    let is_odd = is_whole & (half.trunc() != half);
    let power = if x.is_sign_negative() & is_odd { -size } else { size };
    let power = if (x < 0.0) & (x > f64::NEG_INFINITY) & !is_whole { f64::NAN } else { power };
    // Whatever the other is, NaN as well.
    let is_one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (y.abs() == f64::INFINITY));
    if is_one { 1.0 } else { power }
}

/// The logarithm to base 10, as [`ln`].
#[inline(always)]
pub fn log10(x: f64) -> f64 {
    let (n, y) = ln_parts(x);
    or_edge(x, n * LOG10_2 + y * LOG10_E)
}

/// `ln(1 + x)`.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let y = ln(1.0 + x);
    // Where 1 + x has lost too much of x, the first terms of the series are enough.
    let series = x - x * x * (0.5 - x * (1.0 / 3.0));
    if x.abs() < 1.0 / 8192.0 { series } else { y }
}

/// `ln(1 + x)` for x from 0 to 1.
#[inline(always)]
pub fn ln_1p_of_part(x: f64) -> f64 {
    const SERIES: [f64; 7] = [
        0.100_075_817_929_473_02,
        0.070_467_782_719_503_84,
        0.091_530_559_549_850_75,
        0.111_078_731_255_062_39,
        0.142_858_038_428_458,
        0.199_999_988_302_624_3,
        0.333_333_333_384_907_1,
    ];
    let s = x / (2.0 + x);
    let (z, s) = (s * s, s + s);
    polynomial(z, SERIES) * (z * s) + s
}

/// The largest number, of either sign, that [`sin`], [`cos`] and [`tan`] hold for.
pub const LARGEST_ANGLE: f64 = 1e6;

/// The sine and cosine of what is left of an angle when quarters of a turn are taken away, and how many.
#[inline(always)]
fn within_a_quarter(x: f64) -> (f64, f64, u64) {
    const SIN: [f64; 5] = [
        -2.476_170_700_180_244_6e-8,
        2.755_535_864_420_663_4e-6,
        -0.000_198_412_638_280_365_03,
        0.008_333_333_325_283_196,
        -0.166_666_666_666_316_7,
    ];
    const COS: [f64; 5] = [
        -2.718_011_969_977_092e-7,
        2.479_904_147_158_957_8e-5,
        -0.001_388_888_108_186_136,
        0.041_666_666_562_161_725,
        -0.499_999_999_995_457_13,
    ];
    let (n, quarters) = nearest(x * FRAC_2_PI);
    let r = (x - n * HALF_PI[0]) - n * HALF_PI[1];
    let z = r * r;
    // A product, for the sign of -0.
    ((polynomial(z, SIN) * z + 1.0) * r, polynomial(z, COS) * z + 1.0, quarters)
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

/// The tangent, up to [`LARGEST_ANGLE`].
#[inline(always)]
pub fn tan(x: f64) -> f64 {
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
pub fn atan(x: f64) -> f64 {
    angle(x.abs(), 1.0).copysign(x)
}

/// The angle of a point.
#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let right = angle(y.abs(), x.abs());
    (if x.is_sign_negative() { PI - right } else { right }).copysign(y)
}

/// The arcsine.
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let a = x.abs();
    angle(a, ((1.0 - a) * (1.0 + a)).sqrt()).copysign(x)
}

/// The arccosine.
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let a = x.abs();
    let right = angle(((1.0 - a) * (1.0 + a)).sqrt(), a);
    if x < 0.0 { PI - right } else { right }
}

/// The hyperbolic sine, bounded as [`exp`].
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let e = exp_m1(x.abs());
    (0.5 * (e + e / (e + 1.0))).copysign(x)
}

/// The hyperbolic cosine, bounded as [`exp`].
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let e = exp(x.abs());
    0.5 * (e + 1.0 / e)
}

/// The inverse of [`sinh`], for numbers whose square is finite, and infinities.
#[inline(always)]
pub fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let y = ln_1p(a + square / (1.0 + (square + 1.0).sqrt()));
    (if a < f64::INFINITY { y } else { a }).copysign(x)
}

/// The inverse of [`cosh`], for numbers whose square is finite, and infinities.
#[inline(always)]
pub fn acosh(x: f64) -> f64 {
    let above = if x < 1.0 { f64::NAN } else { x - 1.0 };
    ln_1p(above + (above * (x + 1.0)).sqrt())
}

/// The inverse of the hyperbolic tangent.
#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * ln_1p(2.0 * a / (1.0 - a))).copysign(x)
}

/// `1 - erf(x)`, to ten digits, and 0 from 12.
#[inline(always)]
pub fn erfc(x: f64) -> f64 {
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

/// Fitted to erfinv(y) / y as a function of w = -ln(1 - y²) up to [`ERFINV_END`].
pub const ERFINV_MIDDLE: [f64; 15] = [
    2.964_179_430_508_143e-13,
    -1.071_601_451_480_356_1e-11,
    1.528_052_234_994_688_2e-10,
    -9.159_380_458_998_494e-10,
    -6.737_542_376_803_358e-10,
    3.686_266_449_528_245_5e-8,
    -9.007_952_522_759_069e-8,
    -8.933_697_771_449_165e-7,
    1.844_746_025_016_6e-6,
    4.678_013_968_288_801_4e-5,
    -0.000_128_146_192_007_747_3,
    -0.002_335_064_630_895_211_5,
    0.011_549_335_179_289_381,
    0.232_013_667_029_508_43,
    0.886_226_925_446_908_7,
];

/// Where [`ERFINV_MIDDLE`] ends.
pub const ERFINV_END: f64 = 5.5;

/// The inverse of the error function, for `f32`: NaN outside [-1, 1].
#[inline(always)]
pub fn erfinv(y: f64) -> f64 {
    // And of its root beyond.
    const TAIL: [f64; 15] = [
        3.618_790_596_768_839e-7,
        -2.008_091_920_953_678e-5,
        0.000_505_303_505_513_397_1,
        -0.007_672_551_906_314_926,
        0.078_722_705_842_084_34,
        -0.578_128_998_417_555_2,
        3.135_483_989_611_030_7,
        -12.756_593_766_196_373,
        39.099_154_415_494_99,
        -89.757_606_499_682_52,
        151.766_967_456_905_12,
        -183.239_496_302_695_1,
        149.712_309_954_995_02,
        -73.833_560_438_249_79,
        17.571_011_933_116_94,
    ];
    let w = -ln((1.0 - y) * (1.0 + y));
    let is_tail = w > ERFINV_END;
    let (middle, tail) = (polynomial(w, ERFINV_MIDDLE), polynomial(w.sqrt(), TAIL));
    let x = y * if is_tail { tail } else { middle };
    if y.abs() == 1.0 { f64::INFINITY.copysign(y) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function, that of the standard library, and the numbers it is compared at.
    type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, [f64; 2]);

    #[test]
    fn functions_of_float32_are_rounded_once() {
        let all = [-f64::INFINITY, f64::INFINITY];
        let angles = [-LARGEST_ANGLE, LARGEST_ANGLE];
        let cases: [Case; 18] = [
            ("exp", exp, f64::exp, all),
            ("exp_m1", exp_m1, f64::exp_m1, all),
            ("ln", ln, f64::ln, all),
            ("log10", log10, f64::log10, all),
            ("ln_1p", ln_1p, f64::ln_1p, all),
            ("ln_1p_of_part", ln_1p_of_part, f64::ln_1p, [0.0, 1.0]),
            ("sin", sin, f64::sin, angles),
            ("cos", cos, f64::cos, angles),
            ("tan", tan, f64::tan, angles),
            ("atan", atan, f64::atan, all),
            ("asin", asin, f64::asin, all),
            ("acos", acos, f64::acos, all),
            ("sinh", sinh, f64::sinh, all),
            ("cosh", cosh, f64::cosh, all),
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
            assert!(apart * 4_000 <= compared, "{name}: {apart} of {compared}");
        }
    }

    #[test]
    fn powers_are_those_of_the_standard_library() {
        let special =
            [0.0, 0.5, 1.0, 2.0, 3.0, 1e-40, 1e-30, 7e30, f32::MAX, f32::INFINITY, f32::NAN];
        let special = special.into_iter().flat_map(|x| [x, -x]);
        let spread = (1..400).map(|i| (i as f32 * 0.731).exp2().fract() * 9.0 - 2.0);
        let all: Vec<f32> = special.chain(spread).collect();
        for &x in &all {
            for &y in &all {
                let found = pow(x.into(), y.into()) as f32;
                let exact = f64::from(x).powf(y.into()) as f32;
                let steps = found.to_bits().abs_diff(exact.to_bits());
                assert!(
                    steps <= 1 || found.is_nan() && exact.is_nan(),
                    "{x:e} to {y:e}: {found:e}, not {exact:e}"
                );
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
        // Programs take logarithms to base 10 to count digits.
        for digits in 0..39 {
            let power = 10f64.powi(digits) as f32;
            assert_eq!(log10(power.into()) as f32, digits as f32);
        }
    }
}
