//! Reads one instruction: an opcode and its argument, borrowed from the input.
//!
//! The machine, the disassembler and the tracer read through the same [`Reader`].

use crate::error::Error;
use crate::opcode::{ArgKind, OpcodeInfo};

/// One opcode of a pickle with its argument.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Instruction<'a> {
    /// Offset of the opcode from the start of the bytes.
    pub at: u64,
    /// The opcode.
    pub info: &'static OpcodeInfo,
    /// Its argument.
    pub arg: Arg<'a>,
    /// The opcode and its argument as they stand in the pickle.
    pub raw: &'a [u8],
}

/// An opcode's argument, as far as its layout tells: texts are not decoded yet.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Arg<'a> {
    /// The opcode has none.
    None,
    /// An unsigned integer of fixed width.
    Uint(u64),
    /// A signed integer of fixed width.
    Int(i32),
    /// A binary float.
    Float(f64),
    /// Counted bytes, of whatever the opcode says: UTF-8, bytes, an integer.
    Bytes(&'a [u8]),
    /// A line, without its newline.
    Line(&'a [u8]),
    /// Two lines, without their newlines.
    Lines(&'a [u8], &'a [u8]),
}

/// The instructions of one pickle in order, up to and with its STOP; an error ends them.
///
/// ```
/// let names: Vec<_> = sconce_pickle::instructions(b"\x80\x02K\x07.")
///     .map(|instruction| instruction.map(|i| i.info.name))
///     .collect::<Result<_, _>>()?;
/// assert_eq!(names, ["PROTO", "BININT1", "STOP"]);
/// # Ok::<(), sconce_pickle::Error>(())
/// ```
pub fn instructions(
    bytes: &[u8],
) -> impl Iterator<Item = Result<Instruction<'_>, Error>> + use<'_> {
    let mut reader = Reader::new(bytes);
    let mut done = false;
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let instruction = reader.instruction();
        done = instruction.as_ref().map_or(true, |i| i.info.byte == crate::opcode::byte::STOP);
        Some(instruction)
    })
}

