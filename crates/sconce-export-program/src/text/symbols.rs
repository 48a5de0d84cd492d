//! Symbolic expressions as they are printed, each text parsed once.

use std::collections::HashMap;

use crate::Error;
use crate::expression::{Expr, parse};
use crate::schema::{SymBool, SymExpr, SymFloat, SymInt, TensorMeta};

/// What expressions are printed as, by their text in the file.
#[derive(Default)]
pub(crate) struct Symbols<'p> {
    shown: HashMap<&'p str, String>,
}

impl<'p> Symbols<'p> {
    pub(crate) fn expr(&mut self, expr: &'p SymExpr) -> Result<&str, Error> {
        if !self.shown.contains_key(&*expr.expr_str) {
            self.shown.insert(&expr.expr_str, parse(&expr.expr_str)?.to_string());
        }
        Ok(&self.shown[&*expr.expr_str])
    }

    pub(crate) fn int(&mut self, value: &'p SymInt) -> Result<String, Error> {
        match value {
            SymInt::Int(value) => Ok(value.to_string()),
            SymInt::Expr(expr) => self.expr(expr).map(str::to_owned),
        }
    }

    /// A tensor's dtype and sizes: `f32[2, s77]`.
    pub(crate) fn tensor(&mut self, meta: &'p TensorMeta) -> Result<String, Error> {
        let mut sizes = Vec::with_capacity(meta.sizes.len());
        for size in &meta.sizes {
            sizes.push(self.int(size)?);
        }
        Ok(format!("{}[{}]", meta.dtype.short_name(), sizes.join(", ")))
    }
}

/// The expressions in what is known of a program's values.
pub(crate) trait HasExpr {
    fn expr(&self) -> Option<&SymExpr>;
}

impl HasExpr for SymInt {
    fn expr(&self) -> Option<&SymExpr> {
        match self {
            SymInt::Expr(expr) => Some(expr),
            SymInt::Int(_) => None,
        }
    }
}

impl HasExpr for SymFloat {
    fn expr(&self) -> Option<&SymExpr> {
        match self {
            SymFloat::Expr(expr) => Some(expr),
            SymFloat::Float(_) => None,
        }
    }
}

impl HasExpr for SymBool {
    fn expr(&self) -> Option<&SymExpr> {
        match self {
            SymBool::Expr(expr) => Some(expr),
            SymBool::Bool(_) => None,
        }
    }
}

/// Which of some texts an expression, or one within it, is printed as.
pub(crate) fn find_shown(expr: &Expr, wanted: &mut HashMap<&str, bool>, longest: usize) {
    expr.visit(&mut |part| {
        // A symbol is at least one byte: what has more parts than the longest text has bytes is none of them.
        if let Expr::Symbol(name) = part {
            if let Some(found) = wanted.get_mut(&**name) {
                *found = true;
            }
        } else if leaves(part) <= longest
            && let Some(found) = wanted.get_mut(part.to_string().as_str())
        {
            *found = true;
        }
    });
}

fn leaves(expr: &Expr) -> usize {
    let mut count = 0;
    expr.visit(&mut |part| count += usize::from(part.arguments().is_empty()));
    count
}
