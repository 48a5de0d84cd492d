//! What sympy's `str` gives.

use std::fmt;

use super::Expr;
use super::order::{coefficient_of, ordered, terms};

/// How tightly operations bind, by sympy's numbers.
const LOOSE: u32 = 35;
const ADD: u32 = 40;
const MUL: u32 = 50;
const POW: u32 = 60;
const CALL: u32 = 70;
const NOT: u32 = 100;
const ATOM: u32 = 1000;

/// As PyTorch prints it: `4*s0 + 1`, `((s77 + 3)//4)`.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // All digits are shown of a float that stands alone.
            Expr::Float(value) => f.write_str(&float(*value, false)),
            _ => f.write_str(&text(self)),
        }
    }
}

fn precedence(expr: &Expr) -> u32 {
    let negative = |value: bool, other| if value { ADD } else { other };
    match expr {
        Expr::Symbol(_) | Expr::Bool(_) => ATOM,
        Expr::Constant(name) => negative(name.starts_with('-'), ATOM),
        Expr::Integer(value) => negative(*value < 0, ATOM),
        Expr::Rational(p, _) => negative(*p < 0, MUL),
        Expr::Float(value) => negative(*value < 0.0, ATOM),
        Expr::Call(head, _) => match &**head {
            "Add" => ADD,
            "Mul" => negative(is_negative(expr), MUL),
            "Pow" => POW,
            "FloorDiv" | "CleanDiv" | "ModularIndexing" | "Where" | "PythonMod" | "Mod"
            | "FloatTrueDiv" | "IntTrueDiv" => LOOSE,
            "PowByNatural" => MUL,
            "FloatPow" => POW,
            "Identity" | "Xor" => 10,
            "BitwiseFn_bitwise_or" => 36,
            "BitwiseFn_bitwise_xor" => 37,
            "BitwiseFn_bitwise_and" => 38,
            "StrictGreaterThan" | "GreaterThan" | "StrictLessThan" | "LessThan" => LOOSE,
            "Equality" | "Unequality" => MUL,
            "And" => 30,
            "Or" => 20,
            "Not" => NOT,
            "Max" | "Min" | "ITE" | "ExprCondPair" => ATOM,
            _ => CALL,
        },
    }
}

/// Whether an expression is a product with a negative number.
fn is_negative(expr: &Expr) -> bool {
    coefficient_of(expr).0.and_then(Expr::number).is_some_and(|number| number < 0.0)
}

/// In parentheses unless it binds tighter than `level`.
fn tighter(expr: &Expr, level: u32) -> String {
    match precedence(expr) <= level {
        true => format!("({})", text(expr)),
        false => text(expr),
    }
}

fn join<'e>(exprs: impl IntoIterator<Item = &'e Expr>, between: &str, level: u32) -> String {
    let parts: Vec<String> = exprs.into_iter().map(|expr| tighter(expr, level)).collect();
    parts.join(between)
}

/// The text; recursion is as deep as the parser allows.
fn text(expr: &Expr) -> String {
    let (head, arguments) = match expr {
        Expr::Symbol(name) => return name.to_string(),
        Expr::Integer(value) => return value.to_string(),
        Expr::Rational(p, q) => return format!("{p}/{q}"),
        Expr::Float(value) => return float(*value, true),
        Expr::Bool(true) => return "True".to_owned(),
        Expr::Bool(false) => return "False".to_owned(),
        Expr::Constant(name) => return (*name).to_owned(),
        Expr::Call(head, arguments) => (&**head, &arguments[..]),
    };
    match (head, arguments) {
        ("Add", terms) => sum(terms),
        ("Mul", factors) => product(expr, factors),
        ("Pow", [base, exponent]) => power(base, exponent),
        ("FloorDiv" | "CleanDiv", [a, b]) => {
            format!("({}//{})", tighter(a, ATOM - 1), tighter(b, ATOM - 1))
        }
        ("Identity", [inner]) => format!("({})", text(inner)),
        ("Max" | "Min", arguments) => {
            format!("{head}({})", join(ordered(arguments.iter()), ", ", 0))
        }
        ("StrictGreaterThan", [a, b]) => relation(a, ">", b),
        ("GreaterThan", [a, b]) => relation(a, ">=", b),
        ("StrictLessThan", [a, b]) => relation(a, "<", b),
        ("LessThan", [a, b]) => relation(a, "<=", b),
        ("Equality", [a, b]) => format!("Eq({}, {})", text(a), text(b)),
        ("Unequality", [a, b]) => format!("Ne({}, {})", text(a), text(b)),
        // These are in sympy's order in the file.
        ("And", arguments) => join(arguments, " & ", 38),
        ("Or", arguments) => join(arguments, " | ", 36),
        ("Xor", arguments) => join(arguments, " ^ ", 37),
        ("Not", [inner]) => format!("~{}", tighter(inner, NOT)),
        ("ExprCondPair", [value, condition]) => format!("({}, {})", text(value), text(condition)),
        (head, arguments) => format!("{head}({})", join(arguments, ", ", 0)),
    }
}

fn relation(a: &Expr, operator: &str, b: &Expr) -> String {
    format!("{} {operator} {}", tighter(a, LOOSE), tighter(b, LOOSE))
}

