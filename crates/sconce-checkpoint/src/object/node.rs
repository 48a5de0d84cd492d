use num_bigint::BigInt;
use sconce_tensor::{DType, Device, Layout, Storage, Tensor};

use super::Dict;
use crate::object::numpy_dtype::NumpyDType;

/// The identity of an object in its checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub(crate) u32);

impl ObjectId {
    /// A number below the count of objects, unique in the checkpoint.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One object. Elements of containers are ids into the same graph.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Node {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An int that fits 64 bits.
    Int(i64),
    /// An int that does not.
    BigInt(Box<BigInt>),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A str.
    Str(Box<str>),
    /// A str with lone surrogates, in UTF-8 extended with their three-byte forms.
    SurrogateStr(Box<[u8]>),
    /// A bytes object.
    Bytes(Box<[u8]>),
    /// A bytearray.
    ByteArray(Box<[u8]>),
    /// A list.
    List(Vec<ObjectId>),
    /// A tuple.
    Tuple(Vec<ObjectId>),
    /// A set, in the order the file gives.
    Set(Vec<ObjectId>),
    /// A frozenset, in the order the file gives.
    FrozenSet(Vec<ObjectId>),
    /// A dict or one of its well-known subclasses.
    Dict(Box<Dict>),
    /// A tensor, parameter or tensor subclass.
    Tensor(Box<TensorObject>),
    /// A storage that stands for itself, outside any tensor.
    Storage(Box<StorageObject>),
    /// A `torch.dtype`.
    DType(DType),
    /// A `torch.Size`.
    Size(Vec<i64>),
    /// A `torch.device`.
    Device(Device),
    /// A `torch.layout`.
    Layout(Layout),
    /// A quantization scheme, by its name without `torch.`.
    QScheme(Box<str>),
    /// A numpy array.
    Array(Box<Array>),
    /// A numpy scalar: an array of no dimensions.
    Scalar(Box<Array>),
    /// A class or function, by name.
    Class(Box<ClassRef>),
    /// An object of any other class.
    Instance(Box<Instance>),
}

/// A class or function, named and never imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRef {
    /// The module, with Python 2 names already mapped to Python 3's.
    pub module: Box<str>,
    /// The name in the module.
    pub name: Box<str>,
    /// The file and source text that `torch.save` before 1.6 kept for `nn.Module` classes.
    pub source: Option<Box<(Option<String>, Option<String>)>>,
}

impl ClassRef {
    /// `module.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.module, self.name)
    }
}

/// How Python would have made an [`Instance`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Construction {
    /// `callable(*args)`.
    Call,
    /// `callable.__new__(callable, *args, **kwargs)`.
    New,
    /// An extension code, a persistent id or an out-of-band buffer, kept as `args`.
    External,
}

/// An object of a class that has no node of its own, kept as it was described.
#[derive(Debug, Clone)]
pub struct Instance {
    /// What would have been called; a [`Node::Class`] in all but odd files.
    pub callable: ObjectId,
    /// How it would have been made.
    pub construction: Construction,
    /// The arguments, a tuple.
    pub args: ObjectId,
    /// Keyword arguments, a dict.
    pub kwargs: Option<ObjectId>,
    /// States given by BUILD (`__setstate__` or `__dict__`), in order.
    pub states: Vec<ObjectId>,
    /// Items appended or added to it.
    pub items: Vec<ObjectId>,
    /// Entries set on it.
    pub entries: Vec<(ObjectId, ObjectId)>,
}

/// What kind of Python object a tensor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TensorClass {
    /// `torch.Tensor`.
    Tensor,
    /// `torch.nn.Parameter`.
    Parameter,
    /// Another class derived from `torch.Tensor`.
    Subclass(ClassRef),
}

/// A tensor with what Python hangs on it.
#[derive(Debug, Clone)]
pub struct TensorObject {
    /// The tensor.
    pub tensor: Tensor,
    /// Its class.
    pub class: TensorClass,
    /// Its Python attributes, when it has any: usually a dict.
    pub state: Option<ObjectId>,
}

/// A storage that stands for itself.
#[derive(Debug, Clone)]
pub struct StorageObject {
    /// The bytes.
    pub storage: Storage,
    /// The element type; `UInt8` for untyped storages.
    pub dtype: DType,
}

/// A numpy array or scalar.
#[derive(Debug, Clone)]
pub struct Array {
    /// numpy's dtype.
    pub dtype: NumpyDType,
    /// The shape.
    pub shape: Vec<i64>,
    /// The elements.
    pub data: ArrayData,
    /// What else its pickle said.
    pub(crate) described: Described,
}

/// How an array stood in its pickle, beside its elements.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Described {
    /// The class, if it is not `numpy.ndarray` but derived from that.
    pub(crate) class: Option<ObjectId>,
    /// The dtype object: other arrays, and other dtypes, may hold the same.
    pub(crate) dtype: Option<ObjectId>,
    /// Which of numpy's two ways it came.
    pub(crate) form: ArrayForm,
}

/// What an array is made by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ArrayForm {
    /// `_reconstruct` and a state: elements are then in the machine's byte order ever after.
    #[default]
    State,
    /// `_frombuffer`, of protocol 5: elements are as the buffer has them, and cannot be written to
    /// where that is bytes.
    Buffer {
        /// Whether it is a bytes object and no bytearray.
        read_only: bool,
    },
}

/// The elements of an [`Array`].
#[derive(Debug, Clone)]
pub enum ArrayData {
    /// Elements that PyTorch has a dtype for: a tensor over them (Fortran order is in its strides,
    /// byte order in its storage).
    Tensor(Tensor),
    /// Raw bytes of elements that it has none for (text, dates, records), in C order unless
    /// `fortran`.
    Raw {
        /// The bytes as the file has them.
        bytes: Box<[u8]>,
        /// Whether the first index varies fastest.
        fortran: bool,
    },
    /// Python objects, in C order unless `fortran`.
    Objects {
        /// A list of the objects.
        items: ObjectId,
        /// Whether the first index varies fastest.
        fortran: bool,
    },
}

/// All objects of a checkpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
}

impl Graph {
    pub(crate) fn push(&mut self, node: Node) -> ObjectId {
        let id = ObjectId(self.nodes.len() as u32);
        self.nodes.push(node);
        id
    }

    pub(crate) fn set(&mut self, id: ObjectId, node: Node) {
        self.nodes[id.index()] = node;
    }

    pub(crate) fn node(&self, id: ObjectId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// How many references to objects the objects hold.
    pub(crate) fn edges(&self) -> usize {
        let of = |node: &Node| match node {
            Node::List(ids) | Node::Tuple(ids) | Node::Set(ids) | Node::FrozenSet(ids) => ids.len(),
            Node::Dict(dict) => 2 * dict.len() + 2,
            Node::Instance(instance) => {
                let Instance { states, items, entries, .. } = &**instance;
                states.len() + items.len() + 2 * entries.len() + 3
            }
            _ => 1,
        };
        self.nodes.iter().map(of).sum()
    }
}
