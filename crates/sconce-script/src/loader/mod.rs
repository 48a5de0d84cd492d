//! Python files: found along folders, parsed, and asked what their names stand for. Nothing runs.

mod bodies;
pub(crate) mod closures;
pub(crate) mod inheritance;
mod module;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::Error;

use crate::frontend::dotted;
use crate::library;
use crate::loader::closures::CalledFunction;
use crate::loader::inheritance::Ancestor;

use module::Binding;
pub(crate) use module::Module;

/// The largest Python file that is read.
const MAX_FILE: u64 = 16 << 20;

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
    /// What only Python can use, by the name of its type.
    Opaque(Arc<str>),
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
        (Arc::clone(self.module.key()), self.def.start().to_u32())
    }

    pub(crate) fn name(&self) -> &str {
        self.def.name.as_str()
    }

    /// The function itself, whatever decorators have put in its place.
    pub(crate) fn undecorated(&self) -> Self {
        if self.def.decorator_list.is_empty() || self.module.origin().is_some() {
            return self.clone();
        }
        let key = format!("{} undecorated", self.module.key()).into();
        let module = Arc::new(self.module.seen_from(&self.module, key));
        Self { module, def: Arc::clone(&self.def) }
    }
}

impl PyClass {
    /// What tells it from every other class.
    pub(crate) fn key(&self) -> (Arc<str>, u32) {
        (Arc::clone(self.module.key()), self.def.start().to_u32())
    }

    pub(crate) fn name(&self) -> &str {
        self.def.name.as_str()
    }
}

/// Tells whether a condition at the top of a file holds, if that can be known.
pub(crate) type Judge = fn(&mut ModuleLoader, &Arc<Module>, &py::Expr) -> Option<bool>;

/// Compiles a text without classes, whose function is what its calls of torch's operators are run by.
pub(crate) type CompileText = fn(&str) -> Result<sconce_torchscript::Module, Error>;

/// All files that have been asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModuleLoader {
    folders: Vec<PathBuf>,
    modules: FxHashMap<String, Option<Arc<Module>>>,
    /// The functions that were called, by the place of the call.
    pub(crate) calls: FxHashMap<Arc<str>, CalledFunction>,
    /// Whether conditions at the top of files hold, by file and place; nothing for what is not known, or being
    /// looked at.
    conditions: FxHashMap<(Arc<str>, u32), Option<bool>>,
    /// What tells it.
    judge: Option<Judge>,
    /// What compiles calls of torch's operators that constructors make.
    compiler: Option<CompileText>,
    /// The ancestors of classes, by file and place.
    pub(crate) orders: FxHashMap<(Arc<str>, u32), Arc<[Ancestor]>>,
}

/// Files that a loader knows by name.
#[derive(Debug, Default)]
pub(crate) struct Files(FxHashMap<String, Option<Arc<Module>>>);

impl ModuleLoader {
    /// Whether one more call may be followed: each may lead to several.
    pub(crate) fn may_follow(&self) -> bool {
        self.calls.len() < MAX_CALLS
    }
}

impl ModuleLoader {
    /// Finds modules in these folders, in order.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Lets conditions at the top of files be told. They are all taken to hold otherwise.
    pub(crate) fn with_judge(mut self, judge: Judge) -> Self {
        self.judge = Some(judge);
        self
    }

    /// Lets constructors call torch's operators.
    pub(crate) fn with_compiler(mut self, compiler: CompileText) -> Self {
        self.compiler = Some(compiler);
        self
    }

    /// What compiles calls of torch's operators.
    pub(crate) fn compiler(&self) -> Option<CompileText> {
        self.compiler
    }

    /// Whether a condition at the top of a file holds.
    fn holds(&mut self, module: &Arc<Module>, test: &py::Expr) -> bool {
        let Some(judge) = self.judge else { return true };
        let key = (Arc::clone(module.key()), test.start().to_u32());
        if let Some(known) = self.conditions.get(&key) {
            return known.unwrap_or(true);
        }
        self.conditions.insert(key.clone(), None);
        let found = judge(self, module, test);
        self.conditions.insert(key, found);
        found.unwrap_or(true)
    }

