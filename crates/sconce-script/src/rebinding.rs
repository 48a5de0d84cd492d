//! Statements at the top of a file that change what earlier ones have bound.

use ruff_python_ast as py;
use ruff_python_ast::visitor::{Visitor, walk_stmt};

/// The names whose values a statement changes or, in a loop, makes: `table["a"] = 1`,
/// `sizes += [2]`, `layers.append(3)`, `width, height = 3, 4`.
pub(crate) fn changed_names(statement: &py::Stmt) -> Vec<String> {
    let mut names = Names { found: Vec::new(), in_loop: false };
    names.visit_stmt(statement);
    names.found
}

struct Names {
    found: Vec<String>,
    in_loop: bool,
}

impl Names {
    fn add(&mut self, name: &str) {
        if !self.found.iter().any(|known| known == name) {
            self.found.push(name.to_owned());
        }
    }

    /// The name at the beginning of `name.attribute[index]`.
    fn add_base(&mut self, mut expression: &py::Expr) {
        loop {
            expression = match expression {
                py::Expr::Attribute(attribute) => &attribute.value,
                py::Expr::Subscript(subscript) => &subscript.value,
                py::Expr::Name(name) => return self.add(&name.id),
                _ => return,
            };
        }
    }

    /// A method that is called for a decorator may keep what it decorates: `@registry.add("name")`.
    fn add_decorators(&mut self, decorators: &[py::Decorator]) {
        for decorator in decorators {
            if let py::Expr::Call(call) = &decorator.expression
                && let py::Expr::Attribute(method) = &*call.func
                && let py::Expr::Name(name) = &*method.value
            {
                self.add(&name.id);
            }
        }
    }

    fn add_target(&mut self, target: &py::Expr, is_part: bool) {
        match target {
            py::Expr::Name(name) if is_part || self.in_loop => self.add(&name.id),
            py::Expr::Name(_) => {}
            py::Expr::Tuple(tuple) => {
                tuple.elts.iter().for_each(|target| self.add_target(target, true));
            }
            py::Expr::List(list) => {
                list.elts.iter().for_each(|target| self.add_target(target, true));
            }
            py::Expr::Starred(starred) => self.add_target(&starred.value, true),
            other => self.add_base(other),
        }
    }
}

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, statement: &'a py::Stmt) {
        match statement {
            py::Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.add_target(target, false));
            }
            py::Stmt::AugAssign(assign) => self.add_base(&assign.target),
            py::Stmt::AnnAssign(assign) if assign.value.is_some() => {
                self.add_target(&assign.target, false);
            }
            py::Stmt::Delete(delete) => {
                for target in &delete.targets {
                    if !matches!(target, py::Expr::Name(_)) {
                        self.add_base(target);
                    }
                }
            }
            py::Stmt::FunctionDef(def) => self.add_decorators(&def.decorator_list),
            py::Stmt::ClassDef(def) => self.add_decorators(&def.decorator_list),
            py::Stmt::Expr(expression) => {
                if let py::Expr::Call(call) = &*expression.value
                    && let py::Expr::Attribute(method) = &*call.func
                {
                    self.add_base(&method.value);
                }
            }
            py::Stmt::For(_) | py::Stmt::While(_) => {
                let before = std::mem::replace(&mut self.in_loop, true);
                walk_stmt(self, statement);
                self.in_loop = before;
            }
            py::Stmt::If(_) | py::Stmt::Try(_) | py::Stmt::With(_) if self.in_loop => {
                walk_stmt(self, statement);
            }
            _ => {}
        }
    }

    fn visit_expr(&mut self, _: &'a py::Expr) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_statements_change() {
        let cases = [
            ("a = 1", ""),
            ("a, (b, *c) = x", "a b c"),
            ("a['x'][0] = b", "a"),
            ("a.b.c = d", "a"),
            ("a += b", "a"),
            ("a.append(b)", "a"),
            ("f(a)", ""),
            ("del a[0]", "a"),
            (
                "for i in x:\n    a = i\n    if i:\n        b.add(a)\n    def f():\n        c = 1",
                "a b",
            ),
            ("if x:\n    a = 1", ""),
            ("@a.add('f')\n@b.c\n@d('g')\ndef f():\n    pass", "a"),
        ];
        for (text, expected) in cases {
            let parsed = ruff_python_parser::parse_module(text).unwrap().into_suite();
            assert_eq!(changed_names(&parsed[0]).join(" "), expected, "{text}");
        }
    }
}
