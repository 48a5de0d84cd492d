//! Numbers, strings and constants as graphs write them.

use std::fmt::{self, Write};
use std::sync::Arc;

use super::lexer::{Lexer, Token, unquote};
use super::read::ParseError;
use super::types;
use crate::{Attribute, Constant, EnumType, Type};

/// A float as C++ streams write it with 17 digits, integral ones below 1e10 with a point: `1.`,
/// `2.5`, `0.10000000000000001`, `10000000000`.
pub(crate) fn write_float(out: &mut impl Write, value: f64) -> fmt::Result {
    if value.is_finite() && value.abs() < 1e10 && value == value.trunc() && !value.is_subnormal() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return write!(out, "{sign}{}.", value.abs() as i64);
    }
    if value.is_nan() {
        return out.write_str(if value.is_sign_negative() { "-nan" } else { "nan" });
    }
    if value.is_infinite() {
        return out.write_str(if value < 0.0 { "-inf" } else { "inf" });
    }
    general(out, value)
}

/// C's `%.17g`.
fn general(out: &mut impl Write, value: f64) -> fmt::Result {
    let text = format!("{value:.16e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return out.write_str(&text) };
    let Ok(exponent) = exponent.parse::<i32>() else { return out.write_str(&text) };
    if (-4..17).contains(&exponent) {
        let digits = format!("{value:.*}", (16 - exponent) as usize);
        let digits = if digits.contains('.') { digits.trim_end_matches('0') } else { &digits };
        return out.write_str(digits.trim_end_matches('.'));
    }
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "{mantissa}e{sign}{:02}", exponent.abs())
}

/// `2.+3.j`
pub(super) fn write_complex(out: &mut impl Write, re: f64, im: f64) -> fmt::Result {
    write_float(out, re)?;
    if im.is_nan() || im >= 0.0 {
        out.write_char('+')?;
    }
    write_float(out, im)?;
    out.write_char('j')
}

/// A string in quotes. Bytes above 127 come out as PyTorch's octal arithmetic on signed chars makes
/// them (`é` is `\0)+\/.)`); [`unescape_octal`] undoes it.
pub(crate) fn write_quoted(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for &byte in text.as_bytes() {
        match byte {
            b'\\' => out.write_str("\\\\")?,
            b'\'' => out.write_str("\\'")?,
            b'"' => out.write_str("\\\"")?,
            0x07 => out.write_str("\\a")?,
            0x08 => out.write_str("\\b")?,
            0x0c => out.write_str("\\f")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x0b => out.write_str("\\v")?,
            0x20..=0x7e => out.write_char(byte as char)?,
            _ => {
                let value = i32::from(byte as i8);
                out.write_char('\\')?;
                for digit in [value / 64, value / 8 % 8, value % 8] {
                    out.write_char(char::from((i32::from(b'0') + digit) as u8))?;
                }
            }
        }
    }
    out.write_char('"')
}

/// The byte of three digits written after a backslash.
pub(super) fn unescape_octal(digits: &[u8]) -> Option<u8> {
    let [a, b, c] = *digits else { return None };
    let digit = |byte: u8| {
        let digit = i32::from(byte) - i32::from(b'0');
        (-7..8).contains(&digit).then_some(digit)
    };
    let value = digit(a)? * 64 + digit(b)? * 8 + digit(c)?;
    (-128..256).contains(&value).then_some(value as u8)
}

/// What an attribute or a default value says, before its type is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Str(Arc<str>),
    Device(Arc<str>),
    Generator(Arc<str>, u64),
    List(Vec<Literal>),
    Tuple(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
    /// A list or dict with its type.
    Typed(Type, Box<Literal>),
    /// The member of an enum, with the enum's name.
    Member(Arc<str>),
}

/// How deep constants may nest.
const MAX_DEPTH: usize = 64;

/// Reads a literal.
pub(super) fn read(lexer: &mut Lexer<'_>) -> Result<Literal, ParseError> {
    read_at(lexer, 0)
}

