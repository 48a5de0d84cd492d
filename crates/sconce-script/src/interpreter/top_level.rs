//! What names at the top of files are bound to by code that has to run: `fft, _ = optional_import("torch.fft")`,
//! a function that a decorator of a file gives back.

use std::sync::Arc;

use ruff_python_ast as py;
use sconce_compiler::Error;

use super::control_flow::Outcome;
use super::to_objects::free_names;
use super::value::{Cell, Code, Value};
use super::{Frame, Interpreter};
use crate::library::{self, NameKind};
use crate::limits::ScriptLimits;
use crate::loader::{Module, ModuleLoader, Object, PyFunction};

/// How many statements and expressions one name may take. What is asked for here are imports, flags and
/// decorators; constructors of networks have the user's limits.
const MAX_STEPS: u64 = 1 << 20;

/// How many functions deep the variables are looked at that a function sees: it may see itself.
const MAX_SEEN: usize = 8;

/// A value that a program may see.
#[derive(Debug, Clone)]
pub(crate) enum TopLevel {
    /// A file, function, class, or member of a library.
    Object(Object),
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Str(Arc<str>),
    Tuple(Vec<TopLevel>),
    List(Vec<TopLevel>),
}

/// What a name at the top of a file is, after the statements that bind it have run; `None` for what programs
/// cannot see.
pub(crate) fn name_at_top(
    loader: &mut ModuleLoader,
    module: &Arc<Module>,
    name: &str,
) -> Result<Option<TopLevel>, Error> {
    run(loader, |interpreter| {
        let value = interpreter.global(module, name)?;
        Ok(value.and_then(|value| interpreter.top_level(&value, 0)))
    })
}

/// What an expression at the top of a file gives.
pub(crate) fn expression_at_top(
    loader: &mut ModuleLoader,
    module: &Arc<Module>,
    expression: &py::Expr,
) -> Result<Option<TopLevel>, Error> {
    run(loader, |interpreter| {
        let frame = Frame { module: Arc::clone(module), scope: None };
        let value = interpreter.evaluate(&frame, expression)?;
        Ok(interpreter.top_level(&value, 0))
    })
}

/// Whether a condition at the top of a file holds; `None` where it cannot be told.
pub(crate) fn condition_at_top(
    loader: &mut ModuleLoader,
    module: &Arc<Module>,
    test: &py::Expr,
) -> Option<bool> {
    run(loader, |interpreter| {
        let frame = Frame { module: Arc::clone(module), scope: None };
        let value = interpreter.evaluate(&frame, test)?;
        interpreter.truth(&value)
    })
    .ok()
}

/// What decorators have made of a function.
pub(crate) fn decorated_at_top(
    loader: &mut ModuleLoader,
    function: &PyFunction,
) -> Result<Option<TopLevel>, Error> {
    run(loader, |interpreter| {
        let value = interpreter.file_function(function)?;
        Ok(interpreter.top_level(&value, 0))
    })
}

