//! Where a pickle's values live: nodes in one vector, named by their index.
//!
//! Sharing and cycles are equal indexes, so a GET copies nothing, and dropping an arena walks a flat
//! vector: no depth of nesting can overflow the stack.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

/// A value of a pickle: the index of a node in its [`Arena`].
///
/// Two equal `Value`s of one arena are one Python object (`is`).
// Kept plus one, so that `Option<Value>` is four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(NonZeroU32);

impl Value {
    #[inline]
    pub(crate) fn new(index: u32) -> Self {
        Value(NonZeroU32::new(index.wrapping_add(1)).unwrap_or(NonZeroU32::MAX))
    }

    /// Place of the value in its arena: values are numbered from 0 in the order they were made.
    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({})", self.index())
    }
}

/// The elements of a tuple or frozenset: a range of the arena's pool, read by [`Arena::items`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Items {
    start: u32,
    len: u32,
}

impl Items {
    /// Number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// A class or function, named and never imported.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Global<'a> {
    /// Module, as written (Python 2 names are not mapped).
    pub module: Cow<'a, str>,
    /// Name in the module; may hold dots (a nested name) from protocol 4 on.
    pub name: Cow<'a, str>,
}

/// Which opcode recorded a [`Call`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallKind {
    /// REDUCE: `callable(*args)`.
    Reduce,
    /// NEWOBJ: `callable.__new__(callable, *args)`.
    NewObj,
    /// NEWOBJ_EX: `callable.__new__(callable, *args, **kwargs)`.
    NewObjEx,
    /// INST: `callable(*args)`, the class named in the opcode.
    Inst,
    /// OBJ: `callable(*args)`, the class on the stack.
    Obj,
}

/// An object that unpickling would make by a call. The call is recorded, never made.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The opcode that asked for it.
    pub kind: CallKind,
    /// What would be called; for INST and OBJ too.
    pub callable: Value,
    /// The arguments: a tuple in what CPython writes. TorchScript's pickler gives REDUCE a bare
    /// value for enums.
    pub args: Value,
    /// The keyword arguments of NEWOBJ_EX.
    pub kwargs: Option<Value>,
    pub(crate) updates: Option<Box<Updates>>,
}

impl Call {
    /// What was done to the object after it was made.
    pub fn updates(&self) -> &Updates {
        self.updates.as_deref().unwrap_or(&NO_UPDATES)
    }
}

/// What a pickle does to an object after it is made, in stream order within each list.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Updates {
    /// States given by BUILD.
    pub states: Vec<Value>,
    /// Items added by APPEND, APPENDS and ADDITEMS.
    pub items: Vec<Value>,
    /// Entries put by SETITEM and SETITEMS.
    pub entries: Vec<(Value, Value)>,
}

static NO_UPDATES: Updates = Updates { states: Vec::new(), items: Vec::new(), entries: Vec::new() };

impl Updates {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty() && self.items.is_empty() && self.entries.is_empty()
    }
}

