//! Special functions for operators of `f32`, in the manner of
//! [`sconce_kernel_core::vecmath::single_via_double`]: computed in `f64`, without branches, to nine
//! digits.

use std::f64::consts::{PI, SQRT_2};

use sconce_kernel_core::vecmath::double::nearest;
use sconce_kernel_core::vecmath::single::polynomial;
use sconce_kernel_core::vecmath::single_via_double::{ERFINV_END, ERFINV_MIDDLE, exp, ln};

/// The logarithm of the absolute value of the gamma function.
#[inline(always)]
pub(super) fn lgamma(x: f64) -> f64 {
    /// Fitted to `lgamma(2 + t) / t` for t up to 1/2, of either sign.
    const NEAR_TWO: [f64; 13] = [
        -1.129_649_910_221_429_6e-5,
        2.448_705_297_587_398_5e-5,
        -4.432_468_453_306_581_5e-5,
        9.816_870_450_896_373e-5,
        -0.000_223_246_539_872_874_33,
        0.000_509_866_134_813_700_4,
        -0.001_192_747_157_380_730_7,
        0.002_890_495_863_084_301_4,
        -0.007_385_551_240_791_602,
        0.020_580_808_882_117_916,
        -0.067_352_301_051_300_44,
        0.322_467_033_420_048_73,
        0.422_784_335_098_467_13,
    ];
    /// Fitted to what Stirling's formula leaves, times x, as a function of `1 / x²`, from 4.5 on.
    const BEYOND_STIRLING: [f64; 5] = [
        0.000_654_082_348_447_487_5,
        -0.000_587_725_304_758_788_8,
        0.000_793_522_708_229_331_4,
        -0.002_777_776_999_079_588,
        0.083_333_333_332_566_48,
    ];
    /// Fitted to `sin(πf) / f` as a function of `f²`, for f up to 1/2.
    const SINE: [f64; 7] = [
        0.000_447_492_084_907_710_1,
        -0.007_364_005_472_115_722,
        0.082_144_794_670_648_54,
        -0.599_264_433_935_728_6,
        2.550_164_035_906_745,
        -5.167_712_779_987_959,
        3.141_592_653_589_635,
    ];
    const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_7;
    let a = x.abs();
    // Steps to between 1.5 and 2.5, and what the function gives for them: the logarithm of a product.
    let when = |condition: bool, x: f64, other: f64| if condition { x } else { other };
    let up = when(a < 1.5, 1.0, 0.0) + when(a < 0.5, 1.0, 0.0);
    let down = when(a > 2.5, 1.0, 0.0) + when(a > 3.5, 1.0, 0.0);
    let above = when(a < 1.5, a, 1.0) * when(a < 0.5, a + 1.0, 1.0);
    let below = when(a > 2.5, a - 1.0, 1.0) * when(a > 3.5, a - 2.0, 1.0);
    let is_large = a > 4.5;
    let logarithm = ln(when(is_large, a, above * below));
    let t = a + (up - down - 2.0);
    let small = t * polynomial(t, NEAR_TWO) + when(a < 1.5, -logarithm, logarithm);
    let inverse = 1.0 / a;
    let large = (a - 0.5) * logarithm - a
        + (HALF_LN_2_PI + inverse * polynomial(inverse * inverse, BEYOND_STIRLING));
    let of_size = when(is_large, large, small);
    // Below zero by reflection; from there on all numbers are whole.
    let f = when(a < 1e15, a - nearest(a).0, 0.0);
    let reflected = ln(PI / (a * (f * polynomial(f * f, SINE)).abs())) - of_size;
    let y = when(x < 0.0, reflected, of_size);
    when(a == f64::INFINITY, a, y)
}

