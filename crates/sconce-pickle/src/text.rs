//! The text forms inside pickles: integers, floats, escapes and UTF-8, read as CPython reads them.

use std::borrow::Cow;

use num_bigint::{BigInt, Sign};

/// Most decimal digits that CPython converts (`sys.int_info.default_max_str_digits`).
pub(crate) const MAX_DIGITS: usize = 4300;

/// An integer of any size.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Integer {
    Small(i64),
    Big(BigInt),
}

impl Integer {
    fn from_big(big: BigInt) -> Self {
        i64::try_from(&big).map_or_else(|_| Integer::Big(big), Integer::Small)
    }

    /// Reads a little-endian two's complement integer; no bytes are 0.
    #[inline]
    pub(crate) fn from_le(bytes: &[u8]) -> Self {
        let Some(&top) = bytes.last() else { return Integer::Small(0) };
        if bytes.len() > 8 {
            return Integer::from_big(BigInt::from_signed_bytes_le(bytes));
        }
        let mut wide = if top & 0x80 == 0 { [0; 8] } else { [0xff; 8] };
        wide[..bytes.len()].copy_from_slice(bytes);
        Integer::Small(i64::from_le_bytes(wide))
    }
}

/// Why a text is not an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IntegerError {
    Invalid,
    /// More decimal digits than CPython converts, and how many.
    TooLong(usize),
}

