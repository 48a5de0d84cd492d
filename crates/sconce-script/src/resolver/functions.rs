//! Functions: signatures with defaults, compiled when first named.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use sconce_compiler::{Definition, Error, Global, Options, compile_owned, completed, declare};
use sconce_ir::{Argument, Function, FunctionId, Schema, Type, Unit};
use sconce_syntax::SourceRange;
use sconce_syntax::ast::Def;

use super::{MAX_PENDING, Python};
use crate::frontend::{self, Body, Shape};
use crate::interpreter::{TopLevel, decorated_at_top};
use crate::library;
use crate::loader::{Module, Object, PyFunction};
use crate::snippet::Snippet;

/// What a function's decorators make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decorated {
    /// It is compiled.
    Plain,
    /// `@torch.jit.unused`: its body raises.
    Unused,
    /// `@torch.jit.ignore`: it stays in Python.
    Ignored,
}

/// `@torch.jit.ignore(drop=True)`, and `drop_on_export`, its old name.
fn is_dropped(decorator: &py::Decorator) -> bool {
    let py::Expr::Call(call) = &decorator.expression else { return false };
    let is_true =
        |value: &py::Expr| matches!(value, py::Expr::BooleanLiteral(literal) if literal.value);
    call.arguments.keywords.iter().any(|keyword| {
        matches!(keyword.arg.as_deref(), Some("drop" | "drop_on_export")) && is_true(&keyword.value)
    })
}

fn cannot_decorate(
    function: &PyFunction,
    decorator: &py::Decorator,
    name: &str,
    why: &str,
) -> Error {
    let message = format!(
        "'{}' is decorated with '{name}', Python code that cannot be followed here: {why}",
        function.name()
    );
    Error::new(message, function.module.place(decorator))
}

/// Whether a decorator of a library gives the function back, or is looked at elsewhere.
fn gives_back(name: &str) -> bool {
    match name.rsplit('.').next().unwrap_or_default() {
        "unused" | "ignore" => true,
        "deprecated" => name.starts_with("typing") || name.starts_with("warnings"),
        "staticmethod" | "classmethod" | "property" | "setter" | "abstractmethod" => true,
        "wrap" => name.starts_with("torch.fx"),
        "_drop"
        | "script"
        | "script_if_tracing"
        | "export"
        | "_overload"
        | "_overload_method"
        | "_copy_to_script_wrapper"
        | "compile" => name.starts_with("torch"),
        "wraps" | "lru_cache" | "cache" => name.starts_with("functools"),
        "overload" | "final" | "no_type_check" | "override" => name.starts_with("typing"),
        _ => false,
    }
}

impl Decorated {
    pub(crate) fn body(self) -> Body {
        if self == Self::Unused { Body::Raises } else { Body::Compiled }
    }
}

/// Which defaults a signature gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defaults {
    /// All; one that is not of its parameter's type is wrong.
    All,
    /// Those that are of the types of the signature, one of several.
    Fitting,
}

/// A function that is declared and waits to be compiled.
pub(crate) struct Pending {
    pub(crate) definition: Definition,
    pub(crate) function: PyFunction,
}

/// The tree of a function with the text it is of.
pub(crate) struct Tree {
    pub(crate) def: Arc<Def>,
    pub(crate) snippet: Arc<Snippet>,
    /// The source of the functions that blocks left to Python became.
    blocks: Vec<String>,
}

/// PyTorch's tree of a function, under another name if one is given.
pub(crate) fn tree(
    function: &PyFunction,
    name: &str,
    self_name: Option<&str>,
    body: Body,
    is_class_method: bool,
) -> Result<Tree, Error> {
    tree_of(function.module.function_snippet(&function.def), name, self_name, body, is_class_method)
}

