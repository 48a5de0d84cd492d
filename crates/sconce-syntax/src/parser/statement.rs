//! Statements, definitions and classes.

use std::sync::Arc;

use crate::ast::{
    BinaryOp, Class, Decl, Def, Expr, ExprKind, Ident, Item, Param, Stmt, StmtKind, WithItem,
};
use crate::{Error, Range, TokenKind};

use super::{Parser, merge_option};

/// The operator of an augmented assignment. There is no `//=` and no `@=`.
pub(super) fn augmented(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::PlusEqual => BinaryOp::Add,
        TokenKind::MinusEqual => BinaryOp::Sub,
        TokenKind::StarEqual => BinaryOp::Mul,
        TokenKind::SlashEqual => BinaryOp::Div,
        TokenKind::PercentEqual => BinaryOp::Mod,
        TokenKind::BarEqual => BinaryOp::BitOr,
        TokenKind::AmpersandEqual => BinaryOp::BitAnd,
        TokenKind::CaretEqual => BinaryOp::BitXor,
        TokenKind::LShiftEqual => BinaryOp::LShift,
        TokenKind::RShiftEqual => BinaryOp::RShift,
        TokenKind::PowEqual => BinaryOp::Pow,
        _ => return None,
    })
}

/// Statements and where they stand.
type Block = (Vec<Stmt>, Range);

