//! A listing of a pickle's opcodes, line for line what `python -m pickletools` prints (Python 3.11).
//!
//! pickletools checks what it lists against a crude model of the stack: names of types for values.
//! So does this, with the same complaints after the same line.

use std::io::{self, Write};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::decode::{Arg, Instruction, Reader};
use crate::error::Error;
use crate::limits::Limits;
use crate::opcode::{ArgKind, StackItem, byte as op};
use crate::repr;
use crate::shorten::{MOST, shortened};
use crate::text::{self, Integer, IntegerError};

/// Levels of MARK beyond which lines are not indented further. pickletools has no such bound: a
/// megabyte of MARKs would print terabytes of blanks.
const MAX_INDENT: usize = 1000;

/// A pickle that was listed to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DisSummary {
    /// Offset of the byte after STOP, from the start of the bytes given.
    pub end: usize,
    /// Number of opcodes.
    pub opcodes: u64,
    /// Highest protocol that an opcode belongs to (not what PROTO says).
    pub highest_protocol: u8,
}

/// Why a listing ended early. What was listed before stands in the output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DisError {
    /// What pickletools complains of, in its words.
    #[error("{message}")]
    Pickle {
        /// Offset of the opcode complained of.
        at: u64,
        /// The message of Python's exception.
        message: String,
    },
    /// The pickle has more opcodes than [`Limits::max_values`].
    #[error("the pickle has more than {limit} opcodes")]
    Limit {
        /// Offset of the first opcode that was not listed.
        at: u64,
        /// How many were.
        limit: usize,
    },
    /// The output could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Lists the pickle at the start of `bytes`, as `pickletools.dis(bytes)` does.
///
/// # Errors
/// Whatever pickletools raises an exception for, after the lines that it would have printed; or an
/// error of `out`.
///
/// ```
/// let mut out = Vec::new();
/// let summary = sconce_pickle::dis(b"\x80\x02]q\x00(K\x01K\x02e.", &mut out)?;
/// assert_eq!(
///     String::from_utf8_lossy(&out),
///     "    0: \\x80 PROTO      2
///     2: ]    EMPTY_LIST
///     3: q    BINPUT     0
///     5: (    MARK
///     6: K        BININT1    1
///     8: K        BININT1    2
///    10: e        APPENDS    (MARK at 5)
///    11: .    STOP
/// highest protocol among opcodes = 2
/// "
/// );
/// assert_eq!((summary.end, summary.highest_protocol), (12, 2));
/// # Ok::<(), sconce_pickle::DisError>(())
/// ```
pub fn dis(bytes: &[u8], out: &mut dyn Write) -> Result<DisSummary, DisError> {
    dis_from(bytes, 0, &Limits::default(), out)
}

/// Lists the pickle that starts at offset `start`, with offsets from the start of `bytes`: what
/// pickletools does with a file that was read that far. Files of PyTorch's legacy format hold several
/// pickles in a row; [`DisSummary::end`] is where the next one starts.
///
/// # Errors
/// As [`dis`], and where there are more opcodes than the limits allow values.
pub fn dis_from(
    bytes: &[u8],
    start: usize,
    limits: &Limits,
    out: &mut dyn Write,
) -> Result<DisSummary, DisError> {
    let mut model = Model::default();
    let mut reader = Reader::starting_at(bytes, start);
    let mut line = String::new();
    let mut opcodes = 0;
    let mut highest = 0;
    loop {
        let instruction = reader.instruction().map_err(|error| reading_error(bytes, &error))?;
        let at = instruction.at;
        let complain = |message: String| complaint(at, message);
        if opcodes >= limits.max_values as u64 {
            return Err(DisError::Limit { at, limit: limits.max_values });
        }
        let arg = argument(&instruction).map_err(complain)?;
        write!(out, "{at:5}: ")?;
        opcodes += 1;
        highest = highest.max(instruction.info.protocol);

        line.clear();
        let indent = model.marks.len().min(MAX_INDENT);
        let outcome = model.check(&instruction, &arg).map_err(complain)?;
        compose(&mut line, &instruction, indent, &arg, &outcome).map_err(complain)?;
        out.write_all(line.as_bytes())?;
        if let Some(message) = outcome.error {
            return Err(complain(message));
        }
        model.apply(&instruction, &outcome).map_err(complain)?;
        if instruction.info.byte == op::STOP {
            break;
        }
    }
    writeln!(out, "highest protocol among opcodes = {highest}")?;
    if !model.stack.is_empty() {
        let names: Vec<_> = model.stack.iter().map(|item| item.name()).collect();
        let message = format!("stack not empty after STOP: [{}]", names.join(", "));
        return Err(complaint(reader.at(), message));
    }
    Ok(DisSummary { end: reader.position(), opcodes, highest_protocol: highest })
}

