//! Python files: found along folders, parsed, and asked what their names stand for. Nothing runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ruff_python_ast as py;
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::Error;
use sconce_syntax::{Range, Source, SourceRange};

use crate::closures::Entered;
use crate::frontend::dotted;
use crate::inheritance::Ancestor;
use crate::library;
use crate::nesting;
use crate::snippet::Snippet;
use crate::top_level;

/// The largest Python file that is read.
const MAX_FILE: u64 = 16 << 20;

/// A parsed Python file.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its dotted name; `__main__` for a script.
    pub(crate) name: Arc<str>,
    /// What tells it from others, which functions in it are known by: its name, for a file.
    key: Arc<str>,
    /// The names that are looked up where it has none, for what is inside a function of a file.
    enclosing: Option<Arc<Module>>,
    /// The path that errors and comments show.
    filename: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
    /// The number of the first line.
    first_line: u32,
    is_package: bool,
    bindings: FxHashMap<Arc<str>, Binding>,
    /// The names in order of their definitions.
    order: Vec<Arc<str>>,
    /// The modules whose names are all imported: `from a import *`.
    stars: Vec<String>,
    /// What names are bound to where the import that binds them fails: `except ImportError:`.
    fallbacks: FxHashMap<Arc<str>, Binding>,
    /// What follows the bindings of names and changes what they are bound to, in order.
    changes: FxHashMap<Arc<str>, Vec<Arc<py::Stmt>>>,
    /// The expression that is all of it.
    only_expression: Option<Arc<py::Expr>>,
    /// Signatures that `@torch.jit._overload` declares, by the function's name.
    overloads: FxHashMap<Arc<str>, Vec<Arc<py::StmtFunctionDef>>>,
    /// The texts of definitions that were asked for, by where they begin: places of one definition
    /// are of one source, as often as it is compiled.
    snippets: Mutex<FxHashMap<TextSize, Arc<Snippet>>>,
}

/// What a name of a file is bound to.
#[derive(Debug, Clone)]
enum Binding {
    Function(Arc<py::StmtFunctionDef>),
    Class(Arc<py::StmtClassDef>),
    /// `import a.b as c`
    Import(String),
    /// `from a import b`
    From(String, String),
    /// `name = value`
    Value(Arc<py::Expr>),
    /// What a parameter is given.
    Given(Object),
}

/// What a name of Python stands for.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    /// A file.
    Module(Arc<Module>),
    /// A function of a file.
    Function(PyFunction),
    /// A class of a file.
    Class(PyClass),
    /// What an expression at the top of a file gives.
    Value(Arc<Module>, Arc<py::Expr>),
    /// A member of a library, by its dotted name.
    Library(String),
}

/// A function with the file it is in.
#[derive(Debug, Clone)]
pub(crate) struct PyFunction {
    pub(crate) module: Arc<Module>,
    pub(crate) def: Arc<py::StmtFunctionDef>,
}

/// A class with the file it is in.
#[derive(Debug, Clone)]
pub(crate) struct PyClass {
    pub(crate) module: Arc<Module>,
    pub(crate) def: Arc<py::StmtClassDef>,
}

impl PyFunction {
    /// What tells it from every other function.
    pub(crate) fn key(&self) -> (Arc<str>, u32) {
        (Arc::clone(&self.module.key), self.def.start().to_u32())
    }

    pub(crate) fn name(&self) -> &str {
        self.def.name.as_str()
    }
}

impl PyClass {
    /// What tells it from every other class.
    pub(crate) fn key(&self) -> (Arc<str>, u32) {
        (Arc::clone(&self.module.key), self.def.start().to_u32())
    }

    pub(crate) fn name(&self) -> &str {
        self.def.name.as_str()
    }
}

/// All files that have been asked for.
#[derive(Debug, Default)]
pub(crate) struct World {
    folders: Vec<PathBuf>,
    modules: FxHashMap<String, Option<Arc<Module>>>,
    /// The functions that were called, by the place of the call.
    pub(crate) calls: FxHashMap<Arc<str>, Entered>,
    /// The ancestors of classes, by file and place.
    pub(crate) orders: FxHashMap<(Arc<str>, u32), Arc<[Ancestor]>>,
}