/// The inverse of the normal distribution function; NaN outside [0, 1].
#[inline(always)]
pub(super) fn ndtri(p: f64) -> f64 {
    /// Fitted to `-ndtri(p) / s` as a function of `1 / s`, where p is `e^(-s²/2)`.
    const TAIL: [f64; 11] = [
        -7_570.918_630_782_032,
        14_587.259_381_722_188,
        -12_681.138_830_808_115,
        6_593.332_843_630_066,
        -2_297.033_479_278_674,
        572.980_852_642_337_6,
        -109.002_308_395_369_54,
        18.051_292_473_252_435,
        -4.069_818_627_919_252,
        -0.031_695_769_061_333_03,
        1.000_220_102_350_633_4,
    ];
    let w = -ln(4.0 * p * (1.0 - p));
    let middle = SQRT_2 * (p + p - 1.0) * polynomial(w, ERFINV_MIDDLE);
    let s = (-2.0 * ln(if p < 0.5 { p } else { 1.0 - p })).sqrt();
    let size = s * polynomial(1.0 / s, TAIL);
    let tail = if p < 0.5 { -size } else { size };
    if w > ERFINV_END { tail } else { middle }
}

/// Where the polynomials of the Bessel functions meet.
const MIDDLE: f64 = 8.0;

/// What two polynomials give for the size of an argument, the second one over its root.
#[inline(always)]
fn scaled<const N: usize, const M: usize>(a: f64, below: [f64; N], above: [f64; M]) -> f64 {
    let small = polynomial(a * (2.0 / MIDDLE) - 1.0, below);
    let large = polynomial(2.0 * MIDDLE / a - 1.0, above) / a.sqrt();
    if a > MIDDLE { large } else { small }
}

/// The exponential that a scaled function lacks; infinity gives NaN, as in PyTorch.
#[inline(always)]
fn growth(a: f64) -> f64 {
    if a < f64::INFINITY { exp(a) } else { f64::NAN }
}

/// `I0(x)`, scaled by `e^-|x|` where it does not grow.
#[inline(always)]
pub(super) fn modified_bessel_i0(x: f64, grows: bool) -> f64 {
    const BELOW: [f64; 20] = [
        -0.000_131_520_606_306_070_88,
        0.000_348_241_090_578_908_04,
        -0.000_227_229_683_381_113_03,
        0.000_414_391_906_048_985_6,
        -0.002_004_475_824_577_941_4,
        0.004_166_015_653_562_654,
        -0.006_651_419_484_491_594,
        0.011_557_353_661_066_808,
        -0.019_745_851_414_068_618,
        0.030_358_703_692_477_982,
        -0.042_968_811_293_359_62,
        0.056_727_955_898_612_63,
        -0.069_543_854_025_045_84,
        0.079_282_843_344_311_46,
        -0.084_963_172_145_79,
        0.087_342_817_717_023_68,
        -0.089_043_447_704_553_07,
        0.094_515_646_728_928_27,
        -0.113_004_326_854_469_3,
        0.207_001_921_132_988_54,
    ];
    const ABOVE: [f64; 11] = [
        -7.134_118_032_538_922e-9,
        -8.162_417_434_276_367e-9,
        1.935_513_459_711_83e-8,
        4.998_795_087_202_741_5e-8,
        9.003_416_835_624_285e-8,
        2.935_535_026_978_734e-7,
        1.483_588_590_616_91e-6,
        1.114_364_419_369_586_2e-5,
        0.000_136_216_087_778_891_67,
        0.003_360_551_954_450_404,
        0.402_176_509_445_008_1,
    ];
    let a = x.abs();
    scaled(a, BELOW, ABOVE) * if grows { growth(a) } else { 1.0 }
}

