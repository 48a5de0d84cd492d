//! Default values of arguments.

use super::{Parser, SchemaError};
use crate::scalar_type;
use crate::{Argument, Constant, Type};

impl Parser<'_> {
    pub(super) fn default(&mut self, argument: &Argument) -> Result<Constant, SchemaError> {
        let real = argument.real_type();
        match &argument.ty {
            Type::Tensor | Type::Generator | Type::Quantizer => self.none(),
            Type::List(element) if self.sees("[") => self.list(element),
            Type::List(_) if self.sees("N") => self.none(),
            Type::List(element) => match argument.fixed_size {
                Some(length) => {
                    let value = self.single(element, element)?;
                    let items = vec![value; length as usize];
                    Ok(Constant::List((**element).clone(), items.into()))
                }
                None => Err(self.error("expected '['")),
            },
            Type::Optional(of) => match &**of {
                Type::List(element) if self.sees("[") => self.list(element),
                // A number is what it looks like here: `float? x=1` is an int.
                _ => match real {
                    Type::Optional(real) => self.single(&argument.ty, real),
                    real => self.single(&argument.ty, real),
                },
            },
            Type::Device => Ok(match self.single(&Type::Device, real)? {
                Constant::Str(text) => Constant::Device(text),
                other => other,
            }),
            Type::Str
            | Type::Number
            | Type::Int
            | Type::Bool
            | Type::SymBool
            | Type::Float
            | Type::Complex => self.single(&argument.ty, real),
            _ => Err(self.error("a value of this type cannot be a default")),
        }
    }

    fn none(&mut self) -> Result<Constant, SchemaError> {
        match self.identifier() {
            Some("None") => Ok(Constant::None),
            _ => Err(self.error("expected None")),
        }
    }

    fn list(&mut self, element: &Type) -> Result<Constant, SchemaError> {
        let mut items = Vec::new();
        self.expect("[")?;
        self.separated("]", |parser| {
            items.push(parser.single(element, element)?);
            Ok(())
        })?;
        Ok(Constant::List(element.clone(), items.into()))
    }

    fn single(&mut self, ty: &Type, real: &Type) -> Result<Constant, SchemaError> {
        if self.sees("\"") || self.sees("'") {
            return self.string();
        }
        let start = self.at;
        if let Some(word) = self.identifier() {
            return named_default(word, real).ok_or_else(|| {
                self.at = start;
                self.error("invalid numeric default value")
            });
        }
        let sign = if self.takes("-") { "-" } else { "" };
        let number = format!("{sign}{}", self.number()?);
        let parsed = if let Some(imaginary) = number.strip_suffix('j') {
            imaginary.parse().ok().map(|imaginary| Constant::Complex(0.0, imaginary))
        } else if *ty == Type::Complex {
            // PyTorch drops the last digit for the `j` that is not there.
            None
        } else if *ty == Type::Float || number.contains(['.', 'e']) {
            number.parse().ok().map(Constant::Float)
        } else {
            number.parse().ok().map(Constant::Int)
        };
        parsed.ok_or_else(|| self.error("invalid number"))
    }

    /// A string in quotes with C's escapes.
    fn string(&mut self) -> Result<Constant, SchemaError> {
        let rest = self.rest();
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            if c == quote {
                self.at += index + 1;
                return Ok(Constant::Str(text.into()));
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            let Some((_, escaped)) = chars.next() else { break };
            text.push(match escaped {
                '\\' | '\'' | '"' => escaped,
                'a' => '\x07',
                'b' => '\x08',
                'f' => '\x0c',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\x0b',
                '0'..='3' => {
                    let mut digits = String::from(escaped);
                    digits.extend(chars.by_ref().take(2).map(|(_, c)| c));
                    let code = u8::from_str_radix(&digits, 8).ok().filter(u8::is_ascii);
                    code.ok_or_else(|| self.error("ill formed octal specifier"))?.into()
                }
                _ => return Err(self.error("ill formed octal specifier")),
            });
        }
        Err(self.error("expected the end of a string"))
    }
}

/// The last dtype that PyTorch's parser of schemas takes as a default: `quint2x4`.
const LAST_DEFAULT: i64 = 17;

/// A default that is a word: a bool, `None`, or the int that PyTorch's headers call so.
fn named_default(word: &str, real: &Type) -> Option<Constant> {
    Some(match word {
        "True" => Constant::Bool(true),
        "False" => Constant::Bool(false),
        "None" => Constant::None,
        "strided" | "contiguous_format" => Constant::Int(0),
        "Mean" => Constant::Int(1),
        "long" => Constant::Int(4),
        "float" => Constant::Int(6),
        "complex" => Constant::Int(9),
        _ if *real == Type::ScalarType => {
            Constant::Int(scalar_type::number(word).filter(|&number| number <= LAST_DEFAULT)?)
        }
        _ => return None,
    })
}