impl IntegerError {
    /// CPython's message; `literal` is the repr of the whole text.
    pub(crate) fn message(self, base: u32, literal: &str) -> String {
        match self {
            IntegerError::Invalid => {
                format!("invalid literal for int() with base {base}: {literal}")
            }
            IntegerError::TooLong(digits) => format!(
                "Exceeds the limit ({MAX_DIGITS} digits) for integer string conversion: value has \
                 {digits} digits; use sys.set_int_max_str_digits() to increase the limit"
            ),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text {
        if !is_space(*first) {
            break;
        }
        text = rest;
    }
    while let [rest @ .., last] = text {
        if !is_space(*last) {
            break;
        }
        text = rest;
    }
    text
}

/// Reads an integer literal as Python's `int(text, base)` does, for base 10 or 0 (which takes
/// prefixes such as `0x`): white space around it, a sign, underscores between digits.
pub(crate) fn parse_int(text: &[u8], base: u32) -> Result<Integer, IntegerError> {
    let mut digits = trim(text);
    let mut negative = false;
    if let [sign @ (b'+' | b'-'), rest @ ..] = digits {
        negative = *sign == b'-';
        digits = rest;
    }
    let mut radix = 10;
    let mut only_zeros = false;
    if base == 0 && digits.first() == Some(&b'0') {
        match digits.get(1).map(u8::to_ascii_lowercase) {
            Some(b'x') => radix = 16,
            Some(b'o') => radix = 8,
            Some(b'b') => radix = 2,
            _ => only_zeros = true,
        }
        if radix != 10 {
            digits = &digits[2..];
            digits = digits.strip_prefix(b"_").unwrap_or(digits);
        }
    }
    let mut plain = Vec::with_capacity(digits.len().min(MAX_DIGITS));
    let mut after_digit = false;
    for &byte in digits {
        if byte == b'_' && after_digit {
            after_digit = false;
            continue;
        }
        let digit = char::from(byte).to_digit(radix).ok_or(IntegerError::Invalid)?;
        if only_zeros && digit != 0 {
            return Err(IntegerError::Invalid);
        }
        plain.push(digit as u8);
        after_digit = true;
    }
    if !after_digit {
        return Err(IntegerError::Invalid);
    }
    if radix == 10 && plain.len() > MAX_DIGITS {
        return Err(IntegerError::TooLong(plain.len()));
    }
    let sign = if negative { Sign::Minus } else { Sign::Plus };
    BigInt::from_radix_be(sign, &plain, radix).map(Integer::from_big).ok_or(IntegerError::Invalid)
}

/// Reads an integer as C's `strtol(text, &end, 0)` does, if that takes the whole text and does not
/// overflow: unlike Python, a leading 0 means octal.
pub(crate) fn parse_c_long(text: &[u8]) -> Option<i64> {
    let start = text.iter().position(|&byte| !is_space(byte))?;
    let mut digits = &text[start..];
    let mut negative = false;
    if let [sign @ (b'+' | b'-'), rest @ ..] = digits {
        negative = *sign == b'-';
        digits = rest;
    }
    let radix = match digits {
        [b'0', b'x' | b'X', ..] => {
            digits = &digits[2..];
            16
        }
        [b'0', ..] => 8,
        _ => 10,
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    for &byte in digits {
        let digit = i64::from(char::from(byte).to_digit(radix)?);
        value = value.checked_mul(i64::from(radix))?;
        value = if negative { value.checked_sub(digit)? } else { value.checked_add(digit)? };
    }
    Some(value)
}

/// Reads a float as CPython's `PyOS_string_to_double` does: no white space, no underscores.
/// `None` if it is no float; an infinite result may mean overflow, which the caller judges.
pub(crate) fn parse_float(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads a float as Python's `float(text)` does: white space around it, underscores between digits.
pub(crate) fn parse_python_float(text: &[u8]) -> Option<f64> {
    let text = trim(text);
    if !text.contains(&b'_') {
        return parse_float(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    for (place, &byte) in text.iter().enumerate() {
        if byte != b'_' {
            plain.push(byte);
            continue;
        }
        let before = place.checked_sub(1).map(|before| text[before]);
        let after = text.get(place + 1);
        if !before.is_some_and(|b| b.is_ascii_digit()) || !after.is_some_and(u8::is_ascii_digit) {
            return None;
        }
    }
    parse_float(&plain)
}

/// Why bytes are no text in some encoding: what Python's UnicodeDecodeError holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DecodeError {
    codec: &'static str,
    start: usize,
    end: usize,
    first: u8,
    reason: &'static str,
}

impl DecodeError {
    /// `str()` of Python's exception.
    pub(crate) fn message(self) -> String {
        let DecodeError { codec, start, end, first, reason } = self;
        if end == start + 1 {
            format!("'{codec}' codec can't decode byte 0x{first:02x} in position {start}: {reason}")
        } else {
            let last = end - 1;
            format!("'{codec}' codec can't decode bytes in position {start}-{last}: {reason}")
        }
    }
}

/// Text that may hold lone surrogates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Text<'a> {
    Str(Cow<'a, str>),
    /// UTF-8 with surrogates in their three-byte forms.
    Surrogates(Vec<u8>),
}

impl Text<'_> {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Str(text) => text.as_bytes(),
            Text::Surrogates(bytes) => bytes,
        }
    }
}

/// Decodes UTF-8; with `surrogates`, also three-byte surrogates, which never join to pairs.
#[inline]
pub(crate) fn decode_utf8(bytes: &[u8], surrogates: bool) -> Result<Text<'_>, DecodeError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Text::Str(Cow::Borrowed(text))),
        Err(_) => decode_utf8_slowly(bytes, surrogates),
    }
}

#[cold]
fn decode_utf8_slowly(bytes: &[u8], surrogates: bool) -> Result<Text<'_>, DecodeError> {
    let mut start = 0;
    while let Err(error) = std::str::from_utf8(&bytes[start..]) {
        start += error.valid_up_to();
        let bad = &bytes[start..];
        if surrogates && matches!(bad, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]) {
            start += 3;
            continue;
        }
        // A lead byte that promises a sequence is at fault for as long as what follows fits.
        let (length, reason) = match error.error_len() {
            None => (bad.len(), "unexpected end of data"),
            Some(length) => match bad[0] {
                0xc2..=0xf4 => (length, "invalid continuation byte"),
                _ => (1, "invalid start byte"),
            },
        };
        return Err(DecodeError {
            codec: "utf-8",
            start,
            end: start + length,
            first: bad[0],
            reason,
        });
    }
    Ok(Text::Surrogates(bytes.to_vec()))
}

