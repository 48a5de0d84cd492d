//! What an expression can mean besides a value of the graph: PyTorch's "sugared values".

use std::sync::Arc;

use sconce_ir::{ClassId, FunctionId, Schema, Type, ValueId};
use sconce_syntax::Range;

use super::Emitter;
use crate::emit::matching::ArgumentValue;
use crate::{Dispatch, Error, Global, Special};

/// `range(…)`
#[derive(Clone)]
pub(crate) struct Counter {
    pub(super) start: ValueId,
    pub(super) end: ValueId,
    pub(super) step: ValueId,
    /// Whether it counts from 0 by 1, so that the trip count is the element.
    pub(super) only_end: bool,
    /// The length, where another iterable beside it says so.
    pub(super) fixed: Option<usize>,
}

/// `slice(…)`
#[derive(Clone, Copy)]
pub(crate) struct SliceObject {
    pub(super) start: ValueId,
    pub(super) stop: ValueId,
    pub(super) step: ValueId,
}

/// Iterables that are gone through together.
pub(crate) struct Tree {
    pub(super) children: Vec<Sugared>,
    pub(super) fixed: Option<usize>,
}

/// What an expression means.
#[derive(Clone)]
pub(crate) enum Sugared {
    /// A value of the graph.
    Simple(ValueId),
    /// Nothing (what `print` gives).
    Nothing,
    /// A module of Python.
    Module(ValueId),
    /// A method of a module with several signatures, each a method of its own.
    MethodOverloads(ValueId, Arc<[Arc<str>]>),
    /// A method of a module that raises when it is called.
    DroppedMethod(ValueId, Arc<Schema>),
    /// A method of a module that gives what it contains, to go through: `items`.
    ModuleContents(Box<Sugared>, Arc<str>),
    /// A function.
    Function(FunctionId),
    /// A method of an object or interface, bound to it.
    Method(ValueId, Arc<str>),
    /// An operator, bound to a value if it was written as its method.
    Builtin(Arc<str>, Option<ArgumentValue>),
    /// `int(…)` and its like: an operator unless the value is of the type already.
    Cast(Type, &'static str),
    /// A function that an object's method of this name comes before.
    Magic(&'static str, Box<Sugared>),
    /// `x.float()` and its like, by name: `aten::to` with this dtype.
    TensorCast(&'static str, i64, ValueId),
    /// A form with rules of its own.
    SpecialForm(SpecialForm),
    /// `print`
    Print,
    /// A class.
    Class(ClassId, Type),
    /// A NamedTuple.
    NamedTuple(Type),
    /// An enum.
    Enum(Type),
    /// `range(…)`
    Range(Counter),
    /// `slice(…)`
    Slice(SliceObject),
    /// `zip(…)`, `enumerate(…)`
    Tree(Arc<Tree>),
    /// A tuple whose elements need not be values.
    Tuple(Arc<[Sugared]>),
    /// A definition inside a function.
    Closure(ValueId),
    /// An exception class: its qualified name, or none for `AssertionError`, whose name becomes
    /// part of the message.
    Exception(Option<Arc<str>>),
    /// An exception: its message, and its class if that is kept.
    ExceptionMessage(ValueId, Option<ValueId>),
    /// A part of a dotted name.
    Namespace(Namespace),
    /// A function with several signatures.
    Overloads(Arc<[FunctionId]>),
    /// A function that raises when it is called.
    Dropped(Arc<Schema>),
    /// A function that is called in Python.
    Python(Arc<Schema>),
    /// One of two functions, by an argument that is known.
    Dispatch(Arc<Dispatch>),
    /// What only Python can use.
    Opaque(Arc<str>),
    /// A class of Python's own.
    Callable(Arc<str>),
    /// What no program may use, and the words for that.
    Refused(Arc<str>),
}

/// A part of a dotted name.
#[derive(Clone)]
pub(crate) enum Namespace {
    /// `torch`
    Torch,
    /// `ops`
    Ops,
    /// `ops.name`
    Operators(Arc<str>),
    /// `CONSTANTS`
    Constants,
    /// What the resolver knows by this qualified name.
    Qualified(Arc<str>),
}

/// Forms that look like calls and have rules of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpecialForm {
    Annotate,
    Awaitable,
    CreateObject,
    Dict,
    Enumerate,
    Fork,
    GetAttr,
    HasAttr,
    Index,
    Isinstance,
    List,
    Range,
    Slice,
    ToList,
    Tuple,
    UncheckedCast,
    Uninitialized,
    Zip,
}

impl SpecialForm {
    /// The name that PyTorch's errors use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Annotate => "annotate",
            Self::Awaitable => "awaitable",
            Self::CreateObject => "CreateObject",
            Self::Dict => "dict",
            Self::Enumerate => "enumerate",
            Self::Fork => "fork",
            Self::GetAttr => "GetAttr",
            Self::HasAttr => "HasAttr",
            Self::Index => "index",
            Self::Isinstance => "isinstance",
            Self::List => "list",
            Self::Range => "range",
            Self::Slice => "slice",
            Self::ToList => "tolist",
            Self::Tuple => "TupleConstruct",
            Self::UncheckedCast => "unchecked_cast",
            Self::Uninitialized => "Uninitialized",
            Self::Zip => "zip",
        }
    }
}

