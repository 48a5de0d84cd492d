//! What names mean to the compiler: PyTorch's Python resolver, with files in the place of a running
//! interpreter.

mod annotations;
mod classes;
mod dataclasses;
mod evaluate;
mod functions;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::{Error, Global, ModuleKind, ModuleMember, Resolver};
use sconce_ir::{ClassId, Constant, FunctionId, Type, Unit};
use sconce_syntax::Source;
use sconce_syntax::ast::Expr;

pub(crate) use functions::{Decorated, Defaults, Pending, Tree, tree, tree_of};

use crate::concrete_module::Modules;
use crate::frontend::dotted;
use crate::library;
use crate::loader::{Module, ModuleLoader, Object, PyClass, PyFunction};

/// How many functions and classes may be compiled because of each other.
const MAX_PENDING: usize = 200;

/// Looks names up in Python files.
pub(crate) struct Python {
    pub(crate) loader: ModuleLoader,
    /// The modules that are compiled.
    pub(crate) modules: Modules,
    /// The file whose names are looked up.
    scope: Arc<Module>,
    /// Functions by where they are defined: file and offset.
    functions: FxHashMap<(Arc<str>, u32), FunctionId>,
    /// What decorators have made of functions, likewise.
    decorated: FxHashMap<(Arc<str>, u32), PyFunction>,
    /// Classes likewise; `None` for those that are no types.
    classes: FxHashMap<(Arc<str>, u32), Option<Type>>,
    /// How many classes are being made, each for the one before.
    making: usize,
    /// Compiled classes by qualified name.
    class_sources: FxHashMap<Arc<str>, PyClass>,
    /// Methods that are declared and not yet compiled.
    pub(crate) waiting: FxHashMap<FunctionId, functions::Pending>,
    /// The functions that are being compiled.
    pending: FxHashSet<FunctionId>,
    /// Qualified names that are taken.
    names: FxHashSet<Arc<str>>,
    mangled: usize,
    /// The source of the functions that blocks left to Python became.
    blocks: String,
    /// How many more expressions may be looked at for values and aliases of types: what refers to
    /// itself twice would be looked at without end.
    budget: usize,
}

/// How many expressions are looked at for values and aliases of types, in all.
const MAX_EVALUATIONS: usize = 1 << 20;

impl Python {
    pub(crate) fn new(loader: ModuleLoader, scope: Arc<Module>) -> Self {
        Self {
            loader,
            modules: Modules::default(),
            scope,
            functions: FxHashMap::default(),
            decorated: FxHashMap::default(),
            classes: FxHashMap::default(),
            making: 0,
            class_sources: FxHashMap::default(),
            waiting: FxHashMap::default(),
            pending: FxHashSet::default(),
            names: FxHashSet::default(),
            mangled: 0,
            blocks: String::new(),
            budget: MAX_EVALUATIONS,
        }
    }

    /// Works with the names of another file.
    pub(crate) fn in_scope<T>(
        &mut self,
        module: &Arc<Module>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = std::mem::replace(&mut self.scope, Arc::clone(module));
        let result = work(self);
        self.scope = before;
        result
    }

    /// Whether one more expression may be looked at.
    pub(crate) fn spend(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(1);
        self.budget > 0
    }

    /// A qualified name as PyTorch gives it, mangled when it is taken.
    pub(crate) fn qualified(&mut self, module: &Module, name: &str) -> Arc<str> {
        let prefix = prefix(module);
        let mut qualified: Arc<str> = format!("{prefix}.{name}").into();
        while !self.names.insert(Arc::clone(&qualified)) {
            qualified = format!("{prefix}.___torch_mangle_{}.{name}", self.mangled).into();
            self.mangled += 1;
        }
        qualified
    }

