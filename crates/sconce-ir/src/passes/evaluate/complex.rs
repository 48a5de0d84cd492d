//! Complex numbers, as the C++ that PyTorch calls computes them: step by step as glibc and `c10` do, so that
//! the last digit is theirs. What would not be is left for the interpreter.

use crate::Constant;

type Parts = (f64, f64);

/// An operator of two complex numbers.
pub(super) fn binary(name: &str, (a, b): Parts, (c, d): Parts) -> Option<Constant> {
    let (re, im) = match name {
        "add" => (a + c, b + d),
        "sub" => (a - c, b - d),
        "mul" => (a * c - b * d, a * d + b * c),
        "div" => quotient((a, b), (c, d)),
        "pow" => power((a, b), (c, d))?,
        _ => return super::equality(name, a == c && b == d),
    };
    Some(Constant::Complex(re, im))
}

/// A function of one complex number.
pub(super) fn unary(name: &str, z: Parts) -> Option<Constant> {
    if name == "angle" {
        return Some(Constant::Float(z.1.atan2(z.0)));
    }
    if !z.0.is_finite() || !z.1.is_finite() {
        return None;
    }
    let (re, im) = match name {
        "exp" => exponential(z)?,
        "log" => logarithm(z)?,
        "sqrt" => root(z),
        _ => return None,
    };
    Some(Constant::Complex(re, im))
}

/// By the part of the divisor that is larger.
fn quotient((a, b): Parts, (c, d): Parts) -> Parts {
    if c.abs() < d.abs() {
        let ratio = c / d;
        let scale = 1.0 / (c * ratio + d);
        return ((a * ratio + b) * scale, (b * ratio - a) * scale);
    }
    if c == 0.0 && d == 0.0 {
        return (a / c.abs(), b / d.abs());
    }
    let ratio = d / c;
    let scale = 1.0 / (c + d * ratio);
    ((a + b * ratio) * scale, (b - a * ratio) * scale)
}

/// `exp(w * log(z))`
fn power(z: Parts, (c, d): Parts) -> Option<Parts> {
    if !(z.0.is_finite() && z.1.is_finite() && c.is_finite() && d.is_finite()) {
        return None;
    }
    let (re, im) = logarithm(z)?;
    exponential((c * re - d * im, c * im + d * re))
}

/// Of a positive number, by its own power and logarithm.
pub(super) fn power_of_real(a: f64, (re, im): Parts) -> Option<Parts> {
    let (size, angle) = (a.powf(re), im * a.ln());
    let is_plain = size.is_finite() && size >= f64::MIN_POSITIVE && angle.is_finite();
    is_plain.then(|| (size * angle.cos(), size * angle.sin()))
}

fn exponential((re, im): Parts) -> Option<Parts> {
    let size = re.exp();
    if !size.is_finite() || size < f64::MIN_POSITIVE || !im.is_finite() {
        return None;
    }
    // Where the sine would be no normal number, nothing is multiplied.
    let (sin, cos) = if im.abs() > f64::MIN_POSITIVE { im.sin_cos() } else { (im, 1.0) };
    Some((size * cos, size * sin))
}

/// `None` where the logarithm of the size takes more care than here.
fn logarithm((re, im): Parts) -> Option<Parts> {
    let (large, small) = match re.abs() < im.abs() {
        true => (im.abs(), re.abs()),
        false => (re.abs(), im.abs()),
    };
    if !(f64::MIN_POSITIVE..=f64::MAX / 2.0).contains(&large) {
        return None;
    }
    let beside_one = (large - 1.0) * (large + 1.0);
    let size = if large == 1.0 {
        (small * small).ln_1p() / 2.0
    } else if large > 1.0 && large < 2.0 && small < 1.0 {
        let square = if small >= f64::EPSILON { small * small } else { 0.0 };
        (beside_one + square).ln_1p() / 2.0
    } else if (0.5..1.0).contains(&large) && small < f64::EPSILON / 2.0 {
        beside_one.ln_1p() / 2.0
    } else if (0.5..1.0).contains(&large) && large * large + small * small >= 0.5 {
        return None;
    } else {
        large.hypot(small).ln()
    };
    Some((size, im.atan2(re)))
}

fn root((re, im): Parts) -> Parts {
    if im == 0.0 {
        return match re < 0.0 {
            true => (0.0, (-re).sqrt().copysign(im)),
            false => (re.sqrt().abs(), 0.0_f64.copysign(im)),
        };
    }
    if re == 0.0 {
        let half = match im.abs() >= 2.0 * f64::MIN_POSITIVE {
            true => (0.5 * im.abs()).sqrt(),
            false => 0.5 * (2.0 * im.abs()).sqrt(),
        };
        return (half, half.copysign(im));
    }
    let size = re.hypot(im);
    if re > 0.0 {
        let root = (0.5 * (size + re)).sqrt();
        (root, 0.5 * (im / root))
    } else {
        let root = (0.5 * (size - re)).sqrt();
        ((0.5 * (im / root)).abs(), root.copysign(im))
    }
}
