//! What operators on scalars, strings and devices give, as PyTorch's interpreter computes it.
//!
//! `None` is an operator that is not here, or one that raises: constant propagation leaves both
//! alone.

mod complex;
mod strings;

use std::cmp::Ordering;

use crate::{Constant, DEVICE_KINDS, Schema, hash_constant};

use Constant::{Bool, Complex, Device, Enum, Float, Int, Str};

/// What an operator gives for constants.
pub(super) fn evaluate(schema: &Schema, arguments: &[Constant]) -> Option<Vec<Constant>> {
    let (_, name) = schema.name.split_once("::")?;
    if let Some(results) = several(name, arguments) {
        return Some(results);
    }
    let result = match arguments {
        // Wherever a graph is, it is a program, and nothing is traced while it is compiled.
        [] => match name {
            "is_scripting" => Some(Bool(true)),
            "_get_tracing_state" => Some(Bool(false)),
            _ => None,
        },
        [a] => unary(name, a),
        [a, b] => binary(name, &schema.overload, a, b),
        [a, b, c] => ternary(name, a, b, c),
        _ => strings::several(name, arguments),
    };
    result.map(|result| vec![result])
}

/// Operators with several results.
fn several(name: &str, arguments: &[Constant]) -> Option<Vec<Constant>> {
    match (name, arguments) {
        ("divmod", [Int(a), Int(b)]) => {
            Some(vec![Int(floor_div(*a, *b)?), Int(floor_mod(*a, *b)?)])
        }
        ("divmod", [Float(a), Float(b)]) => {
            let (quotient, rest) = divide(*a, *b)?;
            Some(vec![Float(quotient), Float(rest)])
        }
        // Mixed arguments go through C's `int` and `float`, and the quotient through an integer.
        ("divmod", [a, b]) => {
            let (quotient, rest) = divide(narrow(a)?, narrow(b)?)?;
            Some(vec![Float(fitting(quotient)? as f64), Float(rest)])
        }
        (_, [Str(text), Str(by)]) => strings::triple(name, text, by),
        ("modf", [Float(a)]) if a.is_finite() => Some(vec![Float(a.fract()), Float(a.trunc())]),
        _ => None,
    }
}

/// Quotient and rest of the sign of the divisor.
fn divide(a: f64, b: f64) -> Option<(f64, f64)> {
    if b == 0.0 {
        return None;
    }
    let mut rest = a % b;
    if rest != 0.0 && (a < 0.0) != (b < 0.0) {
        rest += b;
    }
    Some(((a - rest) / b, rest))
}

fn narrow(a: &Constant) -> Option<f64> {
    match a {
        Int(a) => Some(f64::from(*a as i32)),
        Float(a) => Some(f64::from(*a as f32)),
        _ => None,
    }
}