impl Sugared {
    /// The value, if it is one.
    pub(crate) fn simple(&self) -> Option<ValueId> {
        match self {
            Self::Simple(value) => Some(*value),
            _ => None,
        }
    }

    /// What PyTorch's errors call it.
    pub(crate) fn kind(&self) -> &str {
        match self {
            Self::Simple(_) => "value",
            Self::Nothing => "None",
            Self::Module(_) => "module",
            Self::MethodOverloads(..) => "overloaded method",
            Self::DroppedMethod(..) => "python value of type 'function'",
            Self::ModuleContents(_, name) => name,
            Self::Function(_) => "function",
            Self::Method(..) => "method",
            Self::Builtin(..) | Self::Cast(..) => "builtin",
            Self::Magic(name, _) => name,
            Self::TensorCast(..) => "Cast",
            Self::SpecialForm(form) => form.name(),
            Self::Print => "print",
            Self::Class(_, ty) => ty.qualified_name().map_or("class", |name| name),
            Self::NamedTuple(_) => "NamedTupleConstructor",
            Self::Enum(_) => "EnumClass",
            Self::Range(_) => "range",
            Self::Slice(_) => "Python slice value",
            Self::Tree(_) => "iterabletree",
            Self::Tuple(_) => "Tuple",
            Self::Closure(_) => "closure",
            Self::Exception(_) => "exception",
            Self::ExceptionMessage(..) => "exception message",
            Self::Namespace(Namespace::Constants) => "CONSTANTS",
            Self::Namespace(_) => "module",
            Self::Overloads(_) => "function",
            Self::Dropped(_) | Self::Python(_) => "python value of type 'function'",
            Self::Dispatch(_) => "boolean dispatch",
            Self::Opaque(what) | Self::Refused(what) => what,
            Self::Callable(_) => "python value of type 'type'",
        }
    }

    /// The functions that every program knows.
    pub(super) fn of_the_language(name: &str) -> Option<Self> {
        let builtin = |symbol: &str| Self::Builtin(symbol.into(), None);
        let magic = |method, base| Self::Magic(method, Box::new(base));
        Some(match name {
            "print" => Self::Print,
            "tuple" => Self::SpecialForm(SpecialForm::Tuple),
            "float" => magic("__float__", Self::Cast(Type::Float, "aten::Float")),
            "complex" => magic("__complex__", Self::Cast(Type::Complex, "aten::Complex")),
            "int" => magic("__int__", Self::Cast(Type::Int, "aten::Int")),
            "bool" => magic("__bool__", Self::Cast(Type::Bool, "aten::Bool")),
            "str" => magic("__str__", Self::Cast(Type::Str, "aten::str")),
            "getattr" => Self::SpecialForm(SpecialForm::GetAttr),
            "hasattr" => Self::SpecialForm(SpecialForm::HasAttr),
            "isinstance" => Self::SpecialForm(SpecialForm::Isinstance),
            "_to_tensor" => Self::Cast(Type::Tensor, "prim::NumToTensor"),
            "len" => magic("__len__", builtin("aten::len")),
            "hex" => magic("__hex__", builtin("aten::hex")),
            "oct" => magic("__oct__", builtin("aten::oct")),
            "round" => magic("__round__", builtin("aten::round")),
            "hash" => builtin("aten::hash"),
            "id" => builtin("prim::id"),
            "min" => builtin("prim::min"),
            "max" => builtin("prim::max"),
            "abs" => builtin("prim::abs"),
            "all" => builtin("aten::all"),
            "any" => builtin("aten::any"),
            "divmod" => builtin("aten::divmod"),
            "sum" => builtin("aten::sum"),
            "list" => Self::SpecialForm(SpecialForm::List),
            "dict" => Self::SpecialForm(SpecialForm::Dict),
            "ord" => builtin("aten::ord"),
            "chr" => builtin("aten::chr"),
            "bin" => builtin("aten::bin"),
            "pow" => builtin("aten::pow"),
            "range" => Self::SpecialForm(SpecialForm::Range),
            "slice" => Self::SpecialForm(SpecialForm::Slice),
            "zip" => Self::SpecialForm(SpecialForm::Zip),
            "enumerate" => Self::SpecialForm(SpecialForm::Enumerate),
            "rangelist" => builtin("prim::rangelist"),
            "sorted" => builtin("aten::sorted"),
            "AssertionError" => Self::Exception(None),
            _ => return None,
        })
    }
}