impl Parser<'_> {
    /// What a file holds at its top level. `op_version_set = 1` may stand first, as in old archives.
    pub(super) fn item(&mut self, first: bool) -> Result<Item, Error> {
        match self.kind() {
            TokenKind::Class => self.class().map(|class| Item::Class(Arc::new(class))),
            TokenKind::Def => self.def(false).map(|def| Item::Def(Arc::new(def))),
            TokenKind::Import => self.import().map(Item::Import),
            TokenKind::Ident if first && self.lexer.text(self.here()) == "op_version_set" => {
                self.statement(false).map(Item::Stmt)
            }
            kind => {
                let message = format!("Unexpected token in code import: {}", kind.name());
                Err(self.lexer.error(message, self.here()))
            }
        }
    }

    /// `import` and what follows on its line.
    fn import(&mut self) -> Result<Range, Error> {
        let mut range = self.here();
        while !matches!(self.kind(), TokenKind::Newline | TokenKind::Eof) {
            range = range.merge(self.lexer.advance()?.range);
        }
        self.lexer.expect(TokenKind::Newline)?;
        Ok(range)
    }

    pub(super) fn class(&mut self) -> Result<Class, Error> {
        self.lexer.expect(TokenKind::Class)?;
        let name = self.ident()?;
        let mut range = name.range;
        let mut superclass = None;
        if self.lexer.advance_if(TokenKind::LeftParen)? {
            let class = self.expression()?;
            range = range.merge(class.range);
            superclass = Some(class);
            self.lexer.expect(TokenKind::RightParen)?;
        }
        self.lexer.expect(TokenKind::Colon)?;
        let (body, place) = self.indented(true)?;
        Ok(Class {
            name,
            superclass,
            body,
            properties: Vec::new(),
            assigns: Vec::new(),
            range: range.merge(place),
        })
    }

    pub(super) fn def(&mut self, is_method: bool) -> Result<Def, Error> {
        self.lexer.expect(TokenKind::Def)?;
        let name = self.ident()?;
        let mut decl = self.decl()?;
        let (body, place) = if self.lexer.advance_if(TokenKind::Indent)? {
            if self.kind() == TokenKind::TypeComment {
                let (comment, returns_place) = self.type_comment()?;
                self.lexer.expect(TokenKind::Newline)?;
                decl = self.annotated(decl, comment, returns_place, is_method)?;
            }
            self.block(false)?
        } else {
            // On one line.
            let stmt = self.nested_statement(false)?;
            let range = self.here().merge(stmt.range);
            (vec![stmt], range)
        };
        let range = name.range.merge(decl.range).merge(place);
        Ok(Def { name, decl, body, range })
    }

    fn decl(&mut self) -> Result<Decl, Error> {
        let mut range = self.here();
        let mut params = Vec::new();
        let mut kwarg_only = false;
        self.sequence(Some(TokenKind::LeftParen), TokenKind::RightParen, |parser| {
            if !kwarg_only && parser.lexer.advance_if(TokenKind::Star)? {
                kwarg_only = true;
                return Ok(());
            }
            let param = parser.param(kwarg_only)?;
            range = range.merge(param.range);
            params.push(param);
            Ok(())
        })?;
        let (returns, place) = self.return_annotation()?;
        self.lexer.expect(TokenKind::Colon)?;
        Ok(Decl { params, returns, range: range.merge(place) })
    }

    fn param(&mut self, kwarg_only: bool) -> Result<Param, Error> {
        let name = self.ident()?;
        let (annotation, place) = self.annotation()?;
        let mut range = name.range.merge(place);
        let mut default = None;
        if self.lexer.advance_if(TokenKind::Equal)? {
            default = Some(self.expression()?);
        }
        range = merge_option(range, default.as_ref(), self.here());
        Ok(Param { name, annotation, default, kwarg_only, range })
    }

    /// `: type`, or where it would stand.
    fn annotation(&mut self) -> Result<(Option<Expr>, Range), Error> {
        self.optional_type(TokenKind::Colon)
    }

    /// `-> type`, or where it would stand.
    fn return_annotation(&mut self) -> Result<(Option<Expr>, Range), Error> {
        self.optional_type(TokenKind::Arrow)
    }

    fn optional_type(&mut self, mark: TokenKind) -> Result<(Option<Expr>, Range), Error> {
        if !self.lexer.advance_if(mark)? {
            return Ok((None, self.here()));
        }
        let annotation = self.expression()?;
        let range = annotation.range;
        Ok((Some(annotation), range))
    }

    /// `# type: (types) -> type`, and where the last type stands or would stand.
    pub(super) fn type_comment(&mut self) -> Result<(Decl, Range), Error> {
        let range = self.lexer.expect(TokenKind::TypeComment)?.range;
        let begin = Some(TokenKind::LeftParen);
        let (params, place) =
            self.list(begin, TokenKind::RightParen, |it: &Param| it.range, Self::unnamed_param)?;
        let (returns, returns_place) = self.return_annotation()?;
        let range = range.merge(place).merge(returns_place);
        Ok((Decl { params, returns, range }, returns_place))
    }

    fn unnamed_param(&mut self) -> Result<Param, Error> {
        let annotation = self.expression()?;
        let range = annotation.range;
        let name = Ident { name: "".into(), range };
        Ok(Param { name, annotation: Some(annotation), default: None, kwarg_only: false, range })
    }

    /// The signature with the types that a comment gives.
    fn annotated(
        &self,
        mut decl: Decl,
        comment: Decl,
        returns_place: Range,
        is_method: bool,
    ) -> Result<Decl, Error> {
        let own = usize::from(is_method);
        // A method without parameters has -1 more than `self`, which PyTorch prints unsigned.
        let expected = decl.params.len().wrapping_sub(own);
        let found = comment.params.len();
        if expected != found {
            let what = if is_method { "method" } else { "function" };
            let message = format!(
                "Number of type annotations ({found}) did not match the number of {what} \
                 parameters ({expected})"
            );
            return Err(self.lexer.error(message, decl.range));
        }
        for (param, typed) in decl.params.iter_mut().skip(own).zip(comment.params) {
            param.range = param.range.merge(typed.range);
            param.annotation = typed.annotation;
            decl.range = decl.range.merge(param.range);
        }
        decl.range = decl.range.merge(returns_place);
        decl.returns = comment.returns;
        Ok(decl)
    }

    /// An indented block.
    fn indented(&mut self, in_class: bool) -> Result<Block, Error> {
        let indent = self.lexer.expect(TokenKind::Indent)?.range;
        let (stmts, range) = self.block(in_class)?;
        Ok((stmts, range.merge(indent)))
    }

    /// Statements up to the end of the block they are in.
    fn block(&mut self, in_class: bool) -> Result<Block, Error> {
        let mut range = self.here();
        let mut stmts = Vec::new();
        loop {
            let stmt = self.nested_statement(in_class)?;
            range = range.merge(stmt.range);
            stmts.push(stmt);
            if self.lexer.advance_if(TokenKind::Dedent)? {
                return Ok((stmts, range));
            }
        }
    }

    fn nested_statement(&mut self, in_class: bool) -> Result<Stmt, Error> {
        self.descend()?;
        let stmt = self.statement(in_class)?;
        self.ascend();
        Ok(stmt)
    }

    pub(super) fn statement(&mut self, in_class: bool) -> Result<Stmt, Error> {
        match self.kind() {
            TokenKind::If => self.if_statement(),
            TokenKind::While => self.while_statement(),
            TokenKind::For => self.for_statement(),
            TokenKind::With => self.with_statement(),
            TokenKind::Def => {
                let def = self.def(in_class)?;
                Ok(Stmt { range: def.range, kind: StmtKind::Def(Arc::new(def)) })
            }
            TokenKind::Return => self.after_keyword(Self::return_value),
            TokenKind::Raise => self.after_keyword(|parser, range| {
                let value = parser.expression()?;
                Ok((range.merge(value.range), StmtKind::Raise(value)))
            }),
            TokenKind::Assert => self.after_keyword(Self::assertion),
            TokenKind::Global => self.after_keyword(|parser, range| {
                let (names, place) = parser.open_list(|it: &Ident| it.range, Self::ident)?;
                Ok((range.merge(place), StmtKind::Global(names)))
            }),
            TokenKind::Delete => self.after_keyword(|parser, range| {
                let (targets, place) = parser.open_list(|it: &Expr| it.range, Self::expression)?;
                Ok((range.merge(place), StmtKind::Delete(targets)))
            }),
            TokenKind::Pass => self.after_keyword(|_, range| Ok((range, StmtKind::Pass))),
            TokenKind::Break => self.after_keyword(|_, range| Ok((range, StmtKind::Break))),
            TokenKind::Continue => self.after_keyword(|_, range| Ok((range, StmtKind::Continue))),
            _ => self.expression_statement(),
        }
    }

    /// A statement that is a keyword and what `parse` reads, on one line.
    fn after_keyword(
        &mut self,
        parse: impl FnOnce(&mut Self, Range) -> Result<(Range, StmtKind), Error>,
    ) -> Result<Stmt, Error> {
        let keyword = self.lexer.advance()?.range;
        let (range, kind) = parse(self, keyword)?;
        self.lexer.expect(TokenKind::Newline)?;
        Ok(Stmt { kind, range })
    }

    fn return_value(&mut self, keyword: Range) -> Result<(Range, StmtKind), Error> {
        let value = if self.kind() == TokenKind::Newline {
            Expr { kind: ExprKind::None, range: keyword }
        } else {
            self.expression_or_tuple()?
        };
        Ok((keyword.merge(value.range), StmtKind::Return(value)))
    }

    fn assertion(&mut self, keyword: Range) -> Result<(Range, StmtKind), Error> {
        let condition = self.expression()?;
        let mut range = keyword.merge(condition.range);
        let mut message = None;
        if self.lexer.advance_if(TokenKind::Comma)? {
            let text = self.expression()?;
            range = range.merge(text.range);
            message = Some(text);
        }
        Ok((range, StmtKind::Assert { condition, message }))
    }

    /// `if` or `elif` and what belongs to it.
    fn if_statement(&mut self) -> Result<Stmt, Error> {
        let keyword = self.lexer.advance()?.range;
        self.rest_of_if(keyword)
    }

    /// The `if` whose condition comes next. An `elif` is an `if` alone in the `else` block; its
    /// range begins with its condition.
    fn rest_of_if(&mut self, begin: Range) -> Result<Stmt, Error> {
        let condition = self.expression()?;
        self.lexer.expect(TokenKind::Colon)?;
        let (then, then_place) = self.indented(false)?;
        let mut otherwise_place = self.here();
        let mut otherwise = Vec::new();
        if self.lexer.advance_if(TokenKind::Else)? {
            self.lexer.expect(TokenKind::Colon)?;
            (otherwise, otherwise_place) = self.indented(false)?;
        } else if self.lexer.advance_if(TokenKind::Elif)? {
            let begin = self.here();
            self.descend()?;
            let stmt = self.rest_of_if(begin)?;
            self.ascend();
            otherwise_place = stmt.range;
            otherwise.push(stmt);
        }
        let range = begin.merge(condition.range).merge(then_place).merge(otherwise_place);
        Ok(Stmt { kind: StmtKind::If { condition, then, otherwise }, range })
    }

    fn while_statement(&mut self) -> Result<Stmt, Error> {
        let keyword = self.lexer.advance()?.range;
        let condition = self.expression()?;
        self.lexer.expect(TokenKind::Colon)?;
        let (body, place) = self.indented(false)?;
        let range = keyword.merge(condition.range).merge(place);
        Ok(Stmt { kind: StmtKind::While { condition, body }, range })
    }

    fn for_statement(&mut self) -> Result<Stmt, Error> {
        let keyword = self.lexer.advance()?.range;
        let (targets, targets_place) =
            self.list(None, TokenKind::In, |it: &Expr| it.range, Self::target)?;
        let (iterables, iterables_place) =
            self.list(None, TokenKind::Colon, |it: &Expr| it.range, Self::expression)?;
        let (body, place) = self.indented(false)?;
        let range = keyword.merge(targets_place).merge(iterables_place).merge(place);
        Ok(Stmt { kind: StmtKind::For { targets, iterables, body }, range })
    }

    fn with_statement(&mut self) -> Result<Stmt, Error> {
        let keyword = self.lexer.advance()?.range;
        let (items, items_place) =
            self.list(None, TokenKind::Colon, |it: &WithItem| it.range, Self::with_item)?;
        let (body, place) = self.indented(false)?;
        let range = keyword.merge(items_place).merge(place);
        Ok(Stmt { kind: StmtKind::With { items, body }, range })
    }

    fn with_item(&mut self) -> Result<WithItem, Error> {
        let context = self.expression()?;
        let mut range = context.range;
        let mut target = None;
        if self.lexer.advance_if(TokenKind::As)? {
            let name = self.ident()?;
            range = range.merge(name.range);
            target = Some(Expr { range: name.range, kind: ExprKind::Name(name) });
        }
        Ok(WithItem { context, target, range })
    }

    /// An expression alone, or what is assigned to.
    fn expression_statement(&mut self) -> Result<Stmt, Error> {
        let first = self.expression_or_tuple()?;
        let stmt = match self.kind() {
            TokenKind::Newline => Stmt { range: first.range, kind: StmtKind::Expr(first) },
            _ => self.assignment(first)?,
        };
        self.lexer.expect(TokenKind::Newline)?;
        Ok(stmt)
    }

    fn assignment(&mut self, first: Expr) -> Result<Stmt, Error> {
        let (annotation, annotation_place) = self.annotation()?;
        let begin = first.range.merge(annotation_place);
        if let Some(op) = augmented(self.kind()) {
            return self.augmented_assignment(first, op, begin);
        }
        let mut targets = vec![first];
        let mut value = None;
        while self.lexer.advance_if(TokenKind::Equal)? {
            targets.extend(value.take());
            value = Some(self.expression_or_tuple()?);
        }
        if value.is_none() && annotation.is_none() {
            return Err(self.lexer.expected(TokenKind::Newline.name()));
        }
        if annotation.is_some() && targets.len() > 1 {
            let message = "Annotated multiple assignment is not supported in python";
            return Err(self.lexer.error(message, annotation_place));
        }
        let range = targets.iter().chain(&value).fold(begin, |range, it| range.merge(it.range));
        Ok(Stmt { kind: StmtKind::Assign { targets, value, annotation }, range })
    }

    /// An annotation before the operator is dropped, as PyTorch does.
    fn augmented_assignment(
        &mut self,
        target: Expr,
        op: BinaryOp,
        begin: Range,
    ) -> Result<Stmt, Error> {
        let sign = self.lexer.advance()?.range;
        let value = self.expression_or_tuple()?;
        if matches!(target.kind, ExprKind::Tuple(_)) {
            let message = " augmented assignment can only have one LHS expression";
            return Err(self.lexer.error(message, target.range));
        }
        let range = begin.merge(sign).merge(value.range);
        Ok(Stmt { kind: StmtKind::AugAssign { target, op, value }, range })
    }
}