fn unary(name: &str, a: &Constant) -> Option<Constant> {
    Some(match (name, a) {
        ("neg", Int(a)) => Int(a.wrapping_neg()),
        ("neg", Float(a)) => Float(-a),
        ("neg", Complex(re, im)) => Complex(-re, -im),
        ("abs", Int(a)) => Int(a.wrapping_abs()),
        ("abs", Float(a)) => Float(a.abs()),
        ("abs", Complex(re, im)) => Float(re.hypot(*im)),
        ("__not__", Bool(a)) => Bool(!a),
        ("Bool", Int(a)) => Bool(*a != 0),
        ("Bool", Float(a)) => Bool(*a != 0.0),
        ("Int", Bool(a)) => Int(i64::from(*a)),
        ("Int", Int(a)) => Int(*a),
        ("Int", Float(a)) => Int(truncate(*a)),
        ("Int", Str(text)) => Int(text.parse().ok().filter(|_| is_decimal(text))?),
        ("Float", Bool(a)) => Float(f64::from(u8::from(*a))),
        ("Float", Str(text)) => {
            let text = text.trim();
            let is_float = is_decimal(text) || matches!(text, "inf" | "-inf" | "nan");
            Float(text.parse().ok().filter(|_| is_float)?)
        }
        ("Float", a) => Float(real(a)?),
        ("Complex", a) => complex(a).map(|(re, im)| Complex(re, im))?,
        ("floor" | "ceil", Int(a)) => Int(truncate(*a as f64)),
        ("floor", Float(a)) => Int(fitting(a.floor())?),
        ("ceil", Float(a)) => Int(fitting(a.ceil())?),
        ("isnan", Float(a)) => Bool(a.is_nan()),
        ("isinf", Float(a)) => Bool(a.is_infinite()),
        ("isfinite", Float(a)) => Bool(a.is_finite()),
        ("isnan", Complex(re, im)) => Bool(re.is_nan() || im.is_nan()),
        ("isinf", Complex(re, im)) => Bool(re.is_infinite() || im.is_infinite()),
        ("isfinite", Complex(re, im)) => Bool(re.is_finite() && im.is_finite()),
        ("factorial", Int(a)) => {
            let last = u32::try_from(*a).ok().filter(|&last| last <= 20)?;
            Int((1..=i64::from(last)).product())
        }
        ("chr", Int(a)) => text_of(&[u8::try_from(*a).ok()?])?,
        ("bin", Int(a)) => prefixed(*a, "0b", |a| format!("{a:b}")),
        ("oct", Int(a)) => prefixed(*a, "0o", |a| format!("{a:o}")),
        ("hex", Int(a)) => prefixed(*a, "0x", |a| format!("{a:x}")),
        ("str", Bool(_) | Int(_) | Float(_) | Complex(..) | Constant::None)
        | ("str", Device(_) | Constant::Tuple(..)) => Str(a.stream_text().into()),
        ("str", Enum(ty, index)) => {
            let class = ty.qualified_name()?.rsplit('.').next()?;
            Str(format!("Enum<{class}.{}>", member(ty, *index)?.0).into())
        }
        ("hash", a) => Int(hash_constant(a)?),
        ("type", Device(name)) => Str(name.split(':').next()?.into()),
        ("index", Device(name)) => match name.split_once(':') {
            Some((_, index)) => Int(index.parse().ok()?),
            None => Constant::None,
        },
        ("device", Str(text)) => device(text)?,
        ("unchecked_cast", a) => a.clone(),
        ("EnumName", Enum(ty, index)) => Str(member(ty, *index)?.0.clone()),
        ("EnumValue", Enum(ty, index)) => member(ty, *index)?.1.clone(),
        (_, Str(text)) => return strings::unary(name, text),
        (_, Complex(re, im)) => return complex::unary(name, (*re, *im)),
        _ => Float(function(name)?(real(a)?)),
    })
}

/// Functions of a float; of ints too.
fn function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "sinh" => f64::sinh,
        "cosh" => f64::cosh,
        "tanh" => f64::tanh,
        "sqrt" => f64::sqrt,
        "exp" => f64::exp,
        "expm1" => f64::exp_m1,
        "log" => |a| positive_nan(a.ln()),
        "log1p" => f64::ln_1p,
        "log10" => f64::log10,
        "fabs" => f64::abs,
        "round" => f64::round_ties_even,
        "degrees" => |a| a * 180.0 / std::f64::consts::PI,
        "radians" => |a| a * (std::f64::consts::PI / 180.0),
        _ => return None,
    })
}

/// A generator of random numbers, of the CPU and of the default seed where nothing else is said.
fn generator(device: &Constant, seed: &Constant) -> Option<Constant> {
    /// `c10::default_rng_seed_val`
    const SEED: u64 = 67_280_421_310_721;
    let device = if let Device(device) = device { device.clone() } else { "cpu".into() };
    let seed = if let Int(seed) = seed { *seed as u64 } else { SEED };
    Some(Constant::Generator(device, seed))
}