fn sum(arguments: &[Expr]) -> String {
    let mut out = String::new();
    for term in terms(arguments) {
        let shown = text(term);
        let (sign, shown) = match shown.strip_prefix('-') {
            Some(rest) if !term.is("Add") => ('-', rest),
            _ => ('+', &shown[..]),
        };
        match (out.is_empty(), sign) {
            (true, '+') => {}
            (true, _) => out.push(sign),
            (false, _) => out.extend([' ', sign, ' ']),
        }
        match precedence(term) < ADD || term.is("Add") {
            true => out.push_str(&format!("({shown})")),
            false => out.push_str(shown),
        }
    }
    out
}

fn product(expr: &Expr, factors: &[Expr]) -> String {
    let level = precedence(expr);
    let negative = is_negative(expr);
    let (coefficient, rest) = match coefficient_of(expr) {
        (Some(coefficient), rest) if negative => (Some(negated(coefficient)), rest),
        (coefficient, rest) => (coefficient.cloned(), rest),
    };
    // A product of one factor is printed as it is.
    let rest = if factors.len() == 1 { factors } else { rest };
    let coefficient = coefficient.filter(|number| *number != Expr::Integer(1));
    let mut above = Vec::new();
    let mut below = Vec::new();
    for factor in ordered(coefficient.iter().chain(rest)) {
        match factor {
            Expr::Call(head, arguments) if &**head == "Pow" && arguments.len() == 2 => {
                match arguments[1].number() {
                    Some(-1.0) => below.push(tighter(&arguments[0], level)),
                    Some(exponent) if exponent < 0.0 => {
                        let inverse = vec![arguments[0].clone(), negated(&arguments[1])];
                        below.push(tighter(&Expr::Call("Pow".into(), inverse), level));
                    }
                    _ => above.push(tighter(factor, level)),
                }
            }
            Expr::Rational(p, q) => {
                if *p != 1 {
                    above.push(tighter(&Expr::Integer(*p), level));
                }
                if *q != 1 {
                    below.push(tighter(&Expr::Integer(*q), level));
                }
            }
            factor => above.push(tighter(factor, level)),
        }
    }
    if above.is_empty() {
        above.push("1".to_owned());
    }
    let sign = if negative { "-" } else { "" };
    let above = above.join("*");
    match &below[..] {
        [] => format!("{sign}{above}"),
        [only] => format!("{sign}{above}/{only}"),
        below => format!("{sign}{above}/({})", below.join("*")),
    }
}

/// A number with its sign turned.
fn negated(number: &Expr) -> Expr {
    match number {
        Expr::Integer(value) => Expr::Integer(value.saturating_neg()),
        Expr::Rational(p, q) => Expr::Rational(p.saturating_neg(), *q),
        Expr::Float(value) => Expr::Float(-value),
        other => other.clone(),
    }
}

fn power(base: &Expr, exponent: &Expr) -> String {
    match exponent {
        Expr::Rational(1, 2) => return format!("sqrt({})", text(base)),
        Expr::Rational(-1, 2) => return format!("1/sqrt({})", text(base)),
        Expr::Integer(-1) => return format!("1/{}", tighter(base, POW)),
        _ => {}
    }
    format!("{}**{}", tighter(base, POW), tighter(exponent, POW))
}

/// A float with 15 digits; zeros at the end are left out within other expressions.
fn float(value: f64, strip: bool) -> String {
    if value == 0.0 {
        return if strip { "0.0" } else { "0" }.to_owned();
    }
    if !value.is_finite() {
        return match (value.is_nan(), value > 0.0) {
            (true, _) => "nan",
            (_, true) => "oo",
            (_, false) => "-oo",
        }
        .to_owned();
    }
    let scientific = format!("{:.14e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let (mut whole, mut fraction, suffix) = if -5 < exponent && exponent < 15 {
        if exponent < 0 {
            let zeros = "0".repeat((-exponent - 1) as usize);
            ("0".to_owned(), format!("{zeros}{digits}"), String::new())
        } else {
            let (whole, fraction) = digits.split_at(exponent as usize + 1);
            (whole.to_owned(), fraction.to_owned(), String::new())
        }
    } else {
        let sign = if exponent < 0 { "" } else { "+" };
        let (whole, fraction) = digits.split_at(1);
        (whole.to_owned(), fraction.to_owned(), format!("e{sign}{exponent}"))
    };
    if strip {
        fraction.truncate(fraction.trim_end_matches('0').len());
        if fraction.is_empty() {
            fraction.push('0');
        }
    }
    if value < 0.0 {
        whole.insert(0, '-');
    }
    format!("{whole}.{fraction}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    /// What sympy 1.14 with PyTorch's functions prints of each.
    const SHOWN: &str = include_str!("shown.tsv");

    #[test]
    fn as_sympy_prints() {
        let mut lines = 0;
        for line in SHOWN.lines() {
            let (text, want) = line.split_once('\t').expect("two columns");
            assert_eq!(parse(text).unwrap().to_string(), want, "{text}");
            lines += 1;
        }
        assert!(lines > 100, "{lines}");
    }
}
