//! What names stand for: variables of functions, of files, and of every Python program.

use std::sync::Arc;

use ruff_text_size::Ranged;
use sconce_compiler::Global;
use sconce_ir::Constant;
use sconce_tensor::DType;

use super::control_flow::{Outcome, refuse};
use super::value::{DeclaredScope, Id, Value};
use super::{EXPRESSION, Frame, Interpreter, builtins, execution};
use crate::library;
use crate::loader::{Module, Object, PyFunction};

impl Interpreter<'_> {
    /// The value of a name.
    pub(super) fn name(&mut self, frame: &Frame, name: &str) -> Outcome<Value> {
        let mut at = frame.scope;
        while let Some(scope) = at.and_then(|id| self.arena.scope(&Value::Ref(id))) {
            if let Some(value) = scope.variables.get(name) {
                return Ok(value.clone());
            }
            at = scope.parent;
        }
        match self.global(&frame.module, name)? {
            Some(value) => Ok(value),
            None => self.raise("NameError", format!("name '{name}' is not defined")),
        }
    }

    /// The value of a name at the top of a file, or in every program.
    pub(super) fn global(&mut self, module: &Arc<Module>, name: &str) -> Outcome<Option<Value>> {
        let module = match &self.entry {
            Some(entry) if &*module.name == EXPRESSION => &Arc::clone(entry),
            _ => module,
        };
        if self.namespace(module).is_some() {
            return match self.namespace_value(module, name) {
                Some(known) => Ok(Some(known)),
                None => self.builtin_name(name),
            };
        }
        let key = (Arc::clone(&module.name), Arc::from(name));
        if let Some(known) = self.globals.get(&key) {
            return Ok(Some(known.clone()));
        }
        if let Some(builtin) = builtins::named(name)
            && !module.binds(name)
        {
            return Ok(Some(Value::library(builtin)));
        }
        match name {
            "__name__" => return Ok(Some(Value::Str(Arc::clone(&module.name)))),
            "NotImplemented" => return Ok(Some(Value::NotImplemented)),
            "__import__" => return Ok(Some(Value::library("builtins.__import__"))),
            "__debug__" => return Ok(Some(Value::Bool(true))),
            "__file__" => return Ok(Some(Value::str("<file>"))),
            _ => {}
        }
        match self.loader.lookup(module, name)? {
            Some(object) => self.object(object).map(Some),
            None => self.bound_by_statements(module, name),
        }
    }

    /// A name that every file that runs knows.
    fn builtin_name(&mut self, name: &str) -> Outcome<Option<Value>> {
        // Exceptions by their older names.
        let name = match name {
            "IOError" | "EnvironmentError" => "OSError",
            other => other,
        };
        if let Some(builtin) = builtins::named(name) {
            return Ok(Some(Value::library(builtin)));
        }
        if name == "NotImplemented" {
            return Ok(Some(Value::NotImplemented));
        }
        let full = format!("builtins.{name}");
        let is_known = library::free(name).is_some_and(|found| found.starts_with("builtins."));
        match is_known || execution::is_builtin(name) {
            true => self.library_value(&full).map(Some),
            false => Ok(None),
        }
    }

    /// A name that no plain assignment binds: `width, height = 3, 4`, or one in a loop.
    fn bound_by_statements(&mut self, module: &Arc<Module>, name: &str) -> Outcome<Option<Value>> {
        let frame = Frame { module: Arc::clone(module), scope: None };
        self.run_changes(&frame, name)?;
        Ok(self.globals.get(&(Arc::clone(&module.name), name.into())).cloned())
    }

    /// What the statements after a binding have made of its value.
    fn changed(
        &mut self,
        frame: &Frame,
        expression: &Arc<ruff_python_ast::Expr>,
        value: Value,
    ) -> Outcome<Value> {
        let names = frame.module.names_of(expression);
        let key = |name: &Arc<str>| (Arc::clone(&frame.module.name), Arc::clone(name));
        for name in &names {
            if !frame.module.changes(name).is_empty() {
                self.globals.insert(key(name), value.clone());
                self.run_changes(frame, name)?;
            }
        }
        let changed = names.first().and_then(|name| self.globals.get(&key(name)));
        Ok(changed.cloned().unwrap_or(value))
    }

    /// Runs what changes a name, each statement once.
    fn run_changes(&mut self, frame: &Frame, name: &str) -> Outcome<()> {
        for statement in frame.module.changes(name).to_vec() {
            let place: Arc<str> = format!("statement {}", statement.start().to_u32()).into();
            if self.open.insert((Arc::clone(&frame.module.name), place)) {
                self.run(frame, std::slice::from_ref(&*statement))?;
            }
        }
        Ok(())
    }

    /// PyTorch's functions that fill tensors, as they are written for constructors.
    fn initialiser(&mut self, object: Object) -> Outcome<Object> {
        const INITIALISERS: &str = "torch.nn.init";
        let name = match &object {
            Object::Module(module) if &*module.name == INITIALISERS => None,
            Object::Function(function) if &*function.module.name == INITIALISERS => {
                Some(function.name().to_owned())
            }
            _ => return Ok(object),
        };
        let Some(module) = self.loader.bundled_source(INITIALISERS)? else { return Ok(object) };
        let Some(name) = name else { return Ok(Object::Module(module)) };
        let def = module.own_function(&name).cloned();
        Ok(def.map_or(object, |def| Object::Function(PyFunction { module, def })))
    }

    /// What the loader knows as a value.
    pub(super) fn object(&mut self, object: Object) -> Outcome<Value> {
        match self.initialiser(object)? {
            Object::Module(module) => Ok(Value::Namespace(module)),
            Object::Function(function) => self.file_function(&function),
            Object::Class(class) => self.file_class(&class),
            Object::Value(module, expression) => {
                let place: Arc<str> = expression.start().to_u32().to_string().into();
                let key = (Arc::clone(&module.name), place);
                if let Some(known) = self.globals.get(&key) {
                    return Ok(known.clone());
                }
                if !self.open.insert(key.clone()) {
                    return refuse("the value of this name depends on itself");
                }
                let frame = Frame { module: Arc::clone(&module), scope: None };
                let value = self.evaluate(&frame, &expression);
                self.open.remove(&key);
                let value = value?;
                self.globals.insert(key.clone(), value.clone());
                let value = self.changed(&frame, &expression, value)?;
                self.globals.insert(key, value.clone());
                Ok(value)
            }
            Object::Library(name) => self.library_value(&name),
            Object::Opaque(what) => refuse(format!("a value of type '{what}' is not known here")),
        }
    }

    /// A member of a library as a value: its number where it is one.
    pub(super) fn library_value(&mut self, name: &str) -> Outcome<Value> {
        if let Some(member) = name.strip_prefix("torch.")
            && let Some(dtype) = DType::from_name(member)
        {
            return Ok(Value::DType(dtype));
        }
        // The compiler has operators for these; in Python they give tuples.
        const SIZES: &[&str] = &["_single", "_pair", "_triple", "_quadruple", "_list_with_default"];
        if let Some((package, member)) = name.rsplit_once('.')
            && package.starts_with("torch.nn.")
            && SIZES.contains(&member)
            && let Some(object) = self.loader.defined("torch.nn.modules.utils", member)?
        {
            return self.object(object);
        }
        if let Some(value) = self.machine_value(name)? {
            return Ok(value);
        }
        Ok(match library::global(name) {
            Some(Global::Constant(Constant::Int(value))) => Value::Int(value),
            Some(Global::Constant(Constant::Float(value))) => Value::Float(value),
            Some(Global::Constant(Constant::Bool(value))) => Value::Bool(value),
            _ => match name {
                "torch.__version__" => Value::Str(library::torch_version()),
                "numpy.pi" => Value::Float(std::f64::consts::PI),
                "numpy.inf" => Value::Float(f64::INFINITY),
                "sys.version_info" => {
                    let parts = [3, 12, 0].into_iter().map(Value::Int).collect();
                    self.new_tuple(parts)?
                }
                "typing.TYPE_CHECKING" => Value::Bool(false),
                _ if self.execution.is_some()
                    && library::kind(name) == library::NameKind::Value
                    && !name.ends_with("()") =>
                {
                    self.new_unknown(name, None, library::NameKind::Value, false)?
                }
                _ => Value::library(name),
            },
        })
    }

    /// Binds a name where code runs.
    pub(super) fn bind(&mut self, frame: &Frame, name: &str, value: Value) -> Outcome<()> {
        let Some(scope) = frame.scope else {
            return self.set_global(&frame.module, name, value);
        };
        let mut at = Some(scope);
        if let Some(outside) = self.declared(scope, name) {
            at = match outside {
                DeclaredScope::Global => None,
                DeclaredScope::Nonlocal => self.holder(self.parent(scope), name),
            };
        }
        let Some(at) = at else {
            return self.set_global(&frame.module, name, value);
        };
        self.spend(size_of::<Value>())?;
        if let Some(scope) = self.arena.scope_mut(at) {
            scope.variables.insert(name.into(), value);
        }
        Ok(())
    }

    /// `del name`
    pub(super) fn unbind(&mut self, frame: &Frame, name: &str) -> Outcome<()> {
        let removed = match frame.scope.and_then(|id| self.arena.scope_mut(id)) {
            Some(scope) => scope.variables.remove(name),
            None => self.remove_global(&frame.module, name),
        };
        match removed {
            Some(_) => Ok(()),
            None => self.raise("NameError", format!("name '{name}' is not defined")),
        }
    }

    fn declared(&self, scope: Id, name: &str) -> Option<DeclaredScope> {
        self.arena.scope(&Value::Ref(scope))?.declared.get(name).copied()
    }

    pub(super) fn parent(&self, scope: Id) -> Option<Id> {
        self.arena.scope(&Value::Ref(scope))?.parent
    }

    /// The innermost scope from here outwards that has a name.
    fn holder(&self, mut at: Option<Id>, name: &str) -> Option<Id> {
        while let Some(id) = at {
            let scope = self.arena.scope(&Value::Ref(id))?;
            if scope.variables.contains_key(name) {
                return Some(id);
            }
            at = scope.parent;
        }
        None
    }

    /// The scope of the function that runs, past comprehensions.
    pub(super) fn function_scope(&self, frame: &Frame) -> Option<Id> {
        let mut at = frame.scope;
        while let Some(id) = at {
            let scope = self.arena.scope(&Value::Ref(id))?;
            if !scope.is_comprehension {
                return Some(id);
            }
            at = scope.parent;
        }
        None
    }
}
