//! Transcendental functions of `f32` without branches, so that loops over them become vector code.
//!
//! Every function is a polynomial on a reduced range, in plain multiplications and additions. Nothing
//! is fused, so every CPU gives the same bits. Results are within 4 units in the last place. NaN gives
//! NaN; infinities, zeros and subnormal numbers give what PyTorch gives.

use std::ops::{Add, Mul};

/// 1.5 * 2^23: added to a small number it leaves the nearest integer in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// The bits of 2^n, for n in -126..=127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// A polynomial: its coefficients, that of the highest power first. Odd and even powers are added up
/// apart: one chain would take as long as its steps wait for each other.
#[inline(always)]
pub fn polynomial<F, const N: usize>(x: F, coefficients: [F; N]) -> F
where
    F: Copy + Add<Output = F> + Mul<Output = F>,
{
    let square = x * x;
    let (mut sum, mut other) = (coefficients[0], coefficients[1]);
    for pair in coefficients[2..].chunks_exact(2) {
        sum = sum * square + pair[0];
        other = other * square + pair[1];
    }
    match N % 2 {
        0 => sum * x + other,
        _ => (sum * square + coefficients[N - 1]) + other * x,
    }
}

/// [`polynomial`] by a function that gives `a * b + c`.
#[inline(always)]
fn polynomial_by<const N: usize>(
    times_plus: impl Fn(f32, f32, f32) -> f32,
    x: f32,
    coefficients: [f32; N],
) -> f32 {
    let square = x * x;
    let (mut sum, mut other) = (coefficients[0], coefficients[1]);
    for pair in coefficients[2..].chunks_exact(2) {
        sum = times_plus(sum, square, pair[0]);
        other = times_plus(other, square, pair[1]);
    }
    match N % 2 {
        0 => times_plus(sum, x, other),
        _ => times_plus(other, x, times_plus(sum, square, coefficients[N - 1])),
    }
}

/// `(e^r - 1 - r) / r^2` for small r.
#[inline(always)]
fn exp_tail(r: f32) -> f32 {
    polynomial(r, [1.395_170_2e-3, 8.369_592e-3, 4.166_618_7e-2, 1.666_651_4e-1, 0.5])
}

/// e^x.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Beyond these the result is infinite or 0; comparisons let NaN through.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + TO_INTEGER;
    let n = (shifted.to_bits() as i32).wrapping_sub(TO_INTEGER.to_bits() as i32);
    let whole = shifted - TO_INTEGER;
    // ln 2 in two parts, the first exact in few bits.
    let r = (x - whole * 0.693_359_4) - whole * -2.121_944_4e-4;
    let y = (exp_tail(r) * r) * r + r + 1.0;
    // In two steps, for results below the least normal number and just below infinity.
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// e^x for x from -87 to 88.
#[inline(always)]
fn exp_within(x: f32) -> f32 {
    let shifted = x * std::f32::consts::LOG2_E + TO_INTEGER;
    let n = (shifted.to_bits() as i32).wrapping_sub(TO_INTEGER.to_bits() as i32);
    let whole = shifted - TO_INTEGER;
    let r = (x - whole * 0.693_359_4) - whole * -2.121_944_4e-4;
    ((exp_tail(r) * r) * r + r + 1.0) * power_of_two(n)
}

/// e^x for x that is not above 0; 0 where that is no normal number.
#[inline(always)]
pub fn exp_of_negative(x: f32) -> f32 {
    let y = exp_within(x);
    if x < -87.0 { 0.0 } else { y }
}

/// 2^x.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    // Beyond these the result is infinite or 0; comparisons let NaN through.
    let x = if x > 129.0 { 129.0 } else { x };
    let x = if x < -151.0 { -151.0 } else { x };
    let shifted = x + TO_INTEGER;
    let n = (shifted.to_bits() as i32).wrapping_sub(TO_INTEGER.to_bits() as i32);
    let r = x - (shifted - TO_INTEGER);
    // (2^r - 1) / r
    let p = polynomial(
        r,
        [1.547_646_4e-4, 1.340_027_3e-3, 9.618_003e-3, 5.550_328e-2, 2.402_265e-1, 6.931_472e-1],
    );
    let half = n >> 1;
    (p * r + 1.0) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `ln x = n ln 2 + (f + tail)`: n, f and tail, where f is a difference that is exact.
