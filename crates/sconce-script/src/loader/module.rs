//! A parsed Python file: what its names are bound to, and the text of its definitions.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ruff_python_ast as py;
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::Error;
use sconce_syntax::{Range, Source, SourceRange};

use super::{Object, bodies};
use crate::frontend::dotted;
use crate::nesting;
use crate::rebinding;
use crate::snippet::Snippet;

/// A parsed Python file.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its dotted name; `__main__` for a script.
    pub(crate) name: Arc<str>,
    /// What tells it from others, which functions in it are known by: its name, for a file.
    key: Arc<str>,
    /// The names that are looked up where it has none, for what is inside a function of a file.
    pub(super) enclosing: Option<Arc<Module>>,
    /// The file that the text is of, where it is seen from another place.
    origin: Option<Arc<Module>>,
    /// The path that errors and comments show.
    filename: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
    /// The number of the first line.
    first_line: u32,
    pub(super) is_package: bool,
    pub(super) bindings: FxHashMap<Arc<str>, Binding>,
    /// The names in order of their definitions.
    pub(super) order: Vec<Arc<str>>,
    /// The modules whose names are all imported: `from a import *`.
    pub(super) stars: Vec<String>,
    /// What names are bound to where an import fails: `except ImportError:`.
    pub(super) fallbacks: FxHashMap<Arc<str>, Fallback>,
    /// What names are bound to where a condition does not hold.
    pub(super) choices: FxHashMap<Arc<str>, Arc<Choice>>,
    /// What follows the bindings of names and changes what they are bound to, in order.
    pub(super) changes: FxHashMap<Arc<str>, Vec<Arc<py::Stmt>>>,
    /// The expression that is all of it.
    only_expression: Option<Arc<py::Expr>>,
    /// Signatures that `@torch.jit._overload` declares, by the function's name.
    pub(super) overloads: FxHashMap<Arc<str>, Vec<Arc<py::StmtFunctionDef>>>,
    /// The texts of definitions that were asked for, by where they begin: places of one definition
    /// are of one source, as often as it is compiled.
    sources: Mutex<FxHashMap<TextSize, Arc<Source>>>,
    /// Functions whose bodies were left out and asked for again.
    whole: Mutex<FxHashMap<TextSize, Arc<py::StmtFunctionDef>>>,
    /// Functions whose bodies were left out and that are generators.
    generators: Arc<FxHashSet<TextSize>>,
    /// All of its text, which places are of.
    whole_source: OnceLock<Arc<Source>>,
    /// For classes that were asked for a member, by where they begin: the last statement that binds each name.
    last_bindings: Mutex<FxHashMap<TextSize, Arc<Bindings>>>,
}

/// Which statement of a class's body is the last to bind a name, for each name.
type Bindings = FxHashMap<Box<str>, usize>;

/// What a name of a file is bound to.
#[derive(Debug, Clone)]
pub(super) enum Binding {
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

/// What a name is bound to where one of some modules is not installed.
#[derive(Debug, Clone)]
pub(super) struct Fallback {
    pub(super) binding: Binding,
    pub(super) needs: Arc<[String]>,
}

/// How many conditions one name may depend on; beyond them the last is taken to hold.
const MAX_CHOICES: usize = 256;

/// What a name is bound to by the branches of an `if`.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) test: Arc<py::Expr>,
    pub(super) if_true: Binding,
    pub(super) otherwise: Binding,
    /// What the other binding depends on in its turn.
    pub(super) next: Option<Arc<Choice>>,
    /// How many there are, this one counted.
    depth: usize,
}

impl Module {
    /// Parses a file. Its last line ends as the others do, as `linecache` has it.
    pub(crate) fn parse(
        name: &str,
        filename: &str,
        mut text: String,
        is_package: bool,
    ) -> Result<Self, Error> {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Self::of_text(name, filename, text, is_package)
    }

