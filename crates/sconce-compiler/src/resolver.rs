//! What names mean outside functions: the border between the compiler and whoever has the sources.

use std::sync::Arc;

use sconce_ir::{ClassId, Constant, FunctionId, Schema, Type, Unit};
use sconce_syntax::Source;
use sconce_syntax::ast::Expr;

use crate::Error;

/// Says what names mean that are no variables. An archive's `code/` is one, a Python file another.
pub trait Resolver {
    /// What a free name means: `torch`, `ops`, `CONSTANTS`, `__torch__`, a function's own helpers.
    fn value(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Global>, Error>;

    /// What `name` means in a namespace that [`Self::value`] gave; `namespace` is qualified, such as
    /// `__torch__.torch.nn`.
    fn member(
        &mut self,
        _unit: &mut Unit,
        _namespace: &str,
        _name: &str,
    ) -> Result<Option<Global>, Error> {
        Ok(None)
    }

    /// What a compiled class has besides its methods: static methods, values of Python.
    fn class_member(
        &mut self,
        _unit: &mut Unit,
        _class: &str,
        _name: &str,
    ) -> Result<Option<Global>, Error> {
        Ok(None)
    }

    /// What kind of `nn.Module` the objects of a class are; `None` where they are values like any
    /// others, as in archives.
    fn module_kind(&self, _class: ClassId) -> Option<ModuleKind> {
        None
    }

    /// What a module has in Python that its class has neither as an attribute nor as a method.
    fn module_member(
        &mut self,
        _unit: &mut Unit,
        _class: ClassId,
        _name: &str,
    ) -> Result<ModuleMember, Error> {
        Ok(ModuleMember::Missing(String::new()))
    }

    /// The type of a name that is no built-in type, dotted or not, such as `__torch__.M`.
    fn ty(&mut self, _unit: &mut Unit, _name: &str) -> Result<Option<Type>, Error> {
        Ok(None)
    }

    /// What an annotation means as a whole, where that is more than its names say: an alias of a
    /// type, a type of a module that is called otherwise here. `None` leaves it to the language.
    fn annotation(
        &mut self,
        _unit: &mut Unit,
        _annotation: &Expr,
        _source: &Arc<Source>,
    ) -> Result<Option<Type>, Error> {
        Ok(None)
    }

    /// `CONSTANTS.name`.
    fn constant(&mut self, _unit: &mut Unit, _name: &str) -> Result<Option<Constant>, Error> {
        Ok(None)
    }

    /// Makes sure that a function's schema is complete: one without a return annotation has to be
    /// compiled first. Functions of an archive always are.
    fn ensure_schema(&mut self, _unit: &mut Unit, _function: FunctionId) -> Result<(), Error> {
        Ok(())
    }
}

/// Knows `torch` and nothing else.
pub(crate) struct TorchOnly;

impl Resolver for TorchOnly {
    fn value(&mut self, _unit: &mut Unit, name: &str) -> Result<Option<Global>, Error> {
        Ok((name == "torch").then_some(Global::Torch))
    }
}

/// What programs can do with a module besides calling it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuleKind {
    /// Nothing.
    Plain,
    /// Go through its modules: `ModuleList`, `Sequential`.
    List,
    /// Look its modules up by name: `ModuleDict`.
    Dict,
    /// Go through its parameters: `ParameterList`.
    ParameterList,
    /// Look its parameters up by name: `ParameterDict`.
    ParameterDict,
}

/// What a name of a module means that is neither an attribute nor a compiled method of its class.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModuleMember {
    /// A function or operator that is not bound to the module.
    Global(Global),
    /// A method, which is there now.
    Compiled,
    /// A method with several signatures: the names of the methods of the class that they are.
    Overloads(Arc<[Arc<str>]>),
    /// A method that stays in Python and raises when it is called; `self` is in its signature.
    Dropped(Arc<Schema>),
    /// Nothing, and why that may be.
    Missing(String),
}

/// What a free name can mean.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Global {
    /// `torch`: its attributes are `aten::` operators (and `torch.autograd`, `torch.device`, …).
    Torch,
    /// `ops`: its attributes are namespaces of operators.
    Ops,
    /// `CONSTANTS`
    Constants,
    /// A part of a dotted name, qualified.
    Namespace(Arc<str>),
    /// A function.
    Function(FunctionId),
    /// A class, NamedTuple, enum or interface.
    Type(Type),
    /// A value.
    Constant(Constant),
    /// An operator, such as `aten::add`.
    Builtin(Arc<str>),
    /// A form of the language with rules of its own.
    Special(Special),
    /// An exception class, by its qualified name, such as `builtins.ValueError`.
    Exception(Arc<str>),
    /// A function with several signatures, each compiled by itself.
    Overloads(Vec<FunctionId>),
    /// A function that stays in Python and raises when it is called.
    Dropped(Arc<Schema>),
    /// A function that stays in Python and is called there; what calls it cannot be saved.
    Python(Arc<Schema>),
    /// One of two functions, by an argument that is known at compile time.
    Dispatch(Arc<Dispatch>),
    /// What only Python can use, by what it is: `python value of type 'int'`.
    Opaque(Arc<str>),
    /// A class of Python's own, by name: what PyTorch takes for a function of tensors.
    Callable(Arc<str>),
    /// What no program may use, and the words for that.
    Refused(Arc<str>),
}

/// One of two functions, by an argument that is known at compile time: `boolean_dispatch`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The position of the argument.
    pub index: usize,
    /// Its name.
    pub argument: Arc<str>,
    /// What counts where it is not passed.
    pub default: bool,
    /// The namespace of both functions.
    pub namespace: Arc<str>,
    /// The function for `True`.
    pub if_true: Arc<str>,
    /// The function for `False`.
    pub if_false: Arc<str>,
}

/// Forms of the language that look like functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Special {
    /// `annotate(T, x)`
    Annotate,
    /// `fork(f, …)`
    Fork,
    /// `awaitable(f, …)`
    Awaitable,
    /// `torch.jit.isinstance(x, T)`
    Isinstance,
    /// `unchecked_cast(T, x)`
    UncheckedCast,
    /// `uninitialized(T)`
    Uninitialized,
}
