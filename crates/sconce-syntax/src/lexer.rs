//! Text to tokens, as `torch/csrc/jit/frontend/lexer.h` does it.
//!
//! Two tokens differ from PyTorch's on purpose: `is not` and `not in` end at the end of a word, so
//! that `not int(x)` and `x is nothing` mean what they say (PyTorch reads `not in` `t(x)` and
//! `x is not` `hing`).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Error, Range, Source, SourceRange, Token, TokenKind, literal};

const TYPE_COMMENT: &[u8] = b"# type:";

/// The tokens of a text, one at a time, with line ends and indentation as tokens.
///
/// Line ends count only outside brackets. One token is read ahead, so an error is reported when the
/// token before the faulty one is taken.
pub struct Lexer<'a> {
    source: &'a Arc<Source>,
    text: &'a str,
    at: usize,
    /// Open brackets; wraps around below zero, as in PyTorch.
    nesting: u32,
    /// Indentation of the blocks around the current line, outermost first.
    indents: Vec<u32>,
    current: Token,
    /// Tokens after the current one that are known already.
    ahead: VecDeque<Token>,
}

/// What a scan finds before indentation is made of it.
enum Scanned {
    Token(Token),
    /// White space at the beginning of a line; whether the text ends after it.
    LineStart {
        range: Range,
        eof: bool,
    },
}

impl<'a> Lexer<'a> {
    /// Begins at the beginning of the text. The first line's indentation is the outermost level.
    ///
    /// # Errors
    /// The text's first token is invalid, or the text is over 4 GiB.
    pub fn new(source: &'a Arc<Source>) -> Result<Self, Error> {
        let nowhere = Range::new(0, 0);
        if u32::try_from(source.text().len()).is_err() {
            let range = SourceRange::new(Arc::clone(source), nowhere);
            return Err(Error::new("source text over 4 GiB", range));
        }
        let mut lexer = Self {
            source,
            text: source.text(),
            at: 0,
            nesting: 0,
            indents: Vec::new(),
            current: Token { kind: TokenKind::Eof, range: nowhere },
            ahead: VecDeque::new(),
        };
        if let Scanned::LineStart { range, .. } = lexer.scan(true)? {
            lexer.indents.push(range.len());
        }
        lexer.current = lexer.lex()?;
        Ok(lexer)
    }