/// The first byte above 127, as the error of Python's ASCII codec.
pub(crate) fn check_ascii(bytes: &[u8]) -> Result<&str, DecodeError> {
    if let Some(start) = bytes.iter().position(|byte| !byte.is_ascii()) {
        let reason = "ordinal not in range(128)";
        return Err(DecodeError {
            codec: "ascii",
            start,
            end: start + 1,
            first: bytes[start],
            reason,
        });
    }
    Ok(std::str::from_utf8(bytes).unwrap_or_default())
}

/// Decodes raw-unicode-escape: Latin-1, with `\uXXXX` and `\UXXXXXXXX`; a backslash hides the byte
/// after it, and stays.
pub(crate) fn decode_raw_unicode_escape(bytes: &[u8]) -> Result<Text<'_>, DecodeError> {
    if !bytes.contains(&b'\\')
        && let Ok(text) = check_ascii(bytes)
    {
        return Ok(Text::Str(Cow::Borrowed(text)));
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while let Some(&byte) = bytes.get(place) {
        let start = place;
        place += 1;
        if byte != b'\\' {
            push_code_point(&mut out, u32::from(byte));
            continue;
        }
        let (count, truncated) = match bytes.get(place) {
            Some(b'u') => (4, "truncated \\uXXXX escape"),
            Some(b'U') => (8, "truncated \\UXXXXXXXX escape"),
            Some(&other) => {
                out.push(b'\\');
                push_code_point(&mut out, u32::from(other));
                place += 1;
                continue;
            }
            None => {
                out.push(b'\\');
                continue;
            }
        };
        place += 1;
        let digits = bytes[place..].iter().take(count).take_while(|b| b.is_ascii_hexdigit());
        let (seen, code) = digits.fold((0, 0u32), |(seen, code), &digit| {
            (seen + 1, code << 4 | char::from(digit).to_digit(16).unwrap_or(0))
        });
        place += seen;
        let reason = if seen < count {
            truncated
        } else if code > 0x10ffff {
            "\\Uxxxxxxxx out of range"
        } else {
            push_code_point(&mut out, code);
            continue;
        };
        let codec = "rawunicodeescape";
        return Err(DecodeError { codec, start, end: place, first: byte, reason });
    }
    Ok(match String::from_utf8(out) {
        Ok(text) => Text::Str(Cow::Owned(text)),
        Err(error) => Text::Surrogates(error.into_bytes()),
    })
}

/// Appends a code point, surrogates in their three-byte form.
fn push_code_point(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend_from_slice(&[
            0xe0 | (code >> 12) as u8,
            0x80 | (code >> 6 & 0x3f) as u8,
            0x80 | (code & 0x3f) as u8,
        ]),
    }
}