/// A message may quote an argument, or name all of the stack.
fn complaint(at: u64, message: String) -> DisError {
    DisError::Pickle { at, message: shortened(message, MOST) }
}

/// The line's text after its offset, with the newline.
fn compose(
    line: &mut String,
    instruction: &Instruction<'_>,
    indent: usize,
    arg: &Argument<'_>,
    outcome: &Outcome,
) -> Result<(), String> {
    let info = instruction.info;
    match info.byte {
        byte @ 0x21..=0x7e => {
            line.push(char::from(byte));
            line.push_str("    ");
        }
        byte => line.push_str(&format!("\\x{byte:02x} ")),
    }
    line.extend(std::iter::repeat_n("    ", indent));
    line.push_str(info.name);
    if *arg != Argument::None || outcome.note.is_some() {
        line.extend(std::iter::repeat_n(' ', 10usize.saturating_sub(info.name.len())));
        if *arg != Argument::None {
            line.push(' ');
            arg.write_repr(line)?;
        }
        if let Some(note) = &outcome.note {
            line.push(' ');
            line.push_str(note);
        }
    }
    line.push('\n');
    Ok(())
}

// ---- pickletools' model of the stack and the memo ----

#[derive(Default)]
struct Model {
    stack: Vec<StackItem>,
    /// Offsets of the MARKs in force.
    marks: Vec<u64>,
    memo: FxHashMap<Key, StackItem>,
}

/// A memo key: any integer, since pickletools reads PUT's as Python does.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Small(i64),
    /// In decimal.
    Big(Arc<str>),
}

/// What the model says of an opcode before it is applied.
struct Outcome {
    /// Shown after the argument.
    note: Option<String>,
    error: Option<String>,
    /// Items to pop that are not above a mark.
    pops: usize,
    /// What a GET pushes.
    got: Option<StackItem>,
}

impl Model {
    fn check(
        &mut self,
        instruction: &Instruction<'_>,
        arg: &Argument<'_>,
    ) -> Result<Outcome, String> {
        let info = instruction.info;
        let mut outcome = Outcome { note: None, error: None, pops: info.before.len(), got: None };
        let mark_place = info.before.iter().position(|&item| item == StackItem::Mark);
        let pops_mark = info.byte == op::POP && self.stack.last() == Some(&StackItem::Mark);
        if mark_place.is_some() || pops_mark {
            if let Some(mark) = self.marks.pop() {
                outcome.note = Some(format!("(MARK at {mark})"));
                loop {
                    match self.stack.pop() {
                        Some(StackItem::Mark) => break,
                        Some(_) => {}
                        // An opcode took the mark for a value; Python fails on its own list here.
                        None => return Err("list index out of range".into()),
                    }
                }
                outcome.pops = mark_place.unwrap_or(0);
            } else {
                outcome.note = Some("no MARK exists on stack".into());
                outcome.error = outcome.note.clone();
            }
        }
        match info.byte {
            op::PUT | op::BINPUT | op::LONG_BINPUT | op::MEMOIZE => {
                let key = if info.byte == op::MEMOIZE {
                    let next = self.memo.len();
                    outcome.note = Some(format!("(as {next})"));
                    Key::Small(next as i64)
                } else {
                    arg.key()?
                };
                if self.memo.contains_key(&key) {
                    outcome.error = Some(format!("memo key {} already defined", arg.repr()?));
                } else {
                    match self.stack.last() {
                        None => {
                            let message = "stack is empty -- can't store into memo";
                            outcome.error = Some(message.into());
                        }
                        Some(StackItem::Mark) => {
                            outcome.error = Some("can't store markobject in the memo".into());
                        }
                        Some(&item) => {
                            self.memo.insert(key, item);
                        }
                    }
                }
            }
            op::GET | op::BINGET | op::LONG_BINGET => {
                outcome.got = self.memo.get(&arg.key()?).copied();
                if outcome.got.is_none() {
                    outcome.error =
                        Some(format!("memo key {} has never been stored into", arg.repr()?));
                }
            }
            _ => {}
        }
        Ok(outcome)
    }

    fn apply(&mut self, instruction: &Instruction<'_>, outcome: &Outcome) -> Result<(), String> {
        let Some(left) = self.stack.len().checked_sub(outcome.pops) else {
            return Err(format!(
                "tries to pop {} items from stack with only {} items",
                outcome.pops,
                self.stack.len()
            ));
        };
        self.stack.truncate(left);
        let info = instruction.info;
        if info.after.contains(&StackItem::Mark) {
            self.marks.push(instruction.at);
        }
        match outcome.got {
            Some(item) => self.stack.push(item),
            None => self.stack.extend_from_slice(info.after),
        }
        Ok(())
    }
}

// ---- arguments as Python values ----

