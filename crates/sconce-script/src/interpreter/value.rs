//! Values of Python while constructors run, and the arena that holds what has an identity.
//!
//! Cells are never taken away, so that cycles and deep structures need no care; the interpreter's
//! budget bounds what there can be. What nobody can name any more is emptied (`garbage_collection.rs`).

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use ruff_python_ast as py;
use rustc_hash::{FxBuildHasher, FxHashMap};
use sconce_kernels::Tensor;
use sconce_tensor::DType;

use crate::library::NameKind;
use crate::loader::{Module, PyClass, PyFunction};

/// A value of Python.
#[derive(Debug, Clone)]
pub(super) enum Value {
    None,
    /// What a binary method gives when it does not know the other operand.
    NotImplemented,
    Ellipsis,
    Bool(bool),
    Int(i64),
    /// `numpy.int64`, which programs do not have.
    NumpyInt(i64),
    Float(f64),
    Complex(f64, f64),
    Str(Arc<str>),
    /// A member of a library, by its dotted name.
    Library(Arc<str>),
    /// A file.
    Namespace(Arc<Module>),
    DType(DType),
    Device(Arc<str>),
    /// What is in the arena.
    Ref(Id),
}

/// A cell of the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(u32);

impl Id {
    /// Its number in the arena.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names with values, in order.
pub(super) type Attributes = IndexMap<Arc<str>, Value, FxBuildHasher>;

/// A dict or set: what is compared, with the key itself and its value.
pub(super) type Dict = IndexMap<Key, (Value, Value), FxBuildHasher>;

/// What Python compares when it looks a key up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    None,
    /// Also bools, and floats that are whole.
    Int(i64),
    /// Its bits.
    Float(u64),
    Str(Arc<str>),
    Tuple(Vec<Key>),
    /// A library's member, a file, a dtype or a device by its name.
    Named(&'static str, Arc<str>),
    Ref(Id),
}

/// What has an identity.
#[derive(Debug)]
pub(super) enum Cell {
    List(Vec<Value>),
    Tuple(Tuple),
    Dict(Dict),
    Set(Dict),
    Tensor(TensorCell),
    Instance(Instance),
    Class(Class),
    Function(Function),
    /// A function or class method with what it was taken from.
    Method(Value, Value),
    /// A method that values of a built-in type have, with the value.
    BuiltinMethod(Value, Arc<str>),
    Scope(Scope),
    Iterator(Iterator),
    Range(i64, i64, i64),
    Slice(Value, Value, Value),
    /// `super()`: the class to begin after, and the object or class.
    Super(Id, Value),
    Property(Property),
    StaticMethod(Value),
    ClassMethod(Value),
    Partial(Partial),
    Exception(Exception),
    /// `object()`
    Plain,
    /// What could not be followed: it only fails where it is needed.
    Unknown(Unknown),
    /// A file that was opened to be read as text.
    File(TextFile),
    /// `pathlib.Path`
    Path(Arc<str>),
    /// An object of a checkpoint that has no value here.
    Saved(Saved),
    /// A regular expression.
    Pattern(Arc<fancy_regex::Regex>),
    /// What a regular expression found.
    Match(Found),
    /// What `torch.jit.load` gives: the archive.
    Archive(Arc<Path>),
}

#[derive(Debug)]
pub(super) struct Tuple {
    pub(super) items: Vec<Value>,
    /// The NamedTuple that it is of.
    pub(super) class: Option<Id>,
}

#[derive(Debug, Clone)]
pub(super) struct TensorCell {
    pub(super) tensor: Tensor,
    /// Tensors of one storage have one family.
    pub(super) family: u32,
    pub(super) requires_grad: bool,
    pub(super) is_parameter: bool,
    /// What Python code set on it.
    pub(super) attributes: Attributes,
}

/// An object of a class of a file.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) class: Id,
    pub(super) attributes: Attributes,
}