impl Emitter<'_> {
    /// What PyTorch's errors call it, values by their type.
    pub(super) fn kind_text(&self, sugared: &Sugared) -> String {
        match sugared {
            Sugared::Simple(value) => format!("value of type '{}'", self.type_text(*value)),
            other => other.kind().into(),
        }
    }

    /// What the resolver's answer means.
    pub(super) fn global(&mut self, global: Global, at: Range) -> Sugared {
        match global {
            Global::Torch => Sugared::Namespace(Namespace::Torch),
            Global::Ops => Sugared::Namespace(Namespace::Ops),
            Global::Constants => Sugared::Namespace(Namespace::Constants),
            Global::Namespace(name) => Sugared::Namespace(Namespace::Qualified(name)),
            Global::Function(function) => Sugared::Function(function),
            Global::Type(ty) => match &ty {
                Type::Tuple(_) => Sugared::NamedTuple(ty),
                Type::Enum(_) => Sugared::Enum(ty),
                Type::Class(class) => Sugared::Class(ClassId(class.id), ty.clone()),
                _ => Sugared::Nothing,
            },
            Global::Constant(value) => Sugared::Simple(self.constant(&value, Some(at))),
            Global::Builtin(symbol) => Sugared::Builtin(symbol, None),
            Global::Special(special) => Sugared::SpecialForm(match special {
                Special::Annotate => SpecialForm::Annotate,
                Special::Fork => SpecialForm::Fork,
                Special::Isinstance => SpecialForm::Isinstance,
                Special::Awaitable => SpecialForm::Awaitable,
                Special::UncheckedCast => SpecialForm::UncheckedCast,
                Special::Uninitialized => SpecialForm::Uninitialized,
            }),
            Global::Exception(name) => Sugared::Exception(Some(name)),
            Global::Overloads(functions) => Sugared::Overloads(functions.into()),
            Global::Dropped(schema) => Sugared::Dropped(schema),
            Global::Python(schema) => Sugared::Python(schema),
            Global::Dispatch(dispatch) => Sugared::Dispatch(dispatch),
            Global::Opaque(what) => Sugared::Opaque(what),
            Global::Callable(name) => Sugared::Callable(name),
            Global::Refused(words) => Sugared::Refused(words),
        }
    }

    /// The value of the graph that an expression means, if it means one.
    pub(super) fn as_value(&mut self, sugared: Sugared, at: Range) -> Result<ValueId, Error> {
        match sugared {
            Sugared::Simple(value) | Sugared::Closure(value) | Sugared::Module(value) => Ok(value),
            Sugared::Tuple(elements) => {
                let values = self.as_values(&elements, at)?;
                self.tuple(at, &values)
            }
            Sugared::Namespace(Namespace::Qualified(_)) => {
                self.as_value(Sugared::Opaque("python value of type 'module'".into()), at)
            }
            Sugared::Refused(words) => Err(self.error(at, &*words)),
            Sugared::Callable(_) => self.as_value(Sugared::Opaque(sugared.kind().into()), at),
            Sugared::Opaque(what) => {
                let hint = "Perhaps it is a closed over global variable? If so, please consider \
                            passing it in as an argument or use a local variable instead.";
                Err(self.error(at, format!("{what} cannot be used as a value. {hint}")))
            }
            other => Err(self.error(at, format!("{} cannot be used as a value", other.kind()))),
        }
    }

    fn as_values(&mut self, elements: &[Sugared], at: Range) -> Result<Vec<ValueId>, Error> {
        elements.iter().map(|element| self.as_value(element.clone(), at)).collect()
    }

    /// The elements of what can be unpacked; a list needs to be told how many.
    pub(super) fn as_tuple(
        &mut self,
        sugared: &Sugared,
        at: Range,
        count: Option<usize>,
    ) -> Result<Vec<Sugared>, Error> {
        let value = match sugared {
            Sugared::Tuple(elements) => return Ok(elements.to_vec()),
            Sugared::Simple(value) => *value,
            Sugared::Module(module) => return self.module_tuple(*module, at),
            other => {
                let message = format!("{} cannot be used as a tuple", other.kind());
                return Err(self.error(at, message));
            }
        };
        match self.graph.ty(value).clone() {
            Type::Tuple(_) => {
                Ok(self.unpack_tuple(value).into_iter().map(Sugared::Simple).collect())
            }
            Type::List(element) => {
                let Some(count) = count else {
                    let message =
                        "cannot statically infer the expected size of a list in this context";
                    return Err(self.error(at, message));
                };
                Ok(self.unpack_list(value, &element, count))
            }
            Type::AnyTuple => Err(self.error(
                at,
                "Provided tuple is not fully defined/refined including its element types, please \
                 provide a value of type like Tuple[int, int]",
            )),
            other => {
                let message = format!("{} cannot be used as a tuple", other.message_text());
                Err(self.error(at, message))
            }
        }
    }

    fn unpack_list(&mut self, list: ValueId, element: &Type, count: usize) -> Vec<Sugared> {
        let node = self.insert(sconce_ir::Prim::ListUnpack, &[list]);
        let outputs = (0..count).map(|_| self.graph.add_output(node, element.clone()));
        outputs.map(Sugared::Simple).collect()
    }
}
