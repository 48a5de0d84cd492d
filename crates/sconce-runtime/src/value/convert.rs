//! Rust's own values as values of programs, and back.

use std::sync::Arc;

use sconce_ir::Type;
use sconce_kernels::{Importer, Sparse};
use sconce_tensor::Layout;

use crate::value::IValue;
use crate::{Dict, Shared, Tensor, Text};

macro_rules! from {
    ($($source:ty => $variant:ident),*) => {$(
        impl From<$source> for IValue {
            fn from(value: $source) -> Self {
                IValue::$variant(value.into())
            }
        }
    )*};
}

from!(bool => Bool, i32 => Int, u32 => Int, i64 => Int, f32 => Float, f64 => Float, &str => Str,
    String => Str, Arc<str> => Str, Text => Str, Tensor => Tensor);

impl<T: Into<IValue>> From<Option<T>> for IValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(IValue::None, Into::into)
    }
}

/// A list. Its elements' type is that of the elements; the schema of what is called says what an
/// empty list is one of.
impl<T: Into<IValue>> From<Vec<T>> for IValue {
    fn from(items: Vec<T>) -> Self {
        let items: Vec<IValue> = items.into_iter().map(Into::into).collect();
        IValue::list(common_type(&items), items)
    }
}

impl IValue {
    /// A tensor of a file, whatever its layout.
    ///
    /// # Errors
    /// For tensors that nothing is computed with.
    pub(crate) fn of_file(
        tensor: &sconce_tensor::Tensor,
        importer: &mut Importer,
    ) -> sconce_kernels::Result<IValue> {
        let layout = tensor.layout();
        if layout == Layout::SparseCoo || layout.is_sparse_compressed() {
            let sparse = Sparse::from_file(tensor, importer)?;
            return Ok(IValue::Sparse(Shared::new(sparse)));
        }
        importer.import(tensor).map(IValue::Tensor)
    }

    /// The tensor that it is.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            IValue::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The int that it is.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            IValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The float that it is, or the int as one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            IValue::Float(value) => Some(*value),
            IValue::Int(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// The bool that it is.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            IValue::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The string that it is.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            IValue::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list or a tuple.
    pub fn items(&self) -> Option<Vec<IValue>> {
        match self {
            IValue::List(list) => Some(list.read().items.clone()),
            IValue::Tuple(tuple) => Some(tuple.items.to_vec()),
            _ => None,
        }
    }

    /// The value of a dict's key that is a string.
    pub fn get(&self, key: &str) -> Option<IValue> {
        match self {
            IValue::Dict(dict) => dict.read().get(&IValue::str(key)).cloned(),
            _ => None,
        }
    }

    /// A dict in this order; `None` where a key is a tensor, a list or another value that cannot
    /// be one.
    pub fn dict(entries: Vec<(IValue, IValue)>) -> Option<Self> {
        let (keys, values): (Vec<IValue>, Vec<IValue>) = entries.into_iter().unzip();
        let mut dict = Dict::new(common_type(&keys), common_type(&values));
        keys.into_iter()
            .zip(values)
            .all(|(key, value)| dict.insert(key, value))
            .then(|| IValue::Dict(Shared::new(dict)))
    }
}

/// The type that all elements have; `Any` where they differ, where there are none, and where it would be
/// nested too deeply.
pub(crate) fn common_type(items: &[IValue]) -> Type {
    /// Lists in lists, dicts and tuples, as types: who goes over types does so by recursion.
    const MAX_DEPTH: usize = 100;
    let mut types = items.iter().map(plain_type);
    let Some(first) = types.next() else { return Type::Any };
    let is_common = !is_deeper(&first, MAX_DEPTH) && types.all(|ty| ty == first);
    if is_common { first } else { Type::Any }
}

/// Whether a type of lists, dicts, tuples and futures is nested deeper than that.
fn is_deeper(ty: &Type, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    match ty {
        Type::List(of) | Type::Optional(of) | Type::Future(of) => is_deeper(of, depth),
        Type::Dict(of) => is_deeper(&of.0, depth) || is_deeper(&of.1, depth),
        Type::Tuple(of) => of.elements.iter().any(|ty| is_deeper(ty, depth)),
        _ => false,
    }
}

/// The type of a value that came from outside a program, so is of none of its classes; `Any` where it is
/// nested too deeply to have one.
fn plain_type(value: &IValue) -> Type {
    value.type_with(&mut |_| Type::Any).unwrap_or(Type::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_type_of_their_elements() {
        let element = |value: &IValue| match value {
            IValue::List(list) => list.read().element.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(element(&vec![1i64, 2].into()), "int");
        assert_eq!(element(&vec![vec!["a"], vec!["b", "c"]].into()), "str[]");
        assert_eq!(element(&IValue::from(vec![IValue::Int(1), IValue::Float(2.0)])), "Any");
        assert_eq!(element(&Vec::<bool>::new().into()), "Any");
    }

    #[test]
    fn types_do_not_grow_with_depth() {
        let deep = (0..10_000).fold(IValue::Int(1), |inner, level| match level % 2 {
            0 => IValue::from(vec![inner]),
            _ => IValue::dict(vec![("inner".into(), inner)]).unwrap(),
        });
        assert!(!is_deeper(&plain_type(&deep), 102));
    }

    #[test]
    fn values_are_read_as_what_they_are() {
        let dict = IValue::dict(vec![("a".into(), 1.into()), ("b".into(), vec![2.5f64].into())]);
        let dict = dict.unwrap();
        assert_eq!(dict.get("a").unwrap().as_i64(), Some(1));
        assert_eq!(dict.get("b").unwrap().items().unwrap()[0].as_f64(), Some(2.5));
        assert!(dict.get("c").is_none() && dict.as_str().is_none());
        assert!(IValue::from(None::<i64>).is_none());
        let list = IValue::from(vec![1i64]);
        assert!(IValue::dict(vec![(list, 1.into())]).is_none());
    }
}