impl World {
    /// Whether one more call may be followed: each may lead to several.
    pub(crate) fn may_follow(&self) -> bool {
        self.calls.len() < MAX_CALLS
    }
}

impl Module {
    /// Parses a file.
    pub(crate) fn parse(
        name: &str,
        filename: &str,
        text: String,
        is_package: bool,
    ) -> Result<Self, Error> {
        let at = |offset: usize| {
            let source = Source::new(text.as_str()).with_filename(filename).with_starting_line(1);
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            SourceRange::new(Arc::new(source), Range::new(offset, offset.saturating_add(1)))
        };
        if u32::try_from(text.len()).is_err() {
            return Err(Error::without_range(format!("{filename} is too large")));
        }
        if let Err(line) = nesting::check(&text) {
            let before = text.split_inclusive('\n').take(line).map(str::len).sum();
            return Err(Error::new("too deeply nested", at(before)));
        }
        let parsed =
            nesting::with_stack(|| ruff_python_parser::parse_module(&text)).map_err(|error| {
                Error::new(error.error.to_string(), at(error.location.start().into()))
            })?;
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect();
        let mut module = Self {
            name: name.into(),
            key: name.into(),
            enclosing: None,
            filename: filename.into(),
            line_starts,
            first_line: 1,
            is_package,
            bindings: FxHashMap::default(),
            order: Vec::new(),
            stars: Vec::new(),
            fallbacks: FxHashMap::default(),
            overloads: FxHashMap::default(),
            snippets: Mutex::default(),
            changes: FxHashMap::default(),
            only_expression: None,
            text: text.into(),
        };
        let suite = parsed.into_suite();
        if let [py::Stmt::Expr(only)] = suite.as_slice() {
            module.only_expression = Some(Arc::new((*only.value).clone()));
        }
        module.bind_all(suite);
        Ok(module)
    }

    /// The names inside a function of a file, of which there are none yet.
    pub(crate) fn inside(file: &Arc<Self>, key: Arc<str>) -> Self {
        Self {
            name: Arc::clone(&file.name),
            key,
            enclosing: Some(Arc::clone(file)),
            filename: Arc::clone(&file.filename),
            text: Arc::clone(&file.text),
            line_starts: Arc::clone(&file.line_starts),
            first_line: file.first_line,
            is_package: file.is_package,
            bindings: FxHashMap::default(),
            order: Vec::new(),
            stars: Vec::new(),
            fallbacks: FxHashMap::default(),
            overloads: FxHashMap::default(),
            snippets: Mutex::default(),
            changes: FxHashMap::default(),
            only_expression: None,
        }
    }

    /// Source that Python or PyTorch makes for a file and that sees the file's names.
    pub(crate) fn made(
        file: &Arc<Self>,
        filename: &str,
        first_line: u32,
        text: String,
    ) -> Result<Self, Error> {
        let mut made = Self::parse(&file.name, filename, text, false)?;
        made.key = format!("{}:{filename}", file.key).into();
        made.enclosing = Some(Arc::clone(file));
        made.first_line = first_line;
        Ok(made)
    }

    /// What tells it from others.
    pub(crate) fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// Binds a name to what a parameter is given.
    pub(crate) fn give(&mut self, name: &str, object: Object) {
        self.bind(name, Binding::Given(object));
    }

    /// The function that it binds a name to.
    pub(crate) fn own_function(&self, name: &str) -> Option<&Arc<py::StmtFunctionDef>> {
        match self.bindings.get(name) {
            Some(Binding::Function(def)) => Some(def),
            _ => None,
        }
    }

    /// Whether `from __future__ import annotations` leaves annotations unevaluated.
    pub(crate) fn has_text_annotations(&self) -> bool {
        matches!(self.bindings.get("annotations"),
            Some(Binding::From(from, _)) if from == "__future__")
    }

    fn bind(&mut self, name: &str, binding: Binding) {
        let name: Arc<str> = name.into();
        self.changes.remove(&name);
        if self.bindings.insert(Arc::clone(&name), binding).is_none() {
            self.order.push(name);
        }
    }

    fn bind_all(&mut self, statements: Vec<py::Stmt>) {
        for statement in statements {
            self.bind_statement(statement);
        }
    }