fn read_at(lexer: &mut Lexer<'_>, depth: usize) -> Result<Literal, ParseError> {
    if depth == MAX_DEPTH {
        return Err(lexer.error("the value nests too deeply"));
    }
    match lexer.peek() {
        Token::Number(_) => read_number(lexer),
        Token::Text(text) => {
            let text = unquote(text).map_err(|message| lexer.error(message))?;
            lexer.next();
            Ok(Literal::Str(text.into()))
        }
        Token::Sign('[') => read_items(lexer, ']', depth).map(Literal::List),
        Token::Sign('(') => read_items(lexer, ')', depth).map(Literal::Tuple),
        Token::Sign('{') => read_dict(lexer, depth).map(Literal::Dict),
        Token::Word(word) => read_word(lexer, word, depth),
        _ => Err(lexer.unexpected("a value")),
    }
}

fn read_word(lexer: &mut Lexer<'_>, word: &str, depth: usize) -> Result<Literal, ParseError> {
    if word.starts_with("inf") || word.starts_with("nan") {
        return read_number(lexer);
    }
    lexer.next();
    match word {
        "None" => Ok(Literal::None),
        "True" => Ok(Literal::Bool(true)),
        "False" => Ok(Literal::Bool(false)),
        "annotate" => {
            lexer.expect('(')?;
            let ty = types::read(lexer, None)?;
            lexer.expect(',')?;
            let value = read_at(lexer, depth + 1)?;
            lexer.expect(')')?;
            Ok(Literal::Typed(ty, Box::new(value)))
        }
        "torch.device" => {
            lexer.expect('(')?;
            let device = read_text(lexer)?;
            lexer.expect(')')?;
            Ok(Literal::Device(device))
        }
        "torch.Generator" => {
            lexer.expect('(')?;
            let device = read_field(lexer, "device").and_then(|()| read_text(lexer))?;
            lexer.expect(',')?;
            read_field(lexer, "seed")?;
            let Token::Number(seed) = lexer.peek() else { return Err(lexer.unexpected("a seed")) };
            let seed = seed.parse().map_err(|_| lexer.error("the seed is no integer"))?;
            lexer.next();
            lexer.expect(')')?;
            Ok(Literal::Generator(device, seed))
        }
        _ => Ok(Literal::Member(word.into())),
    }
}

fn read_field(lexer: &mut Lexer<'_>, name: &str) -> Result<(), ParseError> {
    if lexer.accept_word(name) { lexer.expect('=') } else { Err(lexer.unexpected(name)) }
}

fn read_text(lexer: &mut Lexer<'_>) -> Result<Arc<str>, ParseError> {
    let Token::Text(text) = lexer.peek() else { return Err(lexer.unexpected("a string")) };
    let text = unquote(text).map_err(|message| lexer.error(message))?;
    lexer.next();
    Ok(text.into())
}

fn read_items(
    lexer: &mut Lexer<'_>,
    close: char,
    depth: usize,
) -> Result<Vec<Literal>, ParseError> {
    lexer.next();
    let mut items = Vec::new();
    while !lexer.accept(close) {
        if !items.is_empty() {
            lexer.expect(',')?;
            if lexer.accept(close) {
                break;
            }
        }
        items.push(read_at(lexer, depth + 1)?);
    }
    Ok(items)
}

fn read_dict(lexer: &mut Lexer<'_>, depth: usize) -> Result<Vec<(Literal, Literal)>, ParseError> {
    lexer.next();
    let mut items = Vec::new();
    while !lexer.accept('}') {
        if !items.is_empty() {
            lexer.expect(',')?;
        }
        let key = read_at(lexer, depth + 1)?;
        lexer.expect(':')?;
        items.push((key, read_at(lexer, depth + 1)?));
    }
    Ok(items)
}

/// An int, a float or a complex number, which is two numbers in a row.
fn read_number(lexer: &mut Lexer<'_>) -> Result<Literal, ParseError> {
    let (first, imaginary) = read_real(lexer)?;
    if imaginary {
        return Ok(Literal::Complex(0.0, float_of(&first)));
    }
    let plus = lexer.accept('+');
    let signed = match lexer.peek() {
        Token::Number(text) => text.starts_with('-'),
        _ => false,
    };
    if !plus && !signed {
        return Ok(first);
    }
    match read_real(lexer)? {
        (second, true) => Ok(Literal::Complex(float_of(&first), float_of(&second))),
        _ => Err(lexer.error("expected an imaginary part")),
    }
}

