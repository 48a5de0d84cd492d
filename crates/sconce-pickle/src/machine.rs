//! The pickle machine: does what CPython's C unpickler does to its stack and memo, and records what
//! it would do to the world.

use std::borrow::Cow;

use num_bigint::BigInt;

use crate::arena::{Arena, Call, CallKind, Global, NameParts, Node, Updates, Value};
use crate::decode::Reader;
use crate::error::Error;
use crate::limits::Limits;
use crate::memo::Memo;
use crate::opcode::{OpcodeInfo, byte as op};
use crate::policy::{AllowAll, Policy, Refusal};
use crate::text::{self, Integer, Text};

/// Highest protocol that exists.
const HIGHEST_PROTOCOL: u8 = 5;

/// Bytes of module and class names that may be copied, beside the pickle's own length. Names are
/// borrowed as a rule; only those with escapes are copied, and these a hostile pickle could repeat.
const COPIED_NAMES: usize = 1 << 20;

/// A pickle that was read to its STOP.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded<'a> {
    /// Every value that the pickle made.
    pub arena: Arena<'a>,
    /// The result.
    pub root: Value,
    /// Bytes read, STOP included; what follows them is not looked at.
    pub consumed: usize,
    /// Highest protocol that a PROTO opcode told; 0 if there was none.
    pub protocol: u8,
}

/// Reads one pickle from the start of `bytes`, whatever it contains: nothing is called or imported.
///
/// # Errors
/// If the bytes are no pickle that CPython could read (see [`Error`]), or a limit is reached.
///
/// ```
/// use sconce_pickle::{Limits, Node, load};
///
/// let loaded = load(b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.", &Limits::default())?;
/// let Node::Call(call) = loaded.arena.node(loaded.root) else { panic!("a call") };
/// assert_eq!(loaded.arena.global(call.callable), Some(("os", "system")));
/// let args = loaded.arena.tuple(call.args).expect("a tuple");
/// assert_eq!(loaded.arena.str(args[0]), Some("ls"));
/// # Ok::<(), sconce_pickle::Error>(())
/// ```
pub fn load<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Loaded<'a>, Error> {
    load_with(bytes, limits, &mut AllowAll)
}

/// [`load`], with a policy that is asked before each step.
///
/// # Errors
/// As [`load`], and [`Error::Refused`] at the first thing that the policy refuses.
pub fn load_with<'a, P: Policy>(
    bytes: &'a [u8],
    limits: &Limits,
    policy: &mut P,
) -> Result<Loaded<'a>, Error> {
    let mut machine = Machine::new(bytes, limits);
    while machine.step(policy)?.is_none() {}
    machine.finish().ok_or(Error::Exhausted { at: bytes.len() as u64 })
}

/// The machine itself, for going step by step: tracers, and scanners that want what was made before
/// an error.
#[derive(Debug)]
pub struct Machine<'a> {
    reader: Reader<'a>,
    arena: Arena<'a>,
    stack: Vec<Value>,
    /// Stack heights at which a MARK was set.
    marks: Vec<usize>,
    /// The last of `marks`, or 0: no opcode reaches below it.
    fence: usize,
    memo: Memo,
    steps: u64,
    /// Where the frame ends that the next opcode is in; `usize::MAX` outside of frames.
    frame_end: usize,
    protocol: u8,
    buffers: u32,
    max_values: usize,
    max_memo: usize,
    names_left: usize,
    root: Option<Value>,
}

impl<'a> Machine<'a> {
    /// A machine before the first opcode of `bytes`.
    pub fn new(bytes: &'a [u8], limits: &Limits) -> Self {
        // Checkpoints make a value for about every seven bytes.
        let nodes = bytes.len() / 7;
        Machine {
            reader: Reader::new(bytes),
            arena: Arena::with_capacity(nodes.min(1 << 20)),
            stack: Vec::with_capacity(64),
            marks: Vec::with_capacity(16),
            fence: 0,
            memo: Memo::default(),
            steps: 0,
            frame_end: usize::MAX,
            protocol: 0,
            buffers: 0,
            max_values: limits.max_values.min(u32::MAX as usize - 1),
            max_memo: limits.max_memo,
            names_left: bytes.len().saturating_add(COPIED_NAMES),
            root: None,
        }
    }

