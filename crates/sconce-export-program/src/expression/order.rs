//! The order in which sympy prints terms, factors and arguments.

use std::cmp::Ordering;

use super::{Expr, HEADS};

/// What sympy sorts an expression by: its class, then its arguments, then its power, then its coefficient.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    class: (u8, u32, String),
    text: String,
    arguments: Vec<Key>,
    power: Option<Box<Key>>,
    coefficient: f64,
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.class
            .cmp(&other.class)
            .then_with(|| self.text.cmp(&other.text))
            .then_with(|| self.arguments.len().cmp(&other.arguments.len()))
            .then_with(|| self.arguments.cmp(&other.arguments))
            .then_with(|| self.power.cmp(&other.power))
            .then_with(|| self.coefficient.total_cmp(&other.coefficient))
    }
}

/// `default_sort_key`
pub(super) fn key(expr: &Expr) -> Key {
    let number = |coefficient| Key {
        class: (1, 0, "Number".to_owned()),
        text: String::new(),
        arguments: Vec::new(),
        power: None,
        coefficient,
    };
    if let Some(value) = expr.number() {
        return number(value);
    }
    let (coefficient, factors) = coefficient_of(expr);
    let coefficient = coefficient.and_then(Expr::number).unwrap_or(1.0);
    let one = |expr: &Expr| {
        let (base, power) = match expr {
            Expr::Call(head, arguments) if &**head == "Pow" && arguments.len() == 2 => {
                (&arguments[0], key(&arguments[1]))
            }
            _ => (expr, number(1.0)),
        };
        let (class, text, arguments) = match base {
            Expr::Symbol(name) => ((2, 0, "Symbol".to_owned()), name.to_string(), Vec::new()),
            Expr::Constant(name) => ((2, 0, (*name).to_owned()), String::new(), Vec::new()),
            Expr::Bool(value) => ((2, 0, format!("Boolean{value}")), String::new(), Vec::new()),
            Expr::Call(head, arguments) => {
                let arguments = match &**head {
                    "Add" => terms(arguments).into_iter().map(key).collect(),
                    "Mul" => ordered(arguments.iter()).into_iter().map(key).collect(),
                    _ => arguments.iter().map(key).collect(),
                };
                (class(head), String::new(), arguments)
            }
            // A number to a power.
            other => return Key { coefficient, ..number(other.number().unwrap_or(0.0)) },
        };
        Key { class, text, arguments, power: Some(Box::new(power)), coefficient }
    };
    match factors {
        [only] => one(only),
        factors => Key {
            class: class("Mul"),
            text: String::new(),
            arguments: ordered(factors.iter()).into_iter().map(key).collect(),
            power: Some(Box::new(number(1.0))),
            coefficient,
        },
    }
}

fn class(head: &str) -> (u8, u32, String) {
    let name = head.to_owned();
    match head {
        "Mul" => (3, 0, name),
        "Add" => (3, 1, name),
        "Pow" => (3, 2, name),
        "Max" | "Min" | "And" | "Or" | "Not" | "Xor" | "ITE" | "Equality" | "Unequality"
        | "StrictLessThan" | "LessThan" | "StrictGreaterThan" | "GreaterThan" | "ExprCondPair" => {
            (5, 0, name)
        }
        // Functions that say how many arguments they take come after those that do not.
        _ if HEADS.contains(&head) || head.contains("Fn_") => (4, 10000, name),
        _ => (4, 0, name),
    }
}

/// A product's number, and its other factors; any other expression is its only factor.
pub(super) fn coefficient_of(expr: &Expr) -> (Option<&Expr>, &[Expr]) {
    if let Expr::Call(head, factors) = expr
        && &**head == "Mul"
        && factors.len() > 1
    {
        return match factors[0].number() {
            Some(_) => (Some(&factors[0]), &factors[1..]),
            None => (None, factors),
        };
    }
    (None, std::slice::from_ref(expr))
}

/// Expressions by [`key`].
pub(super) fn ordered<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Vec<&'e Expr> {
    let mut keyed: Vec<(Key, &Expr)> = exprs.map(|expr| (key(expr), expr)).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    keyed.into_iter().map(|(_, expr)| expr).collect()
}

/// The terms of a sum as they are printed: by descending powers of what they are made of, numbers last.
pub(super) fn terms(terms: &[Expr]) -> Vec<&Expr> {
    if let Some(pair) = number_first(terms) {
        return pair.to_vec();
    }
    // What the terms are made of, with its powers.
    let parts: Vec<Vec<(Key, i128)>> = terms
        .iter()
        .map(|term| {
            let (_, factors) = coefficient_of(term);
            let factors = factors.iter().filter(|factor| factor.number().is_none());
            factors.map(base_and_power).collect()
        })
        .collect();
    let mut bases: Vec<&Key> = parts.iter().flatten().map(|(base, _)| base).collect();
    bases.sort_unstable();
    bases.dedup();
    let mut rows: Vec<(Vec<(usize, i128)>, &Expr)> = parts
        .iter()
        .zip(terms)
        .map(|(part, term)| {
            let place = |(base, power): &(Key, i128)| {
                (bases.binary_search(&base).unwrap_or(usize::MAX), *power)
            };
            let mut powers: Vec<(usize, i128)> = part.iter().map(place).collect();
            powers.sort_unstable();
            (powers, term)
        })
        .collect();
    rows.sort_by(|a, b| by_powers(&b.0, &a.0));
    rows.into_iter().map(|(_, term)| term).collect()
}

/// The order of two lists of powers, of which those that are 0 are left out.
fn by_powers(a: &[(usize, i128)], b: &[(usize, i128)]) -> Ordering {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let (left, right) = match (a.peek(), b.peek()) {
            (None, None) => return Ordering::Equal,
            (Some(&&(_, power)), None) => (power, 0),
            (None, Some(&&(_, power))) => (0, power),
            (Some(&&(at, power)), Some(&&(other_at, other))) => match at.cmp(&other_at) {
                Ordering::Less => (power, 0),
                Ordering::Greater => (0, other),
                Ordering::Equal => (power, other),
            },
        };
        match left.cmp(&right) {
            Ordering::Equal => {
                a.next();
                b.next();
            }
            other => return other,
        }
    }
}

fn base_and_power(factor: &Expr) -> (Key, i128) {
    if let Expr::Call(head, arguments) = factor
        && &**head == "Pow"
        && let [base, Expr::Integer(power)] = &arguments[..]
    {
        return (key(base), *power);
    }
    (key(factor), 1)
}

/// `3 - x`: a positive number and one product with a negative number stand so.
fn number_first(terms: &[Expr]) -> Option<[&Expr; 2]> {
    let [a, b] = terms else { return None };
    let (number, product) = if a.number().is_some() { (a, b) } else { (b, a) };
    let (coefficient, factors) = coefficient_of(product);
    let fits = number.number()? > 0.0 && coefficient?.number()? < 0.0 && factors.len() == 1;
    fits.then_some([number, product])
}
