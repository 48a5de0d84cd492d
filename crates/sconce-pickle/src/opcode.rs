//! The opcodes of pickle protocols 0 to 5, as data.

use std::borrow::Cow;

/// How an opcode's argument is written after its byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgKind {
    /// No argument.
    None,
    /// One byte, unsigned.
    Uint1,
    /// Two bytes, little-endian, unsigned.
    Uint2,
    /// Four bytes, little-endian, two's complement.
    Int4,
    /// Four bytes, little-endian, unsigned.
    Uint4,
    /// Eight bytes, little-endian, unsigned.
    Uint8,
    /// Eight bytes, big-endian IEEE 754.
    Float8,
    /// A decimal integer and a newline; `00` and `01` may mean booleans.
    DecimalShort,
    /// An integer with a trailing `L`, and a newline.
    DecimalLong,
    /// A decimal float and a newline.
    FloatLine,
    /// A quoted string with backslash escapes, and a newline.
    QuotedLine,
    /// A bare string and a newline.
    PlainLine,
    /// Two bare strings, each with a newline.
    PlainLinePair,
    /// Text in raw-unicode-escape, and a newline.
    UnicodeLine,
    /// A one-byte count and that many bytes of a Python 2 string.
    String1,
    /// A four-byte count and that many bytes of a Python 2 string.
    String4,
    /// A one-byte count and that many bytes.
    Bytes1,
    /// A four-byte count and that many bytes.
    Bytes4,
    /// An eight-byte count and that many bytes.
    Bytes8,
    /// An eight-byte count and that many bytes of a bytearray.
    ByteArray8,
    /// A one-byte count and that many bytes of UTF-8.
    Unicode1,
    /// A four-byte count and that many bytes of UTF-8.
    Unicode4,
    /// An eight-byte count and that many bytes of UTF-8.
    Unicode8,
    /// A one-byte count and that many bytes of a little-endian two's complement integer.
    Long1,
    /// A four-byte signed count and that many bytes of a little-endian two's complement integer.
    Long4,
}

impl ArgKind {
    /// The name that Python's pickletools has for it; empty for [`ArgKind::None`].
    pub fn name(self) -> &'static str {
        match self {
            ArgKind::None => "",
            ArgKind::Uint1 => "uint1",
            ArgKind::Uint2 => "uint2",
            ArgKind::Int4 => "int4",
            ArgKind::Uint4 => "uint4",
            ArgKind::Uint8 => "uint8",
            ArgKind::Float8 => "float8",
            ArgKind::DecimalShort => "decimalnl_short",
            ArgKind::DecimalLong => "decimalnl_long",
            ArgKind::FloatLine => "floatnl",
            ArgKind::QuotedLine => "stringnl",
            ArgKind::PlainLine => "stringnl_noescape",
            ArgKind::PlainLinePair => "stringnl_noescape_pair",
            ArgKind::UnicodeLine => "unicodestringnl",
            ArgKind::String1 => "string1",
            ArgKind::String4 => "string4",
            ArgKind::Bytes1 => "bytes1",
            ArgKind::Bytes4 => "bytes4",
            ArgKind::Bytes8 => "bytes8",
            ArgKind::ByteArray8 => "bytearray8",
            ArgKind::Unicode1 => "unicodestring1",
            ArgKind::Unicode4 => "unicodestring4",
            ArgKind::Unicode8 => "unicodestring8",
            ArgKind::Long1 => "long1",
            ArgKind::Long4 => "long4",
        }
    }
}

/// What an opcode takes from or leaves on the stack, in pickletools' terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StackItem {
    /// Anything.
    Any,
    /// An int.
    Int,
    /// An int or a bool.
    IntOrBool,
    /// A bool.
    Bool,
    /// A float.
    Float,
    /// A Python 2 string.
    BytesOrStr,
    /// A bytes object.
    Bytes,
    /// A bytearray.
    ByteArray,
    /// A str.
    Str,
    /// None.
    None,
    /// A tuple.
    Tuple,
    /// A list.
    List,
    /// A dict.
    Dict,
    /// A set.
    Set,
    /// A frozenset.
    FrozenSet,
    /// An out-of-band buffer.
    Buffer,
    /// The topmost mark.
    Mark,
    /// Everything above the topmost mark.
    Slice,
}