/// One value. Strings and bytes are borrowed from the pickle where it holds them verbatim.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Node<'a> {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An int that fits 64 bits.
    Int(i64),
    /// An int that does not.
    BigInt(Box<BigInt>),
    /// A float.
    Float(f64),
    /// A str.
    Str(Cow<'a, str>),
    /// A str that holds lone surrogates, in UTF-8 extended with their three-byte forms (what
    /// CPython calls `surrogatepass`).
    SurrogateStr(Box<[u8]>),
    /// A Python 2 `str` (STRING, BINSTRING, SHORT_BINSTRING): bytes whose encoding the reader chooses.
    ByteStr(Cow<'a, [u8]>),
    /// A bytes object.
    Bytes(Cow<'a, [u8]>),
    /// A bytearray.
    ByteArray(Cow<'a, [u8]>),
    /// A tuple.
    Tuple(Items),
    /// A list.
    List(Vec<Value>),
    /// A dict: every entry set, in stream order. A key set twice is here twice (Python keeps the
    /// first place and the last value).
    Dict(Vec<(Value, Value)>),
    /// A set: every item added, in stream order, equal ones too.
    Set(Vec<Value>),
    /// A frozenset: every item, in stream order, equal ones too.
    FrozenSet(Items),
    /// A class or function.
    Global(Box<Global<'a>>),
    /// An entry of the process's extension registry (`copyreg.add_extension`), by code.
    Extension(i64),
    /// An object outside the pickle. The pid of a PERSID is a `Str`.
    PersistentId(Value),
    /// An out-of-band buffer.
    Buffer {
        /// Which one, in stream order.
        index: u32,
        /// Whether READONLY_BUFFER was applied.
        readonly: bool,
    },
    /// An object made by a call.
    Call(Call),
}

impl Node<'_> {
    /// Name of the value's type as Python's error messages give it; `object` for what only a Python
    /// process could know.
    pub fn type_name(&self) -> &'static str {
        match self {
            Node::None => "NoneType",
            Node::Bool(_) => "bool",
            Node::Int(_) | Node::BigInt(_) => "int",
            Node::Float(_) => "float",
            Node::Str(_) | Node::SurrogateStr(_) | Node::ByteStr(_) => "str",
            Node::Bytes(_) => "bytes",
            Node::ByteArray(_) => "bytearray",
            Node::Tuple(_) => "tuple",
            Node::List(_) => "list",
            Node::Dict(_) => "dict",
            Node::Set(_) => "set",
            Node::FrozenSet(_) => "frozenset",
            Node::Global(_)
            | Node::Extension(_)
            | Node::PersistentId(_)
            | Node::Buffer { .. }
            | Node::Call(_) => "object",
        }
    }

    /// Whether the value stands for something whose type and abilities only Python would know.
    pub fn is_opaque(&self) -> bool {
        matches!(
            self,
            Node::Global(_)
                | Node::Extension(_)
                | Node::PersistentId(_)
                | Node::Buffer { .. }
                | Node::Call(_)
        )
    }
}

/// All values of one pickle.
#[derive(Default, Debug)]
pub struct Arena<'a> {
    nodes: Vec<Node<'a>>,
    /// Low halves of the offsets, which never go down from one node to the next.
    offsets: Vec<u32>,
    /// Node counts at which the high half of the offset went up by one; empty below 4 GiB.
    wraps: Vec<usize>,
    pool: Vec<Value>,
    /// Updates of what is not a `Call`.
    side: FxHashMap<Value, Box<Updates>>,
    /// By global, ascending.
    name_parts: Vec<(Value, NameParts)>,
    /// Strs of one character up to U+00FF that are one object in all of Python, by character.
    chars: FxHashMap<u8, Value>,
    crossed_frame: Option<u64>,
}

/// The two strs that hold the name of a global: the module's name is often one object for many
/// globals, which only shows here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameParts {
    /// Module and name.
    pub(crate) texts: [Value; 2],
    /// Whether they are this global's own. Otherwise they are what STACK_GLOBAL took, and may be one
    /// with names that the encoder writes for itself.
    pub(crate) own: bool,
}