    /// What an object means in a program. Values count where they are members of a module
    /// (`is_member`); free ones would be variables of Python that the program cannot see.
    fn global(
        &mut self,
        unit: &mut Unit,
        object: Object,
        is_member: bool,
    ) -> Result<Option<Global>, Error> {
        match object {
            Object::Module(module) => Ok(Some(Global::Namespace(Arc::clone(&module.name)))),
            Object::Function(function) => self.function(unit, &function),
            Object::Class(class) => self.class_global(unit, &class).map(Some),
            Object::Value(module, value) => match self.dispatch(unit, &module, &value)? {
                Some(dispatch) => Ok(Some(dispatch)),
                None => self.value_global(unit, &module, &value, is_member),
            },
            Object::Opaque(what) => Ok(Some(opaque(&what))),
            Object::Library(name) => {
                if library::is_from_source(&name) {
                    return Err(Error::without_range(format!(
                        "{name} is compiled from PyTorch's source, which is not at hand"
                    )));
                }
                match library::global(&name) {
                    // The one number that PyTorch knows again, by the object that it is.
                    Some(infinity) if matches!(name.as_str(), "math.inf" | "torch.inf") => {
                        Ok(Some(infinity))
                    }
                    // A variable of Python, even if it is imported.
                    Some(Global::Constant(value)) if !is_member => Ok(Some(opaque(match value {
                        Constant::Float(_) => "float",
                        Constant::Bool(_) => "bool",
                        _ => "torch.dtype",
                    }))),
                    Some(global) => Ok(Some(global)),
                    // A module that is imported and that nothing is known of.
                    None if !name.contains('.') => Ok(Some(Global::Namespace(name.into()))),
                    None => Ok(self.library_object(&name)),
                }
            }
        }
    }

    /// A library's object that is nothing to the compiler.
    fn library_object(&self, name: &str) -> Option<Global> {
        let is_type = library::ty(name).is_some() || library::constructor(name).is_some();
        if is_type {
            return Some(opaque("type"));
        }
        let (module, member) = name.rsplit_once('.')?;
        if module == "builtins" && library::is_class(member) {
            return Some(Global::Callable(member.into()));
        }
        if !library::is_python_builtin(name) {
            return None;
        }
        Some(Global::Refused(
            format!(
                "Python builtin <built-in function {member}> is currently not supported in \
                 Torchscript"
            )
            .into(),
        ))
    }
}

/// What only Python can use.
fn opaque(what: &str) -> Global {
    Global::Opaque(format!("python value of type '{what}'").into())
}

impl Resolver for Python {
    fn value(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Global>, Error> {
        let scope = Arc::clone(&self.scope);
        match self.loader.lookup(&scope, name)? {
            Some(object) => self.global(unit, object, false),
            None => self.bound_by_statements(unit, &scope, name),
        }
    }

    fn member(
        &mut self,
        unit: &mut Unit,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Global>, Error> {
        let base = match self.loader.module(namespace)? {
            Some(module) => Object::Module(module),
            None => Object::Library(namespace.to_owned()),
        };
        let member = match self.loader.member(&base, name)? {
            Some(object) => self.global(unit, object, true)?,
            None => None,
        };
        match member {
            Some(global) => Ok(Some(global)),
            None => Err(Error::without_range(format!("object has no attribute {name}"))),
        }
    }

    fn ty(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Type>, Error> {
        if let Some(ty) = unit.find_type(name) {
            return Ok(Some(ty.clone()));
        }
        let scope = Arc::clone(&self.scope);
        match self.loader.dotted(&scope, name)? {
            Some(object) => self.type_of_object(unit, object),
            None => Ok(None),
        }
    }

    fn annotation(
        &mut self,
        unit: &mut Unit,
        annotation: &Expr,
        source: &Arc<Source>,
    ) -> Result<Option<Type>, Error> {
        self.resolve_annotation(unit, annotation, source)
    }

    fn constant(&mut self, _: &mut Unit, _: &str) -> Result<Option<Constant>, Error> {
        Ok(None)
    }

    fn ensure_schema(&mut self, unit: &mut Unit, function: FunctionId) -> Result<(), Error> {
        if !self.pending.contains(&function) {
            return self.ensure_compiled(unit, function);
        }
        let known = unit.function(function);
        let kind = if known.class.is_some() { "method" } else { "function" };
        Err(Error::without_range(format!(
            " {kind} '{}' is called recursively. Recursive calls are not supported",
            known.name()
        )))
    }

    fn module_kind(&self, class: ClassId) -> Option<ModuleKind> {
        self.modules.kind(class)
    }

    fn module_member(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        name: &str,
    ) -> Result<ModuleMember, Error> {
        self.member_of_module(unit, class, name)
    }

    fn class_member(
        &mut self,
        unit: &mut Unit,
        class: &str,
        name: &str,
    ) -> Result<Option<Global>, Error> {
        self.member_of_class(unit, class, name)
    }
}

/// What the qualified names of a file begin with.
fn prefix(module: &Module) -> String {
    match &*module.name {
        "__main__" => "__torch__".to_owned(),
        name => format!("__torch__.{name}"),
    }
}
