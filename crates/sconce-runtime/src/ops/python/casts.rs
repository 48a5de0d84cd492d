//! Casts between numbers, strings and tensors.

use sconce_ir::DEVICE_KINDS;
use sconce_kernels::Scalar;

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::python::math::truncate;
use crate::ops::python::text::stream_text;
use crate::value::IValue::{self, Bool, Complex, Float, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::Bool", "int float", |_, args| Ok(Bool(args.real(0)? != 0.0))),
    op("aten::Int", "bool float Scalar str", |_, args| int(&args)),
    op("aten::Float", "int bool Scalar str", |_, args| float(&args)),
    op(
        "aten::Complex",
        "Scalar int_bool bool_int float_bool bool_float float_int int_float int_int bool_bool float_float Tensor_Tensor Tensor_float float_Tensor Tensor_int int_Tensor Tensor_bool bool_Tensor",
        |_, args| complex(&args),
    ),
    op("aten::str", "-", |context, args| Ok(IValue::str(stream_text(context, args.get(0))?))),
    op("aten::device", "-", |_, args| device(&args.str(0)?, None)),
    op("aten::device", "with_index", |_, args| device(&args.str(0)?, Some(args.int(1)?))),
];

fn int(args: &Args<'_>) -> Result {
    Ok(Int(match args.get(0) {
        Bool(a) => i64::from(*a),
        Int(a) => *a,
        Float(a) => truncate(*a),
        IValue::Str(text) => parse_int(text)?,
        _ => return Err(Raise::unsupported("aten::Int of a complex number")),
    }))
}

/// `std::stoll`, and nothing after the number.
fn parse_int(text: &str) -> Result<i64> {
    let body = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let digits = body.strip_prefix(['+', '-']).unwrap_or(body);
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return Err(Raise::message("stoll"));
    }
    if length != digits.len() {
        return Err(Raise::message(format!("invalid literal for int() with base 10: '{text}'")));
    }
    body.parse().map_err(|_| Raise::message("stoll"))
}

fn float(args: &Args<'_>) -> Result {
    Ok(Float(match args.get(0) {
        Bool(a) => f64::from(u8::from(*a)),
        Int(a) => *a as f64,
        Float(a) => *a,
        IValue::Str(text) => parse_float(text)?,
        _ => return Err(Raise::unsupported("aten::Float of a complex number")),
    }))
}

/// `std::stod`, and nothing after the number.
fn parse_float(text: &str) -> Result<f64> {
    let body = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    match leading_number(body).ok_or_else(|| Raise::message("stod"))? {
        (value, "") => Ok(value),
        _ => Err(Raise::message(format!("could not convert string to float: '{text}'"))),
    }
}

/// What C's `strtod` reads of a text, and the rest of the text; `None` where that begins with no
/// number, or with one that no normal number of double precision is near.
fn leading_number(text: &str) -> Option<(f64, &str)> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if let Some((value, rest)) = leading_word(body) {
        return Some((value.copysign(sign), rest));
    }
    if let Some((value, rest)) = leading_hexadecimal(body) {
        return (value == 0.0 || value.is_normal()).then_some((value.copysign(sign), rest));
    }
    let (mantissa, rest) = leading_digits(body, |c| c.is_ascii_digit());
    let is_zero = !mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let rest = leading_exponent(rest, ['e', 'E']).map_or(rest, |(_, rest)| rest);
    // Neither a point nor an exponent alone is a number.
    let value: f64 = body.get(..body.len() - rest.len())?.parse().ok()?;
    (is_zero || value.is_normal()).then_some((value.copysign(sign), rest))
}

/// An infinity or NaN by its name.
fn leading_word(body: &str) -> Option<(f64, &str)> {
    let after = |word: &str| {
        let begins = body.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        begins.then(|| body.get(word.len()..).unwrap_or_default())
    };
    if let Some(rest) = after("infinity").or_else(|| after("inf")) {
        return Some((f64::INFINITY, rest));
    }
    let rest = after("nan")?;
    // C lets NaNs have names.
    let named = rest.strip_prefix('(').and_then(|rest| {
        let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        name.strip_prefix(')')
    });
    Some((f64::NAN, named.unwrap_or(rest)))
}

/// Digits with at most one point among them, and the rest.
fn leading_digits(body: &str, is_digit: impl Fn(char) -> bool) -> (&str, &str) {
    let mut has_point = false;
    let end = body.find(|c: char| match c {
        '.' => std::mem::replace(&mut has_point, true),
        c => !is_digit(c),
    });
    body.split_at(end.unwrap_or(body.len()))
}

