//! Statements.

use ruff_python_ast as py;
use sconce_compiler::Error;
use sconce_syntax::Range;
use sconce_syntax::ast::{Expr, ExprKind, Stmt, StmtKind, WithItem};

use super::expressions::binary_op;
use super::{Frontend, around, dotted, width};
use crate::snippet::Snippet;

impl Frontend<'_> {
    pub(super) fn statements(&mut self, statements: &[py::Stmt]) -> Result<Vec<Stmt>, Error> {
        statements.iter().map(|statement| self.statement(statement)).collect()
    }

    pub(super) fn statement(&mut self, statement: &py::Stmt) -> Result<Stmt, Error> {
        let at = self.at(statement, 1);
        self.nested(at, |frontend| frontend.statement_kind(statement))
    }

    fn statement_kind(&mut self, statement: &py::Stmt) -> Result<Stmt, Error> {
        match statement {
            py::Stmt::Expr(expression) => {
                let value = self.expression(&expression.value)?;
                let range = value.range;
                Ok(Stmt { kind: StmtKind::Expr(value), range })
            }
            py::Stmt::Assign(assign) => {
                let value = self.expression(&assign.value)?;
                let targets = self.expressions(&assign.targets)?;
                Ok(assignment(targets, value, None))
            }
            py::Stmt::AnnAssign(assign) => self.annotated(assign),
            py::Stmt::AugAssign(assign) => self.augmented(assign),
            py::Stmt::Return(statement) => {
                let at = self.at(statement, "return".len());
                let value = match &statement.value {
                    Some(value) => self.expression(value)?,
                    None => Expr { kind: ExprKind::None, range: at },
                };
                let range = at.merge(value.range);
                Ok(Stmt { kind: StmtKind::Return(value), range })
            }
            py::Stmt::Raise(statement) => {
                let at = self.at(statement, "raise".len());
                let Some(exception) = &statement.exc else {
                    return Err(
                        self.error(at, "raise statements without an exception aren't supported")
                    );
                };
                let value = self.expression(exception)?;
                let range = at.merge(value.range);
                Ok(Stmt { kind: StmtKind::Raise(value), range })
            }
            py::Stmt::Assert(statement) => {
                let at = self.at(statement, "assert".len());
                let condition = self.expression(&statement.test)?;
                let message =
                    statement.msg.as_deref().map(|msg| self.expression(msg)).transpose()?;
                let mut range = at.merge(condition.range);
                range = around(range, message.iter().map(|message| &message.range));
                Ok(Stmt { kind: StmtKind::Assert { condition, message }, range })
            }
            py::Stmt::Delete(statement) => {
                let at = self.at(statement, "del".len());
                let targets = self.expressions(&statement.targets)?;
                let range = around(at, targets.iter().map(|target| &target.range));
                Ok(Stmt { kind: StmtKind::Delete(targets), range })
            }
            py::Stmt::If(statement) => self.conditional(statement),
            py::Stmt::While(statement) => {
                let at = self.at(statement, "while".len());
                if !statement.orelse.is_empty() {
                    return Err(self.error(at, "else branches of while loops aren't supported"));
                }
                let condition = self.expression(&statement.test)?;
                let body = self.statements(&statement.body)?;
                let range = around(at.merge(condition.range), body.iter().map(|stmt| &stmt.range));
                Ok(Stmt { kind: StmtKind::While { condition, body }, range })
            }
            py::Stmt::For(statement) if statement.is_async => {
                self.unsupported(statement, "async for", "async for loops")
            }
            py::Stmt::For(statement) => {
                let at = self.at(statement, "for".len());
                if !statement.orelse.is_empty() {
                    return Err(self.error(at, "else branches of for loops aren't supported"));
                }
                let target = self.expression(&statement.target)?;
                let iterable = self.expression(&statement.iter)?;
                let body = self.statements(&statement.body)?;
                let range = at.merge(target.range).merge(iterable.range);
                let range = around(range, body.iter().map(|stmt| &stmt.range));
                let (targets, iterables) = (vec![target], vec![iterable]);
                Ok(Stmt { kind: StmtKind::For { targets, iterables, body }, range })
            }
            py::Stmt::With(statement) if statement.is_async => {
                self.unsupported(statement, "async with", "async with statements")
            }
            py::Stmt::With(statement) => self.with(statement),
            py::Stmt::Pass(statement) => {
                Ok(Stmt { kind: StmtKind::Pass, range: self.at(statement, 4) })
            }
            py::Stmt::Break(statement) => {
                Ok(Stmt { kind: StmtKind::Break, range: self.at(statement, 5) })
            }
            py::Stmt::Continue(statement) => {
                Ok(Stmt { kind: StmtKind::Continue, range: self.at(statement, 8) })
            }
            py::Stmt::FunctionDef(statement) => {
                let at = super::definitions::keyword(self.snippet, statement);
                let (width, what) = match statement.is_async {
                    true => ("async def".len(), "async function definitions"),
                    false => ("def".len(), "function definitions"),
                };
                let at = Range::new(at.start, at.start + width as u32);
                Err(self.error(at, format!("{what} aren't supported")))
            }
            py::Stmt::ClassDef(statement) => {
                self.unsupported(statement, "class", "class definitions")
            }
            py::Stmt::Import(statement) => {
                self.unsupported(statement, "import", "import statements")
            }
            py::Stmt::ImportFrom(statement) => {
                self.unsupported(statement, "from", "import statements")
            }
            py::Stmt::Global(statement) => {
                self.unsupported(statement, "global", "global variables")
            }
            py::Stmt::Nonlocal(statement) => {
                self.unsupported(statement, "nonlocal", "nonlocal variables")
            }
            py::Stmt::Try(statement) if statement.is_star => {
                self.unsupported(statement, "", "TryStar")
            }
            py::Stmt::Try(statement) => self.unsupported(statement, "try", "try blocks"),
            py::Stmt::Match(statement) => self.unsupported(statement, "", "Match"),
            py::Stmt::TypeAlias(statement) => self.unsupported(statement, "", "TypeAlias"),
            py::Stmt::IpyEscapeCommand(statement) => {
                self.unsupported(statement, "", "IPython commands")
            }
        }
    }

    fn annotated(&mut self, assign: &py::StmtAnnAssign) -> Result<Stmt, Error> {
        let Some(value) = &assign.value else {
            return self.unsupported(assign, "", "annotated assignments without assigned value");
        };
        if let py::Expr::Attribute(target) = &*assign.target
            && matches!(&*target.value, py::Expr::Name(base) if base.id == "self")
            && self.function != "__init__"
        {
            let mut length = "self.".len() + width(&target.attr);
            if let py::Expr::Name(annotation) = &*assign.annotation {
                length += ": ".len() + width(&annotation.id);
            }
            let message = format!(
                "Type annotations on instance attributes must be declared in __init__, not '{}'",
                self.function
            );
            return Err(self.error(self.at(assign, length), message));
        }
        let value = self.expression(value)?;
        let target = self.expression(&assign.target)?;
        let annotation = self.expression(&assign.annotation)?;
        Ok(assignment(vec![target], value, Some(annotation)))
    }

    fn augmented(&mut self, assign: &py::StmtAugAssign) -> Result<Stmt, Error> {
        let target = self.expression(&assign.target)?;
        let value = self.expression(&assign.value)?;
        let name = match assign.op {
            py::Operator::FloorDiv => Some("FloorDiv"),
            py::Operator::MatMult => Some("MatMult"),
            _ => None,
        };
        if let Some(name) = name {
            let before = self.snippet.source.text().get(..value.range.start as usize);
            let equals = before.and_then(|text| text.rfind('=')).unwrap_or(0) as u32;
            let at = Range::new(equals.saturating_sub(1), equals + 1);
            let message = format!("unsupported kind of augmented assignment: {name}");
            return Err(self.error(at, message));
        }
        let range = target.range.merge(value.range);
        let op = binary_op(assign.op);
        Ok(Stmt { kind: StmtKind::AugAssign { target, op, value }, range })
    }

    /// `elif` is an `if` within `else`; the chain is made from its end.
    fn conditional(&mut self, statement: &py::StmtIf) -> Result<Stmt, Error> {
        let clauses = &statement.elif_else_clauses;
        if clauses.len() as u32 + self.depth > sconce_syntax::MAX_DEPTH {
            return Err(self.error(self.at(statement, 2), "too deeply nested"));
        }
        // Emitted in order of the text, so that the first error is the first in it.
        let condition = self.expression(&statement.test)?;
        let then = self.statements(&statement.body)?;
        let mut branches = Vec::with_capacity(clauses.len());
        let mut otherwise = Vec::new();
        for clause in clauses {
            let test = clause.test.as_ref().map(|test| self.expression(test)).transpose()?;
            let body = self.statements(&clause.body)?;
            match test {
                Some(test) => branches.push((self.at(clause, 2), test, body)),
                None => otherwise = body,
            }
        }
        for (at, test, body) in branches.into_iter().rev() {
            otherwise = vec![if_statement(at, test, body, otherwise)];
        }
        Ok(if_statement(self.at(statement, 2), condition, then, otherwise))
    }

    fn with(&mut self, statement: &py::StmtWith) -> Result<Stmt, Error> {
        let at = self.at(statement, "with".len());
        if let Some(py::WithItem { context_expr: py::Expr::Call(call), .. }) =
            statement.items.first()
            && dotted(&call.func).as_deref() == Some("torch.jit._IgnoreContextManager")
        {
            return self.ignored_block(statement, call);
        }
        let mut items = Vec::with_capacity(statement.items.len());
        for item in &statement.items {
            let at = self.at(&item.context_expr, "with statements".len());
            let context = self.expression(&item.context_expr)?;
            let target = item.optional_vars.as_deref().map(|it| self.expression(it)).transpose()?;
            let range = around(at.merge(context.range), target.iter().map(|it| &it.range));
            items.push(WithItem { context, target, range });
        }
        let body = self.statements(&statement.body)?;
        let children = items.iter().map(|item| &item.range);
        let range = around(at, children.chain(body.iter().map(|stmt| &stmt.range)));
        Ok(Stmt { kind: StmtKind::With { items, body }, range })
    }
}

