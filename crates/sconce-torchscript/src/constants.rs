//! The constant table: `constants.pkl` as the program sees it.

use std::fmt::Write;
use std::sync::Arc;

use sconce_ir::{Constant, TensorConstant, Type, Unit};
use sconce_tensor::{Scalar, Tensor};

use crate::Error;
use crate::values::{Value, ValueId, Values};

/// How deep lists, dicts and tuples of the table may be nested.
const MAX_DEPTH: usize = 64;

/// How many values an entry of the table may hold: what is shared in the pickle counts each time.
pub(crate) const MAX_VALUES: usize = 1 << 22;

/// A value as a constant of graphs. `place` says which entry of the constant table a tensor or object
/// in it is.
pub(crate) fn constant(
    values: &Values,
    unit: &Unit,
    id: ValueId,
    place: &mut dyn FnMut(ValueId) -> u32,
) -> Result<Constant, Error> {
    constant_within(values, unit, id, place, &mut { MAX_VALUES })
}

/// The same, where several constants together may hold as many values as are `left`.
pub(crate) fn constant_within(
    values: &Values,
    unit: &Unit,
    id: ValueId,
    place: &mut dyn FnMut(ValueId) -> u32,
    left: &mut usize,
) -> Result<Constant, Error> {
    nested(values, unit, id, place, MAX_DEPTH, left)
}

fn nested(
    values: &Values,
    unit: &Unit,
    id: ValueId,
    place: &mut dyn FnMut(ValueId) -> u32,
    depth: usize,
    left: &mut usize,
) -> Result<Constant, Error> {
    if depth == 0 {
        return Err(Error::malformed("constants are nested too deeply"));
    }
    *left = left.checked_sub(1).ok_or_else(|| Error::malformed("a constant is too large"))?;
    let mut inner = |id: ValueId| nested(values, unit, id, place, depth - 1, left);
    Ok(match values.get(id) {
        Value::None => Constant::None,
        Value::Bool(value) => Constant::Bool(*value),
        Value::Int(value) => Constant::Int(*value),
        Value::Float(value) => Constant::Float(*value),
        Value::Complex(re, im) => Constant::Complex(*re, *im),
        Value::Str(text) => Constant::Str(Arc::clone(text)),
        Value::Device(device) => Constant::Device(Arc::clone(device)),
        Value::Tensor(tensor) => {
            Constant::Tensor(TensorConstant { index: place(id), text: graph_text(tensor).into() })
        }
        Value::List { element, items } => {
            let items: Result<Vec<Constant>, Error> =
                items.iter().map(|&item| inner(item)).collect();
            Constant::List(element.clone(), items?.into())
        }
        Value::Dict { key, value, entries } => {
            let pairs: Result<Vec<(Constant, Constant)>, Error> =
                entries.iter().map(|&(key, value)| Ok((inner(key)?, inner(value)?))).collect();
            Constant::Dict(key.clone(), value.clone(), pairs?.into())
        }
        Value::Tuple(items) => {
            let items: Result<Vec<Constant>, Error> =
                items.iter().map(|&item| inner(item)).collect();
            Constant::Tuple(items?.into(), None)
        }
        Value::Enum(ty, member) => Constant::Enum(ty.clone(), *member),
        Value::Object(object) => {
            let name = &unit.class(object.class).name;
            let ty = unit.find_type(name).cloned().unwrap_or(Type::AnyClass);
            Constant::Object(ty, place(id))
        }
    })
}

/// How a graph shows a tensor: one element as `{3}`, up to ten by PyTorch's C++ printer, more not
/// at all.
fn graph_text(tensor: &Tensor) -> String {
    const MAX_SHOWN: i64 = 10;
    let hidden = || "<Tensor>".to_owned();
    if tensor.numel() > MAX_SHOWN || !tensor.has_data() {
        return hidden();
    }
    let Ok(values) = tensor.values() else { return hidden() };
    let values: Vec<Scalar> = values.collect();
    if let [value] = values.as_slice() {
        return format!("{{{}}}", short(*value));
    }
    cpp_text(tensor, &values).unwrap_or_else(hidden)
}

