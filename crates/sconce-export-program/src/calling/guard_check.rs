//! Conditions on arguments, as they are checked before a call.

use crate::calling::Given;
use crate::guard::{self, Binary, Comparison, Guard, Method, Step, Unary};
use crate::tree_spec::{Key, TreeSpec};

/// The conditions of a program, in order.
#[derive(Debug, Clone)]
pub(crate) struct Guards {
    /// The text of each, and what it is; nothing where that is not known.
    conditions: Vec<(String, Option<Guard>)>,
    /// The names of the parameters of `forward`.
    names: Vec<String>,
}

/// The value of a part of a condition.
#[derive(Debug, Clone, PartialEq)]
enum Number {
    Int(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    None,
}

/// The arguments of a call.
struct Arguments<'a> {
    names: &'a [String],
    positional: &'a [TreeSpec],
    named: &'a [(Key, TreeSpec)],
    values: &'a [Given<'a>],
}

impl Guards {
    pub(crate) fn new(texts: &[String], names: Vec<String>) -> Self {
        let conditions = texts.iter().map(|text| (text.clone(), guard::parse(text).ok()));
        Guards { conditions: conditions.collect(), names }
    }

    /// Checks the conditions, for arguments of these structures and values.
    pub(crate) fn check(
        &self,
        positional: &[TreeSpec],
        named: &[(Key, TreeSpec)],
        values: &[Given<'_>],
    ) -> Result<(), String> {
        let arguments = Arguments { names: &self.names, positional, named, values };
        for (text, condition) in &self.conditions {
            match condition.as_ref().and_then(|condition| arguments.value(condition)) {
                Some(value) if value.is_true() => {}
                Some(_) => return Err(format!("Guard failed: {}", shown(text))),
                None => {
                    return Err(format!(
                        "the program has a condition that cannot be checked, so it is not run: {}",
                        shown(text)
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A condition as PyTorch shows it: arguments by their names, no parentheses around a side.
fn shown(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("L['") {
        let Some((name, after)) = inside.split_once("']") else { break };
        plain.push_str(before);
        plain.push_str(name);
        rest = after;
    }
    plain.push_str(rest);
    for comparison in [" == ", " <= ", " >= ", " != ", " < ", " > "] {
        if let Some((left, right)) = plain.split_once(comparison) {
            return format!("{}{comparison}{}", bare(left), bare(right));
        }
    }
    plain
}

fn bare(side: &str) -> &str {
    match side.strip_prefix('(').and_then(|side| side.strip_suffix(')')) {
        Some(inside) if !inside.contains(['(', ')']) || balanced(inside) => inside,
        _ => side,
    }
}

/// Whether parentheses close what they open, in order.
fn balanced(text: &str) -> bool {
    let mut depth = 0i64;
    text.chars().all(|c| {
        depth += i64::from(c == '(') - i64::from(c == ')');
        depth >= 0
    })
}

impl Number {
    fn is_true(&self) -> bool {
        match self {
            Number::Int(value) => *value != 0,
            Number::Float(value) => *value != 0.0,
            Number::Bool(value) => *value,
            Number::Text(text) => !text.is_empty(),
            Number::None => false,
        }
    }

    fn int(&self) -> Option<i128> {
        match self {
            Number::Int(value) => Some(*value),
            Number::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    fn real(&self) -> Option<f64> {
        match self {
            Number::Float(value) => Some(*value),
            other => other.int().map(|value| value as f64),
        }
    }
}

impl Arguments<'_> {
    /// The value of a condition; `None` for what is not known. Conditions nest no deeper than their parser allows.
    fn value(&self, guard: &Guard) -> Option<Number> {
        Some(match guard {
            Guard::Int(value) => Number::Int(i128::from(*value)),
            Guard::Float(value) => Number::Float(*value),
            Guard::Text(text) => Number::Text(text.clone()),
            Guard::Bool(value) => Number::Bool(*value),
            Guard::None => Number::None,
            Guard::Input(name, steps) => match self.input(name, steps)? {
                Given::Int(value) => Number::Int(i128::from(*value)),
                Given::Float(value) => Number::Float(*value),
                Given::Bool(value) => Number::Bool(*value),
                Given::Str(text) => Number::Text((*text).to_owned()),
                Given::None => Number::None,
                Given::Tensor(..) | Given::Other(_) => return None,
            },
            Guard::Method(of, method, index) => {
                let Guard::Input(name, steps) = &**of else { return None };
                let Given::Tensor(sizes, strides, offset) = self.input(name, steps)? else {
                    return None;
                };
                let item = |items: &[i64]| {
                    let index = (*index)?;
                    let index = if index < 0 { index + items.len() as i64 } else { index };
                    items.get(usize::try_from(index).ok()?).copied()
                };
                Number::Int(i128::from(match method {
                    Method::Size => item(sizes)?,
                    Method::Stride => item(strides)?,
                    Method::StorageOffset => *offset,
                }))
            }
            Guard::Unary(operation, of) => {
                let of = self.value(of)?;
                match (operation, &of) {
                    (Unary::Not, of) => Number::Bool(!of.is_true()),
                    (Unary::Plus, _) => of,
                    (Unary::Minus, Number::Float(value)) => Number::Float(-value),
                    (Unary::Minus, of) => Number::Int(of.int()?.checked_neg()?),
                }
            }
            Guard::Binary(operation, a, b) => binary(*operation, &self.value(a)?, &self.value(b)?)?,
            Guard::Compare(first, rest) => {
                let mut left = self.value(first)?;
                for (comparison, right) in rest {
                    let right = self.value(right)?;
                    if !compare(*comparison, &left, &right)? {
                        return Some(Number::Bool(false));
                    }
                    left = right;
                }
                Number::Bool(true)
            }
            Guard::And(parts) => {
                for part in parts {
                    if !self.value(part)?.is_true() {
                        return Some(Number::Bool(false));
                    }
                }
                Number::Bool(true)
            }
            Guard::Or(parts) => {
                for part in parts {
                    if self.value(part)?.is_true() {
                        return Some(Number::Bool(true));
                    }
                }
                Number::Bool(false)
            }
            Guard::Call(function, arguments) => {
                let arguments: Option<Vec<Number>> =
                    arguments.iter().map(|argument| self.value(argument)).collect();
                call(function, &arguments?)?
            }
        })
    }

    /// The value that a name and steps into it stand for.
    fn input(&self, name: &str, steps: &[Step]) -> Option<&Given<'_>> {
        let by_name =
            self.named.iter().position(|(key, _)| matches!(key, Key::Str(text) if text == name));
        let place = self.names.iter().position(|known| known == name);
        let (place, steps) = match (by_name, place, steps) {
            (Some(place), ..) => (self.positional.len() + place, steps),
            (None, Some(place), _) => (place, steps),
            // `*args`
            (None, None, [Step::Index(place), rest @ ..]) => (usize::try_from(*place).ok()?, rest),
            _ => return None,
        };
        let all = self.positional.iter().chain(self.named.iter().map(|(_, spec)| spec));
        let specs: Vec<&TreeSpec> = all.collect();
        let mut at: usize = specs.iter().take(place).map(|spec| spec.leaves()).sum();
        let mut spec = *specs.get(place)?;
        for step in steps {
            let index = item(spec, step)?;
            let children = spec.children();
            at += children.iter().take(index).map(|child| child.leaves()).sum::<usize>();
            spec = children.get(index)?;
        }
        match spec {
            TreeSpec::Leaf => self.values.get(at),
            _ => None,
        }
    }
}

/// Which child a step leads to.
fn item(spec: &TreeSpec, step: &Step) -> Option<usize> {
    match (spec, step) {
        (TreeSpec::Dict(_, entries), Step::Key(name)) => {
            entries.iter().position(|(key, _)| matches!(key, Key::Str(text) if text == name))
        }
        (TreeSpec::Dict(_, entries), Step::Index(index)) => {
            entries.iter().position(|(key, _)| *key == Key::Int(*index))
        }
        (TreeSpec::Fields { fields, .. }, Step::Attribute(name) | Step::Key(name)) => {
            fields.iter().position(|(field, _)| field == name)
        }
        (_, Step::Index(index)) => usize::try_from(*index).ok(),
        _ => None,
    }
}

fn binary(operation: Binary, a: &Number, b: &Number) -> Option<Number> {
    if let (Some(a), Some(b)) = (a.int(), b.int()) {
        let floor = |a: i128, b: i128| {
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        };
        return Some(Number::Int(match operation {
            Binary::Add => a.checked_add(b)?,
            Binary::Subtract => a.checked_sub(b)?,
            Binary::Multiply => a.checked_mul(b)?,
            Binary::Divide => return (b != 0).then(|| Number::Float(a as f64 / b as f64)),
            Binary::FloorDivide => floor(a, b)?,
            Binary::Modulo => a.checked_sub(floor(a, b)?.checked_mul(b)?)?,
            Binary::Power => a.checked_pow(u32::try_from(b).ok()?)?,
            Binary::ShiftLeft => a.checked_mul(1i128.checked_shl(u32::try_from(b).ok()?)?)?,
            Binary::ShiftRight => a.checked_shr(u32::try_from(b).ok()?)?,
        }));
    }
    let (a, b) = (a.real()?, b.real()?);
    Some(Number::Float(match operation {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide if b != 0.0 => a / b,
        Binary::FloorDivide if b != 0.0 => (a / b).floor(),
        Binary::Modulo if b != 0.0 => a - (a / b).floor() * b,
        Binary::Power => a.powf(b),
        _ => return None,
    }))
}

fn compare(comparison: Comparison, a: &Number, b: &Number) -> Option<bool> {
    let order = match (a.int(), b.int()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => match (a, b) {
            (Number::Text(a), Number::Text(b)) => Some(a.cmp(b)),
            _ => match (a.real(), b.real()) {
                (Some(a), Some(b)) => a.partial_cmp(&b),
                // Values of different kinds are only ever unequal.
                _ => {
                    return match comparison {
                        Comparison::Equal => Some(a == b),
                        Comparison::NotEqual => Some(a != b),
                        _ => None,
                    };
                }
            },
        },
    };
    let holds = |of: fn(std::cmp::Ordering) -> bool| Some(order.is_some_and(of));
    match comparison {
        Comparison::Equal => holds(std::cmp::Ordering::is_eq),
        Comparison::NotEqual => Some(!order.is_some_and(std::cmp::Ordering::is_eq)),
        Comparison::Less => holds(std::cmp::Ordering::is_lt),
        Comparison::LessEqual => holds(std::cmp::Ordering::is_le),
        Comparison::Greater => holds(std::cmp::Ordering::is_gt),
        Comparison::GreaterEqual => holds(std::cmp::Ordering::is_ge),
    }
}

fn call(function: &str, arguments: &[Number]) -> Option<Number> {
    let pick = |greater: bool| {
        let mut best = arguments.first()?.clone();
        for next in arguments.iter().skip(1) {
            let comparison = if greater { Comparison::Greater } else { Comparison::Less };
            if compare(comparison, next, &best)? {
                best = next.clone();
            }
        }
        Some(best)
    };
    let whole = |value: f64| (value.abs() < 1e18).then_some(Number::Int(value as i128));
    let name = function.rsplit('.').next().unwrap_or(function);
    match (name, arguments) {
        ("max" | "sym_max", _) => pick(true),
        ("min" | "sym_min", _) => pick(false),
        ("sym_not", [a]) => Some(Number::Bool(!a.is_true())),
        ("sym_ite", [condition, a, b]) => {
            Some(if condition.is_true() { a.clone() } else { b.clone() })
        }
        ("abs", [Number::Float(a)]) => Some(Number::Float(a.abs())),
        ("abs", [a]) => Some(Number::Int(a.int()?.checked_abs()?)),
        ("float" | "sym_float", [a]) => Some(Number::Float(a.real()?)),
        ("int" | "sym_int" | "trunc", [a]) => whole(a.real()?.trunc()),
        ("floor", [a]) => whole(a.real()?.floor()),
        ("ceil", [a]) => whole(a.real()?.ceil()),
        ("round", [a]) => whole(a.real()?.round_ties_even()),
        ("sqrt" | "_sym_sqrt" | "sym_sqrt", [a]) => Some(Number::Float(a.real()?.sqrt())),
        ("pow", [a, b]) => Some(Number::Float(a.real()?.powf(b.real()?))),
        ("sym_sum", parts) => {
            let sum = parts.iter().try_fold(0i128, |sum, part| sum.checked_add(part.int()?));
            sum.map(Number::Int)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree_spec::DictKind;

    #[test]
    fn conditions_hold_or_are_named() {
        let dict = TreeSpec::Dict(
            DictKind::Plain,
            vec![(Key::Str("k".into()), TreeSpec::List(vec![TreeSpec::Leaf]))],
        );
        let positional = [TreeSpec::Leaf, dict];
        let named = [(Key::Str("n".to_owned()), TreeSpec::Leaf)];
        let names = vec!["x".to_owned(), "d".to_owned(), "n".to_owned()];
        let check = |text: &str| {
            let guards = Guards::new(&[text.to_owned()], names.clone());
            let x = Given::Tensor(&[6, 3], &[3, 1], 0);
            let values = [x, Given::Tensor(&[2, 4], &[4, 1], 8), Given::Int(7)];
            guards.check(&positional, &named, &values).err().unwrap_or_default()
        };
        for holds in [
            "(L['x'].size()[0] % 2) == 0",
            "L['x'].size()[0] > L['d']['k'][0].size()[1]",
            "2*L['x'].size()[0] > 3 + L['d']['k'][0].size()[1]",
            "((torch.sym_max(L['d']['k'][0].size()[1], L['x'].size()[0]) // 2) % 3) == 0",
            "L['n'] == 7 and L['d']['k'][0].storage_offset() == 8",
            "L['x'].stride()[0] == 3 or L['n'] == 0",
        ] {
            assert_eq!(check(holds), "", "{holds}");
        }
        assert_eq!(check("(L['x'].size()[0] % 4) == 0"), "Guard failed: x.size()[0] % 4 == 0");
        assert_eq!(
            check("L['x'].size()[0] <= L['d']['k'][0].size()[1]"),
            "Guard failed: x.size()[0] <= d['k'][0].size()[1]"
        );
        for unknown in ["L['y'].size()[0] == 1", "L['x'].size()[9] == 1", "__import__('os')"] {
            assert!(check(unknown).contains("cannot be checked"), "{unknown}: {}", check(unknown));
        }
    }
}
