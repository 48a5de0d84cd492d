//! The values of expressions.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_text_size::Ranged;

use super::control_flow::{Outcome, refuse};
use super::value::{Cell, Code, Dict, Function, Scope, Value};
use super::{Attributes, Frame, Interpreter, Text};

impl Interpreter<'_> {
    /// The value of an expression.
    pub(super) fn evaluate(&mut self, frame: &Frame, expression: &py::Expr) -> Outcome<Value> {
        self.step()?;
        self.nested(|this| this.evaluate_here(frame, expression))
            .map_err(|stop| stop.or_at(|| frame.place(expression)))
    }

    fn evaluate_here(&mut self, frame: &Frame, expression: &py::Expr) -> Outcome<Value> {
        match expression {
            py::Expr::NoneLiteral(_) => Ok(Value::None),
            py::Expr::BooleanLiteral(literal) => Ok(Value::Bool(literal.value)),
            py::Expr::EllipsisLiteral(_) => Ok(Value::Ellipsis),
            py::Expr::StringLiteral(literal) => Ok(Value::str(literal.value.to_str())),
            py::Expr::NumberLiteral(literal) => number(&literal.value),
            py::Expr::Name(name) => self.name(frame, &name.id),
            py::Expr::Attribute(attribute) => {
                let base = self.evaluate(frame, &attribute.value)?;
                self.attribute(&base, &attribute.attr)
            }
            py::Expr::Call(call) => self.evaluate_call(frame, call),
            py::Expr::Subscript(subscript) => {
                let base = self.evaluate(frame, &subscript.value)?;
                let index = self.evaluate(frame, &subscript.slice)?;
                self.item(&base, &index)
            }
            py::Expr::Slice(slice) => {
                let mut part = |part: &Option<Box<py::Expr>>| match part {
                    Some(part) => self.evaluate(frame, part),
                    None => Ok(Value::None),
                };
                let (lower, upper) = (part(&slice.lower)?, part(&slice.upper)?);
                let step = part(&slice.step)?;
                self.new_cell(Cell::Slice(lower, upper, step))
            }
            py::Expr::Tuple(tuple) => {
                let items = self.evaluate_all(frame, &tuple.elts)?;
                self.new_tuple(items)
            }
            py::Expr::List(list) => {
                let items = self.evaluate_all(frame, &list.elts)?;
                self.new_list(items)
            }
            py::Expr::Set(set) => {
                let items = self.evaluate_all(frame, &set.elts)?;
                self.new_set(items)
            }
            py::Expr::Dict(dict) => self.evaluate_dict(frame, dict),
            py::Expr::UnaryOp(unary) => {
                let operand = self.evaluate(frame, &unary.operand)?;
                self.unary(unary.op, &operand)
            }
            py::Expr::BinOp(binary) => {
                let left = self.evaluate(frame, &binary.left)?;
                let right = self.evaluate(frame, &binary.right)?;
                self.binary(binary.op, &left, &right)
            }
            py::Expr::BoolOp(operation) => self.evaluate_bool_op(frame, operation),
            py::Expr::Compare(compare) => self.evaluate_compare(frame, compare),
            py::Expr::If(choice) => {
                let test = self.evaluate(frame, &choice.test)?;
                let chosen = if self.truth(&test)? { &choice.body } else { &choice.orelse };
                self.evaluate(frame, chosen)
            }
            py::Expr::Named(named) => {
                let value = self.evaluate(frame, &named.value)?;
                let outer =
                    Frame { module: Arc::clone(&frame.module), scope: self.function_scope(frame) };
                self.assign(&outer, &named.target, value.clone())?;
                Ok(value)
            }
            py::Expr::Lambda(lambda) => self.lambda(frame, lambda),
            py::Expr::FString(text) => self.evaluate_f_string(frame, text),
            py::Expr::ListComp(comprehension) => {
                let items =
                    self.comprehend(frame, &comprehension.generators, &[&comprehension.elt])?;
                self.new_list(items)
            }
            // All at once: what it does to the outside happens a little earlier.
            py::Expr::Generator(comprehension) => {
                let items =
                    self.comprehend(frame, &comprehension.generators, &[&comprehension.elt])?;
                self.new_iterator(items)
            }
            py::Expr::SetComp(comprehension) => {
                let items =
                    self.comprehend(frame, &comprehension.generators, &[&comprehension.elt])?;
                self.new_set(items)
            }
            py::Expr::DictComp(comprehension) => {
                let parts: [&py::Expr; 2] = [&comprehension.key, &comprehension.value];
                let items = self.comprehend(frame, &comprehension.generators, &parts)?;
                let mut dict = Dict::default();
                for pair in items.chunks_exact(2) {
                    if let [key, value] = pair {
                        self.insert(&mut dict, key.clone(), value.clone())?;
                    }
                }
                self.new_dict(dict)
            }
            py::Expr::Yield(expression) => {
                let value = match &expression.value {
                    Some(value) => self.evaluate(frame, value)?,
                    None => Value::None,
                };
                self.give(frame, vec![value])
            }
            py::Expr::YieldFrom(expression) => {
                let values = self.evaluate(frame, &expression.value)?;
                let values = self.iterate(&values)?;
                self.give(frame, values)
            }
            py::Expr::Starred(_) => refuse("a starred expression here is not supported"),
            py::Expr::Await(_) => refuse("await is not supported in constructors"),
            py::Expr::BytesLiteral(_) => refuse("bytes are not supported in constructors"),
            py::Expr::TString(_) => refuse("template strings are not supported in constructors"),
            py::Expr::IpyEscapeCommand(_) => refuse("this is no Python"),
        }
    }

    /// The values of elements, starred ones unpacked.
    pub(super) fn evaluate_all(
        &mut self,
        frame: &Frame,
        expressions: &[py::Expr],
    ) -> Outcome<Vec<Value>> {
        let mut values = Vec::with_capacity(expressions.len());
        for expression in expressions {
            match expression {
                py::Expr::Starred(starred) => {
                    let items = self.evaluate(frame, &starred.value)?;
                    values.extend(self.iterate(&items)?);
                }
                other => values.push(self.evaluate(frame, other)?),
            }
        }
        Ok(values)
    }

    fn evaluate_dict(&mut self, frame: &Frame, dict: &py::ExprDict) -> Outcome<Value> {
        let mut made = Dict::default();
        for item in &dict.items {
            let value = match &item.key {
                Some(key) => {
                    let key = self.evaluate(frame, key)?;
                    let value = self.evaluate(frame, &item.value)?;
                    self.insert(&mut made, key, value)?;
                    continue;
                }
                None => self.evaluate(frame, &item.value)?,
            };
            let Some(entries) = self.arena.dict(&value) else {
                return self.type_error("argument after ** must be a mapping");
            };
            for (key, entry) in entries.clone() {
                made.insert(key, entry);
            }
        }
        self.new_dict(made)
    }

    fn evaluate_bool_op(&mut self, frame: &Frame, operation: &py::ExprBoolOp) -> Outcome<Value> {
        let stops_at = operation.op == py::BoolOp::Or;
        let mut value = Value::None;
        for operand in &operation.values {
            value = self.evaluate(frame, operand)?;
            if self.truth(&value)? == stops_at {
                break;
            }
        }
        Ok(value)
    }

    fn evaluate_compare(&mut self, frame: &Frame, compare: &py::ExprCompare) -> Outcome<Value> {
        let mut left = self.evaluate(frame, &compare.left)?;
        let mut result = Value::Bool(true);
        for (op, right) in compare.ops.iter().zip(&compare.comparators) {
            let right = self.evaluate(frame, right)?;
            result = self.compare(*op, &left, &right)?;
            if compare.ops.len() > 1 && !self.truth(&result)? {
                break;
            }
            left = right;
        }
        Ok(result)
    }

    fn lambda(&mut self, frame: &Frame, lambda: &py::ExprLambda) -> Outcome<Value> {
        let key = (Arc::clone(frame.module.key()), lambda.start().to_u32());
        let known = match self.texts.get(&key) {
            Some(Text::Lambda(known)) => Arc::clone(known),
            _ => {
                let known = Arc::new(lambda.clone());
                self.texts.insert(key, Text::Lambda(Arc::clone(&known)));
                known
            }
        };
        let defaults = match &lambda.parameters {
            Some(parameters) => self.defaults(frame, parameters)?,
            None => Vec::new(),
        };
        let (scope, owner) = self.surroundings(frame);
        self.new_cell(Cell::Function(Function {
            code: Code::Lambda(Arc::clone(&frame.module), known),
            defaults,
            scope,
            owner,
            is_generator: false,
            attributes: Attributes::default(),
        }))
    }

    /// The values of a comprehension's parts, one after another.
    fn comprehend(
        &mut self,
        frame: &Frame,
        generators: &[py::Comprehension],
        parts: &[&py::Expr],
    ) -> Outcome<Vec<Value>> {
        let scope = self.new_scope(Scope {
            parent: frame.scope,
            is_comprehension: true,
            ..Scope::default()
        })?;
        let inner = Frame { module: Arc::clone(&frame.module), scope: Some(scope) };
        let mut made = Vec::new();
        self.comprehend_level(&inner, generators, parts, &mut made)?;
        Ok(made)
    }

    fn comprehend_level(
        &mut self,
        frame: &Frame,
        generators: &[py::Comprehension],
        parts: &[&py::Expr],
        made: &mut Vec<Value>,
    ) -> Outcome<()> {
        let Some((generator, inner)) = generators.split_first() else {
            self.spend(parts.len() * size_of::<Value>())?;
            for part in parts {
                made.push(self.evaluate(frame, part)?);
            }
            return Ok(());
        };
        let items = self.evaluate(frame, &generator.iter)?;
        for item in self.iterate(&items)? {
            self.step()?;
            self.assign(frame, &generator.target, item)?;
            let mut holds = true;
            for condition in &generator.ifs {
                let value = self.evaluate(frame, condition)?;
                holds = self.truth(&value)?;
                if !holds {
                    break;
                }
            }
            if holds {
                self.nested(|this| this.comprehend_level(frame, inner, parts, made))?;
            }
        }
        Ok(())
    }

    /// `yield`: the values come from the call once it has ended.
    fn give(&mut self, frame: &Frame, values: Vec<Value>) -> Outcome<Value> {
        self.spend_items(values.len())?;
        let scope = self.function_scope(frame);
        match scope.and_then(|id| self.arena.scope_mut(id)) {
            Some(scope) => scope.yielded.extend(values),
            None => return refuse("'yield' outside function"),
        }
        Ok(Value::None)
    }

    pub(super) fn new_scope(&mut self, scope: Scope) -> Outcome<super::Id> {
        self.spend(size_of::<Cell>() + scope.variables.len() * 2 * size_of::<Value>())?;
        Ok(self.arena.add(Cell::Scope(scope)))
    }
}

fn number(number: &py::Number) -> Outcome<Value> {
    match number {
        py::Number::Int(value) => match value.as_i64() {
            Some(value) => Ok(Value::Int(value)),
            None => refuse("ints of more than 64 bits are not supported"),
        },
        py::Number::Float(value) => Ok(Value::Float(*value)),
        py::Number::Complex { real, imag } => Ok(Value::Complex(*real, *imag)),
    }
}
