//! Constants in print: in graphs, in code, in schemas (`IValue::repr`, `PythonPrint`'s constants,
//! and `operator<<` of `IValue`).

use std::sync::Arc;

use super::Constant;
use crate::Type;

/// A float as PyTorch prints it: `1.`, `-0.`, `0.10000000000000001`, `1e+20`, `inf`, `nan`.
pub fn float_text(value: f64) -> String {
    if (value.is_normal() || value == 0.0) && value.abs() < 1e10 && value.trunc() == value {
        return if value == 0.0 && value.is_sign_negative() {
            "-0.".into()
        } else {
            format!("{value:.0}.")
        };
    }
    general(value)
}

/// A string in double quotes with C's escapes, bytes that are not printable ASCII in octal (see
/// [`octal`]).
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        let escape = match byte {
            b'\\' => r"\\",
            b'\'' => r"\'",
            b'"' => "\\\"",
            0x07 => r"\a",
            0x08 => r"\b",
            0x0c => r"\f",
            b'\n' => r"\n",
            b'\r' => r"\r",
            b'\t' => r"\t",
            0x0b => r"\v",
            0x20..=0x7e => {
                quoted.push(char::from(byte));
                continue;
            }
            _ => {
                quoted.push('\\');
                quoted.extend(octal(byte));
                continue;
            }
        };
        quoted.push_str(escape);
    }
    quoted.push('"');
    quoted
}

/// Three digits for a byte. PyTorch divides a signed char, which makes signs of the digits of bytes
/// above 127: `\\0)+` for 0xc3.
fn octal(byte: u8) -> [char; 3] {
    let value = i32::from(byte as i8);
    [value / 64, value / 8 % 8, value % 8].map(|digit| char::from((i32::from(b'0') + digit) as u8))
}

/// C's `%.17g`.
fn general(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan".into() } else { "nan".into() };
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let scientific = format!("{value:.16e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..17).contains(&exponent) {
        let decimals = usize::try_from(16 - exponent).unwrap_or(0);
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(digits), exponent.abs())
}

/// A decimal fraction without the zeros at its end.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

fn complex_text(real: f64, imaginary: f64) -> String {
    let sign = if imaginary.is_sign_negative() { '-' } else { '+' };
    format!("{}{sign}{}j", float_text(real), float_text(imaginary.abs()))
}

/// How the parts of a text differ between graphs and code.
trait Style {
    /// The text of a constant that this style does not print as everywhere; checked before
    /// anything else, at every depth.
    fn special(&mut self, constant: &Constant) -> Option<String>;

    /// What stands before the parenthesis of a tuple.
    fn tuple_name(&mut self, named: &Type) -> String;
}

/// In graphs: tensors by their contents.
struct InGraph;

impl Style for InGraph {
    fn special(&mut self, constant: &Constant) -> Option<String> {
        match constant {
            Constant::Tensor(tensor) => Some(tensor.text.to_string()),
            Constant::List(element, items) if element.is_tensor() && !items.is_empty() => {
                Some("[<Tensors>]".into())
            }
            // PyTorch prints the object's address.
            Constant::Object(..) => Some("object()".into()),
            _ => None,
        }
    }

    fn tuple_name(&mut self, _: &Type) -> String {
        String::new()
    }
}

/// In code: what cannot be written goes to the table of constants.
struct InCode<'a> {
    external: &'a mut dyn FnMut(&Constant) -> usize,
    rename: &'a dyn Fn(&str) -> Option<Arc<str>>,
}

impl Style for InCode<'_> {
    fn special(&mut self, constant: &Constant) -> Option<String> {
        let is_external = matches!(constant, Constant::Tensor(_) | Constant::Object(..))
            || constant.contains_non_ascii();
        is_external.then(|| format!("CONSTANTS.c{}", (self.external)(constant)))
    }

    fn tuple_name(&mut self, named: &Type) -> String {
        named.annotation_with(self.rename)
    }
}

impl Constant {
    /// The text in graphs: `IValue::repr` as `Node::printAttributes` calls it.
    pub fn graph_text(&self) -> String {
        repr(self, &mut InGraph)
    }

