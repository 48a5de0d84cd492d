//! What TorchScript values are at run time.

pub(crate) mod convert;
pub(crate) mod dict;
pub(crate) mod drop_values;
pub(crate) mod equality;
pub(crate) mod plain;
pub(crate) mod shared;
pub(crate) mod str_value;
pub(crate) mod tensor_text;
pub(crate) mod text;

pub use dict::Dict;
pub(crate) use dict::Entry;
pub use str_value::Text;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use sconce_ir::{ClassId, Constant, EnumType, FunctionId, Type};
use sconce_kernels::{Charge, Generator, Memory, Sparse};

use crate::Tensor;
use crate::value::shared::Shared;
use crate::value::text::python_text;

/// A value of a running program: PyTorch's `c10::IValue`. Lists, dicts, objects and futures are
/// held by reference; a clone is the same list.
///
/// Values may hold each other to any depth, and lists of `Any` themselves. Nothing here goes down into
/// them by recursion: not dropping them (`drop_values.rs`), comparing (`equality.rs`), nor their text
/// (`text.rs`).
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum IValue {
    /// `None`
    #[default]
    None,
    /// A bool.
    Bool(bool),
    /// An int; also a dtype, layout or memory format.
    Int(i64),
    /// A float.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(Text),
    /// A device, such as `cuda:0`.
    Device(Arc<str>),
    /// A tensor.
    Tensor(Tensor),
    /// A list.
    List(Shared<List>),
    /// A dict.
    Dict(Shared<Dict>),
    /// A tuple, or a NamedTuple.
    Tuple(Rc<Tuple>),
    /// An object of a class of the program.
    Object(Shared<Object>),
    /// A member of an enum: its index.
    Enum(Arc<EnumType>, u32),
    /// A function of the program.
    Function(FunctionId),
    /// What a fork gave. Forks are run when they are made, so it is always there.
    Future(Rc<Future>),
    /// A random number generator of the CPU: `torch.Generator`.
    Generator(Shared<Generator>),
    /// Sequences of different lengths as one: a nested tensor.
    Nested(Rc<Nested>),
    /// A sparse tensor. What is done in place is seen by all who hold it.
    Sparse(Shared<Sparse>),
}

/// Sequences of different lengths: what `torch._nested_tensor_from_mask` makes of a batch for the
/// layers of a transformer.
#[derive(Debug)]
pub struct Nested {
    /// All sequences, batch x longest x features; what lies behind an end is of no meaning.
    pub padded: Tensor,
    /// The length of each sequence.
    pub lengths: Vec<i64>,
}

/// The elements of a list and their type.
pub struct List {
    /// The type of the elements.
    pub element: Type,
    /// The elements.
    pub items: Vec<IValue>,
    charge: Charge,
}

impl List {
    /// A list of elements of a type, charged to the session that makes it.
    pub fn new(element: Type, items: Vec<IValue>) -> Self {
        let charge = Memory::charge_value(Self::bytes(&items));
        List { element, items, charge }
    }

    /// What a list of these elements takes.
    fn bytes(items: &Vec<IValue>) -> usize {
        size_of::<Self>() + SHARED + items.capacity() * size_of::<IValue>()
    }

    /// Charges what it has grown by.
    pub(crate) fn recharge(&mut self) {
        self.charge.resize(Self::bytes(&self.items));
    }
}

/// How deep the type of a value may be, and how many types it may have in it.
const MAX_TYPE_DEPTH: usize = 100;
const MAX_TYPES: usize = 1 << 20;

/// What a value that is held by reference takes beside itself: the counts, and what allocators add.
pub(crate) const SHARED: usize = 40;

/// The elements of a tuple and, for a NamedTuple, its type.
pub struct Tuple {
    /// The elements.
    pub items: Box<[IValue]>,
    /// The NamedTuple that it is.
    pub named: Option<Type>,
    _charge: Charge,
}

impl Tuple {
    /// A tuple, charged to the session that makes it.
    pub fn new(items: impl Into<Box<[IValue]>>, named: Option<Type>) -> Self {
        let items = items.into();
        let bytes = size_of::<Self>() + SHARED + size_of_val(&*items);
        Tuple { items, named, _charge: Memory::charge_value(bytes) }
    }
}

/// An object: its class and its slots.
pub struct Object {
    /// The class.
    pub class: ClassId,
    /// The attributes in slot order; `None` before `__init__` has set one.
    pub slots: Vec<Option<IValue>>,
    _charge: Charge,
}

impl Object {
    /// An object, charged to the session that makes it.
    pub fn new(class: ClassId, slots: Vec<Option<IValue>>) -> Self {
        let bytes = size_of::<Self>() + SHARED + size_of_val(&*slots);
        Object { class, slots, _charge: Memory::charge_value(bytes) }
    }
}

