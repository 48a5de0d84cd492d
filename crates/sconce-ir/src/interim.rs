//! How types and constants print, until the types' own printer is here.

use std::fmt::{self, Display, Formatter};

use crate::text::{write_float, write_quoted};
use crate::{Constant, TensorType, Type};

impl Display for Constant {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str("None"),
            Self::Bool(value) => out.write_str(if *value { "True" } else { "False" }),
            Self::Int(value) => write!(out, "{value}"),
            Self::Float(value) => write_float(out, *value),
            Self::Str(text) => write_quoted(out, text),
            Self::Tuple(items, _) => {
                write!(out, "(")?;
                join(out, items)?;
                out.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::List(_, items) => {
                write!(out, "[")?;
                join(out, items)?;
                write!(out, "]")
            }
            Self::Enum(Type::Enum(of), index) => match of.members.get(*index as usize) {
                Some((member, _)) => write!(out, "{}.{member}", of.name),
                None => write!(out, "{}", of.name),
            },
            other => write!(out, "{other:?}"),
        }
    }
}

impl Display for Type {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TensorOf(tensor) => write_tensor(out, tensor),
            Self::List(of) => write!(out, "{of}[]"),
            Self::Optional(of) => write!(out, "{of}?"),
            Self::Future(of) => write!(out, "Future[{of}]"),
            Self::RRef(of) => write!(out, "RRef[{of}]"),
            Self::Await(of) => write!(out, "Await({of})"),
            Self::Dict(of) => write!(out, "Dict({}, {})", of.0, of.1),
            Self::Union(of) => {
                write!(out, "Union(")?;
                join(out, of)?;
                write!(out, ")")
            }
            Self::Tuple(of) => {
                out.write_str(if of.named.is_some() { "NamedTuple(" } else { "(" })?;
                for (index, element) in of.elements.iter().enumerate() {
                    if index > 0 {
                        write!(out, ", ")?;
                    }
                    if let Some(named) = &of.named {
                        write!(out, "{} : ", named.fields[index])?;
                    }
                    write!(out, "{element}")?;
                }
                write!(out, ")")
            }
            Self::Class(named) => out.write_str(&named.name),
            Self::Interface(named) => {
                write!(out, "InterfaceType<{}>", named.name.rsplit('.').next().unwrap_or_default())
            }
            Self::Enum(of) => write!(out, "Enum<{}>", of.name),
            Self::Function(_) => write!(out, "Function"),
            Self::Var(name) => out.write_str(name),
            Self::None => write!(out, "NoneType"),
            Self::Number => write!(out, "Scalar"),
            Self::Str => write!(out, "str"),
            Self::Bool => write!(out, "bool"),
            Self::Int => write!(out, "int"),
            Self::Float => write!(out, "float"),
            Self::Complex => write!(out, "complex"),
            Self::AnyList => write!(out, "list"),
            Self::AnyTuple => write!(out, "tuple"),
            Self::AnyClass => write!(out, "AnyClassType"),
            Self::AnyEnum => write!(out, "AnyEnumType"),
            other => write!(out, "{other:?}"),
        }
    }
}

fn join<T: Display>(out: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            write!(out, ", ")?;
        }
        write!(out, "{item}")?;
    }
    Ok(())
}

fn write_tensor(out: &mut Formatter<'_>, tensor: &TensorType) -> fmt::Result {
    out.write_str(tensor.dtype.as_deref().unwrap_or(""))?;
    let dims = |dims: &[Option<i64>]| {
        let text = |dim: &Option<i64>| dim.map_or("*".to_owned(), |dim| dim.to_string());
        dims.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    match &tensor.sizes {
        Some(sizes) => {
            if tensor.dtype.is_none() {
                out.write_str("Tensor")?;
            }
            if !sizes.is_empty() {
                parts.push(dims(sizes));
            }
            if let Some(strides) = tensor.strides.as_ref().filter(|_| !sizes.is_empty()) {
                if strides.iter().all(Option::is_some) && strides.len() == sizes.len() {
                    parts.push(format!("strides=[{}]", dims(strides)));
                }
            }
        }
        None => out.write_str("Tensor")?,
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
    out.write_str(if tensor.undefined == Some(true) { "[Undefined]" } else { "" })
}
