//! Expressions.

use std::sync::Arc;

use sconce_ir::{Constant, Kind, Type, ValueId};
use sconce_syntax::Range;
use sconce_syntax::ast::{BinaryOp, Expr, ExprKind, Number, UnaryOp};

use super::sugared::Sugared;
use super::{Emitter, Literal};
use crate::Error;

/// The magic method and the operator of an infix operator that can be overloaded.
fn overloadable(op: BinaryOp) -> Option<(&'static str, &'static str)> {
    Some(match op {
        BinaryOp::In => ("__contains__", "aten::__contains__"),
        BinaryOp::Eq => ("__eq__", "aten::eq"),
        BinaryOp::Ne => ("__ne__", "aten::ne"),
        BinaryOp::Lt => ("__lt__", "aten::lt"),
        BinaryOp::Le => ("__le__", "aten::le"),
        BinaryOp::Gt => ("__gt__", "aten::gt"),
        BinaryOp::Ge => ("__ge__", "aten::ge"),
        BinaryOp::Add => ("__add__", "aten::add"),
        BinaryOp::Sub => ("__sub__", "aten::sub"),
        BinaryOp::Mul => ("__mul__", "aten::mul"),
        BinaryOp::Div => ("__truediv__", "aten::div"),
        BinaryOp::Mod => ("__mod__", "aten::remainder"),
        BinaryOp::Pow => ("__pow__", "aten::pow"),
        BinaryOp::LShift => ("__lshift__", "aten::__lshift__"),
        BinaryOp::RShift => ("__rshift__", "aten::__rshift__"),
        BinaryOp::BitAnd => ("__and__", "aten::__and__"),
        BinaryOp::BitOr => ("__or__", "aten::__or__"),
        BinaryOp::BitXor => ("__xor__", "aten::__xor__"),
        BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Is
        | BinaryOp::IsNot
        | BinaryOp::FloorDiv
        | BinaryOp::MatMul => return None,
    })
}