/// What a fork gave, or the text of what it raised, which waiting for it raises.
pub struct Future {
    /// The value or the text.
    pub outcome: Result<IValue, String>,
}

impl IValue {
    /// Puts it in the place of another. What is often in a register goes part by part: a whole value
    /// read right after its parts were written waits until they are in the cache.
    #[inline(always)]
    pub(crate) fn put(self, slot: &mut IValue) {
        match self {
            IValue::Int(value) => *slot = IValue::Int(value),
            IValue::Tensor(value) => *slot = IValue::Tensor(value),
            IValue::List(value) => *slot = IValue::List(value),
            other => *slot = other,
        }
    }

    /// Puts a copy of it in the place of another, as [`Self::put`].
    #[inline(always)]
    pub(crate) fn put_copy(&self, slot: &mut IValue) {
        match self {
            IValue::None => *slot = IValue::None,
            &IValue::Bool(value) => *slot = IValue::Bool(value),
            &IValue::Int(value) => *slot = IValue::Int(value),
            &IValue::Float(value) => *slot = IValue::Float(value),
            IValue::Tensor(value) => *slot = IValue::Tensor(value.clone()),
            IValue::List(value) => *slot = IValue::List(value.clone()),
            IValue::Object(value) => *slot = IValue::Object(value.clone()),
            other => *slot = other.clone(),
        }
    }

    /// Whether it is a sparse tensor, or a list of them.
    pub(crate) fn is_sparse(&self) -> bool {
        match self {
            IValue::Sparse(_) => true,
            IValue::List(list) => {
                list.read().items.first().is_some_and(|item| matches!(item, IValue::Sparse(_)))
            }
            _ => false,
        }
    }

    /// A string.
    pub fn str(text: impl Into<Text>) -> Self {
        IValue::Str(text.into())
    }

    /// A list of elements of a type.
    pub fn list(element: Type, items: Vec<IValue>) -> Self {
        IValue::List(Shared::new(List::new(element, items)))
    }

    /// A tuple without names.
    pub fn tuple(items: Vec<IValue>) -> Self {
        IValue::Tuple(Rc::new(Tuple::new(items, None)))
    }

