//! Python literals as text: what `ast.literal_eval` reads, and JSON's `true`, `false` and `null`.

use num_bigint::BigInt;

use super::Value;
use crate::{Error, ErrorKind};

/// Lists, tuples and dicts in each other.
const MAX_DEPTH: usize = 100;

impl Value {
    /// Reads a Python literal: ints, floats, `True`, `False`, `None`, strs and bytes in either kind
    /// of quotes, lists, tuples and dicts. JSON is read too, and `inf` and `nan`.
    ///
    /// ```
    /// use sconce_checkpoint::{Draft, Value};
    ///
    /// let value = Value::parse("{'lr': 1e-3, 'steps': [1, 2_000], 'name': \"a\\n\", 'ema': None}")?;
    /// assert_eq!(Draft::from(value).root().get("lr").unwrap().as_f64(), Some(1e-3));
    /// # Ok::<(), sconce_checkpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the text is no literal, or nested deeper than 100 levels.
    pub fn parse(text: &str) -> Result<Value, Error> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0).and_then(|value| {
            parser.skip_space();
            if parser.rest().is_empty() { Ok(value) } else { Err(parser.wrong()) }
        });
        value.map_err(|what| {
            let message = format!("'{}' is not a Python literal: {what}", text.escape_debug());
            Error::new(ErrorKind::Caller, message)
        })
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes `c` if it comes next, behind spaces.
    fn eat(&mut self, c: char) -> bool {
        self.skip_space();
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn wrong(&self) -> String {
        match self.peek() {
            Some(c) => format!("unexpected '{}' at character {}", c.escape_debug(), self.place()),
            None => "it ends too early".to_owned(),
        }
    }

    fn place(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        self.skip_space();
        match self.peek() {
            Some('[') => Ok(Value::List(self.items(']', depth)?.0)),
            Some('(') => {
                let (mut items, comma) = self.items(')', depth)?;
                match (items.len(), comma) {
                    (1, false) => items.pop().ok_or_else(|| self.wrong()),
                    _ => Ok(Value::Tuple(items)),
                }
            }
            Some('{') => self.dict(depth),
            Some('\'' | '"') => Ok(Value::Str(self.quoted()?)),
            Some('b') if self.rest()[1..].starts_with(['\'', '"']) => {
                self.at += 1;
                self.bytes()
            }
            Some(_) => self.word(),
            None => Err(self.wrong()),
        }
    }

    /// What stands between brackets, and whether a comma ended it.
    fn items(&mut self, end: char, depth: usize) -> Result<(Vec<Value>, bool), String> {
        self.next();
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.eat(end) {
            if !items.is_empty() && !comma {
                return Err(self.wrong());
            }
            items.push(self.value(depth + 1)?);
            comma = self.eat(',');
        }
        Ok((items, comma))
    }

    fn dict(&mut self, depth: usize) -> Result<Value, String> {
        self.next();
        let (mut entries, mut comma) = (Vec::new(), true);
        while !self.eat('}') {
            if !comma {
                return Err(self.wrong());
            }
            let key = self.value(depth + 1)?;
            if matches!(key, Value::List(_) | Value::Dict(_)) {
                return Err("a list or dict cannot be a key".to_owned());
            }
            if !self.eat(':') {
                return Err(self.wrong());
            }
            entries.push((key, self.value(depth + 1)?));
            comma = self.eat(',');
        }
        Ok(Value::Dict(entries))
    }

    fn bytes(&mut self) -> Result<Value, String> {
        let text = self.quoted()?;
        let byte = |c: char| u8::try_from(u32::from(c)).ok();
        let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
        bytes.map(Value::Bytes).ok_or_else(|| "bytes are characters up to \\xff".to_owned())
    }

    fn quoted(&mut self) -> Result<String, String> {
        let quote = self.next();
        let mut out = String::new();
        loop {
            match self.next() {
                None => return Err("a quote is not closed".to_owned()),
                c if c == quote => return Ok(out),
                Some('\\') => self.escape(&mut out)?,
                Some(c) => out.push(c),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), String> {
        let c = match self.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('0') => '\0',
            Some('x') => self.code(2)?,
            Some('u') => self.code(4)?,
            Some('U') => self.code(8)?,
            Some(c @ ('\\' | '\'' | '"' | '/')) => c,
            Some(c) => return Err(format!("there is no escape '\\{}'", c.escape_debug())),
            None => return Err("a quote is not closed".to_owned()),
        };
        out.push(c);
        Ok(())
    }

    fn code(&mut self, digits: usize) -> Result<char, String> {
        let text = self.rest().get(..digits).filter(|text| text.is_ascii());
        let code = text.and_then(|text| u32::from_str_radix(text, 16).ok());
        let c = code.and_then(char::from_u32).ok_or("a character's number is wrong")?;
        self.at += digits;
        Ok(c)
    }

    fn word(&mut self) -> Result<Value, String> {
        let end = self.rest().find([',', ':', ']', ')', '}', ' ']).unwrap_or(self.rest().len());
        let word = &self.rest()[..end];
        let value = match word {
            "None" | "null" => Value::None,
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            _ => match number(word) {
                Some(number) => number,
                None if end == 0 => return Err(self.wrong()),
                None => return Err(format!("text needs quotes: '{}'", word.escape_debug())),
            },
        };
        self.at += end;
        Ok(value)
    }
}

/// A number as Python writes it.
fn number(word: &str) -> Option<Value> {
    let (sign, digits) = match word.as_bytes().first()? {
        b'-' => ("-", &word[1..]),
        b'+' => ("", &word[1..]),
        _ => ("", word),
    };
    let between = |at: usize| {
        let bytes = digits.as_bytes();
        let digit =
            |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_hexdigit);
        digit(at.checked_sub(1)) && digit(Some(at + 1))
    };
    if !digits.match_indices('_').all(|(at, _)| between(at)) {
        return None;
    }
    let plain = digits.replace('_', "");
    if matches!(plain.as_str(), "inf" | "nan" | "Infinity" | "NaN") {
        let number: f64 = plain.to_ascii_lowercase().parse().ok()?;
        return Some(Value::Float(if sign.is_empty() { number } else { -number }));
    }
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let radix = match plain.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => Some(16),
        Some("0o") => Some(8),
        Some("0b") => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        let whole = BigInt::parse_bytes(format!("{sign}{}", &plain[2..]).as_bytes(), radix)?;
        return Some(Value::BigInt(whole));
    }
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        let zeros = plain.starts_with('0') && !plain.trim_start_matches('0').is_empty();
        let whole = BigInt::parse_bytes(format!("{sign}{plain}").as_bytes(), 10)?;
        return (!zeros).then_some(Value::BigInt(whole));
    }
    let floats = plain.bytes().all(|c| c.is_ascii_digit() || b".eE+-".contains(&c));
    if !floats {
        return None;
    }
    format!("{sign}{plain}").parse().ok().map(Value::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draft;

    fn read(text: &str) -> Result<String, String> {
        let value = Value::parse(text).map_err(|error| error.message().to_owned())?;
        Ok(Draft::from(value).root().repr(200))
    }

    #[test]
    fn literals_are_pythons() {
        let cases = [
            ("3", "3"),
            (" -1_000 ", "-1000"),
            ("0x1F", "31"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("1e-3", "0.001"),
            ("-.5", "-0.5"),
            ("1.", "1.0"),
            ("-inf", "-inf"),
            ("nan", "nan"),
            ("True", "True"),
            ("null", "None"),
            (r#""a\n\x41\u00e9\"""#, "'a\\nAé\"'"),
            ("'it'", "'it'"),
            (r"b'\x00\xffz'", r"b'\x00\xffz'"),
            ("[]", "[]"),
            ("[1, 2,]", "[1, 2]"),
            ("()", "()"),
            ("(1)", "1"),
            ("(1,)", "(1,)"),
            ("(1, [2, {'a': (3, None)}])", "(1, [2, {'a': (3, None)}])"),
            (r#"{"lr": 0.1, 3: false}"#, "{'lr': 0.1, 3: False}"),
            ("{1: 2, 1: 3}", "{1: 3}"),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        let cases = [
            ("", "ends too early"),
            ("hello", "text needs quotes"),
            ("'a", "not closed"),
            ("'\\q'", "no escape"),
            ("'\\ud800'", "number is wrong"),
            ("[1", "ends too early"),
            ("[1 2]", "unexpected '2'"),
            ("[,]", "unexpected ','"),
            ("{1}", "unexpected '}'"),
            ("{[]: 1}", "cannot be a key"),
            ("1 2", "unexpected '2'"),
            ("007", "text needs quotes"),
            ("1__0", "text needs quotes"),
            ("0x", "text needs quotes"),
            ("1e", "text needs quotes"),
            ("-", "text needs quotes"),
            ("b'é€'", "up to"),
            ("os.system", "text needs quotes"),
        ];
        for (text, want) in cases {
            let error = read(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
        for open in ["[", "(", "{1:"] {
            assert!(read(&open.repeat(100_000)).unwrap_err().contains("deeper than 100"));
        }
    }
}
