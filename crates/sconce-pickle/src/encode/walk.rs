//! Goes over the values in CPython's order, with its memo; on a stack of its own, so that no depth
//! of nesting is too much.

use rustc_hash::FxHashMap;

use super::error::EncodeError;
use super::output::Output;
use super::{EncodeOptions, scalars};
use crate::arena::{Arena, Call, CallKind, Node, Value};
use crate::opcode::byte as op;

/// Most elements that one APPENDS, SETITEMS or ADDITEMS takes. CPython: `BATCHSIZE`.
const BATCH: usize = 1000;

/// How often values that are entered already may be entered again before they are made: beyond it,
/// CPython ends with a `RecursionError`, and bytes would grow with the square of the values.
const MAX_REENTRIES: u32 = 1000;

pub(super) struct Encoder<'b, 'w> {
    pub(super) arena: &'b Arena<'b>,
    pub(super) protocol: u8,
    pub(super) fix_imports: bool,
    pub(super) out: Output<'w>,
    seen: Vec<Seen>,
    /// Number of memo slots in use.
    memo_len: u32,
    /// How many of the slots hold values of the arena.
    memoized: u32,
    reentries: u32,
    stack: Vec<Frame<'b>>,
    /// Slots of the globals written so far, by the names written.
    pub(super) named: FxHashMap<(&'b str, &'b str), Named>,
    /// Slots of `latin1` and of the strs of names written so far, by content.
    pub(super) texts: FxHashMap<&'b str, Named>,
    /// Slots of one-character strs up to U+00FF, by character.
    pub(super) chars: Option<Box<[Option<Slot>; 256]>>,
}

/// A slot of the memo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot(u32);

/// Slot of a global, or of a part of its name.
#[derive(Clone, Copy)]
pub(super) struct Named {
    pub(super) slot: Slot,
    /// Whether the encoder wrote it for itself; then those of the arena that are equal are it.
    pub(super) own: bool,
}

/// What is known of a value of the arena. Zeros at first, which cost nothing until they are written.
#[derive(Clone, Copy)]
struct Seen {
    /// Memo slot plus one.
    slot: u32,
    /// `memoized` when the value was entered last, plus one, of what is memoized only at its end.
    entered: u32,
}

/// What is left to do for a value that holds others.
#[derive(Clone, Copy)]
enum Frame<'b> {
    /// Elements of a list or set.
    Items {
        rule: Rule,
        items: &'b [Value],
        at: usize,
    },
    /// Entries of a dict; `at` counts keys and values.
    Entries {
        rule: Rule,
        entries: &'b [(Value, Value)],
        at: usize,
    },
    Tuple {
        this: Entered,
        items: &'b [Value],
        at: usize,
    },
    FrozenSet {
        this: Entered,
        items: &'b [Value],
        at: usize,
    },
    /// The end of a set that stands as a call, whose list is done.
    SetCall {
        this: Entered,
    },
    Call {
        this: Entered,
        call: &'b Call,
        at: usize,
    },
    Build {
        states: &'b [Value],
        at: usize,
    },
    /// The end of a persistent id.
    PersistentId,
}

/// A value that is memoized only at its end, so that it may be met again inside itself.
#[derive(Clone, Copy)]
struct Entered {
    value: Value,
    again: bool,
}

/// How elements are put into batches: CPython has it differently for exact lists, exact dicts, sets,
/// and what it gets from iterators.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// One is APPEND; the last of 1001 is APPENDS.
    List,
    /// One is SETITEM; after a full last batch comes an empty one.
    Dict,
    /// One at the end is APPEND or SETITEM, also the last of 1001.
    Iterator,
    /// Always ADDITEMS; after a full last batch comes an empty one.
    Set,
}