    /// Whether it is `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, IValue::None)
    }

    /// The type a value has by itself, without the program's names: what error texts call it.
    pub fn kind_name(&self) -> &'static str {
        match self {
            IValue::None => "None",
            IValue::Bool(_) => "Bool",
            IValue::Int(_) => "Int",
            IValue::Float(_) => "Double",
            IValue::Complex(..) => "ComplexDouble",
            IValue::Str(_) => "String",
            IValue::Device(_) => "Device",
            IValue::Tensor(_) => "Tensor",
            IValue::List(_) => "GenericList",
            IValue::Dict(_) => "GenericDict",
            IValue::Tuple(_) => "Tuple",
            IValue::Object(_) => "Object",
            IValue::Enum(..) => "Enum",
            IValue::Function(_) => "Function",
            IValue::Future(_) => "Future",
            IValue::Generator(..) => "Generator",
            IValue::Nested(_) => "nested Tensor",
            IValue::Sparse(_) => "sparse Tensor",
        }
    }

    /// The type of the value, with the types of classes as the caller knows them; `None` where it would
    /// be nested too deeply: types are gone over by recursion.
    pub(crate) fn type_with(&self, class_type: &mut impl FnMut(ClassId) -> Type) -> Option<Type> {
        self.type_within(class_type, &mut { MAX_TYPES }, MAX_TYPE_DEPTH)
    }

    fn type_within(
        &self,
        class_type: &mut impl FnMut(ClassId) -> Type,
        left: &mut usize,
        depth: usize,
    ) -> Option<Type> {
        *left = left.checked_sub(1)?;
        let deeper = depth.checked_sub(1)?;
        Some(match self {
            IValue::None => Type::None,
            IValue::Bool(_) => Type::Bool,
            IValue::Int(_) => Type::Int,
            IValue::Float(_) => Type::Float,
            IValue::Complex(..) => Type::Complex,
            IValue::Str(_) => Type::Str,
            IValue::Device(_) => Type::Device,
            IValue::Tensor(_) | IValue::Nested(_) | IValue::Sparse(_) => Type::Tensor,
            IValue::List(list) => Type::list(list.read().element.clone()),
            IValue::Dict(dict) => {
                let dict = dict.read();
                Type::dict(dict.key.clone(), dict.value.clone())
            }
            IValue::Tuple(tuple) => match &tuple.named {
                Some(named) => named.clone(),
                None => {
                    let mut types = Vec::with_capacity(tuple.items.len());
                    for item in &tuple.items {
                        types.push(item.type_within(class_type, left, deeper)?);
                    }
                    Type::tuple(types)
                }
            },
            IValue::Object(object) => class_type(object.read().class),
            IValue::Enum(of, _) => Type::Enum(Arc::clone(of)),
            IValue::Function(_) => Type::Any,
            IValue::Future(future) => Type::future(match &future.outcome {
                Ok(value) => value.type_within(class_type, left, deeper)?,
                Err(_) => Type::Any,
            }),
            IValue::Generator(..) => Type::Generator,
        })
    }

    /// Whether both are one: `prim::is`. Numbers, strings and devices are one when they are equal
    /// and of one kind, as `IValue::is` has it.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (IValue::None, IValue::None) => true,
            (IValue::Bool(a), IValue::Bool(b)) => a == b,
            (IValue::Int(a), IValue::Int(b)) => a == b,
            (IValue::Float(a), IValue::Float(b)) => a == b,
            (IValue::Str(a), IValue::Str(b)) => a.is(b),
            (IValue::Device(a), IValue::Device(b)) => a == b,
            (IValue::List(a), IValue::List(b)) => a.is(b),
            (IValue::Dict(a), IValue::Dict(b)) => a.is(b),
            (IValue::Tuple(a), IValue::Tuple(b)) => Rc::ptr_eq(a, b),
            (IValue::Object(a), IValue::Object(b)) => a.is(b),
            (IValue::Generator(a), IValue::Generator(b)) => a.is(b),
            (IValue::Enum(a, i), IValue::Enum(b, j)) => a == b && i == j,
            (IValue::Function(a), IValue::Function(b)) => a == b,
            (IValue::Tensor(a), IValue::Tensor(b)) => a.is(b),
            (IValue::Sparse(a), IValue::Sparse(b)) => a.is(b),
            _ => false,
        }
    }

    /// The value of a constant that needs neither tables of tensors nor objects.
    pub(crate) fn of_constant(constant: &Constant) -> Option<Self> {
        Some(match constant {
            Constant::None => IValue::None,
            Constant::Bool(value) => IValue::Bool(*value),
            Constant::Int(value) => IValue::Int(*value),
            Constant::Float(value) => IValue::Float(*value),
            Constant::Complex(re, im) => IValue::Complex(*re, *im),
            Constant::Str(text) => IValue::Str(Text::constant(text)),
            Constant::Device(text) => IValue::Device(Arc::clone(text)),
            Constant::Enum(Type::Enum(of), index) => IValue::Enum(Arc::clone(of), *index),
            Constant::Generator(device, seed) if &**device == "cpu" => {
                IValue::Generator(Shared::new(Generator::new(*seed)))
            }
            _ => return None,
        })
    }
}

/// Containers as Python shows them, cut where they are deep or long.
impl fmt::Debug for IValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IValue::None => f.write_str("None"),
            IValue::Bool(value) => f.debug_tuple("Bool").field(value).finish(),
            IValue::Int(value) => f.debug_tuple("Int").field(value).finish(),
            IValue::Float(value) => f.debug_tuple("Float").field(value).finish(),
            IValue::Complex(re, im) => f.debug_tuple("Complex").field(re).field(im).finish(),
            IValue::Str(text) => f.debug_tuple("Str").field(text).finish(),
            IValue::Device(text) => f.debug_tuple("Device").field(text).finish(),
            IValue::Tensor(tensor) => f.debug_tuple("Tensor").field(tensor).finish(),
            IValue::Enum(of, index) => f.debug_tuple("Enum").field(of).field(index).finish(),
            IValue::Function(function) => f.debug_tuple("Function").field(function).finish(),
            IValue::Nested(nested) => f.debug_tuple("Nested").field(nested).finish(),
            IValue::Sparse(sparse) => f.debug_tuple("Sparse").field(sparse).finish(),
            IValue::Object(object) => write!(f, "Object({:?})", object.read().class),
            IValue::List(_)
            | IValue::Dict(_)
            | IValue::Tuple(_)
            | IValue::Future(_)
            | IValue::Generator(_) => write!(f, "{}({})", self.kind_name(), python_text(self)),
        }
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("element", &self.element).field("items", &self.items).finish()
    }
}

impl fmt::Debug for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuple").field("items", &self.items).field("named", &self.named).finish()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("class", &self.class).field("slots", &self.slots).finish()
    }
}

impl fmt::Debug for Future {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Future").field("outcome", &self.outcome).finish()
    }
}