    /// The text in code, as `PythonPrint` has it. Whatever cannot be written (a tensor, an object,
    /// a string that is not ASCII, or a container with such a string) is given to `external`, which
    /// tells its index in the table of constants; `rename` is asked for the names of NamedTuples.
    pub fn code_text(
        &self,
        external: &mut dyn FnMut(&Self) -> usize,
        rename: &dyn Fn(&str) -> Option<Arc<str>>,
    ) -> String {
        repr(self, &mut InCode { external, rename })
    }

    /// The text in schemas and in NamedTuples' defaults (`operator<<`): as in graphs, but for
    /// strings, which have no quotes, and empty lists, which have no type.
    pub(crate) fn stream_text(&self) -> String {
        match self {
            Self::Str(text) | Self::Device(text) => text.to_string(),
            Self::List(_, items) => join(items, "[", "]", &mut Self::stream_text),
            Self::Tuple(elements, _) => {
                let close = if elements.len() == 1 { ",)" } else { ")" };
                join(elements, "(", close, &mut Self::stream_text)
            }
            Self::Dict(_, _, entries) => {
                let entry = |(key, value): &(Self, Self)| {
                    format!("{}: {}", key.stream_text(), value.stream_text())
                };
                join(entries, "{", "}", &mut { entry })
            }
            Self::Enum(..) => format!("Enum<{}>", self.graph_text()),
            other => other.graph_text(),
        }
    }

    /// Whether it is or holds a string that is not ASCII.
    fn contains_non_ascii(&self) -> bool {
        match self {
            Self::Str(text) => !text.is_ascii(),
            Self::List(_, items) | Self::Tuple(items, _) => {
                items.iter().any(Self::contains_non_ascii)
            }
            Self::Dict(_, _, entries) => entries
                .iter()
                .any(|(key, value)| key.contains_non_ascii() || value.contains_non_ascii()),
            _ => false,
        }
    }
}

fn repr(constant: &Constant, style: &mut impl Style) -> String {
    if let Some(text) = style.special(constant) {
        return text;
    }
    match constant {
        Constant::None => "None".into(),
        Constant::Bool(true) => "True".into(),
        Constant::Bool(false) => "False".into(),
        Constant::Int(value) => value.to_string(),
        Constant::Float(value) => float_text(*value),
        Constant::Complex(real, imaginary) => complex_text(*real, *imaginary),
        Constant::Str(text) => quoted(text),
        Constant::Device(device) => format!("torch.device({})", quoted(device)),
        Constant::Generator(device, seed) => {
            format!("torch.Generator(device={}, seed={seed})", quoted(device))
        }
        Constant::List(element, items) => {
            let text = join(items, "[", "]", &mut |item| repr(item, style));
            if items.is_empty() || !tells_its_type(element) {
                format!("annotate({}, {text})", Type::list(element.clone()).annotation())
            } else {
                text
            }
        }
        Constant::Dict(key, value, entries) => {
            let text = join(entries, "{", "}", &mut |(key, value)| {
                let key = repr(key, style);
                format!("{key}: {}", repr(value, style))
            });
            if entries.is_empty() || !tells_its_type(value) {
                let ty = Type::dict(key.clone(), value.clone());
                format!("annotate({},{text})", ty.annotation())
            } else {
                text
            }
        }
        Constant::Tuple(elements, named) => {
            let close = if elements.len() == 1 { ",)" } else { ")" };
            let name = named.as_ref().map(|named| style.tuple_name(named)).unwrap_or_default();
            name + &join(elements, "(", close, &mut |element| repr(element, style))
        }
        Constant::Enum(ty, index) => match ty {
            Type::Enum(of) => {
                let member = of.members.get(*index as usize).map_or("?", |(name, _)| name);
                format!("{}.{member}", of.name)
            }
            other => other.annotation(),
        },
        Constant::Function(function) => function.name.to_string(),
        // Both styles have their own text for these.
        Constant::Tensor(tensor) => tensor.text.to_string(),
        Constant::Object(ty, _) => ty.annotation(),
    }
}

/// Whether a list of such elements can be written without its type:
/// `elementTypeCanBeInferredFromMembers`.
fn tells_its_type(element: &Type) -> bool {
    !matches!(
        element,
        Type::Union(_) | Type::Optional(_) | Type::Number | Type::Interface(_) | Type::Any
    )
}

fn join<T>(items: &[T], open: &str, close: &str, print: &mut dyn FnMut(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(print).collect();
    format!("{open}{}{close}", items.join(", "))
}
