//! Expressions.

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use sconce_compiler::Error;
use sconce_syntax::Range;
use sconce_syntax::ast::{BinaryOp, Expr, ExprKind, Ident, Keyword, UnaryOp};

use super::numbers::number;
use super::{Frontend, around, width};

/// What names of variables must not begin with.
const RESERVED_PREFIX: &str = "__jit";

impl Frontend<'_> {
    pub(super) fn expression(&mut self, expression: &py::Expr) -> Result<Expr, Error> {
        let at = self.at(expression, 1);
        self.nested(at, |frontend| frontend.expression_kind(expression))
    }

    pub(super) fn expressions<'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e py::Expr>,
    ) -> Result<Vec<Expr>, Error> {
        expressions.into_iter().map(|expression| self.expression(expression)).collect()
    }

    fn expression_kind(&mut self, expression: &py::Expr) -> Result<Expr, Error> {
        let unsupported = |name: &str| self.unsupported(expression, "", name);
        match expression {
            py::Expr::Name(name) => self.name(name),
            py::Expr::NumberLiteral(literal) => self.number(literal),
            py::Expr::StringLiteral(literal) => {
                let text = literal.value.to_str();
                Ok(Expr {
                    kind: ExprKind::Str(text.into()),
                    range: self.at(literal, width(text) + 1),
                })
            }
            py::Expr::BooleanLiteral(literal) => Ok(match literal.value {
                true => Expr { kind: ExprKind::True, range: self.at(literal, 4) },
                false => Expr { kind: ExprKind::False, range: self.at(literal, 5) },
            }),
            py::Expr::NoneLiteral(literal) => {
                Ok(Expr { kind: ExprKind::None, range: self.at(literal, 4) })
            }
            py::Expr::EllipsisLiteral(literal) => {
                Ok(Expr { kind: ExprKind::Dots, range: self.at(literal, 3) })
            }
            py::Expr::BytesLiteral(literal) => {
                Err(self.error(self.at(literal, 1), "Unknown Constant expression type"))
            }
            py::Expr::Attribute(attribute) => self.attribute(attribute),
            py::Expr::Call(call) => self.call(call),
            py::Expr::BinOp(binary) => {
                let (left, right) =
                    (self.expression(&binary.left)?, self.expression(&binary.right)?);
                Ok(binary_expression(binary_op(binary.op), left, right))
            }
            py::Expr::UnaryOp(unary) => self.unary(unary),
            py::Expr::BoolOp(operation) => {
                let op = match operation.op {
                    py::BoolOp::And => BinaryOp::And,
                    py::BoolOp::Or => BinaryOp::Or,
                };
                let values = self.expressions(&operation.values)?;
                self.left_nested(values.into_iter(), |left, right| {
                    binary_expression(op, left, right)
                })
            }
            py::Expr::Compare(compare) => self.compare(compare),
            py::Expr::If(ternary) => {
                let condition = self.expression(&ternary.test)?;
                let then = self.expression(&ternary.body)?;
                let otherwise = self.expression(&ternary.orelse)?;
                let range = condition.range.merge(then.range).merge(otherwise.range);
                let kind = ExprKind::Ternary {
                    condition: Box::new(condition),
                    then: Box::new(then),
                    otherwise: Box::new(otherwise),
                };
                Ok(Expr { kind, range })
            }
            py::Expr::Subscript(subscript) => self.subscript(subscript),
            py::Expr::List(list) => {
                let elements = self.expressions(&list.elts)?;
                let range = around(self.at(list, 1), elements.iter().map(|e| &e.range));
                Ok(Expr { kind: ExprKind::List(elements), range })
            }
            py::Expr::Tuple(tuple) => {
                let elements = self.expressions(&tuple.elts)?;
                let range = around(self.at(tuple, 1), elements.iter().map(|e| &e.range));
                Ok(Expr { kind: ExprKind::Tuple(elements), range })
            }
            py::Expr::Dict(dict) => self.dict(dict),
            py::Expr::FString(string) => self.f_string(string),
            py::Expr::ListComp(comprehension) => {
                let at = self.at(comprehension, 0);
                self.list_comprehension(at, &comprehension.elt, &comprehension.generators)
            }
            py::Expr::Generator(generator) => {
                // CPython counts the call's parentheses in where the generator has none.
                let start = generator.start().to_u32();
                let start = if generator.parenthesized { start } else { self.opening(start) };
                let at = self.snippet.range(start, 0);
                self.list_comprehension(at, &generator.elt, &generator.generators)
            }
            py::Expr::DictComp(comprehension) => self.dict_comprehension(comprehension),
            py::Expr::Starred(starred) => {
                let at = self.at(starred, 1);
                let value = self.expression(&starred.value)?;
                let range = at.merge(value.range);
                Ok(Expr { kind: ExprKind::Starred(Box::new(value)), range })
            }
            py::Expr::Named(_) => unsupported("NamedExpr"),
            py::Expr::Lambda(_) => unsupported("Lambda"),
            py::Expr::Set(_) => unsupported("Set"),
            py::Expr::SetComp(_) => unsupported("SetComp"),
            py::Expr::Await(_) => unsupported("Await"),
            py::Expr::Yield(_) => unsupported("Yield"),
            py::Expr::YieldFrom(_) => unsupported("YieldFrom"),
            py::Expr::TString(_) => unsupported("TemplateStr"),
            py::Expr::Slice(_) => unsupported("Slice"),
            py::Expr::IpyEscapeCommand(_) => unsupported("IPython commands"),
        }
    }

    fn name(&mut self, name: &py::ExprName) -> Result<Expr, Error> {
        let range = self.at(name, width(&name.id));
        if name.id.starts_with(RESERVED_PREFIX) {
            let message = format!(
                "names of variables used in JIT-ed functions can't start with {RESERVED_PREFIX}"
            );
            return Err(self.error(range, message));
        }
        if name.id == "Ellipsis" {
            return Ok(Expr { kind: ExprKind::Dots, range });
        }
        let ident = Ident { name: self.interned(&name.id), range };
        Ok(Expr { kind: ExprKind::Name(ident), range })
    }

    fn number(&self, literal: &py::ExprNumberLiteral) -> Result<Expr, Error> {
        let Some((number, width)) = number(&literal.value) else {
            let at = self.at(literal, literal.range().len().to_usize());
            return Err(self.error(at, "Integral constant is out of range (64 bits)"));
        };
        Ok(Expr { kind: ExprKind::Number(number), range: self.at(literal, width) })
    }

    /// The place of the attribute's name is guessed: one byte after the base's range, spaces skipped.
    fn attribute(&mut self, attribute: &py::ExprAttribute) -> Result<Expr, Error> {
        let base = self.expression(&attribute.value)?;
        let text = self.snippet.source.text().as_bytes();
        let mut start = base.range.end + 1;
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
        while text.get(start as usize).is_some_and(is_space) {
            start += 1;
        }
        let name = attribute.attr.as_str();
        let name_range = Range::new(start, start + width(name) as u32);
        let range = base.range.merge(name_range);
        let name = Ident { name: self.interned(name), range: name_range };
        Ok(Expr { kind: ExprKind::Attribute { value: Box::new(base), name }, range })
    }

    /// Where the parenthesis is that a place stands behind.
    fn opening(&self, start: u32) -> u32 {
        let before = self.snippet.text.get(..start as usize).unwrap_or_default().trim_end();
        let before = before.strip_suffix('(').map(str::len);
        before.map_or(start.saturating_sub(1), |before| before as u32)
    }

    fn call(&mut self, call: &py::ExprCall) -> Result<Expr, Error> {
        let callee = self.expression(&call.func)?;
        let args = self.expressions(&call.arguments.args)?;
        let mut kwargs = Vec::with_capacity(call.arguments.keywords.len());
        for keyword in &call.arguments.keywords {
            let value = self.expression(&keyword.value)?;
            let range = value.range;
            let Some(name) = &keyword.arg else {
                return Err(self.error(range, "keyword-arg expansion is not supported"));
            };
            let name = Ident { name: self.interned(name), range };
            kwargs.push(Keyword { name, value, range });
        }
        let children = args.iter().map(|arg| &arg.range).chain(kwargs.iter().map(|kw| &kw.range));
        let range = around(callee.range, children);
        Ok(Expr { kind: ExprKind::Call { callee: Box::new(callee), args, kwargs }, range })
    }

    fn unary(&mut self, unary: &py::ExprUnaryOp) -> Result<Expr, Error> {
        let operand = self.expression(&unary.operand)?;
        let (op, length) = match unary.op {
            py::UnaryOp::Not => (UnaryOp::Not, 3),
            py::UnaryOp::USub => (UnaryOp::Neg, 1),
            py::UnaryOp::Invert => (UnaryOp::Invert, 1),
            py::UnaryOp::UAdd => {
                return Err(self.error(self.at(unary, 1), "unsupported unary operator: UAdd"));
            }
        };
        Ok(unary_expression(self.at(unary, length), op, operand))
    }

    /// Operators in a chain, each one's result the next one's left operand.
    fn left_nested(
        &mut self,
        mut operands: impl Iterator<Item = Expr>,
        join: impl Fn(Expr, Expr) -> Expr,
    ) -> Result<Expr, Error> {
        let Some(mut result) = operands.next() else {
            return Err(Error::without_range("an operator without operands"));
        };
        for (count, operand) in operands.enumerate() {
            if count as u32 + self.depth >= sconce_syntax::MAX_DEPTH {
                return Err(self.error(operand.range, "too deeply nested"));
            }
            result = join(result, operand);
        }
        Ok(result)
    }

    fn compare(&mut self, compare: &py::ExprCompare) -> Result<Expr, Error> {
        let operands = std::iter::once(&*compare.left).chain(&*compare.comparators);
        let operands = self.expressions(operands)?;
        let pairs = operands.windows(2).zip(&*compare.ops);
        let comparisons: Vec<Expr> = pairs
            .filter_map(|(pair, op)| {
                let [left, right] = pair else { return None };
                Some(comparison(*op, left.clone(), right.clone()))
            })
            .collect();
        self.left_nested(comparisons.into_iter(), |left, right| {
            binary_expression(BinaryOp::And, left, right)
        })
    }

    fn subscript(&mut self, subscript: &py::ExprSubscript) -> Result<Expr, Error> {
        let base = self.expression(&subscript.value)?;
        let mut indices = Vec::new();
        match &*subscript.slice {
            py::Expr::Tuple(tuple) if tuple.elts.is_empty() => {
                let range = self.at(tuple, 2);
                indices.push(Expr { kind: ExprKind::Tuple(Vec::new()), range });
            }
            py::Expr::Tuple(tuple) => {
                for index in &tuple.elts {
                    indices.push(self.index(base.range, index)?);
                }
            }
            index => indices.push(self.index(base.range, index)?),
        }
        let range = around(base.range, indices.iter().map(|index| &index.range));
        // The bracket counts, which is taken to follow at once.
        let range = Range::new(range.start, range.end + 1);
        Ok(Expr { kind: ExprKind::Subscript { value: Box::new(base), indices }, range })
    }

    fn index(&mut self, base: Range, index: &py::Expr) -> Result<Expr, Error> {
        let py::Expr::Slice(slice) = index else { return self.expression(index) };
        let mut bound = |bound: &Option<Box<py::Expr>>| {
            let bound = bound.as_deref().map(|bound| self.expression(bound)).transpose()?;
            Ok::<_, Error>(bound.map(Box::new))
        };
        let (start, stop, step) = (bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?);
        let bounds = [&start, &stop, &step].into_iter().flatten().map(|bound| &bound.range);
        let range = around(base, bounds);
        Ok(Expr { kind: ExprKind::Slice { start, stop, step }, range })
    }

    fn dict(&mut self, dict: &py::ExprDict) -> Result<Expr, Error> {
        let at = self.at(dict, 1);
        let mut keys = Vec::with_capacity(dict.items.len());
        for item in &dict.items {
            let Some(key) = &item.key else {
                let message = "Dict expansion (e.g. `{**dict}`) is not supported";
                return Err(self.error(at, message));
            };
            keys.push(self.expression(key)?);
        }
        let values = self.expressions(dict.items.iter().map(|item| &item.value))?;
        let range = around(at, keys.iter().chain(&values).map(|child| &child.range));
        Ok(Expr { kind: ExprKind::Dict(keys.into_iter().zip(values).collect()), range })
    }

    /// `f"{x}…"` is `"{}…".format(x)`.
    fn f_string(&mut self, string: &py::ExprFString) -> Result<Expr, Error> {
        let at = self.at(string, 1);
        let (mut format, mut args) = (String::new(), Vec::new());
        for part in &string.value {
            let string = match part {
                py::FStringPart::Literal(literal) => {
                    format.push_str(literal);
                    continue;
                }
                py::FStringPart::FString(string) => string,
            };
            for element in &string.elements {
                let value = match element {
                    py::InterpolatedStringElement::Literal(literal) => {
                        format.push_str(literal);
                        continue;
                    }
                    py::InterpolatedStringElement::Interpolation(value) => value,
                };
                // `{x=}` is the text, and the value by `repr`.
                let is_debug = value.debug_text.is_some() && value.format_spec.is_none();
                if value.conversion != py::ConversionFlag::None || is_debug {
                    return Err(self.error(at, "Don't support conversion in JoinedStr"));
                }
                if value.format_spec.is_some() {
                    return Err(self.error(at, "Don't support formatting in JoinedStr"));
                }
                format.push_str("{}");
                args.push(self.expression(&value.expression)?);
            }
        }
        let text = Expr { kind: ExprKind::Str(format.into()), range: at };
        let name = Ident { name: "format".into(), range: at };
        let callee = Expr { kind: ExprKind::Attribute { value: Box::new(text), name }, range: at };
        let range = around(at, args.iter().map(|arg| &arg.range));
        let kind = ExprKind::Call { callee: Box::new(callee), args, kwargs: Vec::new() };
        Ok(Expr { kind, range })
    }

    fn only_generator<'c>(
        &self,
        at: Range,
        generators: &'c [py::Comprehension],
    ) -> Result<&'c py::Comprehension, Error> {
        let [generator] = generators else {
            return Err(self.error(at, "Only a single generator is currently supported"));
        };
        if !generator.ifs.is_empty() {
            return Err(self.error(at, "Comprehension ifs are not supported yet"));
        }
        Ok(generator)
    }

    fn list_comprehension(
        &mut self,
        at: Range,
        element: &py::Expr,
        generators: &[py::Comprehension],
    ) -> Result<Expr, Error> {
        let generator = self.only_generator(at, generators)?;
        let element = self.expression(element)?;
        let target = self.expression(&generator.target)?;
        let iterable = self.expression(&generator.iter)?;
        let range = around(at, [&element.range, &target.range, &iterable.range]);
        let kind = ExprKind::ListComp {
            element: Box::new(element),
            target: Box::new(target),
            iterable: Box::new(iterable),
        };
        Ok(Expr { kind, range })
    }

    fn dict_comprehension(&mut self, comprehension: &py::ExprDictComp) -> Result<Expr, Error> {
        let at = self.at(comprehension, 0);
        let generator = self.only_generator(at, &comprehension.generators)?;
        let key = self.expression(&comprehension.key)?;
        let value = self.expression(&comprehension.value)?;
        let target = self.expression(&generator.target)?;
        let iterable = self.expression(&generator.iter)?;
        let range = around(at, [&key.range, &value.range, &target.range, &iterable.range]);
        let kind = ExprKind::DictComp {
            key: Box::new(key),
            value: Box::new(value),
            target: Box::new(target),
            iterable: Box::new(iterable),
        };
        Ok(Expr { kind, range })
    }
}

