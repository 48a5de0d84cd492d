//! Values that any thread may have, for hosts in other languages: what goes into a call and what comes out of it, without
//! a share in the session's memory.

use sconce_ir::Type;
use sconce_kernels::Importer;
use sconce_torchscript::{Module, Value};

use crate::Error;
use crate::value::IValue;

/// Lists, tuples and dicts in each other: programs have no use for more.
const MAX_DEPTH: usize = 200;

/// A value that any thread may have. Values of programs ([`IValue`]) stay on the thread of their session.
///
/// ```
/// use sconce_runtime::{IValue, Plain};
/// let given = Plain::list(vec![Plain::Int(1), Plain::Int(2)]);
/// assert_eq!(given.to_program()?.items().expect("a list").len(), 2);
/// # Ok::<(), sconce_runtime::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Plain {
    /// `None`
    None,
    /// A bool.
    Bool(bool),
    /// An int; also a dtype, layout or memory format.
    Int(i64),
    /// A float.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(String),
    /// A device, such as `cuda:0`.
    Device(String),
    /// A tensor.
    Tensor(sconce_tensor::Tensor),
    /// A list.
    List {
        /// The type of the elements; `None` where they or the method that is called say what it is.
        element: Option<Type>,
        /// The elements.
        items: Vec<Plain>,
    },
    /// A tuple.
    Tuple(Vec<Plain>),
    /// A named tuple: its class, the names of its fields, and what is in them.
    NamedTuple(String, Vec<String>, Vec<Plain>),
    /// A dict in its order.
    Dict(Vec<(Plain, Plain)>),
    /// An object: its class and attributes.
    Object(String, Vec<(String, Plain)>),
    /// A member of an enum: its class and name.
    Enum(String, String),
}

// What it is for.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Plain>();
};

impl Plain {
    /// A list whose elements say what it is one of.
    pub fn list(items: Vec<Plain>) -> Self {
        Plain::List { element: None, items }
    }

    /// Whether a value that holds these would be nested too deeply.
    pub fn is_too_deep<'a>(held: impl IntoIterator<Item = &'a Plain>) -> bool {
        held.into_iter().any(|value| value.is_deeper(MAX_DEPTH - 1))
    }

    fn is_deeper(&self, depth: usize) -> bool {
        let Some(left) = depth.checked_sub(1) else { return true };
        match self {
            Plain::List { items, .. } | Plain::Tuple(items) | Plain::NamedTuple(_, _, items) => {
                items.iter().any(|item| item.is_deeper(left))
            }
            Plain::Dict(pairs) => pairs.iter().any(|(_, value)| value.is_deeper(left)),
            Plain::Object(_, attributes) => {
                attributes.iter().any(|(_, value)| value.is_deeper(left))
            }
            _ => false,
        }
    }

    /// A value for a program. Tensors are not copied before the program writes to them.
    ///
    /// # Errors
    /// For objects, keys of dicts that no program has, and tensors without elements in memory.
    pub fn to_program(&self) -> Result<IValue, Error> {
        let all =
            |items: &[Plain]| items.iter().map(Plain::to_program).collect::<Result<Vec<_>, _>>();
        Ok(match self {
            Plain::None => IValue::None,
            Plain::Bool(value) => IValue::Bool(*value),
            Plain::Int(value) => IValue::Int(*value),
            Plain::Float(value) => IValue::Float(*value),
            Plain::Complex(re, im) => IValue::Complex(*re, *im),
            Plain::Str(text) => IValue::str(text.as_str()),
            Plain::Device(name) => IValue::Device(name.as_str().into()),
            Plain::Tensor(tensor) => {
                let made = IValue::of_file(tensor, &mut Importer::default());
                made.map_err(|error| Error::Arguments(error.message().to_owned()))?
            }
            Plain::List { element: None, items } => IValue::from(all(items)?),
            Plain::List { element: Some(element), items } => {
                IValue::list(element.clone(), all(items)?)
            }
            Plain::Tuple(items) | Plain::NamedTuple(_, _, items) => IValue::tuple(all(items)?),
            Plain::Dict(pairs) => {
                let mut entries = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    entries.push((key.to_program()?, value.to_program()?));
                }
                IValue::dict(entries).ok_or_else(|| {
                    Error::Arguments("a dict with keys that no program has".to_owned())
                })?
            }
            Plain::Object(class, _) | Plain::Enum(class, _) => {
                return Err(Error::Arguments(format!("an object of {class} cannot be passed")));
            }
        })
    }

    /// What a method of this module gave. A tensor is not copied where nobody else holds its memory.
    ///
    /// # Errors
    /// For values that only programs have, and what is nested too deeply or holds itself.
    pub fn of_program(value: IValue, module: &Module) -> Result<Self, Error> {
        of_program(value, module, 0)
    }

    /// The value of an attribute of this module ([`Module::attr`]).
    ///
    /// # Errors
    /// As [`Self::of_program`].
    pub fn of_attribute(value: &Value, module: &Module) -> Result<Self, Error> {
        of_attribute(value, module, 0)
    }
}

fn unsupported(what: impl Into<String>) -> Error {
    Error::Unsupported { what: what.into(), range: None }
}

