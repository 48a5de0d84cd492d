//! Bessel functions and the Airy function.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use std::f64::consts::PI;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// `torch.special.bessel_j0`: NaN at infinity, as in PyTorch.
pub fn bessel_j0(x: f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { libm::j0(x) }
}

/// `torch.special.bessel_j1`.
pub fn bessel_j1(x: f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { libm::j1(x) }
}

/// `torch.special.bessel_y0`: negative infinity at 0, NaN below.
pub fn bessel_y0(x: f64) -> f64 {
    second_kind(x, libm::y0)
}

/// `torch.special.bessel_y1`: negative infinity at 0, NaN below.
pub fn bessel_y1(x: f64) -> f64 {
    second_kind(x, libm::y1)
}

fn second_kind(x: f64, f: fn(f64) -> f64) -> f64 {
    match x {
        0.0 => f64::NEG_INFINITY,
        x if x < 0.0 || x.is_infinite() => f64::NAN,
        x => f(x),
    }
}

/// `torch.special.spherical_bessel_j0`: `sin(x) / x`.
pub fn spherical_bessel_j0(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    if x == 0.0 { 1.0 } else { x.sin() / x }
}

/// Where the power series of the modified functions hands over to the expansion at infinity.
const FAR: f64 = 25.0;

/// `Σ (x²/4)^k / (k! (k + order)!)`.
fn power_series(x: f64, order: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 0.0);
    while term > sum * 1e-18 {
        k += 1.0;
        term *= quarter / (k * (k + order));
        sum += term;
    }
    sum
}

/// `sqrt(2πx) e^-x I(x)` for large arguments; `mu` is four times the square of the order.
fn expansion(x: f64, mu: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..60 {
        let odd = f64::from(2 * k - 1);
        let next = -term * (mu - odd * odd) / (f64::from(k) * 8.0 * x);
        if next.abs() >= f64::abs(term) || next.abs() < 1e-18 {
            break;
        }
        term = next;
        sum += term;
    }
    sum
}

/// `torch.special.i0e`: `e^-|x| I0(x)`.
pub fn modified_bessel_i0e(x: f64) -> f64 {
    let x = x.abs();
    match x {
        x if x.is_nan() => x,
        x if x <= FAR => (-x).exp() * power_series(x, 0.0),
        x => expansion(x, 0.0) / ((2.0 * PI).sqrt() * x.sqrt()),
    }
}

/// `torch.special.i0` and `modified_bessel_i0`.
pub fn modified_bessel_i0(x: f64) -> f64 {
    grown(x, modified_bessel_i0e)
}

/// `torch.special.i1e`: `e^-|x| I1(x)`.
pub fn modified_bessel_i1e(x: f64) -> f64 {
    let size = x.abs();
    let result = match size {
        size if size.is_nan() => return size,
        size if size <= FAR => (-size).exp() * size / 2.0 * power_series(size, 1.0),
        size => expansion(size, 4.0) / ((2.0 * PI).sqrt() * size.sqrt()),
    };
    if x < 0.0 { -result } else { result }
}

/// `torch.special.i1` and `modified_bessel_i1`.
pub fn modified_bessel_i1(x: f64) -> f64 {
    grown(x, modified_bessel_i1e)
}

fn grown(x: f64, scaled: fn(f64) -> f64) -> f64 {
    let size = x.abs();
    if size > 700.0 {
        // In two steps, since the exponential alone would overflow first.
        let half = (size / 2.0).exp();
        return half * scaled(x) * half;
    }
    size.exp() * scaled(x)
}

/// `e^x K(x)` of a real order as the integral of `exp(x - x cosh t) cosh(order t)`, which the
/// trapezoidal rule finds to full precision.
fn integral(x: f64, order: f64) -> f64 {
    let step = 0.12 / x.max(1.0).sqrt();
    let mut sum = 0.5;
    for k in 1..2000 {
        let t = step * f64::from(k);
        let half = (t / 2.0).sinh();
        let term = (-2.0 * x * half * half).exp() * (order * t).cosh();
        sum += term;
        if term < 1e-18 * sum {
            break;
        }
    }
    sum * step
}

