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

/// A float as `operator<<` of `IValue` prints it: in schemas, and as a part of a complex number. Any
/// integral value within 64 bits has a point, and zero no sign.
fn stream_float_text(value: f64) -> String {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (value.is_normal() || value == 0.0)
        && (-LIMIT..LIMIT).contains(&value)
        && value.trunc() == value
    {
        return format!("{:.0}.", value + 0.0);
    }
    general(value)
}

/// A string in double quotes with C's escapes, other bytes in octal. PyTorch takes bytes for signed,
/// so what it makes of those beyond ASCII is no octal number (`é` is `\0)+\/.)`); it is kept for
/// equal text in graphs, and never appears in code.
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
                quoted.push_str(&octal(byte as i8));
                continue;
            }
        };
        quoted.push_str(escape);
    }
    quoted.push('"');
    quoted
}

/// A backslash and the three digits of a byte, each of which is negative when the byte is.
fn octal(byte: i8) -> String {
    let digit = |value: i8| char::from(b'0'.wrapping_add_signed(value));
    ['\\', digit(byte / 64), digit(byte / 8 % 8), digit(byte % 8)].iter().collect()
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
    let sign = if imaginary >= 0.0 { '+' } else { '-' };
    format!("{}{sign}{}j", stream_float_text(real), stream_float_text(imaginary.abs()))
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
            Constant::List(element, _) if element.is_tensor() => Some("[<Tensors>]".into()),
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
    pub fn stream_text(&self) -> String {
        match self {
            Self::Str(text) | Self::Device(text) => text.to_string(),
            Self::Float(value) => stream_float_text(*value),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EnumType, NamedRef, NamedTuple, TensorConstant, TupleType};

    fn named(name: &str, fields: &[(&str, Type)]) -> Type {
        Type::Tuple(Arc::new(TupleType {
            elements: fields.iter().map(|(_, ty)| ty.clone()).collect(),
            named: Some(NamedTuple {
                name: name.into(),
                fields: fields.iter().map(|(field, _)| (*field).into()).collect(),
                defaults: Vec::new(),
            }),
        }))
    }

    fn str(text: &str) -> Constant {
        Constant::Str(text.into())
    }

    fn tensor(index: usize) -> Constant {
        Constant::Tensor(TensorConstant { index: index as u32, text: "{3}".into() })
    }

    /// Each with the text PyTorch 2.15 has for it in a graph and in code.
    fn cases() -> Vec<(Constant, &'static str, &'static str)> {
        let list = |ty: Type, items: &[Constant]| Constant::List(ty, items.into());
        let maybe_int = || Type::optional(Type::Int);
        let dict = |value: Type, entries: &[(Constant, Constant)]| {
            Constant::Dict(Type::Str, value, entries.into())
        };
        let (one, none) = (Constant::Int(1), Constant::None);
        let pair = named("__torch__.P", &[("a", Type::Int), ("b", Type::Str)]);
        let single = named("__torch__.P1", &[("a", Type::Int)]);
        let color = Type::Enum(Arc::new(EnumType {
            name: "__torch__.Color".into(),
            value: Type::Int,
            members: vec![("RED".into(), one.clone())],
        }));
        let a_pair = Constant::Tuple([one.clone(), str("x")].into(), Some(pair));
        let nones = list(maybe_int(), &[one.clone(), none.clone()]);
        let annotated = "annotate(List[Optional[int]], [1, None])";
        let device = Constant::Device("cuda:0".into());
        vec![
            (none.clone(), "None", "None"),
            (Constant::Bool(true), "True", "True"),
            (nones.clone(), annotated, annotated),
            (list(Type::Int, &[]), "annotate(List[int], [])", "annotate(List[int], [])"),
            (list(Type::Tensor, &[]), "[<Tensors>]", "annotate(List[Tensor], [])"),
            (list(Type::Tensor, &[tensor(7)]), "[<Tensors>]", "[CONSTANTS.c7]"),
            (
                dict(maybe_int(), &[(str("a"), one.clone()), (str("b"), none)]),
                "annotate(Dict[str, Optional[int]],{\"a\": 1, \"b\": None})",
                "annotate(Dict[str, Optional[int]],{\"a\": 1, \"b\": None})",
            ),
            (dict(Type::Int, &[]), "annotate(Dict[str, int],{})", "annotate(Dict[str, int],{})"),
            (dict(Type::Int, &[(str("a"), one.clone())]), "{\"a\": 1}", "{\"a\": 1}"),
            (Constant::Tuple([one.clone()].into(), Some(single)), "(1,)", "__torch__.P1(1,)"),
            (a_pair, "(1, \"x\")", "__renamed__(1, \"x\")"),
            (Constant::Tuple([].into(), None), "()", "()"),
            (Constant::Tuple([tensor(2), one].into(), None), "({3}, 1)", "(CONSTANTS.c2, 1)"),
            (Constant::Enum(color, 0), "__torch__.Color.RED", "__torch__.Color.RED"),
            (device, "torch.device(\"cuda:0\")", "torch.device(\"cuda:0\")"),
            (
                Constant::Generator("cpu".into(), 5),
                "torch.Generator(device=\"cpu\", seed=5)",
                "torch.Generator(device=\"cpu\", seed=5)",
            ),
            (list(Type::Str, &[str("\u{e9}")]), "[\"\\0)+\\/.)\"]", "CONSTANTS.c9"),
            (Constant::Function(NamedRef::by_name("__torch__.f")), "__torch__.f", "__torch__.f"),
        ]
    }

    #[test]
    fn constants_print_as_in_pytorch() {
        for (constant, in_graph, in_code) in cases() {
            let mut external = |constant: &Constant| match constant {
                Constant::Tensor(tensor) => tensor.index as usize,
                _ => 9,
            };
            let rename = |name: &str| (name == "__torch__.P").then(|| "__renamed__".into());
            assert_eq!(constant.graph_text(), in_graph);
            assert_eq!(constant.code_text(&mut external, &rename), in_code);
        }
    }
}
