//! Numbers and strings: where they end, and what they mean.

use crate::ast::Number;

/// How many bytes of a number `text` starts with, as C's `strtod` finds its end, and a `j`.
///
/// The first byte is a digit, or a point before a digit.
pub(crate) fn number_length(text: &[u8]) -> usize {
    let length = hexadecimal_length(text).unwrap_or_else(|| decimal_length(text));
    length + usize::from(text.get(length) == Some(&b'j'))
}

fn decimal_length(text: &[u8]) -> usize {
    let mut length = digits(text, 0, u8::is_ascii_digit);
    if text.get(length) == Some(&b'.') {
        length = digits(text, length + 1, u8::is_ascii_digit);
    }
    exponent(text, length, b'e')
}

/// `0x…` with at least one digit.
fn hexadecimal_length(text: &[u8]) -> Option<usize> {
    if text[0] != b'0' || !text.get(1)?.eq_ignore_ascii_case(&b'x') {
        return None;
    }
    let whole = digits(text, 2, u8::is_ascii_hexdigit);
    let mut length = whole;
    let mut any = whole > 2;
    if text.get(whole) == Some(&b'.') {
        length = digits(text, whole + 1, u8::is_ascii_hexdigit);
        any |= length > whole + 1;
    }
    any.then(|| exponent(text, length, b'p'))
}

fn digits(text: &[u8], from: usize, is_digit: impl Fn(&u8) -> bool) -> usize {
    text[from..].iter().position(|byte| !is_digit(byte)).map_or(text.len(), |count| from + count)
}

/// The end of the exponent at `from`, or `from` if there is none.
fn exponent(text: &[u8], from: usize, letter: u8) -> usize {
    if !text.get(from).is_some_and(|byte| byte.eq_ignore_ascii_case(&letter)) {
        return from;
    }
    let sign = matches!(text.get(from + 1), Some(b'+' | b'-'));
    let first = from + 1 + usize::from(sign);
    let end = digits(text, first.min(text.len()), u8::is_ascii_digit);
    if end > first { end } else { from }
}

/// What a number means, as `Const` of `tree_views.h` reads it: complex with a `j`, else a float
/// with a point or an `e`, else an integer to base 16 (`0x`), 8 (`0`) or 10.
///
/// # Errors
/// PyTorch's message for an integer that does not fit, or one for what sconce does not read.
pub(crate) fn number(text: &str, negative: bool) -> Result<Number, &'static str> {
    let hexadecimal = text.as_bytes().get(1).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'x'));
    let sign = if negative { -1.0 } else { 1.0 };
    if let Some(text) = text.strip_suffix('j') {
        return Ok(Number::Complex(sign * float(text, hexadecimal)?));
    }
    if text.contains('.') || !hexadecimal && text.contains(['e', 'E']) {
        return Ok(Number::Float(sign * float(text, hexadecimal)?));
    }
    integer(text, hexadecimal, negative).map(Number::Int)
}

fn float(text: &str, hexadecimal: bool) -> Result<f64, &'static str> {
    if hexadecimal {
        return Err("hexadecimal floating-point numbers are not supported");
    }
    text.parse().map_err(|_| "not a number")
}

fn integer(text: &str, hexadecimal: bool, negative: bool) -> Result<i64, &'static str> {
    let (digits, radix) = if hexadecimal {
        (&text[2..], 16)
    } else if text.len() > 1 && text.starts_with('0') {
        (&text[1..], 8)
    } else {
        (text, 10)
    };
    if !digits.bytes().all(|byte| (byte as char).is_digit(radix)) {
        return Err("ill-formed integer constant");
    }
    let magnitude = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
    i64::try_from(if negative { -magnitude } else { magnitude })
        .map_err(|_| "Integral constant out of range (must fit in a signed 64 bit integer)")
}

