//! Functions that functions return: what a call gives, where that can be seen without running it.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_python_ast::comparable::ComparableExpr;
use ruff_text_size::Ranged;
use sconce_compiler::Error;

use crate::frontend::dotted;
use crate::loader::{Module, ModuleLoader, Object, PyFunction};

/// How many names and calls lead from an expression to what it stands for.
const MAX_STEPS: usize = 64;

/// What is taken for the value of its argument.
const TRANSPARENT: &[&str] = &["torch.jit.script", "torch.jit.script_if_tracing"];

/// A function that was called.
#[derive(Debug, Clone)]
pub(crate) struct CalledFunction {
    /// The names inside it.
    inner: Arc<Module>,
    /// The expression that it returns.
    result: Arc<py::Expr>,
}

impl ModuleLoader {
    /// What an expression stands for: what its names lead to, what the functions that it calls
    /// return. [`Object::Value`] is an expression that leads no further.
    pub(crate) fn object(
        &mut self,
        module: &Arc<Module>,
        expression: &py::Expr,
    ) -> Result<Option<Object>, Error> {
        self.object_after(module, expression, 0)
    }

    fn object_after(
        &mut self,
        module: &Arc<Module>,
        expression: &py::Expr,
        steps: usize,
    ) -> Result<Option<Object>, Error> {
        if steps > MAX_STEPS {
            return Ok(None);
        }
        match expression {
            py::Expr::Name(_) | py::Expr::Attribute(_) => {
                let Some(name) = dotted(expression) else { return Ok(None) };
                match self.dotted(module, &name)? {
                    Some(Object::Value(module, value)) => {
                        self.object_after(&module, &value, steps + 1)
                    }
                    other => Ok(other),
                }
            }
            py::Expr::Call(call) => self.called(module, call, steps + 1),
            other => Ok(Some(Object::Value(Arc::clone(module), Arc::new(other.clone())))),
        }
    }

    /// What a call gives.
    fn called(
        &mut self,
        module: &Arc<Module>,
        call: &py::ExprCall,
        steps: usize,
    ) -> Result<Option<Object>, Error> {
        match self.object_after(module, &call.func, steps)? {
            Some(Object::Library(name)) if TRANSPARENT.contains(&name.as_str()) => {
                match call.arguments.args.first() {
                    Some(argument) => self.object_after(module, argument, steps),
                    None => Ok(None),
                }
            }
            Some(Object::Function(function)) if function.def.decorator_list.is_empty() => {
                let key: Arc<str> = format!("{}:{}", module.key(), call.start().to_u32()).into();
                let CalledFunction { inner, result } = match self.calls.get(&key) {
                    Some(known) => known.clone(),
                    None if !self.may_follow() => return Ok(None),
                    None => {
                        let Some(entered) = self.enter(module, call, &function, &key, steps)?
                        else {
                            return Ok(None);
                        };
                        self.calls.insert(key, entered.clone());
                        entered
                    }
                };
                self.object_after(&inner, &result, steps)
            }
            _ => Ok(None),
        }
    }

    /// The names inside a function that is called, and the expression that it returns.
    fn enter(
        &mut self,
        module: &Arc<Module>,
        call: &py::ExprCall,
        function: &PyFunction,
        key: &Arc<str>,
        steps: usize,
    ) -> Result<Option<CalledFunction>, Error> {
        let mut inner = Module::inside(&function.module, Arc::clone(key));
        let parameters = &function.def.parameters;
        let positional = parameters.posonlyargs.iter().chain(&parameters.args);
        for (at, parameter) in positional.chain(&parameters.kwonlyargs).enumerate() {
            let name = parameter.name();
            let keyword = call.arguments.find_keyword(name).map(|keyword| &keyword.value);
            let (scope, value) = match (call.arguments.args.get(at), keyword, &parameter.default) {
                (Some(value), _, _) | (None, Some(value), _) => (module, value),
                (None, None, Some(default)) => (&function.module, &**default),
                (None, None, None) => return Ok(None),
            };
            let known = self.object_after(scope, value, steps + 1)?;
            let value = || Object::Value(Arc::clone(scope), Arc::new(value.clone()));
            inner.give(name, known.unwrap_or_else(value));
        }
        let def = function.module.whole(&function.def);
        self.run(inner, &def.body, steps)
    }