/// An argument as pickletools reads it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Argument<'a> {
    None,
    Uint(u64),
    Integer(Integer),
    Bool(bool),
    Float(f64),
    /// A str, in UTF-8 with surrogates in their three-byte forms.
    Str(std::borrow::Cow<'a, [u8]>),
    /// A Python 2 string, shown as its Latin-1 text.
    Latin1(&'a [u8]),
    Bytes(&'a [u8]),
    ByteArray(&'a [u8]),
}

impl Argument<'_> {
    fn key(&self) -> Result<Key, String> {
        Ok(match self {
            Argument::Uint(index) => Key::Small(*index as i64),
            Argument::Bool(truth) => Key::Small(i64::from(*truth)),
            Argument::Integer(Integer::Small(index)) => Key::Small(*index),
            _ => Key::Big(self.repr()?.into()),
        })
    }

    fn repr(&self) -> Result<String, String> {
        let mut out = String::new();
        self.write_repr(&mut out)?;
        Ok(out)
    }

    /// Appends Python's `repr`; fails, as Python does, on integers of more than 4300 digits.
    pub(crate) fn write_repr(&self, out: &mut String) -> Result<(), String> {
        match self {
            Argument::None => out.push_str("None"),
            Argument::Uint(value) => out.push_str(&value.to_string()),
            Argument::Integer(Integer::Small(value)) => out.push_str(&value.to_string()),
            Argument::Integer(Integer::Big(value)) => {
                if !repr::write_bigint(out, value) {
                    return Err(format!(
                        "Exceeds the limit ({} digits) for integer string conversion; use \
                         sys.set_int_max_str_digits() to increase the limit",
                        text::MAX_DIGITS
                    ));
                }
            }
            Argument::Bool(truth) => out.push_str(if *truth { "True" } else { "False" }),
            Argument::Float(value) => repr::write_float(out, *value),
            Argument::Str(bytes) => repr::write_wtf8(out, bytes),
            Argument::Latin1(bytes) => {
                let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
                repr::write_str(out, &text);
            }
            Argument::Bytes(bytes) => repr::write_bytes(out, bytes),
            Argument::ByteArray(bytes) => repr::write_bytearray(out, bytes),
        }
        Ok(())
    }
}

/// Reads the texts in an argument as pickletools does, with its errors.
pub(crate) fn argument<'a>(instruction: &Instruction<'a>) -> Result<Argument<'a>, String> {
    let kind = instruction.info.arg;
    Ok(match (kind, instruction.arg) {
        (_, Arg::None) => Argument::None,
        (_, Arg::Uint(value)) => Argument::Uint(value),
        (_, Arg::Int(value)) => Argument::Integer(Integer::Small(value.into())),
        (_, Arg::Float(value)) => Argument::Float(value),
        (ArgKind::DecimalShort, Arg::Line(b"00")) => Argument::Bool(false),
        (ArgKind::DecimalShort, Arg::Line(b"01")) => Argument::Bool(true),
        (ArgKind::DecimalShort, Arg::Line(line)) => Argument::Integer(decimal(line)?),
        (ArgKind::DecimalLong, Arg::Line(line)) => {
            Argument::Integer(decimal(line.strip_suffix(b"L").unwrap_or(line))?)
        }
        (ArgKind::FloatLine, Arg::Line(line)) => match text::parse_python_float(line) {
            Some(value) => Argument::Float(value),
            None => {
                let shown = bytes_repr(line);
                return Err(format!("could not convert string to float: {shown}"));
            }
        },
        (ArgKind::QuotedLine, Arg::Line(line)) => Argument::Str(ascii(unquote(line)?)?.into()),
        (ArgKind::UnicodeLine, Arg::Line(line)) => {
            match text::decode_raw_unicode_escape(line).map_err(|error| error.message())? {
                text::Text::Str(std::borrow::Cow::Borrowed(text)) => {
                    Argument::Str(text.as_bytes().into())
                }
                other => Argument::Str(other.as_bytes().to_vec().into()),
            }
        }
        (_, Arg::Line(line)) => Argument::Str(ascii(line)?.into()),
        (_, Arg::Lines(first, second)) => {
            let mut both = ascii(first)?;
            both.push(b' ');
            both.extend(ascii(second)?);
            Argument::Str(both.into())
        }
        (ArgKind::String4, Arg::Bytes(bytes)) if bytes.len() > i32::MAX as usize => {
            return Err(format!("string4 byte count < 0: {}", bytes.len() as u32 as i32));
        }
        (ArgKind::String1 | ArgKind::String4, Arg::Bytes(bytes)) => Argument::Latin1(bytes),
        (ArgKind::Unicode1 | ArgKind::Unicode4 | ArgKind::Unicode8, Arg::Bytes(bytes)) => {
            text::decode_utf8(bytes, true).map_err(|error| error.message())?;
            Argument::Str(bytes.into())
        }
        (ArgKind::Long1 | ArgKind::Long4, Arg::Bytes(bytes)) => {
            Argument::Integer(Integer::from_le(bytes))
        }
        (ArgKind::ByteArray8, Arg::Bytes(bytes)) => Argument::ByteArray(bytes),
        (_, Arg::Bytes(bytes)) => Argument::Bytes(bytes),
    })
}