    /// The text that is read.
    pub fn source(&self) -> &'a Arc<Source> {
        self.source
    }

    /// The current token.
    pub fn current(&self) -> Token {
        self.current
    }

    /// The token after the current one.
    ///
    /// # Errors
    /// There is none, since the text is invalid there.
    pub fn next_token(&mut self) -> Result<Token, Error> {
        if let Some(&token) = self.ahead.front() {
            return Ok(token);
        }
        let token = self.lex()?;
        self.ahead.push_front(token);
        Ok(token)
    }

    /// Goes on to the next token; gives the one that was current.
    ///
    /// # Errors
    /// The text after the current token is invalid.
    pub fn advance(&mut self) -> Result<Token, Error> {
        let next = match self.ahead.pop_front() {
            Some(token) => token,
            None => self.lex()?,
        };
        Ok(std::mem::replace(&mut self.current, next))
    }

    /// Goes on if the current token is of this kind; says whether it was.
    ///
    /// # Errors
    /// As [`Lexer::advance`].
    pub fn advance_if(&mut self, kind: TokenKind) -> Result<bool, Error> {
        let found = self.current.kind == kind;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Goes on past a token that must be of this kind.
    ///
    /// # Errors
    /// It is of another kind, or as [`Lexer::advance`].
    pub fn expect(&mut self, kind: TokenKind) -> Result<Token, Error> {
        if self.current.kind != kind {
            return Err(self.expected(kind.name()));
        }
        self.advance()
    }

    /// The text of a range.
    pub fn text(&self, range: Range) -> &'a str {
        self.text.get(range.start as usize..range.end as usize).unwrap_or("")
    }

    /// The error that something else was expected than the current token.
    pub fn expected(&self, what: &str) -> Error {
        let found = self.current.kind.name();
        self.error(format!("expected {what} but found '{found}' here"), self.current.range)
    }

    /// An error at a range of this text.
    pub fn error(&self, message: impl Into<String>, range: Range) -> Error {
        Error::new(message, SourceRange::new(Arc::clone(self.source), range))
    }

    /// Reads the next token; more in `ahead` if it ends blocks.
    fn lex(&mut self) -> Result<Token, Error> {
        let token = match self.scan(false)? {
            Scanned::Token(token) => token,
            Scanned::LineStart { range, eof } => return self.start_line(range, eof),
        };
        match token.kind {
            TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                self.nesting = self.nesting.wrapping_add(1);
            }
            TokenKind::RightParen | TokenKind::RightBracket | TokenKind::RightBrace => {
                self.nesting = self.nesting.wrapping_sub(1);
            }
            _ => {}
        }
        Ok(token)
    }

    /// Makes a line's indentation into tokens. The indentation before the end of the text is taken
    /// for the outermost, whatever it is.
    fn start_line(&mut self, range: Range, eof: bool) -> Result<Token, Error> {
        let outermost = self.indents.first().copied().unwrap_or(0);
        let indent = if eof { outermost } else { range.len() };
        let innermost = self.indents.last().copied().unwrap_or(0);
        if indent > innermost {
            self.indents.push(indent);
            return Ok(Token { kind: TokenKind::Indent, range });
        }
        while self.indents.last() != Some(&indent) {
            self.indents.pop();
            self.ahead.push_back(Token { kind: TokenKind::Dedent, range });
            if self.indents.is_empty() {
                return Err(self.error(format!("invalid indent level {indent}"), range));
            }
        }
        Ok(Token { kind: TokenKind::Newline, range })
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Skips blanks, comments and line ends, then reads one token.
    fn scan(&mut self, mut line_start: bool) -> Result<Scanned, Error> {
        let bytes = self.text.as_bytes();
        let began = self.at;
        let mut start = self.at;
        loop {
            while is_blank(self.byte(self.at)) {
                self.at += 1;
            }
            match self.byte(self.at) {
                b'#' if !bytes[self.at..].starts_with(TYPE_COMMENT) => {
                    let rest = &bytes[self.at..];
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                b'\\' if !line_start && self.byte(self.at + 1) == b'\n' => self.at += 2,
                b'\n' => {
                    self.at += 1;
                    line_start = self.nesting == 0;
                }
                _ => break,
            }
            start = self.at;
        }
        let eof = self.at >= bytes.len();
        if line_start {
            return Ok(Scanned::LineStart { range: Range::new(start as u32, self.at as u32), eof });
        }
        let start = self.at;
        let kind = if eof { Some(TokenKind::Eof) } else { self.scan_token() };
        let Some(kind) = kind else {
            let found = self.text.get(began..).and_then(|text| text.chars().next()).unwrap_or(' ');
            let range = Range::new(start as u32, start as u32 + 1);
            return Err(
                self.error(format!("expected a valid token but found '{found}' here"), range)
            );
        };
        Ok(Scanned::Token(Token { kind, range: Range::new(start as u32, self.at as u32) }))
    }

    /// Reads the token that starts here. The text does not end here.
    fn scan_token(&mut self) -> Option<TokenKind> {
        let rest = &self.text.as_bytes()[self.at..];
        let (kind, length) = match rest[0] {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => word(rest),
            b'0'..=b'9' => (TokenKind::Number, literal::number_length(rest)),
            b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) => {
                (TokenKind::Number, literal::number_length(rest))
            }
            b'"' | b'\'' => (TokenKind::Str, literal::string_length(rest)?),
            b'#' => (TokenKind::TypeComment, TYPE_COMMENT.len()),
            _ => TokenKind::of_sign(rest).map(|(kind, length)| (kind, length as usize))?,
        };
        self.at += length;
        Some(kind)
    }
}

/// A name or keyword and its length.
fn word(text: &[u8]) -> (TokenKind, usize) {
    let length = text.iter().position(|&byte| !is_word(byte)).unwrap_or(text.len());
    let kind = TokenKind::of_word(&text[..length]);
    let (then, joined) = match kind {
        TokenKind::Is => (&b" not"[..], TokenKind::IsNot),
        TokenKind::Not => (&b" in"[..], TokenKind::NotIn),
        _ => return (kind, length),
    };
    let end = length + then.len();
    if text[length..].starts_with(then) && !text.get(end).copied().is_some_and(is_word) {
        (joined, end)
    } else {
        (kind, length)
    }
}

#[inline]
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// C's `isspace` without the newline.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}