    /// The values made so far.
    pub fn arena(&self) -> &Arena<'a> {
        &self.arena
    }

    /// The stack, the top last; see [`Machine::marks`].
    pub fn stack(&self) -> &[Value] {
        &self.stack
    }

    /// The heights of the stack at which marks stand, the innermost last.
    pub fn marks(&self) -> &[usize] {
        &self.marks
    }

    /// Number of memo slots in use.
    pub fn memo_len(&self) -> usize {
        self.memo.len()
    }

    /// The value in a memo slot.
    pub fn memo(&self, index: u64) -> Option<Value> {
        self.memo.get(index)
    }

    /// Offset of the next opcode.
    pub fn position(&self) -> usize {
        self.reader.position()
    }

    /// Highest protocol that a PROTO opcode told so far; 0 if there was none.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Goes past bytes that are no opcodes: data that some unpicklers read from the file themselves, between two
    /// opcodes.
    ///
    /// # Errors
    /// If fewer bytes are left, or the next opcode stands in a frame, which unpicklers have read already.
    pub fn skip(&mut self, bytes: usize) -> Result<(), Error> {
        if self.reader.position() >= self.frame_end {
            self.leave_frame();
        }
        if self.frame_end != usize::MAX {
            let at = self.reader.at();
            return Err(Error::BadArgument { at, message: "data within a frame".into() });
        }
        self.reader.skip(bytes)
    }

    /// The result, if STOP was reached.
    pub fn finish(self) -> Option<Loaded<'a>> {
        let root = self.root?;
        let consumed = self.reader.position();
        Some(Loaded { arena: self.arena, root, consumed, protocol: self.protocol })
    }

    /// Reads and does one opcode. Gives the result at STOP, and again whenever it is called after it.
    ///
    /// # Errors
    /// If the opcode cannot be read or done, or the policy refuses it. The machine then stands where
    /// the error was found, and is not to be stepped again.
    #[inline]
    pub fn step<P: Policy>(&mut self, policy: &mut P) -> Result<Option<Value>, Error> {
        if self.root.is_some() {
            return Ok(self.root);
        }
        if self.reader.position() >= self.frame_end {
            self.leave_frame();
        }
        let byte = self.reader.opcode()?;
        let at = self.reader.at();
        self.steps += 1;
        let Some(info) = OpcodeInfo::of(byte) else {
            return Err(Error::UnknownOpcode { at, byte });
        };
        self.ask(policy.opcode(info, at))?;
        match byte {
            // Numbers.
            op::NONE => self.push(Node::None)?,
            op::NEWTRUE => self.push(Node::Bool(true))?,
            op::NEWFALSE => self.push(Node::Bool(false))?,
            op::BININT1 => {
                let value = self.reader.u8()?;
                self.push(Node::Int(value.into()))?;
            }
            op::BININT2 => {
                let value = self.reader.u16()?;
                self.push(Node::Int(value.into()))?;
            }
            op::BININT => {
                let value = self.reader.i32()?;
                self.push(Node::Int(value.into()))?;
            }
            op::LONG1 => {
                let bytes = self.reader.counted1()?;
                self.push_integer(Integer::from_le(bytes))?;
            }
            op::LONG4 => {
                let bytes = self.reader.long4()?;
                self.push_integer(Integer::from_le(bytes))?;
            }
            op::INT => self.int_line()?,
            op::LONG => self.long_line()?,
            op::FLOAT => self.float_line()?,
            op::BINFLOAT => {
                let value = self.reader.f64()?;
                self.push(Node::Float(value))?;
            }

            // Texts and bytes.
            op::SHORT_BINUNICODE => {
                let bytes = self.reader.counted1()?;
                self.push_utf8(bytes)?;
            }
            op::BINUNICODE => {
                let bytes = self.reader.counted4()?;
                self.push_utf8(bytes)?;
            }
            op::BINUNICODE8 => {
                let bytes = self.reader.counted8()?;
                self.push_utf8(bytes)?;
            }
            op::UNICODE => {
                let line = self.reader.line()?;
                let text = text::decode_raw_unicode_escape(line)
                    .map_err(|error| Error::text(at, error.message()))?;
                self.push_text(text)?;
            }
            op::STRING => self.quoted_line()?,
            op::SHORT_BINSTRING => {
                let bytes = self.reader.counted1()?;
                self.push(Node::ByteStr(Cow::Borrowed(bytes)))?;
            }
            op::BINSTRING => {
                let bytes = self.reader.counted4()?;
                self.push(Node::ByteStr(Cow::Borrowed(bytes)))?;
            }
            op::SHORT_BINBYTES => {
                let bytes = self.reader.counted1()?;
                self.push(Node::Bytes(Cow::Borrowed(bytes)))?;
            }
            op::BINBYTES => {
                let bytes = self.reader.counted4()?;
                self.push(Node::Bytes(Cow::Borrowed(bytes)))?;
            }
            op::BINBYTES8 => {
                let bytes = self.reader.counted8()?;
                self.push(Node::Bytes(Cow::Borrowed(bytes)))?;
            }
            op::BYTEARRAY8 => {
                let bytes = self.reader.counted8()?;
                self.push(Node::ByteArray(Cow::Borrowed(bytes)))?;
            }
            op::NEXT_BUFFER => {
                let index = self.buffers;
                self.buffers += 1;
                self.push(Node::Buffer { index, readonly: false })?;
            }
            op::READONLY_BUFFER => self.readonly_buffer()?,

            // Tuples, lists, dicts, sets.
            op::EMPTY_TUPLE => {
                let tuple = self.tuple_of(self.stack.len())?;
                self.push(tuple)?;
            }
            op::TUPLE1 => self.tuple(1)?,
            op::TUPLE2 => self.tuple(2)?,
            op::TUPLE3 => self.tuple(3)?,
            op::TUPLE => {
                let base = self.pop_mark()?;
                self.tuple_from(base)?;
            }
            op::EMPTY_LIST => self.push(Node::List(Vec::new()))?,
            op::LIST => {
                let base = self.pop_mark()?;
                let list = self.stack.split_off(base);
                self.push(Node::List(list))?;
            }
            op::EMPTY_DICT => self.push(Node::Dict(Vec::new()))?,
            op::DICT => self.dict()?,
            op::EMPTY_SET => self.push(Node::Set(Vec::new()))?,
            op::FROZENSET => self.frozen_set()?,
            op::APPEND => {
                let base = self.base_below(1)?;
                self.append(base, false, policy)?;
            }
            op::APPENDS => {
                let base = self.pop_mark()?;
                self.append(base, true, policy)?;
            }
            op::SETITEM => {
                let base = self.base_below(2)?;
                self.set_items(base, policy)?;
            }
            op::SETITEMS => {
                let base = self.pop_mark()?;
                self.set_items(base, policy)?;
            }
            op::ADDITEMS => {
                let base = self.pop_mark()?;
                self.add_items(base, policy)?;
            }

            // The stack and the memo.
            op::MARK => {
                self.fence = self.stack.len();
                if self.marks.len() >= self.max_values {
                    return Err(self.limit("marks", self.max_values));
                }
                self.marks.push(self.fence);
            }
            op::POP => {
                if self.marks.last() == Some(&self.stack.len()) {
                    self.pop_mark()?;
                } else {
                    self.pop()?;
                }
            }
            op::POP_MARK => {
                let base = self.pop_mark()?;
                self.stack.truncate(base);
            }
            op::DUP => {
                let top = self.top()?;
                self.push_again(top)?;
            }
            op::BINGET => {
                let index = self.reader.u8()?;
                self.get(index.into())?;
            }
            op::LONG_BINGET => {
                let index = self.reader.u32()?;
                self.get(index.into())?;
            }
            op::GET => {
                let index = self.memo_line()?;
                self.get(index)?;
            }
            op::BINPUT => {
                let index = self.reader.u8()?;
                self.put(index.into())?;
            }
            op::LONG_BINPUT => {
                let index = self.reader.u32()?;
                self.put(index.into())?;
            }
            op::PUT => {
                let index = self.memo_line()?;
                let index = u64::try_from(index)
                    .map_err(|_| Error::argument(at, "negative PUT argument"))?;
                self.put(index)?;
            }
            op::MEMOIZE => self.put(self.memo.len() as u64)?,

            // Names and calls.
            op::GLOBAL => {
                let global = self.global_lines(policy)?;
                self.stack.push(global);
            }
            op::STACK_GLOBAL => self.stack_global(policy)?,
            op::EXT1 => {
                let code = self.reader.u8()?;
                self.extension(code.into())?;
            }
            op::EXT2 => {
                let code = self.reader.u16()?;
                self.extension(code.into())?;
            }
            op::EXT4 => {
                let code = self.reader.i32()?;
                self.extension(code.into())?;
            }
            op::REDUCE => {
                let args = self.pop()?;
                let callable = self.pop()?;
                self.call(CallKind::Reduce, callable, args, None, policy)?;
            }
            op::NEWOBJ => {
                let args = self.pop()?;
                let class = self.pop()?;
                self.call(CallKind::NewObj, class, args, None, policy)?;
            }
            op::NEWOBJ_EX => {
                let kwargs = self.pop()?;
                let args = self.pop()?;
                let class = self.pop()?;
                let node = self.arena.node(kwargs);
                if !(matches!(node, Node::Dict(_)) || node.is_opaque()) {
                    return Err(Error::not_applicable(
                        at,
                        format!(
                            "NEWOBJ_EX kwargs argument must be a dict, not {}",
                            node.type_name()
                        ),
                    ));
                }
                self.call(CallKind::NewObjEx, class, args, Some(kwargs), policy)?;
            }
            op::INST => {
                let base = self.pop_mark()?;
                let class = self.global_lines(policy)?;
                let args = self.tuple_of(base)?;
                self.stack.truncate(base);
                let args = self.node(args)?;
                self.call(CallKind::Inst, class, args, None, policy)?;
            }
            op::OBJ => {
                let base = self.pop_mark()?;
                if self.stack.len() <= base {
                    return Err(self.underflow());
                }
                let class = self.stack[base];
                let args = self.tuple_of(base + 1)?;
                self.stack.truncate(base);
                let args = self.node(args)?;
                self.call(CallKind::Obj, class, args, None, policy)?;
            }
            op::BUILD => self.build(policy)?,
            op::PERSID => {
                let line = self.reader.line()?;
                let Ok(pid) = text::check_ascii(line) else {
                    let message = "persistent IDs in protocol 0 must be ASCII strings";
                    return Err(Error::text(at, message));
                };
                let pid = self.node(Node::Str(Cow::Borrowed(pid)))?;
                self.persistent(pid, policy)?;
            }
            op::BINPERSID => {
                let pid = self.pop()?;
                self.persistent(pid, policy)?;
            }

            // The pickle itself.
            op::PROTO => {
                let version = self.reader.u8()?;
                if version > HIGHEST_PROTOCOL {
                    let message = format!("unsupported pickle protocol: {version}");
                    return Err(Error::argument(at, message));
                }
                self.ask(policy.protocol(version, at))?;
                self.protocol = self.protocol.max(version);
            }
            op::FRAME => {
                let length = self.reader.u64()?;
                self.reader.ensure(length)?;
                self.enter_frame(length);
            }
            op::STOP => {
                let root = self.pop()?;
                self.root = Some(root);
                return Ok(self.root);
            }
            _ => return Err(Error::UnknownOpcode { at, byte }),
        }
        Ok(None)
    }

    /// The bytes that a frame says it has are there.
    fn enter_frame(&mut self, length: u64) {
        let start = self.reader.position();
        let end = start.saturating_add(length as usize);
        if start >= self.frame_end {
            self.leave_frame();
        } else if self.frame_end != usize::MAX && end > self.frame_end {
            self.arena.note_crossed_frame(self.frame_end);
        }
        if self.frame_end == usize::MAX {
            self.frame_end = end;
        }
    }

    #[cold]
    fn leave_frame(&mut self) {
        if self.reader.position() > self.frame_end {
            self.arena.note_crossed_frame(self.frame_end);
        }
        self.frame_end = usize::MAX;
    }

    #[inline]
    fn ask(&self, answer: Result<(), Refusal>) -> Result<(), Error> {
        match answer {
            Ok(()) => Ok(()),
            Err(Refusal(message)) => Err(Error::refused(self.reader.at(), message)),
        }
    }

    // ---- values and the stack ----

    /// Makes a value, off the stack.
    #[inline]
    fn node(&mut self, node: Node<'a>) -> Result<Value, Error> {
        if self.arena.len() >= self.max_values {
            return Err(self.limit("values", self.max_values));
        }
        Ok(self.arena.push(node, self.reader.at()))
    }

    #[inline]
    fn push(&mut self, node: Node<'a>) -> Result<(), Error> {
        let value = self.node(node)?;
        self.stack.push(value);
        Ok(())
    }

    /// Pushes a value that is there already, which a pickle could do for each of its bytes.
    #[inline]
    fn push_again(&mut self, value: Value) -> Result<(), Error> {
        if self.stack.len() >= self.max_values {
            return Err(self.limit("values on the stack", self.max_values));
        }
        self.stack.push(value);
        Ok(())
    }

    #[cold]
    fn limit(&self, what: &'static str, limit: usize) -> Error {
        Error::Limit { at: self.reader.at(), what, limit }
    }

    #[cold]
    fn underflow(&self) -> Error {
        Error::Underflow { at: self.reader.at(), marked: !self.marks.is_empty() }
    }

    #[inline]
    fn pop(&mut self) -> Result<Value, Error> {
        if self.stack.len() <= self.fence {
            return Err(self.underflow());
        }
        self.stack.pop().ok_or_else(|| self.underflow())
    }

    #[inline]
    fn top(&self) -> Result<Value, Error> {
        match self.stack.last() {
            Some(&top) if self.stack.len() > self.fence => Ok(top),
            _ => Err(self.underflow()),
        }
    }

    /// Removes the innermost mark and gives its height.
    #[inline]
    fn pop_mark(&mut self) -> Result<usize, Error> {
        let Some(base) = self.marks.pop() else {
            return Err(Error::NoMark { at: self.reader.at() });
        };
        self.fence = self.marks.last().copied().unwrap_or(0);
        Ok(base)
    }

    /// The height below the top `count` values, if the frame holds them and one more.
    #[inline]
    fn base_below(&self, count: usize) -> Result<usize, Error> {
        match self.stack.len().checked_sub(count) {
            Some(base) if base > self.fence => Ok(base),
            _ => Err(self.underflow()),
        }
    }

    /// The value that opcodes like APPENDS work on: right below `base`.
    #[inline]
    fn target_below(&self, base: usize) -> Result<Value, Error> {
        if base <= self.fence || base > self.stack.len() {
            return Err(self.underflow());
        }
        Ok(self.stack[base - 1])
    }

    // ---- numbers and texts ----

    #[inline]
    fn push_integer(&mut self, integer: Integer) -> Result<(), Error> {
        match integer {
            Integer::Small(value) => self.push(Node::Int(value)),
            Integer::Big(value) => self.push_big(value),
        }
    }

    #[cold]
    fn push_big(&mut self, value: BigInt) -> Result<(), Error> {
        self.push(Node::BigInt(Box::new(value)))
    }

    #[inline]
    fn push_utf8(&mut self, bytes: &'a [u8]) -> Result<(), Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.push(Node::Str(Cow::Borrowed(text))),
            Err(_) => {
                let text = text::decode_utf8(bytes, true)
                    .map_err(|error| Error::text(self.reader.at(), error.message()))?;
                self.push_text(text)
            }
        }
    }

    #[cold]
    fn push_text(&mut self, text: Text<'a>) -> Result<(), Error> {
        self.push(match text {
            Text::Str(text) => Node::Str(text),
            Text::Surrogates(bytes) => Node::SurrogateStr(bytes.into()),
        })
    }

    /// INT: C's `strtol` first, so that `010` is 8; two characters that say 0 or 1 are a bool.
    #[cold]
    fn int_line(&mut self) -> Result<(), Error> {
        let line = self.reader.full_line()?;
        let literal = until_nul(line);
        let integer = match text::parse_c_long(literal) {
            Some(value @ (0 | 1)) if line.len() == 2 => return self.push(Node::Bool(value == 1)),
            Some(value) => Integer::Small(value),
            None => text::parse_int(literal, 0)
                .map_err(|_| Error::text(self.reader.at(), "could not convert string to int"))?,
        };
        self.push_integer(integer)
    }

    #[cold]
    fn long_line(&mut self) -> Result<(), Error> {
        let line = self.reader.full_line()?;
        let literal = until_nul(line.strip_suffix(b"L").unwrap_or(line));
        let integer = text::parse_int(literal, 0).map_err(|error| {
            let shown = crate::repr::str_repr_lossy(literal);
            Error::text(self.reader.at(), error.message(0, &shown))
        })?;
        self.push_integer(integer)
    }

    #[cold]
    fn float_line(&mut self) -> Result<(), Error> {
        let at = self.reader.at();
        let literal = until_nul(self.reader.full_line()?);
        let value = text::parse_float(literal)
            .ok_or_else(|| Error::text(at, "could not convert string to float"))?;
        if value.is_infinite() && literal.iter().any(u8::is_ascii_digit) {
            let shown = crate::repr::str_repr_lossy(literal);
            return Err(Error::text(at, format!("value too large to convert to float: {shown}")));
        }
        self.push(Node::Float(value))
    }

    #[cold]
    fn quoted_line(&mut self) -> Result<(), Error> {
        let at = self.reader.at();
        let bytes = match self.reader.line()? {
            [first @ (b'\'' | b'"'), inner @ .., last] if first == last => inner,
            _ => {
                let message = "the STRING opcode argument must be quoted";
                return Err(Error::text(at, message));
            }
        };
        let bytes = text::escape_decode(bytes).map_err(|message| Error::text(at, message))?;
        self.push(Node::ByteStr(bytes))
    }

    #[cold]
    fn readonly_buffer(&mut self) -> Result<(), Error> {
        let top = self.top()?;
        match *self.arena.node(top) {
            // A view of what cannot change is that itself.
            Node::Buffer { readonly: true, .. } | Node::Bytes(_) => Ok(()),
            Node::Buffer { index, readonly: false } => {
                self.stack.pop();
                self.push(Node::Buffer { index, readonly: true })
            }
            ref other => {
                let name = other.type_name();
                Err(Error::not_applicable(
                    self.reader.at(),
                    format!("READONLY_BUFFER needs an out-of-band buffer, not '{name}'"),
                ))
            }
        }
    }

    // ---- containers ----

    /// A tuple node of the stack from `base` on, which stays there.
    #[inline]
    fn tuple_of(&mut self, base: usize) -> Result<Node<'a>, Error> {
        match self.arena.pool_items(&self.stack[base..]) {
            Some(items) => Ok(Node::Tuple(items)),
            None => Err(self.limit("elements of tuples", u32::MAX as usize)),
        }
    }

    #[inline]
    fn tuple_from(&mut self, base: usize) -> Result<(), Error> {
        let tuple = self.tuple_of(base)?;
        self.stack.truncate(base);
        self.push(tuple)
    }

    #[inline]
    fn tuple(&mut self, count: usize) -> Result<(), Error> {
        match self.stack.len().checked_sub(count) {
            Some(base) if base >= self.fence => self.tuple_from(base),
            _ => Err(self.underflow()),
        }
    }

    fn frozen_set(&mut self) -> Result<(), Error> {
        let base = self.pop_mark()?;
        self.check_hashable(base, 1)?;
        let Some(items) = self.arena.pool_items(&self.stack[base..]) else {
            return Err(self.limit("elements of tuples", u32::MAX as usize));
        };
        self.stack.truncate(base);
        self.push(Node::FrozenSet(items))
    }

    fn dict(&mut self) -> Result<(), Error> {
        let base = self.pop_mark()?;
        if !(self.stack.len() - base).is_multiple_of(2) {
            return Err(Error::not_applicable(self.reader.at(), "odd number of items for DICT"));
        }
        self.check_hashable(base, 2)?;
        let entries = pairs(&self.stack[base..]).collect();
        self.stack.truncate(base);
        self.push(Node::Dict(entries))
    }

    /// Every `step`th value from `base` on must be a possible key, by its own type: tuples are not
    /// looked into.
    #[inline]
    fn check_hashable(&self, base: usize, step: usize) -> Result<(), Error> {
        for &key in self.stack[base..].iter().step_by(step) {
            let node = self.arena.node(key);
            if matches!(node, Node::List(_) | Node::Dict(_) | Node::Set(_) | Node::ByteArray(_)) {
                return Err(Error::not_applicable(
                    self.reader.at(),
                    format!("unhashable type: '{}'", node.type_name()),
                ));
            }
        }
        Ok(())
    }

    /// Adds the stack from `base` on to the list, or what may be one, below it.
    #[inline]
    fn append<P: Policy>(&mut self, base: usize, many: bool, policy: &mut P) -> Result<(), Error> {
        let target = self.target_below(base)?;
        self.ask(policy.append(&self.arena, target, many, self.reader.at()))?;
        if self.stack.len() == base {
            return Ok(());
        }
        match self.arena.node_mut(target) {
            Node::List(list) => {
                list.extend_from_slice(&self.stack[base..]);
                self.stack.truncate(base);
                Ok(())
            }
            Node::ByteArray(_) => self.append_bytes(target, base),
            node if node.is_opaque() => {
                self.arena.updates_mut(target).items.extend_from_slice(&self.stack[base..]);
                self.stack.truncate(base);
                Ok(())
            }
            _ => Err(self.no_attribute(target, "append")),
        }
    }

    #[cold]
    fn append_bytes(&mut self, target: Value, base: usize) -> Result<(), Error> {
        let items = self.stack.split_off(base);
        let bytes: Vec<u8> =
            items.iter().map(|&item| self.byte_of(item)).collect::<Result<_, _>>()?;
        if let Node::ByteArray(array) = self.arena.node_mut(target) {
            array.to_mut().extend_from_slice(&bytes);
        }
        Ok(())
    }

    /// A value as an element of a bytearray.
    #[cold]
    fn byte_of(&self, value: Value) -> Result<u8, Error> {
        let number = match self.arena.node(value) {
            Node::Int(number) => u8::try_from(*number).ok(),
            Node::Bool(truth) => Some(u8::from(*truth)),
            Node::BigInt(_) => None,
            other => {
                let name = other.type_name();
                let message = format!("'{name}' object cannot be interpreted as an integer");
                return Err(Error::not_applicable(self.reader.at(), message));
            }
        };
        number
            .ok_or_else(|| Error::not_applicable(self.reader.at(), "byte must be in range(0, 256)"))
    }

    #[cold]
    fn no_attribute(&self, target: Value, attribute: &str) -> Error {
        let name = self.arena.node(target).type_name();
        Error::not_applicable(
            self.reader.at(),
            format!("'{name}' object has no attribute '{attribute}'"),
        )
    }

    /// Sets the keys and values from `base` on in the dict, or what may be one, below it.
    #[inline]
    fn set_items<P: Policy>(&mut self, base: usize, policy: &mut P) -> Result<(), Error> {
        let target = self.target_below(base)?;
        self.ask(policy.set_items(&self.arena, target, self.reader.at()))?;
        if self.stack.len() == base {
            return Ok(());
        }
        if !(self.stack.len() - base).is_multiple_of(2) {
            return Err(Error::not_applicable(
                self.reader.at(),
                "odd number of items for SETITEMS",
            ));
        }
        let node = self.arena.node(target);
        let entries = match node {
            Node::Dict(_) => {
                self.check_hashable(base, 2)?;
                match self.arena.node_mut(target) {
                    Node::Dict(entries) => entries,
                    _ => return Ok(()),
                }
            }
            node if node.is_opaque() => &mut self.arena.updates_mut(target).entries,
            Node::List(_) | Node::ByteArray(_) => return self.set_elements(target, base),
            other => {
                let name = other.type_name();
                return Err(Error::not_applicable(
                    self.reader.at(),
                    format!("'{name}' object does not support item assignment"),
                ));
            }
        };
        entries.extend(pairs(&self.stack[base..]));
        self.stack.truncate(base);
        Ok(())
    }

    /// SETITEM on a list or bytearray: the keys are places in it.
    #[cold]
    fn set_elements(&mut self, target: Value, base: usize) -> Result<(), Error> {
        let items = self.stack.split_off(base);
        for (key, value) in pairs(&items) {
            let at = self.reader.at();
            let (length, kind) = match self.arena.node(target) {
                Node::List(list) => (list.len(), "list"),
                Node::ByteArray(bytes) => (bytes.len(), "bytearray"),
                _ => return Ok(()),
            };
            let Some(key) = self.arena.int(key) else {
                let name = self.arena.node(key).type_name();
                let message = format!("{kind} indices must be integers or slices, not {name}");
                return Err(Error::not_applicable(at, message));
            };
            let from_end = if key < 0 { length as i64 } else { 0 };
            let place = usize::try_from(key.saturating_add(from_end)).ok();
            let Some(place) = place.filter(|&place| place < length) else {
                let message = match kind {
                    "list" => "list assignment index out of range",
                    _ => "bytearray index out of range",
                };
                return Err(Error::not_applicable(at, message));
            };
            let byte = if kind == "bytearray" { self.byte_of(value)? } else { 0 };
            match self.arena.node_mut(target) {
                Node::List(list) => list[place] = value,
                Node::ByteArray(bytes) => bytes.to_mut()[place] = byte,
                _ => {}
            }
        }
        Ok(())
    }

    fn add_items<P: Policy>(&mut self, base: usize, policy: &mut P) -> Result<(), Error> {
        let target = self.target_below(base)?;
        self.ask(policy.append(&self.arena, target, true, self.reader.at()))?;
        if self.stack.len() == base {
            return Ok(());
        }
        let node = self.arena.node(target);
        let items = if node.is_opaque() {
            &mut self.arena.updates_mut(target).items
        } else if matches!(node, Node::Set(_)) {
            self.check_hashable(base, 1)?;
            match self.arena.node_mut(target) {
                Node::Set(items) => items,
                _ => return Ok(()),
            }
        } else {
            return Err(self.no_attribute(target, "add"));
        };
        items.extend_from_slice(&self.stack[base..]);
        self.stack.truncate(base);
        Ok(())
    }

    // ---- the memo ----

    #[inline]
    fn get(&mut self, index: i64) -> Result<(), Error> {
        match u64::try_from(index).ok().and_then(|index| self.memo.get(index)) {
            Some(value) => self.push_again(value),
            None => Err(Error::MemoMissing { at: self.reader.at(), index }),
        }
    }

    #[inline]
    fn put(&mut self, index: u64) -> Result<(), Error> {
        let top = self.top()?;
        if self.memo.len() >= self.max_memo && self.memo.get(index).is_none() {
            return Err(self.limit("memo slots", self.max_memo));
        }
        self.memo.put(index, top, self.steps);
        Ok(())
    }

    /// The number of a GET or PUT.
    #[cold]
    fn memo_line(&mut self) -> Result<i64, Error> {
        let at = self.reader.at();
        let literal = until_nul(self.reader.full_line()?);
        match text::parse_int(literal, 10) {
            Ok(Integer::Small(index)) => Ok(index),
            Ok(Integer::Big(_)) => {
                Err(Error::text(at, "Python int too large to convert to C ssize_t"))
            }
            Err(error) => {
                let shown = crate::repr::str_repr_lossy(literal);
                Err(Error::text(at, error.message(10, &shown)))
            }
        }
    }

    // ---- names and calls ----

    /// GLOBAL's and INST's name.
    fn global_lines<P: Policy>(&mut self, policy: &mut P) -> Result<Value, Error> {
        let at = self.reader.at();
        let decode = |line| match text::decode_utf8(line, false) {
            Ok(Text::Str(text)) => Ok(text),
            Ok(Text::Surrogates(_)) => Err(Error::text(at, "surrogates not allowed")),
            Err(error) => Err(Error::text(at, error.message())),
        };
        let module = decode(self.reader.full_line()?)?;
        let name = decode(self.reader.full_line()?)?;
        self.global(module, name, policy)
    }

    fn stack_global<P: Policy>(&mut self, policy: &mut P) -> Result<(), Error> {
        let name_value = self.pop()?;
        let module_value = self.pop()?;
        let name = self.name_of(name_value)?;
        let module = self.name_of(module_value)?;
        let global = self.global(module, name, policy)?;
        let texts = [module_value, name_value];
        self.arena.set_name_parts(global, NameParts { texts, own: false });
        self.stack.push(global);
        Ok(())
    }

    /// A str as a name. Copies what the pickle does not hold verbatim, up to a bound: otherwise one
    /// long name in the memo could be copied millions of times.
    fn name_of(&mut self, value: Value) -> Result<Cow<'a, str>, Error> {
        let at = self.reader.at();
        let refuse = || Error::not_applicable(at, "STACK_GLOBAL requires str");
        let text = match self.arena.node(value) {
            Node::Str(Cow::Borrowed(text)) => return Ok(Cow::Borrowed(text)),
            Node::ByteStr(Cow::Borrowed(bytes)) => {
                return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| refuse());
            }
            Node::Str(Cow::Owned(text)) => text.as_str(),
            Node::ByteStr(Cow::Owned(bytes)) => std::str::from_utf8(bytes).map_err(|_| refuse())?,
            _ => return Err(refuse()),
        };
        let Some(left) = self.names_left.checked_sub(text.len()) else {
            return Err(self.limit("bytes of names with escapes", COPIED_NAMES));
        };
        let text = Cow::Owned(text.to_owned());
        self.names_left = left;
        Ok(text)
    }

    fn global<P: Policy>(
        &mut self,
        module: Cow<'a, str>,
        name: Cow<'a, str>,
        policy: &mut P,
    ) -> Result<Value, Error> {
        self.ask(policy.global(&module, &name, self.reader.at()))?;
        self.node(Node::Global(Box::new(Global { module, name })))
    }

    fn extension(&mut self, code: i64) -> Result<(), Error> {
        if code <= 0 {
            return Err(Error::argument(self.reader.at(), "EXT specifies code <= 0"));
        }
        self.push(Node::Extension(code))
    }

    /// Refuses what no Python could call.
    #[inline]
    fn check_callable(&self, callable: Value) -> Result<(), Error> {
        let node = self.arena.node(callable);
        if node.is_opaque() {
            return Ok(());
        }
        Err(Error::not_applicable(
            self.reader.at(),
            format!("'{}' object is not callable", node.type_name()),
        ))
    }

    #[inline]
    fn check_new(&self, opcode: &str, class: Value, args: Value) -> Result<(), Error> {
        let (class, args) = (self.arena.node(class), self.arena.node(args));
        let (what, kind, found) = if !class.is_opaque() {
            ("class", "type", class)
        } else if !(matches!(args, Node::Tuple(_)) || args.is_opaque()) {
            ("args", "tuple", args)
        } else {
            return Ok(());
        };
        Err(Error::not_applicable(
            self.reader.at(),
            format!("{opcode} {what} argument must be a {kind}, not {}", found.type_name()),
        ))
    }

    /// Records a call and pushes what it would give.
    #[inline]
    fn call<P: Policy>(
        &mut self,
        kind: CallKind,
        callable: Value,
        args: Value,
        kwargs: Option<Value>,
        policy: &mut P,
    ) -> Result<(), Error> {
        self.ask(policy.call(&self.arena, kind, callable, args, self.reader.at()))?;
        match kind {
            CallKind::Reduce | CallKind::Obj => self.check_callable(callable)?,
            CallKind::NewObj => self.check_new("NEWOBJ", callable, args)?,
            CallKind::NewObjEx => self.check_new("NEWOBJ_EX", callable, args)?,
            CallKind::Inst => {}
        }
        self.push(Node::Call(Call { kind, callable, args, kwargs, updates: None }))
    }

    fn build<P: Policy>(&mut self, policy: &mut P) -> Result<(), Error> {
        let base = self.base_below(1)?;
        let (target, state) = (self.stack[base - 1], self.stack[base]);
        self.stack.truncate(base);
        self.ask(policy.build(&self.arena, target, state, self.reader.at()))?;
        let node = self.arena.node(target);
        let holds = matches!(node, Node::List(_) | Node::Dict(_) | Node::Set(_));
        if holds || node.is_opaque() {
            let updates: &mut Updates = self.arena.updates_mut(target);
            updates.states.push(state);
            return Ok(());
        }
        match self.arena.node(state) {
            // CPython has nothing to set then, whatever the target.
            Node::None => Ok(()),
            Node::Dict(_) => Err(self.no_attribute(target, "__dict__")),
            _ => Err(Error::not_applicable(self.reader.at(), "state is not a dictionary")),
        }
    }

    fn persistent<P: Policy>(&mut self, pid: Value, policy: &mut P) -> Result<(), Error> {
        self.ask(policy.persistent_id(&self.arena, pid, self.reader.at()))?;
        self.push(Node::PersistentId(pid))
    }
}

/// What C sees of a line: up to its first NUL.
fn until_nul(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == 0).next().unwrap_or(line)
}

#[inline]
fn pairs(values: &[Value]) -> impl Iterator<Item = (Value, Value)> {
    values.as_chunks().0.iter().map(|&[key, value]| (key, value))
}