/// A number as a C++ stream writes it: six digits.
fn short(value: Scalar) -> String {
    match value {
        Scalar::Bool(value) => u8::from(value).to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::UInt(value) => value.to_string(),
        Scalar::Float(value) => six_digits(value),
        Scalar::Complex(re, im) => format!("({},{})", six_digits(re), six_digits(im)),
        _ => "?".to_owned(),
    }
}

/// `%g`: six significant digits, without trailing zeros.
fn six_digits(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    if !value.is_finite() {
        let text = if value.is_nan() { "nan" } else { "inf" };
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{text}");
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(digits), exponent.abs());
    }
    let decimals = (5 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

/// A tensor as PyTorch's C++ printer writes it, lines joined by spaces; `None` for complex numbers,
/// which it writes another way.
fn cpp_text(tensor: &Tensor, values: &[Scalar]) -> Option<String> {
    if tensor.dtype().is_complex() {
        return None;
    }
    let sizes = tensor.sizes();
    let columns = match sizes {
        [] | [_] => 1,
        [.., columns] => *columns as usize,
    };
    let rows_in_slice = sizes.len().checked_sub(2).map_or(values.len(), |at| sizes[at] as usize);
    let is_matrix = sizes.len() > 1;
    let indent = if sizes.len() > 2 { " " } else { "" };
    let mut out = String::new();
    for (index, slice) in values.chunks((columns * rows_in_slice).max(1)).enumerate() {
        if sizes.len() > 2 {
            let gap = if index > 0 { " " } else { "" };
            let _ = write!(out, "{gap}({}.,.) = ", slice_index(sizes, index));
        }
        let format = Format::of(slice);
        let is_scaled = format.scale != 1.0;
        out.push_str(indent);
        if is_scaled {
            let _ = write!(out, "{} * {indent}", six_digits(format.scale));
        }
        for (index, row) in slice.chunks(columns).enumerate() {
            if index > 0 && is_matrix {
                out.push_str(if is_scaled { " " } else { "" });
                out.push_str(indent);
            }
            let row: Vec<String> = row.iter().map(|&value| format.text(value)).collect();
            out.push_str(&row.join(" "));
            out.push(' ');
        }
    }
    let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
    let _ = write!(out, "[ CPU{}Type{{{}}} ]", tensor.dtype().scalar_type_name(), sizes.join(","));
    Some(out)
}

/// The indices before the last two dimensions, from 1, each with a comma.
fn slice_index(sizes: &[i64], mut slice: usize) -> String {
    let mut indices = Vec::new();
    for &size in sizes[..sizes.len() - 2].iter().rev() {
        let size = (size as usize).max(1);
        indices.push(format!("{},", slice % size + 1));
        slice /= size;
    }
    indices.reverse();
    indices.concat()
}

/// How all elements of a tensor are written: as `torch::print` decides.
struct Format {
    width: usize,
    style: Style,
    scale: f64,
}

enum Style {
    Whole,
    Fixed,
    Scientific,
}

impl Format {
    fn of(values: &[Scalar]) -> Self {
        let numbers = values.iter().filter_map(|value| value.to_f64());
        let finite: Vec<f64> = numbers.filter(|value| value.is_finite()).map(f64::abs).collect();
        let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let high = finite.iter().copied().fold(0.0, f64::max);
        let digits = |value: f64| match value.is_finite() && value != 0.0 {
            true => value.log10().floor() as i32 + 1,
            false => 1,
        };
        let (least, most) = (digits(low), digits(high));
        let plain = |style, width: i32| Format { width: width as usize, style, scale: 1.0 };
        if finite.iter().all(|value| value.fract() == 0.0) {
            return match most > 9 {
                true => plain(Style::Scientific, 11),
                false => plain(Style::Whole, most + 1),
            };
        }
        if most - least > 4 {
            let wide = most.abs() > 99 || least.abs() > 99;
            return plain(Style::Scientific, if wide { 12 } else { 11 });
        }
        if !(0..=5).contains(&most) {
            return Format { width: 7, style: Style::Fixed, scale: 10f64.powi(most - 1) };
        }
        plain(Style::Fixed, if most == 0 { 7 } else { most + 6 })
    }

    fn text(&self, value: Scalar) -> String {
        let Some(number) = value.to_f64() else { return short(value) };
        let number = number / self.scale;
        let width = self.width;
        if !number.is_finite() {
            return format!("{:>width$}", six_digits(number));
        }
        match self.style {
            Style::Whole => format!("{number:>width$.0}"),
            Style::Fixed => format!("{number:>width$.4}"),
            Style::Scientific => {
                let text = format!("{number:.4e}");
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let exponent: i32 = exponent.parse().unwrap_or(0);
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{:>width$}", format!("{digits}e{sign}{:02}", exponent.abs()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        let cases = [
            (3.0, "3"),
            (0.5, "0.5"),
            (1.0 / 3.0, "0.333333"),
            (1e10, "1e+10"),
            (1234567.0, "1.23457e+06"),
            (123456.0, "123456"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5, "-2.5"),
            (f64::INFINITY, "inf"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(six_digits(value), text, "{value:?}");
        }
    }

    #[test]
    fn short_tensors_are_shown_as_pytorch_shows_them() -> Result<(), sconce_tensor::Error> {
        // str(graph) of a prim::Constant, torch 2.15.
        let long = |values: &[i64], sizes: &[i64]| Tensor::from_vec(values.to_vec(), sizes);
        let float = |values: &[f32], sizes: &[i64]| Tensor::from_vec(values.to_vec(), sizes);
        let cases = [
            (long(&[1, 2, 3], &[3])?, " 1  2  3 [ CPULongType{3} ]"),
            (float(&[1.5, 2.25], &[2])?, " 1.5000  2.2500 [ CPUFloatType{2} ]"),
            (float(&[1.0, 2.0], &[2])?, " 1  2 [ CPUFloatType{2} ]"),
            (long(&[1, 2, 3, 40], &[2, 2])?, "  1   2   3  40 [ CPULongType{2,2} ]"),
            (float(&[100_000.5, 1.0], &[2])?, " 1.0000e+05  1.0000e+00 [ CPUFloatType{2} ]"),
            (float(&[0.01, 0.02], &[2])?, "0.01 *  1.0000  2.0000 [ CPUFloatType{2} ]"),
            (float(&[-1.5, 200.25], &[2])?, "  -1.5000  200.2500 [ CPUFloatType{2} ]"),
            (float(&[f32::NAN, 1.0], &[2])?, "nan  1 [ CPUFloatType{2} ]"),
            (long(&[1_234_567_890, 1], &[2])?, " 1.2346e+09  1.0000e+00 [ CPULongType{2} ]"),
            (long(&[1, 2], &[1, 1, 2])?, "(1,.,.) =   1  2 [ CPULongType{1,1,2} ]"),
            (
                long(&[0, 1, 2, 3, 4, 5, 6, 70], &[2, 2, 2])?,
                "(1,.,.) =   0  1   2  3  (2,.,.) =    4   5    6  70 [ CPULongType{2,2,2} ]",
            ),
            (
                float(&[0.01, 0.02, 0.03, 0.04], &[1, 2, 2])?,
                "(1,.,.) =  0.01 *   1.0000  2.0000    3.0000  4.0000 [ CPUFloatType{1,2,2} ]",
            ),
            (
                float(&[0.01, 0.02, 0.03, 0.04], &[2, 2])?,
                "0.01 *  1.0000  2.0000   3.0000  4.0000 [ CPUFloatType{2,2} ]",
            ),
            (float(&[12.5, 0.5], &[2])?, " 12.5000   0.5000 [ CPUFloatType{2} ]"),
            (long(&[-1, -20], &[2])?, " -1 -20 [ CPULongType{2} ]"),
            (float(&[1.234_567_9], &[])?, "{1.23457}"),
            (long(&[0; 11], &[11])?, "<Tensor>"),
        ];
        for (tensor, text) in cases {
            assert_eq!(graph_text(&tensor), text, "{:?}", tensor.sizes());
        }
        Ok(())
    }
}