    /// Whether a decorator is `torch.jit._overload`, by whatever name it is imported.
    fn is_overload(&self, decorator: &str) -> bool {
        let imported = match self.bindings.get(decorator) {
            Some(Binding::From(_, member)) => member,
            _ => decorator,
        };
        imported.rsplit('.').next() == Some("_overload")
    }

    /// Of branches, the ones that hold in a plain run of the program count: `try` goes well, and
    /// conditions are taken for true but for the well-known false ones.
    pub(crate) fn bind_statement(&mut self, statement: py::Stmt) {
        let changed = top_level::changed_names(&statement);
        if !changed.is_empty() {
            let statement = Arc::new(statement.clone());
            for name in changed {
                self.changes.entry(name.into()).or_default().push(Arc::clone(&statement));
            }
        }
        match statement {
            py::Stmt::FunctionDef(def) => {
                let name = def.name.to_string();
                let is_overload = def.decorator_list.iter().any(|decorator| {
                    dotted(&decorator.expression).is_some_and(|name| self.is_overload(&name))
                });
                if is_overload {
                    self.overloads.entry(name.as_str().into()).or_default().push(Arc::new(def));
                } else {
                    self.bind(&name, Binding::Function(Arc::new(def)));
                }
            }
            py::Stmt::ClassDef(def) => {
                let name = def.name.to_string();
                self.bind(&name, Binding::Class(Arc::new(def)));
            }
            py::Stmt::Import(import) => {
                for alias in import.names {
                    match alias.asname {
                        Some(name) => self.bind(&name, Binding::Import(alias.name.to_string())),
                        None => {
                            let top = alias.name.split('.').next().unwrap_or_default().to_owned();
                            self.bind(&top, Binding::Import(top.clone()));
                        }
                    }
                }
            }
            py::Stmt::ImportFrom(import) => {
                let from = self.absolute(import.level, import.module.as_deref());
                for alias in import.names {
                    if alias.name.as_str() == "*" {
                        self.stars.push(from.clone());
                        continue;
                    }
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                    self.bind(&name, Binding::From(from.clone(), alias.name.to_string()));
                }
            }
            py::Stmt::Assign(assign) => {
                let value: Arc<py::Expr> = Arc::from(assign.value);
                for target in &assign.targets {
                    if let py::Expr::Name(name) = target {
                        self.bind(&name.id, Binding::Value(Arc::clone(&value)));
                    }
                }
            }
            py::Stmt::AnnAssign(assign) => {
                if let (py::Expr::Name(name), Some(value)) = (&*assign.target, assign.value) {
                    self.bind(&name.id, Binding::Value(Arc::from(value)));
                }
            }
            py::Stmt::If(statement) => self.bind_if(statement),
            py::Stmt::Try(statement) => {
                // Functions and classes that stand in for what cannot be imported.
                let mut defined: Vec<String> = Vec::new();
                for handler in statement.handlers {
                    let py::ExceptHandler::ExceptHandler(handler) = handler;
                    defined.extend(handler.body.iter().filter_map(|statement| match statement {
                        py::Stmt::FunctionDef(def) => Some(def.name.to_string()),
                        py::Stmt::ClassDef(def) => Some(def.name.to_string()),
                        _ => None,
                    }));
                    self.bind_all(handler.body);
                }
                let known = defined.into_iter().filter_map(|name| {
                    let binding = self.bindings.get(name.as_str())?.clone();
                    Some((name, binding))
                });
                let known: Vec<(String, Binding)> = known.collect();
                self.bind_all(statement.body);
                for (name, binding) in known {
                    if matches!(self.bindings.get(name.as_str()), Some(Binding::From(..))) {
                        self.fallbacks.insert(name.into(), binding);
                    }
                }
                self.bind_all(statement.orelse);
                self.bind_all(statement.finalbody);
            }
            py::Stmt::With(statement) => self.bind_all(statement.body),
            _ => {}
        }
    }