    fn of_text(name: &str, filename: &str, text: String, is_package: bool) -> Result<Self, Error> {
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
            origin: None,
            filename: filename.into(),
            line_starts,
            first_line: 1,
            is_package,
            bindings: FxHashMap::default(),
            order: Vec::new(),
            stars: Vec::new(),
            fallbacks: FxHashMap::default(),
            choices: FxHashMap::default(),
            overloads: FxHashMap::default(),
            sources: Mutex::default(),
            whole: Mutex::default(),
            generators: Arc::default(),
            whole_source: OnceLock::new(),
            last_bindings: Mutex::default(),
            changes: FxHashMap::default(),
            only_expression: None,
            text: text.into(),
        };
        let mut suite = parsed.into_suite();
        module.generators = Arc::new(bodies::leave_out(&mut suite, module.text.len()));
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
            origin: None,
            filename: Arc::clone(&file.filename),
            text: Arc::clone(&file.text),
            line_starts: Arc::clone(&file.line_starts),
            first_line: file.first_line,
            is_package: file.is_package,
            bindings: FxHashMap::default(),
            order: Vec::new(),
            stars: Vec::new(),
            fallbacks: FxHashMap::default(),
            choices: FxHashMap::default(),
            overloads: FxHashMap::default(),
            sources: Mutex::default(),
            whole: Mutex::default(),
            generators: Arc::clone(&file.generators),
            whole_source: OnceLock::new(),
            last_bindings: Mutex::default(),
            changes: FxHashMap::default(),
            only_expression: None,
        }
    }

    /// A file as a function sees it that stands for one of the file's own: the text of this, the names
    /// around the other, and the other's path in messages.
    pub(crate) fn seen_from(self: &Arc<Self>, other: &Arc<Self>, key: Arc<str>) -> Self {
        Self {
            origin: Some(Arc::clone(self)),
            name: Arc::clone(&self.name),
            text: Arc::clone(&self.text),
            line_starts: Arc::clone(&self.line_starts),
            first_line: self.first_line,
            is_package: self.is_package,
            generators: Arc::clone(&self.generators),
            ..Self::inside(other, key)
        }
    }

    /// Source that Python or PyTorch makes for a file and that sees the file's names.
    pub(crate) fn made(
        file: &Arc<Self>,
        filename: &str,
        first_line: u32,
        text: String,
    ) -> Result<Self, Error> {
        let mut made = Self::of_text(&file.name, filename, text, false)?;
        made.key = format!("{}:{filename}", file.key).into();
        made.enclosing = Some(Arc::clone(file));
        made.first_line = first_line;
        Ok(made)
    }

    /// The same file, told from others of its name.
    pub(crate) fn with_key(mut self, key: String) -> Self {
        self.key = key.into();
        self
    }

    /// The file that its text is of, where it is seen from another place: what decorators and defaults of a
    /// function are evaluated in.
    pub(crate) fn origin(&self) -> Option<&Arc<Self>> {
        self.origin.as_ref()
    }

    /// Its statements, all of them whole.
    pub(crate) fn statements(&self) -> Result<Vec<py::Stmt>, Error> {
        let parsed = nesting::with_stack(|| ruff_python_parser::parse_module(&self.text));
        // The text has been parsed before.
        parsed
            .map(|parsed| parsed.into_suite())
            .map_err(|error| Error::without_range(format!("{}: {}", self.filename, error.error)))
    }

    /// The path that errors show.
    pub(crate) fn filename(&self) -> &Arc<str> {
        &self.filename
    }

    /// Whether it is a package, which files are in.
    pub(crate) fn is_package(&self) -> bool {
        self.is_package
    }

    /// The text of a part of it.
    pub(crate) fn text_of(&self, node: &impl Ranged) -> &str {
        self.text.get(node.start().to_usize()..node.end().to_usize()).unwrap_or_default()
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

    /// The class that it binds a name to.
    pub(crate) fn own_class(&self, name: &str) -> Option<&Arc<py::StmtClassDef>> {
        match self.bindings.get(name) {
            Some(Binding::Class(def)) => Some(def),
            _ => None,
        }
    }

    /// Whether a statement gives a class of the file its own name again once it is compiled:
    /// `Pair = torch.jit.script(Pair)`.
    fn scripts_class(&self, assign: &py::StmtAssign) -> bool {
        let ([py::Expr::Name(target)], py::Expr::Call(call)) = (&*assign.targets, &*assign.value)
        else {
            return false;
        };
        let of = call.arguments.args.first().and_then(dotted);
        let callee = dotted(&call.func);
        of.as_deref() == Some(target.id.as_str())
            && matches!(callee.as_deref(), Some("torch.jit.script" | "jit.script"))
            && self.own_class(&target.id).is_some()
    }

    /// Whether `from __future__ import annotations` leaves annotations unevaluated.
    pub(crate) fn has_text_annotations(&self) -> bool {
        matches!(self.bindings.get("annotations"),
            Some(Binding::From(from, _)) if from == "__future__")
    }

    fn bind(&mut self, name: &str, binding: Binding) {
        let name: Arc<str> = name.into();
        self.changes.remove(&name);
        self.choices.remove(&name);
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
        let changed = rebinding::changed_names(&statement);
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
                if self.scripts_class(&assign) {
                    return;
                }
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
            py::Stmt::Try(statement) => self.bind_try(statement),
            py::Stmt::With(statement) => self.bind_all(statement.body),
            _ => {}
        }
    }

    /// A `try` goes well, but for names that its handler binds where what it imports is not installed.
    fn bind_try(&mut self, statement: py::StmtTry) {
        let needs: Arc<[String]> = statement.body.iter().flat_map(imported_modules).collect();
        let mut known = Vec::new();
        for handler in statement.handlers {
            let py::ExceptHandler::ExceptHandler(handler) = handler;
            let is_for_imports = catches_imports(handler.type_.as_deref());
            let names: Vec<String> = handler.body.iter().flat_map(defined_names).collect();
            self.bind_all(handler.body);
            if !is_for_imports || needs.is_empty() {
                continue;
            }
            known.extend(names.into_iter().filter_map(|name| {
                let binding = self.bindings.get(name.as_str())?.clone();
                Some((name, Fallback { binding, needs: Arc::clone(&needs) }))
            }));
        }
        self.bind_all(statement.body);
        self.bind_all(statement.orelse);
        for (name, fallback) in known {
            self.fallbacks.insert(name.into(), fallback);
        }
        self.bind_all(statement.finalbody);
    }

    /// The clauses of an `if`, the last first: each counts where those before it do not hold.
    fn bind_if(&mut self, statement: py::StmtIf) {
        for clause in statement.elif_else_clauses.into_iter().rev() {
            match clause.test {
                Some(test) => self.bind_clause(test, clause.body),
                None => self.bind_all(clause.body),
            }
        }
        self.bind_clause(*statement.test, statement.body);
    }

    /// A condition, and what is bound where it holds. What is bound already counts otherwise.
    fn bind_clause(&mut self, test: py::Expr, body: Vec<py::Stmt>) {
        let is_main = |test: &py::Expr| {
            matches!(test, py::Expr::Compare(compare)
                if matches!(&*compare.left, py::Expr::Name(name) if name.id == "__name__"))
        };
        let is_checking =
            dotted(&test).is_some_and(|name| name.rsplit('.').next() == Some("TYPE_CHECKING"));
        // No device but the CPU is there.
        let asks_for_device = matches!(&test, py::Expr::Call(call)
            if dotted(&call.func).is_some_and(|name| name.ends_with(".is_available")));
        // Programs see no variables of the process.
        let asks_for_variable = matches!(&test, py::Expr::Compare(compare)
            if *compare.ops == [py::CmpOp::In]
                && compare.comparators.first().and_then(dotted).is_some_and(|name| name == "os.environ"));
        let is_false =
            is_main(&test) && &*self.name != "__main__" || asks_for_device || asks_for_variable;
        if is_checking || is_false {
            return;
        }
        // What holds otherwise counts for the names that this does not bind.
        let names = body.iter().flat_map(|one| [defined_names(one), imported_names(one)].concat());
        let otherwise: Vec<_> = names
            .filter_map(|name| {
                let binding = self.bindings.get(name.as_str())?.clone();
                let next = self.choices.get(name.as_str()).cloned();
                Some((name, binding, next))
            })
            .collect();
        self.bind_all(body);
        let test = Arc::new(test);
        for (name, otherwise, next) in otherwise {
            let Some(if_true) = self.bindings.get(name.as_str()).cloned() else { continue };
            let depth = next.as_ref().map_or(1, |next| next.depth + 1);
            if depth <= MAX_CHOICES {
                let test = Arc::clone(&test);
                let choice = Choice { test, if_true, otherwise, next, depth };
                self.choices.insert(name.into(), Arc::new(choice));
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
        let mut snippet = self.cut(start, end, body);
        // A poisoned lock is as good as any: nothing is left half done.
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let source = sources.entry(start).or_insert_with(|| Arc::clone(&snippet.source));
        snippet.source = Arc::clone(source);
        Arc::new(snippet)
    }

    /// A function with its whole body, which a large file is kept without: parsed again when somebody
    /// needs it.
    pub(crate) fn whole(&self, def: &Arc<py::StmtFunctionDef>) -> Arc<py::StmtFunctionDef> {
        let is_whole = def.body.last().is_none_or(|last| last.end() == def.end());
        if is_whole {
            return Arc::clone(def);
        }
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let parsed = whole.entry(def.start()).or_insert_with(|| {
            let parsed = bodies::parsed_in_place(&self.text, def);
            parsed.map_or_else(|| Arc::clone(def), Arc::new)
        });
        Arc::clone(parsed)
    }

    /// Which statement of a class's body is the last to bind a name, for each name.
    pub(crate) fn last_bindings(&self, class: &py::StmtClassDef) -> Arc<Bindings> {
        let mut known = self.last_bindings.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.entry(class.start()).or_insert_with(|| {
            let mut last = Bindings::default();
            for (at, statement) in class.body.iter().enumerate() {
                for name in defined_names(statement) {
                    last.insert(name.into(), at);
                }
            }
            Arc::new(last)
        });
        Arc::clone(found)
    }

    /// Whether a function is a generator.
    pub(crate) fn is_generator(&self, def: &py::StmtFunctionDef) -> bool {
        bodies::yields(&def.body) || self.generators.contains(&def.start())
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
        Snippet::new(
            (&self.text, &self.line_starts),
            &self.filename,
            self.first_line,
            first,
            last,
            body,
        )
    }

    fn line_column(&self, offset: TextSize) -> (usize, usize) {
        let offset = offset.to_u32();
        let line = self.line_starts.partition_point(|&start| start <= offset).saturating_sub(1);
        (line, (offset - self.line_starts.get(line).copied().unwrap_or(0)) as usize)
    }

    /// A place in the file.
    pub(crate) fn place(&self, node: &impl Ranged) -> SourceRange {
        let source = self.whole_source.get_or_init(|| {
            let source = Source::new(&*self.text).with_filename(&*self.filename);
            Arc::new(source.with_starting_line(self.first_line))
        });
        let range = Range::new(node.start().to_u32(), node.end().to_u32());
        SourceRange::new(Arc::clone(source), range)
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

/// The modules that a statement imports, those of its own package aside.
fn imported_modules(statement: &py::Stmt) -> Vec<String> {
    match statement {
        py::Stmt::Import(import) => {
            import.names.iter().map(|alias| alias.name.to_string()).collect()
        }
        py::Stmt::ImportFrom(import) if import.level == 0 => {
            import.module.iter().map(ToString::to_string).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a handler is for imports that fail.
fn catches_imports(caught: Option<&py::Expr>) -> bool {
    match caught {
        None => true,
        Some(py::Expr::Tuple(several)) => several.elts.iter().any(|one| catches_imports(Some(one))),
        Some(one) => matches!(
            dotted(one).as_deref(),
            Some("ImportError" | "ModuleNotFoundError" | "Exception" | "BaseException")
        ),
    }
}

/// The names that a statement binds to a function, a class or a value.
fn defined_names(statement: &py::Stmt) -> Vec<String> {
    match statement {
        py::Stmt::FunctionDef(def) => vec![def.name.to_string()],
        py::Stmt::ClassDef(def) => vec![def.name.to_string()],
        py::Stmt::Assign(assign) => assign
            .targets
            .iter()
            .filter_map(|target| Some(target.as_name_expr()?.id.to_string()))
            .collect(),
        py::Stmt::AnnAssign(assign) if assign.value.is_some() => {
            assign.target.as_name_expr().map(|name| name.id.to_string()).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The names that a statement imports.
fn imported_names(statement: &py::Stmt) -> Vec<String> {
    let alias = |alias: &py::Alias| alias.asname.as_ref().unwrap_or(&alias.name).to_string();
    match statement {
        py::Stmt::Import(import) => import.names.iter().map(alias).collect(),
        py::Stmt::ImportFrom(import) => import.names.iter().map(alias).collect(),
        _ => Vec::new(),
    }
}
