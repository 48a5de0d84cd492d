//! Calls of programs that were exported: arguments taken apart into the values that their graphs take, results put
//! together again.

use std::sync::Arc;

use sconce_export_program::tree_spec::{DictKind, FieldsKind, Key, TreeSpec};
use sconce_export_program::{Calling, Given};
use sconce_ir::{NamedTuple, TupleType, Type};

use crate::Error;
use crate::value::convert::common_type;
use crate::value::{IValue, Text, Tuple};

/// How deep the structure of arguments is described where it does not fit.
const MAX_DEPTH: usize = 30;

/// How many items of one list or tuple are described.
const MAX_ITEMS: usize = 1000;

/// The values that the graph takes, for these arguments.
pub(crate) fn take_apart(
    calling: &Calling,
    args: &[IValue],
    named: &[(&str, IValue)],
) -> Result<Vec<IValue>, Error> {
    let expected = calling.named();
    let is_given = |key: &Key| named.iter().filter(|(name, _)| is_key(key, name)).count() == 1;
    if named.len() != expected.len() || !expected.iter().all(|(key, _)| is_given(key)) {
        let given: Vec<String> =
            named.iter().map(|(name, _)| Key::Str((*name).into()).repr()).collect();
        let expected: Vec<String> = expected.iter().map(|(key, _)| key.repr()).collect();
        return Err(Error::Arguments(format!(
            "Ran into a kwarg keyword mismatch: Got the following keywords [{}] but expected [{}]",
            given.join(", "),
            expected.join(", ")
        )));
    }
    let mut leaves = Vec::new();
    let mut fits = args.len() == calling.positional().len();
    let positional = calling.positional().iter().zip(args);
    let by_name = expected.iter().filter_map(|(key, spec)| {
        let found = named.iter().find(|(name, _)| is_key(key, name));
        found.map(|(_, value)| (spec, value))
    });
    for (spec, value) in positional.chain(by_name) {
        fits = fits && flatten(spec, value, &mut leaves);
    }
    if !fits {
        return Err(Error::Arguments(mismatch(calling, args, named)));
    }
    let given: Vec<Given<'_>> = leaves.iter().map(given).collect();
    calling.check(&given).map_err(Error::Arguments)?;
    let taken = leaves.into_iter().zip(calling.taken());
    Ok(taken.filter(|(_, taken)| *taken).map(|(leaf, _)| leaf).collect())
}

fn is_key(key: &Key, name: &str) -> bool {
    matches!(key, Key::Str(text) if text == name)
}

/// A value as it is checked.
fn given(value: &IValue) -> Given<'_> {
    match value {
        IValue::Tensor(tensor) => Given::Tensor(tensor.sizes(), tensor.strides(), tensor.offset()),
        IValue::None => Given::None,
        IValue::Int(value) => Given::Int(*value),
        IValue::Float(value) => Given::Float(*value),
        IValue::Bool(value) => Given::Bool(*value),
        IValue::Str(text) => Given::Str(text),
        IValue::Complex(..) => Given::Other("complex"),
        IValue::Device(_) => Given::Other("torch.device"),
        other => Given::Other(other.kind_name()),
    }
}

/// Takes a value apart as a structure says; false where it is of another. A named tuple may be given as a tuple, and
/// anything with fields as a dict of them. Structures nest no deeper than their reader allows.
fn flatten(spec: &TreeSpec, value: &IValue, out: &mut Vec<IValue>) -> bool {
    match spec {
        TreeSpec::Leaf => {
            out.push(value.clone());
            !matches!(value, IValue::List(_) | IValue::Tuple(_) | IValue::Dict(_))
        }
        TreeSpec::Tuple(specs) => match value {
            IValue::Tuple(tuple) => flatten_all(specs, &tuple.items, out),
            _ => false,
        },
        TreeSpec::List(specs) | TreeSpec::Deque(_, specs) => match value {
            IValue::List(list) => flatten_all(specs, &list.read().items, out),
            _ => false,
        },
        TreeSpec::Size(specs) | TreeSpec::Other(_, specs) => match value.items() {
            Some(items) => flatten_all(specs, &items, out),
            None => false,
        },
        TreeSpec::Dict(_, entries) => match value {
            IValue::Dict(dict) => {
                let dict = dict.read();
                dict.len() == entries.len()
                    && entries.iter().all(|(key, spec)| {
                        let item = key_value(key).and_then(|key| dict.get(&key).cloned());
                        item.is_some_and(|item| flatten(spec, &item, out))
                    })
            }
            _ => false,
        },
        TreeSpec::Fields { fields, none, .. } => match value {
            IValue::Dict(dict) => {
                let dict = dict.read();
                let is_none = |name: &&String| {
                    matches!(dict.get(&IValue::str(name.as_str())), Some(IValue::None))
                };
                dict.len() == fields.len() + none.iter().filter(is_none).count()
                    && fields.iter().all(|(name, spec)| {
                        let item = dict.get(&IValue::str(name.as_str())).cloned();
                        item.is_some_and(|item| flatten(spec, &item, out))
                    })
            }
            IValue::Tuple(tuple) => {
                fields.len() == tuple.items.len()
                    && fields
                        .iter()
                        .zip(&tuple.items)
                        .all(|((_, spec), item)| flatten(spec, item, out))
            }
            _ => false,
        },
    }
}