fn float_of(literal: &Literal) -> f64 {
    match literal {
        Literal::Int(value) => *value as f64,
        Literal::Float(value) => *value,
        _ => f64::NAN,
    }
}

/// A number, and whether a `j` came after it.
fn read_real(lexer: &mut Lexer<'_>) -> Result<(Literal, bool), ParseError> {
    let (Token::Number(text) | Token::Word(text)) = lexer.peek() else {
        return Err(lexer.unexpected("a number"));
    };
    let real = text.strip_suffix('j').unwrap_or(text);
    let literal = match real.parse::<i64>() {
        Ok(value) => Literal::Int(value),
        Err(_) => match real.trim_start_matches('-') {
            // Rust would take `infinity` as well.
            "inf" | "nan" => Literal::Float(real.parse().unwrap_or(f64::NAN)),
            digits if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                match real.parse() {
                    Ok(value) => Literal::Float(value),
                    Err(_) => return Err(lexer.error("not a number")),
                }
            }
            _ => return Err(lexer.error("not a number")),
        },
    };
    lexer.next();
    Ok((literal, real.len() < text.len()))
}

/// Reads the value of a `prim::Constant` of a type.
pub(super) fn read_value(lexer: &mut Lexer<'_>, ty: &Type) -> Result<Attribute, ParseError> {
    let literal = read(lexer)?;
    let constant = constant_of(literal, ty)
        .ok_or_else(|| lexer.error(format!("the value is not of type {ty}")))?;
    Ok(match constant {
        Constant::Bool(value) => Attribute::Int(i64::from(value)),
        Constant::Int(value) => Attribute::Int(value),
        Constant::Float(value) => Attribute::Float(value),
        Constant::Complex(re, im) => Attribute::Complex(re, im),
        Constant::Str(text) | Constant::Device(text) => Attribute::Str(text),
        other => Attribute::Value(other),
    })
}

/// Reads a constant of a type.
pub(super) fn read_constant(lexer: &mut Lexer<'_>, ty: &Type) -> Result<Constant, ParseError> {
    let literal = read(lexer)?;
    constant_of(literal, ty).ok_or_else(|| lexer.error(format!("the value is not of type {ty}")))
}

/// The constant that a literal is as a value of a type; recursion is as deep as the literal.
fn constant_of(literal: Literal, ty: &Type) -> Option<Constant> {
    Some(match (literal, ty) {
        (Literal::None, _) => Constant::None,
        (literal, Type::Optional(of)) => return constant_of(literal, of),
        (literal, Type::Union(members)) => {
            return members.iter().find_map(|member| constant_of(literal.clone(), member));
        }
        (Literal::Typed(ty, value), _) => return constant_of(*value, &ty),
        (Literal::Bool(value), _) => Constant::Bool(value),
        (Literal::Int(value), Type::Bool) => Constant::Bool(value != 0),
        (Literal::Int(value), Type::Float) => Constant::Float(value as f64),
        (Literal::Int(value), _) => Constant::Int(value),
        (Literal::Float(value), _) => Constant::Float(value),
        (Literal::Complex(re, im), _) => Constant::Complex(re, im),
        (Literal::Str(text), Type::Device) | (Literal::Device(text), _) => Constant::Device(text),
        (Literal::Str(text), _) => Constant::Str(text),
        (Literal::Generator(device, seed), _) => Constant::Generator(device, seed),
        (Literal::List(items), Type::List(element)) => {
            let items = items.into_iter().map(|item| constant_of(item, element));
            Constant::List(Type::clone(element), items.collect::<Option<_>>()?)
        }
        (Literal::Dict(items), Type::Dict(of)) => {
            let items = items
                .into_iter()
                .map(|(key, value)| Some((constant_of(key, &of.0)?, constant_of(value, &of.1)?)));
            Constant::Dict(of.0.clone(), of.1.clone(), items.collect::<Option<_>>()?)
        }
        (Literal::Tuple(items), Type::Tuple(of)) if items.len() == of.elements.len() => {
            let items = items.into_iter().zip(&of.elements).map(|(item, ty)| constant_of(item, ty));
            let named = of.named.is_some().then(|| ty.clone());
            Constant::Tuple(items.collect::<Option<_>>()?, named)
        }
        (Literal::Member(text), Type::Enum(of)) => {
            let name = text.strip_prefix(&*of.name)?.strip_prefix('.')?;
            match of.members.iter().position(|(member, _)| &**member == name) {
                Some(index) => Constant::Enum(ty.clone(), index as u32),
                // Without a unit nothing but the name is known.
                None if of.members.is_empty() => {
                    let members = vec![(name.into(), Constant::Int(0))];
                    let of = EnumType { members, ..EnumType::clone(of) };
                    Constant::Enum(Type::Enum(Arc::new(of)), 0)
                }
                None => return None,
            }
        }
        _ => return None,
    })
}