#[inline(always)]
fn log_parts(x: f32) -> (f32, f32, f32) {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 8_388_608.0 } else { x };
    let extra = if tiny { -23.0 } else { 0.0 };
    // The mantissa between sqrt(1/2) and sqrt(2).
    let bits = scaled.to_bits();
    let from_middle = bits.wrapping_sub(0x3f35_04f3);
    let exponent = (from_middle as i32) >> 23;
    let m = f32::from_bits((from_middle & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    let f = m - 1.0;
    let p = polynomial(
        f,
        [
            6.926_107e-2,
            -1.180_682_4e-1,
            1.187_721_64e-1,
            -1.238_195_7e-1,
            1.421_784_5e-1,
            -1.666_935_1e-1,
            2.000_226_5e-1,
            -2.499_998_5e-1,
            3.333_331e-1,
        ],
    );
    let square = f * f;
    (exponent as f32 + extra, f, p * f * square - 0.5 * square)
}

/// A logarithm of x, or what it is where x is no positive number.
#[inline(always)]
fn or_edge(x: f32, logarithm: f32) -> f32 {
    let y = if x < f32::INFINITY { logarithm } else { x };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x < 0.0 { f32::NAN } else { y }
}

/// The natural logarithm.
#[inline(always)]
pub fn log(x: f32) -> f32 {
    let (n, f, tail) = log_parts(x);
    or_edge(x, ((tail + n * -2.121_944_4e-4) + f) + n * 0.693_359_4)
}

/// The logarithm to base 2.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    /// What is left of `1 / ln 2`.
    const BEYOND_ONE: f32 = 0.442_695_04;
    let (n, f, tail) = log_parts(x);
    or_edge(x, (((tail * BEYOND_ONE + f * BEYOND_ONE) + tail) + f) + n)
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let t = x.abs();
    let z = x * x;
    let q = polynomial(
        z,
        [-5.606_044_5e-3, 2.055_436_6e-2, -5.371_524e-2, 1.333_117_2e-1, -3.333_327_2e-1],
    );
    let small = q * z * x + x;
    // From there on it is 1.
    let t = if t > 20.0 { 20.0 } else { t };
    let large = 1.0 - 2.0 / (exp_within(t + t) + 1.0);
    // The sign of -0 as well.
    (if t < 0.625 { small } else { large }).copysign(x)
}

