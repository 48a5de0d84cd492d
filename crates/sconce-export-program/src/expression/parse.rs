//! The parser of what `sympy.srepr` writes.

use super::{Expr, is_head};
use crate::{Error, ErrorKind};

/// Deepest nesting of an expression.
pub const MAX_DEPTH: usize = 100;

/// Longest text of an expression, in bytes.
pub const MAX_LENGTH: usize = 1 << 16;

/// Constants by their names.
static CONSTANTS: [&str; 8] = ["int_oo", "-int_oo", "oo", "-oo", "nan", "zoo", "pi", "E"];

/// Reads an expression.
///
/// # Errors
/// When it is anything but an expression: PyTorch would run it as Python. When it is
/// longer than [`MAX_LENGTH`] or deeper than [`MAX_DEPTH`].
pub fn parse(text: &str) -> Result<Expr, Error> {
    if text.len() > MAX_LENGTH {
        let message = format!("the expression has {} bytes, more than {MAX_LENGTH}", text.len());
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let mut parser = Parser { text, at: 0 };
    let expr = parser.expr(0)?;
    parser.space();
    match parser.at == text.len() {
        true => Ok(expr),
        false => Err(parser.error("something follows the expression")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn error(&self, message: impl Into<String>) -> Error {
        let shown: String = self.text.chars().take(200).collect();
        let (shown, message, at) = (shown.escape_debug(), message.into(), self.at);
        Error::malformed(format!("'{shown}' is not an expression: {message}, at its byte {at}"))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches(' ').len();
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.space();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), Error> {
        match self.eat(wanted) {
            true => Ok(()),
            false => Err(self.error(format!("'{wanted}' is expected"))),
        }
    }

    /// A run of bytes that satisfy a condition; may be empty.
    fn run(&mut self, keep: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !keep(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn name(&mut self) -> Option<&'t str> {
        self.space();
        if !self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        Some(self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
    }

    /// Text between single quotes, without escapes.
    fn quoted(&mut self) -> Result<&'t str, Error> {
        self.expect('\'')?;
        let text = self.run(|byte| !matches!(byte, b'\'' | b'\\' | b'\n'));
        match self.rest().starts_with('\'') {
            true => self.at += 1,
            false => return Err(self.error("the text does not end")),
        }
        Ok(text)
    }

    fn integer(&mut self) -> Result<i128, Error> {
        self.space();
        let start = self.at;
        if self.rest().starts_with('-') {
            self.at += 1;
        }
        self.run(|byte| byte.is_ascii_digit());
        let text = &self.text[start..self.at];
        text.parse().map_err(|_| self.error("an integer of at most 38 digits is expected"))
    }

    /// `, name=True` as often as there is one, up to the closing parenthesis.
    fn assumptions(&mut self) -> Result<(), Error> {
        while self.eat(',') {
            let name = self.name().ok_or_else(|| self.error("a name is expected"))?;
            self.expect('=')?;
            self.space();
            let value = self.run(|byte| byte.is_ascii_alphanumeric());
            let number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            if !matches!(value, "True" | "False") && !number {
                return Err(self.error(format!("{name} is to be True, False or a number")));
            }
        }
        self.expect(')')
    }

    fn expr(&mut self, depth: usize) -> Result<Expr, Error> {
        if depth >= MAX_DEPTH {
            let message = format!("an expression is nested deeper than {MAX_DEPTH} levels");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.space();
        if self.rest().starts_with('-') {
            return self.constant(self.at);
        }
        let start = self.at;
        let Some(name) = self.name() else {
            return Err(self.error("a function or symbol is expected"));
        };
        if !self.rest().starts_with('(') {
            return self.constant(start);
        }
        self.at += 1;
        match name {
            "Symbol" | "Dummy" => {
                let name = self.quoted()?;
                self.assumptions()?;
                Ok(Expr::Symbol(name.into()))
            }
            "Integer" => {
                let value = self.integer()?;
                self.expect(')')?;
                Ok(Expr::Integer(value))
            }
            "Rational" => {
                let p = self.integer()?;
                self.expect(',')?;
                let q = self.integer()?;
                self.expect(')')?;
                if q <= 0 {
                    return Err(self.error("a denominator is not positive"));
                }
                Ok(Expr::Rational(p, q))
            }
            "Float" => {
                let text = self.quoted()?;
                let digits = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
                let value = text.bytes().all(digits).then(|| text.parse().ok()).flatten();
                let value = value.ok_or_else(|| self.error("a float is expected"))?;
                self.assumptions()?;
                Ok(Expr::Float(value))
            }
            // Function('name')(arguments): what a second save makes of functions that sympy does not know.
            "Function" => {
                let name = self.quoted()?;
                self.assumptions()?;
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                if name.is_empty() || !name.bytes().all(plain) {
                    return Err(self.error("a function's name is expected"));
                }
                self.expect('(')?;
                Ok(Expr::Call(name.into(), self.arguments(depth)?))
            }
            name if is_head(name) => Ok(Expr::Call(name.into(), self.arguments(depth)?)),
            name => {
                let shown: String = name.chars().take(60).collect();
                Err(self.error(format!("{shown} is not a function of expressions")))
            }
        }
    }

    /// The arguments of a call and its closing parenthesis.
    fn arguments(&mut self, depth: usize) -> Result<Vec<Expr>, Error> {
        let mut arguments = Vec::new();
        if self.eat(')') {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expr(depth + 1)?);
            if self.eat(')') {
                return Ok(arguments);
            }
            self.expect(',')?;
        }
    }

    /// A word that stands for a value; it begins at `start`.
    fn constant(&mut self, start: usize) -> Result<Expr, Error> {
        self.at = start;
        if self.rest().starts_with('-') {
            self.at += 1;
        }
        self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = &self.text[start..self.at];
        match word {
            "true" | "True" => return Ok(Expr::Bool(true)),
            "false" | "False" => return Ok(Expr::Bool(false)),
            _ => {}
        }
        match CONSTANTS.iter().find(|&&known| known == word) {
            Some(known) => Ok(Expr::Constant(known)),
            None => {
                self.at = start;
                Err(self.error("a function or symbol is expected"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_in_python_is_no_expression() {
        for (text, want) in [
            ("__import__('os').system('id')", "__import__ is not a function of expressions"),
            ("Add(Symbol('s0'), print(Integer(1)))", "print is not a function of expressions"),
            ("Symbol('s0').subs", "something follows the expression"),
            ("Symbol('s0', positive=open('x'))", "positive is to be True, False or a number"),
            ("Symbol(\"s0\")", "''' is expected"),
            ("Symbol('a\\x27')", "the text does not end"),
            ("Integer(1 + 1)", "')' is expected"),
            ("Integer(0x10)", "')' is expected"),
            ("Rational(1, 0)", "a denominator is not positive"),
            ("Float('1', precision=x)", "precision is to be True, False or a number"),
            ("Float('1_0')", "a float is expected"),
            ("Function('a.b')(Integer(1))", "a function's name is expected"),
            ("s0", "a function or symbol is expected"),
            ("1", "a function or symbol is expected"),
            ("", "a function or symbol is expected"),
            ("Add(Integer(1)", "',' is expected"),
            ("Add(Integer(1),)", "a function or symbol is expected"),
            ("[Integer(1)]", "a function or symbol is expected"),
            (
                "Integer(99999999999999999999999999999999999999999)",
                "an integer of at most 38 digits",
            ),
        ] {
            let found = parse(text).unwrap_err().to_string();
            assert!(found.contains(want), "{text}: {found}");
        }
    }

    #[test]
    fn depth_and_length_have_limits() {
        let deep =
            |levels: usize| format!("{}Integer(1){}", "Not(".repeat(levels), ")".repeat(levels));
        assert!(parse(&deep(MAX_DEPTH - 1)).is_ok());
        for levels in [MAX_DEPTH, 10_000, 100_000] {
            assert_eq!(parse(&deep(levels)).unwrap_err().kind(), ErrorKind::Limit, "{levels}");
        }
    }
}
