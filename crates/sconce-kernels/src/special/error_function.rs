//! The error function and its relatives.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI, SQRT_2};

use sconce_kernel_core::vecmath::single_via_double;

/// `torch.erfinv`: NaN outside [-1, 1].
pub fn erfinv(y: f64) -> f64 {
    if y.abs() == 1.0 {
        return f64::INFINITY.copysign(y);
    }
    if !(y.abs() < 1.0) {
        return f64::NAN;
    }
    if y.abs() < 0.9 {
        // One of Newton's steps doubles the digits.
        let x = single_via_double::erfinv(y);
        return x - (libm::erf(x) - y) * (x * x).exp() / FRAC_2_SQRT_PI;
    }
    // Where the argument is near 1 the tail says more than the whole.
    -ndtri_tail((1.0 - y.abs()) / 2.0).copysign(-y) * FRAC_1_SQRT_2
}

/// `torch.special.erfcx`: `exp(x²) erfc(x)`.
pub fn erfcx(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < 0.0 {
        return if x < -26.7 { f64::INFINITY } else { 2.0 * (x * x).exp() - erfcx(-x) };
    }
    if x < 12.0 {
        // The square's rounding error counts: exp takes it back.
        let square = x * x;
        let error = x.mul_add(x, -square);
        return square.exp() * libm::erfc(x) * (1.0 + error);
    }
    if x > 1e8 {
        return 1.0 / (PI.sqrt() * x);
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..30 {
        let next = -term * f64::from(2 * k - 1) / (2.0 * x * x);
        if next.abs() >= f64::abs(term) || next.abs() < 1e-18 {
            break;
        }
        term = next;
        sum += term;
    }
    sum / (PI.sqrt() * x)
}

/// `torch.special.ndtr`: the normal distribution function.
pub fn ndtr(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// `torch.special.log_ndtr`.
pub fn log_ndtr(x: f64) -> f64 {
    if x < -1.0 {
        let t = x * FRAC_1_SQRT_2;
        return (erfcx(-t) / 2.0).ln() - t * t;
    }
    (-libm::erfc(x * FRAC_1_SQRT_2) / 2.0).ln_1p()
}

/// `torch.special.ndtri`: the inverse of [`ndtr`]; NaN outside [0, 1].
pub fn ndtri(p: f64) -> f64 {
    match p {
        0.0 => f64::NEG_INFINITY,
        1.0 => f64::INFINITY,
        p if !(p > 0.0 && p < 1.0) => f64::NAN,
        0.5 => 0.0,
        p if p < 0.5 => ndtri_tail(p),
        p => -ndtri_tail(1.0 - p),
    }
}

/// The inverse below one half, improved by Halley's method from a first guess.
fn ndtri_tail(p: f64) -> f64 {
    let t = (-2.0 * p.ln()).sqrt();
    // Abramowitz and Stegun 26.2.23.
    let top = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let bottom = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = -(t - top / bottom);
    for _ in 0..4 {
        let density = (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
        if density == 0.0 {
            break;
        }
        let u = (0.5 * libm::erfc(-x / SQRT_2) - p) / density;
        x -= u / (1.0 + 0.5 * x * u);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_the_error_function_is_that() {
        for bits in (0..=1f32.to_bits()).step_by(9973) {
            for y in [f32::from_bits(bits), -f32::from_bits(bits)] {
                let found = single_via_double::erfinv(y.into()) as f32;
                let exact = erfinv(y.into()) as f32;
                let steps = found.to_bits().abs_diff(exact.to_bits());
                assert!(steps <= 1, "{y}: {found}, not {exact}");
            }
        }
        assert_eq!([1.0, -1.0].map(single_via_double::erfinv), [f64::INFINITY, f64::NEG_INFINITY]);
        assert!(
            [1.5, -2.0, f64::INFINITY, f64::NAN]
                .iter()
                .all(|&y| single_via_double::erfinv(y).is_nan())
        );
        assert_eq!(single_via_double::erfinv(-0.0).to_bits(), (-0f64).to_bits());
    }
}
