//! Imports of files that run: found along `sys.path`, run once, as Python does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ruff_python_ast as py;

use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Key, Value};
use super::super::{Frame, Interpreter};
use super::HUBCONF;
use crate::library;
use crate::loader::{self, Module, Object};

/// Modules of the libraries that are what they are here, wherever a folder may have their source.
const CLOSED: &[&str] = &["torch", "numpy", "inspect"];

/// What `from __future__ import` names does nothing here.
const FUTURE: &str = "__future__";

impl Interpreter<'_> {
    /// `import a.b as c`
    pub(in super::super) fn run_import(
        &mut self,
        frame: &Frame,
        import: &py::StmtImport,
    ) -> Outcome<()> {
        for alias in &import.names {
            let module = self.imported_module(&alias.name)?;
            match &alias.asname {
                Some(name) => self.bind(frame, name, module)?,
                None => {
                    let top = alias.name.split('.').next().unwrap_or_default();
                    let module = match top == alias.name.as_str() {
                        true => module,
                        false => self.imported_module(top)?,
                    };
                    self.bind(frame, top, module)?;
                }
            }
        }
        Ok(())
    }

    /// `from a import b as c`
    pub(in super::super) fn run_import_from(
        &mut self,
        frame: &Frame,
        import: &py::StmtImportFrom,
    ) -> Outcome<()> {
        let from = self.absolute_name(frame, import)?;
        if from == FUTURE {
            for alias in &import.names {
                let name = alias.asname.as_ref().unwrap_or(&alias.name);
                let what = format!("{FUTURE}.{}", alias.name);
                let feature = self.new_unknown(&what, None, library::NameKind::Value, false)?;
                self.bind(frame, name, feature)?;
            }
            return Ok(());
        }
        let module = self.imported_module(&from)?;
        for alias in &import.names {
            if alias.name.as_str() == "*" {
                self.import_all(frame, &module, &from)?;
                continue;
            }
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            let value = self.imported_member(&module, &from, &alias.name)?;
            self.bind(frame, name, value)?;
        }
        Ok(())
    }

    fn absolute_name(&mut self, frame: &Frame, import: &py::StmtImportFrom) -> Outcome<String> {
        let module = &frame.module;
        if import.level > 0 {
            let parts = module.name.split('.').count();
            let above = parts - usize::from(!module.is_package());
            if &*module.name == HUBCONF || above == 0 {
                return self.raise(
                    "ImportError",
                    "attempted relative import with no known parent package",
                );
            }
            if import.level as usize > above {
                return self
                    .raise("ImportError", "attempted relative import beyond top-level package");
            }
        }
        Ok(module.absolute(import.level, import.module.as_deref()))
    }

    /// A module by its dotted name, run if it has not been.
    pub(in super::super) fn imported_module(&mut self, name: &str) -> Outcome<Value> {
        self.step()?;
        let top = name.split('.').next().unwrap_or_default();
        if CLOSED.contains(&top) {
            let object = self.loader.imported(name)?;
            return self.object(object);
        }
        if library::is_loaded(top) {
            return Ok(Value::library(name));
        }
        let mut parent: Option<Arc<Module>> = None;
        let mut at = 0;
        loop {
            let end = name.get(at..).and_then(|rest| rest.find('.')).map(|dot| at + dot);
            let so_far = name.get(..end.unwrap_or(name.len())).unwrap_or(name);
            let member = so_far.rsplit('.').next().unwrap_or_default();
            let Some(module) = self.file_module(so_far, parent.as_ref())? else {
                return self.module_not_found(name, so_far, parent.as_ref());
            };
            if let Some(parent) = &parent {
                self.set_global(parent, member, Value::Namespace(Arc::clone(&module)))?;
            }
            match end {
                Some(end) => at = end + 1,
                None => return Ok(Value::Namespace(module)),
            }
            parent = Some(module);
        }
    }

    /// A module of a file in one of the folders, run if it has not been.
    fn file_module(
        &mut self,
        name: &str,
        parent: Option<&Arc<Module>>,
    ) -> Outcome<Option<Arc<Module>>> {
        let key = self.key_of_file(name)?;
        let is_run = self.execution()?.namespaces.contains_key(key.as_str());
        if is_run && let Some(module) = self.loader.module(name)? {
            return Ok(Some(module));
        }
        let is_name = |part: &str| !part.is_empty() && !part.contains(['/', '\\', '\0']);
        if !name.split('.').all(is_name) {
            return Ok(None);
        }
        let member = name.rsplit('.').next().unwrap_or_default();
        let folders = match parent {
            Some(parent) => {
                self.execution()?.packages.get(parent.key()).cloned().into_iter().collect()
            }
            None => self.search_folders()?,
        };
        let found = loader::file_in(&folders, member);
        let module = match found {
            Some((path, is_package)) if self.may_import(&path)? => {
                self.parsed(name, &path, is_package, key)?
            }
            Some((path, _)) => {
                return refuse(format!("{} is outside of the repository", path.display()));
            }
            // A folder without `__init__.py` is a package, too.
            None => {
                let folder = folders.iter().map(|folder| folder.join(member));
                let Some(folder) = folder.into_iter().find(|folder| folder.is_dir()) else {
                    return Ok(None);
                };
                if !self.may_import(&folder)? || !has_python(&folder) {
                    return Ok(None);
                }
                let filename = folder.display().to_string();
                let module = Module::parse(name, &filename, String::new(), true)?.with_key(key);
                let module = self.loader.add(module);
                self.execution_mut()?.packages.insert(Arc::clone(module.key()), folder);
                module
            }
        };
        self.execute(&module)?;
        Ok(Some(module))
    }

    /// The folders that modules are looked for in: what `sys.path` has of them.
    fn search_folders(&mut self) -> Outcome<Vec<PathBuf>> {
        let path = self.machine("sys.path")?;
        let entries = self.arena.list(&path).cloned().unwrap_or_default();
        let mut folders = Vec::new();
        for entry in entries {
            let text = match (&entry, self.arena.cell(&entry)) {
                (Value::Str(text), _) => Arc::clone(text),
                (_, Some(super::super::value::Cell::Path(text))) => Arc::clone(text),
                _ => continue,
            };
            folders.push(PathBuf::from(&*text));
        }
        Ok(folders)
    }

    /// What stands for a module that no folder has.
    fn module_not_found(
        &mut self,
        name: &str,
        missing: &str,
        parent: Option<&Arc<Module>>,
    ) -> Outcome<Value> {
        if parent.is_none() && library::is_standard(missing) {
            return Ok(Value::library(name));
        }
        if parent.is_some_and(|parent| !self.is_foreign(parent)) || self.is_guarded() {
            let why = match parent {
                Some(parent) if !parent.is_package() => {
                    format!("No module named '{missing}'; '{}' is not a package", parent.name)
                }
                _ => format!("No module named '{missing}'"),
            };
            return self.raise("ModuleNotFoundError", why);
        }
        let why =
            format!("no module '{missing}' in the repository or in the folders given by --path");
        self.new_unknown(name, Some(why.into()), library::NameKind::Module, true)
    }

    /// `from module import name`
    fn imported_member(&mut self, module: &Value, from: &str, name: &str) -> Outcome<Value> {
        let Value::Namespace(file) = module else {
            return match module {
                Value::Library(_) => {
                    let object = self.loader.imported(&format!("{from}.{name}"))?;
                    self.object(object)
                }
                other => self.attribute(other, name),
            };
        };
        if self.namespace(file).is_none() {
            // A file of torch's: its names are looked up.
            let base = Object::Module(Arc::clone(file));
            return match self.loader.member(&base, name)? {
                Some(object) => self.object(object),
                None => self.cannot_import(file, name),
            };
        }
        if let Some(value) = self.attribute_of_file(file, name)? {
            return Ok(value);
        }
        if file.is_package()
            && let Some(module) = self.file_module(&format!("{from}.{name}"), Some(file))?
        {
            self.set_global(file, name, Value::Namespace(Arc::clone(&module)))?;
            return Ok(Value::Namespace(module));
        }
        self.cannot_import(file, name)
    }

    fn cannot_import(&mut self, file: &Arc<Module>, name: &str) -> Outcome<Value> {
        if self.is_foreign(file) && !self.is_guarded() {
            // Parts of it may be no Python.
            let what = format!("{}.{name}", file.name);
            let why = format!("{} has no Python source of it", file.filename());
            return self.new_unknown(&what, Some(why.into()), library::kind(&what), true);
        }
        let is_unfinished = self.execution()?.unfinished.contains(file.key());
        let message = match is_unfinished {
            true => format!(
                "cannot import name '{name}' from partially initialized module '{}' (most likely due \
                 to a circular import) ({})",
                file.name,
                file.filename()
            ),
            false => {
                format!("cannot import name '{name}' from '{}' ({})", file.name, file.filename())
            }
        };
        self.raise("ImportError", message)
    }

    /// `module.name`, of a file that runs or has run.
    pub(in super::super) fn attribute_of_file(
        &mut self,
        file: &Arc<Module>,
        name: &str,
    ) -> Outcome<Option<Value>> {
        if let Some(value) = self.namespace_value(file, name) {
            return Ok(Some(value));
        }
        if name == "__dict__" {
            return Ok(self.namespace(file).map(Value::Ref));
        }
        match self.namespace_value(file, "__getattr__") {
            Some(function) if !name.starts_with("__") => {
                self.call(&function, vec![Value::str(name)], Vec::new()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `from module import *`
    fn import_all(&mut self, frame: &Frame, module: &Value, from: &str) -> Outcome<()> {
        let file = match module {
            Value::Namespace(file) if self.namespace(file).is_some() => Arc::clone(file),
            Value::Namespace(file) => {
                for name in file.names().to_vec() {
                    if !name.starts_with('_') {
                        let value = self.imported_member(module, from, &name)?;
                        self.bind(frame, &name, value)?;
                    }
                }
                return Ok(());
            }
            _ => return refuse(format!("what 'from {from} import *' imports is not known here")),
        };
        let names: Vec<Arc<str>> = match self.namespace_value(&file, "__all__") {
            Some(all) => {
                let mut names = Vec::new();
                for name in self.iterate(&all)? {
                    names.push(self.string(&name)?);
                }
                names
            }
            None => self
                .names_of_file(&file)
                .into_iter()
                .filter(|name| !name.starts_with('_'))
                .collect(),
        };
        for name in names {
            let found = match self.attribute_of_file(&file, &name)? {
                Some(value) => Some(value),
                None if file.is_package() => {
                    let module = self.file_module(&format!("{from}.{name}"), Some(&file))?;
                    module.map(Value::Namespace)
                }
                None => None,
            };
            let Some(value) = found else {
                let message = format!("module '{}' has no attribute '{name}'", file.name);
                return self.raise("AttributeError", message);
            };
            self.bind(frame, &name, value)?;
        }
        Ok(())
    }

    /// The names that a file has bound, in order.
    pub(in super::super) fn names_of_file(&self, file: &Module) -> Vec<Arc<str>> {
        let names = self.namespace(file).and_then(|id| self.arena.dict(&Value::Ref(id)));
        let keys = names.into_iter().flat_map(|names| names.keys());
        keys.filter_map(|key| match key {
            Key::Str(name) => Some(Arc::clone(name)),
            _ => None,
        })
        .collect()
    }

    /// Whether the handlers of a `try` catch imports that fail.
    pub(in super::super) fn catches_imports(handlers: &[py::ExceptHandler]) -> bool {
        const CATCHING: &[&str] =
            &["ImportError", "ModuleNotFoundError", "Exception", "BaseException"];
        let is_catching = |class: &py::Expr| matches!(class, py::Expr::Name(name) if CATCHING.contains(&name.id.as_str()));
        handlers.iter().any(|handler| {
            let py::ExceptHandler::ExceptHandler(handler) = handler;
            match handler.type_.as_deref() {
                None => true,
                Some(py::Expr::Tuple(tuple)) => tuple.elts.iter().any(is_catching),
                Some(class) => is_catching(class),
            }
        })
    }
}

/// Whether a folder without `__init__.py` has Python in it.
fn has_python(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let mut entries = entries.flatten().take(10_000);
    entries.any(|entry| {
        let path = entry.path();
        path.is_dir() || path.extension().is_some_and(|extension| extension == "py")
    })
}
