//! Numbers and texts, in the form that each protocol has for them.

use num_bigint::BigInt;

use super::error::EncodeError;
use super::output::Output;
use crate::arena::Value;
use crate::opcode::byte as op;
use crate::repr;

pub(super) fn bool(out: &mut Output<'_>, protocol: u8, truth: bool) {
    match (protocol >= 2, truth) {
        (true, true) => out.byte(op::NEWTRUE),
        (true, false) => out.byte(op::NEWFALSE),
        (false, true) => out.write(b"I01\n"),
        (false, false) => out.write(b"I00\n"),
    }
}

#[inline]
pub(super) fn int(out: &mut Output<'_>, protocol: u8, number: i64) {
    if let (Ok(small), true) = (i32::try_from(number), protocol >= 1) {
        match small {
            0..=0xff => out.write(&[op::BININT1, small as u8]),
            0x100..=0xffff => out.write(&[op::BININT2, small as u8, (small >> 8) as u8]),
            _ => {
                let [a, b, c, d] = small.to_le_bytes();
                out.write(&[op::BININT, a, b, c, d]);
            }
        }
        return;
    }
    wide_int(out, protocol, number);
}

#[cold]
fn wide_int(out: &mut Output<'_>, protocol: u8, number: i64) {
    if protocol >= 2 {
        let bytes = number.to_le_bytes();
        // As many bytes as keep the sign: one bit more than what differs from it.
        let bits = 65 - (number ^ (number >> 63)).leading_zeros();
        let length = bits.div_ceil(8) as usize;
        out.write(&[op::LONG1, length as u8]);
        out.write(&bytes[..length]);
    } else if i32::try_from(number).is_ok() {
        out.write(format!("I{number}\n").as_bytes());
    } else {
        out.write(format!("L{number}L\n").as_bytes());
    }
}

#[cold]
pub(super) fn big_int(
    out: &mut Output<'_>,
    protocol: u8,
    value: Value,
    number: &BigInt,
) -> Result<(), EncodeError> {
    if protocol < 2 {
        let mut line = String::from("L");
        if !repr::write_bigint(&mut line, number) {
            return Err(EncodeError::Digits(value));
        }
        line.push_str("L\n");
        out.write(line.as_bytes());
        return Ok(());
    }
    let bytes = number.to_signed_bytes_le();
    match (u8::try_from(bytes.len()), i32::try_from(bytes.len())) {
        (Ok(length), _) => out.write(&[op::LONG1, length]),
        (_, Ok(length)) => {
            out.byte(op::LONG4);
            out.write(&length.to_le_bytes());
        }
        _ => return Err(EncodeError::HugeInt(value)),
    }
    out.write(&bytes);
    Ok(())
}

pub(super) fn float(out: &mut Output<'_>, protocol: u8, number: f64) {
    if protocol >= 1 {
        let mut bytes = [op::BINFLOAT; 9];
        bytes[1..].copy_from_slice(&number.to_be_bytes());
        return out.write(&bytes);
    }
    let mut line = String::from("F");
    repr::write_float(&mut line, number);
    line.push('\n');
    out.write(line.as_bytes());
}

/// A str, given in UTF-8 with surrogates in their three-byte forms. `value` is for errors.
#[inline]
pub(super) fn text(
    out: &mut Output<'_>,
    protocol: u8,
    value: Value,
    utf8: &[u8],
) -> Result<(), EncodeError> {
    if protocol == 0 {
        raw_unicode_escape(out, utf8);
        return Ok(());
    }
    let forms = [op::SHORT_BINUNICODE, op::BINUNICODE, op::BINUNICODE8];
    let short = protocol >= 4;
    counted(out, protocol, short, forms, utf8).unwrap_or(Err(EncodeError::NeedsProtocol {
        value,
        what: "a str of 4 GiB or more",
        least: 4,
    }))
}

/// A bytes object, at protocol 3 or higher. `value` is for errors.
pub(super) fn bytes(
    out: &mut Output<'_>,
    protocol: u8,
    value: Value,
    data: &[u8],
) -> Result<(), EncodeError> {
    let forms = [op::SHORT_BINBYTES, op::BINBYTES, op::BINBYTES8];
    counted(out, protocol, true, forms, data).unwrap_or(Err(EncodeError::NeedsProtocol {
        value,
        what: "a bytes object of 4 GiB or more",
        least: 4,
    }))
}

