//! Python's `repr` of the plain values, exactly as CPython 3.11 writes it.
//!
//! Each function appends to a `String`, so that a long line is built in one buffer.

mod printable;

use std::fmt::Write;

use num_bigint::BigInt;

use printable::is_printable;

/// Bits below which an integer surely has no more than 4300 digits (10^4300 has 14285 bits).
const SAFE_BITS: u64 = 14284;

/// Appends `repr` of a str.
///
/// ```
/// let mut out = String::new();
/// sconce_pickle::repr::write_str(&mut out, "it's\u{a0}\n");
/// assert_eq!(out, r#""it's\xa0\n""#);
/// ```
pub fn write_str(out: &mut String, text: &str) {
    write_wtf8(out, text.as_bytes());
}

/// Appends `repr` of a str that may hold lone surrogates, in UTF-8 extended with their three-byte
/// forms. Other bytes that are no UTF-8 are shown as `\xNN`.
pub fn write_wtf8(out: &mut String, bytes: &[u8]) {
    let quote = quote_for(bytes);
    out.push(char::from(quote));
    let mut rest = bytes;
    loop {
        let (text, after) = match std::str::from_utf8(rest) {
            Ok(text) => (text, None),
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                (std::str::from_utf8(good).unwrap_or_default(), Some(bad))
            }
        };
        for c in text.chars() {
            push_char(out, c, quote);
        }
        match after {
            None => break,
            Some([0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, tail @ ..]) => {
                let code = 0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
                push_format(out, format_args!("\\u{code:04x}"));
                rest = tail;
            }
            Some([byte, tail @ ..]) => {
                push_format(out, format_args!("\\x{byte:02x}"));
                rest = tail;
            }
            Some([]) => break,
        }
    }
    out.push(char::from(quote));
}

/// Appends `repr` of a bytes object: `b'…'`.
pub fn write_bytes(out: &mut String, bytes: &[u8]) {
    let quote = quote_for(bytes);
    write_quoted_bytes(out, bytes, quote, quote);
}

/// Appends `repr` of a bytearray: `bytearray(b'…')`.
pub fn write_bytearray(out: &mut String, bytes: &[u8]) {
    out.push_str("bytearray(");
    // Unlike in a bytes object, CPython escapes single quotes within double ones too.
    write_quoted_bytes(out, bytes, quote_for(bytes), b'\'');
    out.push(')');
}

/// Appends `b"…"` with the given quotes and a backslash before each `escaped`.
fn write_quoted_bytes(out: &mut String, bytes: &[u8], quote: u8, escaped: u8) {
    out.push('b');
    out.push(char::from(quote));
    for &byte in bytes {
        match byte {
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            0x20..=0x7e => {
                if byte == escaped || byte == b'\\' {
                    out.push('\\');
                }
                out.push(char::from(byte));
            }
            _ => push_format(out, format_args!("\\x{byte:02x}")),
        }
    }
    out.push(char::from(quote));
}

/// Appends `repr` of a float: the shortest digits that read back the same.
///
/// ```
/// let mut out = String::new();
/// sconce_pickle::repr::write_float(&mut out, 1e16);
/// assert_eq!(out, "1e+16");
/// ```
pub fn write_float(out: &mut String, value: f64) {
    if value.is_nan() {
        return out.push_str("nan");
    }
    if value.is_infinite() {
        return out.push_str(if value < 0.0 { "-inf" } else { "inf" });
    }
    let (digits, exponent) = shortest_digits(value.abs());
    if value.is_sign_negative() {
        out.push('-');
    }
    let (first, rest) = digits.split_at(1);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let point = if rest.is_empty() { "" } else { "." };
        push_format(out, format_args!("{first}{point}{rest}e{sign}{:02}", exponent.abs()));
        return;
    }
    match usize::try_from(exponent + 1) {
        // The point is among the digits or after them.
        Ok(whole @ 1..) => {
            let (before, after) = digits.split_at(whole.min(digits.len()));
            let zeros = whole - before.len();
            let after = if after.is_empty() { "0" } else { after };
            push_format(out, format_args!("{before}{:0<zeros$}.{after}", ""));
        }
        _ => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            push_format(out, format_args!("0.{:0<zeros$}{digits}", ""));
        }
    }
}