impl Emitter<'_> {
    /// The value of an expression: `emitExpr`. A hint is what type is wanted; it is for the caller to
    /// see whether it came out so.
    pub(super) fn expression(
        &mut self,
        expression: &Expr,
        hint: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let sugared = self.sugared(expression, hint)?;
        let value = self.as_value(sugared, expression.range)?;
        if hint == Some(&Type::Any) && *self.graph.ty(value) != Type::Any {
            return Ok(self.unchecked_cast(value, Type::Any));
        }
        Ok(value)
    }

    /// What an expression means: `emitSugaredExpr`.
    pub(super) fn sugared(
        &mut self,
        expression: &Expr,
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        let Some(budget) = self.budget.checked_sub(1) else {
            let message = "the function grows too large while it is compiled";
            return Err(self.error(expression.range, message));
        };
        self.budget = budget;
        crate::nesting::with_stack(|| match &expression.kind {
            ExprKind::Name(name) => self.variable(name),
            ExprKind::Attribute { value, name } => {
                let base = self.sugared(value, None)?;
                self.attribute(base, expression.range, &name.name)
            }
            ExprKind::Call { callee, args, kwargs } => {
                self.apply(expression, callee, args, kwargs, hint)
            }
            ExprKind::Subscript { value, indices } => {
                self.subscript(expression.range, value, indices, hint)
            }
            _ => self.simple(expression, hint).map(Sugared::Simple),
        })
    }

    fn simple(&mut self, expression: &Expr, hint: Option<&Type>) -> Result<ValueId, Error> {
        let at = expression.range;
        match &expression.kind {
            ExprKind::Number(number) => Ok(self.number(number, at)),
            ExprKind::Str(text) => Ok(self.constant(&Constant::Str(Arc::clone(text)), Some(at))),
            ExprKind::True => Ok(self.constant(&Constant::Bool(true), Some(at))),
            ExprKind::False => Ok(self.constant(&Constant::Bool(false), Some(at))),
            ExprKind::None => Ok(self.constant(&Constant::None, Some(at))),
            ExprKind::List(elements) => self.list_literal(at, elements, hint),
            ExprKind::Tuple(elements) => {
                let values = self.values(elements, true)?;
                self.tuple(at, &values)
            }
            ExprKind::Dict(items) => self.dict_literal(at, items, hint),
            ExprKind::ListComp { element, target, iterable } => {
                self.list_comprehension(at, element, target, iterable, hint)
            }
            ExprKind::DictComp { key, value, target, iterable } => {
                self.dict_comprehension(at, (key, value), target, iterable, hint)
            }
            ExprKind::Unary { op: UnaryOp::Not, .. } => Ok(self.condition(expression)?.value),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => {
                self.unary(at, "__neg__", "aten::neg", operand)
            }
            ExprKind::Unary { op: UnaryOp::Invert, operand } => {
                self.unary(at, "__invert__", "aten::bitwise_not", operand)
            }
            ExprKind::Binary { op, left, right } => self.binary(expression, *op, left, right),
            ExprKind::Ternary { condition, then, otherwise } => {
                self.ternary(at, condition, then, otherwise, hint)
            }
            ExprKind::Starred(_) => {
                Err(self.error(at, "Unexpected starred expansion. File a bug report"))
            }
            ExprKind::Dots => Err(self.error(at, "Cannot emit expr for: (dots)")),
            ExprKind::NoneType => Err(self.error(at, "Cannot emit expr for: (NoneType)")),
            ExprKind::Slice { .. } => Err(self.error(at, "Cannot emit expr for: (slice expr)")),
            ExprKind::Name(_)
            | ExprKind::Attribute { .. }
            | ExprKind::Call { .. }
            | ExprKind::Subscript { .. } => self.expression(expression, hint),
        }
    }

    fn number(&mut self, number: &Number, at: Range) -> ValueId {
        match *number {
            Number::Int(value) => self.int_literal(value, at),
            Number::Float(value) => {
                self.literal(Literal::Float(value.to_bits()), &Constant::Float(value), at)
            }
            Number::Complex(value) => {
                self.literal(Literal::Complex(value.to_bits()), &Constant::Complex(0.0, value), at)
            }
        }
    }

    fn unary(
        &mut self,
        at: Range,
        method: &'static str,
        symbol: &str,
        operand: &Expr,
    ) -> Result<ValueId, Error> {
        let operand = self.expression(operand, None)?;
        let value = self.magic_operator(method, symbol, at, &[operand])?;
        let node = self.graph.node(self.graph.value(value).node());
        if node.kind.symbol() != symbol {
            return Ok(value);
        }
        let folded = match (symbol, self.graph.constant(operand)) {
            ("aten::neg", Some(Constant::Int(value))) => Constant::Int(value.wrapping_neg()),
            ("aten::neg", Some(Constant::Float(value))) => Constant::Float(-value),
            ("aten::neg", Some(Constant::Complex(re, im))) => Constant::Complex(-re, -im),
            _ => return Ok(value),
        };
        Ok(self.constant(&folded, Some(at)))
    }

    fn binary(
        &mut self,
        expression: &Expr,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
    ) -> Result<ValueId, Error> {
        let at = expression.range;
        if op == BinaryOp::Mod {
            // PyTorch looks at the left operand first, and emits it again below.
            let format = self.expression_without_cast(left)?;
            if *self.graph.ty(format) == Type::Str {
                let inputs = [self.expression(left, None)?, self.expression(right, None)?];
                let kind = Kind::Op("aten::percentFormat".into());
                return Ok(self.insert_at(kind, &inputs, Type::Str, at));
            }
        }
        let Some((method, symbol)) = overloadable(op) else {
            let symbol = match op {
                BinaryOp::FloorDiv => "aten::floordiv",
                BinaryOp::MatMul => "aten::matmul",
                _ => return Ok(self.condition(expression)?.value),
            };
            let inputs = [self.expression(left, None)?, self.expression(right, None)?];
            return self.operator(Some(at), symbol, &inputs);
        };
        let left = self.expression(left, None)?;
        let right = self.expression(right, None)?;
        if op == BinaryOp::Add
            && let Some(elements) = self.joined_tuples(left, right)
        {
            return self.tuple(at, &elements);
        }
        // The container is the one that is asked.
        let inputs = if op == BinaryOp::In { [right, left] } else { [left, right] };
        self.magic_operator(method, symbol, at, &inputs)
    }

    fn expression_without_cast(&mut self, expression: &Expr) -> Result<ValueId, Error> {
        let sugared = self.sugared(expression, None)?;
        self.as_value(sugared, expression.range)
    }

    /// The elements of two tuples one after the other.
    fn joined_tuples(&mut self, left: ValueId, right: ValueId) -> Option<Vec<ValueId>> {
        let is_tuple = |value| matches!(self.graph.ty(value), Type::Tuple(_));
        if !is_tuple(left) || !is_tuple(right) {
            return None;
        }
        let mut elements = self.unpack_tuple(left);
        elements.extend(self.unpack_tuple(right));
        Some(elements)
    }

    fn ternary(
        &mut self,
        at: Range,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
        hint: Option<&Type>,
    ) -> Result<ValueId, Error> {
        let condition = self.condition(condition)?;
        if let Some(known) = condition.known {
            return self.expression(if known { then } else { otherwise }, hint);
        }
        self.if_expression(
            at,
            &condition,
            &mut |emitter| emitter.expression(then, hint),
            &mut |emitter| emitter.expression(otherwise, hint),
        )
    }
}
