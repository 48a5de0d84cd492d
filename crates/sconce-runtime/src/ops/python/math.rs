//! Functions of the `math` module.

use num_complex::Complex64 as C;

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::python::numbers::single;
use crate::value::IValue::{self, Bool, Complex, Float, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

/// The overloads of functions of one real number.
const REAL: &str = "int float";
/// The overloads of functions of one number, complex numbers among them.
const ANY: &str = "int float complex";
/// The overloads of functions of two real numbers.
const REALS: &str = "int float int_float float_int -";

pub(crate) const TABLE: Table = &[
    op("aten::sin", ANY, |_, args| elementary(&args, f64::sin, C::sin))
        .strides(ResultStrides::Elements),
    op("aten::sin", "Scalar", |_, args| single(elementary(&args, f64::sin, C::sin)))
        .strides(ResultStrides::Elements),
    op("aten::cos", ANY, |_, args| elementary(&args, f64::cos, C::cos))
        .strides(ResultStrides::Elements),
    op("aten::cos", "Scalar", |_, args| single(elementary(&args, f64::cos, C::cos)))
        .strides(ResultStrides::Elements),
    op("aten::tan", ANY, |_, args| elementary(&args, f64::tan, C::tan))
        .strides(ResultStrides::Elements),
    op("aten::tan", "Scalar", |_, args| single(elementary(&args, f64::tan, C::tan)))
        .strides(ResultStrides::Elements),
    op("aten::asin", ANY, |_, args| elementary(&args, f64::asin, C::asin))
        .strides(ResultStrides::Elements),
    op("aten::asin", "Scalar", |_, args| single(elementary(&args, f64::asin, C::asin)))
        .strides(ResultStrides::Elements),
    op("aten::acos", ANY, |_, args| elementary(&args, f64::acos, C::acos))
        .strides(ResultStrides::Elements),
    op("aten::acos", "Scalar", |_, args| single(elementary(&args, f64::acos, C::acos)))
        .strides(ResultStrides::Elements),
    op("aten::atan", ANY, |_, args| elementary(&args, f64::atan, C::atan))
        .strides(ResultStrides::Elements),
    op("aten::atan", "Scalar", |_, args| single(elementary(&args, f64::atan, C::atan)))
        .strides(ResultStrides::Elements),
    op("aten::sinh", ANY, |_, args| elementary(&args, f64::sinh, C::sinh))
        .strides(ResultStrides::Elements),
    op("aten::sinh", "Scalar", |_, args| single(elementary(&args, f64::sinh, C::sinh)))
        .strides(ResultStrides::Elements),
    op("aten::cosh", ANY, |_, args| elementary(&args, f64::cosh, C::cosh))
        .strides(ResultStrides::Elements),
    op("aten::cosh", "Scalar", |_, args| single(elementary(&args, f64::cosh, C::cosh)))
        .strides(ResultStrides::Elements),
    op("aten::tanh", ANY, |_, args| elementary(&args, f64::tanh, C::tanh))
        .strides(ResultStrides::Elements),
    op("aten::tanh", "Scalar", |_, args| single(elementary(&args, f64::tanh, C::tanh)))
        .strides(ResultStrides::Elements),
    op("aten::asinh", ANY, |_, args| elementary(&args, f64::asinh, C::asinh))
        .strides(ResultStrides::Elements),
    op("aten::asinh", "Scalar", |_, args| single(elementary(&args, f64::asinh, C::asinh)))
        .strides(ResultStrides::Elements),
    op("aten::acosh", ANY, |_, args| elementary(&args, f64::acosh, C::acosh))
        .strides(ResultStrides::Elements),
    op("aten::acosh", "Scalar", |_, args| single(elementary(&args, f64::acosh, C::acosh)))
        .strides(ResultStrides::Elements),
    op("aten::atanh", ANY, |_, args| elementary(&args, f64::atanh, C::atanh))
        .strides(ResultStrides::Elements),
    op("aten::atanh", "Scalar", |_, args| single(elementary(&args, f64::atanh, C::atanh)))
        .strides(ResultStrides::Elements),
    op("aten::sqrt", ANY, |_, args| elementary(&args, f64::sqrt, C::sqrt))
        .strides(ResultStrides::Elements),
    op("aten::sqrt", "Scalar", |_, args| single(elementary(&args, f64::sqrt, C::sqrt)))
        .strides(ResultStrides::Elements),
    op("aten::exp", ANY, |_, args| elementary(&args, f64::exp, C::exp))
        .strides(ResultStrides::Elements),
    op("aten::exp", "Scalar", |_, args| single(elementary(&args, f64::exp, C::exp)))
        .strides(ResultStrides::Elements),
    op("aten::log", ANY, |_, args| elementary(&args, f64::ln, C::ln))
        .strides(ResultStrides::Elements),
    op("aten::log", "Scalar", |_, args| single(elementary(&args, f64::ln, C::ln)))
        .strides(ResultStrides::Elements),
    op("aten::log10", ANY, |_, args| elementary(&args, f64::log10, C::log10))
        .strides(ResultStrides::Elements),
    op("aten::log10", "Scalar", |_, args| single(elementary(&args, f64::log10, C::log10)))
        .strides(ResultStrides::Elements),
    op("aten::log", "int_int float_float int_float float_int Scalar_Scalar", |_, args| {
        Ok(Float(args.real(0)?.ln() / args.real(1)?.ln()))
    })
    .strides(ResultStrides::Elements),
    op(
        "aten::log",
        "complex_complex int_complex complex_int float_complex complex_float",
        |_, args| {
            let quotient = complex(&args, 0)?.ln() / complex(&args, 1)?.ln();
            Ok(Complex(quotient.re, quotient.im))
        },
    )
    .strides(ResultStrides::Elements),
    op("aten::expm1", REAL, |_, args| real(&args, f64::exp_m1)).strides(ResultStrides::Elements),
    op("aten::expm1", "Scalar", |_, args| single(real(&args, f64::exp_m1)))
        .strides(ResultStrides::Elements),
    op("aten::log1p", REAL, |_, args| real(&args, f64::ln_1p)).strides(ResultStrides::Elements),
    op("aten::log1p", "Scalar", |_, args| single(real(&args, f64::ln_1p)))
        .strides(ResultStrides::Elements),
    op("aten::erf", REAL, |_, args| real(&args, libm::erf)).strides(ResultStrides::Elements),
    op("aten::erf", "Scalar", |_, args| single(real(&args, libm::erf)))
        .strides(ResultStrides::Elements),
    op("aten::erfc", REAL, |_, args| real(&args, libm::erfc)).strides(ResultStrides::Elements),
    op("aten::erfc", "Scalar", |_, args| single(real(&args, libm::erfc)))
        .strides(ResultStrides::Elements),
    op("aten::gamma", REAL, |_, args| real(&args, libm::tgamma)),
    op("aten::gamma", "Scalar", |_, args| single(real(&args, libm::tgamma))),
    op("aten::lgamma", REAL, |_, args| real(&args, libm::lgamma)).strides(ResultStrides::Elements),
    op("aten::lgamma", "Scalar", |_, args| single(real(&args, libm::lgamma)))
        .strides(ResultStrides::Elements),
    op("aten::fabs", REAL, |_, args| real(&args, f64::abs)),
    op("aten::fabs", "Scalar", |_, args| single(real(&args, f64::abs))),
    op("aten::round", REAL, |_, args| real(&args, f64::round_ties_even))
        .strides(ResultStrides::Elements),
    op("aten::round", "Scalar", |_, args| single(real(&args, f64::round_ties_even)))
        .strides(ResultStrides::Elements),
    op("aten::degrees", REAL, |_, args| real(&args, |a| a * 180.0 / std::f64::consts::PI)),
    op("aten::degrees", "Scalar", |_, args| {
        single(real(&args, |a| a * 180.0 / std::f64::consts::PI))
    }),
    op("aten::radians", REAL, |_, args| real(&args, |a| a * (std::f64::consts::PI / 180.0))),
    op("aten::radians", "Scalar", |_, args| {
        single(real(&args, |a| a * (std::f64::consts::PI / 180.0)))
    }),
    op("aten::angle", ANY, |_, args| angle(&args)).strides(ResultStrides::Elements),
    op("aten::angle", "Scalar", |_, args| single(angle(&args))).strides(ResultStrides::Elements),
    op("aten::polar", "int float int_float float_int Scalar_Scalar", |_, args| {
        let (length, angle) = (args.real(0)?, args.real(1)?);
        Ok(Complex(length * angle.cos(), length * angle.sin()))
    })
    .strides(ResultStrides::Numbers),
    op("aten::frexp", "-", |_, args| {
        let (fraction, exponent) = libm::frexp(args.real(0)?);
        Ok(IValue::tuple(vec![Float(fraction), Int(i64::from(exponent))]))
    })
    .strides(ResultStrides::Copy),
    op("aten::atan2", "int float int_float float_int Scalar_Scalar", |_, args| {
        reals(&args, f64::atan2)
    })
    .strides(ResultStrides::Numbers),
    op("aten::copysign", REALS, |_, args| reals(&args, f64::copysign))
        .strides(ResultStrides::Numbers),
    op("aten::fmod", REALS, |_, args| reals(&args, |a, b| a % b)).strides(ResultStrides::Numbers),
    op("aten::mathremainder", REALS, |_, args| reals(&args, ieee_rest)),
    op("aten::ldexp", "-", |_, args| {
        let exponent = args.int(1)?.clamp(-5000, 5000) as i32;
        Ok(Float(scale(args.real(0)?, exponent)))
    }),
    op("aten::modf", "-", |_, args| {
        let a = args.real(0)?;
        let part = if a.is_infinite() { 0.0_f64.copysign(a) } else { a.fract().copysign(a) };
        Ok(IValue::tuple(vec![Float(part), Float(a.trunc())]))
    }),
    op("aten::floor", "int float Scalar", |_, args| {
        whole(
            args.real(0)?,
            |whole, beyond| {
                if beyond < 0.0 { whole.wrapping_sub(1) } else { whole }
            },
        )
    })
    .strides(ResultStrides::Elements),
    op("aten::ceil", "int float Scalar", |_, args| match args.get(0) {
        Int(value) => Ok(Int(*value)),
        _ => whole(
            args.real(0)?,
            |whole, beyond| {
                if beyond > 0.0 { whole.wrapping_add(1) } else { whole }
            },
        ),
    })
    .strides(ResultStrides::Elements),
    op("aten::isnan", "float complex", |_, args| test(&args, |re, im| re.is_nan() || im.is_nan()))
        .strides(ResultStrides::Elements),
    op("aten::isinf", "float complex", |_, args| {
        test(&args, |re, im| re.is_infinite() || im.is_infinite())
    })
    .strides(ResultStrides::Elements),
    op("aten::isfinite", "float complex", |_, args| {
        test(&args, |re, im| re.is_finite() && im.is_finite())
    })
    .strides(ResultStrides::Elements),
    op("aten::gcd", "int", |_, args| {
        Ok(Int(gcd(args.int(0)?.unsigned_abs(), args.int(1)?.unsigned_abs()) as i64))
    })
    .strides(ResultStrides::Numbers),
    op("aten::factorial", "int", |_, args| factorial(args.int(0)?)),
    op("aten::__range_length", "-", |_, args| {
        range_length(args.int(0)?, args.int(1)?, args.int(2)?)
    }),
    op("aten::__derive_index", "-", |_, args| {
        Ok(Int(args.int(1)?.wrapping_add(args.int(0)?.wrapping_mul(args.int(2)?))))
    }),
];

fn real(args: &Args<'_>, function: fn(f64) -> f64) -> Result {
    Ok(Float(function(args.real(0)?)))
}

fn angle(args: &Args<'_>) -> Result {
    Ok(Float(match args.get(0) {
        Complex(re, im) => im.atan2(*re),
        _ => match args.real(0)? {
            a if a.is_nan() => a,
            a if a < 0.0 => std::f64::consts::PI,
            _ => 0.0,
        },
    }))
}

/// A function of a real or complex number. Where a part is no finite number, or the number is one
/// where several answers join, C's rules have answers of their own.
fn elementary(args: &Args<'_>, real: fn(f64) -> f64, general: fn(C) -> C) -> Result {
    let Complex(re, im) = *args.get(0) else { return Ok(Float(real(args.real(0)?))) };
    let result = general(C::new(re, im));
    let plain = [re, im, result.re, result.im].into_iter().all(f64::is_finite);
    if !plain || re == 0.0 || im == 0.0 {
        return Err(Raise::unsupported("a function of this complex number"));
    }
    Ok(Complex(result.re, result.im))
}

fn complex(args: &Args<'_>, index: usize) -> Result<C> {
    Ok(match args.get(index) {
        Complex(re, im) => C::new(*re, *im),
        _ => C::new(args.real(index)?, 0.0),
    })
}

fn reals(args: &Args<'_>, function: fn(f64, f64) -> f64) -> Result {
    Ok(Float(function(args.real(0)?, args.real(1)?)))
}

/// The integer that C++'s cast makes: what does not fit gives the least, as on x86.
pub(crate) fn truncate(a: f64) -> i64 {
    if a >= i64::MIN as f64 && a < i64::MAX as f64 { a as i64 } else { i64::MIN }
}

/// The same of C's `int`.
pub(crate) fn truncate_to_int(a: f64) -> i32 {
    let whole = truncate(a);
    i32::try_from(whole).unwrap_or(i32::MIN)
}

/// The integer near a number that `round` makes of its integral part and of how far it is from there.
fn whole(value: f64, round: fn(i64, f64) -> i64) -> Result {
    let bound = i64::MAX as f64;
    if !(-bound..=bound).contains(&value) {
        let shown = match value.is_finite() {
            true => format!("{value:.6}"),
            false => sconce_ir::float_text(value),
        };
        return Err(Raise::message(format!("Cannot convert float {shown} to integer")));
    }
    let whole = truncate(value);
    Ok(Int(round(whole, value - whole as f64)))
}

fn test(args: &Args<'_>, holds: fn(f64, f64) -> bool) -> Result {
    Ok(Bool(match args.get(0) {
        Complex(re, im) => holds(*re, *im),
        _ => holds(args.real(0)?, 0.0),
    }))
}

/// The rest nearest to zero: `std::remainder`.
fn ieee_rest(a: f64, b: f64) -> f64 {
    if !a.is_finite() || b.is_nan() || b == 0.0 {
        return f64::NAN;
    }
    if b.is_infinite() {
        return a;
    }
    let b = b.abs();
    // Below twice the divisor, so that the quotient's last bit is kept.
    let mut rest = if b <= f64::MAX / 2.0 { a.abs() % (b + b) } else { a.abs() };
    if rest + rest > b {
        rest -= b;
        if rest + rest >= b {
            rest -= b;
        }
    }
    if a.is_sign_negative() { -rest } else { rest }
}

/// `a * 2^exponent`, rounded once.
fn scale(mut a: f64, mut exponent: i32) -> f64 {
    while exponent > 1000 {
        a *= 2.0_f64.powi(1000);
        exponent -= 1000;
    }
    while exponent < -1000 {
        a *= 2.0_f64.powi(-1000);
        exponent += 1000;
    }
    a * 2.0_f64.powi(exponent)
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn factorial(a: i64) -> Result {
    if a < 0 {
        return Err(Raise::message("factorial() not defined for negative values"));
    }
    // From 66 on, the product is a multiple of 2^64.
    Ok(Int((1..=a.min(66)).fold(1_i64, i64::wrapping_mul)))
}

fn range_length(low: i64, high: i64, step: i64) -> Result {
    if step == 0 {
        return Err(Raise::message("range() arg 3 must not be zero"));
    }
    let count = |from: i64, to: i64, step: i64| {
        1_i64.wrapping_add(to.wrapping_sub(1).wrapping_sub(from).wrapping_div(step))
    };
    Ok(Int(if step > 0 && low < high {
        count(low, high, step)
    } else if step < 0 && low > high {
        count(high, low, step.wrapping_neg())
    } else {
        0
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_the_ends_are_made_whole_as_pytorch_makes_them() {
        let ceil =
            |value| whole(value, |whole, beyond| whole.wrapping_add(i64::from(beyond > 0.0)));
        for (value, expected) in [
            (1.5, 2),
            (-1.5, -1),
            (9.2e18, 9_200_000_000_000_000_000),
            // What does not fit is the least number, and one more where it is above that.
            (9_223_372_036_854_775_808.0, i64::MIN + 1),
            (-9_223_372_036_854_775_808.0, i64::MIN),
        ] {
            assert!(ceil(value).is_ok_and(|found| found.is(&Int(expected))), "{value}");
        }
        for (value, shown) in [(1e19, "10000000000000000000.000000"), (f64::NAN, "nan")] {
            let error = format!("{:?}", ceil(value).unwrap_err());
            assert!(error.contains(&format!("Cannot convert float {shown} to integer")), "{error}");
        }
        assert_eq!([1e30, 3e9, -1.5].map(truncate_to_int), [i32::MIN, i32::MIN, -1]);
    }
}