impl StackItem {
    /// The name that Python's pickletools has for it.
    pub fn name(self) -> &'static str {
        match self {
            StackItem::Any => "any",
            StackItem::Int => "int",
            StackItem::IntOrBool => "int_or_bool",
            StackItem::Bool => "bool",
            StackItem::Float => "float",
            StackItem::BytesOrStr => "bytes_or_str",
            StackItem::Bytes => "bytes",
            StackItem::ByteArray => "bytearray",
            StackItem::Str => "str",
            StackItem::None => "None",
            StackItem::Tuple => "tuple",
            StackItem::List => "list",
            StackItem::Dict => "dict",
            StackItem::Set => "set",
            StackItem::FrozenSet => "frozenset",
            StackItem::Buffer => "buffer",
            StackItem::Mark => "mark",
            StackItem::Slice => "stackslice",
        }
    }
}

/// One opcode: a row of [`OPCODES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OpcodeInfo {
    /// The byte.
    pub byte: u8,
    /// The name, as Python's pickletools gives it.
    pub name: &'static str,
    /// How its argument is written.
    pub arg: ArgKind,
    /// The first protocol that has it.
    pub protocol: u8,
    /// What it takes from the stack, the top last.
    pub before: &'static [StackItem],
    /// What it leaves on the stack, the top last.
    pub after: &'static [StackItem],
    /// What it does, in one sentence; `{arg}` stands for the argument.
    pub meaning: &'static str,
}

impl OpcodeInfo {
    /// The opcode with this byte, or none.
    #[inline]
    pub fn of(byte: u8) -> Option<&'static OpcodeInfo> {
        OPCODES.get(usize::from(ROWS[usize::from(byte)]))
    }

    /// [`OpcodeInfo::meaning`] with the argument put in.
    pub fn explain(&self, arg: &str) -> Cow<'static, str> {
        if self.meaning.contains("{arg}") {
            Cow::Owned(self.meaning.replacen("{arg}", arg, 1))
        } else {
            Cow::Borrowed(self.meaning)
        }
    }
}

