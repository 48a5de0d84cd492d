//! Tokens of the graph text.

use super::error::ParseError;

/// A token; text is borrowed from the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// `%x.1`, without the percent sign.
    Value(&'a str),
    /// `graph`, `prim::If`, `__torch__.M`.
    Word(&'a str),
    /// `1`, `-2.5`, `1e+20`, `inf`: a number, with a `j` when it is imaginary.
    Number(&'a str),
    /// A string with its quotes.
    Text(&'a str),
    /// `->`
    Arrow,
    /// Any other character.
    Sign(char),
    /// The end of the text.
    End,
}

/// Cuts text into tokens, one ahead.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// Where the token begins.
    start: usize,
    /// Where the token before it ended.
    before: usize,
    /// Where the text after the token begins.
    at: usize,
    token: Token<'a>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut lexer = Self { text, start: 0, before: 0, at: 0, token: Token::End };
        lexer.advance();
        lexer
    }

    /// The token.
    pub(super) fn peek(&self) -> Token<'a> {
        self.token
    }

    /// The text from the end of the token before this one.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.before..]
    }

    /// The text right after the token.
    pub(super) fn after(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes on after `bytes` bytes of [`Self::rest`].
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at = self.before + bytes;
        self.advance();
    }

    /// The token, gone past.
    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.token;
        self.advance();
        token
    }

    /// Goes past a sign if it is there.
    pub(super) fn accept(&mut self, sign: char) -> bool {
        let found = self.token == Token::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    /// Goes past a word if it is there.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.token == Token::Word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: char) -> Result<(), ParseError> {
        if self.accept(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    pub(super) fn expect_word(&mut self) -> Result<&'a str, ParseError> {
        match self.token {
            Token::Word(word) => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// An error that says what should have stood here.
    pub(super) fn unexpected(&self, wanted: &str) -> ParseError {
        let found = match self.token {
            Token::End => "the end".to_owned(),
            _ => {
                let text = &self.text[self.start..self.at];
                format!("`{}`", text.chars().take(40).collect::<String>())
            }
        };
        self.error(format!("expected {wanted} but found {found}"))
    }

    /// An error at the token.
    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        let before = &self.text[..self.start];
        let line = before.matches('\n').count() + 1;
        let column = self.start - before.rfind('\n').map_or(0, |at| at + 1);
        ParseError { line: line as u32, column: column as u32, message: message.into() }
    }

    fn advance(&mut self) {
        self.before = self.at;
        self.at += blank(&self.text[self.at..]);
        self.start = self.at;
        let rest = &self.text[self.at..];
        let (token, len) = token(rest);
        self.token = token;
        self.at += len;
    }
}

/// How many bytes of white space and comments the text begins with.
fn blank(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        if !rest.starts_with('#') {
            return text.len() - rest.len();
        }
        rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
    }
}

fn token(rest: &str) -> (Token<'_>, usize) {
    let Some(first) = rest.chars().next() else { return (Token::End, 0) };
    let span = |from: usize, keep: fn(u8) -> bool| {
        let bytes = &rest.as_bytes()[from..];
        from + bytes.iter().position(|&byte| !keep(byte)).unwrap_or(bytes.len())
    };
    match first {
        '%' => {
            // Inlined attributes give names such as `self.block-0.f`.
            let len = span(1, |byte| !(byte.is_ascii_whitespace() || b",:()[]=#%".contains(&byte)));
            (Token::Value(&rest[1..len]), len)
        }
        'a'..='z' | 'A'..='Z' | '_' => {
            let len = word(rest);
            (Token::Word(&rest[..len]), len)
        }
        '0'..='9' | '.' => {
            let len = number(rest);
            (Token::Number(&rest[..len]), len)
        }
        '-' if rest.starts_with("->") => (Token::Arrow, 2),
        '-' if rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            let len = 1 + number(&rest[1..]);
            (Token::Number(&rest[..len]), len)
        }
        '-' if rest.starts_with("-inf") || rest.starts_with("-nan") => {
            (Token::Number(&rest[..4]), 4)
        }
        '"' => match string_end(rest) {
            Some(len) => (Token::Text(&rest[..len]), len),
            None => (Token::Sign('"'), 1),
        },
        other => (Token::Sign(other), other.len_utf8()),
    }
}

/// A name with its `::` and `.` parts.
fn word(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    loop {
        while bytes.get(at).is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            at += 1;
        }
        let skip = match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b':'), Some(b':')) => 2,
            (Some(b'.'), _) => 1,
            _ => return at,
        };
        match bytes.get(at + skip) {
            Some(&byte) if byte.is_ascii_alphanumeric() || byte == b'_' => at += skip,
            _ => return at,
        }
    }
}

fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let signed = matches!(byte, b'+' | b'-') && at > 0 && matches!(bytes[at - 1], b'e' | b'E');
        if !(byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'j') || signed) {
            break;
        }
        at += 1;
    }
    at
}

fn string_end(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            b'\n' => return None,
            _ => at += 1,
        }
    }
}

/// What a string in quotes says.
pub(super) fn unquote(text: &str) -> Result<String, &'static str> {
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default().as_bytes();
    let mut bytes = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        at += 1;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escape = inner.get(at).copied().ok_or("an escape is cut short")?;
        at += 1;
        bytes.push(match escape {
            b'\\' | b'\'' | b'"' => escape,
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            _ => {
                let digits = inner.get(at - 1..at + 2).ok_or("an escape is cut short")?;
                at += 2;
                unescape_octal(digits).ok_or("ill formed octal specifier")?
            }
        });
    }
    String::from_utf8(bytes).map_err(|_| "the string is not UTF-8")
}

/// The byte of three digits after a backslash. PyTorch computes them of signed chars, so that those of
/// bytes above 127 are signs: `é` is `\\0)+\\/.)`.
fn unescape_octal(digits: &[u8]) -> Option<u8> {
    let [a, b, c] = *digits else { return None };
    let digit = |byte: u8| {
        let digit = i32::from(byte) - i32::from(b'0');
        (-7..8).contains(&digit).then_some(digit)
    };
    let value = digit(a)? * 64 + digit(b)? * 8 + digit(c)?;
    (-128..256).contains(&value).then_some(value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        for byte in 0..=0xff_u8 {
            let value = i32::from(byte as i8);
            let digits = [value / 64, value / 8 % 8, value % 8].map(|digit| (48 + digit) as u8);
            assert_eq!(unescape_octal(&digits), Some(byte));
        }
        assert_eq!(unescape_octal(b"377"), Some(0xff));
        assert_eq!(unescape_octal(b"777"), None);
        assert_eq!(unescape_octal(b"x00"), None);
    }
}
