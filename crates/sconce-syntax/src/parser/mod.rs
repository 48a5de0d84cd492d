//! Tokens to trees, as `torch/csrc/jit/frontend/parser.cpp` does it.
//!
//! Ranges are PyTorch's: the range of the token that made a node, merged with those of its children.
//! The token that follows is part of a range where an optional child is missing (the `else` of an
//! `if`, the default of a parameter), since that is where PyTorch says that nothing stands.

mod expression;
mod statement;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ast::{Class, Decl, Def, Expr, Ident, Item, Stmt};
use crate::{Error, Lexer, Range, Source, TokenKind};

/// How many nodes may lie between a tree's root and a leaf: blocks, operands, calls, subscripts.
///
/// What goes over a tree may recurse this deep.
pub const MAX_DEPTH: u32 = 256;

/// Reads a file of definitions, such as one of an archive's `code/`.
///
/// # Errors
/// The first thing that is not of the dialect.
pub fn parse_module(source: &Arc<Source>) -> Result<Vec<Item>, Error> {
    let mut parser = Parser::new(source)?;
    let mut items = Vec::new();
    while parser.lexer.current().kind != TokenKind::Eof {
        items.push(parser.item(items.is_empty())?);
    }
    Ok(items)
}

/// Reads definitions of functions and nothing else, as `CompilationUnit.define` does.
///
/// # Errors
/// The first thing that is not of the dialect.
pub fn parse_defs(source: &Arc<Source>) -> Result<Vec<Def>, Error> {
    let mut parser = Parser::new(source)?;
    let mut defs = Vec::new();
    while parser.lexer.current().kind != TokenKind::Eof {
        defs.push(parser.def(false)?);
    }
    Ok(defs)
}

/// Reads one definition; with `is_method`, a type comment says nothing of the first parameter.
///
/// # Errors
/// The first thing that is not of the dialect.
pub fn parse_def(source: &Arc<Source>, is_method: bool) -> Result<Def, Error> {
    Parser::new(source)?.def(is_method)
}

/// Reads one class.
///
/// # Errors
/// The first thing that is not of the dialect.
pub fn parse_class(source: &Arc<Source>) -> Result<Class, Error> {
    Parser::new(source)?.class()
}

/// Reads one expression. What follows it is not looked at.
///
/// # Errors
/// The first thing that is not of the dialect.
pub fn parse_expression(source: &Arc<Source>) -> Result<Expr, Error> {
    Parser::new(source)?.expression()
}

/// Reads one statement.
///
/// # Errors
/// The first thing that is not of the dialect.
pub fn parse_statement(source: &Arc<Source>) -> Result<Stmt, Error> {
    Parser::new(source)?.statement(false)
}

/// Reads a type comment, `# type: (int, Tensor) -> Tensor`. Its parameters have empty names.
///
/// # Errors
/// The first thing that is not of the dialect.
pub fn parse_type_comment(source: &Arc<Source>) -> Result<Decl, Error> {
    Parser::new(source)?.type_comment().map(|(decl, _)| decl)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// Names met so far: equal names share their text.
    names: FxHashMap<&'a str, Arc<str>>,
    /// Nodes between the root and what is being parsed.
    depth: u32,
    /// Nodes between the expression parsed last and its deepest leaf, both included.
    height: u32,
}

impl<'a> Parser<'a> {
    fn new(source: &'a Arc<Source>) -> Result<Self, Error> {
        let lexer = Lexer::new(source)?;
        Ok(Self { lexer, names: FxHashMap::default(), depth: 0, height: 0 })
    }

    /// The kind of the current token.
    fn kind(&self) -> TokenKind {
        self.lexer.current().kind
    }

    /// The range of the current token.
    fn here(&self) -> Range {
        self.lexer.current().range
    }

    fn ident(&mut self) -> Result<Ident, Error> {
        let range = self.lexer.expect(TokenKind::Ident)?.range;
        let name = self.lexer.text(range);
        let name = self.names.entry(name).or_insert_with(|| name.into());
        Ok(Ident { name: Arc::clone(name), range })
    }

    /// Goes one level down, if there may be one more. Parsing ends with the first error, so only
    /// what succeeds need [`Parser::ascend`].
    fn descend(&mut self) -> Result<(), Error> {
        self.depth += 1;
        self.check_depth(0)
    }

    fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// Says that the expression parsed last has children of which the tallest has this height.
    fn grow(&mut self, tallest: u32) -> Result<(), Error> {
        self.height = tallest + 1;
        self.check_depth(self.height)
    }

    fn check_depth(&self, height: u32) -> Result<(), Error> {
        if self.depth + height > MAX_DEPTH {
            return Err(self.lexer.error("too deeply nested", self.here()));
        }
        Ok(())
    }

    /// Elements between `begin` (if any) and `end`, with commas between and perhaps after them. The
    /// range is that of the first token merged with those of the elements.
    fn list<T>(
        &mut self,
        begin: Option<TokenKind>,
        end: TokenKind,
        range_of: impl Fn(&T) -> Range,
        mut parse: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<(Vec<T>, Range), Error> {
        let mut range = self.here();
        let mut elements = Vec::new();
        self.sequence(begin, end, |parser| {
            let element = parse(parser)?;
            range = range.merge(range_of(&element));
            elements.push(element);
            Ok(())
        })?;
        Ok((elements, range))
    }

    /// As [`Parser::list`], for elements that `parse` puts where they belong.
    fn sequence(
        &mut self,
        begin: Option<TokenKind>,
        end: TokenKind,
        mut parse: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(begin) = begin {
            self.lexer.expect(begin)?;
        }
        while self.kind() != end {
            parse(self)?;
            if !self.lexer.advance_if(TokenKind::Comma)? {
                break;
            }
        }
        self.lexer.expect(end)?;
        Ok(())
    }

    /// Elements with commas between them, up to no particular end.
    fn open_list<T>(
        &mut self,
        range_of: impl Fn(&T) -> Range,
        mut parse: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<(Vec<T>, Range), Error> {
        let mut range = self.here();
        let mut elements = Vec::new();
        loop {
            let element = parse(self)?;
            range = range.merge(range_of(&element));
            elements.push(element);
            if !self.lexer.advance_if(TokenKind::Comma)? {
                return Ok((elements, range));
            }
        }
    }
}

/// How both ranges of an optional child and of the place where it would stand are merged.
fn merge_option(range: Range, option: Option<&Expr>, missing: Range) -> Range {
    range.merge(option.map_or(missing, |expr| expr.range))
}
