//! Values as text: `str`, `print` and `format`.

use sconce_ir::{Constant, TensorConstant};

use crate::error::Raise;
use crate::interpreter::Machine;
use crate::primitive::type_of;
use crate::registry::kernel;
use crate::tensor_text::tensor_text;
use crate::value::IValue;

/// The text of a value: `operator<<` of `IValue`.
pub(crate) fn stream_text(machine: &mut Machine, value: &IValue) -> Result<String, Raise> {
    Ok(constant(machine, value)?.stream_text())
}

/// The constant that has the same text.
fn constant(machine: &mut Machine, value: &IValue) -> Result<Constant, Raise> {
    Ok(match value {
        IValue::None => Constant::None,
        IValue::Bool(value) => Constant::Bool(*value),
        IValue::Int(value) => Constant::Int(*value),
        IValue::Float(value) => Constant::Float(*value),
        IValue::Complex(re, im) => Constant::Complex(*re, *im),
        IValue::Str(text) => Constant::Str(text.clone()),
        IValue::Device(text) => Constant::Device(text.clone()),
        IValue::Enum(of, index) => Constant::Enum(sconce_ir::Type::Enum(of.clone()), *index),
        IValue::List(list) => {
            let list = list.read();
            let items: Result<Vec<Constant>, Raise> =
                list.items.iter().map(|item| constant(machine, item)).collect();
            Constant::List(list.element.clone(), items?.into())
        }
        IValue::Tuple(tuple) => {
            let items: Result<Vec<Constant>, Raise> =
                tuple.items.iter().map(|item| constant(machine, item)).collect();
            Constant::Tuple(items?.into(), None)
        }
        IValue::Dict(dict) => {
            let dict = dict.read();
            let mut entries = Vec::with_capacity(dict.len());
            for (key, value) in dict.entries() {
                entries.push((constant(machine, key)?, constant(machine, value)?));
            }
            Constant::Dict(dict.key.clone(), dict.value.clone(), entries.into())
        }
        IValue::Tensor(tensor) => {
            let text = tensor_text(tensor).map_err(kernel)?;
            Constant::Tensor(TensorConstant { index: 0, text: text.into() })
        }
        other => {
            let ty = type_of(machine, other);
            return Err(Raise::unsupported(format!("the text of a value of type {ty}")));
        }
    })
}

/// How deep values are shown that hold each other.
const MAX_DEPTH: usize = 16;

/// What Python's `repr` says of a value.
pub(crate) fn python_text(value: &IValue) -> String {
    shown(value, 0)
}

fn shown(value: &IValue, depth: usize) -> String {
    if depth > MAX_DEPTH {
        return "...".to_owned();
    }
    let all = |items: &[IValue]| {
        items.iter().map(|item| shown(item, depth + 1)).collect::<Vec<_>>().join(", ")
    };
    match value {
        IValue::None => "None".to_owned(),
        IValue::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        IValue::Int(value) => value.to_string(),
        IValue::Float(value) => float_repr(*value),
        IValue::Complex(re, im) => complex_repr(*re, *im),
        IValue::Str(text) => string_repr(text),
        IValue::Device(text) => match text.split_once(':') {
            Some((kind, index)) => format!("device(type='{kind}', index={index})"),
            None => format!("device(type='{text}')"),
        },
        IValue::List(list) => format!("[{}]", all(&list.read().items)),
        IValue::Tuple(tuple) if tuple.items.len() == 1 => format!("({},)", all(&tuple.items)),
        IValue::Tuple(tuple) => format!("({})", all(&tuple.items)),
        IValue::Dict(dict) => {
            let dict = dict.read();
            let entries = dict
                .entries()
                .map(|(key, value)| format!("{}: {}", shown(key, depth), shown(value, depth + 1)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        IValue::Tensor(tensor) => match tensor.to_file() {
            Ok(tensor) => tensor.display(&Default::default()).to_string(),
            Err(error) => format!("<{error}>"),
        },
        other => format!("<{}>", other.kind_name()),
    }
}

/// The shortest text that gives the same number again, with an exponent of two digits at least.
fn float_repr(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan".to_owned() } else { format!("{value}") };
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let digits = digits.strip_suffix(".0").unwrap_or(digits);
            let (sign, exponent) =
                exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

fn complex_repr(re: f64, im: f64) -> String {
    let part = |value: f64| {
        let text = float_repr(value);
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    if re == 0.0 && re.is_sign_positive() {
        return format!("{}j", part(im));
    }
    let sign = if im.is_sign_negative() || im.is_nan() { "" } else { "+" };
    format!("({}{sign}{}j)", part(re), part(im))
}

fn string_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sconce_ir::Type;

    #[test]
    fn values_read_as_python_shows_them() {
        let cases = [
            (IValue::Float(1e20), "1e+20"),
            (IValue::Float(1.5e-7), "1.5e-07"),
            (IValue::Float(2.0), "2.0"),
            (IValue::Complex(0.0, 1.0), "1j"),
            (IValue::Complex(1.5, -2.0), "(1.5-2j)"),
            (IValue::str("it's\n"), "\"it's\\n\""),
            (IValue::tuple(vec![IValue::Bool(true)]), "(True,)"),
            (IValue::list(Type::Any, vec![IValue::None, IValue::str("a")]), "[None, 'a']"),
        ];
        for (value, text) in cases {
            assert_eq!(python_text(&value), text);
        }
    }
}