    /// Takes the files of other repositories than the one that is at work aside, and those it had before.
    pub(crate) fn exchange_files(&mut self, files: &mut Files) {
        let is_of_library = |name: &str| name.split('.').next() == Some("torch");
        let own = self.modules.extract_if(|name, _| !is_of_library(name)).collect();
        self.modules.extend(std::mem::replace(&mut files.0, own));
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

    /// The source written here of a module that a folder may have, too: what constructors call where
    /// the library's own does what they cannot.
    pub(crate) fn bundled_source(&mut self, name: &str) -> Result<Option<Arc<Module>>, Error> {
        let key = format!("{name} (written here)");
        if let Some(known) = self.modules.get(&key) {
            return Ok(known.clone());
        }
        let made = library::bundled_source(name)
            .map(|(text, filename)| Module::parse(name, &filename, text.to_owned(), false))
            .transpose()?
            .map(Arc::new);
        self.modules.insert(key, made.clone());
        Ok(made)
    }

    fn find(&self, name: &str) -> Result<Option<Module>, Error> {
        let is_name = |part: &str| !part.is_empty() && !part.contains(['/', '\\']) && part != "..";
        if library::is_closed(name) || !name.split('.').all(is_name) {
            return Ok(None);
        }
        if let Some((text, filename)) = library::source(name) {
            return Module::parse(name, &filename, text.to_owned(), false).map(Some);
        }
        if let Some((path, is_package)) = file_in(&self.folders, name) {
            let text = read(&path)?;
            let path = path.display().to_string();
            return Module::parse(name, &path, text, is_package).map(Some);
        }
        library::bundled_source(name)
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

    /// Whether a module could be imported: one of Python's, of the libraries known here, or one that a
    /// folder has.
    pub(crate) fn is_installed(&self, name: &str) -> bool {
        let top = name.split('.').next().unwrap_or_default();
        !library::is_foreign(top)
            || top == "numpy"
            || library::is_standard(top)
            || library::is_loaded(top)
            || self.modules.get(top).is_some_and(Option::is_some)
            || file_in(&self.folders, top).is_some()
            || self.folders.iter().any(|folder| folder.join(top).is_dir())
    }

    /// What a file binds a name to by itself, as far as its imports can be made.
    fn binding<'m>(&mut self, module: &'m Arc<Module>, name: &str) -> Option<&'m Binding> {
        if let Some(fallback) = module.fallbacks.get(name)
            && !fallback.needs.iter().all(|name| self.is_installed(name))
        {
            return Some(&fallback.binding);
        }
        let Some(mut choice) = module.choices.get(name) else { return module.bindings.get(name) };
        while !self.holds(module, &choice.test) {
            let Some(next) = &choice.next else { return Some(&choice.otherwise) };
            choice = next;
        }
        Some(&choice.if_true)
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
            let Some(binding) = self.binding(&module, &name).cloned() else {
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
                    return Ok(Some(Object::Function(PyFunction { module, def })));
                }
                Binding::Class(def) => return Ok(Some(Object::Class(PyClass { module, def }))),
                Binding::Value(value) => return self.alias(module, value).map(Some),
                Binding::Import(of) => return self.imported(&of).map(Some),
                Binding::Given(object) => return Ok(Some(object)),
                Binding::From(from, member) => (from, member),
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
            // PyTorch imports itself.
            Object::Module(module) if name == "torch" && &*module.name == "torch" => {
                Ok(Some(object.clone()))
            }
            Object::Library(base) if name == "torch" && base == "torch" => Ok(Some(object.clone())),
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
            Object::Function(_) | Object::Class(_) | Object::Value(..) | Object::Opaque(_) => {
                Ok(None)
            }
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
        // Where the function is defined, from wherever it is seen.
        let module = module.origin().unwrap_or(module);
        match self.dotted(module, &name)? {
            Some(Object::Library(name)) => Ok(name),
            Some(Object::Class(class)) => Ok(format!("{}.{}", class.module.name, class.name())),
            Some(Object::Function(function)) => {
                Ok(format!("{}.{}", function.module.name, function.name()))
            }
            _ => Ok(name),
        }
    }
}

/// The file of a module in the first of the folders that has it, and whether it is a package's.
pub(crate) fn file_in(folders: &[PathBuf], name: &str) -> Option<(PathBuf, bool)> {
    let relative: PathBuf = name.split('.').collect();
    folders.iter().find_map(|folder| {
        let package = folder.join(&relative).join("__init__.py");
        // Not `with_extension`: what follows a point in a folder's name is no extension.
        let mut file = folder.join(&relative).into_os_string();
        file.push(".py");
        let files = [(package, true), (PathBuf::from(file), false)];
        files.into_iter().find(|(path, _)| path.is_file())
    })
}

/// How many calls are followed, in all.
const MAX_CALLS: usize = 1 << 10;

/// How many files whose names are all imported a name is looked for in.
const MAX_STARS: usize = 64;

/// How many files a name may be passed on through.
const MAX_IMPORTS: usize = 64;

/// The encoding that one of the first two lines of a file declares, as PEP 263 has it.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let line = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        let comment =
            text.trim_start_matches('\u{feff}').trim_start().strip_prefix('#')?.to_owned();
        let (_, rest) = comment.split_once("coding")?;
        let name = rest.strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = name.chars().take_while(|&c| is_part(c)).collect();
        (!name.is_empty()).then(|| name.to_lowercase().replace('_', "-"))
    };
    bytes.split(|&byte| byte == b'\n').take(2).find_map(line)
}

/// Reads a Python file.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    let fail = |why: String| Error::without_range(format!("{}: {why}", path.display()));
    let metadata = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?;
    // Opening a named pipe would wait for its writer.
    if !metadata.is_file() {
        return Err(fail("this is not a file".into()));
    }
    if metadata.len() > MAX_FILE {
        return Err(fail("the file is too large for a Python file".into()));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    let text = match declared_encoding(&bytes).as_deref() {
        None | Some("utf-8" | "utf8" | "utf-8-sig" | "u8" | "ascii" | "us-ascii") => {
            String::from_utf8(bytes).map_err(|_| fail("this is no UTF-8 text".into()))?
        }
        Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1") => {
            bytes.into_iter().map(char::from).collect()
        }
        Some(other) => {
            return Err(fail(format!("texts in {other} are not read: convert it to UTF-8")));
        }
    };
    // As Python reads text: line ends of all kinds are one.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match text.contains('\r') {
        true => Ok(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Ok(text.to_owned()),
    }
}
