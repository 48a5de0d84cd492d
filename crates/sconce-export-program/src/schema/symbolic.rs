//! Sizes and numbers that are not known before a program runs.

use super::macros::{structure, tagged};

tagged! {
    /// The value that an expression had when the program was exported.
    SymExprHint {
        /// An integer.
        Int "as_int": i64;
        /// A boolean.
        Bool "as_bool": bool;
        /// A float.
        Float "as_float": f64;
    }
}

structure! {
    /// An expression over symbols.
    SymExpr {
        /// The expression as `sympy.srepr` writes it. PyTorch evaluates this text as Python when it loads a file.
        expr_str "expr_str": String;
        /// Its value at export.
        hint "hint": Option<SymExprHint> = None;
    }
}

tagged! {
    /// An integer or an expression.
    SymInt {
        /// An expression.
        Expr "as_expr": SymExpr;
        /// A number.
        Int "as_int": i64;
    }
}

impl SymInt {
    /// The number, where it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            SymInt::Int(value) => Some(*value),
            SymInt::Expr(_) => None,
        }
    }
}

tagged! {
    /// A float or an expression.
    SymFloat {
        /// An expression.
        Expr "as_expr": SymExpr;
        /// A number.
        Float "as_float": f64;
    }
}

tagged! {
    /// A boolean or an expression.
    SymBool {
        /// An expression.
        Expr "as_expr": SymExpr;
        /// True or false.
        Bool "as_bool": bool;
    }
}
