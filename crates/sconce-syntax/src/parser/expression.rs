//! Expressions, by precedence climbing.

use crate::ast::{BinaryOp, Expr, ExprKind, Ident, Keyword, UnaryOp};
use crate::{Error, Range, TokenKind, literal};

use super::Parser;

/// What may be assigned to or iterated binds tighter than comparisons (and so than `in`).
const COMPARISON: u8 = 4;

/// What stands between two expressions.
#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOp),
    /// `left not in right` is `not (left in right)`.
    NotIn,
    /// `then if condition else otherwise`
    Ternary,
    /// `element for target in iterable`
    Comprehension,
}

/// An infix operator and how tightly it binds. `and` and `or` bind alike, as in PyTorch's text
/// parser (its Python front end has Python's rules).
fn infix(kind: TokenKind) -> Option<(Infix, u8)> {
    use TokenKind as T;
    let (op, precedence) = match kind {
        T::If => return Some((Infix::Ternary, 1)),
        T::For => return Some((Infix::Comprehension, 1)),
        T::NotIn => return Some((Infix::NotIn, COMPARISON)),
        T::And => (BinaryOp::And, 2),
        T::Or => (BinaryOp::Or, 2),
        T::In => (BinaryOp::In, COMPARISON),
        T::Less => (BinaryOp::Lt, COMPARISON),
        T::Greater => (BinaryOp::Gt, COMPARISON),
        T::Is => (BinaryOp::Is, COMPARISON),
        T::IsNot => (BinaryOp::IsNot, COMPARISON),
        T::EqualEqual => (BinaryOp::Eq, COMPARISON),
        T::LessEqual => (BinaryOp::Le, COMPARISON),
        T::GreaterEqual => (BinaryOp::Ge, COMPARISON),
        T::NotEqual => (BinaryOp::Ne, COMPARISON),
        T::Bar => (BinaryOp::BitOr, 5),
        T::Caret => (BinaryOp::BitXor, 6),
        T::Ampersand => (BinaryOp::BitAnd, 7),
        T::LShift => (BinaryOp::LShift, 8),
        T::RShift => (BinaryOp::RShift, 8),
        T::Plus => (BinaryOp::Add, 9),
        T::Minus => (BinaryOp::Sub, 9),
        T::Star => (BinaryOp::Mul, 10),
        T::Slash => (BinaryOp::Div, 10),
        T::FloorDiv => (BinaryOp::FloorDiv, 10),
        T::Percent => (BinaryOp::Mod, 10),
        T::At => (BinaryOp::MatMul, 10),
        T::Pow => (BinaryOp::Pow, 11),
        _ => return None,
    };
    Some((Infix::Binary(op), precedence))
}

/// What stands before an expression.
#[derive(Clone, Copy)]
enum Prefix {
    Unary(UnaryOp),
    Star,
}

fn prefix(kind: TokenKind) -> Option<(Prefix, u8)> {
    Some(match kind {
        TokenKind::Not => (Prefix::Unary(UnaryOp::Not), 3),
        TokenKind::Tilde => (Prefix::Unary(UnaryOp::Invert), 3),
        TokenKind::Minus => (Prefix::Unary(UnaryOp::Neg), 10),
        TokenKind::Star => (Prefix::Star, 10),
        _ => return None,
    })
}

/// Whether a comma before this token ends a tuple.
fn follows_tuple(kind: TokenKind) -> bool {
    use TokenKind as T;
    super::statement::augmented(kind).is_some()
        || matches!(kind, T::Newline | T::Equal | T::RightParen)
}

