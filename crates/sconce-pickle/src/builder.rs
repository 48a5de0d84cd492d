//! Makes values from nothing, with what the reader promises of them.

use std::borrow::Cow;

use num_bigint::BigInt;
use rustc_hash::FxHashMap;
use thiserror::Error as ThisError;

use crate::arena::{Arena, Call, CallKind, Global, Items, NameParts, Node, Value};
use crate::text::{self, Text};

/// A value that no Python could make, for example a dict with a list as key. Says so in Python's
/// words; the fault is the caller's.
#[derive(Clone, PartialEq, Eq, Debug, ThisError)]
#[error("{0}")]
pub struct BuildError(Box<str>);

/// Makes values: the counterpart of [`load`](crate::load), for [`encode`](crate::encode).
///
/// Each call makes a new object, as far as the memo of a pickle is concerned; only globals of equal
/// names are one. To share an object, use its [`Value`] again. Values have to be made before those
/// that hold them; for cycles, lists, dicts, sets and calls take more later ([`append`], [`set_items`],
/// [`build`]), and a call may be reserved ([`reserve_call`]).
///
/// [`append`]: ArenaBuilder::append
/// [`set_items`]: ArenaBuilder::set_items
/// [`build`]: ArenaBuilder::build
/// [`reserve_call`]: ArenaBuilder::reserve_call
///
/// # Panics
/// All methods that take values panic if one is of another, larger arena, and those that make some
/// if there are 2³² of them.
///
/// ```
/// use sconce_pickle::{ArenaBuilder, EncodeOptions, encode, render};
///
/// let mut values = ArenaBuilder::new();
/// let ordered = values.global("collections", "OrderedDict");
/// let nothing = values.tuple(&[]);
/// let state = values.reduce(ordered, nothing)?;
/// let (key, bias) = (values.str("bias"), values.float(0.5));
/// values.set_items(state, &[(key, bias)])?;
///
/// // A list that holds itself.
/// let list = values.list(vec![state]);
/// values.append(list, &[list])?;
///
/// let bytes = encode(values.arena(), list, &EncodeOptions::default())?;
/// assert!(bytes.ends_with(b"Rq\x02X\x04\0\0\0biasq\x03G\x3f\xe0\0\0\0\0\0\0sh\0e."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default, Debug)]
pub struct ArenaBuilder<'a> {
    arena: Arena<'a>,
    globals: FxHashMap<Global<'a>, Value>,
    /// Offset that new values get.
    at: u64,
}

impl<'a> From<Arena<'a>> for ArenaBuilder<'a> {
    /// To add to values that were read. New ones have the offset of the last.
    fn from(arena: Arena<'a>) -> Self {
        let mut globals = FxHashMap::default();
        for value in arena.values() {
            if let Node::Global(global) = arena.node(value) {
                globals.entry(Global::clone(global)).or_insert(value);
            }
        }
        let at = arena.values().last().map_or(0, |last| arena.offset(last));
        ArenaBuilder { arena, globals, at }
    }
}

