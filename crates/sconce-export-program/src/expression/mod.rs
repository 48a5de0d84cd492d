//! Symbolic expressions: read from the text of `expr_str`, printed as PyTorch prints them.
//!
//! PyTorch evaluates that text as Python. Here it has a parser of its own, which takes what `sympy.srepr` writes and
//! the functions that PyTorch adds to sympy, and nothing else.

mod order;
mod parse;
mod show;

pub use parse::{MAX_DEPTH, MAX_LENGTH, parse};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A symbol, such as `s77`.
    Symbol(Box<str>),
    /// An integer.
    Integer(i128),
    /// A fraction: numerator and denominator, which is positive.
    Rational(i128, i128),
    /// A float.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A constant of sympy or PyTorch by its name: `int_oo`, `-int_oo`, `oo`, ….
    Constant(&'static str),
    /// A function or operation by sympy's name, such as `Add`, with its arguments.
    Call(Box<str>, Vec<Expr>),
}

/// Functions and operations that an expression may have, beside `OpaqueUnaryFn_…` and `BitwiseFn_…`.
static HEADS: [&str; 40] = [
    "Add",
    "And",
    "CeilDiv",
    "CeilToInt",
    "CleanDiv",
    "Equality",
    "ExprCondPair",
    "FloatPow",
    "FloatTrueDiv",
    "FloorDiv",
    "FloorToInt",
    "GreaterThan",
    "ITE",
    "Identity",
    "IntTrueDiv",
    "IsNonOverlappingAndDenseIndicator",
    "LShift",
    "LessThan",
    "Max",
    "Min",
    "Mod",
    "ModularIndexing",
    "Mul",
    "Not",
    "Or",
    "Piecewise",
    "Pow",
    "PowByNatural",
    "PythonMod",
    "RShift",
    "RoundDecimal",
    "RoundToInt",
    "StrictGreaterThan",
    "StrictLessThan",
    "ToFloat",
    "TruncToFloat",
    "TruncToInt",
    "Unequality",
    "Where",
    "Xor",
];

/// Functions of C that stand behind `OpaqueUnaryFn_`.
static UNARY: [&str; 15] = [
    "acos", "asin", "asinh", "atan", "cos", "cosh", "exp", "log", "log2", "sin", "sinh", "sqrt",
    "tan", "tanh", "acosh",
];

/// Whether a function is one that PyTorch's own expressions have.
fn is_head(name: &str) -> bool {
    if let Some(function) = name.strip_prefix("OpaqueUnaryFn_") {
        return UNARY.contains(&function);
    }
    if let Some(operation) = name.strip_prefix("BitwiseFn_bitwise_") {
        return matches!(operation, "and" | "or" | "xor");
    }
    HEADS.binary_search(&name).is_ok()
}

impl Expr {
    /// The arguments.
    pub fn arguments(&self) -> &[Expr] {
        match self {
            Expr::Call(_, arguments) => arguments,
            _ => &[],
        }
    }

    /// The function's or operation's name.
    pub fn head(&self) -> Option<&str> {
        match self {
            Expr::Call(head, _) => Some(head),
            _ => None,
        }
    }

    /// Calls `visit` with the expression and all that are in it.
    pub fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        for argument in self.arguments() {
            argument.visit(visit);
        }
    }

    fn is(&self, name: &str) -> bool {
        self.head() == Some(name)
    }

    /// Its value, where it is a number by itself.
    fn number(&self) -> Option<f64> {
        match *self {
            Expr::Integer(value) => Some(value as f64),
            Expr::Rational(p, q) => Some(p as f64 / q as f64),
            Expr::Float(value) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(HEADS.is_sorted());
        assert!(is_head("Add") && is_head("Xor") && is_head("OpaqueUnaryFn_sqrt"));
        assert!(is_head("BitwiseFn_bitwise_or"));
        assert!(!is_head("print") && !is_head("OpaqueUnaryFn_x") && !is_head("Lambda"));
    }
}
