//! Files that are run from top to bottom, as Python imports them: what `torch.hub` does with a
//! `hubconf.py` and the files of its repository.
//!
//! Elsewhere the names at the top of a file are looked up one by one, and nothing else of it runs. Here
//! its statements run in order, and its names are a dict that they may change (`globals()[name] = …`). A
//! statement that cannot be followed does not end it: the names that it would bind become
//! [`Unknown`](super::value::Unknown), which fails where it is needed and says why. What is used up (steps,
//! memory, time) ends it. The libraries' own files, of torch's modules, are looked up as ever.

mod acts;
mod documentation;
mod entries;
mod files;
mod hub;
mod imports;
mod loading;
mod machine;
mod matching;
mod metaclasses;
mod models;
mod paths;
mod patterns;
mod saved;
mod targets;
mod unknown;
mod yaml;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ruff_python_ast as py;
use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::Error;

use super::control_flow::{Outcome, Stop};
use super::value::{Dict, Id, Key, Value};
pub(super) use patterns::flag as regex_flag;

use super::{Frame, Interpreter};
use crate::environment::Environment;
use crate::library::NameKind;
use crate::limits::ScriptLimits;
use crate::loader::{self, Files, Module, ModuleLoader};

pub(super) use hub::answers;
pub(crate) use models::{Made, MadeObject};

/// What a `hubconf.py` is called as a module.
const HUBCONF: &str = "hubconf.py";

/// How many statements that could not be followed are remembered.
const MAX_NOT_FOLLOWED: usize = 1000;
/// How many repositories may load from each other.
const MAX_REPOSITORIES: usize = 16;

/// What running files needs besides an interpreter.
pub(super) struct Execution<'w> {
    environment: &'w mut dyn Environment,
    /// The repository whose files are imported: the innermost of nested `torch.hub.load`s.
    repository: Repository,
    /// How many repositories were entered so far, and how many of them are at work.
    entered: usize,
    depth: usize,
    /// The folders that the user named, which modules are imported from, too.
    folders: Vec<PathBuf>,
    /// What may be read: the repositories, the folders and files that were downloaded.
    readable: Vec<PathBuf>,
    /// The names of files that run or have run, by the file's key.
    namespaces: FxHashMap<Arc<str>, Id>,
    /// Files that have not run to their end.
    unfinished: FxHashSet<Arc<str>>,
    /// Where packages are, by the file's key.
    packages: FxHashMap<Arc<str>, PathBuf>,
    /// How many `try` statements that catch failing imports are around what runs.
    guards: usize,
    /// What could not be followed.
    not_followed: Vec<Error>,
    /// `sys.path` and what else of the process has been asked for, by its name.
    machine: FxHashMap<&'static str, Value>,
    /// Checkpoints that have been opened.
    checkpoints: FxHashMap<PathBuf, Arc<sconce_checkpoint::Checkpoint>>,
}

/// Names that every Python program knows and that nothing else here does.
const BUILTINS: &[&str] = &[
    "__import__",
    "ascii",
    "compile",
    "exit",
    "help",
    "locals",
    "oct",
    "quit",
    "BlockingIOError",
    "ConnectionError",
    "EncodingWarning",
    "FileExistsError",
    "ImportWarning",
    "InterruptedError",
    "IsADirectoryError",
    "NotADirectoryError",
    "PendingDeprecationWarning",
    "ProcessLookupError",
    "ResourceWarning",
    "StopAsyncIteration",
    "SyntaxWarning",
    "UnicodeDecodeError",
    "UnicodeEncodeError",
    "UnicodeTranslateError",
    "UnicodeWarning",
];

/// Whether every Python program knows a name that nothing else here does.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// A folder with a `hubconf.py`.
#[derive(Debug, Clone)]
struct Repository {
    folder: PathBuf,
    /// What tells its files from those of other repositories.
    number: usize,
}

/// A repository's `hubconf.py` that has run.
pub(crate) struct Hubconf<'w> {
    pub(super) interpreter: Interpreter<'w>,
    pub(super) module: Arc<Module>,
}

impl<'w> Hubconf<'w> {
    /// Runs the `hubconf.py` of a folder; the other folders are where modules are imported from, too.
    ///
    /// # Errors
    /// When there is none, it is no Python, it raises, or it uses up what it may spend.
    pub(crate) fn run(
        loader: &'w mut ModuleLoader,
        folder: &Path,
        folders: &[PathBuf],
        limits: &ScriptLimits,
        environment: &'w mut dyn Environment,
    ) -> Result<Self, Error> {
        let mut interpreter = Interpreter::new(loader, limits);
        let readable = [folder.to_owned()].into_iter().chain(folders.iter().cloned());
        interpreter.execution = Some(Execution {
            environment,
            repository: Repository { folder: folder.to_owned(), number: 0 },
            entered: 0,
            depth: 0,
            folders: folders.to_vec(),
            readable: readable.filter_map(|folder| folder.canonicalize().ok()).collect(),
            namespaces: FxHashMap::default(),
            unfinished: FxHashSet::default(),
            packages: FxHashMap::default(),
            guards: 0,
            not_followed: Vec::new(),
            machine: FxHashMap::default(),
            checkpoints: FxHashMap::default(),
        });
        match interpreter.run_hubconf() {
            Ok(module) => Ok(Self { interpreter, module }),
            Err(stop) => Err(interpreter.uncaught(stop)),
        }
    }