    fn bind_if(&mut self, statement: py::StmtIf) {
        let is_main = |test: &py::Expr| {
            matches!(test, py::Expr::Compare(compare)
                if matches!(&*compare.left, py::Expr::Name(name) if name.id == "__name__"))
        };
        let is_checking = matches!(
            dotted(&statement.test).as_deref(),
            Some("TYPE_CHECKING" | "typing.TYPE_CHECKING")
        );
        // No device but the CPU is there.
        let asks_for_device = matches!(&*statement.test, py::Expr::Call(call)
            if dotted(&call.func).is_some_and(|name| name.ends_with(".is_available")));
        let is_false = is_main(&statement.test) && &*self.name != "__main__" || asks_for_device;
        if !is_checking && !is_false {
            // What holds otherwise counts for the names that this does not bind.
            for clause in statement.elif_else_clauses {
                self.bind_all(clause.body);
            }
            self.bind_all(statement.body);
        } else {
            for clause in statement.elif_else_clauses {
                self.bind_all(clause.body);
            }
        }
    }

    /// The module that a relative import names.
    pub(crate) fn absolute(&self, level: u32, module: Option<&str>) -> String {
        if level == 0 {
            return module.unwrap_or_default().to_owned();
        }
        let mut parts: Vec<&str> = self.name.split('.').collect();
        let up = level as usize - usize::from(self.is_package);
        parts.truncate(parts.len().saturating_sub(up));
        parts.extend(module);
        parts.join(".")
    }

    /// The snippet of a function.
    pub(crate) fn function_snippet(&self, def: &py::StmtFunctionDef) -> Arc<Snippet> {
        self.snippet(def.start(), def.end(), &def.body)
    }

    /// The snippet of a class.
    pub(crate) fn class_snippet(&self, def: &py::StmtClassDef) -> Arc<Snippet> {
        self.snippet(def.start(), def.end(), &def.body)
    }

    fn snippet(&self, start: TextSize, end: TextSize, body: &[py::Stmt]) -> Arc<Snippet> {
        // A poisoned lock is as good as any: nothing is left half done.
        let mut snippets = self.snippets.lock().unwrap_or_else(PoisonError::into_inner);
        let made = snippets.entry(start).or_insert_with(|| Arc::new(self.cut(start, end, body)));
        Arc::clone(made)
    }

    fn cut(&self, start: TextSize, end: TextSize, body: &[py::Stmt]) -> Snippet {
        let (first, _) = self.line_column(start);
        let (last, _) = self.line_column(end);
        // The body is deep only when it begins a line.
        let body = body.first().and_then(|stmt| {
            let (line, column) = self.line_column(stmt.start());
            let before = self.text.get(self.line_starts.get(line).copied()? as usize..)?;
            let before = before.get(..column)?;
            before.bytes().all(|byte| byte.is_ascii_whitespace()).then(|| before.chars().count())
        });
        Snippet::new(&self.text, &self.filename, self.first_line, first, last, body)
    }

    fn line_column(&self, offset: TextSize) -> (usize, usize) {
        let offset = offset.to_u32();
        let line = self.line_starts.partition_point(|&start| start <= offset).saturating_sub(1);
        (line, (offset - self.line_starts.get(line).copied().unwrap_or(0)) as usize)
    }

    /// A place in the file.
    pub(crate) fn place(&self, node: &impl Ranged) -> SourceRange {
        let source = Source::new(&*self.text)
            .with_filename(&*self.filename)
            .with_starting_line(self.first_line);
        let range = Range::new(node.start().to_u32(), node.end().to_u32());
        SourceRange::new(Arc::new(source), range)
    }

    /// The names that it binds, in order.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.order
    }

    /// The names of its own functions, in order.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        let is_function =
            |name: &&Arc<str>| matches!(self.bindings.get(*name), Some(Binding::Function(_)));
        self.order.iter().filter(is_function).map(|name| &**name)
    }

    /// The statements that change what a name is bound to, after it is.
    pub(crate) fn changes(&self, name: &str) -> &[Arc<py::Stmt>] {
        self.changes.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names that a value is bound to.
    pub(crate) fn names_of(&self, value: &Arc<py::Expr>) -> Vec<Arc<str>> {
        let is_it = |name: &&Arc<str>| matches!(self.bindings.get(*name), Some(Binding::Value(known)) if Arc::ptr_eq(known, value));
        self.order.iter().filter(is_it).cloned().collect()
    }

    /// The expression that the text consists of, if it is one.
    pub(crate) fn only_expression(&self) -> Option<Arc<py::Expr>> {
        self.only_expression.clone()
    }

    /// Whether the file itself binds a name.
    pub(crate) fn binds(&self, name: &str) -> bool {
        self.bindings.contains_key(name) || self.overloads.contains_key(name)
    }

    /// The names of its own classes, in order.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &str> {
        let is_class =
            |name: &&Arc<str>| matches!(self.bindings.get(*name), Some(Binding::Class(_)));
        self.order.iter().filter(is_class).map(|name| &**name)
    }

    /// The signatures that a function is overloaded with.
    pub(crate) fn overloads(&self, name: &str) -> &[Arc<py::StmtFunctionDef>] {
        self.overloads.get(name).map_or(&[], Vec::as_slice)
    }
}