/// How long the string is that `text` starts with, quotes included; `None` if it does not end.
///
/// The first byte is a quote.
pub(crate) fn string_length(text: &[u8]) -> Option<usize> {
    let quote = text[0];
    let quotes = quotes(text);
    let mut at = quotes;
    loop {
        match *text.get(at)? {
            byte if byte == quote && closes(&text[at..], quotes) => return Some(at + quotes),
            b'\n' if quotes == 1 => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// How many quotes open the string: one or three.
fn quotes(text: &[u8]) -> usize {
    if closes(text, 3) { 3 } else { 1 }
}

fn closes(text: &[u8], quotes: usize) -> bool {
    text.len() >= quotes && text[..quotes].iter().all(|&byte| byte == text[0])
}

/// Adds what a quoted string means to `into`.
///
/// # Errors
/// PyTorch's message for an escape it does not know. `\r` is understood here: PyTorch writes it.
pub(crate) fn unquote(text: &str, into: &mut Vec<u8>) -> Result<(), &'static str> {
    let quotes = quotes(text.as_bytes());
    let mut rest = &text.as_bytes()[quotes..text.len() - quotes];
    while let Some(backslash) = rest.iter().position(|&byte| byte == b'\\') {
        into.extend_from_slice(&rest[..backslash]);
        let (byte, length) = escape(&rest[backslash + 1..])?;
        into.push(byte);
        rest = &rest[backslash + 1 + length..];
    }
    into.extend_from_slice(rest);
    Ok(())
}

/// The byte that an escape stands for and the length of the escape, both without the backslash.
fn escape(text: &[u8]) -> Result<(u8, usize), &'static str> {
    let byte = match text {
        [byte @ (b'\\' | b'\'' | b'"' | b'\n'), ..] => *byte,
        [b'a', ..] => 0x07,
        [b'b', ..] => 0x08,
        [b'f', ..] => 0x0c,
        [b'n', ..] => b'\n',
        [b'r', ..] => b'\r',
        [b't', ..] => b'\t',
        [b'v', ..] => 0x0b,
        [b'x', ..] => return Err("unsupported hex specifier"),
        [b'u' | b'U', ..] => return Err("unsupported unicode specifier"),
        [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] => {
            return Ok(((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'), 3));
        }
        _ => return Err(" ill formed octal specifier"),
    };
    Ok((byte, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_strtod_ends_them() {
        let cases = [
            ("1", 1),
            ("12a", 2),
            ("1.", 2),
            ("1..2", 2),
            (".5", 2),
            ("1.5e3x", 5),
            ("1e", 1),
            ("1e+", 1),
            ("1e+5", 4),
            ("1E-5", 4),
            ("1j", 2),
            ("1.5jj", 4),
            ("0x1F", 4),
            ("0x", 1),
            ("0xg", 1),
            ("0x.8p1", 6),
            ("0x.", 1),
            ("0x1p", 3),
            ("1_000", 1),
            ("007", 3),
        ];
        for (text, length) in cases {
            assert_eq!(number_length(text.as_bytes()), length, "{text}");
        }
    }

    #[test]
    fn numbers_mean_what_pytorch_reads() {
        let cases = [
            ("1", false, Number::Int(1)),
            ("0", true, Number::Int(0)),
            ("010", false, Number::Int(8)),
            ("0x1F", true, Number::Int(-31)),
            ("9223372036854775808", true, Number::Int(i64::MIN)),
            ("1.", false, Number::Float(1.0)),
            ("1e3", true, Number::Float(-1000.0)),
            ("1e999", false, Number::Float(f64::INFINITY)),
            ("2j", true, Number::Complex(-2.0)),
            ("1.5e1j", false, Number::Complex(15.0)),
        ];
        for (text, negative, value) in cases {
            assert_eq!(number(text, negative), Ok(value), "{text}");
        }
        for text in ["9223372036854775808", "99999999999999999999999999999999999999999999"] {
            assert!(number(text, false).unwrap_err().starts_with("Integral constant out of range"));
        }
        assert!(number("09", false).is_err());
        assert!(number("0x1.8p1", false).is_err());
        assert!(number("0x1p1", false).is_err());
    }

    #[test]
    fn strings_end_at_their_quotes() {
        let cases = [
            (r#""a" "b""#, Some(3)),
            (r#"'a"b'c"#, Some(5)),
            (r#""a\"b"c"#, Some(6)),
            ("\"a\nb\"", None),
            ("\"\"\"a\n\"b\"\"\"", Some(10)),
            (r#""""#, Some(2)),
            (r#""\"#, None),
            (r#"""""#, None),
            ("\"a\\\nb\"", Some(6)),
        ];
        for (text, length) in cases {
            assert_eq!(string_length(text.as_bytes()), length, "{text}");
        }
    }

    #[test]
    fn escapes() {
        let cases: [(&str, Result<&[u8], &str>); 8] = [
            (r#""\\\'\"\a\b\f\n\r\t\v""#, Ok(b"\\'\"\x07\x08\x0c\n\r\t\x0b")),
            (r#""\001\377\0601""#, Ok(b"\x01\xff01")),
            ("'a\\\nb'", Ok(b"a\nb")),
            (r#""\x41""#, Err("unsupported hex specifier")),
            (r#""\u0041""#, Err("unsupported unicode specifier")),
            (r#""\400""#, Err(" ill formed octal specifier")),
            (r#""\01""#, Err(" ill formed octal specifier")),
            (r#""\q""#, Err(" ill formed octal specifier")),
        ];
        for (text, expected) in cases {
            let mut bytes = Vec::new();
            let said = unquote(text, &mut bytes).map(|()| bytes.as_slice());
            assert_eq!(said, expected, "{text}");
        }
    }
}
