//! A bound on how deep a Python file is nested, found before it is parsed: parser and trees recurse.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// How many levels a file may have.
const MAX_LEVELS: usize = 1000;

const RED_ZONE: usize = 1 << 20;
const STACK: usize = 64 << 20;

/// Runs `step` with a stack for as many levels as [`check`] allows.
pub(crate) fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, STACK, step)
}

/// Refuses a text that could be nested too deeply; says about which line, from 0.
///
/// Each operator, bracket and keyword may go one level down; a comma within brackets comes back up,
/// and so does the end of a line.
pub(crate) fn check(text: &str) -> Result<(), usize> {
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut blocks = 0_usize;
    // Levels within each open bracket, the line itself first.
    let mut open = vec![0_usize];
    // What a comma does not end.
    let mut lasting = 0_usize;
    let mut total = 0_usize;
    let mut line = 0_usize;
    loop {
        let kind = lexer.next_token();
        match kind {
            TokenKind::EndOfFile => return Ok(()),
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Newline => {
                line += 1;
                open = vec![0];
                (lasting, total) = (0, 0);
            }
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                total += 1;
                open.push(1);
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                if open.len() > 1 {
                    total -= open.pop().unwrap_or(0);
                }
                total += 1;
                if let Some(top) = open.last_mut() {
                    *top += 1;
                }
            }
            TokenKind::Comma => {
                // The bracket itself goes on: what follows is inside it, too.
                let bracket = usize::from(open.len() > 1);
                if let Some(top) = open.last_mut() {
                    total -= *top - bracket;
                    *top = bracket;
                }
            }
            TokenKind::Lambda | TokenKind::Else | TokenKind::Elif => lasting += 1,
            TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::Comment => {}
            TokenKind::NonLogicalNewline => line += 1,
            _ => {
                total += 1;
                if let Some(top) = open.last_mut() {
                    *top += 1;
                }
            }
        }
        if blocks + lasting + total > MAX_LEVELS {
            return Err(line);
        }
    }
}
