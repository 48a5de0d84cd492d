//! Arguments and constants as Python shows them.

use sconce_pickle::repr::{write_float, write_str};

use crate::json::Json;
use crate::schema::{Argument, ComplexValue, Device};

/// Python's `repr` of a text.
pub(crate) fn text(value: &str) -> String {
    let mut out = String::new();
    write_str(&mut out, value);
    out
}

pub(crate) fn float(value: f64) -> String {
    let mut out = String::new();
    write_float(&mut out, value);
    out
}

pub(crate) fn boolean(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// A list of what is shown already.
pub(crate) fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(show).collect();
    format!("[{}]", items.join(", "))
}

fn tuple(items: &[i64]) -> String {
    match items {
        [only] => format!("({only},)"),
        items => format!("({})", list(items, i64::to_string).trim_matches(['[', ']'])),
    }
}

fn complex(ComplexValue { real, imag, .. }: &ComplexValue) -> String {
    if *real == 0.0 || *imag == 0.0 {
        return format!("complex({}, {})", float(*real), float(*imag));
    }
    // Python leaves `.0` out here.
    let part = |value: f64| {
        let text = float(value);
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    };
    let sign = if imag.is_sign_negative() && !imag.is_nan() { "" } else { "+" };
    format!("({}{sign}{}j)", part(*real), part(*imag))
}

fn device(device: &Device) -> String {
    match device.index {
        Some(index) => format!("device(type='{}', index={index})", device.kind),
        None => format!("device(type='{}')", device.kind),
    }
}

/// An argument that holds no values of the graph; `None` for others.
pub(crate) fn constant(argument: &Argument) -> Option<String> {
    let torch = |name: Option<&str>| format!("torch.{}", name.unwrap_or("unknown"));
    Some(match argument {
        Argument::None(_) => "None".to_owned(),
        Argument::Int(value) => value.to_string(),
        Argument::Ints(items) => list(items, i64::to_string),
        Argument::Float(value) => float(*value),
        Argument::Floats(items) => list(items, |item| float(*item)),
        Argument::String(value) => text(value),
        Argument::Strings(items) => list(items, |item| text(item)),
        Argument::Bool(value) => boolean(*value).to_owned(),
        Argument::Bools(items) => list(items, |item| boolean(*item).to_owned()),
        Argument::ScalarType(dtype) => torch(dtype.name()),
        Argument::MemoryFormat(format) => torch(format.name()),
        Argument::Layout(layout) => torch(layout.name()),
        Argument::Device(value) => device(value),
        Argument::Operator(name) => name.clone(),
        Argument::Complex(value) => complex(value),
        Argument::IntLists(lists) => list(lists, |items| tuple(items)),
        Argument::FloatLists(lists) => list(lists, |items| list(items, |item| float(*item))),
        _ => return None,
    })
}

/// Python's `repr` of what `json.loads` gives; as deep as the JSON reader allows.
pub(crate) fn json(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(value) => boolean(*value).to_owned(),
        Json::Number(number) => match number.parse::<f64>() {
            Ok(value) if number.contains(['.', 'e', 'E', 'N', 'I']) => float(value),
            _ => number.to_string(),
        },
        Json::String(value) => text(value),
        Json::Array(items) => list(items, json),
        Json::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", text(key), json(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_are_pythons() {
        for (real, imag, want) in [
            (0.0, 2.0, "complex(0.0, 2.0)"),
            (1.0, 2.0, "(1+2j)"),
            (-1.5, -2.25, "(-1.5-2.25j)"),
            (1e22, f64::INFINITY, "(1e+22+infj)"),
            (f64::NAN, 1.0, "(nan+1j)"),
        ] {
            assert_eq!(complex(&ComplexValue { real, imag, extra: Vec::new() }), want);
        }
    }

    #[test]
    fn lists_and_tuples() {
        assert_eq!(tuple(&[]), "()");
        assert_eq!(tuple(&[1]), "(1,)");
        assert_eq!(tuple(&[1, -2]), "(1, -2)");
        let lists = Argument::IntLists(vec![vec![1, 2], vec![]]);
        assert_eq!(constant(&lists).unwrap(), "[(1, 2), ()]");
    }
}