fn run<T>(
    loader: &mut ModuleLoader,
    work: impl FnOnce(&mut Interpreter<'_>) -> Outcome<T>,
) -> Result<T, Error> {
    let default = ScriptLimits::default();
    let limits = ScriptLimits { steps: default.steps.min(MAX_STEPS), ..default };
    let mut interpreter = Interpreter::new(loader, &limits);
    work(&mut interpreter).map_err(|stop| interpreter.uncaught(stop))
}

impl Interpreter<'_> {
    /// `importlib.import_module(name)`, of a file along the path or of a library that is known here.
    pub(super) fn module_on_path(&mut self, name: &str) -> Outcome<Value> {
        if let Some(module) = self.loader.module(name)? {
            return Ok(Value::Namespace(module));
        }
        if self.loader.is_installed(name)
            && (library::is_module(name) || library::kind(name) == NameKind::Module)
        {
            return Ok(Value::library(name));
        }
        self.raise("ModuleNotFoundError", format!("No module named '{name}'"))
    }

    /// A function as programs see it: the text of the innermost that it says it wraps, among its own names.
    pub(super) fn seen_function(&self, value: &Value, depth: usize) -> Option<PyFunction> {
        let function = self.arena.function(value)?;
        let Code::Def(own) = &function.code else { return None };
        let text = self.unwrapped(value)?;
        if function.scope.is_none() && text.key() == own.key() {
            return Some(own.clone());
        }
        let mut given = Vec::new();
        for name in free_names(&own.module.whole(&own.def)) {
            let mut at = function.scope;
            while let Some(around) = at.and_then(|id| self.arena.scope(&Value::Ref(id))) {
                if let Some(value) = around.variables.get(&*name) {
                    given.push((name, self.seen_value(value, depth)));
                    break;
                }
                at = around.parent;
            }
        }
        // Functions of one text are different where they see different values.
        let mut key = format!("{}:{}", text.module.key(), own.key().1);
        for (name, object) in &given {
            let what = match object {
                Object::Function(PyFunction { module, def }) => {
                    format!("{}:{}", module.key(), def.range.start().to_u32())
                }
                Object::Class(class) => format!("{}:{}", class.key().0, class.key().1),
                Object::Module(module) => module.key().to_string(),
                Object::Library(name) => name.clone(),
                Object::Opaque(what) => what.to_string(),
                Object::Value(..) => String::new(),
            };
            key = format!("{key} {name}={what}");
        }
        let mut seen = text.module.seen_from(&own.module, key.into());
        for (name, object) in given {
            seen.give(&name, object);
        }
        Some(PyFunction { module: Arc::new(seen), def: text.def })
    }

    /// A variable of a function as a function in it sees it.
    fn seen_value(&self, value: &Value, depth: usize) -> Object {
        let seen = if depth < MAX_SEEN { self.top_level(value, depth + 1) } else { None };
        match seen {
            Some(TopLevel::Object(Object::Function(function))) => {
                Object::Function(function.undecorated())
            }
            Some(TopLevel::Object(object)) => object,
            _ => Object::Opaque(self.type_name(value)),
        }
    }

    /// The function at the end of what a function says it wraps: `inspect.unwrap`.
    fn unwrapped(&self, value: &Value) -> Option<PyFunction> {
        let mut at = value;
        for _ in 0..super::MAX_NESTED {
            let function = self.arena.function(at)?;
            match function.attributes.get("__wrapped__") {
                Some(wrapped) => at = wrapped,
                None => match &function.code {
                    Code::Def(own) => return Some(own.clone()),
                    Code::Lambda(..) => return None,
                },
            }
        }
        None
    }

    fn top_level(&self, value: &Value, depth: usize) -> Option<TopLevel> {
        if depth > super::MAX_NESTED {
            return None;
        }
        let all = |items: &[Value]| -> Option<Vec<TopLevel>> {
            items.iter().map(|item| self.top_level(item, depth + 1)).collect()
        };
        Some(match value {
            Value::None => TopLevel::None,
            Value::Bool(value) => TopLevel::Bool(*value),
            Value::Int(value) => TopLevel::Int(*value),
            Value::Float(value) => TopLevel::Float(*value),
            Value::Complex(re, im) => TopLevel::Complex(*re, *im),
            Value::Str(text) => TopLevel::Str(Arc::clone(text)),
            Value::Namespace(module) => TopLevel::Object(Object::Module(Arc::clone(module))),
            Value::Library(name) => TopLevel::Object(Object::Library(name.to_string())),
            Value::Ref(_) => match self.arena.cell(value)? {
                Cell::Class(class) => TopLevel::Object(Object::Class(class.source.clone())),
                Cell::Function(_) => {
                    TopLevel::Object(Object::Function(self.seen_function(value, depth)?))
                }
                Cell::StaticMethod(function) | Cell::ClassMethod(function) => {
                    return self.top_level(function, depth + 1);
                }
                Cell::Property(property) => return self.top_level(&property.getter, depth + 1),
                Cell::Tuple(tuple) if tuple.class.is_none() => TopLevel::Tuple(all(&tuple.items)?),
                Cell::List(items) => TopLevel::List(all(items)?),
                _ => return None,
            },
            _ => return None,
        })
    }
}