impl Parser<'_> {
    /// One expression, with no comma.
    pub(super) fn expression(&mut self) -> Result<Expr, Error> {
        self.expression_above(0)
    }

    /// What may stand left of `=` or between `for` and `in`.
    pub(super) fn target(&mut self) -> Result<Expr, Error> {
        self.expression_above(COMPARISON)
    }

    /// An expression, or several with commas, which are a tuple.
    pub(super) fn expression_or_tuple(&mut self) -> Result<Expr, Error> {
        let first = self.expression()?;
        if self.kind() != TokenKind::Comma {
            return Ok(first);
        }
        let mut tallest = self.height;
        let mut range = first.range;
        let mut elements = vec![first];
        while self.lexer.advance_if(TokenKind::Comma)? {
            if follows_tuple(self.kind()) {
                break;
            }
            let element = self.expression()?;
            tallest = tallest.max(self.height);
            range = range.merge(element.range);
            elements.push(element);
        }
        self.grow(tallest)?;
        Ok(Expr { kind: ExprKind::Tuple(elements), range })
    }

    /// The longest expression whose operators bind tighter than `precedence`.
    fn expression_above(&mut self, precedence: u8) -> Result<Expr, Error> {
        let mut left = match prefix(self.kind()) {
            Some((prefix, binding)) => self.prefixed(prefix, binding)?,
            None => self.postfixed()?,
        };
        while let Some((infix, binding)) = infix(self.kind()).filter(|&(_, it)| it > precedence) {
            left = self.infixed(left, infix, binding)?;
        }
        Ok(left)
    }

    /// An operand of an operator, one level down.
    fn operand(&mut self, precedence: u8) -> Result<Expr, Error> {
        self.descend()?;
        let operand = self.expression_above(precedence)?;
        self.ascend();
        Ok(operand)
    }

    fn prefixed(&mut self, prefix: Prefix, binding: u8) -> Result<Expr, Error> {
        let range = self.lexer.advance()?.range;
        let minus = matches!(prefix, Prefix::Unary(UnaryOp::Neg));
        if minus && self.kind() == TokenKind::Number && self.number_is_alone(binding)? {
            self.height = 1;
            let number = self.lexer.advance()?.range;
            return self.number(number, true);
        }
        let operand = self.operand(binding)?;
        match operand.kind {
            ExprKind::Number(number) if minus && !number.is_negative() => {
                Ok(Expr { kind: ExprKind::Number(number.negated()), range: operand.range })
            }
            _ => self.prefix_node(prefix, range, operand),
        }
    }

    /// Whether the current token, a number, is a whole operand of an operator that binds like this,
    /// so that a `-` before it is its sign. The smallest integer exists with its sign only.
    fn number_is_alone(&mut self, binding: u8) -> Result<bool, Error> {
        use TokenKind as T;
        let next = self.lexer.next_token()?.kind;
        let goes_on = matches!(next, T::Dot | T::LeftParen | T::LeftBracket)
            || infix(next).is_some_and(|(_, it)| it > binding);
        Ok(!goes_on)
    }

    fn prefix_node(&mut self, prefix: Prefix, range: Range, operand: Expr) -> Result<Expr, Error> {
        self.grow(self.height)?;
        let range = range.merge(operand.range);
        let operand = Box::new(operand);
        let kind = match prefix {
            Prefix::Unary(op) => ExprKind::Unary { op, operand },
            Prefix::Star => ExprKind::Starred(operand),
        };
        Ok(Expr { kind, range })
    }

    /// What `left` is the first operand of.
    fn infixed(&mut self, left: Expr, infix: Infix, binding: u8) -> Result<Expr, Error> {
        let tallest = self.height;
        let sign = self.lexer.advance()?.range;
        match infix {
            Infix::Binary(op) => {
                let right_associative = op == BinaryOp::Pow;
                let right = self.operand(binding - u8::from(right_associative))?;
                self.grow(tallest.max(self.height))?;
                Ok(binary(op, left, right, sign))
            }
            Infix::NotIn => {
                let right = self.operand(binding)?;
                self.grow(tallest.max(self.height))?;
                let inner = binary(BinaryOp::In, left, right, sign);
                self.prefix_node(Prefix::Unary(UnaryOp::Not), sign, inner)
            }
            Infix::Ternary => self.ternary(left, sign, binding - 1),
            Infix::Comprehension => self.comprehension(left, sign),
        }
    }

    fn ternary(&mut self, then: Expr, sign: Range, precedence: u8) -> Result<Expr, Error> {
        let mut tallest = self.height;
        let condition = self.operand(0)?;
        tallest = tallest.max(self.height);
        self.lexer.expect(TokenKind::Else)?;
        let otherwise = self.operand(precedence)?;
        self.grow(tallest.max(self.height))?;
        let range = sign.merge(condition.range).merge(then.range).merge(otherwise.range);
        let [condition, then, otherwise] = [condition, then, otherwise].map(Box::new);
        Ok(Expr { kind: ExprKind::Ternary { condition, then, otherwise }, range })
    }

    fn comprehension(&mut self, element: Expr, sign: Range) -> Result<Expr, Error> {
        let mut tallest = self.height;
        let target = self.operand(COMPARISON)?;
        tallest = tallest.max(self.height);
        self.lexer.expect(TokenKind::In)?;
        let iterable = self.operand(0)?;
        self.grow(tallest.max(self.height))?;
        let range = sign.merge(element.range).merge(target.range).merge(iterable.range);
        let [element, target, iterable] = [element, target, iterable].map(Box::new);
        Ok(Expr { kind: ExprKind::ListComp { element, target, iterable }, range })
    }

    /// An atom and the `.name`, `(…)` and `[…]` after it.
    fn postfixed(&mut self) -> Result<Expr, Error> {
        let mut expr = self.atom()?;
        loop {
            expr = match self.kind() {
                TokenKind::Dot => self.attribute(expr)?,
                TokenKind::LeftParen => self.call(expr)?,
                TokenKind::LeftBracket => self.subscript(expr)?,
                _ => return Ok(expr),
            };
        }
    }

    fn atom(&mut self) -> Result<Expr, Error> {
        let range = self.here();
        self.height = 1;
        let kind = match self.kind() {
            TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                return self.bracketed();
            }
            TokenKind::Str => return self.strings(),
            TokenKind::Number => {
                self.lexer.advance()?;
                return self.number(range, false);
            }
            TokenKind::True => ExprKind::True,
            TokenKind::False => ExprKind::False,
            TokenKind::None => ExprKind::None,
            TokenKind::NoneType => ExprKind::NoneType,
            TokenKind::Dots | TokenKind::Ellipsis => ExprKind::Dots,
            _ => return Ok(Expr { kind: ExprKind::Name(self.ident()?), range }),
        };
        self.lexer.advance()?;
        Ok(Expr { kind, range })
    }

    fn bracketed(&mut self) -> Result<Expr, Error> {
        self.descend()?;
        let expr = match self.kind() {
            TokenKind::LeftParen => self.parenthesized(),
            TokenKind::LeftBracket => self.list_literal(),
            _ => self.dict_literal(),
        }?;
        self.ascend();
        Ok(expr)
    }

    fn number(&self, range: Range, negative: bool) -> Result<Expr, Error> {
        let number = literal::number(self.lexer.text(range), negative)
            .map_err(|message| self.lexer.error(message, range))?;
        Ok(Expr { kind: ExprKind::Number(number), range })
    }

    /// Adjacent strings; the range is that of the first.
    fn strings(&mut self) -> Result<Expr, Error> {
        let range = self.here();
        let mut bytes = Vec::new();
        while self.kind() == TokenKind::Str {
            let part = self.lexer.advance()?.range;
            literal::unquote(self.lexer.text(part), &mut bytes)
                .map_err(|message| self.lexer.error(message, part))?;
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| self.lexer.error("the string is not UTF-8", range))?;
        Ok(Expr { kind: ExprKind::Str(text.into()), range })
    }

    /// `(a)`, which is `a`, or a tuple.
    fn parenthesized(&mut self) -> Result<Expr, Error> {
        self.lexer.advance()?;
        if self.lexer.advance_if(TokenKind::RightParen)? {
            self.height = 1;
            return Ok(Expr { kind: ExprKind::Tuple(Vec::new()), range: self.here() });
        }
        let inner = self.expression_or_tuple()?;
        self.lexer.expect(TokenKind::RightParen)?;
        Ok(inner)
    }

    fn list_literal(&mut self) -> Result<Expr, Error> {
        let mut tallest = 0;
        let begin = Some(TokenKind::LeftBracket);
        let (mut elements, range) = self.list(
            begin,
            TokenKind::RightBracket,
            |it: &Expr| it.range,
            |parser| {
                let element = parser.expression()?;
                tallest = tallest.max(parser.height);
                Ok(element)
            },
        )?;
        let comprehensions =
            elements.iter().filter(|it| matches!(it.kind, ExprKind::ListComp { .. })).count();
        if comprehensions == 0 {
            self.grow(tallest)?;
            return Ok(Expr { kind: ExprKind::List(elements), range });
        }
        match elements.pop() {
            Some(comprehension) if elements.is_empty() => {
                self.height = tallest;
                Ok(comprehension)
            }
            _ => {
                let message = " expected a single list comprehension within '[' , ']'";
                Err(self.lexer.error(message, range))
            }
        }
    }

    fn dict_literal(&mut self) -> Result<Expr, Error> {
        self.lexer.advance()?;
        let mut range = self.here();
        let mut tallest = 0;
        let mut entries = Vec::new();
        if self.kind() != TokenKind::RightBrace {
            loop {
                let key = self.expression()?;
                tallest = tallest.max(self.height);
                self.lexer.expect(TokenKind::Colon)?;
                let value = self.expression()?;
                tallest = tallest.max(self.height);
                entries.push((key, value));
                if !self.lexer.advance_if(TokenKind::Comma)? {
                    break;
                }
            }
        }
        self.lexer.expect(TokenKind::RightBrace)?;
        self.grow(tallest)?;
        for (key, value) in &entries {
            range = range.merge(key.range).merge(value.range);
        }
        Ok(Expr { kind: dict(entries), range })
    }

    fn attribute(&mut self, value: Expr) -> Result<Expr, Error> {
        self.lexer.advance()?;
        self.grow(self.height)?;
        let name = self.ident()?;
        let range = name.range.merge(value.range);
        Ok(Expr { kind: ExprKind::Attribute { value: Box::new(value), name }, range })
    }

    fn call(&mut self, callee: Expr) -> Result<Expr, Error> {
        let mut tallest = self.height;
        let mut range = self.here();
        let (mut args, mut kwargs) = (Vec::new(), Vec::new());
        self.sequence(Some(TokenKind::LeftParen), TokenKind::RightParen, |parser| {
            match parser.keyword_name()? {
                Some(name) => {
                    let keyword = parser.keyword(name)?;
                    range = range.merge(keyword.range);
                    kwargs.push(keyword);
                }
                None => {
                    let arg = parser.operand(0)?;
                    range = range.merge(arg.range);
                    args.push(arg);
                }
            }
            tallest = tallest.max(parser.height);
            Ok(())
        })?;
        self.grow(tallest)?;
        let range = range.merge(callee.range);
        Ok(Expr { kind: ExprKind::Call { callee: Box::new(callee), args, kwargs }, range })
    }

    /// The name in `name=value`, if that comes next.
    fn keyword_name(&mut self) -> Result<Option<Ident>, Error> {
        let named =
            self.kind() == TokenKind::Ident && self.lexer.next_token()?.kind == TokenKind::Equal;
        if named { self.ident().map(Some) } else { Ok(None) }
    }

    fn keyword(&mut self, name: Ident) -> Result<Keyword, Error> {
        self.lexer.expect(TokenKind::Equal)?;
        let value = self.operand(0)?;
        let range = name.range.merge(value.range);
        Ok(Keyword { name, value, range })
    }

    /// The range ends one byte after the last index.
    fn subscript(&mut self, value: Expr) -> Result<Expr, Error> {
        let mut tallest = self.height;
        let mut range = self.here();
        let mut indices = Vec::new();
        self.sequence(Some(TokenKind::LeftBracket), TokenKind::RightBracket, |parser| {
            parser.descend()?;
            parser.index(&mut indices)?;
            parser.ascend();
            tallest = tallest.max(parser.height);
            Ok(())
        })?;
        self.grow(tallest)?;
        range = indices.iter().fold(range, |range, index: &Expr| range.merge(index.range));
        range.end += 1;
        let range = range.merge(value.range);
        Ok(Expr { kind: ExprKind::Subscript { value: Box::new(value), indices }, range })
    }

    /// An index or a slice.
    fn index(&mut self, indices: &mut Vec<Expr>) -> Result<(), Error> {
        use TokenKind as T;
        let range = self.here();
        self.height = 0;
        if self.kind() != T::Colon {
            indices.push(self.expression()?);
            if self.kind() != T::Colon {
                return Ok(());
            }
        }
        let start = (self.height > 0).then(|| indices.pop()).flatten().map(Box::new);
        self.slice(start, range, indices)
    }

    /// The rest of a slice, from its first colon on.
    fn slice(
        &mut self,
        start: Option<Box<Expr>>,
        mut range: Range,
        indices: &mut Vec<Expr>,
    ) -> Result<(), Error> {
        use TokenKind as T;
        let mut tallest = self.height;
        self.lexer.expect(T::Colon)?;
        let stop = self.bound(&[T::Comma, T::RightBracket, T::Colon])?;
        tallest = tallest.max(self.height);
        let mut step = None;
        if self.lexer.advance_if(T::Colon)? {
            step = self.bound(&[T::Comma, T::RightBracket])?;
            tallest = tallest.max(self.height);
        }
        self.grow(tallest)?;
        for bound in [&start, &stop, &step].into_iter().flatten() {
            range = range.merge(bound.range);
        }
        indices.push(Expr { kind: ExprKind::Slice { start, stop, step }, range });
        Ok(())
    }

    /// A bound of a slice, unless one of `ends` follows.
    fn bound(&mut self, ends: &[TokenKind]) -> Result<Option<Box<Expr>>, Error> {
        if ends.contains(&self.kind()) {
            return Ok(None);
        }
        Ok(Some(Box::new(self.expression()?)))
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr, sign: Range) -> Expr {
    let range = sign.merge(left.range).merge(right.range);
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, range }
}

/// A dict, or a comprehension if the only value is one (`{key: value for target in iterable}`).
fn dict(mut entries: Vec<(Expr, Expr)>) -> ExprKind {
    let comprehension = matches!(entries.as_slice(), [(_, value)]
        if matches!(value.kind, ExprKind::ListComp { .. }));
    if !comprehension {
        return ExprKind::Dict(entries);
    }
    match entries.pop() {
        Some((key, Expr { kind: ExprKind::ListComp { element, target, iterable }, .. })) => {
            ExprKind::DictComp { key: Box::new(key), value: element, target, iterable }
        }
        other => ExprKind::Dict(other.into_iter().collect()),
    }
}