    /// What could not be followed so far.
    pub(crate) fn not_followed(&self) -> &[Error] {
        self.interpreter.execution.as_ref().map_or(&[], |execution| &execution.not_followed)
    }
}

impl Execution<'_> {
    /// The cells that nothing else may refer to.
    pub(super) fn roots(&self) -> impl Iterator<Item = Id> {
        let of_machine = self.machine.values().filter_map(|value| match value {
            Value::Ref(id) => Some(*id),
            _ => None,
        });
        self.namespaces.values().copied().chain(of_machine)
    }
}

impl<'w> Interpreter<'w> {
    fn execution(&self) -> Outcome<&Execution<'w>> {
        match &self.execution {
            Some(execution) => Ok(execution),
            None => super::control_flow::refuse("no file is run here"),
        }
    }

    fn execution_mut(&mut self) -> Outcome<&mut Execution<'w>> {
        match &mut self.execution {
            Some(execution) => Ok(execution),
            None => super::control_flow::refuse("no file is run here"),
        }
    }

    /// Runs the `hubconf.py` of the repository that is at work.
    fn run_hubconf(&mut self) -> Outcome<Arc<Module>> {
        let execution = self.execution()?;
        let path = execution.repository.folder.join(HUBCONF);
        if !path.exists() {
            let message = format!("[Errno 2] No such file or directory: '{}'", path.display());
            return self.raise("FileNotFoundError", message);
        }
        if !self.may_import(&path)? {
            let message = format!("{} leads out of the repository", path.display());
            return super::control_flow::refuse(message);
        }
        let key = self.key_of_file(HUBCONF)?;
        let module = self.parsed(HUBCONF, &path, false, key)?;
        self.execute(&module)?;
        Ok(module)
    }

    /// What tells a file from those of the same name in other repositories.
    fn key_of_file(&self, name: &str) -> Outcome<String> {
        Ok(match self.execution()?.repository.number {
            0 => name.to_owned(),
            number => format!("{name} ({number})"),
        })
    }

    fn parsed(
        &mut self,
        name: &str,
        path: &Path,
        is_package: bool,
        key: String,
    ) -> Outcome<Arc<Module>> {
        let text = loader::read(path)?;
        self.steps = self.steps.saturating_add(text.len() as u64 / 16);
        self.step()?;
        let module = Module::parse(name, &path.display().to_string(), text, is_package)?;
        let module = self.loader.add(module.with_key(key));
        if let (true, Some(folder)) = (is_package, path.parent()) {
            let folder = folder.to_owned();
            self.execution_mut()?.packages.insert(Arc::clone(module.key()), folder);
        }
        Ok(module)
    }

    /// Runs a file's statements. It is known from their beginning on, so that files may import each other.
    fn execute(&mut self, module: &Arc<Module>) -> Outcome<()> {
        let name = Value::Str(Arc::clone(&module.name));
        let package = match (&*module.name, module.is_package()) {
            (HUBCONF, _) => Value::str("hubconf"),
            (_, true) => name.clone(),
            (of, false) => Value::str(of.rsplit_once('.').map_or("", |(package, _)| package)),
        };
        let statements = module.statements()?;
        let documentation = documentation::docstring(&statements);
        let mut names = Dict::default();
        for (key, value) in [
            ("__name__", name),
            ("__doc__", documentation.map_or(Value::None, Value::str)),
            ("__package__", package),
            ("__file__", Value::Str(Arc::clone(module.filename()))),
        ] {
            names.insert(Key::Str(key.into()), (Value::str(key), value));
        }
        let Value::Ref(id) = self.new_dict(names)? else {
            return super::control_flow::refuse("no dict");
        };
        let key = Arc::clone(module.key());
        let execution = self.execution_mut()?;
        execution.namespaces.insert(Arc::clone(&key), id);
        execution.unfinished.insert(Arc::clone(&key));
        let guards = std::mem::take(&mut execution.guards);
        if &*module.name != HUBCONF {
            self.add_to_modules(&module.name, Value::Namespace(Arc::clone(module)))?;
        }
        let frame = Frame { module: Arc::clone(module), scope: None };
        let result = self.nested(|this| this.run(&frame, &statements));
        let execution = self.execution_mut()?;
        execution.guards = guards;
        execution.unfinished.remove(&key);
        if result.is_err() {
            // As Python: the next import runs it again.
            execution.namespaces.remove(&key);
        }
        result.map(drop)
    }

    /// The names of a file that runs or has run.
    pub(super) fn namespace(&self, module: &Module) -> Option<Id> {
        self.execution.as_ref()?.namespaces.get(module.key()).copied()
    }

    /// The file whose names an expression of its own uses.
    pub(super) fn namespace_value(&self, module: &Module, name: &str) -> Option<Value> {
        let names = self.arena.dict(&Value::Ref(self.namespace(module)?))?;
        names.get(&Key::Str(name.into())).map(|(_, value)| value.clone())
    }

    /// Binds a name at the top of a file.
    pub(super) fn set_global(&mut self, module: &Module, name: &str, value: Value) -> Outcome<()> {
        let Some(id) = self.namespace(module) else {
            self.globals.insert((Arc::clone(&module.name), name.into()), value);
            return Ok(());
        };
        self.spend_items(3)?;
        let name: Arc<str> = name.into();
        if let Some(names) = self.arena.dict_mut(id) {
            match names.get_mut(&Key::Str(Arc::clone(&name))) {
                Some((_, known)) => *known = value,
                None => {
                    names.insert(Key::Str(Arc::clone(&name)), (Value::Str(name), value));
                }
            }
        }
        Ok(())
    }

    /// `del name` at the top of a file.
    pub(super) fn remove_global(&mut self, module: &Module, name: &str) -> Option<Value> {
        match self.namespace(module) {
            Some(id) => {
                let removed = self.arena.dict_mut(id)?.shift_remove(&Key::Str(name.into()))?;
                Some(removed.1)
            }
            None => self.globals.remove(&(Arc::clone(&module.name), name.into())),
        }
    }

    /// What comes of a statement at the top of a file that stopped: it goes on behind the statement,
    /// whose names are unknown, unless the program raised or nothing is left to spend.
    pub(super) fn recovered(
        &mut self,
        frame: &Frame,
        statement: &py::Stmt,
        stop: Stop,
    ) -> Outcome<()> {
        let is_top = frame.scope.is_none() && self.namespace(&frame.module).is_some();
        if !is_top || self.is_exhausted {
            return Err(stop);
        }
        let error = match stop {
            Stop::Refused(error) => *error,
            // A package that is installed can be imported: what it raises comes of what is not here.
            Stop::Raised(..) if self.is_foreign(&frame.module) && !self.is_guarded() => {
                self.uncaught(stop)
            }
            raised => return Err(raised),
        };
        let why: Arc<str> = described(&error).into();
        for (name, kind) in targets::bound_names(statement) {
            let may_be_module = kind != NameKind::Module;
            let value = self.new_unknown(
                &format!("'{name}'"),
                Some(Arc::clone(&why)),
                kind,
                may_be_module,
            )?;
            self.set_global(&frame.module, &name, value)?;
        }
        let execution = self.execution_mut()?;
        if execution.not_followed.len() < MAX_NOT_FOLLOWED {
            execution.not_followed.push(error);
        }
        Ok(())
    }

    /// Whether a file is of no repository but of a folder that the user named.
    fn is_foreign(&self, module: &Module) -> bool {
        let Some(execution) = &self.execution else { return false };
        !Path::new(&**module.filename()).starts_with(&execution.repository.folder)
    }

    fn is_guarded(&self) -> bool {
        self.execution.as_ref().is_some_and(|execution| execution.guards > 0)
    }

    /// Runs what may import and fail, so that another import can stand in for it.
    pub(super) fn guarded<T>(
        &mut self,
        catches: bool,
        step: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<T> {
        let by = usize::from(catches);
        if let Some(execution) = &mut self.execution {
            execution.guards += by;
        }
        let result = step(self);
        if let Some(execution) = &mut self.execution {
            execution.guards = execution.guards.saturating_sub(by);
        }
        result
    }

    /// Runs the `hubconf.py` of another repository, and what is done with it, with its own files.
    fn in_repository<T>(
        &mut self,
        folder: &Path,
        step: impl FnOnce(&mut Self, &Arc<Module>) -> Outcome<T>,
    ) -> Outcome<T> {
        let execution = self.execution_mut()?;
        if execution.depth >= MAX_REPOSITORIES {
            return super::control_flow::refuse(
                "too many repositories load from each other by torch.hub.load",
            );
        }
        execution.entered += 1;
        execution.depth += 1;
        let inner = Repository { folder: folder.to_owned(), number: execution.entered };
        let outer = std::mem::replace(&mut execution.repository, inner);
        execution.readable.extend(folder.canonicalize().ok());
        let path = execution.machine.remove("sys.path");
        let mut files = Files::default();
        self.loader.exchange_files(&mut files);
        let result = self.nested(|this| {
            let module = this.run_hubconf()?;
            step(this, &module)
        });
        self.loader.exchange_files(&mut files);
        let execution = self.execution_mut()?;
        execution.repository = outer;
        execution.depth -= 1;
        match path {
            Some(path) => execution.machine.insert("sys.path", path),
            None => execution.machine.remove("sys.path"),
        };
        result
    }
}

/// An error on one line, with its place; the reason behind it where it has one.
fn described(error: &Error) -> String {
    let message = error.message().lines().next().unwrap_or_default();
    if let Some((_, reason)) = message.split_once(unknown::BECAUSE)
        && let Some(reason) = reason.strip_suffix(')')
    {
        return reason.to_owned();
    }
    match error.range().and_then(|range| range.file_line_column()) {
        Some((file, line, _)) => format!("{file}:{line}: {message}"),
        None => message.to_owned(),
    }
}