/// The exponent after one of these letters, and the rest.
fn leading_exponent(body: &str, letters: [char; 2]) -> Option<(i32, &str)> {
    let after = body.strip_prefix(letters)?;
    let digits = after.strip_prefix(['+', '-']).unwrap_or(after);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = digits.get(..digits.len() - rest.len()).filter(|digits| !digits.is_empty())?;
    // What is longer is beyond all numbers.
    let size: i32 = digits.parse().unwrap_or(1 << 20);
    Some((if after.starts_with('-') { -size } else { size }, rest))
}

/// A number in hexadecimal digits, and the rest.
fn leading_hexadecimal(body: &str) -> Option<(f64, &str)> {
    let after = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X"))?;
    let (digits, rest) = leading_digits(after, |c| c.is_ascii_hexdigit());
    if !digits.contains(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let (mut mantissa, mut exponent, mut is_fraction) = (0u64, 0i32, false);
    for digit in digits.chars() {
        let Some(digit) = digit.to_digit(16) else {
            is_fraction = true;
            continue;
        };
        let fits = mantissa < 1 << 59;
        // What there is no room for only says on which side of a half the rest is.
        mantissa =
            if fits { mantissa * 16 + u64::from(digit) } else { mantissa | u64::from(digit > 0) };
        exponent = exponent.saturating_add(4 * (i32::from(!fits) - i32::from(is_fraction)));
    }
    let (shift, rest) = leading_exponent(rest, ['p', 'P']).unwrap_or((0, rest));
    let exponent = exponent.saturating_add(shift);
    // In two steps, of which neither leaves the range by itself.
    let half = exponent.clamp(-2000, 2000) / 2;
    let value = mantissa as f64 * 2f64.powi(half) * 2f64.powi(exponent.clamp(-2000, 2000) - half);
    Some((value, rest))
}

fn complex(args: &Args<'_>) -> Result {
    let part = |index: usize| -> Result<f64> {
        Ok(match args.get(index) {
            Bool(a) => f64::from(u8::from(*a)),
            // PyTorch takes ints through C's `int` here.
            Int(a) => f64::from(*a as i32),
            IValue::Tensor(tensor) => match tensor.item().map_err(crate::error::kernel)? {
                Scalar::Complex(_) => {
                    return Err(Raise::unsupported("complex() of a complex tensor"));
                }
                item => item.to_f64(),
            },
            _ => args.real(index)?,
        })
    };
    Ok(match (args.get(0), args.len()) {
        (Complex(re, im), 1) => Complex(*re, *im),
        (_, 1) => Complex(args.real(0)?, 0.0),
        _ => Complex(part(0)?, part(1)?),
    })
}

fn device(text: &str, index: Option<i64>) -> Result {
    let full = index.map_or_else(|| text.to_owned(), |index| format!("{text}:{index}"));
    let (kind, index) = full.split_once(':').map_or((&*full, None), |(kind, at)| (kind, Some(at)));
    let is_index = |index: &str| {
        index.bytes().all(|byte| byte.is_ascii_digit())
            && (index == "0" || !index.starts_with('0'))
            && index.parse::<i8>().is_ok()
    };
    if index.is_some_and(|index| !is_index(index)) {
        return Err(Raise::message(format!("Invalid device string: '{full}'")));
    }
    if !DEVICE_KINDS.contains(&kind) {
        return Err(Raise::message(format!(
            "Expected one of {} device type at start of device string: {kind}",
            DEVICE_KINDS.join(", ")
        )));
    }
    Ok(IValue::Device(full.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_the_c_library_reads_them() {
        let numbers = [
            ("-1.5e3", -1500.0),
            (" \t.5", 0.5),
            ("5.", 5.0),
            ("0e-999", 0.0),
            ("-Infinity", f64::NEG_INFINITY),
            ("0x1p3", 8.0),
            ("-0X1.8", -1.5),
            ("0x1.00000000000008000001", 1.000_000_000_000_000_2),
        ];
        for (text, number) in numbers {
            assert_eq!(parse_float(text).ok(), Some(number), "{text}");
        }
        assert!(parse_float("nan(a_1)").is_ok_and(f64::is_nan));
        let words = ["stod", "could not convert string to float: '"];
        let wrong = [
            ("", 0),
            ("-.e1", 0),
            ("1e400", 0),
            ("1e-310", 0),
            ("0x1p1024", 0),
            ("1e", 1),
            ("0x", 1),
            ("0x1p", 1),
            ("nan()x", 1),
            ("infin", 1),
            ("2.5 ", 1),
            ("1_0", 1),
            ("1\u{e9}", 1),
        ];
        for (text, said) in wrong {
            let error = parse_float(text).expect_err(text);
            assert!(format!("{error:?}").contains(words[said]), "{text}: {error:?}");
        }
    }
}