impl Rule {
    /// Whether the element goes without MARK.
    #[inline]
    fn alone(self, protocol: u8, element: usize, count: usize) -> bool {
        protocol == 0
            || match self {
                Rule::List | Rule::Dict => count == 1,
                Rule::Iterator => element + 1 == count && element.is_multiple_of(BATCH),
                Rule::Set => false,
            }
    }
}

impl<'b, 'w> Encoder<'b, 'w> {
    pub(super) fn new(arena: &'b Arena<'b>, options: &EncodeOptions, out: Output<'w>) -> Self {
        let protocol = options.protocol;
        Encoder {
            arena,
            protocol,
            fix_imports: options.fix_imports,
            out,
            seen: vec![Seen { slot: 0, entered: 0 }; arena.len()],
            memo_len: 0,
            memoized: 0,
            reentries: 0,
            stack: Vec::with_capacity(64),
            named: FxHashMap::default(),
            texts: FxHashMap::default(),
            chars: None,
        }
    }

    /// Writes the value and all that it reaches.
    pub(super) fn run(&mut self, root: Value) -> Result<(), EncodeError> {
        self.save(root)?;
        while let Some(frame) = self.stack.pop() {
            match frame {
                Frame::Items { rule, items, at } => self.items(rule, items, at)?,
                Frame::Entries { rule, entries, at } => self.entries(rule, entries, at)?,
                Frame::Tuple { this, items, at } => self.tuple(this, items, at)?,
                Frame::FrozenSet { this, items, at } => self.frozen_set(this, items, at)?,
                Frame::SetCall { this } => {
                    self.close_own_tuple(1)?;
                    self.out.byte(op::REDUCE);
                    self.close(this, op::POP, 1)?;
                }
                Frame::Call { this, call, at } => self.call(this, call, at)?,
                Frame::Build { states, at } => self.build(states, at)?,
                Frame::PersistentId => self.out.byte(op::BINPERSID),
            }
        }
        Ok(())
    }

    /// Writes a value whole, or its beginning, with frames for the rest put on the stack.
    #[inline]
    pub(super) fn save(&mut self, value: Value) -> Result<(), EncodeError> {
        self.out.boundary()?;
        let node = self.arena.node(value);
        match node {
            Node::None => self.out.byte(op::NONE),
            Node::Bool(truth) => scalars::bool(&mut self.out, self.protocol, *truth),
            Node::Int(number) => scalars::int(&mut self.out, self.protocol, *number),
            Node::BigInt(number) => {
                scalars::big_int(&mut self.out, self.protocol, value, number)?;
            }
            Node::Float(number) => scalars::float(&mut self.out, self.protocol, *number),
            Node::Tuple(items) if items.is_empty() => self.empty_tuple(),
            Node::PersistentId(pid) => self.persistent_id(value, *pid)?,
            _ => match self.slot(value) {
                Some(slot) => self.get(slot),
                None => self.save_new(value, node)?,
            },
        }
        Ok(())
    }

    /// [`Encoder::save`] of a part; if it has frames, that of the whole is put below them, and the
    /// answer is true.
    #[inline]
    fn save_part(
        &mut self,
        value: Value,
        whole: impl FnOnce() -> Frame<'b>,
    ) -> Result<bool, EncodeError> {
        let height = self.stack.len();
        self.save(value)?;
        if self.stack.len() == height {
            return Ok(false);
        }
        self.stack.insert(height, whole());
        Ok(true)
    }

