//! Statements.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_text_size::Ranged;

use super::control_flow::{Flow, Outcome, Stop, refuse};
use super::garbage_collection::Mark;
use super::value::{Cell, Code, DeclaredScope, Exception, Function, Value};
use super::{Attributes, Frame, Interpreter, Text};
use crate::loader::PyFunction;

impl Interpreter<'_> {
    /// Runs statements until one leads elsewhere.
    pub(super) fn run(&mut self, frame: &Frame, statements: &[py::Stmt]) -> Outcome<Flow> {
        for statement in statements {
            self.step()?;
            let flow = self.nested(|this| this.run_one(frame, statement));
            match flow.map_err(|stop| stop.or_at(|| frame.place(statement))) {
                Ok(Flow::Next) => {}
                Ok(other) => return Ok(other),
                Err(stop) => self.recovered(frame, statement, stop)?,
            }
        }
        Ok(Flow::Next)
    }

    /// Runs the statements of a function, and frees between them what has been made since the mark, which is
    /// where its call began.
    pub(super) fn run_body(
        &mut self,
        frame: &Frame,
        statements: &[py::Stmt],
        mark: &mut Mark,
    ) -> Outcome<Flow> {
        let scope = frame.scope.map(super::Value::Ref);
        for statement in statements.chunks(1) {
            match self.run(frame, statement)? {
                Flow::Next => self.collect(mark, scope.as_ref()),
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn run_one(&mut self, frame: &Frame, statement: &py::Stmt) -> Outcome<Flow> {
        match statement {
            py::Stmt::Expr(expression) => {
                self.evaluate(frame, &expression.value)?;
            }
            py::Stmt::Assign(assign) => {
                let value = self.evaluate(frame, &assign.value)?;
                for target in &assign.targets {
                    self.assign(frame, target, value.clone())?;
                }
            }
            py::Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    let value = self.evaluate(frame, value)?;
                    self.assign(frame, &assign.target, value)?;
                }
            }
            py::Stmt::AugAssign(assign) => self.run_aug_assign(frame, assign)?,
            py::Stmt::Return(statement) => {
                let value = match &statement.value {
                    Some(value) => self.evaluate(frame, value)?,
                    None => Value::None,
                };
                return Ok(Flow::Return(value));
            }
            py::Stmt::If(statement) => return self.run_if(frame, statement),
            py::Stmt::For(statement) => return self.run_for(frame, statement),
            py::Stmt::While(statement) => return self.run_while(frame, statement),
            py::Stmt::Break(_) => return Ok(Flow::Break),
            py::Stmt::Continue(_) => return Ok(Flow::Continue),
            py::Stmt::Pass(_) | py::Stmt::TypeAlias(_) => {}
            py::Stmt::Assert(statement) => self.run_assert(frame, statement)?,
            py::Stmt::Raise(statement) => return self.run_raise(frame, statement),
            py::Stmt::Try(statement) => return self.run_try(frame, statement),
            py::Stmt::With(statement) => return self.run_with(frame, statement),
            py::Stmt::Delete(statement) => {
                for target in &statement.targets {
                    self.delete(frame, target)?;
                }
            }
            py::Stmt::FunctionDef(def) => {
                let value = self.nested_function(frame, def)?;
                self.bind(frame, &def.name, value)?;
            }
            py::Stmt::ClassDef(def) => {
                let key = (Arc::clone(frame.module.key()), def.start().to_u32());
                let def = match self.texts.get(&key) {
                    Some(Text::Class(def)) => Arc::clone(def),
                    _ => {
                        let def = Arc::new(def.clone());
                        self.texts.insert(key, Text::Class(Arc::clone(&def)));
                        def
                    }
                };
                let value = self.define_class(frame, &def)?;
                self.bind(frame, &def.name, value)?;
            }
            py::Stmt::Import(import) if self.namespace(&frame.module).is_some() => {
                self.run_import(frame, import)?;
            }
            py::Stmt::ImportFrom(import) if self.namespace(&frame.module).is_some() => {
                self.run_import_from(frame, import)?;
            }
            py::Stmt::Import(import) => {
                for alias in &import.names {
                    let (name, of) = match &alias.asname {
                        Some(name) => (name.as_str(), alias.name.as_str()),
                        None => {
                            let top = alias.name.split('.').next().unwrap_or_default();
                            (top, top)
                        }
                    };
                    let object = self.loader.imported(of)?;
                    let value = self.object(object)?;
                    self.bind(frame, name, value)?;
                }
            }
            py::Stmt::ImportFrom(import) => {
                let from = frame.module.absolute(import.level, import.module.as_deref());
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    let base = self.loader.imported(&from)?;
                    let Some(object) = self.loader.member(&base, &alias.name)? else {
                        return self.raise(
                            "ImportError",
                            format!("cannot import name '{}' from '{from}'", alias.name),
                        );
                    };
                    let value = self.object(object)?;
                    self.bind(frame, name, value)?;
                }
            }
            py::Stmt::Global(statement) => {
                self.declare(frame, &statement.names, DeclaredScope::Global);
            }
            py::Stmt::Nonlocal(statement) => {
                self.declare(frame, &statement.names, DeclaredScope::Nonlocal);
            }
            py::Stmt::Match(statement) => return self.run_match(frame, statement),
            py::Stmt::IpyEscapeCommand(_) => return refuse("this is no Python"),
        }
        Ok(Flow::Next)
    }

    fn declare(&mut self, frame: &Frame, names: &[py::Identifier], outside: DeclaredScope) {
        if let Some(scope) = frame.scope.and_then(|id| self.arena.scope_mut(id)) {
            for name in names {
                scope.declared.insert(name.as_str().into(), outside);
            }
        }
    }

    /// A function that a function or class defines, decorated.
    pub(super) fn nested_function(
        &mut self,
        frame: &Frame,
        def: &py::StmtFunctionDef,
    ) -> Outcome<Value> {
        let key = (Arc::clone(frame.module.key()), def.start().to_u32());
        let known = match self.texts.get(&key) {
            Some(Text::Function(known)) => Arc::clone(known),
            _ => {
                let known = Arc::new(def.clone());
                self.texts.insert(key, Text::Function(Arc::clone(&known)));
                known
            }
        };
        let function = PyFunction { module: Arc::clone(&frame.module), def: known };
        self.define_function(frame, function)
    }

    /// A function with its defaults, decorated.
    pub(super) fn define_function(
        &mut self,
        frame: &Frame,
        function: PyFunction,
    ) -> Outcome<Value> {
        if function.def.is_async {
            return refuse("async functions are not supported in constructors");
        }
        let defaults = self.defaults(frame, &function.def.parameters)?;
        let is_generator = function.module.is_generator(&function.def);
        let def = Arc::clone(&function.def);
        let (scope, owner) = self.surroundings(frame);
        let mut value = self.new_cell(Cell::Function(Function {
            code: Code::Def(function),
            defaults,
            scope,
            owner,
            is_generator,
            attributes: Attributes::default(),
        }))?;
        for decorator in def.decorator_list.iter().rev() {
            value = self.decorated(frame, decorator, value)?;
        }
        Ok(value)
    }

    /// What a decorator makes of a function or class.
    pub(super) fn decorated(
        &mut self,
        frame: &Frame,
        decorator: &py::Decorator,
        value: Value,
    ) -> Outcome<Value> {
        // `@name.setter`
        if let py::Expr::Attribute(attribute) = &decorator.expression
            && matches!(&*attribute.attr, "setter" | "getter" | "deleter")
            && let Ok(base) = self.evaluate(frame, &attribute.value)
            && let Some(property) = self.arena.property(&base).cloned()
        {
            let mut property = property;
            match &*attribute.attr {
                "setter" => property.setter = Some(value),
                "getter" => property.getter = value,
                _ => {}
            }
            return self.new_cell(Cell::Property(property));
        }
        let function = self.evaluate(frame, &decorator.expression)?;
        self.call(&function, vec![value], Vec::new())
            .map_err(|stop| stop.or_at(|| frame.place(decorator)))
    }

    fn run_aug_assign(&mut self, frame: &Frame, assign: &py::StmtAugAssign) -> Outcome<()> {
        let right = |this: &mut Self| this.evaluate(frame, &assign.value);
        match &*assign.target {
            py::Expr::Attribute(target) => {
                let base = self.evaluate(frame, &target.value)?;
                let old = self.attribute(&base, &target.attr)?;
                let right = right(self)?;
                let new = self.binary_in_place(assign.op, &old, &right)?;
                self.set_attribute(&base, &target.attr, new)
            }
            py::Expr::Subscript(target) => {
                let base = self.evaluate(frame, &target.value)?;
                let index = self.evaluate(frame, &target.slice)?;
                let old = self.item(&base, &index)?;
                let right = right(self)?;
                let new = self.binary_in_place(assign.op, &old, &right)?;
                self.set_item(&base, &index, new)
            }
            target => {
                let old = self.evaluate(frame, target)?;
                let right = right(self)?;
                let new = self.binary_in_place(assign.op, &old, &right)?;
                self.assign(frame, target, new)
            }
        }
    }

    /// Assigns to a name, attribute, element or a pattern of them.
    pub(super) fn assign(&mut self, frame: &Frame, target: &py::Expr, value: Value) -> Outcome<()> {
        match target {
            py::Expr::Name(name) => self.bind(frame, &name.id, value),
            py::Expr::Attribute(attribute) => {
                let base = self.evaluate(frame, &attribute.value)?;
                self.set_attribute(&base, &attribute.attr, value)
                    .map_err(|stop| stop.or_at(|| frame.place(target)))
            }
            py::Expr::Subscript(subscript) => {
                let base = self.evaluate(frame, &subscript.value)?;
                let index = self.evaluate(frame, &subscript.slice)?;
                self.set_item(&base, &index, value)
            }
            py::Expr::Tuple(tuple) => self.assign_parts(frame, &tuple.elts, &value),
            py::Expr::List(list) => self.assign_parts(frame, &list.elts, &value),
            other => refuse("this cannot be assigned to")
                .map_err(|stop: Stop| stop.or_at(|| frame.place(other))),
        }
    }

    fn assign_parts(&mut self, frame: &Frame, targets: &[py::Expr], value: &Value) -> Outcome<()> {
        let items = self.iterate(value)?;
        let star = targets.iter().position(|target| matches!(target, py::Expr::Starred(_)));
        let Some(star) = star else {
            if items.len() != targets.len() {
                let message = match items.len() > targets.len() {
                    true => format!("too many values to unpack (expected {})", targets.len()),
                    false => format!(
                        "not enough values to unpack (expected {}, got {})",
                        targets.len(),
                        items.len()
                    ),
                };
                return self.raise("ValueError", message);
            }
            for (target, item) in targets.iter().zip(items) {
                self.nested(|this| this.assign(frame, target, item))?;
            }
            return Ok(());
        };
        let after = targets.len() - star - 1;
        if items.len() < star + after {
            let message = format!(
                "not enough values to unpack (expected at least {}, got {})",
                star + after,
                items.len()
            );
            return self.raise("ValueError", message);
        }
        let end = items.len() - after;
        for (at, target) in targets.iter().enumerate() {
            let value = match target {
                py::Expr::Starred(_) => {
                    self.new_list(items.get(star..end).unwrap_or_default().to_vec())?
                }
                _ if at < star => items.get(at).cloned().unwrap_or(Value::None),
                _ => items.get(end + at - star - 1).cloned().unwrap_or(Value::None),
            };
            let target = match target {
                py::Expr::Starred(starred) => &starred.value,
                other => other,
            };
            self.nested(|this| this.assign(frame, target, value))?;
        }
        Ok(())
    }

    fn delete(&mut self, frame: &Frame, target: &py::Expr) -> Outcome<()> {
        match target {
            py::Expr::Name(name) => self.unbind(frame, &name.id),
            py::Expr::Attribute(attribute) => {
                let base = self.evaluate(frame, &attribute.value)?;
                self.delete_attribute(&base, &attribute.attr)
            }
            py::Expr::Subscript(subscript) => {
                let base = self.evaluate(frame, &subscript.value)?;
                let index = self.evaluate(frame, &subscript.slice)?;
                self.delete_item(&base, &index)
            }
            _ => refuse("this cannot be deleted"),
        }
    }

    fn run_if(&mut self, frame: &Frame, statement: &py::StmtIf) -> Outcome<Flow> {
        let test = self.evaluate(frame, &statement.test)?;
        if self.truth(&test)? {
            return self.run(frame, &statement.body);
        }
        for clause in &statement.elif_else_clauses {
            let holds = match &clause.test {
                Some(test) => {
                    let value = self.evaluate(frame, test)?;
                    self.truth(&value)?
                }
                None => true,
            };
            if holds {
                return self.run(frame, &clause.body);
            }
        }
        Ok(Flow::Next)
    }

    fn run_for(&mut self, frame: &Frame, statement: &py::StmtFor) -> Outcome<Flow> {
        let items = self.evaluate(frame, &statement.iter)?;
        let items = self.iterate(&items)?;
        let mut mark = self.mark();
        for item in items {
            self.step()?;
            self.assign(frame, &statement.target, item)?;
            match self.run(frame, &statement.body)? {
                Flow::Next | Flow::Continue => self.collect(&mut mark, None),
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
        }
        self.run(frame, &statement.orelse)
    }

    fn run_while(&mut self, frame: &Frame, statement: &py::StmtWhile) -> Outcome<Flow> {
        let mut mark = self.mark();
        loop {
            self.step()?;
            let test = self.evaluate(frame, &statement.test)?;
            if !self.truth(&test)? {
                return self.run(frame, &statement.orelse);
            }
            match self.run(frame, &statement.body)? {
                Flow::Next | Flow::Continue => self.collect(&mut mark, None),
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
        }
    }

    fn run_assert(&mut self, frame: &Frame, statement: &py::StmtAssert) -> Outcome<()> {
        let test = self.evaluate(frame, &statement.test)?;
        if self.truth(&test)? {
            return Ok(());
        }
        let args = match &statement.msg {
            Some(message) => vec![self.evaluate(frame, message)?],
            None => Vec::new(),
        };
        let class = Value::library("builtins.AssertionError");
        let exception = self.new_cell(Cell::Exception(Exception { class, args }))?;
        Err(Stop::Raised(exception, None))
    }

    fn run_raise(&mut self, frame: &Frame, statement: &py::StmtRaise) -> Outcome<Flow> {
        let Some(value) = &statement.exc else {
            let handled = self.handled.last().cloned();
            return match handled {
                Some(exception) => Err(Stop::Raised(exception, None)),
                None => self.raise("RuntimeError", "No active exception to reraise"),
            };
        };
        let value = self.evaluate(frame, value)?;
        let exception = match self.is_class(&value) {
            true => self.call(&value, Vec::new(), Vec::new())?,
            false => value,
        };
        self.check_known(&exception)?;
        if !self.is_exception(&exception) {
            return self.type_error("exceptions must derive from BaseException");
        }
        Err(Stop::Raised(exception, Some(frame.place(statement))))
    }

    fn run_try(&mut self, frame: &Frame, statement: &py::StmtTry) -> Outcome<Flow> {
        let catches = Self::catches_imports(&statement.handlers);
        let body = self.guarded(catches, |this| this.run(frame, &statement.body));
        let mut result = match body {
            Ok(Flow::Next) => self.run(frame, &statement.orelse),
            Err(Stop::Raised(exception, place)) => {
                self.handle(frame, &statement.handlers, exception, place)
            }
            other => other,
        };
        if matches!(result, Err(Stop::Refused(_))) {
            return result;
        }
        match self.run(frame, &statement.finalbody)? {
            Flow::Next => {}
            other => result = Ok(other),
        }
        result
    }

    fn handle(
        &mut self,
        frame: &Frame,
        handlers: &[py::ExceptHandler],
        exception: Value,
        place: Option<sconce_syntax::SourceRange>,
    ) -> Outcome<Flow> {
        for handler in handlers {
            let py::ExceptHandler::ExceptHandler(handler) = handler;
            let fits = match &handler.type_ {
                Some(class) => {
                    let class = self.evaluate(frame, class)?;
                    self.is_instance(&exception, &class)?
                }
                None => true,
            };
            if !fits {
                continue;
            }
            if let Some(name) = &handler.name {
                self.bind(frame, name, exception.clone())?;
            }
            self.handled.push(exception);
            let result = self.run(frame, &handler.body);
            self.handled.pop();
            return result;
        }
        Err(Stop::Raised(exception, place))
    }

    /// `with`, for what changes nothing here (`torch.no_grad()`), and objects with `__enter__`.
    fn run_with(&mut self, frame: &Frame, statement: &py::StmtWith) -> Outcome<Flow> {
        let mut exits = Vec::new();
        for item in &statement.items {
            let manager = self.evaluate(frame, &item.context_expr)?;
            let is_inert =
                matches!(manager, Value::Library(_) | Value::None) || self.is_unknown(&manager);
            let entered = match is_inert {
                true => manager,
                false => {
                    let exit = self.attribute(&manager, "__exit__")?;
                    exits.push(exit);
                    let enter = self.attribute(&manager, "__enter__")?;
                    self.call(&enter, Vec::new(), Vec::new())?
                }
            };
            if let Some(target) = &item.optional_vars {
                self.assign(frame, target, entered)?;
            }
        }
        let result = self.run(frame, &statement.body);
        if matches!(result, Err(Stop::Refused(_))) {
            return result;
        }
        for exit in exits.into_iter().rev() {
            self.call(&exit, vec![Value::None, Value::None, Value::None], Vec::new())?;
        }
        result
    }
}
