//! Values as Python's `repr` shows them, for people: cut where they are deep or long.

use crate::value::IValue;

/// How deep values are shown that hold each other.
const MAX_DEPTH: usize = 16;
/// How long a text may become that is for people.
const MAX_LENGTH: usize = 10_000;

/// What Python's `repr` says of a value, as far as people read on.
pub(crate) fn python_text(value: &IValue) -> String {
    let mut out = String::new();
    show(value, 0, &mut out);
    out
}

fn show(value: &IValue, depth: usize, out: &mut String) {
    if depth > MAX_DEPTH || out.len() > MAX_LENGTH {
        return out.push_str("...");
    }
    match value {
        IValue::None => out.push_str("None"),
        IValue::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
        IValue::Int(value) => out.push_str(&value.to_string()),
        IValue::Float(value) => out.push_str(&float_repr(*value)),
        IValue::Complex(re, im) => out.push_str(&complex_repr(*re, *im)),
        IValue::Str(text) => out.push_str(&string_repr(text)),
        IValue::Device(text) => out.push_str(&match text.split_once(':') {
            Some((kind, index)) => format!("device(type='{kind}', index={index})"),
            None => format!("device(type='{text}')"),
        }),
        IValue::List(list) => {
            out.push('[');
            show_all(list.read().items.iter().map(|item| (None, item)), depth, out);
            out.push(']');
        }
        IValue::Tuple(tuple) => {
            out.push('(');
            show_all(tuple.items.iter().map(|item| (None, item)), depth, out);
            out.push_str(if tuple.items.len() == 1 { ",)" } else { ")" });
        }
        IValue::Dict(dict) => {
            out.push('{');
            show_all(dict.read().entries().map(|(key, value)| (Some(key), value)), depth, out);
            out.push('}');
        }
        IValue::Tensor(tensor) => match tensor.to_file() {
            Ok(tensor) => out.push_str(&tensor.display(&Default::default()).to_string()),
            Err(error) => out.push_str(&format!("<{error}>")),
        },
        other => out.push_str(&format!("<{}>", other.kind_name())),
    }
}

fn show_all<'a>(
    items: impl Iterator<Item = (Option<&'a IValue>, &'a IValue)>,
    depth: usize,
    out: &mut String,
) {
    for (index, (key, value)) in items.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        if out.len() > MAX_LENGTH {
            return out.push_str("...");
        }
        if let Some(key) = key {
            show(key, depth, out);
            out.push_str(": ");
        }
        show(value, depth + 1, out);
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
    let cut = text.char_indices().nth(MAX_LENGTH).map_or(text, |(at, _)| &text[..at]);
    if cut.len() < text.len() {
        return string_repr(cut) + "...";
    }
    let mut out = String::new();
    sconce_pickle::repr::write_str(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sconce_ir::Type;

    #[test]
    fn what_is_deep_or_long_is_cut() {
        let deep = (0..300_000).fold(IValue::None, |inner, _| IValue::tuple(vec![inner]));
        assert!(python_text(&deep).starts_with("((((((((((((((((("));
        let wide =
            (0..20).fold(IValue::Int(1), |inner, _| IValue::list(Type::Any, vec![inner; 1000]));
        assert!(python_text(&wide).len() < 2 * MAX_LENGTH);
        assert!(python_text(&IValue::str("é".repeat(1 << 20))).ends_with("é'..."));
    }

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
