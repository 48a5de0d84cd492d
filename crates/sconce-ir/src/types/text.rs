//! Types in print: in graphs, in schemas, as annotations, in messages.

use std::fmt::{self, Display, Formatter, Write as _};
use std::sync::Arc;

use super::{TensorType, TupleType, Type};

/// Gives a named type the name it has in a print, by its qualified name; `None` keeps that.
type Rename<'a> = dyn Fn(&str) -> Option<Arc<str>> + 'a;

/// The text in graphs: `operator<<` of `c10::Type`.
impl Display for Type {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TensorOf(tensor) => write_tensor(tensor, out),
            Self::List(element) => write!(out, "{element}[]"),
            Self::Optional(of) => write!(out, "{of}?"),
            Self::Future(of) => write!(out, "Future[{of}]"),
            Self::RRef(of) => write!(out, "RRef[{of}]"),
            Self::Tuple(tuple) => write_tuple(tuple, out),
            _ => write!(out, "{}", SchemaText(self)),
        }
    }
}

impl Type {
    /// The text in schemas: `c10::Type::str`. It differs from [`Display`] in futures (`Future(T)`),
    /// NamedTuples (their qualified name) and tensors (nothing of shapes).
    pub fn schema_text(&self) -> impl Display + '_ {
        SchemaText(self)
    }

    /// The text as an annotation in code: `annotation_str` (`List[int]`, `Optional[Tensor]`).
    pub fn annotation(&self) -> String {
        self.annotation_with(&|_| None)
    }

    /// The annotation, with other names for named types: `rename` is asked with the qualified name
    /// of every class, interface, NamedTuple, enum and function.
    pub fn annotation_with(&self, rename: &dyn Fn(&str) -> Option<Arc<str>>) -> String {
        let mut text = String::new();
        write_annotation(self, rename, &mut text);
        text
    }

    /// The text in messages: `repr_str`. PyTorch adds the address of the compilation unit to a
    /// class's; there is none here.
    pub fn message_text(&self) -> String {
        match self {
            Self::TensorOf(tensor) if tensor.inferred => "Tensor (inferred)".into(),
            Self::TensorOf(_) => "Tensor".into(),
            Self::Enum(of) => format!("Enum<{}>", of.name),
            _ => self.annotation(),
        }
    }

    /// The word for a type that is made of nothing: in schemas and graphs, and in annotations.
    fn words(&self) -> Option<(&'static str, &'static str)> {
        let word = match self {
            Self::Any => "Any",
            Self::None => "NoneType",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Complex => "complex",
            Self::Str => "str",
            Self::Device => "Device",
            Self::Stream => "Stream",
            Self::Generator => "Generator",
            Self::Storage => "Storage",
            Self::Capsule => "Capsule",
            Self::PyObject => "PyObject",
            Self::Quantizer => "Quantizer",
            Self::QScheme => "QScheme",
            Self::ScalarType => "ScalarType",
            Self::Layout => "Layout",
            Self::MemoryFormat => "MemoryFormat",
            Self::AnyList => "list",
            Self::AnyTuple => "tuple",
            Self::AnyClass => "AnyClassType",
            Self::AnyEnum => "AnyEnumType",
            Self::Tensor | Self::TensorOf(_) => "Tensor",
            Self::Number => return Some(("Scalar", "number")),
            Self::SymInt => return Some(("SymInt", "int")),
            Self::SymFloat => return Some(("SymFloat", "float")),
            Self::SymBool => return Some(("SymBool", "bool")),
            _ => return None,
        };
        Some((word, word))
    }
}

/// A type as schemas print it.
struct SchemaText<'a>(&'a Type);

impl Display for SchemaText<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some((word, _)) = self.0.words() {
            return out.write_str(word);
        }
        match self.0 {
            Type::Optional(of) => write!(out, "{}?", Self(of)),
            Type::List(element) => write!(out, "{}[]", Self(element)),
            Type::Dict(of) => write!(out, "Dict({}, {})", Self(&of.0), Self(&of.1)),
            Type::Future(of) => write!(out, "Future({})", Self(of)),
            Type::RRef(of) => write!(out, "RRef({})", Self(of)),
            Type::Await(of) => write!(out, "Await({})", Self(of)),
            Type::Tuple(tuple) => match &tuple.named {
                Some(named) => out.write_str(&named.name),
                None => {
                    out.write_char('(')?;
                    for (index, element) in tuple.elements.iter().enumerate() {
                        write!(out, "{}{}", separator(index), Self(element))?;
                    }
                    out.write_char(')')
                }
            },
            Type::Union(members) => {
                write!(
                    out,
                    "Union({})",
                    join_union(members, |member| SchemaText(member).to_string())
                )
            }
            Type::Class(named) => out.write_str(&named.name),
            Type::Interface(named) => write!(out, "InterfaceType<{}>", last_atom(&named.name)),
            Type::Enum(of) => write!(out, "Enum<{}>", of.name),
            Type::Function(_) => out.write_str("Function"),
            Type::Var(name) => out.write_str(name),
            _ => Ok(()),
        }
    }
}