fn decimal(line: &[u8]) -> Result<Integer, String> {
    text::parse_int(line, 10).map_err(|error| match error {
        IntegerError::Invalid => {
            // CPython cuts the literal in this message.
            let shown: String = bytes_repr(line).chars().take(200).collect();
            error.message(10, &shown)
        }
        IntegerError::TooLong(_) => error.message(10, ""),
    })
}

fn bytes_repr(bytes: &[u8]) -> String {
    let mut out = String::new();
    repr::write_bytes(&mut out, bytes);
    out
}

/// pickletools undoes escapes in every line but a UNICODE's, quoted or not.
fn ascii(line: &[u8]) -> Result<Vec<u8>, String> {
    let bytes = text::escape_decode(line)?;
    text::check_ascii(&bytes).map_err(|error| error.message())?;
    Ok(bytes.into_owned())
}

fn unquote(line: &[u8]) -> Result<&[u8], String> {
    let shown = || bytes_repr(line);
    match line {
        [b'\'' | b'"'] => Ok(b""),
        [first @ (b'\'' | b'"'), inner @ .., last] if first == last => Ok(inner),
        [first @ (b'\'' | b'"'), ..] => Err(format!(
            "strinq quote {} not found at both ends of {}",
            bytes_repr(&[*first]),
            shown()
        )),
        _ => Err(format!("no string quotes around {}", shown())),
    }
}

/// What pickletools says of an instruction that cannot be read.
fn reading_error(bytes: &[u8], error: &Error) -> DisError {
    let at = error.offset();
    let message = match *error {
        Error::Exhausted { .. } => "pickle exhausted before seeing STOP".to_owned(),
        Error::UnknownOpcode { at, byte } => {
            format!("at position {at}, opcode {} unknown", bytes_repr(&[byte]))
        }
        _ => unread_argument(bytes, at as usize, error).unwrap_or_else(|| error.to_string()),
    };
    complaint(at, message)
}

fn unread_argument(bytes: &[u8], at: usize, error: &Error) -> Option<String> {
    let kind = crate::opcode::OpcodeInfo::of(*bytes.get(at)?)?.arg;
    let rest = bytes.get(at + 1..)?;
    let name = kind.name();
    // The fixed-width number that comes first, if any.
    let (width, number) = match kind {
        ArgKind::String1 | ArgKind::Bytes1 | ArgKind::Unicode1 | ArgKind::Long1 => (1, "uint1"),
        ArgKind::String4 | ArgKind::Long4 => (4, "int4"),
        ArgKind::Bytes4 | ArgKind::Unicode4 => (4, "uint4"),
        ArgKind::Bytes8 | ArgKind::ByteArray8 | ArgKind::Unicode8 => (8, "uint8"),
        ArgKind::UnicodeLine => {
            return Some("no newline found when trying to read unicodestringnl".into());
        }
        ArgKind::PlainLinePair => {
            // The first line is read in full before the second is looked for.
            let first = rest.iter().position(|&byte| byte == b'\n').map(|end| &rest[..end]);
            if let Some(Err(message)) = first.map(ascii) {
                return Some(message);
            }
            return Some("no newline found when trying to read stringnl".into());
        }
        ArgKind::DecimalShort
        | ArgKind::DecimalLong
        | ArgKind::FloatLine
        | ArgKind::QuotedLine
        | ArgKind::PlainLine => {
            return Some("no newline found when trying to read stringnl".into());
        }
        _ => (usize::MAX, name),
    };
    if rest.len() < width {
        return Some(format!("not enough data in stream to read {number}"));
    }
    let negative = || {
        let count = i32::from_le_bytes(*rest.first_chunk()?);
        (count < 0).then(|| format!("{name} byte count < 0: {count}"))
    };
    if matches!(kind, ArgKind::String4 | ArgKind::Long4)
        && let Some(message) = negative()
    {
        return Some(message);
    }
    if matches!(kind, ArgKind::Long1 | ArgKind::Long4) {
        return Some(format!("not enough data in stream to read {name}"));
    }
    let Error::Truncated { needed, left, .. } = *error else { return None };
    if needed > i64::MAX as u64 {
        return Some(format!("{name} byte count > sys.maxsize: {needed}"));
    }
    Some(format!("expected {needed} bytes in a {name}, but only {left} remain"))
}
