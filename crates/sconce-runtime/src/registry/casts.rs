//! Casts between numbers, strings and tensors.

use sconce_ir::DEVICE_KINDS;
use sconce_kernels::Scalar;

use super::math::truncate;
use super::{Args, Table};
use crate::error::Raise;
use crate::text::stream_text;
use crate::value::IValue::{self, Bool, Complex, Float, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::Bool", "int float", |_, args| Ok(Bool(args.real(0)? != 0.0))),
    ("aten::Int", "bool float Scalar str", |_, args| int(&args)),
    ("aten::Float", "int bool Scalar str", |_, args| float(&args)),
    (
        "aten::Complex",
        "Scalar int_bool bool_int float_bool bool_float float_int int_float int_int bool_bool \
         float_float Tensor_Tensor Tensor_float float_Tensor Tensor_int int_Tensor Tensor_bool \
         bool_Tensor",
        |_, args| complex(&args),
    ),
    ("aten::str", "-", |machine, args| Ok(IValue::str(stream_text(machine, args.get(0))?))),
    ("aten::device", "-", |_, args| device(&args.str(0)?, None)),
    ("aten::device", "with_index", |_, args| device(&args.str(0)?, Some(args.int(1)?))),
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
    if let Ok(value) = body.parse() {
        return Ok(value);
    }
    if body.contains(['x', 'X', '(']) {
        return Err(Raise::unsupported("float() of a hexadecimal number"));
    }
    let starts_with_number = (1..=body.len())
        .filter(|&end| body.is_char_boundary(end))
        .any(|end| body.get(..end).is_some_and(|head| head.parse::<f64>().is_ok()));
    Err(Raise::message(match starts_with_number {
        true => format!("could not convert string to float: '{text}'"),
        false => "stod".to_owned(),
    }))
}

fn complex(args: &Args<'_>) -> Result {
    let part = |index: usize| -> Result<f64> {
        Ok(match args.get(index) {
            Bool(a) => f64::from(u8::from(*a)),
            // PyTorch takes ints through C's `int` here.
            Int(a) => f64::from(*a as i32),
            IValue::Tensor(tensor) => match tensor.item().map_err(super::tensor_args::kernel)? {
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