fn binary_expression(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let range = left.range.merge(right.range);
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, range }
}

fn unary_expression(at: Range, op: UnaryOp, operand: Expr) -> Expr {
    let range = at.merge(operand.range);
    Expr { kind: ExprKind::Unary { op, operand: Box::new(operand) }, range }
}

fn comparison(op: py::CmpOp, left: Expr, right: Expr) -> Expr {
    let op = match op {
        py::CmpOp::Eq => BinaryOp::Eq,
        py::CmpOp::NotEq => BinaryOp::Ne,
        py::CmpOp::Lt => BinaryOp::Lt,
        py::CmpOp::LtE => BinaryOp::Le,
        py::CmpOp::Gt => BinaryOp::Gt,
        py::CmpOp::GtE => BinaryOp::Ge,
        py::CmpOp::Is => BinaryOp::Is,
        py::CmpOp::IsNot => BinaryOp::IsNot,
        py::CmpOp::In => BinaryOp::In,
        py::CmpOp::NotIn => {
            let between = Range::new(left.range.end, right.range.start);
            let inside = binary_expression(BinaryOp::In, left, right);
            return unary_expression(between, UnaryOp::Not, inside);
        }
    };
    binary_expression(op, left, right)
}

pub(super) fn binary_op(op: py::Operator) -> BinaryOp {
    match op {
        py::Operator::Add => BinaryOp::Add,
        py::Operator::Sub => BinaryOp::Sub,
        py::Operator::Mult => BinaryOp::Mul,
        py::Operator::MatMult => BinaryOp::MatMul,
        py::Operator::Div => BinaryOp::Div,
        py::Operator::Mod => BinaryOp::Mod,
        py::Operator::Pow => BinaryOp::Pow,
        py::Operator::LShift => BinaryOp::LShift,
        py::Operator::RShift => BinaryOp::RShift,
        py::Operator::BitOr => BinaryOp::BitOr,
        py::Operator::BitXor => BinaryOp::BitXor,
        py::Operator::BitAnd => BinaryOp::BitAnd,
        py::Operator::FloorDiv => BinaryOp::FloorDiv,
    }
}