impl<'a> ArenaBuilder<'a> {
    /// A builder without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The values so far.
    pub fn arena(&self) -> &Arena<'a> {
        &self.arena
    }

    /// The values.
    pub fn finish(self) -> Arena<'a> {
        self.arena
    }

    fn push(&mut self, node: Node<'a>) -> Value {
        assert!(self.arena.len() < u32::MAX as usize - 1, "an arena holds less than 2^32 values");
        self.arena.push(node, self.at)
    }

    /// # Panics
    /// If one of the values is none of this arena.
    fn check_own(&self, values: impl IntoIterator<Item = Value>) {
        for value in values {
            assert!(value.index() < self.arena.len(), "{value:?} is of another arena");
        }
    }

    // ---- values without parts ----

    /// `None`.
    pub fn none(&mut self) -> Value {
        self.push(Node::None)
    }

    /// `True` or `False`.
    pub fn bool(&mut self, truth: bool) -> Value {
        self.push(Node::Bool(truth))
    }

    /// An int.
    pub fn int(&mut self, number: i64) -> Value {
        self.push(Node::Int(number))
    }

    /// An int of any size: an `Int` if it fits.
    pub fn big_int(&mut self, number: BigInt) -> Value {
        match i64::try_from(&number) {
            Ok(number) => self.int(number),
            Err(_) => self.push(Node::BigInt(Box::new(number))),
        }
    }

    /// A float.
    pub fn float(&mut self, number: f64) -> Value {
        self.push(Node::Float(number))
    }

    /// A str.
    pub fn str(&mut self, text: impl Into<Cow<'a, str>>) -> Value {
        self.push(Node::Str(text.into()))
    }

    /// The str of one character up to U+00FF. CPython's decoders have one object for each, so this is
    /// the same value for the same character, and the same object as those that the encoder writes for
    /// itself: before protocol 3, a bytes object of one byte is the text of that.
    pub fn char(&mut self, character: u8) -> Value {
        if let Some(known) = self.arena.char(character) {
            return known;
        }
        let value = self.str(char::from(character).to_string());
        self.arena.set_char(character, value);
        value
    }

    /// A str given in UTF-8 where lone surrogates have their three-byte forms: a `Str` if there are
    /// none.
    ///
    /// # Errors
    /// If it is not that.
    pub fn surrogate_str(&mut self, utf8: &'a [u8]) -> Result<Value, BuildError> {
        let text =
            text::decode_utf8(utf8, true).map_err(|error| BuildError(error.message().into()))?;
        Ok(self.push(match text {
            Text::Str(text) => Node::Str(text),
            Text::Surrogates(bytes) => Node::SurrogateStr(bytes.into()),
        }))
    }

    /// A bytes object.
    pub fn bytes(&mut self, bytes: impl Into<Cow<'a, [u8]>>) -> Value {
        self.push(Node::Bytes(bytes.into()))
    }

    /// A bytearray.
    pub fn bytearray(&mut self, bytes: impl Into<Cow<'a, [u8]>>) -> Value {
        self.push(Node::ByteArray(bytes.into()))
    }

    /// A class or function; the same value for the same names.
    pub fn global(
        &mut self,
        module: impl Into<Cow<'a, str>>,
        name: impl Into<Cow<'a, str>>,
    ) -> Value {
        let global = Global { module: module.into(), name: name.into() };
        if let Some(&value) = self.globals.get(&global) {
            return value;
        }
        let value = self.push(Node::Global(Box::new(global.clone())));
        self.globals.insert(global, value);
        value
    }

    /// A class or function whose names are these strs and no others, which only shows in protocols 4
    /// and 5. Other globals of an arena have equal names as one object each, as Python's programs do;
    /// those of a `torch.dtype` are made by C++. A new value each time.
    ///
    /// # Errors
    /// If the names are no strs.
    pub fn global_named(&mut self, module: Value, name: Value) -> Result<Value, BuildError> {
        self.check_own([module, name]);
        let (Node::Str(module_text), Node::Str(name_text)) =
            (self.arena.node(module), self.arena.node(name))
        else {
            return Err(error("STACK_GLOBAL requires str".into()));
        };
        let global = Global { module: module_text.clone(), name: name_text.clone() };
        let value = self.push(Node::Global(Box::new(global)));
        self.arena.set_name_parts(value, NameParts { texts: [module, name], own: true });
        Ok(value)
    }

    // ---- values with parts ----

    /// A tuple.
    pub fn tuple(&mut self, items: &[Value]) -> Value {
        let items = self.pool(items);
        self.push(Node::Tuple(items))
    }

    fn pool(&mut self, items: &[Value]) -> Items {
        self.check_own(items.iter().copied());
        let items = self.arena.pool_items(items);
        assert!(items.is_some(), "the tuples of an arena hold less than 2^32 elements");
        items.unwrap_or_default()
    }

    /// A list; [`ArenaBuilder::append`] adds to it.
    pub fn list(&mut self, items: impl Into<Vec<Value>>) -> Value {
        let items = items.into();
        self.check_own(items.iter().copied());
        self.push(Node::List(items))
    }

    /// A dict; [`ArenaBuilder::set_items`] adds to it.
    ///
    /// # Errors
    /// If a key is a list, dict, set or bytearray.
    pub fn dict(&mut self, entries: impl Into<Vec<(Value, Value)>>) -> Result<Value, BuildError> {
        let entries = entries.into();
        self.check_own_entries(&entries);
        self.check_hashable(entries.iter().map(|&(key, _)| key))?;
        Ok(self.push(Node::Dict(entries)))
    }

    /// A set, in the order that Python iterates over it; [`ArenaBuilder::append`] adds to it.
    ///
    /// # Errors
    /// If an item is a list, dict, set or bytearray.
    pub fn set(&mut self, items: impl Into<Vec<Value>>) -> Result<Value, BuildError> {
        let items = items.into();
        self.check_own(items.iter().copied());
        self.check_hashable(items.iter().copied())?;
        Ok(self.push(Node::Set(items)))
    }

    /// A frozenset, in the order that Python iterates over it.
    ///
    /// # Errors
    /// If an item is a list, dict, set or bytearray.
    pub fn frozenset(&mut self, items: &[Value]) -> Result<Value, BuildError> {
        self.check_own(items.iter().copied());
        self.check_hashable(items.iter().copied())?;
        let items = self.pool(items);
        Ok(self.push(Node::FrozenSet(items)))
    }

    /// An object outside of the pickle, by its id.
    pub fn persistent_id(&mut self, pid: Value) -> Value {
        self.check_own([pid]);
        self.push(Node::PersistentId(pid))
    }

    // ---- calls ----

    /// `callable(*args)`.
    ///
    /// # Errors
    /// If Python could not call it.
    pub fn reduce(&mut self, callable: Value, args: Value) -> Result<Value, BuildError> {
        self.call(CallKind::Reduce, callable, args, None)
    }

    /// `class.__new__(class, *args)`.
    ///
    /// # Errors
    /// If the class could be none, or the arguments no tuple.
    pub fn new_obj(&mut self, class: Value, args: Value) -> Result<Value, BuildError> {
        self.call(CallKind::NewObj, class, args, None)
    }

    /// `class.__new__(class, *args, **kwargs)`.
    ///
    /// # Errors
    /// If the class could be none, the arguments no tuple, or the keyword arguments no dict.
    pub fn new_obj_ex(
        &mut self,
        class: Value,
        args: Value,
        kwargs: Value,
    ) -> Result<Value, BuildError> {
        self.call(CallKind::NewObjEx, class, args, Some(kwargs))
    }

    fn call(
        &mut self,
        kind: CallKind,
        callable: Value,
        args: Value,
        kwargs: Option<Value>,
    ) -> Result<Value, BuildError> {
        self.check_own([callable, args].into_iter().chain(kwargs));
        self.check_call(kind, callable, args, kwargs)?;
        Ok(self.push(Node::Call(Call { kind, callable, args, kwargs, updates: None })))
    }

    /// A call whose parts come later, by [`ArenaBuilder::fill_call`], for objects that their own
    /// arguments hold. Until then it calls itself, which no pickle can do.
    ///
    /// ```
    /// use sconce_pickle::{ArenaBuilder, CallKind, EncodeOptions, encode};
    ///
    /// let mut values = ArenaBuilder::new();
    /// let node = values.reserve_call();
    /// let children = values.list(vec![node]);
    /// let class = values.global("tree", "Node");
    /// let args = values.tuple(&[children]);
    /// values.fill_call(node, CallKind::Reduce, class, args, None)?;
    /// let bytes = encode(values.arena(), node, &EncodeOptions::default())?;
    /// assert_eq!(bytes, b"\x80\x02ctree\nNode\nq\0]q\x01h\0h\x01\x85q\x02Rq\x03a\x85q\x04R0h\x03.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve_call(&mut self) -> Value {
        let itself = Value::new(self.arena.len() as u32);
        self.push(Node::Call(Call {
            kind: CallKind::Reduce,
            callable: itself,
            args: itself,
            kwargs: None,
            updates: None,
        }))
    }

    /// Says what a call is, of [`ArenaBuilder::reserve_call`] or any other; its updates stay.
    ///
    /// # Errors
    /// If it is no call, or could not be this one; see [`ArenaBuilder::reduce`],
    /// [`ArenaBuilder::new_obj`] and [`ArenaBuilder::new_obj_ex`].
    pub fn fill_call(
        &mut self,
        reserved: Value,
        kind: CallKind,
        callable: Value,
        args: Value,
        kwargs: Option<Value>,
    ) -> Result<(), BuildError> {
        self.check_own([reserved, callable, args].into_iter().chain(kwargs));
        self.check_call(kind, callable, args, kwargs)?;
        let name = self.arena.node(reserved).type_name();
        match self.arena.node_mut(reserved) {
            Node::Call(call) => {
                *call = Call { kind, callable, args, kwargs, updates: call.updates.take() };
                Ok(())
            }
            _ => Err(error(format!("'{name}' object is no call"))),
        }
    }

    // ---- more for what is made already ----

    /// Adds items to a list or a set, or to an object made by a call (APPENDS).
    ///
    /// # Errors
    /// If it takes none, or an item of a set is a list, dict, set or bytearray.
    pub fn append(&mut self, target: Value, items: &[Value]) -> Result<(), BuildError> {
        self.check_own(items.iter().copied().chain([target]));
        if matches!(self.arena.node(target), Node::Set(_)) {
            self.check_hashable(items.iter().copied())?;
        }
        match self.arena.node_mut(target) {
            Node::List(list) | Node::Set(list) => list.extend_from_slice(items),
            Node::Call(_) => self.arena.updates_mut(target).items.extend_from_slice(items),
            _ => return Err(self.no_attribute(target, "append")),
        }
        Ok(())
    }

    /// Sets keys of a dict, or of an object made by a call (SETITEMS).
    ///
    /// # Errors
    /// If it has none, or a key of a dict is a list, dict, set or bytearray.
    pub fn set_items(
        &mut self,
        target: Value,
        entries: &[(Value, Value)],
    ) -> Result<(), BuildError> {
        self.check_own([target]);
        self.check_own_entries(entries);
        if matches!(self.arena.node(target), Node::Dict(_)) {
            self.check_hashable(entries.iter().map(|&(key, _)| key))?;
        }
        match self.arena.node_mut(target) {
            Node::Dict(dict) => dict.extend_from_slice(entries),
            Node::Call(_) => self.arena.updates_mut(target).entries.extend_from_slice(entries),
            _ => return Err(self.no_attribute(target, "__setitem__")),
        }
        Ok(())
    }

    /// Gives a state to an object made by a call (BUILD).
    ///
    /// # Errors
    /// If it is none.
    pub fn build(&mut self, target: Value, state: Value) -> Result<(), BuildError> {
        self.check_own([target, state]);
        if !matches!(self.arena.node(target), Node::Call(_)) {
            return Err(self.no_attribute(target, "__setstate__"));
        }
        self.arena.updates_mut(target).states.push(state);
        Ok(())
    }

    // ---- what Python could not do ----

    fn no_attribute(&self, target: Value, attribute: &str) -> BuildError {
        let name = self.arena.node(target).type_name();
        error(format!("'{name}' object has no attribute '{attribute}'"))
    }

    fn check_own_entries(&self, entries: &[(Value, Value)]) {
        self.check_own(entries.iter().flat_map(|&(key, value)| [key, value]));
    }

    fn check_hashable(&self, keys: impl IntoIterator<Item = Value>) -> Result<(), BuildError> {
        for key in keys {
            let node = self.arena.node(key);
            if matches!(node, Node::List(_) | Node::Dict(_) | Node::Set(_) | Node::ByteArray(_)) {
                return Err(error(format!("unhashable type: '{}'", node.type_name())));
            }
        }
        Ok(())
    }

    fn check_call(
        &self,
        kind: CallKind,
        callable: Value,
        args: Value,
        kwargs: Option<Value>,
    ) -> Result<(), BuildError> {
        let (callable, args) = (self.arena.node(callable), self.arena.node(args));
        if !callable.is_opaque() {
            return Err(error(format!("'{}' object is not callable", callable.type_name())));
        }
        let free = kind == CallKind::Reduce || args.is_opaque();
        if !free && !matches!(args, Node::Tuple(_)) {
            return Err(error(format!("args must be a tuple, not {}", args.type_name())));
        }
        match (kind, kwargs.map(|kwargs| self.arena.node(kwargs))) {
            (CallKind::NewObjEx, Some(kwargs))
                if kwargs.is_opaque() || matches!(kwargs, Node::Dict(_)) =>
            {
                Ok(())
            }
            (CallKind::NewObjEx, Some(kwargs)) => {
                Err(error(format!("kwargs must be a dict, not {}", kwargs.type_name())))
            }
            (CallKind::NewObjEx, None) => Err(error("NEWOBJ_EX needs keyword arguments".into())),
            (_, Some(_)) => Err(error("only NEWOBJ_EX takes keyword arguments".into())),
            (_, None) => Ok(()),
        }
    }
}