/// The same of a function's text.
pub(crate) fn tree_of(
    snippet: Arc<Snippet>,
    name: &str,
    self_name: Option<&str>,
    body: Body,
    is_class_method: bool,
) -> Result<Tree, Error> {
    // Parsed anew without its indentation, as PyTorch does: strings in it change, too.
    let parsed = crate::nesting::with_stack(|| ruff_python_parser::parse_module(&snippet.text));
    let parsed = parsed.map_err(|error| {
        let at = snippet.range(error.location.start().to_u32(), 1);
        Error::new(error.error.to_string(), SourceRange::new(Arc::clone(&snippet.source), at))
    })?;
    let Ok([py::Stmt::FunctionDef(def)]) = <[py::Stmt; 1]>::try_from(parsed.into_suite()) else {
        let at = snippet.range(0, 1);
        let message = "Expected a single top-level function";
        return Err(Error::new(message, SourceRange::new(Arc::clone(&snippet.source), at)));
    };
    let shape = Shape { name, self_name, body, is_class_method };
    let (def, blocks) = frontend::definition(&snippet, def, shape)?;
    Ok(Tree { def: Arc::new(def), snippet, blocks })
}

impl Python {
    /// Makes the functions known that blocks left to Python became.
    pub(super) fn keep_blocks(&mut self, tree: &Tree) -> Result<(), Error> {
        if tree.blocks.is_empty() {
            return Ok(());
        }
        if self.blocks.is_empty() {
            self.blocks.push_str(frontend::BLOCKS_HEADER);
        }
        tree.blocks.iter().for_each(|block| self.blocks.push_str(block));
        let (name, text) = (frontend::BLOCKS_MODULE, self.blocks.clone());
        self.loader.add(Module::parse(name, "torch/jit/frontend.py", text, false)?);
        Ok(())
    }

    /// What a function means in a program: itself, compiled.
    pub(crate) fn function(
        &mut self,
        unit: &mut Unit,
        function: &PyFunction,
    ) -> Result<Option<Global>, Error> {
        let overloads = function.module.overloads(function.name()).to_vec();
        if !overloads.is_empty() {
            return self.overloaded(unit, function, &overloads).map(Some);
        }
        if self.is_cached(function)? {
            let schema = self.python_schema(unit, function)?;
            return Ok(Some(Global::Python(Arc::new(schema))));
        }
        let function = &self.as_decorated(function)?;
        match self.decorated(function)? {
            Decorated::Unused => {
                let schema = self.python_schema(unit, function)?;
                Ok(Some(Global::Dropped(Arc::new(schema))))
            }
            Decorated::Ignored => {
                let schema = self.python_schema(unit, function)?;
                Ok(Some(Global::Python(Arc::new(schema))))
            }
            how => {
                let id = self.compiled(unit, function, how)?;
                Ok(Some(Global::Function(id)))
            }
        }
    }

    /// The signature of a function that stays in Python. Its defaults do not count.
    fn python_schema(&mut self, unit: &mut Unit, function: &PyFunction) -> Result<Schema, Error> {
        let tree = tree(function, function.name(), None, Body::Left, false)?;
        let definition = Definition::new(tree.def, Arc::clone(&tree.snippet.source));
        let module = Arc::clone(&function.module);
        let name: Arc<str> = function.name().into();
        self.in_scope(&module, |python| {
            let mut schema = declare(unit, python, &definition, None, name)?;
            let ty = schema.returns.first().map(|result| result.ty.clone());
            // PyTorch names the result after its place.
            schema.returns = vec![Argument::new("0", ty.unwrap_or_else(Type::inferred_tensor))];
            Ok(schema)
        })
    }

    /// A function with several signatures: its body compiled for each.
    fn overloaded(
        &mut self,
        unit: &mut Unit,
        function: &PyFunction,
        overloads: &[Arc<py::StmtFunctionDef>],
    ) -> Result<Global, Error> {
        let name = function.name();
        let body = tree(function, name, None, Body::Compiled, false)
            .map_err(|error| error.while_compiling(name))?;
        self.keep_blocks(&body)?;
        let mut ids = Vec::with_capacity(overloads.len());
        for overload in overloads {
            let key = (Arc::clone(function.module.key()), overload.start().to_u32());
            if let Some(&known) = self.functions.get(&key) {
                ids.push(known);
                continue;
            }
            let fail = |error: Error| error.while_compiling(name);
            let module = Arc::clone(&function.module);
            let declared = PyFunction { module, def: Arc::clone(overload) };
            let signature = tree(&declared, name, None, Body::Left, false).map_err(fail)?;
            let def = Def { decl: signature.def.decl.clone(), ..(*body.def).clone() };
            let definition = Definition::new(Arc::new(def), Arc::clone(&body.snippet.source));
            let id = self.declare_function(unit, &definition, function, Defaults::Fitting);
            let id = id.map_err(fail)?;
            self.functions.insert(key, id);
            self.finish(unit, id, definition, function)?;
            ids.push(id);
        }
        Ok(Global::Overloads(ids))
    }

