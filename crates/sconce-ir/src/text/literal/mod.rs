//! Values of attributes, read.

pub(super) mod types;

use std::sync::Arc;

use super::error::ParseError;
use super::lexer::{Lexer, Token, unquote};
use crate::{Attribute, Constant, EnumType, Type};

/// What an attribute or a default value says, before its type is known.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::text) enum Literal {
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
pub(in crate::text) fn read(lexer: &mut Lexer<'_>) -> Result<Literal, ParseError> {
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
pub(in crate::text) fn read_value(
    lexer: &mut Lexer<'_>,
    ty: &Type,
) -> Result<Attribute, ParseError> {
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
pub(in crate::text) fn read_constant(
    lexer: &mut Lexer<'_>,
    ty: &Type,
) -> Result<Constant, ParseError> {
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
pub(in crate::text) fn attribute_of(literal: Literal) -> Option<Attribute> {
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
pub(in crate::text) fn tensor_length(rest: &str) -> Option<usize> {
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
    fn tensors_are_told_from_other_values() {
        for (text, want) in [
            ("<Tensor>]", Some("<Tensor>")),
            ("{-1.5}, a=1]", Some("{-1.5}")),
            ("{\"a\": 1}]", None),
            ("{}]", None),
            (" 1  2 [ CPUFloatType{2} ]]()", Some(" 1  2 [ CPUFloatType{2} ]")),
            ("-1 -2 [ CPULongType{2} ], b=2]", Some("-1 -2 [ CPULongType{2} ]")),
            ("1, value= 1  2 [ CPUFloatType{2} ]]()", None),
            ("\"[ CPUFloatType{2} ]\"]", None),
        ] {
            assert_eq!(tensor_length(text).map(|length| &text[..length]), want, "{text}");
        }
    }
}
