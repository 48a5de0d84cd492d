//! What TorchScript values are at run time.

use std::rc::Rc;
use std::sync::Arc;

use sconce_ir::{ClassId, Constant, EnumType, FunctionId, Type};
use sconce_kernels::{Charge, Generator, Memory};

use crate::Tensor;
use crate::shared::Shared;

/// A value of a running program: PyTorch's `c10::IValue`. Lists, dicts, objects and futures are
/// held by reference; a clone is the same list.
#[derive(Clone, Debug, Default)]
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
    Str(Arc<str>),
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
    /// What a fork gave, or the text of what it raised, which waiting for it raises. Forks are run
    /// when they are made, so it is always there.
    Future(Rc<Result<IValue, String>>),
    /// A random number generator of the CPU: `torch.Generator`.
    Generator(Shared<Generator>),
    /// Sequences of different lengths as one: a nested tensor.
    Nested(Rc<Nested>),
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
#[derive(Debug)]
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
        let charge = Memory::charge_anyway(items.capacity() * size_of::<IValue>());
        List { element, items, charge }
    }

    /// Charges what it has grown by.
    pub(crate) fn recharge(&mut self) {
        self.charge.resize(self.items.capacity() * size_of::<IValue>());
    }
}

/// The elements of a tuple and, for a NamedTuple, its type.
#[derive(Debug)]
pub struct Tuple {
    /// The elements.
    pub items: Box<[IValue]>,
    /// The NamedTuple that it is.
    pub named: Option<Type>,
}

/// An object: its class and its slots.
#[derive(Debug)]
pub struct Object {
    /// The class.
    pub class: ClassId,
    /// The attributes in slot order; `None` before `__init__` has set one.
    pub slots: Vec<Option<IValue>>,
}