fn flatten_all(specs: &[TreeSpec], items: &[IValue], out: &mut Vec<IValue>) -> bool {
    specs.len() == items.len()
        && specs.iter().zip(items).all(|(spec, item)| flatten(spec, item, out))
}

/// The key of a dict as a value; `None` for what no dict here has as a key.
fn key_value(key: &Key) -> Option<IValue> {
    Some(match key {
        Key::Str(text) => IValue::Str(Text::from(text.as_str())),
        Key::Int(value) => IValue::Int(*value),
        Key::Bool(value) => IValue::Bool(*value),
        Key::Float(value) => IValue::Float(*value),
        Key::None => return None,
        // Programs here know no classes of the caller's: its name stands for a member of an enum.
        Key::Enum(_, name) => IValue::Str(Text::from(name.as_str())),
    })
}

/// The result, put together of the values that the graph gives.
pub(crate) fn put_together(spec: &TreeSpec, values: Vec<IValue>) -> Result<IValue, Error> {
    let mut values = values.into_iter();
    let made = unflatten(spec, &mut values)?;
    match values.next() {
        None => Ok(made),
        Some(_) => {
            Err(Error::Malformed("the program gives more values than its result has".into()))
        }
    }
}

/// The error of a program that has no source: what was raised, without a traceback.
pub(crate) fn plain(error: Error) -> Error {
    match error {
        Error::Raised(mut raised) => {
            raised.text = format!("{}: {}", raised.class, raised.message);
            Error::Raised(raised)
        }
        other => other,
    }
}

fn unflatten(spec: &TreeSpec, values: &mut impl Iterator<Item = IValue>) -> Result<IValue, Error> {
    let all = |specs: &[TreeSpec], values: &mut _| -> Result<Vec<IValue>, Error> {
        specs.iter().map(|spec| unflatten(spec, values)).collect()
    };
    Ok(match spec {
        TreeSpec::Leaf => values.next().ok_or_else(|| {
            Error::Malformed("the program gives fewer values than its result has".to_owned())
        })?,
        TreeSpec::Tuple(specs) | TreeSpec::Size(specs) | TreeSpec::Other(_, specs) => {
            IValue::tuple(all(specs, values)?)
        }
        TreeSpec::List(specs) | TreeSpec::Deque(_, specs) => {
            let items = all(specs, values)?;
            IValue::list(common_type(&items), items)
        }
        TreeSpec::Dict(_, entries) => {
            let mut made = Vec::with_capacity(entries.len());
            for (key, spec) in entries {
                let key = key_value(key).ok_or_else(none_key)?;
                made.push((key, unflatten(spec, values)?));
            }
            IValue::dict(made).ok_or_else(none_key)?
        }
        TreeSpec::Fields {
            kind: FieldsKind::DataClass | FieldsKind::Mapping,
            fields,
            none,
            ..
        } => {
            let mut made = Vec::with_capacity(fields.len() + none.len());
            for (name, spec) in fields {
                made.push((IValue::str(name.as_str()), unflatten(spec, values)?));
            }
            made.extend(none.iter().map(|name| (IValue::str(name.as_str()), IValue::None)));
            IValue::dict(made).ok_or_else(none_key)?
        }
        TreeSpec::Fields { class, fields, .. } => {
            let mut items = Vec::with_capacity(fields.len());
            for (_, spec) in fields {
                items.push(unflatten(spec, values)?);
            }
            let named = NamedTuple {
                name: class.as_str().into(),
                fields: fields.iter().map(|(name, _)| Arc::from(name.as_str())).collect(),
                defaults: Vec::new(),
            };
            let elements = vec![Type::Any; items.len()];
            let named = Type::Tuple(Arc::new(TupleType { elements, named: Some(named) }));
            IValue::Tuple(Tuple::new(items, Some(named)).into())
        }
    })
}

