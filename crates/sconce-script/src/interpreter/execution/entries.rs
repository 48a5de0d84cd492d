//! What a `hubconf.py` offers: its callables, their documentation, what it depends on.

use std::path::Path;
use std::sync::Arc;

use sconce_compiler::Error;

use super::super::control_flow::Outcome;
use super::super::value::{Cell, Code, Value};
use super::{Hubconf, Interpreter};
use crate::library::{self, NameKind};
use crate::loader::{self, Module};

/// How deep partial functions and methods are looked into.
const MAX_DEPTH: usize = 64;

/// A callable of a `hubconf.py`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) name: String,
    /// Whether it is defined in the repository.
    pub(crate) is_own: bool,
    /// Whether it could not be followed, and is taken for callable by what it looks like.
    pub(crate) is_guessed: bool,
}

/// Whether something can be called, and whether that is only likely.
#[derive(Debug, Clone, Copy)]
struct Callability {
    is_callable: bool,
    is_guessed: bool,
}

impl Hubconf<'_> {
    /// What `torch.hub.list` gives.
    pub(crate) fn entries(&mut self) -> Result<Vec<Found>, Error> {
        let module = Arc::clone(&self.module);
        self.interpreter.callables(&module).map_err(|stop| self.interpreter.uncaught(stop))
    }

    /// The file.
    pub(crate) fn file(&self) -> Arc<Module> {
        Arc::clone(&self.module)
    }

    /// The docstring of an entry, and its signature where that is known.
    pub(crate) fn help(&mut self, name: &str) -> Result<(Option<String>, Option<String>), Error> {
        let module = Arc::clone(&self.module);
        let this = &mut self.interpreter;
        let found = this.entry(&module, &Value::str(name)).and_then(|entry| {
            this.check_known(&entry)?;
            Ok((this.documentation(&entry)?, this.signature(&entry)?))
        });
        found.map_err(|stop| self.interpreter.uncaught(stop))
    }

    /// The dependencies that are neither of the standard library, nor torch, nor in the folders.
    pub(crate) fn missing_dependencies(&mut self) -> Result<Vec<String>, Error> {
        let module = Arc::clone(&self.module);
        let missing = self.interpreter.missing_dependencies(&module);
        missing.map_err(|stop| self.interpreter.uncaught(stop))
    }
}

impl Interpreter<'_> {
    fn callables(&mut self, module: &Arc<Module>) -> Outcome<Vec<Found>> {
        let mut names: Vec<Arc<str>> = match self.namespace_value(module, "__dir__") {
            Some(function) => {
                let listed = self.call(&function, Vec::new(), Vec::new())?;
                let mut names = Vec::new();
                for name in self.iterate(&listed)? {
                    names.push(self.string(&name)?);
                }
                names
            }
            None => self.names_of_file(module),
        };
        names.sort();
        let mut entries = Vec::new();
        for name in names {
            let Some(value) = self.attribute_of_file(module, &name)? else {
                let message = format!("module '{}' has no attribute '{name}'", module.name);
                return self.raise("AttributeError", message);
            };
            let callability = self.callability(&value);
            if callability.is_callable && !name.starts_with('_') {
                let is_own = self.is_of_repository(&value, 0);
                let is_guessed = callability.is_guessed;
                entries.push(Found { name: name.to_string(), is_own, is_guessed });
            }
        }
        Ok(entries)
    }

    /// `callable(value)`, for whatever there may be.
    pub(in super::super) fn is_callable_at_all(&self, value: &Value) -> bool {
        self.callability(value).is_callable
    }

    fn callability(&self, value: &Value) -> Callability {
        let sure = |is_callable| Callability { is_callable, is_guessed: false };
        match value {
            Value::Library(name) => Callability {
                is_callable: library::kind(name) == NameKind::Callable,
                is_guessed: !library::is_standard(name) && !name.starts_with("torch."),
            },
            other => match self.arena.cell(other) {
                Some(Cell::Unknown(unknown)) => Callability {
                    is_callable: unknown.kind == NameKind::Callable,
                    is_guessed: true,
                },
                Some(Cell::StaticMethod(_) | Cell::Saved(_) | Cell::Archive(_)) => sure(true),
                _ => sure(self.is_callable(other)),
            },
        }
    }

    /// Whether a value is made in the repository.
    fn is_of_repository(&self, value: &Value, depth: usize) -> bool {
        let Some(execution) = &self.execution else { return false };
        let is_own = |module: &Module| {
            Path::new(&**module.filename()).starts_with(&execution.repository.folder)
        };
        match self.arena.cell(value) {
            Some(Cell::Function(function)) => match &function.code {
                Code::Def(function) => is_own(&function.module),
                Code::Lambda(module, _) => is_own(module),
            },
            Some(Cell::Class(class)) => is_own(&class.source.module),
            Some(Cell::Method(_, function) | Cell::StaticMethod(function)) if depth < MAX_DEPTH => {
                self.is_of_repository(function, depth + 1)
            }
            Some(Cell::Instance(instance)) => self
                .arena
                .class(&Value::Ref(instance.class))
                .is_some_and(|class| is_own(&class.source.module)),
            Some(Cell::BuiltinMethod(..)) => false,
            // Made by a statement that could not be followed.
            Some(Cell::Unknown(unknown)) => unknown.what.starts_with('\''),
            Some(_) => true,
            None => false,
        }
    }

    fn missing_dependencies(&mut self, module: &Arc<Module>) -> Outcome<Vec<String>> {
        let Some(dependencies) = self.namespace_value(module, "dependencies") else {
            return Ok(Vec::new());
        };
        if matches!(dependencies, Value::None) {
            return Ok(Vec::new());
        }
        self.check_known(&dependencies)?;
        let mut missing = Vec::new();
        for name in self.iterate(&dependencies)? {
            let name = self.string(&name)?;
            if !self.is_there(&name)? {
                missing.push(name.to_string());
            }
        }
        Ok(missing)
    }

    /// Whether a module is there without looking at what is installed.
    fn is_there(&mut self, name: &str) -> Outcome<bool> {
        let top = name.split('.').next().unwrap_or_default();
        if library::is_standard(top) || top == "torch" {
            return Ok(true);
        }
        let is_name = |part: &str| !part.is_empty() && !part.contains(['/', '\\', '\0']);
        if !name.split('.').all(is_name) {
            return Ok(false);
        }
        let execution = self.execution()?;
        let mut folders = vec![execution.repository.folder.clone()];
        folders.extend(execution.folders.iter().cloned());
        let relative: std::path::PathBuf = name.split('.').collect();
        Ok(loader::file_in(&folders, name).is_some()
            || folders.iter().any(|folder| folder.join(&relative).is_dir()))
    }
}