fn binary(name: &str, overload: &str, a: &Constant, b: &Constant) -> Option<Constant> {
    if matches!(name, "__is__" | "__isnot__") {
        // Whether two equal values are one object is known of None alone.
        let (x, y) = (*a == Constant::None, *b == Constant::None);
        return (x || y).then_some(Bool((x && y) == (name == "__is__")));
    }
    match (a, b) {
        (Device(_) | Constant::None, Int(_) | Constant::None) if name == "Generator" => {
            generator(a, b)
        }
        (Int(a), Int(b)) => ints(name, overload, *a, *b),
        (Bool(a), Bool(b)) => bools(name, *a, *b),
        (Str(_), _) => strings::several(name, &[a.clone(), b.clone()]),
        (Device(_), Device(_)) | (Enum(..), Enum(..)) => equality(name, a == b),
        (Float(_) | Int(_), Complex(re, im)) if name == "pow" && real(a)? > 0.0 => {
            let (re, im) = complex::power_of_real(real(a)?, (*re, *im))?;
            Some(Complex(re, im))
        }
        (Complex(..), _) | (_, Complex(..)) => complex::binary(name, complex(a)?, complex(b)?),
        (Int(_) | Float(_) | Bool(_), Int(_) | Float(_) | Bool(_)) if name == "Complex" => {
            Some(Complex(part(a)?, part(b)?))
        }
        (Float(a), Int(b)) if name == "ldexp" => {
            Some(Float(a * 2.0_f64.powi((*b as i32).clamp(-5000, 5000))))
        }
        (Int(_) | Float(_), Int(_) | Float(_)) => floats(name, real(a)?, real(b)?),
        _ => None,
    }
}

fn equality(name: &str, equal: bool) -> Option<Constant> {
    match name {
        "eq" => Some(Bool(equal)),
        "ne" => Some(Bool(!equal)),
        _ => None,
    }
}

fn ordering(name: &str, order: Option<Ordering>) -> Option<Constant> {
    Some(Bool(match name {
        "eq" => order == Some(Ordering::Equal),
        "ne" => order != Some(Ordering::Equal),
        "lt" => order == Some(Ordering::Less),
        "gt" => order == Some(Ordering::Greater),
        "le" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        "ge" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return None,
    }))
}

fn ints(name: &str, overload: &str, a: i64, b: i64) -> Option<Constant> {
    Some(match name {
        "add" => Int(a.wrapping_add(b)),
        "sub" => Int(a.wrapping_sub(b)),
        "mul" => Int(a.wrapping_mul(b)),
        "floordiv" => Int(floor_div(a, b)?),
        "remainder" => Int(b.wrapping_add(a.checked_rem(b)?).checked_rem(b)?),
        "__round_to_zero_floordiv" => Int(a.checked_div(b)?),
        "pow" if overload == "int_to_int" => Int(a.wrapping_pow(u32::try_from(b).ok()?)),
        "min" => Int(a.min(b)),
        "max" => Int(a.max(b)),
        "gcd" => Int(gcd(a.unsigned_abs(), b.unsigned_abs()) as i64),
        "__and__" => Int(a & b),
        "__or__" => Int(a | b),
        "__xor__" => Int(a ^ b),
        "__lshift__" if (0..64).contains(&b) => Int(a.wrapping_shl(b as u32)),
        "__rshift__" if (0..64).contains(&b) => Int(a >> b),
        "Complex" => Complex(f64::from(a as i32), f64::from(b as i32)),
        "eq" | "ne" | "lt" | "gt" | "le" | "ge" => return ordering(name, Some(a.cmp(&b))),
        _ => return floats(name, a as f64, b as f64),
    })
}

fn bools(name: &str, a: bool, b: bool) -> Option<Constant> {
    Some(match name {
        "__and__" => Bool(a & b),
        "__or__" => Bool(a | b),
        "__xor__" | "ne" => Bool(a != b),
        "eq" => Bool(a == b),
        "Complex" => Complex(f64::from(u8::from(a)), f64::from(u8::from(b))),
        _ => return None,
    })
}