#[cold]
fn error(message: String) -> BuildError {
    BuildError(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_could_not_make() {
        let mut values = ArenaBuilder::new();
        let (list, text) = (values.list(vec![]), values.str("a"));
        let array = values.bytearray(vec![1]);
        let dict = values.dict(vec![(text, list)]).expect("a dict");
        let set = values.set(vec![text]).expect("a set");
        let class = values.global("m", "C");
        let args = values.tuple(&[list]);
        let call = values.reduce(class, args).expect("a call");
        let before = values.arena().len();
        let cases = [
            (values.dict(vec![(list, text)]).err(), "unhashable type: 'list'"),
            (values.set_items(dict, &[(dict, text)]).err(), "unhashable type: 'dict'"),
            (values.set(vec![set]).err(), "unhashable type: 'set'"),
            (values.append(set, &[array]).err(), "unhashable type: 'bytearray'"),
            (values.frozenset(&[list]).err(), "unhashable type: 'list'"),
            (values.reduce(text, args).err(), "'str' object is not callable"),
            (values.new_obj(class, list).err(), "args must be a tuple, not list"),
            (values.new_obj_ex(class, args, text).err(), "kwargs must be a dict, not str"),
            (values.build(list, text).err(), "'list' object has no attribute '__setstate__'"),
            (values.append(dict, &[text]).err(), "'dict' object has no attribute 'append'"),
            (
                values.fill_call(text, CallKind::Reduce, class, args, None).err(),
                "'str' object is no call",
            ),
            (
                values.fill_call(call, CallKind::NewObjEx, class, args, None).err(),
                "NEWOBJ_EX needs keyword arguments",
            ),
            (
                values.surrogate_str(b"\xff").err(),
                "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found.map(|error| error.to_string()).as_deref(), Some(expected));
        }
        assert_eq!(values.arena().len(), before);
    }

    #[test]
    fn values_are_what_the_reader_makes() {
        let mut values = ArenaBuilder::new();
        let small = values.big_int(BigInt::from(7));
        let big = values.big_int(BigInt::from(i64::MAX) + 1);
        let plain = values.surrogate_str(b"a").expect("UTF-8");
        let lone = values.surrogate_str(b"\xed\xa0\x80").expect("a surrogate");
        let arena = values.arena();
        assert_eq!((arena.int(small), arena.int(big)), (Some(7), None));
        assert_eq!((arena.str(plain), arena.str(lone)), (Some("a"), None));
        let first = values.global("m", "C");
        let owned = values.global(String::from("m"), "C");
        assert_eq!(first, owned);
    }

    #[test]
    fn values_that_were_read_are_added_to() {
        let bytes = b"cm\nC\n]\x86.";
        let loaded = crate::load(bytes, &crate::Limits::default()).expect("a pickle");
        let class = loaded.arena.tuple(loaded.root).expect("a tuple")[0];
        let mut values = ArenaBuilder::from(loaded.arena);
        assert_eq!(values.global("m", "C"), class);
        let new = values.int(1);
        assert_eq!(values.arena().offset(new), 6);
    }

    #[test]
    #[should_panic(expected = "of another arena")]
    fn values_of_other_arenas() {
        let mut other = ArenaBuilder::new();
        let stranger = other.none();
        ArenaBuilder::new().list(vec![stranger]);
    }
}