/// A position in a pickle.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Offset of the opcode read last.
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader::starting_at(bytes, 0)
    }

    pub(crate) fn starting_at(bytes: &'a [u8], pos: usize) -> Self {
        Reader { bytes, pos: pos.min(bytes.len()), at: pos }
    }

    /// Offset of the opcode read last.
    #[inline]
    pub(crate) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Offset of the next byte.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// Goes past bytes.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Error> {
        self.take(count as u64).map(drop)
    }

    /// Reads an opcode's byte.
    #[inline]
    pub(crate) fn opcode(&mut self) -> Result<u8, Error> {
        match self.bytes.get(self.pos) {
            Some(&byte) => {
                self.at = self.pos;
                self.pos += 1;
                Ok(byte)
            }
            None => Err(Error::Exhausted { at: self.pos as u64 }),
        }
    }

    /// Checks that `needed` bytes are left, without reading them.
    #[inline]
    pub(crate) fn ensure(&self, needed: u64) -> Result<(), Error> {
        let left = (self.bytes.len() - self.pos) as u64;
        if needed > left { Err(self.truncated(needed)) } else { Ok(()) }
    }

    #[cold]
    fn truncated(&self, needed: u64) -> Error {
        let left = (self.bytes.len() - self.pos) as u64;
        Error::Truncated { at: self.at as u64, needed, left }
    }

    #[inline]
    pub(crate) fn take(&mut self, count: u64) -> Result<&'a [u8], Error> {
        self.ensure(count)?;
        // No more than the bytes left, so it fits.
        let end = self.pos + count as usize;
        let taken = &self.bytes[self.pos..end];
        self.pos = end;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.bytes[self.pos..].first_chunk() {
            Some(chunk) => {
                self.pos += N;
                Ok(*chunk)
            }
            None => Err(self.truncated(N as u64)),
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn i32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn f64(&mut self) -> Result<f64, Error> {
        self.array().map(f64::from_be_bytes)
    }

    /// Bytes counted by one byte.
    #[inline]
    pub(crate) fn counted1(&mut self) -> Result<&'a [u8], Error> {
        let count = self.u8()?;
        self.take(u64::from(count))
    }

    /// Bytes counted by four bytes, unsigned (as CPython takes them, BINSTRING's too).
    #[inline]
    pub(crate) fn counted4(&mut self) -> Result<&'a [u8], Error> {
        let count = self.u32()?;
        self.take(u64::from(count))
    }

    /// Bytes counted by eight bytes.
    #[inline]
    pub(crate) fn counted8(&mut self) -> Result<&'a [u8], Error> {
        let count = self.u64()?;
        self.take(count)
    }

    /// LONG4's bytes: a count that must not be negative.
    #[inline]
    pub(crate) fn long4(&mut self) -> Result<&'a [u8], Error> {
        let count = self.i32()?;
        match u64::try_from(count) {
            Ok(count) => self.take(count),
            Err(_) => Err(Error::argument(self.at(), "LONG pickle has negative byte count")),
        }
    }

    /// A line, without its newline.
    pub(crate) fn line(&mut self) -> Result<&'a [u8], Error> {
        let rest = &self.bytes[self.pos..];
        match rest.iter().position(|&byte| byte == b'\n') {
            Some(end) => {
                self.pos += end + 1;
                Ok(&rest[..end])
            }
            None => Err(self.truncated(rest.len() as u64 + 1)),
        }
    }

    /// A line that must not be empty: the machine's, since CPython takes an empty one for a cut.
    pub(crate) fn full_line(&mut self) -> Result<&'a [u8], Error> {
        let line = self.line()?;
        if line.is_empty() {
            return Err(Error::Truncated { at: self.at(), needed: 2, left: 1 });
        }
        Ok(line)
    }

    /// Reads an opcode and its argument.
    pub(crate) fn instruction(&mut self) -> Result<Instruction<'a>, Error> {
        let byte = self.opcode()?;
        let at = self.at;
        let Some(info) = OpcodeInfo::of(byte) else {
            return Err(Error::UnknownOpcode { at: at as u64, byte });
        };
        let arg = self.argument(info.arg)?;
        Ok(Instruction { at: at as u64, info, arg, raw: &self.bytes[at..self.pos] })
    }

    fn argument(&mut self, kind: ArgKind) -> Result<Arg<'a>, Error> {
        Ok(match kind {
            ArgKind::None => Arg::None,
            ArgKind::Uint1 => Arg::Uint(self.u8()?.into()),
            ArgKind::Uint2 => Arg::Uint(self.u16()?.into()),
            ArgKind::Uint4 => Arg::Uint(self.u32()?.into()),
            ArgKind::Uint8 => Arg::Uint(self.u64()?),
            ArgKind::Int4 => Arg::Int(self.i32()?),
            ArgKind::Float8 => Arg::Float(self.f64()?),
            ArgKind::DecimalShort
            | ArgKind::DecimalLong
            | ArgKind::FloatLine
            | ArgKind::QuotedLine
            | ArgKind::PlainLine
            | ArgKind::UnicodeLine => Arg::Line(self.line()?),
            ArgKind::PlainLinePair => {
                let first = self.line()?;
                Arg::Lines(first, self.line()?)
            }
            ArgKind::String1 | ArgKind::Bytes1 | ArgKind::Unicode1 | ArgKind::Long1 => {
                Arg::Bytes(self.counted1()?)
            }
            ArgKind::String4 | ArgKind::Bytes4 | ArgKind::Unicode4 => Arg::Bytes(self.counted4()?),
            ArgKind::Bytes8 | ArgKind::ByteArray8 | ArgKind::Unicode8 => {
                Arg::Bytes(self.counted8()?)
            }
            ArgKind::Long4 => Arg::Bytes(self.long4()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_every_layout() {
        let cases: &[(&[u8], Arg<'_>)] = &[
            (b"N", Arg::None),
            (b"K\xff", Arg::Uint(255)),
            (b"M\x01\x02", Arg::Uint(0x201)),
            (b"J\xff\xff\xff\xff", Arg::Int(-1)),
            (b"j\xff\xff\xff\xff", Arg::Uint(0xffff_ffff)),
            (b"\x95\x01\0\0\0\0\0\0\x80", Arg::Uint(1 << 63 | 1)),
            (b"G\x3f\xf8\0\0\0\0\0\0", Arg::Float(1.5)),
            (b"I12\n", Arg::Line(b"12")),
            (b"S'a'\n", Arg::Line(b"'a'")),
            (b"ca\nb\n", Arg::Lines(b"a", b"b")),
            (b"U\x01x", Arg::Bytes(b"x")),
            (b"X\x01\0\0\0x", Arg::Bytes(b"x")),
            (b"\x8e\x01\0\0\0\0\0\0\0x", Arg::Bytes(b"x")),
            (b"\x8b\x01\0\0\0x", Arg::Bytes(b"x")),
        ];
        for &(bytes, arg) in cases {
            let instruction = Reader::new(bytes).instruction().expect("valid");
            assert_eq!((instruction.arg, instruction.raw), (arg, bytes));
            // Cut anywhere, it is an error at the opcode.
            for end in 1..bytes.len() {
                let error = Reader::new(&bytes[..end]).instruction().expect_err("cut");
                assert!(matches!(error, Error::Truncated { at: 0, .. }), "{bytes:?} {error:?}");
            }
        }
    }

    #[test]
    fn huge_counts_say_what_is_missing() {
        let cases: &[(&[u8], u64)] = &[
            (b"X\xff\xff\xff\xffab", u64::from(u32::MAX)),
            (b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffab", u64::MAX),
            (b"\x8b\xff\xff\xff\x7fab", i32::MAX as u64),
        ];
        for &(bytes, needed) in cases {
            let error = Reader::new(bytes).instruction().expect_err("cut");
            assert_eq!(error, Error::Truncated { at: 0, needed, left: 2 });
        }
    }

    #[test]
    fn an_error_ends_the_instructions() {
        let got: Vec<_> = instructions(b"N\xffN.").collect();
        assert_eq!(got.len(), 2);
        assert_eq!(got[1], Err(Error::UnknownOpcode { at: 1, byte: 0xff }));
        assert_eq!(instructions(b"N.N").count(), 2);
    }
}