/// `e^x - 1` and `e^x + 1`, for quotients of them: the sigmoid of x is `1 / (e^-x + 1)`, the hyperbolic
/// tangent `(1 - e^-2x) / (e^-2x + 1)`. Beyond ±20 the values at ±20, which those functions cannot be
/// told from; so products of three of them are finite.
#[inline(always)]
pub fn exp_beside_one(x: f32) -> (f32, f32) {
    // Comparisons let NaN through.
    let x = if x > 20.0 { 20.0 } else { x };
    let x = if x < -20.0 { -20.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + TO_INTEGER;
    let n = (shifted.to_bits() as i32).wrapping_sub(TO_INTEGER.to_bits() as i32);
    let whole = shifted - TO_INTEGER;
    let r = (x - whole * 0.693_359_4) - whole * -2.121_944_4e-4;
    let scale = power_of_two(n);
    // e^x is scale + rest, and the rest is small where e^x is near 1.
    let rest = scale * ((exp_tail(r) * r) * r + r);
    (rest + (scale - 1.0), rest + (scale + 1.0))
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The error function.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let z = x * x;
    let p = polynomial(
        z,
        [
            7.889_119e-5,
            -8.020_841e-4,
            5.189_535e-3,
            -2.685_444_4e-2,
            1.128_36e-1,
            -3.761_262_6e-1,
            1.283_791_7e-1,
        ],
    );
    let small = p * x + x;
    let t = x.abs();
    let t = if t > 4.0 { 4.0 } else { t };
    let q = polynomial(
        t,
        [
            -1.879_725_5e-4,
            2.964_014_4e-3,
            -2.190_650_8e-2,
            1.032_562_7e-1,
            6.379_649e-1,
            1.127_202_3,
            3.124_597_4e-4,
        ],
    );
    let large = (1.0 - exp_within(-q)).copysign(x);
    if t < 1.0 { small } else { large }
}

/// The share of `|x|` that [`gelu`] takes off a positive number: `erfc(|x| / sqrt 2) / 2`.
#[inline(always)]
fn upper_tail(x: f32, times_plus: impl Fn(f32, f32, f32) -> f32 + Copy) -> f32 {
    /// From there on it is nothing beside what it is taken off.
    const END: f32 = 5.75;
    let a = x.abs();
    // Comparisons let NaN through.
    let t = if a > END { END } else { a };
    // Fitted to the logarithm to base 2.
    let logarithm = polynomial_by(
        times_plus,
        t,
        [
            -9.391_569e-8,
            3.685_347_5e-5,
            -7.936_537e-4,
            8.136_963e-3,
            -5.345_212_3e-2,
            -4.587_885_7e-1,
            -1.151_175_9,
            -9.999_98e-1,
        ],
    );
    let shifted = logarithm + TO_INTEGER;
    let n = (shifted.to_bits() as i32).wrapping_sub(TO_INTEGER.to_bits() as i32);
    let r = logarithm - (shifted - TO_INTEGER);
    // (2^r - 1) / r
    let p = polynomial_by(
        times_plus,
        r,
        [1.340_725_9e-3, 9.671_875e-3, 5.550_308_5e-2, 2.402_223_5e-1, 6.931_472_4e-1],
    );
    let tail = times_plus(p, r, 1.0) * power_of_two(n);
    if a > END { 0.0 } else { tail }
}

/// `torch.nn.functional.gelu`, of which PyTorch's result for infinity is NaN in this precision.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    let positive = if x < 0.0 { 0.0 } else { x };
    positive - x.abs() * upper_tail(x, |a, b, c| a * b + c)
}

/// [`gelu`] with products and sums fused, which takes less time where the CPU does that and more where not. Its results
/// differ in the last places.
#[inline(always)]
pub fn gelu_fused(x: f32) -> f32 {
    let positive = if x < 0.0 { 0.0 } else { x };
    x.abs().mul_add(-upper_tail(x, f32::mul_add), positive)
}

/// `torch.nn.functional.gelu(approximate='tanh')`.
#[inline(always)]
pub fn gelu_tanh(x: f32) -> f32 {
    use std::f32::consts::{FRAC_2_SQRT_PI, SQRT_2};
    let inner = SQRT_2 * FRAC_2_SQRT_PI * 0.5 * (x + 0.044_715 * x * x * x);
    0.5 * x * (1.0 + tanh(inner))
}

