//! The types of TorchScript.
//!
//! A [`Type`] is a small value; what it is made of is shared, so cloning copies a pointer. Classes,
//! interfaces and functions are named here by [`NamedRef`] and described in a [`Unit`](crate::Unit),
//! which is how a class can mention itself.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::Constant;

/// A type, as PyTorch's `c10::Type`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any value.
    Any,
    /// The type of `None`.
    None,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `complex`
    Complex,
    /// `int`, `float` or `complex` (`Scalar` in graphs, `number` in code).
    Number,
    /// `str`
    Str,
    /// `torch.device`
    Device,
    /// A stream object.
    Stream,
    /// A random number generator.
    Generator,
    /// A storage.
    Storage,
    /// An opaque handle.
    Capsule,
    /// A Python object.
    PyObject,
    /// A quantizer.
    Quantizer,
    /// A quantization scheme (schemas only; values are ints).
    QScheme,
    /// A dtype (schemas only; values are ints).
    ScalarType,
    /// A layout (schemas only; values are ints).
    Layout,
    /// A memory format (schemas only; values are ints).
    MemoryFormat,
    /// A symbolic int (schemas only; values are ints).
    SymInt,
    /// A symbolic float (schemas only; values are floats).
    SymFloat,
    /// A symbolic bool (schemas only; values are bools).
    SymBool,
    /// Any list.
    AnyList,
    /// Any tuple.
    AnyTuple,
    /// Any class.
    AnyClass,
    /// Any enum.
    AnyEnum,
    /// A tensor of which nothing more is known.
    Tensor,
    /// A tensor of which something is known: dtype, shape, device…
    TensorOf(Arc<TensorType>),
    /// `Optional[T]`
    Optional(Arc<Type>),
    /// `List[T]`
    List(Arc<Type>),
    /// `Dict[K, V]`
    Dict(Arc<(Type, Type)>),
    /// `Tuple[…]`, with names when it is a NamedTuple.
    Tuple(Arc<TupleType>),
    /// `Union[…]`, in canonical order; never of one member, never of one type and `None`.
    Union(Arc<[Type]>),
    /// `Future[T]`
    Future(Arc<Type>),
    /// `RRef[T]`
    RRef(Arc<Type>),
    /// `Await[T]`
    Await(Arc<Type>),
    /// A class, or a module, or a torchbind class.
    Class(NamedRef),
    /// An interface.
    Interface(NamedRef),
    /// An enum.
    Enum(Arc<EnumType>),
    /// The type of one function.
    Function(NamedRef),
    /// A type variable of a schema (`t`).
    Var(Arc<str>),
}

/// What is known of a tensor: PyTorch's `c10::TensorType`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The dtype as graphs print it: `Float`, `Long`…
    pub dtype: Option<Arc<str>>,
    /// The sizes; `None` when the rank is unknown, `Some(None)` for an unknown size.
    pub sizes: Option<Vec<Option<i64>>>,
    /// The strides.
    pub strides: Option<Vec<Option<i64>>>,
    /// The device as text (`cpu`, `cuda:0`).
    pub device: Option<Arc<str>>,
    /// Whether it takes part in autograd.
    pub requires_grad: Option<bool>,
    /// Whether it is known to be undefined.
    pub undefined: Option<bool>,
    /// Whether the type was inferred, for want of an annotation (for messages only).
    pub inferred: bool,
}

/// The elements of a tuple, and their names when it is a NamedTuple.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TupleType {
    /// The types of the elements.
    pub elements: Vec<Type>,
    /// What makes it a NamedTuple.
    pub named: Option<NamedTuple>,
}

/// The name of a NamedTuple and of its fields.
#[derive(Clone, Debug)]
pub struct NamedTuple {
    /// The qualified name.
    pub name: Arc<str>,
    /// The fields' names, one for each element.
    pub fields: Vec<Arc<str>>,
    /// Default values of the last fields.
    pub defaults: Vec<Constant>,
}

impl PartialEq for NamedTuple {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.fields == other.fields
    }
}

impl Eq for NamedTuple {}

impl Hash for NamedTuple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// An enum: its name, the type of its values, its members.
#[derive(Clone, Debug)]
pub struct EnumType {
    /// The qualified name.
    pub name: Arc<str>,
    /// The type of every member's value.
    pub value: Type,
    /// The members' names and values, in order.
    pub members: Vec<(Arc<str>, Constant)>,
}

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.value == other.value
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// A class, interface or function of a [`Unit`](crate::Unit): its place there, and its qualified
/// name for messages and printing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedRef {
    /// The index in the unit's table of classes, interfaces or functions.
    pub id: u32,
    /// The qualified name, such as `__torch__.torch.nn.modules.linear.Linear`.
    pub name: Arc<str>,
}

impl Type {
    /// `Optional[T]`; `T` itself where it can be `None` already.
    pub fn optional(of: Self) -> Self {
        match of {
            Self::Optional(_) | Self::None | Self::Any => of,
            other => Self::Optional(Arc::new(other)),
        }
    }

    /// `List[T]`
    pub fn list(of: Self) -> Self {
        Self::List(Arc::new(of))
    }

    /// `Dict[K, V]`
    pub fn dict(key: Self, value: Self) -> Self {
        Self::Dict(Arc::new((key, value)))
    }

    /// A tuple without names.
    pub fn tuple(elements: Vec<Self>) -> Self {
        Self::Tuple(Arc::new(TupleType { elements, named: None }))
    }

    /// `Future[T]`
    pub fn future(of: Self) -> Self {
        Self::Future(Arc::new(of))
    }

    /// Whether this is a tensor, of whatever shape.
    pub fn is_tensor(&self) -> bool {
        matches!(self, Self::Tensor | Self::TensorOf(_))
    }
}
