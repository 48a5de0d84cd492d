//! Elementary functions of complex numbers with a part that is infinite, NaN or zero, as Annex G of the
//! C standard defines them. PyTorch takes these functions from the C library.
//!
//! Where [`num_complex`] agrees with Annex G for finite numbers, a function here is for numbers that
//! are not finite only. [`crate::elementwise::complex_functions`] has the rest.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use num_complex::Complex;

type C = Complex<f64>;

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

/// Whether neither part is infinite or NaN.
pub(crate) fn is_finite(z: C) -> bool {
    z.re.is_finite() && z.im.is_finite()
}

pub(crate) fn exp(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        C::new(x.exp(), y)
    } else if x == INFINITY && !y.is_finite() {
        C::new(x, NAN)
    } else if x == -INFINITY && !y.is_finite() {
        C::new(0.0, 0.0)
    } else {
        z.exp()
    }
}

/// A power, where base or exponent is not finite.
pub(crate) fn pow(base: C, exponent: C) -> C {
    exp(product(exponent, base.ln()))
}

/// The product that a C compiler makes: where both parts would be NaN and an operand is infinite, one
/// that is infinite.
fn product(a: C, b: C) -> C {
    let plain = a * b;
    let is_infinite = |z: C| z.re.is_infinite() || z.im.is_infinite();
    if !plain.re.is_nan() || !plain.im.is_nan() || !(is_infinite(a) || is_infinite(b)) {
        return plain;
    }
    // Of an infinite number its direction counts, and NaN for nothing beside it.
    let unit = |x: f64| if x.is_infinite() { 1f64 } else { 0.0 }.copysign(x);
    let number = |x: f64| if x.is_nan() { 0f64.copysign(x) } else { x };
    let direction = |z: C| match is_infinite(z) {
        true => C::new(unit(z.re), unit(z.im)),
        false => C::new(number(z.re), number(z.im)),
    };
    let (a, b) = (direction(a), direction(b));
    C::new(INFINITY * (a.re * b.re - a.im * b.im), INFINITY * (a.re * b.im + a.im * b.re))
}

pub(crate) fn sqrt(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y.is_infinite() {
        C::new(INFINITY, y)
    } else if x == INFINITY {
        C::new(x, if y.is_nan() { y } else { 0f64.copysign(y) })
    } else if x == -INFINITY && y.is_nan() {
        C::new(y, INFINITY)
    } else if x == -INFINITY {
        C::new(0.0, INFINITY.copysign(y))
    } else if is_finite(z) {
        z.sqrt()
    } else {
        C::new(NAN, NAN)
    }
}

pub(crate) fn sinh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        C::new(x.sinh(), y)
    } else if is_finite(z) {
        z.sinh()
    } else if x.is_infinite() && y.is_finite() {
        C::new(x * y.cos(), INFINITY * y.sin())
    } else if x.is_infinite() {
        C::new(INFINITY, NAN)
    } else if x == 0.0 {
        C::new(x, NAN)
    } else {
        C::new(NAN, NAN)
    }
}

pub(crate) fn cosh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        C::new(x.cosh(), y * 1f64.copysign(x))
    } else if is_finite(z) {
        z.cosh()
    } else if x.is_infinite() && y.is_finite() {
        C::new(INFINITY * y.cos(), x * y.sin())
    } else if x.is_infinite() {
        C::new(INFINITY, NAN)
    } else if x == 0.0 {
        C::new(NAN, 0.0)
    } else {
        C::new(NAN, NAN)
    }
}

pub(crate) fn tanh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.is_infinite() || (x.abs() > 20.0 && y.is_finite()) {
        // The exponential would be infinite, where the quotient is 1.
        let sine = if y.is_finite() { (2.0 * y).sin() } else { 1.0 };
        C::new(1f64.copysign(x), 0f64.copysign(sine))
    } else if y == 0.0 {
        C::new(x.tanh(), y)
    } else if is_finite(z) {
        z.tanh()
    } else if x == 0.0 {
        C::new(x, NAN)
    } else {
        C::new(NAN, NAN)
    }
}