    /// Goes through statements up to the one that returns, if conditions can be told.
    fn run(
        &mut self,
        mut inner: Module,
        statements: &[py::Stmt],
        steps: usize,
    ) -> Result<Option<CalledFunction>, Error> {
        let mut rest: Vec<&py::Stmt> = statements.iter().rev().collect();
        while let Some(statement) = rest.pop() {
            match statement {
                py::Stmt::Return(statement) => {
                    let Some(value) = &statement.value else { return Ok(None) };
                    let (inner, result) = (Arc::new(inner), Arc::new((**value).clone()));
                    return Ok(Some(CalledFunction { inner, result }));
                }
                py::Stmt::If(statement) => {
                    let scope = Arc::new(inner);
                    let branch = self.branch(&scope, statement, steps)?;
                    let (Some(branch), Ok(back)) = (branch, Arc::try_unwrap(scope)) else {
                        return Ok(None);
                    };
                    rest.extend(branch.iter().rev());
                    inner = back;
                }
                py::Stmt::For(_) | py::Stmt::While(_) | py::Stmt::Try(_) | py::Stmt::Match(_) => {
                    return Ok(None);
                }
                other => inner.bind_statement(other.clone()),
            }
        }
        Ok(None)
    }

    /// The statements that an `if` runs.
    fn branch<'s>(
        &mut self,
        scope: &Arc<Module>,
        statement: &'s py::StmtIf,
        steps: usize,
    ) -> Result<Option<&'s [py::Stmt]>, Error> {
        match self.truth(scope, &statement.test, steps)? {
            Some(true) => return Ok(Some(&statement.body)),
            Some(false) => {}
            None => return Ok(None),
        }
        for clause in &statement.elif_else_clauses {
            let holds = match &clause.test {
                Some(test) => self.truth(scope, test, steps)?,
                None => Some(true),
            };
            match holds {
                Some(true) => return Ok(Some(&clause.body)),
                Some(false) => {}
                None => return Ok(None),
            }
        }
        Ok(Some(&[]))
    }

    /// Whether a condition holds, where that is plain.
    fn truth(
        &mut self,
        scope: &Arc<Module>,
        test: &py::Expr,
        steps: usize,
    ) -> Result<Option<bool>, Error> {
        if steps > MAX_STEPS {
            return Ok(None);
        }
        match test {
            py::Expr::UnaryOp(unary) if unary.op == py::UnaryOp::Not => {
                Ok(self.truth(scope, &unary.operand, steps + 1)?.map(|holds| !holds))
            }
            py::Expr::Compare(compare) => {
                let ([op], [right]) = (&*compare.ops, &*compare.comparators) else {
                    return Ok(None);
                };
                let left = self.object_after(scope, &compare.left, steps + 1)?;
                let right = self.object_after(scope, right, steps + 1)?;
                let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
                let same = match (&left, &right) {
                    (Object::Value(_, left), Object::Value(_, right)) => {
                        if !left.is_literal_expr() || !right.is_literal_expr() {
                            return Ok(None);
                        }
                        ComparableExpr::from(&**left) == ComparableExpr::from(&**right)
                    }
                    // A function is no literal.
                    _ => false,
                };
                Ok(match op {
                    py::CmpOp::Is | py::CmpOp::Eq => Some(same),
                    py::CmpOp::IsNot | py::CmpOp::NotEq => Some(!same),
                    _ => None,
                })
            }
            other => Ok(match self.object_after(scope, other, steps + 1)? {
                Some(Object::Value(_, value)) => match &*value {
                    py::Expr::BooleanLiteral(literal) => Some(literal.value),
                    py::Expr::NoneLiteral(_) => Some(false),
                    py::Expr::StringLiteral(literal) => Some(!literal.value.is_empty()),
                    _ => None,
                },
                Some(Object::Function(_) | Object::Class(_)) => Some(true),
                _ => None,
            }),
        }
    }
}
