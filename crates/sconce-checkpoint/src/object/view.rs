use std::fmt;

use num_bigint::BigInt;
use sconce_tensor::Tensor;

use super::{Dict, Graph, Instance, Module, Node, ObjectId, repr};

/// One object of a checkpoint; copying it copies a reference.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// let checkpoint = sconce_checkpoint::Checkpoint::open(path)?;
/// let root = checkpoint.root();
/// let epoch = root.get("epoch").and_then(|object| object.as_i64());
/// for (key, value) in root.entries() {
///     println!("{}: {}", key.repr(40), value.repr(60));
/// }
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Object<'c> {
    graph: &'c Graph,
    id: ObjectId,
}

impl<'c> Object<'c> {
    pub(crate) fn new(graph: &'c Graph, id: ObjectId) -> Self {
        Object { graph, id }
    }

    /// Its identity: two objects of one checkpoint with equal ids are one Python object.
    pub fn id(self) -> ObjectId {
        self.id
    }

    pub(crate) fn graph(self) -> &'c Graph {
        self.graph
    }

    /// What it is.
    pub fn data(self) -> &'c Node {
        self.graph.node(self.id)
    }

    /// Another object of the same checkpoint.
    pub fn other(self, id: ObjectId) -> Object<'c> {
        Object { graph: self.graph, id }
    }

    /// The value of a dict under a str key; the attribute of an instance; a module's parameter,
    /// buffer or submodule.
    pub fn get(self, key: &str) -> Option<Object<'c>> {
        let mut object = self;
        // A tensor's attributes are in its state, which can be a tensor, and so on.
        while let Node::Tensor(found) = object.data() {
            object = object.other(found.state?);
        }
        match object.data() {
            Node::Dict(dict) => dict.get(object.graph, key).map(|id| object.other(id)),
            Node::Instance(_) => {
                let module = object.as_module().and_then(|module| module.member(key));
                module.or_else(|| object.attribute(key))
            }
            _ => None,
        }
    }

    /// The element of a list, tuple or set at a place, or of a dict under an int key.
    pub fn at(self, index: usize) -> Option<Object<'c>> {
        let id = match self.data() {
            Node::Dict(dict) => dict.get_int(self.graph, i64::try_from(index).ok()?)?,
            _ => *self.items().get(index)?,
        };
        Some(self.other(id))
    }

    /// Number of elements of a container, or of entries that were set on an instance (of a subclass of
    /// `dict`, say); 0 for anything else.
    pub fn len(self) -> usize {
        match self.data() {
            Node::Dict(dict) => dict.len(),
            Node::Instance(instance) if !instance.entries.is_empty() => instance.entries.len(),
            _ => self.items().len(),
        }
    }

    /// Whether [`Object::len`] is 0.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    fn items(self) -> &'c [ObjectId] {
        match self.data() {
            Node::List(items) | Node::Tuple(items) | Node::Set(items) | Node::FrozenSet(items) => {
                items
            }
            Node::Instance(instance) if !instance.items.is_empty() => &instance.items,
            Node::Instance(instance) if instance.states.is_empty() => {
                match self.graph.node(instance.args) {
                    Node::Tuple(args) => args,
                    _ => &[],
                }
            }
            _ => &[],
        }
    }

    /// The elements of a list, tuple or set, and of sequence-like instances (named tuples).
    pub fn iter(self) -> impl ExactSizeIterator<Item = Object<'c>> {
        self.items().iter().map(move |&id| self.other(id))
    }

    /// The entries of a dict, in order.
    pub fn entries(self) -> impl ExactSizeIterator<Item = (Object<'c>, Object<'c>)> {
        let entries = match self.data() {
            Node::Dict(dict) => dict.entries(),
            Node::Instance(instance) => &instance.entries,
            _ => &[],
        };
        entries.iter().map(move |&(key, value)| (self.other(key), self.other(value)))
    }

    /// An instance's attributes (its state, as `__dict__` and slots), a dict's own attributes, a
    /// tensor's Python attributes.
    pub fn attributes(self) -> Vec<(Object<'c>, Object<'c>)> {
        let states: Vec<ObjectId> = match self.data() {
            Node::Instance(instance) => instance.states.clone(),
            Node::Dict(dict) => dict.state.into_iter().collect(),
            Node::Tensor(object) => object.state.into_iter().collect(),
            _ => return Vec::new(),
        };
        // A dict that is given as state again adds nothing.
        let mut seen = std::collections::HashSet::new();
        let dicts = states.into_iter().flat_map(|state| self.state_dicts(state));
        dicts
            .filter(|&dict| seen.insert(dict))
            .flat_map(|dict| self.other(dict).entries())
            .collect()
    }

    /// The dicts whose entries go by the names of members: a dict itself; of a module, the tables of
    /// its parameters, buffers and submodules, then what holds its other attributes; of another
    /// object, its attributes.
    pub(crate) fn member_dicts(self) -> Vec<ObjectId> {
        match self.data() {
            Node::Dict(_) => vec![self.id],
            Node::Instance(instance) => {
                let tables = self.as_module().map(Module::tables).into_iter().flatten();
                let states = instance.states.iter().flat_map(|&state| self.state_dicts(state));
                let mut seen = std::collections::HashSet::new();
                tables.chain(states).filter(|&id| seen.insert(id)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A state is a dict, or a pair of dicts (`__dict__` and slots), either of which may be None.
    fn state_dicts(self, state: ObjectId) -> Vec<ObjectId> {
        let is_dict = |id: &ObjectId| matches!(self.graph.node(*id), Node::Dict(_));
        match self.graph.node(state) {
            Node::Dict(_) => vec![state],
            Node::Tuple(parts) if parts.len() == 2 => {
                parts.iter().copied().filter(is_dict).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn attribute(self, name: &str) -> Option<Object<'c>> {
        let Node::Instance(instance) = self.data() else { return None };
        instance.states.iter().rev().find_map(|&state| {
            self.state_dicts(state).into_iter().find_map(|dict| self.other(dict).get(name))
        })
    }

    /// The dict underneath.
    pub fn as_dict(self) -> Option<&'c Dict> {
        match self.data() {
            Node::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The instance underneath.
    pub fn as_instance(self) -> Option<&'c Instance> {
        match self.data() {
            Node::Instance(instance) => Some(instance),
            _ => None,
        }
    }

    /// The text of a str.
    pub fn as_str(self) -> Option<&'c str> {
        match self.data() {
            Node::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The value of an int.
    pub fn as_i64(self) -> Option<i64> {
        match self.data() {
            Node::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The value of an int of any size.
    pub fn as_bigint(self) -> Option<BigInt> {
        match self.data() {
            Node::Int(number) => Some(BigInt::from(*number)),
            Node::BigInt(number) => Some((**number).clone()),
            _ => None,
        }
    }

    /// The value of a float or an int.
    pub fn as_f64(self) -> Option<f64> {
        match self.data() {
            Node::Float(number) => Some(*number),
            Node::Int(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// The value of a bool.
    pub fn as_bool(self) -> Option<bool> {
        match self.data() {
            Node::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The tensor.
    pub fn as_tensor(self) -> Option<&'c Tensor> {
        match self.data() {
            Node::Tensor(object) => Some(&object.tensor),
            _ => None,
        }
    }

    /// The object as a pickled `nn.Module`: an instance whose state has `_modules`,
    /// `_parameters` and `_buffers`.
    pub fn as_module(self) -> Option<Module<'c>> {
        Module::of(self)
    }

    /// `module.Class` of an instance; of other objects, the name of their Python type.
    pub fn class_name(self) -> String {
        match self.data() {
            Node::Instance(instance) => match self.graph.node(instance.callable) {
                Node::Class(class) => class.full_name(),
                _ => repr::repr(self.other(instance.callable), 60),
            },
            Node::Tensor(object) => match &object.class {
                super::TensorClass::Tensor => "torch.Tensor".to_owned(),
                super::TensorClass::Parameter => "torch.nn.parameter.Parameter".to_owned(),
                super::TensorClass::Subclass(class) => class.full_name(),
            },
            Node::None => "NoneType".to_owned(),
            Node::Bool(_) => "bool".to_owned(),
            Node::Int(_) | Node::BigInt(_) => "int".to_owned(),
            Node::Float(_) => "float".to_owned(),
            Node::Complex(..) => "complex".to_owned(),
            Node::Str(_) | Node::SurrogateStr(_) => "str".to_owned(),
            Node::Bytes(_) => "bytes".to_owned(),
            Node::ByteArray(_) => "bytearray".to_owned(),
            Node::List(_) => "list".to_owned(),
            Node::Tuple(_) => "tuple".to_owned(),
            Node::Set(_) => "set".to_owned(),
            Node::FrozenSet(_) => "frozenset".to_owned(),
            Node::Dict(dict) => dict.kind.name().to_owned(),
            Node::Storage(_) => "torch.storage.TypedStorage".to_owned(),
            Node::DType(_) => "torch.dtype".to_owned(),
            Node::Size(_) => "torch.Size".to_owned(),
            Node::Device(_) => "torch.device".to_owned(),
            Node::Layout(_) => "torch.layout".to_owned(),
            Node::QScheme(_) => "torch.qscheme".to_owned(),
            Node::Array(_) => "numpy.ndarray".to_owned(),
            Node::Scalar(array) => format!("numpy.{}", array.dtype.name()),
            Node::Class(_) => "type".to_owned(),
        }
    }

    /// A date, time, time span, time zone or path of Python's standard library, as Python shows it.
    /// Their pickled form, packed bytes or parts, says nothing to a reader.
    pub fn python_text(self) -> Option<String> {
        super::python::text(self)
    }

    /// What the object would look like in Python, cut to about `max_chars` characters. Never
    /// follows a cycle, never prints tensor values.
    pub fn repr(self, max_chars: usize) -> String {
        repr::repr(self, max_chars)
    }
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repr(200))
    }
}
