//! Values known at compile time.

mod text;

use std::sync::Arc;

use super::{NamedRef, Type};

pub use text::{float_text, quoted};

/// The kinds of devices that `torch.device` takes, before a colon and an index.
pub const DEVICE_KINDS: &[&str] = &[
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
];

/// A value known at compile time: what `prim::Constant` holds, a default argument, an entry of a
/// class's constants.
#[derive(Clone, Debug)]
pub enum Constant {
    /// `None`
    None,
    /// A bool.
    Bool(bool),
    /// An int (also dtypes, layouts and memory formats).
    Int(i64),
    /// A float.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    /// A string. TorchScript's strings are bytes; those that are not UTF-8 are refused when read.
    Str(Arc<str>),
    /// A device, as `cuda:0`.
    Device(Arc<str>),
    /// A list and the type of its elements.
    List(Type, Arc<[Constant]>),
    /// A dict, the types of its keys and values, in order.
    Dict(Type, Type, Arc<[(Constant, Constant)]>),
    /// A tuple, with its type when it is a NamedTuple.
    Tuple(Arc<[Constant]>, Option<Type>),
    /// A member of an enum: the type (always [`Type::Enum`]) and the member's index.
    Enum(Type, u32),
    /// A tensor.
    Tensor(TensorConstant),
    /// An object of a class, from an archive's constants: its type and its index there.
    Object(Type, u32),
    /// A function.
    Function(NamedRef),
    /// A random number generator: device and seed.
    Generator(Arc<str>, u64),
}

/// A tensor of an archive's constant table. The IR never sees its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorConstant {
    /// The index in the table; equal indexes are the same tensor.
    pub index: u32,
    /// How PyTorch writes it in a graph: `{3}`, a short tensor's elements, or `<Tensor>`.
    pub text: Arc<str>,
}

/// Equality as constant pooling needs it: floats by bits, tensors by index.
impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Complex(a, b), Self::Complex(c, d)) => {
                a.to_bits() == c.to_bits() && b.to_bits() == d.to_bits()
            }
            (Self::Str(a), Self::Str(b)) | (Self::Device(a), Self::Device(b)) => a == b,
            (Self::List(t, a), Self::List(u, b)) => t == u && a == b,
            (Self::Dict(k, v, a), Self::Dict(l, w, b)) => k == l && v == w && a == b,
            (Self::Tuple(a, t), Self::Tuple(b, u)) => t == u && a == b,
            (Self::Enum(t, a), Self::Enum(u, b)) | (Self::Object(t, a), Self::Object(u, b)) => {
                t == u && a == b
            }
            (Self::Tensor(a), Self::Tensor(b)) => a.index == b.index,
            (Self::Function(a), Self::Function(b)) => a == b,
            (Self::Generator(a, s), Self::Generator(b, t)) => a == b && s == t,
            _ => false,
        }
    }
}

impl Eq for Constant {}

impl Constant {
    /// The type of a value.
    pub fn ty(&self) -> Type {
        match self {
            Self::None => Type::None,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Float(_) => Type::Float,
            Self::Complex(..) => Type::Complex,
            Self::Str(_) => Type::Str,
            Self::Device(_) => Type::Device,
            Self::List(element, _) => Type::list(element.clone()),
            Self::Dict(key, value, _) => Type::dict(key.clone(), value.clone()),
            Self::Tuple(elements, named) => named
                .clone()
                .unwrap_or_else(|| Type::tuple(elements.iter().map(Self::ty).collect())),
            Self::Enum(ty, _) | Self::Object(ty, _) => ty.clone(),
            Self::Tensor(_) => Type::Tensor,
            Self::Function(function) => Type::Function(function.clone()),
            Self::Generator(..) => Type::Generator,
        }
    }
}
