//! What can be wrong with a pickle, in CPython's words where it has words for it.

use thiserror::Error as ThisError;

use crate::shorten::{MOST, shortened};

/// Why a pickle could not be read.
///
/// `Display` is the wording of CPython's `_pickle` (the C unpickler) where it has one; the offset of
/// the opcode at fault is apart, in [`Error::offset`]. All of these are the fault of the bytes, save
/// [`Error::Limit`] (the caller's limits) and [`Error::Refused`] (the caller's policy).
#[derive(Clone, PartialEq, Eq, Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The bytes ended where an opcode was expected: there is no STOP.
    #[error("Ran out of input")]
    Exhausted {
        /// Offset of the end of the bytes.
        at: u64,
    },
    /// A byte that is no opcode of protocols 0 to 5.
    #[error("invalid load key, '{}'.", load_key(*byte))]
    UnknownOpcode {
        /// Offset of the byte.
        at: u64,
        /// The byte.
        byte: u8,
    },
    /// An opcode's argument goes past the end of the bytes.
    #[error("pickle data was truncated")]
    Truncated {
        /// Offset of the opcode.
        at: u64,
        /// Bytes that the argument, or its next part, needs.
        needed: u64,
        /// Bytes that were left for it.
        left: u64,
    },
    /// An opcode needs more values than the innermost frame of the stack holds.
    #[error("{}", if *marked { "unexpected MARK found" } else { "unpickling stack underflow" })]
    Underflow {
        /// Offset of the opcode.
        at: u64,
        /// Whether a MARK stands where the value should be.
        marked: bool,
    },
    /// An opcode needs a MARK and there is none.
    #[error("could not find MARK")]
    NoMark {
        /// Offset of the opcode.
        at: u64,
    },
    /// A GET of a memo slot that nothing was put into.
    #[error("Memo value not found at index {index}")]
    MemoMissing {
        /// Offset of the opcode.
        at: u64,
        /// The slot asked for.
        index: i64,
    },
    /// A text argument that does not say what it should: an integer, a float, a quoted string, UTF-8.
    #[error("{message}")]
    BadText {
        /// Offset of the opcode.
        at: u64,
        /// What is wrong.
        message: Box<str>,
    },
    /// An argument with a value that no unpickler takes, for example protocol 6.
    #[error("{message}")]
    BadArgument {
        /// Offset of the opcode.
        at: u64,
        /// What is wrong.
        message: Box<str>,
    },
    /// An opcode met values that it cannot work on, for example APPEND on an integer.
    #[error("{message}")]
    NotApplicable {
        /// Offset of the opcode.
        at: u64,
        /// What is wrong.
        message: Box<str>,
    },
    /// One of the caller's [`Limits`](crate::Limits) was reached.
    #[error("the pickle needs more than {limit} {what}")]
    Limit {
        /// Offset of the opcode.
        at: u64,
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
    /// The caller's [`Policy`](crate::Policy) said no; its message, cut where it is very long.
    #[error("{message}")]
    Refused {
        /// Offset of the opcode.
        at: u64,
        /// The policy's message.
        message: Box<str>,
    },
}

/// The kinds of [`Error`], for matching without fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// See [`Error::Exhausted`].
    Exhausted,
    /// See [`Error::UnknownOpcode`].
    UnknownOpcode,
    /// See [`Error::Truncated`].
    Truncated,
    /// See [`Error::Underflow`].
    Underflow,
    /// See [`Error::NoMark`].
    NoMark,
    /// See [`Error::MemoMissing`].
    MemoMissing,
    /// See [`Error::BadText`].
    BadText,
    /// See [`Error::BadArgument`].
    BadArgument,
    /// See [`Error::NotApplicable`].
    NotApplicable,
    /// See [`Error::Limit`].
    Limit,
    /// See [`Error::Refused`].
    Refused,
}

impl Error {
    /// Offset, from the start of the bytes, of the opcode at fault.
    pub fn offset(&self) -> u64 {
        match self {
            Error::Exhausted { at }
            | Error::UnknownOpcode { at, .. }
            | Error::Truncated { at, .. }
            | Error::Underflow { at, .. }
            | Error::NoMark { at }
            | Error::MemoMissing { at, .. }
            | Error::BadText { at, .. }
            | Error::BadArgument { at, .. }
            | Error::NotApplicable { at, .. }
            | Error::Limit { at, .. }
            | Error::Refused { at, .. } => *at,
        }
    }

    /// The kind of error, without its fields.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Exhausted { .. } => ErrorKind::Exhausted,
            Error::UnknownOpcode { .. } => ErrorKind::UnknownOpcode,
            Error::Truncated { .. } => ErrorKind::Truncated,
            Error::Underflow { .. } => ErrorKind::Underflow,
            Error::NoMark { .. } => ErrorKind::NoMark,
            Error::MemoMissing { .. } => ErrorKind::MemoMissing,
            Error::BadText { .. } => ErrorKind::BadText,
            Error::BadArgument { .. } => ErrorKind::BadArgument,
            Error::NotApplicable { .. } => ErrorKind::NotApplicable,
            Error::Limit { .. } => ErrorKind::Limit,
            Error::Refused { .. } => ErrorKind::Refused,
        }
    }

    #[cold]
    pub(crate) fn text(at: u64, message: impl Into<String>) -> Self {
        Error::BadText { at, message: cut(message) }
    }

    #[cold]
    pub(crate) fn argument(at: u64, message: impl Into<String>) -> Self {
        Error::BadArgument { at, message: cut(message) }
    }

    #[cold]
    pub(crate) fn not_applicable(at: u64, message: impl Into<String>) -> Self {
        Error::NotApplicable { at, message: cut(message) }
    }

    #[cold]
    pub(crate) fn refused(at: u64, message: impl Into<String>) -> Self {
        Error::Refused { at, message: cut(message) }
    }
}

/// A message may quote the pickle, and so be as long.
fn cut(message: impl Into<String>) -> Box<str> {
    shortened(message, MOST).into()
}

/// The byte as CPython names it in "invalid load key": itself if printable, else `\xNN`.
fn load_key(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\x{byte:02x}"),
        0x20..=0x7e => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording_is_cpythons() {
        let cases = [
            (Error::UnknownOpcode { at: 3, byte: 0xff }, "invalid load key, '\\xff'."),
            (Error::UnknownOpcode { at: 3, byte: b'z' }, "invalid load key, 'z'."),
            (Error::UnknownOpcode { at: 3, byte: b'\'' }, "invalid load key, '\\x27'."),
            (Error::UnknownOpcode { at: 3, byte: b'\\' }, "invalid load key, '\\x5c'."),
            (Error::UnknownOpcode { at: 3, byte: b'\n' }, "invalid load key, '\\x0a'."),
            (Error::Underflow { at: 3, marked: false }, "unpickling stack underflow"),
            (Error::Underflow { at: 3, marked: true }, "unexpected MARK found"),
            (Error::MemoMissing { at: 3, index: -1 }, "Memo value not found at index -1"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
            assert_eq!(error.offset(), 3);
        }
    }

    #[test]
    fn errors_stay_small() {
        assert!(size_of::<Error>() <= 40);
    }
}
