//! Values as text: `str`, `print` and `format`, and what Python's `repr` says.
//!
//! Lists of `Any` can hold themselves, which PyTorch does not survive; they read as in Python, `[...]`.

use rustc_hash::FxHashSet;
use sconce_ir::{Constant, TensorConstant};

use crate::error::Raise;
use crate::op_context::{OpContext, type_of};
use crate::ops::kernel;
use crate::value::ivalue::IValue;
use crate::value::tensor_text::tensor_text;

/// Where text goes as it is made, so that what is too long ends before it is.
pub(crate) trait Output {
    /// Adds to the text.
    fn push(&mut self, context: &mut dyn OpContext, text: &str) -> Result<(), Raise>;
}

/// Text that becomes a string of the program.
#[derive(Default)]
pub(crate) struct InMemory(String);

impl InMemory {
    /// The string.
    pub(crate) fn finish(self, context: &mut dyn OpContext) -> Result<IValue, Raise> {
        context.budget().check_text(self.0.len())?;
        Ok(IValue::str(self.0))
    }
}

impl Output for InMemory {
    fn push(&mut self, context: &mut dyn OpContext, text: &str) -> Result<(), Raise> {
        let (had, length) = (self.0.capacity(), self.0.len() + text.len());
        if length > had {
            context.budget().check_elements(length)?;
            context.budget().check_bytes(length.max(2 * had))?;
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Text that is printed: it goes on in pieces, however long the whole is.
#[derive(Default)]
pub(crate) struct Printed(String);

/// How long pieces are that go on.
const PIECE: usize = 64 << 10;

impl Printed {
    /// Prints what is left.
    pub(crate) fn finish(self, context: &mut dyn OpContext) {
        if !self.0.is_empty() {
            context.print(&self.0);
        }
    }
}

impl Output for Printed {
    fn push(&mut self, context: &mut dyn OpContext, text: &str) -> Result<(), Raise> {
        self.0.push_str(text);
        if self.0.len() >= PIECE {
            context.print(&self.0);
            self.0.clear();
            // A list that holds one list many times, level upon level, takes long to print.
            context.budget_mut().look()?;
        }
        Ok(())
    }
}

/// The text of a value: `operator<<` of `IValue`.
pub(crate) fn stream_text(context: &mut dyn OpContext, value: &IValue) -> Result<String, Raise> {
    let mut text = InMemory::default();
    write_text(context, value, &mut text)?;
    Ok(text.0)
}

/// Adds the text of a value. Depth costs no stack.
pub(crate) fn write_text(
    context: &mut dyn OpContext,
    value: &IValue,
    out: &mut impl Output,
) -> Result<(), Raise> {
    let mut writer = Writer { open: Vec::new(), addresses: FxHashSet::default() };
    writer.begin(context, value.clone(), out)?;
    while let Some(container) = writer.open.last_mut() {
        match container.next() {
            Next::Item(before, item) => {
                out.push(context, before)?;
                writer.begin(context, item, out)?;
            }
            Next::End(close) => {
                out.push(context, close)?;
                if let Some(address) = container.value.address() {
                    writer.addresses.remove(&address);
                }
                writer.open.pop();
            }
        }
    }
    Ok(())
}

/// The containers whose text is being made, outermost first.
struct Writer {
    open: Vec<Open>,
    addresses: FxHashSet<usize>,
}

struct Open {
    value: IValue,
    next: usize,
    /// The value of the dict's entry whose key has been written.
    after_key: Option<IValue>,
    is_first: bool,
}

enum Next {
    /// An item, and what stands before it.
    Item(&'static str, IValue),
    End(&'static str),
}

impl Writer {
    /// Writes a value that holds no others, or the beginning of one that does.
    fn begin(
        &mut self,
        context: &mut dyn OpContext,
        value: IValue,
        out: &mut impl Output,
    ) -> Result<(), Raise> {
        let (open, itself) = match &value {
            IValue::List(_) => ("[", "[...]"),
            IValue::Tuple(_) => ("(", "(...)"),
            IValue::Dict(_) => ("{", "{...}"),
            IValue::Str(text) => return out.push(context, text),
            leaf => {
                let text = leaf_text(context, leaf)?;
                return out.push(context, &text);
            }
        };
        let is_open = value.address().is_some_and(|address| !self.addresses.insert(address));
        if is_open {
            return out.push(context, itself);
        }
        out.push(context, open)?;
        self.open.push(Open { value, next: 0, after_key: None, is_first: true });
        Ok(())
    }
}

impl Open {
    /// What comes next in its text.
    fn next(&mut self) -> Next {
        if let Some(value) = self.after_key.take() {
            return Next::Item(": ", value);
        }
        let item = match &self.value {
            IValue::List(list) => list.read().items.get(self.next).cloned(),
            IValue::Tuple(tuple) => tuple.items.get(self.next).cloned(),
            IValue::Dict(dict) => {
                let dict = dict.read();
                while let Some(None) = dict.entry(self.next) {
                    self.next += 1;
                }
                dict.entry(self.next).flatten().map(|(key, value)| {
                    self.after_key = Some(value.clone());
                    key.clone()
                })
            }
            _ => None,
        };
        self.next += 1;
        let before = if std::mem::take(&mut self.is_first) { "" } else { ", " };
        match (item, &self.value) {
            (Some(item), _) => Next::Item(before, item),
            (None, IValue::List(_)) => Next::End("]"),
            (None, IValue::Tuple(tuple)) if tuple.items.len() == 1 => Next::End(",)"),
            (None, IValue::Tuple(_)) => Next::End(")"),
            (None, _) => Next::End("}"),
        }
    }
}

/// The text of what holds no other values.
fn leaf_text(context: &mut dyn OpContext, value: &IValue) -> Result<String, Raise> {
    let constant = match value {
        IValue::None => Constant::None,
        IValue::Bool(value) => Constant::Bool(*value),
        IValue::Int(value) => return Ok(value.to_string()),
        IValue::Float(value) => Constant::Float(*value),
        IValue::Complex(re, im) => Constant::Complex(*re, *im),
        IValue::Device(text) => Constant::Device(text.clone()),
        IValue::Enum(of, index) => Constant::Enum(sconce_ir::Type::Enum(of.clone()), *index),
        IValue::Tensor(tensor) => {
            let text = tensor_text(tensor).map_err(kernel)?;
            Constant::Tensor(TensorConstant { index: 0, text: text.into() })
        }
        other => {
            let ty = type_of(context, other)?;
            return Err(Raise::unsupported(format!("the text of a value of type {ty}")));
        }
    };
    Ok(constant.stream_text())
}

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