    /// What decorators say of a function.
    pub(crate) fn decorated(&mut self, function: &PyFunction) -> Result<Decorated, Error> {
        let mut how = Decorated::Plain;
        for decorator in &function.def.decorator_list {
            let name = self.loader.decorator(&function.module, decorator)?;
            match name.rsplit('.').next().unwrap_or_default() {
                "unused" => how = Decorated::Unused,
                "ignore" if is_dropped(decorator) => how = Decorated::Unused,
                "ignore" => how = Decorated::Ignored,
                "_drop" if name.starts_with("torch") => how = Decorated::Unused,
                _ => {}
            }
        }
        Ok(how)
    }

    /// The function that decorators have made of one, as programs see it: itself, or the one that stands for it.
    /// Of one that says what it wraps, PyTorch takes the text of the innermost, and its own file and names.
    pub(crate) fn as_decorated(&mut self, function: &PyFunction) -> Result<PyFunction, Error> {
        if function.module.origin().is_some() || function.def.decorator_list.is_empty() {
            return Ok(function.clone());
        }
        let key = function.key();
        if let Some(known) = self.decorated.get(&key) {
            return Ok(known.clone());
        }
        let made = self.run_decorators(function)?;
        self.decorated.insert(key, made.clone());
        Ok(made)
    }

    fn run_decorators(&mut self, function: &PyFunction) -> Result<PyFunction, Error> {
        let mut outermost = None;
        for decorator in &function.def.decorator_list {
            let name = self.loader.decorator(&function.module, decorator)?;
            if gives_back(&name) {
                continue;
            }
            if let Some(wrapper) = library::wrapper(&name) {
                outermost = outermost.or(Some(wrapper));
                continue;
            }
            let why = match decorated_at_top(&mut self.loader, function) {
                Ok(Some(TopLevel::Object(Object::Function(made)))) => return Ok(made),
                Ok(_) => "it gives something other than a function".to_owned(),
                Err(error) => error.message().to_owned(),
            };
            return Err(cannot_decorate(function, decorator, &name, &why));
        }
        let Some(wrapper) = outermost else { return Ok(function.clone()) };
        let Some(file) = self.loader.module(wrapper.file)? else { return Ok(function.clone()) };
        let key = format!("{}:{}", function.module.key(), wrapper.file).into();
        let mut seen = function.module.seen_from(&file, key);
        seen.give(wrapper.function, Object::Function(function.undecorated()));
        seen.give(wrapper.manager, Object::Opaque("method".into()));
        Ok(PyFunction { module: Arc::new(seen), def: Arc::clone(&function.def) })
    }