fn none_key() -> Error {
    Error::Unsupported {
        what: "a result that is a dict with None as a key".to_owned(),
        range: None,
    }
}

/// That arguments are of another structure, in PyTorch's words.
fn mismatch(calling: &Calling, args: &[IValue], named: &[(&str, IValue)]) -> String {
    let args: Vec<TreeSpec> = args.iter().map(|arg| structure(arg, 0)).collect();
    let in_order = calling.named().iter().filter_map(|(key, _)| {
        let found = named.iter().find(|(name, _)| is_key(key, name));
        found.map(|(_, value)| (key.clone(), structure(value, 0)))
    });
    let named = TreeSpec::Dict(DictKind::Plain, in_order.collect());
    let given = TreeSpec::Tuple(vec![TreeSpec::Tuple(args), named]);
    format!(
        "Trying to flatten user inputs with exported input tree spec: \n{}\nbut actually got inputs with \
         tree spec of: \n{}.\nPlease check that the inputs have the same number and type of args and \
         kwargs as the ones you used when tracing.",
        calling.in_spec.text(),
        given.text()
    )
}

/// The structure of a value.
fn structure(value: &IValue, depth: usize) -> TreeSpec {
    if depth > MAX_DEPTH {
        return TreeSpec::Leaf;
    }
    let all = |items: &[IValue]| -> Vec<TreeSpec> {
        items.iter().take(MAX_ITEMS).map(|item| structure(item, depth + 1)).collect()
    };
    match value {
        IValue::Tuple(tuple) => TreeSpec::Tuple(all(&tuple.items)),
        IValue::List(list) => TreeSpec::List(all(&list.read().items)),
        IValue::Dict(dict) => {
            let dict = dict.read();
            let entries = dict.entries().take(MAX_ITEMS).map(|(key, value)| {
                let key = match key {
                    IValue::Str(text) => Key::Str(text.to_string()),
                    IValue::Int(value) => Key::Int(*value),
                    IValue::Bool(value) => Key::Bool(*value),
                    IValue::Float(value) => Key::Float(*value),
                    other => Key::Str(other.kind_name().to_owned()),
                };
                (key, structure(value, depth + 1))
            });
            TreeSpec::Dict(DictKind::Plain, entries.collect())
        }
        _ => TreeSpec::Leaf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[i64]) -> Vec<IValue> {
        values.iter().map(|&value| IValue::Int(value)).collect()
    }

    #[test]
    fn values_go_apart_and_together() {
        let leaf = TreeSpec::Leaf;
        let dict = TreeSpec::Dict(
            DictKind::Plain,
            vec![(Key::Str("b".into()), leaf.clone()), (Key::Int(1), leaf.clone())],
        );
        let pair = TreeSpec::Fields {
            class: "my.Pair".into(),
            kind: FieldsKind::NamedTuple,
            fields: vec![("x".into(), leaf.clone()), ("y".into(), leaf.clone())],
            none: Vec::new(),
        };
        let spec =
            TreeSpec::Tuple(vec![leaf.clone(), TreeSpec::List(vec![leaf.clone(); 2]), dict, pair]);
        let value = put_together(&spec, ints(&[1, 2, 3, 4, 5, 6, 7])).unwrap();
        // A program that prints a named tuple shows its values alone.
        let text = "(1, [2, 3], {'b': 4, 1: 5}, (6, 7))";
        assert_eq!(crate::value::text::python_text(&value).to_string(), text);
        let mut leaves = Vec::new();
        assert!(flatten(&spec, &value, &mut leaves));
        assert_eq!(
            leaves.iter().map(|leaf| leaf.as_i64().unwrap()).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7]
        );
        let few = put_together(&spec, ints(&[1])).unwrap_err().to_string();
        assert!(few.contains("fewer values"), "{few}");
        let many = put_together(&leaf, ints(&[1, 2])).unwrap_err().to_string();
        assert!(many.contains("more values"), "{many}");
    }

    #[test]
    fn other_structures_do_not_fit() {
        let leaf = TreeSpec::Leaf;
        let list = IValue::list(Type::Int, ints(&[1, 2]));
        let tuple = IValue::tuple(ints(&[1, 2]));
        for (spec, value) in [
            (leaf.clone(), &list),
            (TreeSpec::Tuple(vec![leaf.clone(); 2]), &list),
            (TreeSpec::List(vec![leaf.clone(); 2]), &tuple),
            (TreeSpec::Tuple(vec![leaf.clone(); 3]), &tuple),
            (TreeSpec::Dict(DictKind::Plain, vec![]), &tuple),
        ] {
            assert!(!flatten(&spec, value, &mut Vec::new()), "{spec:?}");
        }
    }
}