fn of_program(value: IValue, module: &Module, depth: usize) -> Result<Plain, Error> {
    if depth > MAX_DEPTH {
        return Err(unsupported("a result that is nested too deeply, or holds itself"));
    }
    let all = |items: &[IValue]| {
        items
            .iter()
            .map(|item| of_program(item.clone(), module, depth + 1))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(match value {
        IValue::None => Plain::None,
        IValue::Bool(value) => Plain::Bool(value),
        IValue::Int(value) => Plain::Int(value),
        IValue::Float(value) => Plain::Float(value),
        IValue::Complex(re, im) => Plain::Complex(re, im),
        IValue::Str(text) => Plain::Str(text.to_string()),
        IValue::Device(name) => Plain::Device(name.to_string()),
        IValue::Tensor(tensor) => {
            let given = tensor.into_file();
            Plain::Tensor(given.map_err(|error| {
                unsupported(format!("a result that is a tensor ({})", error.message()))
            })?)
        }
        IValue::Sparse(sparse) => {
            let given = sparse.read().to_file();
            Plain::Tensor(given.map_err(|error| {
                unsupported(format!("a result that is a tensor ({})", error.message()))
            })?)
        }
        IValue::List(list) => {
            let list = list.read();
            Plain::List { element: Some(list.element.clone()), items: all(&list.items)? }
        }
        IValue::Tuple(tuple) => {
            let items = all(&tuple.items)?;
            match &tuple.named {
                Some(Type::Tuple(of)) if of.named.is_some() => match &of.named {
                    Some(named) => Plain::NamedTuple(
                        named.name.to_string(),
                        named.fields.iter().map(ToString::to_string).collect(),
                        items,
                    ),
                    None => Plain::Tuple(items),
                },
                _ => Plain::Tuple(items),
            }
        }
        IValue::Dict(dict) => {
            let pairs = dict.read();
            let pair = |(key, value): (&IValue, &IValue)| {
                let key = of_program(key.clone(), module, depth + 1)?;
                Ok((key, of_program(value.clone(), module, depth + 1)?))
            };
            Plain::Dict(pairs.entries().map(pair).collect::<Result<_, Error>>()?)
        }
        IValue::Object(object) => {
            let object = object.read();
            let (class, names) = module.with_program(|program| {
                let class = program.unit().class(object.class);
                let names = class.attributes.iter().map(|attribute| attribute.name.to_string());
                (class.name.to_string(), names.collect::<Vec<String>>())
            });
            let mut attributes = Vec::new();
            for (name, slot) in names.into_iter().zip(&object.slots) {
                if let Some(value) = slot {
                    attributes.push((name, of_program(value.clone(), module, depth + 1)?));
                }
            }
            Plain::Object(class, attributes)
        }
        IValue::Enum(of, member) => {
            let name = of.members.get(member as usize).map(|(name, _)| name.to_string());
            Plain::Enum(of.name.to_string(), name.unwrap_or_default())
        }
        other => return Err(unsupported(format!("a result of the kind {}", other.kind_name()))),
    })
}

fn of_attribute(value: &Value, module: &Module, depth: usize) -> Result<Plain, Error> {
    if depth > MAX_DEPTH {
        return Err(unsupported("an attribute that is nested too deeply, or holds itself"));
    }
    let child = |id| of_attribute(&module.child(id), module, depth + 1);
    Ok(match value {
        Value::None => Plain::None,
        Value::Bool(value) => Plain::Bool(*value),
        Value::Int(value) => Plain::Int(*value),
        Value::Float(value) => Plain::Float(*value),
        Value::Complex(re, im) => Plain::Complex(*re, *im),
        Value::Str(text) => Plain::Str(text.to_string()),
        Value::Device(name) => Plain::Device(name.to_string()),
        Value::Tensor(tensor) => Plain::Tensor(tensor.clone()),
        Value::List { element, items } => Plain::List {
            element: Some(element.clone()),
            items: items.iter().map(|&id| child(id)).collect::<Result<_, _>>()?,
        },
        Value::Tuple(items) => {
            Plain::Tuple(items.iter().map(|&id| child(id)).collect::<Result<_, _>>()?)
        }
        Value::Dict { entries, .. } => {
            let pair = |&(key, value): &_| Ok((child(key)?, child(value)?));
            Plain::Dict(entries.iter().map(pair).collect::<Result<_, Error>>()?)
        }
        Value::Object(object) => {
            let class =
                module.with_program(|program| program.unit().class(object.class).name.to_string());
            Plain::Object(class, Vec::new())
        }
        _ => return Err(unsupported("an attribute of this kind")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_bounded() {
        let nested = |depth| (1..depth).fold(Plain::Int(1), |inner, _| Plain::list(vec![inner]));
        assert!(!Plain::is_too_deep([&nested(MAX_DEPTH - 1)]));
        assert!(Plain::is_too_deep([&nested(MAX_DEPTH)]));
    }

    #[test]
    fn lists_keep_the_type_that_they_are_given() {
        let empty = Plain::List { element: Some(Type::Int), items: Vec::new() };
        let IValue::List(list) = empty.to_program().unwrap() else { panic!("a list") };
        assert_eq!(list.read().element, Type::Int);
        let object = Plain::Object("__torch__.C".to_owned(), Vec::new());
        let error = object.to_program().unwrap_err();
        assert_eq!(error.to_string(), "an object of __torch__.C cannot be passed");
    }
}