pub use crate::dict::Dict;

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

    /// A string.
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        IValue::Str(text.into())
    }

    /// A list of elements of a type.
    pub fn list(element: Type, items: Vec<IValue>) -> Self {
        IValue::List(Shared::new(List::new(element, items)))
    }

    /// A tuple without names.
    pub fn tuple(items: Vec<IValue>) -> Self {
        IValue::Tuple(Rc::new(Tuple { items: items.into(), named: None }))
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
        }
    }

    /// The type of the value, with the types of classes as the caller knows them.
    pub(crate) fn type_with(&self, class_type: &mut impl FnMut(ClassId) -> Type) -> Type {
        match self {
            IValue::None => Type::None,
            IValue::Bool(_) => Type::Bool,
            IValue::Int(_) => Type::Int,
            IValue::Float(_) => Type::Float,
            IValue::Complex(..) => Type::Complex,
            IValue::Str(_) => Type::Str,
            IValue::Device(_) => Type::Device,
            IValue::Tensor(_) | IValue::Nested(_) => Type::Tensor,
            IValue::List(list) => Type::list(list.read().element.clone()),
            IValue::Dict(dict) => {
                let dict = dict.read();
                Type::dict(dict.key.clone(), dict.value.clone())
            }
            IValue::Tuple(tuple) => match &tuple.named {
                Some(named) => named.clone(),
                None => {
                    Type::tuple(tuple.items.iter().map(|item| item.type_with(class_type)).collect())
                }
            },
            IValue::Object(object) => class_type(object.read().class),
            IValue::Enum(of, _) => Type::Enum(Arc::clone(of)),
            IValue::Function(_) => Type::Any,
            IValue::Future(outcome) => Type::future(match &**outcome {
                Ok(value) => value.type_with(class_type),
                Err(_) => Type::Any,
            }),
            IValue::Generator(..) => Type::Generator,
        }
    }

    /// Whether both are one: `prim::is`. Numbers, strings and devices are one when they are equal
    /// and of one kind, as `IValue::is` has it.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (IValue::None, IValue::None) => true,
            (IValue::Bool(a), IValue::Bool(b)) => a == b,
            (IValue::Int(a), IValue::Int(b)) => a == b,
            (IValue::Float(a), IValue::Float(b)) => a == b,
            (IValue::Str(a), IValue::Str(b)) => Arc::ptr_eq(a, b),
            (IValue::Device(a), IValue::Device(b)) => a == b,
            (IValue::List(a), IValue::List(b)) => a.is(b),
            (IValue::Dict(a), IValue::Dict(b)) => a.is(b),
            (IValue::Tuple(a), IValue::Tuple(b)) => Rc::ptr_eq(a, b),
            (IValue::Object(a), IValue::Object(b)) => a.is(b),
            (IValue::Generator(a), IValue::Generator(b)) => a.is(b),
            (IValue::Enum(a, i), IValue::Enum(b, j)) => a == b && i == j,
            (IValue::Function(a), IValue::Function(b)) => a == b,
            (IValue::Tensor(a), IValue::Tensor(b)) => a.is(b),
            _ => false,
        }
    }

    /// Whether both are equal: `aten::eq` of what is no tensor; `None` where a tensor takes part.
    pub fn equal(&self, other: &Self) -> Option<bool> {
        Some(match (self, other) {
            (IValue::Int(a), IValue::Float(b)) | (IValue::Float(b), IValue::Int(a)) => {
                *a as f64 == *b
            }
            (IValue::Complex(a, b), IValue::Complex(c, d)) => a == c && b == d,
            (IValue::Complex(a, b), other) | (other, IValue::Complex(a, b)) => {
                *b == 0.0
                    && match other {
                        IValue::Int(int) => *int as f64 == *a,
                        IValue::Float(float) => float == a,
                        _ => false,
                    }
            }
            (IValue::Str(a), IValue::Str(b)) => a == b,
            (IValue::Tensor(_), _) | (_, IValue::Tensor(_)) => return None,
            (IValue::List(a), IValue::List(b)) => {
                if a.is(b) {
                    return items_equal(&a.read().items, &a.read().items);
                }
                return items_equal(&a.read().items, &b.read().items);
            }
            (IValue::Tuple(a), IValue::Tuple(b)) => return items_equal(&a.items, &b.items),
            (IValue::Dict(a), IValue::Dict(b)) => {
                let (a, b) = (a.read(), b.read());
                if a.len() != b.len() {
                    return Some(false);
                }
                for (key, value) in a.entries() {
                    match b.get(key) {
                        Some(other) if value.equal(other)? => {}
                        _ => return Some(false),
                    }
                }
                true
            }
            _ => self.is(other),
        })
    }

    /// The value of a constant that needs neither tables of tensors nor objects.
    pub(crate) fn of_constant(constant: &Constant) -> Option<Self> {
        Some(match constant {
            Constant::None => IValue::None,
            Constant::Bool(value) => IValue::Bool(*value),
            Constant::Int(value) => IValue::Int(*value),
            Constant::Float(value) => IValue::Float(*value),
            Constant::Complex(re, im) => IValue::Complex(*re, *im),
            Constant::Str(text) => IValue::Str(Arc::clone(text)),
            Constant::Device(text) => IValue::Device(Arc::clone(text)),
            Constant::Enum(Type::Enum(of), index) => IValue::Enum(Arc::clone(of), *index),
            Constant::Generator(device, seed) if &**device == "cpu" => {
                IValue::Generator(Shared::new(Generator::new(*seed)))
            }
            _ => return None,
        })
    }
}

fn items_equal(a: &[IValue], b: &[IValue]) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    for (a, b) in a.iter().zip(b) {
        if !a.equal(b)? {
            return Some(false);
        }
    }
    Some(true)
}

/// Objects can form chains of any length, which are taken apart without recursion.
impl Drop for Object {
    fn drop(&mut self) {
        let mut pending: Vec<IValue> = Vec::new();
        pending.extend(self.slots.drain(..).flatten().filter(holds_others));
        while let Some(value) = pending.pop() {
            match value {
                IValue::Object(mut object) => {
                    if let Some(object) = object.only() {
                        pending.extend(object.slots.drain(..).flatten().filter(holds_others));
                    }
                }
                IValue::List(mut list) => {
                    if let Some(list) = list.only() {
                        pending.extend(list.items.drain(..).filter(holds_others));
                    }
                }
                IValue::Dict(mut dict) => {
                    if let Some(dict) = dict.only() {
                        pending.extend(dict.take_values().filter(holds_others));
                    }
                }
                IValue::Tuple(mut tuple) => {
                    if let Some(tuple) = Rc::get_mut(&mut tuple) {
                        let items = std::mem::take(&mut tuple.items);
                        pending.extend(items.into_iter().filter(holds_others));
                    }
                }
                _ => {}
            }
        }
    }
}

fn holds_others(value: &IValue) -> bool {
    matches!(value, IValue::Object(_) | IValue::List(_) | IValue::Dict(_) | IValue::Tuple(_))
}