    /// Whether calls of a function go through a cache, which programs do not look into.
    pub(crate) fn is_cached(&mut self, function: &PyFunction) -> Result<bool, Error> {
        for decorator in &function.def.decorator_list {
            let name = self.loader.decorator(&function.module, decorator)?;
            if matches!(name.as_str(), "functools.lru_cache" | "functools.cache") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A function of the unit, compiled now if it has not been.
    pub(crate) fn compiled(
        &mut self,
        unit: &mut Unit,
        function: &PyFunction,
        how: Decorated,
    ) -> Result<FunctionId, Error> {
        let key = function.key();
        if let Some(&known) = self.functions.get(&key) {
            return Ok(known);
        }
        let (id, definition) = self.declared(unit, function, how)?;
        self.functions.insert(key, id);
        self.finish(unit, id, definition, function)?;
        Ok(id)
    }

    fn declared(
        &mut self,
        unit: &mut Unit,
        function: &PyFunction,
        how: Decorated,
    ) -> Result<(FunctionId, Definition), Error> {
        let name = function.name();
        let fail = |error: Error| error.while_compiling(name);
        let tree = tree(function, name, None, how.body(), false).map_err(fail)?;
        self.keep_blocks(&tree)?;
        let definition = Definition::new(tree.def, Arc::clone(&tree.snippet.source));
        let id = self.declare_function(unit, &definition, function, Defaults::All).map_err(fail)?;
        Ok((id, definition))
    }

    /// Adds a function with its signature to the unit.
    fn declare_function(
        &mut self,
        unit: &mut Unit,
        definition: &Definition,
        function: &PyFunction,
        defaults: Defaults,
    ) -> Result<FunctionId, Error> {
        let qualified = self.qualified(&function.module, function.name());
        let module = Arc::clone(&function.module);
        let schema = self.in_scope(&module, |python| {
            let mut schema = declare(unit, python, definition, None, Arc::clone(&qualified))?;
            python.set_defaults(unit, &mut schema, &function.def, defaults)?;
            Ok::<_, Error>(schema)
        })?;
        Ok(unit.add_function(Function {
            qualified_name: qualified,
            class: None,
            schema: Arc::new(schema),
            graph: None,
        }))
    }

    /// Compiles a method if it has not been.
    pub(crate) fn ensure_compiled(&mut self, unit: &mut Unit, id: FunctionId) -> Result<(), Error> {
        match self.waiting.remove(&id) {
            Some(Pending { definition, function }) => self.finish(unit, id, definition, &function),
            None => Ok(()),
        }
    }

    /// Compiles what is declared.
    pub(super) fn finish(
        &mut self,
        unit: &mut Unit,
        id: FunctionId,
        definition: Definition,
        function: &PyFunction,
    ) -> Result<(), Error> {
        if self.pending.len() >= MAX_PENDING {
            return Err(Error::without_range("too many functions call each other"));
        }
        self.pending.insert(id);
        let schema: Arc<Schema> = Arc::clone(&unit.function(id).schema);
        let module = Arc::clone(&function.module);
        let graph = self.in_scope(&module, |python| {
            crate::nesting::with_stack(|| {
                compile_owned(unit, python, definition, &schema, &Options::default())
            })
        });
        self.pending.remove(&id);
        let graph = graph.map_err(|error| error.while_compiling(function.name()))?;
        let compiled = unit.function_mut(id);
        compiled.schema = Arc::new(completed(&schema, &graph));
        compiled.graph = Some(Arc::new(graph));
        Ok(())
    }

    /// Gives a signature the defaults of its Python function.
    pub(crate) fn set_defaults(
        &mut self,
        unit: &mut Unit,
        schema: &mut Schema,
        def: &py::StmtFunctionDef,
        which: Defaults,
    ) -> Result<(), Error> {
        if let Some(origin) = self.scope.origin().cloned() {
            return self.in_scope(&origin, |python| python.set_defaults(unit, schema, def, which));
        }
        let params = def.parameters.args.iter().chain(&def.parameters.kwonlyargs);
        for param in params {
            let Some(default) = &param.default else { continue };
            let name = param.name().as_str();
            let Some(at) = schema.arguments.iter().position(|argument| &*argument.name == name)
            else {
                continue;
            };
            let Argument { ty, fixed_size, .. } = schema.arguments[at].clone();
            let value = self.evaluate(unit, default)?;
            if let Some(kind) = value.mutable_kind() {
                let message = format!(
                    "Mutable default parameters are not supported because Python binds them to the \
                     function and they persist across function calls.\nAs a workaround, make the \
                     default None and instantiate the default parameter within the body of the \
                     function. Found {kind} on parameter {name}."
                );
                let place = self.scope.place(&**default);
                return Err(Error::new(message, place));
            }
            let Some(constant) = value.as_default(&ty, fixed_size) else {
                if which == Defaults::Fitting {
                    continue;
                }
                let message = format!(
                    "Expected a default value of type {} on parameter \"{name}\".",
                    ty.message_text()
                );
                let place = self.scope.place(&**default);
                return Err(Error::new(message, place));
            };
            schema.arguments[at].default = Some(constant);
        }
        Ok(())
    }
}