fn floats(name: &str, a: f64, b: f64) -> Option<Constant> {
    Some(Float(match name {
        "add" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        "div" => a / b,
        "floordiv" => (a / b).floor(),
        "remainder" => (b + a % b) % b,
        "fmod" => a % b,
        "pow" if a == 0.0 && b < 0.0 => return None,
        "pow" => a.powf(b),
        // As `std::min` and `std::max` have it where one is not a number.
        "min" => {
            if b < a {
                b
            } else {
                a
            }
        }
        "max" => {
            if a < b {
                b
            } else {
                a
            }
        }
        "atan2" => a.atan2(b),
        "copysign" => a.copysign(b),
        "log" => positive_nan(a.ln()) / positive_nan(b.ln()),
        "Complex" => return Some(Complex(a, b)),
        "polar" => return Some(Complex(a * b.cos(), a * b.sin())),
        _ => return ordering(name, a.partial_cmp(&b)),
    }))
}

fn ternary(name: &str, a: &Constant, b: &Constant, c: &Constant) -> Option<Constant> {
    match (name, a, b, c) {
        ("__derive_index", Int(index), Int(start), Int(step)) => {
            Some(Int(start.wrapping_add(index.wrapping_mul(*step))))
        }
        ("__range_length", Int(from), Int(to), Int(step)) => {
            // As 64-bit integers wrap.
            let length = |from: i64, to: i64, step: i64| {
                1 + to.wrapping_sub(1).wrapping_sub(from).wrapping_div(step)
            };
            Some(Int(match step.signum() {
                1 if from < to => length(*from, *to, *step),
                -1 if from > to => length(*to, *from, step.wrapping_neg()),
                0 => return None,
                _ => 0,
            }))
        }
        _ => strings::several(name, &[a.clone(), b.clone(), c.clone()]),
    }
}

fn member(ty: &crate::Type, index: u32) -> Option<&(std::sync::Arc<str>, Constant)> {
    match ty {
        crate::Type::Enum(of) => of.members.get(index as usize),
        _ => None,
    }
}

fn real(a: &Constant) -> Option<f64> {
    match a {
        Int(a) => Some(*a as f64),
        Float(a) => Some(*a),
        _ => None,
    }
}

fn number(a: &Constant) -> Option<f64> {
    match a {
        Bool(a) => Some(f64::from(u8::from(*a))),
        _ => real(a),
    }
}

/// A part of a complex number; ints go through C's `int`.
fn part(a: &Constant) -> Option<f64> {
    match a {
        Int(a) => Some(f64::from(*a as i32)),
        _ => number(a),
    }
}

fn complex(a: &Constant) -> Option<(f64, f64)> {
    match a {
        Complex(re, im) => Some((*re, *im)),
        _ => Some((number(a)?, 0.0)),
    }
}

/// No number has a sign where PyTorch takes logarithms.
fn positive_nan(a: f64) -> f64 {
    if a.is_nan() { f64::NAN } else { a }
}

/// The integer of a float that fits.
fn fitting(a: f64) -> Option<i64> {
    (a >= i64::MIN as f64 && a < i64::MAX as f64).then_some(a as i64)
}

/// C++'s cast; what does not fit gives the least int, as on x86.
fn truncate(a: f64) -> i64 {
    fitting(a).unwrap_or(i64::MIN)
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn floor_mod(a: i64, b: i64) -> Option<i64> {
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn prefixed(a: i64, prefix: &str, digits: impl Fn(u64) -> String) -> Constant {
    let sign = if a < 0 { "-" } else { "" };
    Str(format!("{sign}{prefix}{}", digits(a.unsigned_abs())).into())
}

/// A string of bytes; `None` where they are not UTF-8.
fn text_of(bytes: &[u8]) -> Option<Constant> {
    std::str::from_utf8(bytes).ok().map(|text| Str(text.into()))
}

/// Digits with a sign, a point or an exponent, and nothing else.
fn is_decimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
}

/// A device by name, with the index that it is written with.
fn device(text: &str) -> Option<Constant> {
    let (kind, index) = text.split_once(':').map_or((text, None), |(kind, at)| (kind, Some(at)));
    let plain = |index: &str| {
        index.bytes().all(|byte| byte.is_ascii_digit())
            && (index == "0" || !index.starts_with('0'))
            && index.parse::<i8>().is_ok()
    };
    (DEVICE_KINDS.contains(&kind) && index.is_none_or(plain)).then(|| Device(text.into()))
}