impl<'a> Arena<'a> {
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Arena {
            nodes: Vec::with_capacity(nodes),
            offsets: Vec::with_capacity(nodes),
            ..Arena::default()
        }
    }

    /// Where the first frame ended that an opcode began in and ended behind; no writer makes such a
    /// pickle, and Python's unpicklers do not agree on what it holds.
    pub fn crossed_frame(&self) -> Option<u64> {
        self.crossed_frame
    }

    pub(crate) fn note_crossed_frame(&mut self, end: usize) {
        self.crossed_frame.get_or_insert(end as u64);
    }

    /// The value's node.
    ///
    /// # Panics
    /// If the value is of another, larger arena.
    #[inline]
    pub fn node(&self, v: Value) -> &Node<'a> {
        &self.nodes[v.index()]
    }

    /// Offset of the opcode that made the value.
    ///
    /// # Panics
    /// If the value is of another, larger arena.
    pub fn offset(&self, v: Value) -> u64 {
        let high = self.wraps.partition_point(|&first| first <= v.index()) as u64;
        high << 32 | u64::from(self.offsets[v.index()])
    }

    /// The elements of a tuple or frozenset of this arena.
    ///
    /// # Panics
    /// If `items` is of another, larger arena.
    #[inline]
    pub fn items(&self, items: Items) -> &[Value] {
        &self.pool[items.range()]
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every value, in the order they were made, also those that the result does not reach.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        (0..self.nodes.len() as u32).map(Value::new)
    }

    /// The text of a `Str`.
    #[inline]
    pub fn str(&self, v: Value) -> Option<&str> {
        match self.node(v) {
            Node::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The number of an `Int`; a `Bool` is none.
    #[inline]
    pub fn int(&self, v: Value) -> Option<i64> {
        match self.node(v) {
            Node::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of a `Tuple`.
    #[inline]
    pub fn tuple(&self, v: Value) -> Option<&[Value]> {
        match self.node(v) {
            Node::Tuple(items) => Some(self.items(*items)),
            _ => None,
        }
    }

    /// Module and name of a `Global`.
    #[inline]
    pub fn global(&self, v: Value) -> Option<(&str, &str)> {
        match self.node(v) {
            Node::Global(global) => Some((&global.module, &global.name)),
            _ => None,
        }
    }

    /// What was done to the value after it was made, if it cannot hold that itself: to a `Call`, to
    /// any other opaque object, or a BUILD on a list, dict or set.
    pub fn updates(&self, v: Value) -> Option<&Updates> {
        match self.node(v) {
            Node::Call(call) => call.updates.as_deref(),
            _ if self.side.is_empty() => None,
            _ => self.side.get(&v).map(|updates| &**updates),
        }
    }

    /// The strs that hold module and name of a `Global`, where they are known.
    pub(crate) fn name_parts(&self, v: Value) -> Option<NameParts> {
        let place = self.name_parts.binary_search_by_key(&v, |&(global, _)| global).ok()?;
        Some(self.name_parts[place].1)
    }

    /// Keeps what [`Arena::name_parts`] gives; `v` is the newest value.
    pub(crate) fn set_name_parts(&mut self, v: Value, parts: NameParts) {
        self.name_parts.push((v, parts));
    }

    /// The str of a character that is one in all of Python, if there is one here.
    #[inline]
    pub(crate) fn char(&self, character: u8) -> Option<Value> {
        if self.chars.is_empty() { None } else { self.chars.get(&character).copied() }
    }

    pub(crate) fn set_char(&mut self, character: u8, v: Value) {
        self.chars.insert(character, v);
    }

    #[inline]
    pub(crate) fn push(&mut self, node: Node<'a>, at: u64) -> Value {
        let index = self.nodes.len();
        self.nodes.push(node);
        self.offsets.push(at as u32);
        if (at >> 32) as usize != self.wraps.len() {
            self.wrap(index, at);
        }
        Value::new(index as u32)
    }

    #[cold]
    fn wrap(&mut self, index: usize, at: u64) {
        self.wraps.resize((at >> 32) as usize, index);
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, v: Value) -> &mut Node<'a> {
        &mut self.nodes[v.index()]
    }

    /// Room for `more` values in the pool; `None` if it would be more than indexes can name.
    #[inline]
    pub(crate) fn pool_items(&mut self, values: &[Value]) -> Option<Items> {
        let start = u32::try_from(self.pool.len()).ok()?;
        let len = u32::try_from(values.len()).ok()?;
        start.checked_add(len)?;
        self.pool.extend_from_slice(values);
        Some(Items { start, len })
    }

    #[inline]
    pub(crate) fn updates_mut(&mut self, v: Value) -> &mut Updates {
        match &mut self.nodes[v.index()] {
            Node::Call(call) => call.updates.get_or_insert_default(),
            _ => self.side.entry(v).or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stay_small() {
        assert!(size_of::<Node<'_>>() <= 32, "{}", size_of::<Node<'_>>());
        assert_eq!(size_of::<Option<Value>>(), 4);
    }

    #[test]
    fn offsets_beyond_four_gigabytes() {
        let mut arena = Arena::default();
        let offsets = [0, 7, u64::from(u32::MAX), 1 << 32, (1 << 32) + 5, 3 << 32, (3 << 32) + 1];
        let values: Vec<Value> = offsets.iter().map(|&at| arena.push(Node::None, at)).collect();
        for (value, at) in values.iter().zip(offsets) {
            assert_eq!(arena.offset(*value), at);
        }
    }

    #[test]
    fn values_count_from_zero() {
        let mut arena = Arena::default();
        let a = arena.push(Node::Int(1), 0);
        let b = arena.push(Node::Bool(true), 1);
        assert_eq!((a.index(), b.index()), (0, 1));
        assert_eq!(arena.values().collect::<Vec<_>>(), [a, b]);
        assert_eq!((arena.int(a), arena.int(b)), (Some(1), None));
        assert_eq!(format!("{a:?}"), "Value(0)");
    }
}
