//! Calls of functions, classes and what else can be called.

use std::sync::Arc;

use ruff_python_ast as py;

use super::arguments::Keywords;
use super::control_flow::{Flow, Outcome, refuse};
use super::value::{Cell, Code, Id, Scope, Value};
use super::{Frame, Interpreter, MAX_CALLS};
use crate::loader::PyFunction;

/// How many bytes a call's variables take, each.
const VARIABLE: usize = 2 * size_of::<Value>();

impl Interpreter<'_> {
    pub(super) fn evaluate_call(&mut self, frame: &Frame, call: &py::ExprCall) -> Outcome<Value> {
        if let py::Expr::Name(name) = &*call.func
            && name.id == "super"
            && call.arguments.is_empty()
        {
            return self.plain_super(frame);
        }
        let callee = self.evaluate(frame, &call.func)?;
        if call.arguments.is_empty()
            && let Some(names) = self.own_variables(frame, &callee)?
        {
            return Ok(names);
        }
        let (args, keywords) = self.evaluate_arguments(frame, &call.arguments)?;
        self.call(&callee, args, keywords)
    }

    /// `globals()`, `locals()`, `vars()` and `dir()` without arguments, of a file that runs.
    fn own_variables(&mut self, frame: &Frame, callee: &Value) -> Outcome<Option<Value>> {
        let Value::Library(name) = callee else { return Ok(None) };
        let Some(names) = self.namespace(&frame.module) else { return Ok(None) };
        match (&**name, frame.scope) {
            ("builtins.globals", _) | ("builtins.locals" | "builtins.vars", None) => {
                Ok(Some(Value::Ref(names)))
            }
            ("builtins.dir", None) => {
                let mut names = self.names_of_file(&frame.module);
                names.sort();
                self.new_list(names.into_iter().map(Value::Str).collect()).map(Some)
            }
            ("builtins.locals" | "builtins.vars", Some(_)) => {
                let scope = self.function_scope(frame);
                let scope = scope.and_then(|id| self.arena.scope(&Value::Ref(id)));
                let mut variables: Vec<(Arc<str>, Value)> = scope
                    .map(|scope| scope.variables.iter())
                    .into_iter()
                    .flatten()
                    .map(|(name, value)| (Arc::clone(name), value.clone()))
                    .collect();
                variables.sort_by(|one, other| one.0.cmp(&other.0));
                self.dict_of(variables).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `super()` without arguments, in a method.
    fn plain_super(&mut self, frame: &Frame) -> Outcome<Value> {
        let mut at = frame.scope;
        while let Some(scope) = at.and_then(|id| self.arena.scope(&Value::Ref(id))) {
            if let (Some(owner), Some(receiver)) = (scope.owner, &scope.receiver) {
                let receiver = receiver.clone();
                return self.new_cell(Cell::Super(owner, receiver));
            }
            at = scope.parent;
        }
        self.raise("RuntimeError", "super(): no arguments")
    }

    /// Calls whatever it is.
    pub(super) fn call(
        &mut self,
        callee: &Value,
        mut args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        self.step()?;
        let Value::Ref(id) = callee else {
            return match callee {
                Value::Library(name) => self.call_library(&Arc::clone(name), args, keywords),
                other => {
                    let message = format!("'{}' object is not callable", self.type_name(other));
                    self.type_error(message)
                }
            };
        };
        match self.arena.get(*id) {
            Cell::Function(_) => self.call_function(*id, args, keywords),
            Cell::Method(receiver, function) => {
                let (receiver, function) = (receiver.clone(), function.clone());
                args.insert(0, receiver);
                self.nested(|this| this.call(&function, args, keywords))
            }
            Cell::BuiltinMethod(receiver, name) => {
                let (receiver, name) = (receiver.clone(), Arc::clone(name));
                self.call_builtin_method(&receiver, &name, args, keywords)
            }
            Cell::Class(class) => match class.metaclass {
                Some(metaclass) if self.member(metaclass, "__call__").is_some() => {
                    let maker = self.metaclass_method(callee, "__call__")?.unwrap_or(Value::None);
                    self.nested(|this| this.call(&maker, args, keywords))
                }
                _ => self.instantiate(*id, args, keywords),
            },
            Cell::Unknown(unknown) => {
                let unknown = unknown.clone();
                self.call_unknown(&unknown, &args, &keywords)
            }
            Cell::Partial(partial) => {
                let partial = partial.clone();
                let mut all = partial.args;
                all.append(&mut args);
                let mut named = partial.keywords;
                for (name, value) in keywords {
                    match named.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => *known = value,
                        None => named.push((name, value)),
                    }
                }
                self.nested(|this| this.call(&partial.function, all, named))
            }
            Cell::StaticMethod(function) => {
                let function = function.clone();
                self.nested(|this| this.call(&function, args, keywords))
            }
            Cell::Instance(instance) => {
                let class = instance.class;
                match self.member(class, "__call__") {
                    Some(function) => {
                        args.insert(0, callee.clone());
                        self.nested(|this| this.call(&function, args, keywords))
                    }
                    None => {
                        let message =
                            format!("'{}' object is not callable", self.type_name(callee));
                        self.type_error(message)
                    }
                }
            }
            _ => {
                let message = format!("'{}' object is not callable", self.type_name(callee));
                self.type_error(message)
            }
        }
    }

    /// Calls a method of a value by its name.
    pub(super) fn call_method(
        &mut self,
        value: &Value,
        name: &str,
        args: Vec<Value>,
    ) -> Outcome<Value> {
        let method = self.attribute(value, name)?;
        self.call(&method, args, Vec::new())
    }

    fn call_function(&mut self, id: Id, args: Vec<Value>, keywords: Keywords) -> Outcome<Value> {
        let Some(function) = self.arena.function_mut(id) else { return refuse("no function") };
        let (code, defaults) = (function.code.clone(), function.defaults.clone());
        let (parent, owner, is_generator) = (function.scope, function.owner, function.is_generator);
        if self.calls >= MAX_CALLS {
            return refuse("RecursionError: the constructors' calls nest too deeply");
        }
        let mut mark = self.mark();
        let mut whole = self.mark();
        let receiver = args.first().cloned();
        let empty = py::Parameters::default();
        let (module, name, parameters) = match &code {
            Code::Def(PyFunction { module, def }) => (module, def.name.as_str(), &*def.parameters),
            Code::Lambda(module, lambda) => {
                (module, "<lambda>", lambda.parameters.as_deref().unwrap_or(&empty))
            }
        };
        let variables = self.bound_arguments(name, parameters, &defaults, args, keywords)?;
        self.spend(variables.len() * VARIABLE)?;
        let scope = self.new_scope(Scope {
            variables,
            parent,
            owner,
            receiver: owner.and(receiver),
            ..Scope::default()
        })?;
        let frame = Frame { module: Arc::clone(module), scope: Some(scope) };
        self.calls += 1;
        let result = self.nested(|this| match &code {
            Code::Def(function) => {
                let def = function.module.whole(&function.def);
                match this.run_body(&frame, &def.body, &mut mark)? {
                    Flow::Return(value) => Ok(value),
                    _ => Ok(Value::None),
                }
            }
            Code::Lambda(_, lambda) => this.evaluate(&frame, &lambda.body),
        });
        self.calls -= 1;
        let is_of_library = module.name.starts_with("torch.");
        let value =
            result.map_err(|stop| if is_of_library { stop.without_place() } else { stop })?;
        if !is_generator {
            self.collect(&mut whole, Some(&value));
            return Ok(value);
        }
        let yielded = match self.arena.scope_mut(scope) {
            Some(scope) => std::mem::take(&mut scope.yielded),
            None => Vec::new(),
        };
        self.new_iterator(yielded)
    }
}