impl World {
    /// Finds modules in these folders, in order.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Makes a file known under its name.
    pub(crate) fn add(&mut self, module: Module) -> Arc<Module> {
        let module = Arc::new(module);
        self.modules.insert(module.name.to_string(), Some(Arc::clone(&module)));
        module
    }

    /// A module by its dotted name, if one of the folders has it.
    pub(crate) fn module(&mut self, name: &str) -> Result<Option<Arc<Module>>, Error> {
        if let Some(known) = self.modules.get(name) {
            return Ok(known.clone());
        }
        let found = self.find(name)?.map(Arc::new);
        self.modules.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    fn find(&self, name: &str) -> Result<Option<Module>, Error> {
        let is_name = |part: &str| !part.is_empty() && !part.contains(['/', '\\']) && part != "..";
        if library::is_closed(name) || !name.split('.').all(is_name) {
            return Ok(None);
        }
        if let Some((text, filename)) = library::source(name) {
            return Module::parse(name, &filename, text.to_owned(), false).map(Some);
        }
        let relative: PathBuf = name.split('.').collect();
        for folder in &self.folders {
            let package = folder.join(&relative).join("__init__.py");
            let file = folder.join(&relative).with_extension("py");
            for (path, is_package) in [(package, true), (file, false)] {
                if path.is_file() {
                    let text = read(&path)?;
                    let path = path.display().to_string();
                    return Module::parse(name, &path, text, is_package).map(Some);
                }
            }
        }
        library::stand_in(name)
            .map(|(text, filename)| {
                Module::parse(name, &filename, text.to_owned(), library::is_package(name))
            })
            .transpose()
    }

    /// What a name means at the top of a file, or in every Python program.
    pub(crate) fn lookup(
        &mut self,
        module: &Arc<Module>,
        name: &str,
    ) -> Result<Option<Object>, Error> {
        let mut scope = Arc::clone(module);
        loop {
            if let Some(object) = self.bound(&scope, name)? {
                return Ok(Some(object));
            }
            match &scope.enclosing {
                Some(enclosing) => scope = Arc::clone(enclosing),
                None => return Ok(library::free(name).map(Object::Library)),
            }
        }
    }

    /// What a file itself defines under a name, whatever the compiler takes that name for.
    pub(crate) fn defined(&mut self, module: &str, name: &str) -> Result<Option<Object>, Error> {
        let Some(module) = self.module(module)? else { return Ok(None) };
        Ok(match module.bindings.get(name).cloned() {
            Some(Binding::Function(def)) => Some(Object::Function(PyFunction { module, def })),
            Some(Binding::Class(def)) => Some(Object::Class(PyClass { module, def })),
            Some(Binding::Value(value)) => Some(Object::Value(module, value)),
            Some(Binding::Given(object)) => Some(object),
            Some(Binding::Import(_) | Binding::From(..)) | None => None,
        })
    }

    /// What a name is bound to where the library that it is imported from is not there.
    fn fallback(&mut self, module: &Arc<Module>, name: &str, from: &str) -> Option<Object> {
        if !library::is_foreign(from) {
            return None;
        }
        let module = Arc::clone(module);
        match module.fallbacks.get(name)? {
            Binding::Function(def) => {
                let def = Arc::clone(def);
                Some(Object::Function(PyFunction { module, def }))
            }
            Binding::Class(def) => {
                let def = Arc::clone(def);
                Some(Object::Class(PyClass { module, def }))
            }
            _ => None,
        }
    }

    /// What a name is in the modules whose names are all imported, the last first; each is looked at
    /// once.
    fn starred(
        &mut self,
        module: &Arc<Module>,
        name: &str,
        seen: &mut FxHashSet<String>,
    ) -> Result<Option<Object>, Error> {
        if name.starts_with('_') {
            return Ok(None);
        }
        for from in module.stars.iter().rev() {
            if seen.len() >= MAX_STARS || !seen.insert(from.clone()) {
                continue;
            }
            let full = library::canonical(&format!("{from}.{name}"));
            if library::knows(&full) || library::exports(from, name) {
                return Ok(Some(Object::Library(full)));
            }
            if let Some(source) = self.module(from)?
                && let Some(object) = self.bound_after(&source, name, seen)?
            {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }

    /// What a file binds a name to.
    fn bound(&mut self, module: &Arc<Module>, name: &str) -> Result<Option<Object>, Error> {
        self.bound_after(module, name, &mut FxHashSet::default())
    }

    /// The same, after the modules whose names are all imported and that were looked at.
    fn bound_after(
        &mut self,
        module: &Arc<Module>,
        name: &str,
        seen: &mut FxHashSet<String>,
    ) -> Result<Option<Object>, Error> {
        let mut module = Arc::clone(module);
        let mut name = name.to_owned();
        let mut is_passed_on = false;
        // Names may be passed on from file to file; no chain is longer than the files there are.
        for _ in 0..MAX_IMPORTS {
            if module.enclosing.is_none() && module.name.starts_with("torch.") {
                let dotted = library::canonical(&format!("{}.{name}", module.name));
                if library::knows(&dotted) {
                    return Ok(Some(Object::Library(dotted)));
                }
            }
            let Some(binding) = module.bindings.get(name.as_str()) else {
                if let Some(found) = self.starred(&module, &name, seen)? {
                    return Ok(Some(found));
                }
                // A file of a package that is imported from it.
                if is_passed_on
                    && module.is_package
                    && let Some(file) = self.module(&format!("{}.{name}", module.name))?
                {
                    return Ok(Some(Object::Module(file)));
                }
                let is_overloaded = !module.overloads(&name).is_empty();
                let last = module.overloads(&name).last().filter(|_| is_overloaded).cloned();
                return Ok(last.map(|def| Object::Function(PyFunction { module, def })));
            };
            let (from, member) = match binding {
                Binding::Function(def) => {
                    let def = Arc::clone(def);
                    return Ok(Some(Object::Function(PyFunction { module, def })));
                }
                Binding::Class(def) => {
                    let def = Arc::clone(def);
                    return Ok(Some(Object::Class(PyClass { module, def })));
                }
                Binding::Value(value) => {
                    let value = Arc::clone(value);
                    return self.alias(module, value).map(Some);
                }
                Binding::Import(of) => {
                    let of = of.clone();
                    return self.imported(&of).map(Some);
                }
                Binding::Given(object) => return Ok(Some(object.clone())),
                Binding::From(from, member) => (from.clone(), member.clone()),
            };
            let full = library::canonical(&format!("{from}.{member}"));
            if library::knows(&full) {
                return Ok(Some(Object::Library(full)));
            }
            // A package that imports a file of its own from itself.
            if from == *module.name && member == name {
                return self.imported(&full).map(Some);
            }
            let Some(source) = self.module(&from)? else {
                if let Some(fallback) = self.fallback(&module, &name, &from) {
                    return Ok(Some(fallback));
                }
                return self.imported(&format!("{from}.{member}")).map(Some);
            };
            if !source.bindings.contains_key(member.as_str())
                && source.overloads(&member).is_empty()
                && source.stars.is_empty()
            {
                return self.imported(&format!("{from}.{member}")).map(Some);
            }
            (module, name) = (source, member);
            is_passed_on = true;
        }
        Err(Error::without_range(format!("the name '{name}' is imported in a circle")))
    }

    /// `name = other` passes on what the other name stands for.
    fn alias(&mut self, module: Arc<Module>, value: Arc<py::Expr>) -> Result<Object, Error> {
        let names = dotted(&value);
        if let Some(names) = &names
            && let Some((first, rest)) = names.split_once('.')
            && let Some(Object::Library(base)) = self.imported_name(&module, first)?
            && !library::is_foreign(&base)
        {
            return self.imported(&format!("{base}.{rest}"));
        }
        Ok(Object::Value(module, value))
    }

    /// What an import at the top of a file binds a name to, other bindings aside.
    fn imported_name(&mut self, module: &Arc<Module>, name: &str) -> Result<Option<Object>, Error> {
        match module.bindings.get(name) {
            Some(Binding::Import(of)) => {
                let of = of.clone();
                self.imported(&of).map(Some)
            }
            Some(Binding::From(from, member)) => {
                let name = format!("{from}.{member}");
                self.imported(&name).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// What a dotted name means that is imported: a file, a member of one, or a library's.
    pub(crate) fn imported(&mut self, name: &str) -> Result<Object, Error> {
        if let Some(module) = self.module(name)? {
            return Ok(Object::Module(module));
        }
        let name = library::canonical(name);
        if library::knows(&name) {
            return Ok(Object::Library(name));
        }
        if let Some((from, member)) = name.rsplit_once('.')
            && let Some(module) = self.module(from)?
            && let Some(binding) = module.bindings.get(member)
        {
            return match binding {
                Binding::Function(def) => {
                    let def = Arc::clone(def);
                    Ok(Object::Function(PyFunction { module, def }))
                }
                Binding::Class(def) => {
                    let def = Arc::clone(def);
                    Ok(Object::Class(PyClass { module, def }))
                }
                Binding::Value(value) => {
                    let value = Arc::clone(value);
                    Ok(Object::Value(module, value))
                }
                Binding::Given(object) => Ok(object.clone()),
                Binding::Import(_) | Binding::From(..) => Ok(Object::Library(name)),
            };
        }
        Ok(Object::Library(name))
    }

    /// `object.name`, where it is known without running anything.
    pub(crate) fn member(&mut self, object: &Object, name: &str) -> Result<Option<Object>, Error> {
        match object {
            Object::Module(module) => {
                if let Some(object) = self.bound(module, name)? {
                    return Ok(Some(object));
                }
                let dotted = format!("{}.{name}", module.name);
                if let Some(submodule) = self.module(&dotted)? {
                    return Ok(Some(Object::Module(submodule)));
                }
                match module.name.starts_with("torch") {
                    true => self.imported(&dotted).map(Some),
                    false => Ok(None),
                }
            }
            Object::Library(base) => self.imported(&format!("{base}.{name}")).map(Some),
            Object::Function(_) | Object::Class(_) | Object::Value(..) => Ok(None),
        }
    }

    /// What a dotted name means in a file.
    pub(crate) fn dotted(
        &mut self,
        module: &Arc<Module>,
        name: &str,
    ) -> Result<Option<Object>, Error> {
        let mut parts = name.split('.');
        let Some(first) = parts.next() else { return Ok(None) };
        let mut object = self.lookup(module, first)?;
        for part in parts {
            let Some(base) = &object else { return Ok(None) };
            object = self.member(base, part)?;
        }
        Ok(object)
    }

    /// What a decorator is called: a library's dotted name, or what is written.
    pub(crate) fn decorator(
        &mut self,
        module: &Arc<Module>,
        decorator: &py::Decorator,
    ) -> Result<String, Error> {
        let expression = match &decorator.expression {
            py::Expr::Call(call) => &*call.func,
            other => other,
        };
        let Some(name) = dotted(expression) else { return Ok("?".into()) };
        match self.dotted(module, &name)? {
            Some(Object::Library(name)) => Ok(name),
            Some(Object::Function(function)) => {
                Ok(format!("{}.{}", function.module.name, function.name()))
            }
            _ => Ok(name),
        }
    }
}

/// How many calls are followed, in all.
const MAX_CALLS: usize = 1 << 10;

/// How many files whose names are all imported a name is looked for in.
const MAX_STARS: usize = 64;

/// How many files a name may be passed on through.
const MAX_IMPORTS: usize = 64;

/// Reads a Python file.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    let fail = |why: String| Error::without_range(format!("{}: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if size > MAX_FILE {
        return Err(fail("the file is too large for a Python file".into()));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| fail("this is no UTF-8 text".into()))?;
    // As Python reads text: line ends of all kinds are one.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match text.contains('\r') {
        true => Ok(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Ok(text.to_owned()),
    }
}