/// `torch.special.scaled_modified_bessel_k0`: `e^x K0(x)`.
pub fn scaled_modified_bessel_k0(x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY,
        x if !(x >= 0.0) => f64::NAN,
        x if x < 1.0 => near_k0(x) * x.exp(),
        x if x.is_infinite() => 0.0,
        x => integral(x, 0.0),
    }
}

/// `torch.special.modified_bessel_k0`.
pub fn modified_bessel_k0(x: f64) -> f64 {
    if x > 0.0 && x < 1.0 { near_k0(x) } else { scaled_modified_bessel_k0(x) * (-x).exp() }
}

fn near_k0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut harmonic, mut sum) = (1.0, 0.0, 0.0);
    for k in 1..20 {
        let k = f64::from(k);
        term *= quarter / (k * k);
        harmonic += 1.0 / k;
        sum += term * harmonic;
    }
    sum - ((x / 2.0).ln() + EULER) * power_series(x, 0.0)
}

/// `torch.special.scaled_modified_bessel_k1`: `e^x K1(x)`.
pub fn scaled_modified_bessel_k1(x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY,
        x if !(x >= 0.0) => f64::NAN,
        x if x < 1.0 => near_k1(x) * x.exp(),
        x if x.is_infinite() => 0.0,
        x => integral(x, 1.0),
    }
}

/// `torch.special.modified_bessel_k1`.
pub fn modified_bessel_k1(x: f64) -> f64 {
    if x > 0.0 && x < 1.0 { near_k1(x) } else { scaled_modified_bessel_k1(x) * (-x).exp() }
}

fn near_k1(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut harmonic, mut sum) = (1.0, 0.0, 0.0);
    for k in 0..20 {
        let k = f64::from(k);
        // ψ(k + 1) + ψ(k + 2)
        let digammas = 2.0 * (harmonic - EULER) + 1.0 / (k + 1.0);
        sum += term * digammas;
        harmonic += 1.0 / (k + 1.0);
        term *= quarter / ((k + 1.0) * (k + 2.0));
    }
    1.0 / x + (x / 2.0).ln() * (x / 2.0) * power_series(x, 1.0) - x / 4.0 * sum
}

/// `torch.special.airy_ai`.
pub fn airy_ai(x: f64) -> f64 {
    if x.is_infinite() || x.is_nan() {
        return f64::NAN;
    }
    if x > 103.892 {
        return 0.0;
    }
    let zeta = 2.0 / 3.0 * x.abs() * x.abs().sqrt();
    if x > 1.5 {
        return (-zeta).exp() * integral(zeta, 1.0 / 3.0) * (x / 3.0).sqrt() / PI;
    }
    if x > -7.5 {
        return airy_series(x);
    }
    airy_oscillating(x.abs(), zeta)
}

fn airy_series(x: f64) -> f64 {
    const AT_ZERO: f64 = 0.355_028_053_887_817_2;
    const SLOPE_AT_ZERO: f64 = -0.258_819_403_792_806_8;
    let cube = x * x * x;
    let (mut even, mut odd) = (1.0, x);
    let mut sum = AT_ZERO * even + SLOPE_AT_ZERO * odd;
    let mut k = 0.0;
    for _ in 0..80 {
        even *= cube / ((k + 2.0) * (k + 3.0));
        odd *= cube / ((k + 3.0) * (k + 4.0));
        sum += AT_ZERO * even + SLOPE_AT_ZERO * odd;
        k += 3.0;
    }
    sum
}

/// The expansion for large negative arguments, DLMF 9.7.9.
fn airy_oscillating(size: f64, zeta: f64) -> f64 {
    let (mut cosine, mut sine) = (0.0, 0.0);
    let mut term: f64 = 1.0;
    for k in 0..40 {
        match k % 4 {
            0 => cosine += term,
            1 => sine += term,
            2 => cosine -= term,
            _ => sine -= term,
        }
        let k = f64::from(k + 1);
        let next = term * (6.0 * k - 5.0) * (6.0 * k - 3.0) * (6.0 * k - 1.0)
            / (216.0 * k * (2.0 * k - 1.0) * zeta);
        if next >= term || next < 1e-18 {
            break;
        }
        term = next;
    }
    let angle = zeta - PI / 4.0;
    (angle.cos() * cosine + angle.sin() * sine) / (PI.sqrt() * size.sqrt().sqrt())
}