/// Undoes the backslash escapes of a Python bytes literal, as `codecs.escape_decode` does; the error
/// is CPython's message.
pub(crate) fn escape_decode(bytes: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    if !bytes.contains(&b'\\') {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while let Some(&byte) = bytes.get(place) {
        place += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&escape) = bytes.get(place) else { return Err("Trailing \\ in string".into()) };
        place += 1;
        match escape {
            b'\n' => {}
            b'\\' | b'\'' | b'"' => out.push(escape),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b'v' => out.push(11),
            b'a' => out.push(7),
            b'0'..=b'7' => {
                let mut code = u32::from(escape - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = bytes.get(place) else { break };
                    code = code << 3 | u32::from(digit - b'0');
                    place += 1;
                }
                out.push(code as u8);
            }
            b'x' => {
                let pair = bytes.get(place..place + 2).and_then(|pair| {
                    let high = char::from(pair[0]).to_digit(16)?;
                    let low = char::from(pair[1]).to_digit(16)?;
                    Some((high << 4 | low) as u8)
                });
                let Some(code) = pair else {
                    return Err(format!("invalid \\x escape at position {}", place - 2));
                };
                out.push(code);
                place += 2;
            }
            other => out.extend_from_slice(&[b'\\', other]),
        }
    }
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(text: &str, base: u32) -> Option<Integer> {
        parse_int(text.as_bytes(), base).ok()
    }

    #[test]
    fn integers_as_python_reads_them() {
        let cases: &[(&str, u32, Option<i64>)] = &[
            ("12", 10, Some(12)),
            (" +12\t", 10, Some(12)),
            ("-1_000", 10, Some(-1000)),
            ("1__0", 10, None),
            ("_1", 10, None),
            ("1_", 10, None),
            ("", 10, None),
            ("-", 10, None),
            ("0x10", 10, None),
            ("0x10", 0, Some(16)),
            ("0x_10", 0, Some(16)),
            ("0x", 0, None),
            ("0o17", 0, Some(15)),
            ("0b11", 0, Some(3)),
            ("007", 0, None),
            ("007", 10, Some(7)),
            ("00_0", 0, Some(0)),
            ("- 1", 10, None),
            ("9223372036854775807", 10, Some(i64::MAX)),
            ("-9223372036854775808", 0, Some(i64::MIN)),
        ];
        for &(text, base, want) in cases {
            assert_eq!(int(text, base), want.map(Integer::Small), "{text:?} base {base}");
        }
        assert!(matches!(int("9223372036854775808", 10), Some(Integer::Big(_))));
        assert!(parse_int(&[b'1'; 4300], 10).is_ok());
        assert_eq!(parse_int(&[b'1'; 4301], 10), Err(IntegerError::TooLong(4301)));
        assert!(parse_int(&[b"0x".as_slice(), &[b'1'; 9000]].concat(), 0).is_ok());
    }

    #[test]
    fn integers_as_c_reads_them() {
        let cases: &[(&str, Option<i64>)] = &[
            ("010", Some(8)),
            ("-0x1f", Some(-31)),
            (" 12", Some(12)),
            ("12 ", None),
            ("1_0", None),
            ("08", None),
            ("0x", None),
            ("", None),
            ("9223372036854775808", None),
            ("-9223372036854775808", Some(i64::MIN)),
        ];
        for &(text, want) in cases {
            assert_eq!(parse_c_long(text.as_bytes()), want, "{text:?}");
        }
    }

    #[test]
    fn little_endian_integers() {
        let cases: &[(&[u8], i64)] = &[
            (b"", 0),
            (b"\xff\x00", 255),
            (b"\xff\x7f", 32767),
            (b"\x00\xff", -256),
            (b"\x00\x80", -32768),
            (b"\x80", -128),
            (b"\x00\x00\x00\x00\x00\x00\x00\x80", i64::MIN),
            (b"\x05\x00\x00\x00\x00\x00\x00\x00\x00", 5),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", -1),
        ];
        for &(bytes, want) in cases {
            assert_eq!(Integer::from_le(bytes), Integer::Small(want), "{bytes:?}");
        }
        assert!(matches!(Integer::from_le(&[0, 0, 0, 0, 0, 0, 0, 128, 0]), Integer::Big(_)));
    }

    #[test]
    fn floats_as_python_reads_them() {
        let cases: &[(&str, Option<f64>, Option<f64>)] = &[
            ("1.5", Some(1.5), Some(1.5)),
            (".5", Some(0.5), Some(0.5)),
            ("5.", Some(5.0), Some(5.0)),
            ("-Infinity", Some(f64::NEG_INFINITY), Some(f64::NEG_INFINITY)),
            ("1e400", Some(f64::INFINITY), Some(f64::INFINITY)),
            (" 1.5 ", None, Some(1.5)),
            ("1_0.0", None, Some(10.0)),
            ("1_.0", None, None),
            ("0x1p3", None, None),
            ("1e", None, None),
            ("", None, None),
        ];
        for &(text, c, python) in cases {
            assert_eq!(parse_float(text.as_bytes()), c, "{text:?}");
            assert_eq!(parse_python_float(text.as_bytes()), python, "{text:?}");
        }
    }

    #[test]
    fn utf8_errors_are_pythons() {
        let cases: &[(&[u8], &str)] = &[
            (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
            (
                b"a\xc0\x80",
                "'utf-8' codec can't decode byte 0xc0 in position 1: invalid start byte",
            ),
            (
                b"\xed\xa0",
                "'utf-8' codec can't decode byte 0xed in position 0: invalid continuation byte",
            ),
            (
                b"a\xe2\x82",
                "'utf-8' codec can't decode bytes in position 1-2: unexpected end of data",
            ),
            (
                b"\xe2\x82a",
                "'utf-8' codec can't decode bytes in position 0-1: invalid continuation byte",
            ),
            (b"\xc3", "'utf-8' codec can't decode byte 0xc3 in position 0: unexpected end of data"),
            (
                b"\xf0\x9f\x98",
                "'utf-8' codec can't decode bytes in position 0-2: unexpected end of data",
            ),
            (
                b"\xed\xa0\x80\xff",
                "'utf-8' codec can't decode byte 0xff in position 3: invalid start byte",
            ),
        ];
        for &(bytes, want) in cases {
            let error = decode_utf8(bytes, true).expect_err(want);
            assert_eq!(error.message(), want);
        }
        assert_eq!(
            decode_utf8(b"a\xed\xa0\x80", true),
            Ok(Text::Surrogates(b"a\xed\xa0\x80".to_vec()))
        );
        assert!(decode_utf8(b"a\xed\xa0\x80", false).is_err());
    }

    #[test]
    fn raw_unicode_escapes() {
        let cases: &[(&[u8], Result<&str, &str>)] = &[
            (b"plain", Ok("plain")),
            (b"a\\u00e9\\U0001F600\xe9", Ok("aé😀é")),
            (b"\\x41\\\\u0041\\n", Ok("\\x41\\\\u0041\\n")),
            (b"\\\\\\u0041", Ok("\\\\A")),
            (b"a\\", Ok("a\\")),
            (
                b"\\u12",
                Err(
                    "'rawunicodeescape' codec can't decode bytes in position 0-3: truncated \\uXXXX escape",
                ),
            ),
            (
                b"\\U00110000",
                Err(
                    "'rawunicodeescape' codec can't decode bytes in position 0-9: \\Uxxxxxxxx out of range",
                ),
            ),
            (
                b"a\\u",
                Err(
                    "'rawunicodeescape' codec can't decode bytes in position 1-2: truncated \\uXXXX escape",
                ),
            ),
        ];
        for &(bytes, want) in cases {
            let got = decode_raw_unicode_escape(bytes).map_err(DecodeError::message);
            assert_eq!(
                got.as_ref().map(Text::as_bytes).map_err(String::as_str),
                want.map(str::as_bytes),
                "{bytes:?}"
            );
        }
        assert_eq!(
            decode_raw_unicode_escape(b"\\ud83d\\ude00"),
            Ok(Text::Surrogates(b"\xed\xa0\xbd\xed\xb8\x80".to_vec()))
        );
    }

    #[test]
    fn backslash_escapes() {
        type Case = (&'static [u8], Result<&'static [u8], &'static str>);
        let cases: &[Case] = &[
            (b"ab", Ok(b"ab")),
            (b"\\x41\\n\\'\\\"\\\\", Ok(b"A\n'\"\\")),
            (b"\\400\\1\\12\\1234", Ok(b"\0\x01\nS4")),
            (b"\\a\\b\\f\\v\\r\\t", Ok(b"\x07\x08\x0c\x0b\r\t")),
            (b"\\q\\", Err("Trailing \\ in string")),
            (b"\\q", Ok(b"\\q")),
            (b"a\\x4", Err("invalid \\x escape at position 1")),
            (b"a\\\nb", Ok(b"ab")),
        ];
        for &(bytes, want) in cases {
            let got = escape_decode(bytes);
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{bytes:?}");
        }
    }
}