fn write_annotation(ty: &Type, rename: &Rename<'_>, text: &mut String) {
    if let Some((_, word)) = ty.words() {
        text.push_str(word);
        return;
    }
    if let Some(name) = ty.qualified_name() {
        text.push_str(rename(name).as_ref().unwrap_or(name));
        return;
    }
    let constructor = match ty {
        Type::Optional(_) => "Optional",
        Type::List(_) => "List",
        Type::Dict(_) => "Dict",
        Type::Future(_) => "Future",
        Type::RRef(_) => "RRef",
        Type::Await(_) => "Await",
        Type::Tuple(tuple) if tuple.elements.is_empty() => {
            text.push_str("Tuple[()]");
            return;
        }
        Type::Tuple(_) => "Tuple",
        Type::Union(members) => {
            let members = join_union(members, |member| member.annotation_with(rename));
            text.push_str("Union[");
            text.push_str(&members);
            text.push(']');
            return;
        }
        Type::Var(name) => {
            text.push_str(name);
            return;
        }
        _ => return,
    };
    text.push_str(constructor);
    text.push('[');
    for (index, part) in ty.contained().into_iter().enumerate() {
        text.push_str(separator(index));
        write_annotation(part, rename, text);
    }
    text.push(']');
}

/// A union's members as PyTorch joins them. Where a union can hold every number, `int`, `float` and
/// `complex` are left out and `number` comes last; the separators are then not where one expects
/// them (`Union(, str, Scalar)`, `Union(TensorScalar)`), and are kept so for equal text.
fn join_union(members: &[Type], print: impl Fn(&Type) -> String) -> String {
    let is_number = |ty: &Type| matches!(ty, Type::Int | Type::Float | Type::Complex);
    let holds_numbers = members.iter().any(|member| matches!(member, Type::Any | Type::Number))
        || [Type::Int, Type::Float, Type::Complex].iter().all(|number| members.contains(number));
    let mut text = String::new();
    let mut separated = false;
    for (index, member) in members.iter().enumerate() {
        if holds_numbers && is_number(member) {
            continue;
        }
        if index > 0 {
            text.push_str(", ");
            separated = true;
        }
        text.push_str(&print(member));
    }
    if holds_numbers {
        if separated {
            text.push_str(", ");
        }
        text.push_str(&print(&Type::Number));
    }
    text
}

fn write_tuple(tuple: &TupleType, out: &mut Formatter<'_>) -> fmt::Result {
    let Some(named) = &tuple.named else {
        out.write_char('(')?;
        for (index, element) in tuple.elements.iter().enumerate() {
            write!(out, "{}{element}", separator(index))?;
        }
        return out.write_char(')');
    };
    let first_default = named.fields.len().saturating_sub(named.defaults.len());
    out.write_str("NamedTuple(")?;
    for (index, (field, element)) in named.fields.iter().zip(&tuple.elements).enumerate() {
        write!(out, "{}{field} : {element}", separator(index))?;
        if let Some(default) =
            index.checked_sub(first_default).and_then(|index| named.defaults.get(index))
        {
            write!(out, " = {}", default.stream_text())?;
        }
    }
    out.write_char(')')
}

fn write_tensor(tensor: &TensorType, out: &mut Formatter<'_>) -> fmt::Result {
    match (&tensor.dtype, &tensor.sizes) {
        (Some(dtype), Some(_)) => out.write_str(dtype)?,
        (Some(dtype), None) => write!(out, "{dtype}Tensor")?,
        (None, _) => out.write_str("Tensor")?,
    }
    let mut parts = Vec::new();
    for size in tensor.sizes.iter().flatten() {
        parts.push(size.map_or_else(|| "*".to_owned(), |size| size.to_string()));
    }
    if let Some(strides) = complete_strides(tensor) {
        parts.push(format!("strides=[{}]", strides.join(", ")));
    }
    if let Some(requires_grad) = tensor.requires_grad {
        parts.push(format!("requires_grad={}", u8::from(requires_grad)));
    }
    if let Some(device) = &tensor.device {
        parts.push(format!("device={device}"));
    }
    if tensor.sizes.is_some() || !parts.is_empty() {
        write!(out, "({})", parts.join(", "))?;
    }
    if tensor.undefined == Some(true) {
        out.write_str("[Undefined]")?;
    }
    Ok(())
}

/// The strides, when every one is known and there is one for each of at least one dimension.
fn complete_strides(tensor: &TensorType) -> Option<Vec<String>> {
    let (sizes, strides) = (tensor.sizes.as_ref()?, tensor.strides.as_ref()?);
    if sizes.is_empty() || sizes.len() != strides.len() {
        return None;
    }
    strides.iter().map(|stride| stride.map(|stride| stride.to_string())).collect()
}

/// What stands before the part of this index in a list.
pub(crate) fn separator(index: usize) -> &'static str {
    if index == 0 { "" } else { ", " }
}

/// The part of a qualified name after the last point.
fn last_atom(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
