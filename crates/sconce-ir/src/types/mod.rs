//! The types of TorchScript.
//!
//! A [`Type`] is a small value; what it is made of is shared, so cloning copies a pointer. Classes,
//! interfaces and functions are named here by [`NamedRef`] and described in a [`Unit`](crate::Unit),
//! which is how a class can mention itself.

pub(crate) mod constant;
mod text;

use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use constant::Constant;

pub(crate) use text::separator;

/// A type, as PyTorch's `c10::Type`.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug, Default)]
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
/// name for messages and printing. Two are equal when their names are, as in PyTorch: a unit has one
/// class, interface or function of a name.
#[derive(Clone, Debug)]
pub struct NamedRef {
    /// The index in the unit's table of classes, interfaces or functions, or [`Self::NOWHERE`].
    pub id: u32,
    /// The qualified name, such as `__torch__.torch.nn.modules.linear.Linear`.
    pub name: Arc<str>,
}

impl NamedRef {
    /// The id of a class that is known by its name only: a torchbind class in a schema's text.
    pub const NOWHERE: u32 = u32::MAX;

    /// A class that is known by its name only.
    pub fn by_name(name: impl Into<Arc<str>>) -> Self {
        Self { id: Self::NOWHERE, name: name.into() }
    }
}

impl PartialEq for NamedRef {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NamedRef {}

impl Hash for NamedRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Equality as `c10::Type::operator==` has it: whether a tensor type was inferred does not count.
impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tensor, Self::TensorOf(refined)) | (Self::TensorOf(refined), Self::Tensor) => {
                refined.is_unrefined()
            }
            (Self::TensorOf(a), Self::TensorOf(b)) => a == b,
            (Self::Optional(a), Self::Optional(b))
            | (Self::List(a), Self::List(b))
            | (Self::Future(a), Self::Future(b))
            | (Self::RRef(a), Self::RRef(b))
            | (Self::Await(a), Self::Await(b)) => a == b,
            (Self::Dict(a), Self::Dict(b)) => a == b,
            (Self::Tuple(a), Self::Tuple(b)) => a == b,
            (Self::Union(a), Self::Union(b)) => a == b,
            (Self::Class(a), Self::Class(b))
            | (Self::Interface(a), Self::Interface(b))
            | (Self::Function(a), Self::Function(b)) => a == b,
            (Self::Enum(a), Self::Enum(b)) => a == b,
            (Self::Var(a), Self::Var(b)) => a == b,
            _ => discriminant(self) == discriminant(other),
        }
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::TensorOf(refined) if refined.is_unrefined() => {
                discriminant(&Self::Tensor).hash(state);
            }
            _ => discriminant(self).hash(state),
        }
        match self {
            Self::TensorOf(refined) if !refined.is_unrefined() => refined.hash(state),
            Self::Optional(of)
            | Self::List(of)
            | Self::Future(of)
            | Self::RRef(of)
            | Self::Await(of) => of.hash(state),
            Self::Dict(of) => of.hash(state),
            Self::Tuple(of) => of.hash(state),
            Self::Union(members) => members.hash(state),
            Self::Class(named) | Self::Interface(named) | Self::Function(named) => {
                named.hash(state);
            }
            Self::Enum(of) => of.hash(state),
            Self::Var(name) => name.hash(state),
            _ => {}
        }
    }
}

impl PartialEq for TensorType {
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.sizes == other.sizes
            && self.strides == other.strides
            && self.device == other.device
            && self.requires_grad == other.requires_grad
            && self.undefined == other.undefined
    }
}

impl Eq for TensorType {}

impl Hash for TensorType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype.hash(state);
        self.sizes.hash(state);
        self.strides.hash(state);
        self.device.hash(state);
    }
}

impl TensorType {
    /// Whether it says no more than [`Type::Tensor`].
    pub fn is_unrefined(&self) -> bool {
        *self == Self::default()
    }