/// A bytearray, at protocol 5.
pub(super) fn bytearray(out: &mut Output<'_>, data: &[u8]) -> Result<(), EncodeError> {
    let mut header = [op::BYTEARRAY8; 9];
    header[1..].copy_from_slice(&(data.len() as u64).to_le_bytes());
    Ok(out.counted(&header, data)?)
}

/// Writes the shortest of the forms with one, four and eight bytes of length; `None` if only the
/// last would do and the protocol is too low for it.
#[inline]
fn counted(
    out: &mut Output<'_>,
    protocol: u8,
    short: bool,
    [form1, form4, form8]: [u8; 3],
    data: &[u8],
) -> Option<Result<(), EncodeError>> {
    let length = data.len();
    let written = if short && length <= 0xff {
        out.counted(&[form1, length as u8], data)
    } else if let Ok(length) = u32::try_from(length) {
        let [a, b, c, d] = length.to_le_bytes();
        out.counted(&[form4, a, b, c, d], data)
    } else if protocol >= 4 {
        let mut header = [form8; 9];
        header[1..].copy_from_slice(&(length as u64).to_le_bytes());
        out.counted(&header, data)
    } else {
        return None;
    };
    Some(written.map_err(EncodeError::from))
}

/// UNICODE and its line: Latin-1, where what would end the line or not come back is escaped.
#[cold]
fn raw_unicode_escape(out: &mut Output<'_>, utf8: &[u8]) {
    out.byte(op::UNICODE);
    for code in code_points(utf8) {
        match code {
            0 | 0x0a | 0x0d | 0x1a | 0x5c | 0x100..=0xffff => {
                out.write(format!("\\u{code:04x}").as_bytes());
            }
            0x1_0000.. => out.write(format!("\\U{code:08x}").as_bytes()),
            _ => out.byte(code as u8),
        }
    }
    out.byte(b'\n');
}

/// The code points of UTF-8 that may hold surrogates in their three-byte forms.
fn code_points(utf8: &[u8]) -> impl Iterator<Item = u32> {
    let mut rest = utf8;
    std::iter::from_fn(move || {
        let (&lead, _) = rest.split_first()?;
        let length = match lead {
            0..=0xbf => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0.. => 4,
        };
        let (sequence, after) = rest.split_at_checked(length)?;
        rest = after;
        let first = if length == 1 { u32::from(lead) } else { u32::from(lead) & (0x7f >> length) };
        Some(sequence[1..].iter().fold(first, |code, &byte| code << 6 | u32::from(byte & 0x3f)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(write: impl FnOnce(&mut Output<'_>)) -> Vec<u8> {
        let mut out = Output::new(0, None);
        write(&mut out);
        out.finish().expect("no writer to fail")
    }

    #[test]
    fn ints_take_as_few_bytes_as_keep_the_sign() {
        let cases: &[(i64, &[u8])] = &[
            (0, b"K\x00"),
            (255, b"K\xff"),
            (256, b"M\x00\x01"),
            (65535, b"M\xff\xff"),
            (65536, b"J\x00\x00\x01\x00"),
            (-1, b"J\xff\xff\xff\xff"),
            (-(1 << 31), b"J\x00\x00\x00\x80"),
            (1 << 31, b"\x8a\x05\x00\x00\x00\x80\x00"),
            (-(1 << 31) - 1, b"\x8a\x05\xff\xff\xff\x7f\xff"),
            (-(1 << 39), b"\x8a\x05\x00\x00\x00\x00\x80"),
            (1 << 39, b"\x8a\x06\x00\x00\x00\x00\x80\x00"),
            (i64::MIN, b"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"),
            (i64::MAX, b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
        ];
        for &(number, expected) in cases {
            assert_eq!(made(|out| int(out, 2, number)), expected, "{number}");
        }
        assert_eq!(made(|out| int(out, 0, -5)), b"I-5\n");
        assert_eq!(made(|out| int(out, 1, 1 << 31)), b"L2147483648L\n");
    }

    #[test]
    fn lines_of_text() {
        let text = "a\0\n\r\x1a\\\u{e9}\u{100}\u{1f600}".as_bytes();
        let line = b"Va\\u0000\\u000a\\u000d\\u001a\\u005c\xe9\\u0100\\U0001f600\n";
        assert_eq!(made(|out| raw_unicode_escape(out, text)), line);
        assert_eq!(made(|out| raw_unicode_escape(out, b"\xed\xa0\x80")), b"V\\ud800\n");
    }
}