/// The attribute that a literal is by its form.
pub(super) fn attribute_of(literal: Literal) -> Option<Attribute> {
    Some(match literal {
        Literal::Int(value) => Attribute::Int(value),
        Literal::Bool(value) => Attribute::Int(i64::from(value)),
        Literal::Float(value) => Attribute::Float(value),
        Literal::Complex(re, im) => Attribute::Complex(re, im),
        Literal::Str(text) => Attribute::Str(text),
        Literal::List(items) => {
            if items.iter().all(|item| matches!(item, Literal::Int(_))) {
                let ints = items.iter().map(|item| match item {
                    Literal::Int(value) => *value,
                    _ => 0,
                });
                Attribute::Ints(ints.collect())
            } else if items.iter().all(|item| matches!(item, Literal::Int(_) | Literal::Float(_))) {
                Attribute::Floats(items.iter().map(float_of).collect())
            } else {
                let texts = items.into_iter().map(|item| match item {
                    Literal::Str(text) => Some(text),
                    _ => None,
                });
                Attribute::Strs(texts.collect::<Option<_>>()?)
            }
        }
        Literal::Device(text) => Attribute::Value(Constant::Device(text)),
        Literal::Generator(device, seed) => Attribute::Value(Constant::Generator(device, seed)),
        Literal::None => Attribute::Value(Constant::None),
        Literal::Typed(ty, value) => Attribute::Value(constant_of(*value, &ty)?),
        Literal::Tuple(_) | Literal::Dict(_) | Literal::Member(_) => return None,
    })
}

/// The length of a tensor's text (`{3}`, `<Tensor>`, ` 1  2 [ CPUFloatType{2} ]`) at the start of
/// `rest`, with the space before it.
pub(super) fn tensor_length(rest: &str) -> Option<usize> {
    if rest.starts_with("<Tensor>") {
        return Some("<Tensor>".len());
    }
    if let Some(number) = rest.strip_prefix('{') {
        let end = number.find('}')?;
        let inner = &number[..end];
        let plain = !inner.is_empty() && !inner.contains([':', ',', '"', '\n']);
        return plain.then_some(end + 2);
    }
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let ty = line.find("Type{")?;
    let open = line[..ty].rfind("[ ")?;
    let elements = &line[..open];
    let foreign = elements.contains(['"', '%', ']'])
        || elements.as_bytes().windows(2).any(|pair| pair[1] == b'=' && pair[0] != b' ');
    if foreign {
        return None;
    }
    Some(ty + line[ty..].find(" ]")? + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_pytorch_writes_them() {
        for (value, want) in [
            (1.0, "1."),
            (-0.0, "-0."),
            (2.5, "2.5"),
            (0.1, "0.10000000000000001"),
            (1e-5, "1.0000000000000001e-05"),
            (1e300, "1.0000000000000001e+300"),
            (1e10, "10000000000"),
            (-1e10, "-10000000000"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1e20, "1e+20"),
            (123_456_789.5, "123456789.5"),
            (0.0001, "0.0001"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (5e-324, "4.9406564584124654e-324"),
        ] {
            let mut text = String::new();
            write_float(&mut text, value).unwrap();
            assert_eq!(text, want);
        }
    }

    #[test]
    fn every_byte_comes_back() {
        for byte in 0x80..=0xff_u8 {
            let value = i32::from(byte as i8);
            let digits = [value / 64, value / 8 % 8, value % 8].map(|d| (48 + d) as u8);
            assert_eq!(unescape_octal(&digits), Some(byte));
        }
        let mut text = String::new();
        write_quoted(&mut text, "he\"l\n'l\to\x01é").unwrap();
        assert_eq!(text, r#""he\"l\n\'l\to\001\0)+\/.)""#);
    }
}
