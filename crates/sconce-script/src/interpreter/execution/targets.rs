//! The names that a statement binds, and what they are likely to be.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_python_ast::visitor::{Visitor, walk_pattern, walk_stmt};

use crate::library::NameKind;

/// The names that a statement may bind where it stands, each once, with what it would make of them.
pub(super) fn bound_names(statement: &py::Stmt) -> Vec<(Arc<str>, NameKind)> {
    let mut names = Names(Vec::new());
    crate::nesting::with_stack(|| names.visit_stmt(statement));
    names.0
}

struct Names(Vec<(Arc<str>, NameKind)>);

impl Names {
    fn add(&mut self, name: &str, kind: NameKind) {
        match self.0.iter_mut().find(|(known, _)| &**known == name) {
            Some((_, known)) => *known = kind,
            None => self.0.push((name.into(), kind)),
        }
    }

    fn add_target(&mut self, target: &py::Expr, kind: NameKind) {
        match target {
            py::Expr::Name(name) => self.add(&name.id, kind),
            py::Expr::Tuple(tuple) => {
                tuple.elts.iter().for_each(|target| self.add_target(target, kind));
            }
            py::Expr::List(list) => {
                list.elts.iter().for_each(|target| self.add_target(target, kind));
            }
            py::Expr::Starred(starred) => self.add_target(&starred.value, kind),
            _ => {}
        }
    }
}

/// What a value is likely to be, going by its expression.
fn likely(value: &py::Expr) -> NameKind {
    match value {
        py::Expr::Lambda(_) | py::Expr::Call(_) | py::Expr::Attribute(_) | py::Expr::Name(_) => {
            NameKind::Callable
        }
        _ => NameKind::Value,
    }
}

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, statement: &'a py::Stmt) {
        match statement {
            py::Stmt::FunctionDef(def) => self.add(&def.name, NameKind::Callable),
            py::Stmt::ClassDef(def) => self.add(&def.name, NameKind::Callable),
            py::Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.add(name.split('.').next().unwrap_or_default(), NameKind::Module);
                }
            }
            py::Stmt::ImportFrom(import) => {
                for alias in import.names.iter().filter(|alias| alias.name.as_str() != "*") {
                    self.add(alias.asname.as_ref().unwrap_or(&alias.name), NameKind::Callable);
                }
            }
            py::Stmt::Assign(assign) => {
                let kind = likely(&assign.value);
                assign.targets.iter().for_each(|target| self.add_target(target, kind));
            }
            py::Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.add_target(&assign.target, likely(value));
                }
            }
            py::Stmt::AugAssign(assign) => self.add_target(&assign.target, NameKind::Value),
            py::Stmt::For(of) => {
                self.add_target(&of.target, NameKind::Value);
                walk_stmt(self, statement);
            }
            py::Stmt::With(with) => {
                for target in with.items.iter().filter_map(|item| item.optional_vars.as_deref()) {
                    self.add_target(target, NameKind::Value);
                }
                walk_stmt(self, statement);
            }
            py::Stmt::If(_) | py::Stmt::While(_) | py::Stmt::Try(_) | py::Stmt::Match(_) => {
                walk_stmt(self, statement);
            }
            _ => {}
        }
    }

    fn visit_pattern(&mut self, pattern: &'a py::Pattern) {
        let name = match pattern {
            py::Pattern::MatchAs(pattern) => &pattern.name,
            py::Pattern::MatchStar(pattern) => &pattern.name,
            py::Pattern::MatchMapping(pattern) => &pattern.rest,
            _ => &None,
        };
        if let Some(name) = name {
            self.add(name, NameKind::Value);
        }
        walk_pattern(self, pattern);
    }

    fn visit_expr(&mut self, expression: &'a py::Expr) {
        if let py::Expr::Named(named) = expression {
            self.add_target(&named.target, NameKind::Value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_statements_bind() {
        let cases = [
            ("a = f()", "a"),
            ("a = b = 1", "a b"),
            ("a, (b, *c) = x", "a b c"),
            ("a.b = a[0] = x", ""),
            ("import a.b.c, d as e", "a e"),
            ("from a import b as c, d", "c d"),
            ("from a import *", ""),
            ("def f():\n    x = 1", "f"),
            ("for i in x:\n    if i:\n        a = i\n    else:\n        b = i", "i a b"),
            ("try:\n    import a\nexcept E:\n    a = None\nfinally:\n    b: int = 1", "a b"),
            ("with x as y:\n    class C: pass", "y C"),
            ("match x:\n    case [a, *b] | {'k': a, **b}:\n        c = 1", "a b c"),
        ];
        for (text, expected) in cases {
            let parsed = ruff_python_parser::parse_module(text).unwrap().into_suite();
            let names: Vec<String> =
                bound_names(&parsed[0]).into_iter().map(|(name, _)| name.to_string()).collect();
            assert_eq!(names.join(" "), expected, "{text}");
        }
    }
}