    /// What holds of both: `c10::TensorType::merge`.
    pub fn merge(&self, other: &Self) -> Self {
        Self {
            dtype: agreed(&self.dtype, &other.dtype),
            sizes: merge_extents(self.sizes.as_deref(), other.sizes.as_deref()),
            strides: merge_extents(self.strides.as_deref(), other.strides.as_deref()),
            device: agreed(&self.device, &other.device),
            requires_grad: agreed(&self.requires_grad, &other.requires_grad),
            undefined: agreed(&self.undefined, &other.undefined),
            inferred: false,
        }
    }
}

/// The value of both when they agree.
fn agreed<T: Clone + PartialEq>(a: &Option<T>, b: &Option<T>) -> Option<T> {
    a.as_ref().filter(|_| a == b).cloned()
}

/// The sizes or strides of both: unknown where they differ, unknown in number where the ranks do.
fn merge_extents(a: Option<&[Option<i64>]>, b: Option<&[Option<i64>]>) -> Option<Vec<Option<i64>>> {
    let (a, b) = (a?, b?);
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(a, b)| agreed(a, b)).collect())
}

impl Type {
    /// `Optional[T]`; `T` itself where it is optional or `None` already. A union's own `None` goes,
    /// and the union of all numbers is `number`.
    pub fn optional(of: Self) -> Self {
        let of = match of {
            Self::Optional(_) | Self::None => return of,
            Self::Union(members) if *members == [Self::Float, Self::Complex, Self::Int] => {
                Self::Number
            }
            Self::Union(members) if members.contains(&Self::None) => {
                Self::Union(members.iter().filter(|&ty| *ty != Self::None).cloned().collect())
            }
            other => other,
        };
        Self::Optional(Arc::new(of))
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

    /// A tensor whose type was inferred, for want of an annotation: `Tensor (inferred)` in messages.
    pub fn inferred_tensor() -> Self {
        Self::TensorOf(Arc::new(TensorType { inferred: true, ..TensorType::default() }))
    }

    /// The tensor type that says this much.
    pub fn tensor_of(refined: TensorType) -> Self {
        if refined.is_unrefined() && !refined.inferred {
            return Self::Tensor;
        }
        Self::TensorOf(Arc::new(refined))
    }

    /// Whether this is a tensor type made for want of an annotation.
    pub fn is_inferred_tensor(&self) -> bool {
        matches!(self, Self::TensorOf(refined) if refined.inferred)
    }

    /// The types it is made of, in order (`containedTypes` in PyTorch, but a class, an enum or a
    /// function has none).
    pub fn contained(&self) -> SmallVec<[&Self; 2]> {
        match self {
            Self::Optional(of)
            | Self::List(of)
            | Self::Future(of)
            | Self::RRef(of)
            | Self::Await(of) => smallvec![&**of],
            Self::Dict(of) => smallvec![&of.0, &of.1],
            Self::Tuple(tuple) => tuple.elements.iter().collect(),
            Self::Union(members) => members.iter().collect(),
            _ => SmallVec::new(),
        }
    }

    /// The elements' type of a list.
    pub fn element(&self) -> Option<&Self> {
        match self {
            Self::List(element) => Some(element),
            _ => None,
        }
    }

    /// The name of a class, interface, NamedTuple, enum or function.
    pub fn qualified_name(&self) -> Option<&Arc<str>> {
        match self {
            Self::Class(named) | Self::Interface(named) | Self::Function(named) => {
                Some(&named.name)
            }
            Self::Enum(of) => Some(&of.name),
            // The results of operators have names of fields, and none of their own.
            Self::Tuple(tuple) => {
                tuple.named.as_ref().map(|named| &named.name).filter(|name| !name.is_empty())
            }
            _ => None,
        }
    }

    /// Whether it consists of no more than this many types, itself included, those of a NamedTuple's
    /// fields too.
    pub fn is_within(&self, limit: usize) -> bool {
        let mut stack = vec![self];
        let mut count = 0;
        while let Some(ty) = stack.pop() {
            count += 1;
            stack.extend(ty.contained());
            if count + stack.len() > limit {
                return false;
            }
        }
        true
    }

    /// Whether it is or holds a type variable.
    pub fn has_variables(&self) -> bool {
        matches!(self, Self::Var(_)) || self.contained().into_iter().any(Self::has_variables)
    }
}