/// `x * sigmoid(x)`.
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place of the true value.
    fn ulps(found: f32, exact: f64) -> f64 {
        let near = exact as f32;
        if found == near || (found.is_nan() && near.is_nan()) {
            return 0.0;
        }
        let next = f32::from_bits(near.abs().to_bits() + 1) - near.abs();
        (f64::from(found) - exact).abs() / f64::from(next)
    }

    /// A function, its exact form, and how many units it may be off.
    type Case = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes hours for all")]
    fn functions_are_near_the_true_values_over_the_whole_range() {
        let cases: [Case; 7] = [
            ("exp", exp, f64::exp, 2.0),
            ("exp2", exp2, f64::exp2, 2.0),
            ("log", log, f64::ln, 2.0),
            ("log2", log2, f64::log2, 2.0),
            ("tanh", tanh, f64::tanh, 3.0),
            ("erf", erf, libm::erf, 3.0),
            ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 4.0),
        ];
        for (name, function, exact, limit) in cases {
            let mut worst = (0.0, 0.0);
            for bits in (0..=u32::MAX).step_by(9973) {
                let x = f32::from_bits(bits);
                // Where e^-x is infinite, the sigmoid is 0 as PyTorch's.
                if name == "sigmoid" && x < -88.0 {
                    continue;
                }
                let off = ulps(function(x), exact(f64::from(x)));
                if off > worst.0 {
                    worst = (off, x);
                }
            }
            assert!(worst.0 <= limit, "{name}: {worst:?}");
        }
    }

    #[test]
    fn quotients_of_what_is_beside_one_are_sigmoid_and_tanh() {
        for i in -4000..=4000 {
            let x = i as f32 * 0.01;
            let sigmoid = 1.0 / exp_beside_one(-x).1;
            assert!((f64::from(sigmoid) - 1.0 / (1.0 + f64::from(-x).exp())).abs() < 2e-7, "{x}");
            let (minus, plus) = exp_beside_one(-2.0 * x);
            let off = f64::from(-minus / plus) - f64::from(x).tanh();
            assert!(off.abs() <= 4e-7 * f64::from(x).tanh().abs(), "{x}: {off}");
        }
        let (minus, plus) = exp_beside_one(f32::NAN);
        assert!(minus.is_nan() && plus.is_nan());
        assert!(exp_beside_one(f32::INFINITY).1.powi(3).is_finite());
    }

    #[test]
    fn gelu_is_near_the_true_value() {
        const EACH: usize = if cfg!(miri) { 1009 } else { 1 };
        for i in (-120_000..=120_000).step_by(EACH) {
            let x = i as f32 * 1e-4;
            let exact = f64::from(x) * 0.5 * libm::erfc(-f64::from(x) / 2f64.sqrt());
            let off = (f64::from(gelu(x)) - exact).abs();
            assert!(off <= 3e-7 && off <= 3e-6 * exact.abs() + 5e-8, "{x}: {off:e}");
        }
        assert_eq!((gelu(3e38), gelu(-3e38)), (3e38, 0.0));
        assert_eq!(gelu(-0.0).to_bits(), (-0.0f32).to_bits());
        assert!([f32::INFINITY, f32::NEG_INFINITY].iter().all(|&x| gelu(x).is_nan()));
    }

    #[test]
    fn edges_are_pytorchs() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert_eq!(exp(-inf), 0.0);
        assert_eq!(
            [exp_of_negative(-inf), exp_of_negative(-1e9), exp_of_negative(-0.0)],
            [0.0, 0.0, 1.0]
        );
        assert!(exp_of_negative(nan).is_nan());
        for i in 0..=8700 {
            let x = i as f32 * -0.01;
            assert!(ulps(exp_of_negative(x), f64::from(x).exp()) <= 2.0, "{x}");
        }
        assert_eq!(exp(inf), inf);
        assert_eq!([exp2(-inf), exp2(inf), exp2(-149.0)], [0.0, inf, f32::from_bits(1)]);
        assert_eq!([log2(8.0), log2(0.0), log2(inf)], [3.0, -inf, inf]);
        assert_eq!(log(0.0), -inf);
        assert_eq!(log(-0.0), -inf);
        assert_eq!(log(inf), inf);
        assert_eq!((tanh(inf), tanh(-inf)), (1.0, -1.0));
        assert_eq!((erf(inf), erf(-inf)), (1.0, -1.0));
        assert_eq!((sigmoid(inf), sigmoid(-inf)), (1.0, 0.0));
        assert_eq!(tanh(-0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(erf(-0.0).to_bits(), (-0.0f32).to_bits());
        for function in [exp, exp2, log, log2, tanh, erf, sigmoid, gelu, gelu_tanh, silu] {
            assert!(function(nan).is_nan());
        }
        assert!(log(-1.0).is_nan());
        assert!(log(-inf).is_nan());
        assert!(silu(-inf).is_nan());
    }
}
