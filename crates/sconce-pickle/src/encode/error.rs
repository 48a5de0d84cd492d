//! What a pickle cannot say.

use thiserror::Error as ThisError;

use crate::arena::Value;

/// Why values could not be written as a pickle.
///
/// All of these are the fault of the values or the options, save [`EncodeError::Io`].
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum EncodeError {
    /// A protocol above 5.
    #[error("pickle protocol must be <= 5, not {0}")]
    Protocol(u8),
    /// A Python 2 str: Python 3 writes none, and only the caller knows its encoding.
    #[error(
        "a Python 2 str (value {}) cannot be written: decode it to str or bytes first, with the \
         encoding that the pickle was to be read with",
        .0.index()
    )]
    ByteStr(Value),
    /// An extension code: its name is known only to the process that registered it.
    #[error("extension code {code} cannot be written: put its module and name in its place")]
    Extension {
        /// The code.
        code: i64,
    },
    /// An out-of-band buffer, whose bytes are not here.
    #[error("out-of-band buffer {index} cannot be written: put its bytes in its place")]
    Buffer {
        /// Which one.
        index: u32,
    },
    /// An instance that INST or OBJ made. Python 3 has no such instances, and making one is not
    /// always a call.
    #[error("an instance made by INST or OBJ (value {}) cannot be written by Python 3", .0.index())]
    Instance(Value),
    /// Something was done to a value that no pickler does to it, for example BUILD on a list.
    #[error("APPEND, SETITEM or BUILD on a {kind} (value {}) cannot be written", .value.index())]
    Updated {
        /// The value.
        value: Value,
        /// Its type.
        kind: &'static str,
    },
    /// Something that only newer protocols can say.
    #[error("{what} (value {}) needs pickle protocol {least} or higher", .value.index())]
    NeedsProtocol {
        /// The value.
        value: Value,
        /// What it is.
        what: &'static str,
        /// The first protocol that can say it.
        least: u8,
    },
    /// A persistent id that no pickler writes: at protocol 0, one that is no one-line ASCII str (nor
    /// an int); at others, one that is a persistent object itself.
    #[error("the persistent id of value {} cannot be written: {why}", .value.index())]
    PersistentId {
        /// The persistent object.
        value: Value,
        /// What is wrong with its id.
        why: &'static str,
    },
    /// A name that the protocol's GLOBAL cannot hold: not ASCII before protocol 3, or with a line
    /// break before protocol 4.
    #[error(
        "can't pickle {} {text:?} using pickle protocol {protocol}",
        if *module { "module identifier" } else { "global identifier" }
    )]
    Identifier {
        /// Whether it is a module's name.
        module: bool,
        /// The name.
        text: Box<str>,
        /// The protocol asked for.
        protocol: u8,
    },
    /// An int of more than 4300 digits at protocol 0 or 1, which write ints in decimal.
    #[error("an int (value {}) has more than 4300 digits: it needs pickle protocol 2", .0.index())]
    Digits(Value),
    /// An int of 2 GiB or more.
    #[error("int too large to pickle")]
    HugeInt(Value),
    /// A value that is made of itself with nothing in between that could be made first (CPython
    /// recurses until it gives up).
    #[error("value {} is made of itself: no pickle can make it", .0.index())]
    Endless(Value),
    /// Cycles through tuples, sets or arguments that are entered more than 1000 times at once, where
    /// CPython's recursion limit ends them too.
    #[error("value {} is in a cycle that is entered more than 1000 times", .0.index())]
    Recursion(Value),
    /// More memo slots than their 32-bit numbers can name.
    #[error("more values than the memo can number")]
    MemoFull,
    /// The writer failed.
    #[error("cannot write the pickle: {0}")]
    Io(#[from] std::io::Error),
}