/// The assignments at the top of a class, those that TorchScript has.
pub(crate) fn assignments(snippet: &Snippet) -> Result<Vec<Stmt>, Error> {
    let parsed = crate::nesting::with_stack(|| ruff_python_parser::parse_module(&snippet.text));
    let Ok(parsed) = parsed else { return Ok(Vec::new()) };
    let suite = parsed.into_suite();
    let [py::Stmt::ClassDef(class)] = suite.as_slice() else { return Ok(Vec::new()) };
    let mut frontend = Frontend::new(snippet, "");
    let is_assignment =
        |stmt: &&py::Stmt| matches!(stmt, py::Stmt::Assign(_) | py::Stmt::AnnAssign(_));
    let assigned = class.body.iter().filter(is_assignment);
    // What TorchScript does not have is Python's own affair here.
    Ok(assigned.filter_map(|stmt| frontend.statement(stmt).ok()).collect())
}

fn assignment(targets: Vec<Expr>, value: Expr, annotation: Option<Expr>) -> Stmt {
    let children = targets.iter().chain(&annotation).map(|child| &child.range);
    let range = around(value.range, children);
    Stmt { kind: StmtKind::Assign { targets, value: Some(value), annotation }, range }
}

fn if_statement(at: Range, condition: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    let body = then.iter().chain(&otherwise).map(|stmt| &stmt.range);
    let range = around(at.merge(condition.range), body);
    Stmt { kind: StmtKind::If { condition, then, otherwise }, range }
}
