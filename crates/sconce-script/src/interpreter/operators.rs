//! Arithmetic and the other operators.

use std::sync::Arc;

use ruff_python_ast::{Operator, UnaryOp};

use super::Interpreter;
use super::control_flow::{Outcome, refuse};
use super::value::{Cell, Dict, Value};

/// An operator's symbol, its method, and the method of the right operand.
fn names(op: Operator) -> (&'static str, &'static str, &'static str) {
    match op {
        Operator::Add => ("+", "__add__", "__radd__"),
        Operator::Sub => ("-", "__sub__", "__rsub__"),
        Operator::Mult => ("*", "__mul__", "__rmul__"),
        Operator::MatMult => ("@", "__matmul__", "__rmatmul__"),
        Operator::Div => ("/", "__truediv__", "__rtruediv__"),
        Operator::Mod => ("%", "__mod__", "__rmod__"),
        Operator::Pow => ("**", "__pow__", "__rpow__"),
        Operator::LShift => ("<<", "__lshift__", "__rlshift__"),
        Operator::RShift => (">>", "__rshift__", "__rrshift__"),
        Operator::BitOr => ("|", "__or__", "__ror__"),
        Operator::BitXor => ("^", "__xor__", "__rxor__"),
        Operator::BitAnd => ("&", "__and__", "__rand__"),
        Operator::FloorDiv => ("//", "__floordiv__", "__rfloordiv__"),
    }
}

const TOO_LARGE: &str = "an int of more than 64 bits is not supported here";