/// Declares the table, and a constant for each byte.
macro_rules! opcodes {
    ($($name:ident $byte:literal $arg:ident $protocol:literal
       [$($before:ident)*] [$($after:ident)*] $meaning:literal;)*) => {
        /// Every opcode of protocols 0 to 5, grouped by what they do.
        pub static OPCODES: [OpcodeInfo; [$($byte),*].len()] = [$(OpcodeInfo {
            byte: $byte,
            name: stringify!($name),
            arg: ArgKind::$arg,
            protocol: $protocol,
            before: &[$(StackItem::$before),*],
            after: &[$(StackItem::$after),*],
            meaning: $meaning,
        }),*];

        /// The opcodes' bytes, by name.
        pub mod byte {
            $(#[doc = $meaning] pub const $name: u8 = $byte;)*
        }

        /// For each byte, its row in `OPCODES`; 255 for none.
        static ROWS: [u8; 256] = {
            let bytes = [$($byte),*];
            let mut rows = [255; 256];
            let mut row = 0;
            while row < bytes.len() {
                rows[bytes[row] as usize] = row as u8;
                row += 1;
            }
            rows
        };
    };
}

opcodes! {
    INT b'I' DecimalShort 0 [] [IntOrBool] "Pushes the int {arg}, or a bool if written 00 or 01.";
    BININT b'J' Int4 1 [] [Int] "Pushes the int {arg}.";
    BININT1 b'K' Uint1 1 [] [Int] "Pushes the int {arg}.";
    BININT2 b'M' Uint2 1 [] [Int] "Pushes the int {arg}.";
    LONG b'L' DecimalLong 0 [] [Int] "Pushes the int {arg}.";
    LONG1 0x8a Long1 2 [] [Int] "Pushes the int {arg}.";
    LONG4 0x8b Long4 2 [] [Int] "Pushes the int {arg}.";
    STRING b'S' QuotedLine 0 [] [BytesOrStr] "Pushes the Python 2 string {arg}.";
    BINSTRING b'T' String4 1 [] [BytesOrStr] "Pushes the Python 2 string {arg}.";
    SHORT_BINSTRING b'U' String1 1 [] [BytesOrStr] "Pushes the Python 2 string {arg}.";
    BINBYTES b'B' Bytes4 3 [] [Bytes] "Pushes the bytes {arg}.";
    SHORT_BINBYTES b'C' Bytes1 3 [] [Bytes] "Pushes the bytes {arg}.";
    BINBYTES8 0x8e Bytes8 4 [] [Bytes] "Pushes the bytes {arg}.";
    BYTEARRAY8 0x96 ByteArray8 5 [] [ByteArray] "Pushes a new {arg}.";
    NEXT_BUFFER 0x97 None 5 [] [Buffer] "Pushes the next out-of-band buffer.";
    READONLY_BUFFER 0x98 None 5 [Buffer] [Buffer] "Makes the buffer on top of the stack read-only.";
    NONE b'N' None 0 [] [None] "Pushes None.";
    NEWTRUE 0x88 None 2 [] [Bool] "Pushes True.";
    NEWFALSE 0x89 None 2 [] [Bool] "Pushes False.";
    UNICODE b'V' UnicodeLine 0 [] [Str] "Pushes the str {arg}.";
    SHORT_BINUNICODE 0x8c Unicode1 4 [] [Str] "Pushes the str {arg}.";
    BINUNICODE b'X' Unicode4 1 [] [Str] "Pushes the str {arg}.";
    BINUNICODE8 0x8d Unicode8 4 [] [Str] "Pushes the str {arg}.";
    FLOAT b'F' FloatLine 0 [] [Float] "Pushes the float {arg}.";
    BINFLOAT b'G' Float8 1 [] [Float] "Pushes the float {arg}.";
    EMPTY_LIST b']' None 1 [] [List] "Pushes a new empty list.";
    APPEND b'a' None 0 [List Any] [List] "Pops a value and appends it to the list below.";
    APPENDS b'e' None 1 [List Mark Slice] [List]
        "Pops the values above the mark and appends them to the list below it.";
    LIST b'l' None 0 [Mark Slice] [List] "Makes a list of the values above the mark.";
    EMPTY_TUPLE b')' None 1 [] [Tuple] "Pushes the empty tuple.";
    TUPLE b't' None 0 [Mark Slice] [Tuple] "Makes a tuple of the values above the mark.";
    TUPLE1 0x85 None 2 [Any] [Tuple] "Makes a tuple of the top value.";
    TUPLE2 0x86 None 2 [Any Any] [Tuple] "Makes a tuple of the top two values.";
    TUPLE3 0x87 None 2 [Any Any Any] [Tuple] "Makes a tuple of the top three values.";
    EMPTY_DICT b'}' None 1 [] [Dict] "Pushes a new empty dict.";
    DICT b'd' None 0 [Mark Slice] [Dict]
        "Makes a dict of the keys and values that alternate above the mark.";
    SETITEM b's' None 0 [Dict Any Any] [Dict] "Pops a key and a value and sets them in the dict below.";
    SETITEMS b'u' None 1 [Dict Mark Slice] [Dict]
        "Pops the keys and values above the mark and sets them in the dict below it.";
    EMPTY_SET 0x8f None 4 [] [Set] "Pushes a new empty set.";
    ADDITEMS 0x90 None 4 [Set Mark Slice] [Set]
        "Pops the values above the mark and adds them to the set below it.";
    FROZENSET 0x91 None 4 [Mark Slice] [FrozenSet] "Makes a frozenset of the values above the mark.";
    POP b'0' None 0 [Any] [] "Drops the top value, or the mark if that is on top.";
    DUP b'2' None 0 [Any] [Any Any] "Pushes the top value once more.";
    MARK b'(' None 0 [] [Mark] "Sets a mark on the stack.";
    POP_MARK b'1' None 1 [Mark Slice] [] "Drops the mark and everything above it.";
    GET b'g' DecimalShort 0 [] [Any] "Pushes the value in memo slot {arg}.";
    BINGET b'h' Uint1 1 [] [Any] "Pushes the value in memo slot {arg}.";
    LONG_BINGET b'j' Uint4 1 [] [Any] "Pushes the value in memo slot {arg}.";
    PUT b'p' DecimalShort 0 [] [] "Notes the top value in memo slot {arg}.";
    BINPUT b'q' Uint1 1 [] [] "Notes the top value in memo slot {arg}.";
    LONG_BINPUT b'r' Uint4 1 [] [] "Notes the top value in memo slot {arg}.";
    MEMOIZE 0x94 None 4 [Any] [Any] "Notes the top value in the next memo slot.";
    EXT1 0x82 Uint1 2 [] [Any] "Pushes the object registered as extension {arg}.";
    EXT2 0x83 Uint2 2 [] [Any] "Pushes the object registered as extension {arg}.";
    EXT4 0x84 Int4 2 [] [Any] "Pushes the object registered as extension {arg}.";
    GLOBAL b'c' PlainLinePair 0 [] [Any] "Pushes the class or function {arg}.";
    STACK_GLOBAL 0x93 None 4 [Str Str] [Any]
        "Pops a module's name and a name in it, and pushes that class or function.";
    REDUCE b'R' None 0 [Any Any] [Any]
        "Pops a callable and its arguments, and pushes what calling it gives.";
    BUILD b'b' None 0 [Any Any] [Any] "Pops a state and gives it to the object below.";
    INST b'i' PlainLinePair 0 [Mark Slice] [Any]
        "Pushes what calling {arg} with the values above the mark gives.";
    OBJ b'o' None 1 [Mark Any Slice] [Any]
        "Pushes what calling the first value above the mark with the others gives.";
    NEWOBJ 0x81 None 2 [Any Any] [Any]
        "Pops a class and a tuple of arguments, and pushes a new object of the class.";
    NEWOBJ_EX 0x92 None 4 [Any Any Any] [Any]
        "Pops a class, a tuple and a dict of arguments, and pushes a new object of the class.";
    PROTO 0x80 Uint1 2 [] [] "Says that the pickle is of protocol {arg}.";
    STOP b'.' None 0 [Any] [] "Ends the pickle; the top value is its result.";
    FRAME 0x95 Uint8 4 [] [] "Says that the next {arg} bytes can be read at once.";
    PERSID b'P' PlainLine 0 [] [Any] "Pushes the object outside the pickle whose id is the text {arg}.";
    BINPERSID b'Q' None 1 [Any] [Any]
        "Pops an id and pushes the object outside the pickle that it stands for.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_unique_and_found() {
        for info in &OPCODES {
            assert_eq!(OpcodeInfo::of(info.byte).map(|found| found.name), Some(info.name));
        }
        let known = (0..=255).filter(|&byte| OpcodeInfo::of(byte).is_some()).count();
        assert_eq!(known, OPCODES.len());
        assert_eq!(known, 68);
    }

    #[test]
    fn meanings_are_one_sentence() {
        for info in &OPCODES {
            assert!(info.meaning.ends_with('.'), "{}", info.name);
            assert_eq!(
                info.meaning.contains("{arg}"),
                info.arg != ArgKind::None,
                "{} names its argument if it has one",
                info.name
            );
        }
        assert_eq!(
            OpcodeInfo::of(byte::BINPUT).map(|info| info.explain("7")).as_deref(),
            Some("Notes the top value in memo slot 7.")
        );
    }

    #[test]
    fn marks_come_with_their_slice() {
        for info in &OPCODES {
            let marks = info.before.contains(&StackItem::Mark);
            assert_eq!(marks, info.before.last() == Some(&StackItem::Slice), "{}", info.name);
        }
    }
}