/// The inverse hyperbolic sine of a number that is not finite.
pub(crate) fn asinh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.is_infinite() && y.is_nan() {
        z
    } else if x.is_infinite() && y.is_infinite() {
        C::new(x, FRAC_PI_4.copysign(y))
    } else if x.is_infinite() {
        C::new(x, 0f64.copysign(y))
    } else if x.is_nan() && y.is_infinite() {
        C::new(INFINITY, NAN)
    } else if y.is_infinite() {
        C::new(INFINITY.copysign(x), FRAC_PI_2.copysign(y))
    } else if y == 0.0 {
        z
    } else {
        C::new(NAN, NAN)
    }
}

/// The inverse cosine of a number that is not finite.
pub(crate) fn acos(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.is_nan() && y.is_infinite() {
        C::new(NAN, -y)
    } else if x.is_infinite() && y.is_nan() {
        C::new(NAN, -INFINITY)
    } else if x == 0.0 && y.is_nan() {
        C::new(FRAC_PI_2, NAN)
    } else if x.is_nan() || y.is_nan() {
        C::new(NAN, NAN)
    } else {
        C::new(direction(x, y), -INFINITY.copysign(y))
    }
}

/// The inverse hyperbolic cosine of a number that is not finite.
pub(crate) fn acosh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.is_infinite() || y.is_infinite() {
        let has_nan = x.is_nan() || y.is_nan();
        C::new(INFINITY, if has_nan { NAN } else { direction(x, y).copysign(y) })
    } else if x == 0.0 {
        C::new(NAN, FRAC_PI_2)
    } else {
        C::new(NAN, NAN)
    }
}

/// The inverse hyperbolic tangent of a number that is not finite.
pub(crate) fn atanh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y.is_infinite() || (x.is_infinite() && y.is_finite()) {
        C::new(0f64.copysign(x), FRAC_PI_2.copysign(y))
    } else if x.is_infinite() {
        C::new(0f64.copysign(x), NAN)
    } else if x == 0.0 {
        z
    } else {
        C::new(NAN, NAN)
    }
}

/// The angle without its sign of a number with an infinite part and without NaN.
fn direction(x: f64, y: f64) -> f64 {
    match (x == INFINITY, x == -INFINITY, y.is_infinite()) {
        (true, _, true) => FRAC_PI_4,
        (_, true, true) => 3.0 * FRAC_PI_4,
        (_, _, true) => FRAC_PI_2,
        (_, true, _) => PI,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_finite_give_what_pytorch_gives() {
        let z = C::new;
        let (inf, nan) = (INFINITY, NAN);
        type Function = fn(C) -> C;
        let cases: [(Function, C, C); 24] = [
            (|z| pow(z, C::new(-1.0, 0.0)), z(nan, inf), z(0.0, 0.0)),
            (|z| pow(z, C::new(1.0, NAN)), z(inf, 0.0), z(inf, nan)),
            (exp, z(1000.0, 0.0), z(inf, 0.0)),
            (sqrt, z(nan, inf), z(inf, inf)),
            (sqrt, z(nan, 0.0), z(nan, nan)),
            (sqrt, z(inf, 1.0), z(inf, 0.0)),
            (sqrt, z(-inf, -1.0), z(0.0, -inf)),
            (sqrt, z(-inf, nan), z(nan, inf)),
            (sinh, z(nan, 0.0), z(nan, 0.0)),
            (sinh, z(-inf, nan), z(inf, nan)),
            (sinh, z(0.0, inf), z(0.0, nan)),
            (cosh, z(inf, 0.0), z(inf, 0.0)),
            (cosh, z(0.0, inf), z(nan, 0.0)),
            (tanh, z(100.0, nan), z(nan, nan)),
            (tanh, z(0.0, inf), z(0.0, nan)),
            (tanh, z(-inf, nan), z(-1.0, 0.0)),
            (asinh, z(nan, inf), z(inf, nan)),
            (asinh, z(-1.0, inf), z(-inf, FRAC_PI_2)),
            (acos, z(-inf, 1.0), z(PI, -inf)),
            (acos, z(inf, nan), z(nan, -inf)),
            (acosh, z(-inf, inf), z(inf, 3.0 * FRAC_PI_4)),
            (acosh, z(nan, inf), z(inf, nan)),
            (atanh, z(nan, -inf), z(0.0, -FRAC_PI_2)),
            (atanh, z(-inf, nan), z(-0.0, nan)),
        ];
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        for (at, (function, z, expected)) in cases.into_iter().enumerate() {
            let found = function(z);
            let is_same = same(found.re, expected.re) && same(found.im, expected.im);
            assert!(is_same, "{at}: of {z} {found}, expected {expected}");
        }
    }
}