impl Interpreter<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &Value) -> Outcome<Value> {
        if op == UnaryOp::Not {
            return self.truth(operand).map(|value| Value::Bool(!value));
        }
        if let Some(unknown) = self.unknown_result(operand, operand)? {
            return Ok(unknown);
        }
        if self.arena.tensor(operand).is_some() {
            let symbol = match op {
                UnaryOp::USub => "-",
                UnaryOp::Invert => "~",
                _ => return Ok(operand.clone()),
            };
            return self.tensor_unary(symbol, operand);
        }
        let (method, symbol) = match op {
            UnaryOp::USub => ("__neg__", "-"),
            UnaryOp::UAdd => ("__pos__", "+"),
            _ => ("__invert__", "~"),
        };
        match (op, operand) {
            (UnaryOp::USub, Value::Float(value)) => return Ok(Value::Float(-value)),
            (UnaryOp::UAdd, Value::Float(_)) => return Ok(operand.clone()),
            (UnaryOp::USub, Value::Complex(re, im)) => return Ok(Value::Complex(-re, -im)),
            _ => {}
        }
        if let Some(value) = operand.as_int() {
            let result = match op {
                UnaryOp::USub => value.checked_neg(),
                UnaryOp::UAdd => Some(value),
                _ => Some(!value),
            };
            return result.map_or_else(|| refuse(TOO_LARGE), |value| Ok(Value::Int(value)));
        }
        if let Some(class) = self.own_class(operand)
            && let Some(method) = self.member(class, method)
        {
            return self.call(&method, vec![operand.clone()], Vec::new());
        }
        let message = format!("bad operand type for unary {symbol}: '{}'", self.type_name(operand));
        self.type_error(message)
    }

    /// `left op= right`
    pub(super) fn binary_in_place(
        &mut self,
        op: Operator,
        left: &Value,
        right: &Value,
    ) -> Outcome<Value> {
        let (symbol, method, _) = names(op);
        self.check_known(right)?;
        if self.arena.tensor(left).is_some() {
            return self.tensor_in_place(symbol, left, right);
        }
        if let Some(class) = self.own_class(left) {
            let in_place = format!("__i{}", method.trim_start_matches("__"));
            if let Some(method) = self.member(class, &in_place) {
                return self.call(&method, vec![left.clone(), right.clone()], Vec::new());
            }
        }
        if let Value::Ref(id) = left {
            match (op, self.arena.get(*id)) {
                (Operator::Add, Cell::List(_)) => {
                    let items = self.iterate(right)?;
                    if let Some(list) = self.arena.list_mut(*id) {
                        list.extend(items);
                    }
                    return Ok(left.clone());
                }
                (Operator::BitOr, Cell::Dict(_)) => {
                    if let Some(other) = self.arena.dict(right).cloned() {
                        self.spend_items(other.len() * 3)?;
                        if let Some(dict) = self.arena.dict_mut(*id) {
                            dict.extend(other);
                        }
                        return Ok(left.clone());
                    }
                }
                (Operator::BitOr, Cell::Set(_)) => {
                    if let Some(other) = self.arena.set(right).cloned() {
                        self.spend_items(other.len() * 3)?;
                        if let Some(set) = self.arena.set_mut(*id) {
                            set.extend(other);
                        }
                        return Ok(left.clone());
                    }
                }
                _ => {}
            }
        }
        self.binary(op, left, right)
    }

    /// `left op right`
    pub(super) fn binary(&mut self, op: Operator, left: &Value, right: &Value) -> Outcome<Value> {
        let (symbol, method, reflected) = names(op);
        if let Some(unknown) = self.unknown_result(left, right)? {
            return Ok(unknown);
        }
        if op == Operator::Div
            && let Some(joined) = self.joined_paths(left, right)?
        {
            return Ok(joined);
        }
        if self.arena.tensor(left).is_some() || self.arena.tensor(right).is_some() {
            return self.tensor_binary(symbol, left, right);
        }
        if let (Some(one), Some(other)) = (left.as_int(), right.as_int()) {
            let both = matches!((left, right), (Value::Bool(_), Value::Bool(_)));
            let is_numpy =
                matches!(left, Value::NumpyInt(_)) || matches!(right, Value::NumpyInt(_));
            return Ok(match self.ints(op, one, other, both)? {
                Value::Int(value) if is_numpy => Value::NumpyInt(value),
                other => other,
            });
        }
        if let (Some(one), Some(other)) = (left.as_float(), right.as_float()) {
            return self.floats(op, symbol, one, other);
        }
        if let Some(result) = complex(op, left, right) {
            return Ok(result);
        }
        for (own, other, method) in [(left, right, method), (right, left, reflected)] {
            if let Some(class) = self.own_class(own)
                && let Some(method) = self.member(class, method)
            {
                let result = self.call(&method, vec![own.clone(), other.clone()], Vec::new())?;
                if !matches!(result, Value::NotImplemented) {
                    return Ok(result);
                }
            }
        }
        if let Some(result) = self.sequences(op, left, right)? {
            return Ok(result);
        }
        // `int | None` as the second argument of isinstance.
        let is_type = |this: &Self, value: &Value| {
            matches!(value, Value::Library(_) | Value::None)
                || this.arena.class(value).is_some()
                || this.arena.tuple(value).is_some()
        };
        if op == Operator::BitOr && is_type(self, left) && is_type(self, right) {
            return self.new_tuple(vec![left.clone(), right.clone()]);
        }
        let message = format!(
            "unsupported operand type(s) for {symbol}: '{}' and '{}'",
            self.type_name(left),
            self.type_name(right)
        );
        self.type_error(message)
    }

    fn ints(&mut self, op: Operator, left: i64, right: i64, bools: bool) -> Outcome<Value> {
        let result = match op {
            Operator::Add => left.checked_add(right),
            Operator::Sub => left.checked_sub(right),
            Operator::Mult => left.checked_mul(right),
            Operator::Div => {
                if right == 0 {
                    return self.raise("ZeroDivisionError", "division by zero");
                }
                return Ok(Value::Float(left as f64 / right as f64));
            }
            Operator::FloorDiv | Operator::Mod if right == 0 => {
                return self.raise("ZeroDivisionError", "integer division or modulo by zero");
            }
            Operator::FloorDiv => left.checked_div(right).map(|quotient| {
                let is_inexact = left.wrapping_rem(right) != 0;
                quotient - i64::from(is_inexact && (left < 0) != (right < 0))
            }),
            Operator::Mod => Some(floor_mod(left, right)),
            Operator::Pow => match u32::try_from(right) {
                Ok(power) => left.checked_pow(power),
                Err(_) if right < 0 => {
                    if left == 0 {
                        let message = "0.0 cannot be raised to a negative power";
                        return self.raise("ZeroDivisionError", message);
                    }
                    return Ok(Value::Float((left as f64).powf(right as f64)));
                }
                Err(_) => None,
            },
            Operator::LShift | Operator::RShift if right < 0 => {
                return self.raise("ValueError", "negative shift count");
            }
            Operator::LShift => match u32::try_from(right) {
                Ok(by) if by < 63 => left.checked_mul(1 << by),
                _ => (left == 0).then_some(0),
            },
            Operator::RShift => Some(left >> right.min(63)),
            Operator::BitOr | Operator::BitXor | Operator::BitAnd => {
                let value = match op {
                    Operator::BitOr => left | right,
                    Operator::BitXor => left ^ right,
                    _ => left & right,
                };
                return Ok(if bools { Value::Bool(value != 0) } else { Value::Int(value) });
            }
            Operator::MatMult => None,
        };
        match result {
            Some(value) => Ok(Value::Int(value)),
            None => refuse(TOO_LARGE),
        }
    }

    fn floats(&mut self, op: Operator, symbol: &str, left: f64, right: f64) -> Outcome<Value> {
        let divides = matches!(op, Operator::Div | Operator::FloorDiv | Operator::Mod);
        if divides && right == 0.0 {
            return self.raise("ZeroDivisionError", "division by zero");
        }
        Ok(Value::Float(match op {
            Operator::Add => left + right,
            Operator::Sub => left - right,
            Operator::Mult => left * right,
            Operator::Div => left / right,
            Operator::FloorDiv => ((left - python_mod(left, right)) / right).round(),
            Operator::Mod => python_mod(left, right),
            Operator::Pow => {
                if left == 0.0 && right < 0.0 {
                    let message = "0.0 cannot be raised to a negative power";
                    return self.raise("ZeroDivisionError", message);
                }
                if left < 0.0 && right.fract() != 0.0 {
                    return refuse("a complex power of a negative number is not supported here");
                }
                left.powf(right)
            }
            _ => {
                let message =
                    format!("unsupported operand type(s) for {symbol}: 'float' and 'float'");
                return self.type_error(message);
            }
        }))
    }

    /// What operators do with strings, lists, tuples, dicts and sets.
    fn sequences(&mut self, op: Operator, left: &Value, right: &Value) -> Outcome<Option<Value>> {
        match (op, left, right) {
            (Operator::Add, Value::Str(one), Value::Str(other)) => {
                self.spend(one.len() + other.len())?;
                return Ok(Some(Value::str(format!("{one}{other}"))));
            }
            (Operator::Mod, Value::Str(format), _) => {
                let format = Arc::clone(format);
                return self.percent_format(&format, right).map(Some);
            }
            (Operator::Mult, _, _) => {
                if let Some(count) = right.as_int() {
                    return self.repeated(left, count);
                }
                if let Some(count) = left.as_int() {
                    return self.repeated(right, count);
                }
                return Ok(None);
            }
            _ => {}
        }
        let made = match (op, self.arena.cell(left), self.arena.cell(right)) {
            (Operator::Add, Some(Cell::List(one)), Some(Cell::List(other))) => {
                Cell::List(one.iter().chain(other).cloned().collect())
            }
            (Operator::Add, Some(Cell::Tuple(one)), Some(Cell::Tuple(other))) => {
                let items = one.items.iter().chain(&other.items).cloned().collect();
                return self.new_tuple(items).map(Some);
            }
            (Operator::BitOr, Some(Cell::Dict(one)), Some(Cell::Dict(other))) => {
                let mut joined = one.clone();
                joined.extend(other.clone());
                Cell::Dict(joined)
            }
            (_, Some(Cell::Set(one)), Some(Cell::Set(other))) => {
                match set_operation(op, one, other) {
                    Some(made) => Cell::Set(made),
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let count = match &made {
            Cell::List(items) => items.len(),
            Cell::Dict(dict) | Cell::Set(dict) => dict.len() * 3,
            _ => 0,
        };
        self.spend_items(count)?;
        self.new_cell(made).map(Some)
    }

    fn repeated(&mut self, value: &Value, count: i64) -> Outcome<Option<Value>> {
        let count = usize::try_from(count).unwrap_or(0);
        if let Value::Str(text) = value {
            self.spend(text.len().saturating_mul(count))?;
            return Ok(Some(Value::str(text.repeat(count))));
        }
        let (items, is_list) = match self.arena.cell(value) {
            Some(Cell::List(items)) => (items.clone(), true),
            Some(Cell::Tuple(tuple)) => (tuple.items.clone(), false),
            _ => return Ok(None),
        };
        self.spend_items(items.len().saturating_mul(count))?;
        let items = items.iter().cycle().take(items.len() * count).cloned().collect();
        match is_list {
            true => self.new_cell(Cell::List(items)).map(Some),
            false => self.new_tuple(items).map(Some),
        }
    }
}

fn set_operation(op: Operator, one: &Dict, other: &Dict) -> Option<Dict> {
    let without = |one: &Dict, other: &Dict| -> Dict {
        let kept = one.iter().filter(|(key, _)| !other.contains_key(*key));
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    Some(match op {
        Operator::BitOr => {
            let mut joined = one.clone();
            joined.extend(other.clone());
            joined
        }
        Operator::BitAnd => {
            let kept = one.iter().filter(|(key, _)| other.contains_key(*key));
            kept.map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        Operator::Sub => without(one, other),
        Operator::BitXor => {
            let mut joined = without(one, other);
            joined.extend(without(other, one));
            joined
        }
        _ => return None,
    })
}

/// The remainder with the sign of the divisor.
pub(super) fn floor_mod(left: i64, right: i64) -> i64 {
    let rest = left.wrapping_rem(right);
    if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }
}

fn python_mod(left: f64, right: f64) -> f64 {
    let rest = left % right;
    if rest != 0.0 && (rest < 0.0) != (right < 0.0) { rest + right } else { rest }
}

fn complex(op: Operator, left: &Value, right: &Value) -> Option<Value> {
    let parts = |value: &Value| match value {
        Value::Complex(re, im) => Some((*re, *im)),
        other => other.as_float().map(|re| (re, 0.0)),
    };
    let ((a, b), (c, d)) = (parts(left)?, parts(right)?);
    Some(match op {
        Operator::Add => Value::Complex(a + c, b + d),
        Operator::Sub => Value::Complex(a - c, b - d),
        Operator::Mult => Value::Complex(a * c - b * d, a * d + b * c),
        _ => return None,
    })
}