/// The fewest decimal digits that read back as the value, and the exponent of the first one. Of
/// several such, those nearest to the value; of two as near, the even ones, as Python has it.
fn shortest_digits(value: f64) -> (String, i32) {
    let shortest = format!("{value:e}");
    let places = shortest.bytes().take_while(|&byte| byte != b'e').filter(u8::is_ascii_digit);
    // Rust's shortest form breaks ties upwards; its form of a given length breaks them to even.
    let precision = places.count() - 1;
    let rounded = format!("{value:.precision$e}");
    let chosen = if rounded.parse() == Ok(value) { rounded } else { shortest };
    let (mantissa, exponent) = chosen.split_once('e').unwrap_or((&chosen, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// Appends `repr` of an int, in decimal; gives `false`, and appends nothing, if it has more than
/// 4300 digits, which CPython refuses to write (and which would take quadratic time).
#[must_use]
pub fn write_bigint(out: &mut String, value: &BigInt) -> bool {
    // A decimal digit takes more than 3.3 bits, so this is at most two digits too many to look at.
    if value.bits() > SAFE_BITS + 4 {
        return false;
    }
    let digits = value.to_string();
    if digits.trim_start_matches('-').len() > crate::text::MAX_DIGITS {
        return false;
    }
    out.push_str(&digits);
    true
}

/// Whether a text is an expression of Python that names something: ASCII identifiers with dots between them, no keywords.
///
/// ```
/// use sconce_pickle::repr::is_dotted_name;
///
/// assert!(is_dotted_name("torch.nn.Linear"));
/// assert!(!is_dotted_name("a.class") && !is_dotted_name("f()") && !is_dotted_name(""));
/// ```
pub fn is_dotted_name(name: &str) -> bool {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
    ];
    let part = |part: &str| {
        let mut chars = part.chars();
        let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') && !KEYWORDS.contains(&part)
    };
    name.split('.').all(part)
}

/// `repr` of the start of a literal, for messages.
pub(crate) fn str_repr_lossy(bytes: &[u8]) -> String {
    let mut out = String::new();
    write_wtf8(&mut out, &bytes[..bytes.len().min(200)]);
    out
}

/// Single quotes, unless only they occur within.
fn quote_for(bytes: &[u8]) -> u8 {
    if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' }
}

fn push_char(out: &mut String, c: char, quote: u8) {
    match c {
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\\' => out.push_str("\\\\"),
        c if c == char::from(quote) => out.extend(['\\', c]),
        c if is_printable(c) => out.push(c),
        c => {
            let code = u32::from(c);
            match code {
                0..=0xff => push_format(out, format_args!("\\x{code:02x}")),
                0x100..=0xffff => push_format(out, format_args!("\\u{code:04x}")),
                _ => push_format(out, format_args!("\\U{code:08x}")),
            }
        }
    }
}

fn push_format(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn strs() {
        let cases = [
            ("", "''"),
            ("abc", "'abc'"),
            ("it's", "\"it's\""),
            ("'\"", "'\\'\"'"),
            ("\"", "'\"'"),
            ("a\\b\t\r\n\0\x7f", "'a\\\\b\\t\\r\\n\\x00\\x7f'"),
            ("é中😀", "'é中😀'"),
            ("\u{a0}\u{ad}\u{200b}\u{2028}", "'\\xa0\\xad\\u200b\\u2028'"),
            ("\u{e0001}\u{10ffff}", "'\\U000e0001\\U0010ffff'"),
        ];
        for (text, want) in cases {
            assert_eq!(made(|out| write_str(out, text)), want);
        }
        assert_eq!(
            made(|out| write_wtf8(out, b"a\xed\xa0\xbd\xed\xb8\x80z")),
            "'a\\ud83d\\ude00z'"
        );
    }

    #[test]
    fn bytes() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "b''"),
            (b"a'b", "b\"a'b\""),
            (b"'\"", "b'\\'\"'"),
            (b"\0\t\n\r\x0b\\\x7f\xff~", "b'\\x00\\t\\n\\r\\x0b\\\\\\x7f\\xff~'"),
        ];
        for &(bytes, want) in cases {
            assert_eq!(made(|out| write_bytes(out, bytes)), want);
        }
        assert_eq!(made(|out| write_bytearray(out, b"a\"")), "bytearray(b'a\"')");
        assert_eq!(made(|out| write_bytearray(out, b"x'")), "bytearray(b\"x\\'\")");
    }

    #[test]
    fn floats() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.5e-7, "-1.5e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5000804748925517.0 / 4.0, "1250201187231379.2"),
            (-1375516933213529.0 / 8.0, "-171939616651691.12"),
            (0.00012345, "0.00012345"),
            (120.0, "120.0"),
            (1.5e300, "1.5e+300"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, want) in cases {
            assert_eq!(made(|out| write_float(out, value)), want);
        }
    }

    #[test]
    fn ints_up_to_the_digit_limit() {
        let most = BigInt::from(10).pow(4300) - 1;
        let mut out = String::new();
        assert!(write_bigint(&mut out, &most));
        assert_eq!(out, "9".repeat(4300));
        assert!(write_bigint(&mut out, &-most.clone()));
        assert!(!write_bigint(&mut out, &(most + 1)));
        assert!(!write_bigint(&mut out, &(BigInt::from(1) << 1_000_000u32)));
    }
}
