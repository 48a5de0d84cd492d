//! Typed access to the arguments of a rebuild function, with errors that name them.

use std::borrow::Cow;

use sconce_pickle::{Arena, Node as PickleNode, Value};
use sconce_tensor::Dims;

use super::Builder;
use super::known::Known;
use crate::{Error, ErrorKind};

/// The arguments of one call.
pub(super) struct Args<'a, 'p> {
    pub(super) arena: &'a Arena<'p>,
    pub(super) values: &'a [Value],
    function: &'static str,
}

/// A few words for a value, for error messages.
pub(super) fn describe(arena: &Arena<'_>, value: Value) -> String {
    match arena.node(value) {
        PickleNode::Global(global) => format!("{}.{}", global.module, global.name),
        PickleNode::Int(number) => format!("the int {number}"),
        PickleNode::PersistentId(_) => "a persistent id".to_owned(),
        PickleNode::Call(call) => match arena.global(call.callable) {
            Some((module, name)) => format!("a result of {module}.{name}"),
            None => "a result of a call".to_owned(),
        },
        other => format!("a value of type {}", other.type_name()),
    }
}

impl<'b, 'p, L> Builder<'b, 'p, L> {
    /// The tuple of arguments of a call to `function`.
    pub(super) fn args(&self, args: Value, function: &'static str) -> Result<Args<'b, 'p>, Error> {
        match self.arena.tuple(args) {
            Some(values) => Ok(Args { arena: self.arena, values, function }),
            None => {
                let found = describe(self.arena, args);
                let message = format!("the arguments of {function} must be a tuple, found {found}");
                Err(Error::new(ErrorKind::Malformed, message).at(self.arena.offset(args)))
            }
        }
    }

    /// Integers of a tuple, list or `torch.Size`, paid for.
    pub(super) fn paid_dims(&self, value: Value) -> Result<Option<Dims>, Error> {
        let dims = self.dims(value);
        self.options.budget.take(dims.as_ref().map_or(0, |dims| size_of_val(&dims[..])))?;
        Ok(dims)
    }

    fn dims(&self, value: Value) -> Option<Dims> {
        let arena = self.arena;
        let values = match arena.node(value) {
            PickleNode::Tuple(items) => arena.items(*items),
            PickleNode::List(items) => items,
            PickleNode::Call(call) => match self.known.get(&call.callable) {
                Some(Known::Size) => {
                    let [only] = arena.tuple(call.args)? else { return None };
                    return self.plain_dims(*only);
                }
                Some(Known::JitList | Known::JitTag) => {
                    return self.plain_dims(*arena.tuple(call.args)?.first()?);
                }
                _ => return None,
            },
            _ => return None,
        };
        values.iter().map(|&item| arena.int(item)).collect()
    }

    fn plain_dims(&self, value: Value) -> Option<Dims> {
        let values = match self.arena.node(value) {
            PickleNode::Tuple(items) => self.arena.items(*items),
            PickleNode::List(items) => items,
            _ => return None,
        };
        values.iter().map(|&item| self.arena.int(item)).collect()
    }
}

impl<'a, 'p> Args<'a, 'p> {
    /// An error about argument `index`.
    pub(super) fn wrong(&self, index: usize, wanted: &str) -> Error {
        let function = self.function;
        let Some(&value) = self.values.get(index) else {
            let message = format!(
                "{function} needs {} arguments or more, got {}",
                index + 1,
                self.values.len()
            );
            return Error::new(ErrorKind::Malformed, message);
        };
        let found = describe(self.arena, value);
        let message =
            format!("argument {} of {function} must be {wanted}, found {found}", index + 1);
        Error::new(ErrorKind::Malformed, message).at(self.arena.offset(value))
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn value(&self, index: usize, wanted: &str) -> Result<Value, Error> {
        self.values.get(index).copied().ok_or_else(|| self.wrong(index, wanted))
    }

    pub(super) fn int(&self, index: usize) -> Result<i64, Error> {
        let found = self.values.get(index).and_then(|&value| self.arena.int(value));
        found.ok_or_else(|| self.wrong(index, "an int"))
    }

    pub(super) fn bool(&self, index: usize) -> Result<bool, Error> {
        match self.values.get(index).map(|&value| self.arena.node(value)) {
            Some(PickleNode::Bool(flag)) => Ok(*flag),
            Some(PickleNode::Int(number @ (0 | 1))) => Ok(*number == 1),
            _ => Err(self.wrong(index, "a bool")),
        }
    }

    pub(super) fn text(&self, index: usize) -> Result<Cow<'a, str>, Error> {
        let value = self.value(index, "a str")?;
        text(self.arena, value).ok_or_else(|| self.wrong(index, "a str"))
    }

    pub(super) fn bytes(&self, index: usize) -> Result<Cow<'a, [u8]>, Error> {
        let value = self.value(index, "bytes")?;
        bytes(self.arena, value).ok_or_else(|| self.wrong(index, "bytes"))
    }
}

/// The text of a str, also of a Python 2 one that is ASCII.
pub(super) fn text<'a>(arena: &'a Arena<'_>, value: Value) -> Option<Cow<'a, str>> {
    match arena.node(value) {
        PickleNode::Str(text) => Some(Cow::Borrowed(text)),
        PickleNode::ByteStr(bytes) | PickleNode::Bytes(bytes) => {
            std::str::from_utf8(bytes).ok().map(Cow::Borrowed)
        }
        _ => None,
    }
}

/// The contents of bytes in any of the forms pickles give them: as they are, as a Python 2 str, or
/// as the call `_codecs.encode(text, 'latin1')`.
pub(super) fn bytes<'a>(arena: &'a Arena<'_>, value: Value) -> Option<Cow<'a, [u8]>> {
    match arena.node(value) {
        PickleNode::Bytes(bytes) | PickleNode::ByteStr(bytes) | PickleNode::ByteArray(bytes) => {
            Some(Cow::Borrowed(bytes))
        }
        PickleNode::Call(call) => match arena.global(call.callable)? {
            ("_codecs", "encode") => encoded(arena, arena.tuple(call.args)?).map(Cow::Owned),
            ("__builtin__" | "builtins", "bytes") if arena.tuple(call.args)?.is_empty() => {
                Some(Cow::Borrowed(&[]))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `_codecs.encode(text, encoding)`.
pub(super) fn encoded(arena: &Arena<'_>, args: &[Value]) -> Option<Vec<u8>> {
    let PickleNode::Str(text) = arena.node(*args.first()?) else { return None };
    let encoding = args.get(1).map(|&value| arena.str(value)).unwrap_or(Some("utf-8"))?;
    match encoding {
        "latin1" | "latin-1" | "iso-8859-1" => {
            text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
        }
        "utf-8" | "utf8" => Some(text.as_bytes().to_vec()),
        "ascii" if text.is_ascii() => Some(text.as_bytes().to_vec()),
        _ => None,
    }
}