/// What classes of some kinds have besides their members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClassKind {
    Plain,
    /// Its fields.
    NamedTuple(Vec<Arc<str>>),
    /// Derived from `tuple`.
    Tuple,
    Enum,
    /// Its fields.
    DataClass(Vec<Arc<str>>),
}

/// A class of a file, or one that `collections.namedtuple` made.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: Arc<str>,
    pub(super) source: PyClass,
    /// It and all that it is derived from, in the order in which members are looked up.
    pub(super) order: Vec<Value>,
    pub(super) members: Attributes,
    pub(super) kind: ClassKind,
    /// What it is an object of, unless it is `type`.
    pub(super) metaclass: Option<Id>,
}

/// The text of a function.
#[derive(Debug, Clone)]
pub(super) enum Code {
    Def(PyFunction),
    Lambda(Arc<Module>, Arc<py::ExprLambda>),
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) code: Code,
    /// The values of its parameters' defaults, by name.
    pub(super) defaults: Vec<(Arc<str>, Value)>,
    /// The variables around it.
    pub(super) scope: Option<Id>,
    /// The class whose body it is in.
    pub(super) owner: Option<Id>,
    /// Whether calls give what it yields.
    pub(super) is_generator: bool,
    /// What Python code set on it.
    pub(super) attributes: Attributes,
}

/// Where a name is written that a function declares to be of the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclaredScope {
    Global,
    Nonlocal,
}

/// Variables of a call, a comprehension or a class body.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) variables: FxHashMap<Arc<str>, Value>,
    pub(super) parent: Option<Id>,
    pub(super) declared: FxHashMap<Arc<str>, DeclaredScope>,
    /// The class whose method runs, and what it was called on: what `super()` needs.
    pub(super) owner: Option<Id>,
    pub(super) receiver: Option<Value>,
    /// What `yield` has given.
    pub(super) yielded: Vec<Value>,
    /// Whether `yield` and `super()` belong to the function around it.
    pub(super) is_comprehension: bool,
    /// The class whose body it is: functions defined in it do not see its variables.
    pub(super) body_of: Option<Id>,
}

#[derive(Debug)]
pub(super) struct Iterator {
    pub(super) items: Vec<Value>,
    pub(super) at: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) getter: Value,
    pub(super) setter: Option<Value>,
}

#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) function: Value,
    pub(super) args: Vec<Value>,
    pub(super) keywords: Vec<(Arc<str>, Value)>,
    /// What Python code set on it.
    pub(super) attributes: Attributes,
}

/// What could not be followed.
#[derive(Debug, Clone)]
pub(super) struct Unknown {
    /// What it is, as errors call it.
    pub(super) what: Arc<str>,
    /// Why it is not known, with the place.
    pub(super) why: Option<Arc<str>>,
    pub(super) kind: NameKind,
    /// Whether it may be, or hold, a tensor or a module. What the standard library makes does not.
    pub(super) may_be_module: bool,
}

/// What a regular expression found: the whole, and its groups with their names.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) groups: Vec<Option<Arc<str>>>,
    /// Where they begin and end, in characters.
    pub(super) spans: Vec<Option<(i64, i64)>>,
    pub(super) names: Vec<Option<Arc<str>>>,
}

/// A file that was opened to be read as text.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    pub(super) text: Arc<str>,
    pub(super) at: usize,
}

/// An object of a checkpoint that has no value here.
#[derive(Debug, Clone)]
pub(super) struct Saved {
    pub(super) checkpoint: Arc<sconce_checkpoint::Checkpoint>,
    pub(super) id: sconce_checkpoint::ObjectId,
    /// The dtype that its tensors of floating point were made: `.float()`
    pub(super) cast: Option<DType>,
}

#[derive(Debug, Clone)]
pub(super) struct Exception {
    /// A class of a file, or of the library.
    pub(super) class: Value,
    pub(super) args: Vec<Value>,
}

impl Partial {
    pub(super) fn new(function: Value, args: Vec<Value>, keywords: Vec<(Arc<str>, Value)>) -> Self {
        Self { function, args, keywords, attributes: Attributes::default() }
    }
}