    /// A value that is memoized, and not in the memo yet.
    fn save_new(&mut self, value: Value, node: &'b Node<'b>) -> Result<(), EncodeError> {
        match node {
            Node::Str(text) => return self.text(value, text),
            Node::SurrogateStr(text) => {
                scalars::text(&mut self.out, self.protocol, value, text)?;
                return self.put(value);
            }
            Node::ByteStr(_) => return Err(EncodeError::ByteStr(value)),
            Node::Bytes(data) => {
                self.bytes(value, data)?;
                return self.put(value);
            }
            Node::ByteArray(data) => {
                self.bytearray(value, data)?;
                return self.put(value);
            }
            Node::Tuple(items) => {
                let this = self.enter(value)?;
                if self.protocol < 2 || items.len() > 3 {
                    self.out.byte(op::MARK);
                }
                self.stack.push(Frame::Tuple { this, items: self.arena.items(*items), at: 0 });
                return Ok(());
            }
            Node::Call(call) => return self.open_call(value, call),
            _ => {}
        }
        self.check_not_updated(value)?;
        match node {
            Node::List(items) => {
                self.empty_list();
                self.put(value)?;
                self.stack.push(Frame::Items { rule: Rule::List, items, at: 0 });
            }
            Node::Dict(entries) => {
                match self.protocol {
                    0 => self.out.write(&[op::MARK, op::DICT]),
                    _ => self.out.byte(op::EMPTY_DICT),
                }
                self.put(value)?;
                self.stack.push(Frame::Entries { rule: Rule::Dict, entries, at: 0 });
            }
            Node::Set(items) if self.protocol >= 4 => {
                self.out.byte(op::EMPTY_SET);
                self.put(value)?;
                self.stack.push(Frame::Items { rule: Rule::Set, items, at: 0 });
            }
            Node::FrozenSet(items) if self.protocol >= 4 => {
                let this = self.enter(value)?;
                self.out.byte(op::MARK);
                self.stack.push(Frame::FrozenSet { this, items: self.arena.items(*items), at: 0 });
            }
            Node::Set(items) => self.open_set_call(value, "set", items)?,
            Node::FrozenSet(items) => {
                self.open_set_call(value, "frozenset", self.arena.items(*items))?;
            }
            Node::Global(global) => {
                let slot = self.global(value, &global.module, &global.name)?;
                self.remember(value, slot);
            }
            Node::Extension(code) => return Err(EncodeError::Extension { code: *code }),
            Node::Buffer { index, .. } => return Err(EncodeError::Buffer { index: *index }),
            // The others are done above.
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, value: Value, text: &'b str) -> Result<(), EncodeError> {
        if text.len() <= 2
            && let Some(character) = text.chars().next().and_then(|first| u8::try_from(first).ok())
            && self.arena.char(character) == Some(value)
        {
            let slot = self.char(value, character)?;
            self.remember(value, slot);
            return Ok(());
        }
        scalars::text(&mut self.out, self.protocol, value, text.as_bytes())?;
        self.put(value)
    }

    /// CPython does nothing to these after they are made.
    fn check_not_updated(&self, value: Value) -> Result<(), EncodeError> {
        match self.arena.updates(value) {
            Some(updates) if !updates.is_empty() => {
                Err(EncodeError::Updated { value, kind: self.arena.node(value).type_name() })
            }
            _ => Ok(()),
        }
    }

    // ---- the memo ----

    #[inline]
    pub(super) fn slot(&self, value: Value) -> Option<Slot> {
        self.seen[value.index()].slot.checked_sub(1).map(Slot)
    }

    #[inline]
    pub(super) fn remember(&mut self, value: Value, Slot(slot): Slot) {
        // Not above the number of values, which is below 2^32.
        self.memoized += 1;
        self.seen[value.index()].slot = slot + 1;
    }

    /// Memoizes a value of the arena, which was just written.
    #[inline]
    fn put(&mut self, value: Value) -> Result<(), EncodeError> {
        let slot = self.put_own()?;
        self.remember(value, slot);
        Ok(())
    }

    /// Memoizes what was just written and is not a value of the arena.
    #[inline]
    pub(super) fn put_own(&mut self) -> Result<Slot, EncodeError> {
        let slot = self.memo_len;
        if slot >= u32::MAX - 1 {
            return Err(EncodeError::MemoFull);
        }
        self.memo_len += 1;
        match (self.protocol, slot) {
            (4.., _) => self.out.byte(op::MEMOIZE),
            (0, _) => self.out.write(format!("p{slot}\n").as_bytes()),
            (_, 0..=0xff) => self.out.write(&[op::BINPUT, slot as u8]),
            _ => {
                let [a, b, c, d] = slot.to_le_bytes();
                self.out.write(&[op::LONG_BINPUT, a, b, c, d]);
            }
        }
        Ok(Slot(slot))
    }

    #[inline]
    pub(super) fn get(&mut self, Slot(slot): Slot) {
        match (self.protocol, slot) {
            (0, _) => self.out.write(format!("g{slot}\n").as_bytes()),
            (_, 0..=0xff) => self.out.write(&[op::BINGET, slot as u8]),
            _ => {
                let [a, b, c, d] = slot.to_le_bytes();
                self.out.write(&[op::LONG_BINGET, a, b, c, d]);
            }
        }
    }

    // ---- values that may be met again before they are made ----

    /// Notes that a value is begun whose memo slot comes at its end.
    #[inline]
    fn enter(&mut self, value: Value) -> Result<Entered, EncodeError> {
        let now = self.memoized + 1;
        let seen = &mut self.seen[value.index()];
        let again = seen.entered != 0;
        if again {
            // If nothing was memoized since, all would come again in the same way, for ever.
            if seen.entered == now {
                return Err(EncodeError::Endless(value));
            }
            if self.reentries == MAX_REENTRIES {
                return Err(EncodeError::Recursion(value));
            }
            self.reentries += 1;
        }
        seen.entered = now;
        Ok(Entered { value, again })
    }

    /// Memoizes a value that was entered. If it was made inside itself meanwhile, then throws away
    /// what stands for it now (`count` times `pop`), and takes that.
    #[inline]
    fn close(&mut self, this: Entered, pop: u8, count: usize) -> Result<bool, EncodeError> {
        if this.again {
            self.reentries -= 1;
        }
        let Some(slot) = self.slot(this.value) else {
            self.put(this.value)?;
            return Ok(true);
        };
        for _ in 0..count {
            self.out.byte(pop);
        }
        self.get(slot);
        Ok(false)
    }

    // ---- tuples, lists, dicts, sets ----

    #[inline]
    pub(super) fn empty_tuple(&mut self) {
        match self.protocol {
            0 => self.out.write(&[op::MARK, op::TUPLE]),
            _ => self.out.byte(op::EMPTY_TUPLE),
        }
    }

    pub(super) fn empty_list(&mut self) {
        match self.protocol {
            0 => self.out.write(&[op::MARK, op::LIST]),
            _ => self.out.byte(op::EMPTY_LIST),
        }
    }

    #[inline]
    fn tuple(
        &mut self,
        this: Entered,
        items: &'b [Value],
        mut at: usize,
    ) -> Result<(), EncodeError> {
        while let Some(&item) = items.get(at) {
            at += 1;
            if self.save_part(item, || Frame::Tuple { this, items, at })? {
                return Ok(());
            }
        }
        if self.slot(this.value).is_some() {
            // Arguments are as a rule made anew each time that Python asks an object for them.
            if self.is_argument(this.value) {
                self.reentries -= u32::from(this.again);
                return self.close_own_tuple(items.len());
            }
            let (pop, count) = match (self.protocol, items.len()) {
                (2.., count @ ..=3) => (op::POP, count),
                (0, count) => (op::POP, count + 1),
                _ => (op::POP_MARK, 1),
            };
            return self.close(this, pop, count).map(drop);
        }
        self.tuple_opcode(items.len());
        self.close(this, op::POP, 0).map(drop)
    }

    /// Whether the value is the arguments of the call that it is written for.
    fn is_argument(&self, value: Value) -> bool {
        matches!(self.stack.last(), Some(Frame::Call { call, at: 2, .. }) if call.args == value)
    }

    /// Makes a tuple of so many values; there is a MARK below them if [`Encoder::tuple_opcode`]
    /// takes one: before protocol 2 and for more than three.
    #[inline]
    pub(super) fn tuple_opcode(&mut self, count: usize) {
        self.out.byte(match (self.protocol, count) {
            (2.., 1) => op::TUPLE1,
            (2.., 2) => op::TUPLE2,
            (2.., 3) => op::TUPLE3,
            _ => op::TUPLE,
        });
    }

    fn frozen_set(
        &mut self,
        this: Entered,
        items: &'b [Value],
        mut at: usize,
    ) -> Result<(), EncodeError> {
        while let Some(&item) = items.get(at) {
            at += 1;
            if self.save_part(item, || Frame::FrozenSet { this, items, at })? {
                return Ok(());
            }
        }
        if self.slot(this.value).is_none() {
            self.out.byte(op::FROZENSET);
        }
        self.close(this, op::POP_MARK, 1).map(drop)
    }

    fn items(&mut self, rule: Rule, items: &'b [Value], mut at: usize) -> Result<(), EncodeError> {
        let opcodes = match rule {
            Rule::Set => [op::ADDITEMS; 2],
            _ => [op::APPEND, op::APPENDS],
        };
        loop {
            self.between(rule, opcodes, at, items.len());
            let Some(&item) = items.get(at) else { return Ok(()) };
            at += 1;
            if self.save_part(item, || Frame::Items { rule, items, at })? {
                return Ok(());
            }
        }
    }

    #[inline]
    fn entries(
        &mut self,
        rule: Rule,
        entries: &'b [(Value, Value)],
        mut at: usize,
    ) -> Result<(), EncodeError> {
        loop {
            let part = if at.is_multiple_of(2) {
                self.between(rule, [op::SETITEM, op::SETITEMS], at / 2, entries.len());
                let Some(&(key, _)) = entries.get(at / 2) else { return Ok(()) };
                key
            } else {
                entries[at / 2].1
            };
            at += 1;
            if self.save_part(part, || Frame::Entries { rule, entries, at })? {
                return Ok(());
            }
        }
    }

    /// What is written between the elements before `at` and that: the end of a batch, and the
    /// beginning of the next.
    #[inline]
    fn between(&mut self, rule: Rule, [one, many]: [u8; 2], at: usize, count: usize) {
        let starts = at.is_multiple_of(BATCH);
        if let Some(last) = at.checked_sub(1) {
            if rule.alone(self.protocol, last, count) {
                self.out.byte(one);
            } else if starts || at == count {
                self.out.byte(many);
                if starts && at == count && matches!(rule, Rule::Dict | Rule::Set) {
                    self.out.write(&[op::MARK, many]);
                }
            }
        }
        if starts && at < count && !rule.alone(self.protocol, at, count) {
            self.out.byte(op::MARK);
        }
    }

    // ---- sets before protocol 4: `set([items])` ----

    fn open_set_call(
        &mut self,
        value: Value,
        class: &'static str,
        items: &'b [Value],
    ) -> Result<(), EncodeError> {
        let this = self.enter(value)?;
        self.own_global(value, "builtins", class)?;
        self.open_own_tuple(1);
        self.empty_list();
        self.put_own()?;
        self.stack.push(Frame::SetCall { this });
        self.stack.push(Frame::Items { rule: Rule::List, items, at: 0 });
        Ok(())
    }

    // ---- calls ----

    fn open_call(&mut self, value: Value, call: &'b Call) -> Result<(), EncodeError> {
        let copied = match call.kind {
            CallKind::Reduce => None,
            CallKind::NewObj if self.protocol >= 2 => None,
            CallKind::NewObj => Some("__newobj__"),
            CallKind::NewObjEx if self.protocol >= 4 => None,
            CallKind::NewObjEx if self.protocol < 2 => Some("__newobj_ex__"),
            CallKind::NewObjEx => {
                let what = "an object made with keyword arguments";
                return Err(EncodeError::NeedsProtocol { value, what, least: 4 });
            }
            CallKind::Inst | CallKind::Obj => return Err(EncodeError::Instance(value)),
        };
        let this = self.enter(value)?;
        if let Some(function) = copied {
            if call.kind == CallKind::NewObj && self.arena.tuple(call.args).is_none() {
                let what = "an object whose arguments are no tuple";
                return Err(EncodeError::NeedsProtocol { value, what, least: 2 });
            }
            self.own_global(value, "copyreg", function)?;
            self.open_own_tuple(usize::MAX);
        }
        self.stack.push(Frame::Call { this, call, at: 0 });
        Ok(())
    }

    /// Before protocol 2, the opcodes NEWOBJ and NEWOBJ_EX are functions of that name.
    #[inline]
    fn is_copied(&self, call: &Call) -> bool {
        self.protocol < 2 && matches!(call.kind, CallKind::NewObj | CallKind::NewObjEx)
    }

    #[inline]
    fn call_part(&self, call: &Call, at: usize) -> Option<Value> {
        match at {
            0 => Some(call.callable),
            _ if call.kind == CallKind::NewObj && self.is_copied(call) => {
                self.arena.tuple(call.args)?.get(at - 1).copied()
            }
            1 => Some(call.args),
            2 => call.kwargs,
            _ => None,
        }
    }

    #[inline]
    fn call(&mut self, this: Entered, call: &'b Call, mut at: usize) -> Result<(), EncodeError> {
        while let Some(part) = self.call_part(call, at) {
            at += 1;
            if self.save_part(part, || Frame::Call { this, call, at })? {
                return Ok(());
            }
        }
        if self.is_copied(call) {
            self.close_own_tuple(usize::MAX)?;
        }
        self.out.byte(match call.kind {
            CallKind::NewObj if self.protocol >= 2 => op::NEWOBJ,
            CallKind::NewObjEx if self.protocol >= 4 => op::NEWOBJ_EX,
            _ => op::REDUCE,
        });
        // What was made inside itself has its updates already.
        if !self.close(this, op::POP, 1)? {
            return Ok(());
        }
        let updates = call.updates();
        if !updates.states.is_empty() {
            self.stack.push(Frame::Build { states: &updates.states, at: 0 });
        }
        let rule = Rule::Iterator;
        if !updates.entries.is_empty() {
            self.stack.push(Frame::Entries { rule, entries: &updates.entries, at: 0 });
        }
        if !updates.items.is_empty() {
            self.stack.push(Frame::Items { rule, items: &updates.items, at: 0 });
        }
        Ok(())
    }

    fn build(&mut self, states: &'b [Value], mut at: usize) -> Result<(), EncodeError> {
        loop {
            if at > 0 {
                self.out.byte(op::BUILD);
            }
            let Some(&state) = states.get(at) else { return Ok(()) };
            at += 1;
            if self.save_part(state, || Frame::Build { states, at })? {
                return Ok(());
            }
        }
    }

    fn persistent_id(&mut self, value: Value, pid: Value) -> Result<(), EncodeError> {
        self.check_not_updated(value)?;
        let refused = |why| Err(EncodeError::PersistentId { value, why });
        if self.protocol == 0 {
            let line = match self.arena.node(pid) {
                Node::Str(text) if !text.is_ascii() => return refused("it is not ASCII"),
                Node::Str(text) if text.contains('\n') => return refused("it has a line break"),
                Node::Str(text) => format!("P{text}\n"),
                Node::Int(number) => format!("P{number}\n"),
                _ => return refused("protocol 0 has only strs and ints"),
            };
            self.out.write(line.as_bytes());
            return Ok(());
        }
        if matches!(self.arena.node(pid), Node::PersistentId(_)) {
            return refused("it is a persistent object itself");
        }
        if !self.save_part(pid, || Frame::PersistentId)? {
            self.out.byte(op::BINPERSID);
        }
        Ok(())
    }
}