/// `I1(x)`, scaled by `e^-|x|` where it does not grow.
#[inline(always)]
pub(super) fn modified_bessel_i1(x: f64, grows: bool) -> f64 {
    // Over x.
    const BELOW: [f64; 20] = [
        -1.694_785_151_624_946e-5,
        4.747_908_203_395_378_5e-5,
        -4.317_720_058_003_002e-5,
        9.375_809_886_867_844e-5,
        -0.000_363_645_204_002_846_3,
        0.000_812_047_943_412_777,
        -0.001_522_471_036_028_631,
        0.002_956_362_839_667_557_3,
        -0.005_541_908_244_896_256,
        0.009_606_095_385_955_372,
        -0.015_569_320_920_202_672,
        0.023_680_016_667_049_938,
        -0.033_671_663_704_728_05,
        0.044_675_503_161_076_1,
        -0.055_280_015_036_489_54,
        0.063_767_330_646_226_75,
        -0.068_482_606_940_700_92,
        0.068_057_602_129_603_05,
        -0.061_124_338_025_990_106,
        0.044_687_709_864_502_51,
    ];
    const ABOVE: [f64; 11] = [
        7.600_979_256_637_228e-9,
        8.431_204_077_033_39e-9,
        -2.142_855_280_395_785_3e-8,
        -5.474_730_168_891_007e-8,
        -1.012_531_543_575_798_5e-7,
        -3.441_973_856_934_691e-7,
        -1.834_661_112_406_290_3e-6,
        -1.503_922_262_659_789_3e-5,
        -0.000_219_235_776_775_831_48,
        -0.009_749_577_160_828_079,
        0.389_398_459_025_872_33,
    ];
    let a = x.abs();
    let factor = if a > MIDDLE { 1.0 } else { a };
    let size = scaled(a, BELOW, ABOVE) * factor;
    size.copysign(x) * if grows { growth(a) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function, its exact form, and the numbers that it is compared at.
    type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, [f64; 2]);

    #[test]
    fn functions_are_those_of_double_precision() {
        let cases: [Case; 7] = [
            ("lgamma", lgamma, crate::special::lgamma, [-60.0, 60.0]),
            ("lgamma", lgamma, crate::special::lgamma, [0.0, 1e30]),
            ("ndtri", ndtri, crate::special::ndtri, [1e-44, 0.999_999]),
            (
                "i0",
                |x| modified_bessel_i0(x, true),
                crate::special::modified_bessel_i0,
                [-80.0, 80.0],
            ),
            (
                "i0e",
                |x| modified_bessel_i0(x, false),
                crate::special::modified_bessel_i0e,
                [-80.0, 80.0],
            ),
            (
                "i1",
                |x| modified_bessel_i1(x, true),
                crate::special::modified_bessel_i1,
                [-80.0, 80.0],
            ),
            (
                "i1e",
                |x| modified_bessel_i1(x, false),
                crate::special::modified_bessel_i1e,
                [-80.0, 80.0],
            ),
        ];
        for (name, function, exact, [low, high]) in cases {
            for i in 0..=20_000 {
                let share = f64::from(i) / 2e4;
                let near = low + (high - low) * share * share * share * share;
                for x in [low + (high - low) * share, near] {
                    let x = f64::from(x as f32);
                    let (found, exact) = (function(x), exact(x));
                    // Beside the logarithms of about 1 that it is a difference of.
                    let off = (found - exact).abs()
                        / if name == "lgamma" && x < 0.0 {
                            exact.abs().max(1.0)
                        } else {
                            exact.abs()
                        };
                    assert!(off <= 1e-8 || found == exact, "{name} of {x}: {found}, not {exact}");
                }
            }
        }
    }

    #[test]
    fn edges_are_pytorchs() {
        let inf = f64::INFINITY;
        assert_eq!([inf, -inf, 0.0, -0.0, -1.0, -3e38].map(lgamma), [inf; 6]);
        assert_eq!([1.0, 2.0].map(lgamma), [0.0; 2]);
        assert_eq!([0.0, 0.5, 1.0].map(ndtri), [-inf, 0.0, inf]);
        assert!([-0.1, 1.1, inf, f64::NAN].iter().all(|&p| ndtri(p).is_nan()));
        assert_eq!(modified_bessel_i0(0.0, true) as f32, 1.0);
        assert_eq!(modified_bessel_i1(-0.0, true), 0.0);
        for function in [modified_bessel_i0, modified_bessel_i1] {
            assert!(function(inf, true).is_nan() && function(f64::NAN, false).is_nan());
            assert_eq!(function(inf, false), 0.0);
            assert_eq!(function(3e38, true) as f32, f32::INFINITY);
        }
        assert!(lgamma(f64::NAN).is_nan());
    }
}