impl Value {
    pub(super) fn str(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    pub(super) fn library(name: &str) -> Self {
        Self::Library(name.into())
    }

    /// Whether it is one and the same object: Python's `is`.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None)
            | (Self::NotImplemented, Self::NotImplemented)
            | (Self::Ellipsis, Self::Ellipsis) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Int(one), Self::Int(other)) | (Self::NumpyInt(one), Self::NumpyInt(other)) => {
                one == other
            }
            (Self::Float(one), Self::Float(other)) => one.to_bits() == other.to_bits(),
            (Self::Str(one), Self::Str(other)) | (Self::Library(one), Self::Library(other)) => {
                one == other
            }
            (Self::Namespace(one), Self::Namespace(other)) => one.key() == other.key(),
            (Self::DType(one), Self::DType(other)) => one == other,
            (Self::Ref(one), Self::Ref(other)) => one == other,
            _ => false,
        }
    }

    /// The whole number that it is, bools and numpy's included.
    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) | Self::NumpyInt(value) => Some(*value),
            Self::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// The number that it is.
    pub(super) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            other => other.as_int().map(|value| value as f64),
        }
    }
}

/// All cells.
#[derive(Debug, Default)]
pub(super) struct Arena {
    cells: Vec<Cell>,
}

impl Arena {
    pub(super) fn add(&mut self, cell: Cell) -> Id {
        let id = Id(u32::try_from(self.cells.len()).unwrap_or(u32::MAX));
        self.cells.push(cell);
        id
    }

    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The cell of a number.
    pub(super) fn at(&self, index: usize) -> &Cell {
        &self.cells[index]
    }

    /// Empties a cell that nobody can name any more.
    pub(super) fn clear(&mut self, index: usize) {
        self.cells[index] = Cell::Plain;
    }

    pub(super) fn get(&self, id: Id) -> &Cell {
        // Ids are made by `add` alone, and nothing is ever removed.
        &self.cells[id.0 as usize]
    }

    pub(super) fn get_mut(&mut self, id: Id) -> &mut Cell {
        &mut self.cells[id.0 as usize]
    }

    /// The cell that a value refers to.
    pub(super) fn cell(&self, value: &Value) -> Option<&Cell> {
        match value {
            Value::Ref(id) => Some(self.get(*id)),
            _ => None,
        }
    }
}

/// Makes the functions that look at cells of one kind.
macro_rules! cells {
    ($($get:ident, $get_mut:ident: $variant:ident($of:ty);)*) => {
        impl Arena {
            $(
                #[allow(dead_code, reason = "made for all kinds alike")]
                pub(super) fn $get(&self, value: &Value) -> Option<&$of> {
                    match self.cell(value) {
                        Some(Cell::$variant(cell)) => Some(cell),
                        _ => None,
                    }
                }

                #[allow(dead_code, reason = "made for all kinds alike")]
                pub(super) fn $get_mut(&mut self, id: Id) -> Option<&mut $of> {
                    match self.get_mut(id) {
                        Cell::$variant(cell) => Some(cell),
                        _ => None,
                    }
                }
            )*
        }
    };
}

cells! {
    list, list_mut: List(Vec<Value>);
    tuple, tuple_mut: Tuple(Tuple);
    dict, dict_mut: Dict(Dict);
    set, set_mut: Set(Dict);
    tensor, tensor_mut: Tensor(TensorCell);
    instance, instance_mut: Instance(Instance);
    class, class_mut: Class(Class);
    function, function_mut: Function(Function);
    scope, scope_mut: Scope(Scope);
    iterator, iterator_mut: Iterator(Iterator);
    property, property_mut: Property(Property);
    exception, exception_mut: Exception(Exception);
    unknown, unknown_mut: Unknown(Unknown);
    file, file_mut: File(TextFile);
    saved, saved_mut: Saved(Saved);
}
