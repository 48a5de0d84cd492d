use std::collections::HashMap;
use std::sync::Arc;

use num_bigint::BigInt;
use sconce_tensor::{Device, Tensor};

use super::{Draft, StateDict};
use crate::object::{
    ClassRef, Construction, Dict, DictKind, Graph, Instance, Node, ObjectId, TensorClass,
    TensorObject,
};

/// A Python value to be saved: checkpoints are made of these from nothing.
///
/// Equal strs of one value are one object in the pickle, as the equal literals of a Python program
/// are. Nesting is the caller's; [`Value::parse`] bounds that of text.
///
/// ```
/// use sconce_checkpoint::{Draft, SaveOptions, StateDict, Value};
/// use sconce_tensor::Tensor;
///
/// let mut model = StateDict::new();
/// model.insert("weight", Tensor::from_slice(&[1f32, 2.0], &[1, 2])?);
/// model.insert("bias", Tensor::from_slice(&[0.5f32], &[1])?);
/// model.version("", 1); // as nn.Linear's state_dict() says
/// // torch.save({"model": model.state_dict(), "epoch": 3, "config": {"lr": 1e-3}}, …)
/// let checkpoint = Value::dict([
///     ("model", Value::from(model)),
///     ("epoch", Value::from(3)),
///     ("config", Value::parse("{'lr': 1e-3, 'betas': (0.9, 0.999)}")?),
/// ]);
/// let file = SaveOptions::new().save_to(Draft::from(checkpoint).root(), Vec::new())?;
/// assert!(file.starts_with(b"PK"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An int that fits 64 bits.
    Int(i64),
    /// An int of any size.
    BigInt(BigInt),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A str.
    Str(String),
    /// A bytes object.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A dict; a key that is there already keeps its place and gets the later value.
    Dict(Vec<(Value, Value)>),
    /// A `collections.OrderedDict`.
    OrderedDict(Vec<(Value, Value)>),
    /// A `collections.defaultdict`: the class of new values, and the entries.
    DefaultDict(ClassRef, Vec<(Value, Value)>),
    /// An object of another class, as Python would make it again.
    Instance(Box<Made>),
    /// A `torch.device`.
    Device(Device),
    /// A `torch.Tensor`. Clones of a tensor share their storage in the file too.
    Tensor(Tensor),
    /// A `torch.nn.Parameter`, with the tensor's `requires_grad`.
    Parameter(Tensor),
    /// Anything else: objects of a checkpoint, a state dict.
    Objects(Box<Draft>),
    /// One object in several places: clones of it are the same object when they are saved.
    Shared(Arc<Value>),
}

/// How Python makes an object of a class: what its `__reduce_ex__` gives.
#[derive(Debug, Clone)]
pub struct Made {
    /// The class.
    pub class: ClassRef,
    /// Whether the class is called, or its `__new__`.
    pub construction: Construction,
    /// What it is called with.
    pub args: Vec<Value>,
    /// Its `__dict__`, or what its `__setstate__` takes.
    pub state: Option<Value>,
    /// What is appended to it.
    pub items: Vec<Value>,
}

impl Value {
    /// A dict with str keys.
    pub fn dict<K: Into<String>>(entries: impl IntoIterator<Item = (K, Value)>) -> Value {
        let entry = |(key, value): (K, Value)| (Value::Str(key.into()), value);
        Value::Dict(entries.into_iter().map(entry).collect())
    }

    /// A list.
    pub fn list<V: Into<Value>>(items: impl IntoIterator<Item = V>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }

    /// A tuple.
    pub fn tuple<V: Into<Value>>(items: impl IntoIterator<Item = V>) -> Value {
        Value::Tuple(items.into_iter().map(Into::into).collect())
    }

    /// An object that may stand in several places: clones of it are one Python object.
    ///
    /// ```
    /// use sconce_checkpoint::{Draft, Value};
    ///
    /// let list = Value::list([1, 2]).shared();
    /// let draft = Draft::from(Value::list([list.clone(), list]));
    /// assert_eq!(draft.root().at(0).unwrap().id(), draft.root().at(1).unwrap().id());
    /// ```
    #[must_use]
    pub fn shared(self) -> Value {
        Value::Shared(Arc::new(self))
    }

    /// Makes the value an object of a graph.
    pub(super) fn push(self, graph: &mut Graph) -> ObjectId {
        let (strs, classes, shared) = (HashMap::new(), HashMap::new(), HashMap::new());
        Pusher { graph, strs, classes, shared }.push(self)
    }
}

struct Pusher<'g> {
    graph: &'g mut Graph,
    strs: HashMap<String, ObjectId>,
    classes: HashMap<String, ObjectId>,
    /// Held on to, so that no other value comes to lie at its address.
    shared: HashMap<usize, (Arc<Value>, ObjectId)>,
}

impl Pusher<'_> {
    fn push(&mut self, value: Value) -> ObjectId {
        let tensor =
            |tensor, class| Node::Tensor(Box::new(TensorObject { tensor, class, state: None }));
        let node = match value {
            Value::None => Node::None,
            Value::Bool(truth) => Node::Bool(truth),
            Value::Int(number) => Node::Int(number),
            Value::BigInt(number) => match i64::try_from(&number) {
                Ok(small) => Node::Int(small),
                Err(_) => Node::BigInt(Box::new(number)),
            },
            Value::Float(number) => Node::Float(number),
            Value::Complex(re, im) => Node::Complex(re, im),
            Value::Device(device) => Node::Device(device),
            Value::Str(text) => return self.str(text),
            Value::Bytes(bytes) => Node::Bytes(bytes.into()),
            Value::List(items) => Node::List(self.all(items)),
            Value::Tuple(items) => Node::Tuple(self.all(items)),
            Value::Dict(entries) => self.dict(DictKind::Dict, None, entries),
            Value::OrderedDict(entries) => self.dict(DictKind::OrderedDict, None, entries),
            Value::DefaultDict(factory, entries) => {
                let factory = self.class(factory);
                self.dict(DictKind::DefaultDict, Some(factory), entries)
            }
            Value::Instance(made) => self.instance(*made),
            Value::Tensor(held) => tensor(held, TensorClass::Tensor),
            Value::Parameter(held) => tensor(held, TensorClass::Parameter),
            Value::Objects(draft) => return self.graph.copy_from(&draft.graph, draft.root),
            Value::Shared(value) => return self.shared(value),
        };
        self.graph.push(node)
    }

    fn dict(
        &mut self,
        kind: DictKind,
        factory: Option<ObjectId>,
        entries: Vec<(Value, Value)>,
    ) -> Node {
        let mut dict = Dict::new(kind);
        dict.factory = factory;
        for (key, value) in entries {
            let (key, value) = (self.push(key), self.push(value));
            dict.insert(self.graph, key, value);
        }
        Node::Dict(Box::new(dict))
    }

    /// A class: one object however often it is named.
    fn class(&mut self, class: ClassRef) -> ObjectId {
        let graph = &mut *self.graph;
        let name = class.full_name();
        *self.classes.entry(name).or_insert_with(|| graph.push(Node::Class(Box::new(class))))
    }

    fn instance(&mut self, made: Made) -> Node {
        let callable = self.class(made.class);
        let args = self.push(Value::Tuple(made.args));
        Node::Instance(Box::new(Instance {
            callable,
            construction: made.construction,
            args,
            kwargs: None,
            states: made.state.into_iter().map(|state| self.push(state)).collect(),
            items: self.all(made.items),
            entries: Vec::new(),
        }))
    }

    fn all(&mut self, items: Vec<Value>) -> Vec<ObjectId> {
        items.into_iter().map(|item| self.push(item)).collect()
    }

    fn shared(&mut self, value: Arc<Value>) -> ObjectId {
        let address = Arc::as_ptr(&value) as usize;
        if let Some((_, known)) = self.shared.get(&address) {
            return *known;
        }
        let id = self.push((*value).clone());
        self.shared.insert(address, (value, id));
        id
    }

    fn str(&mut self, text: String) -> ObjectId {
        let graph = &mut *self.graph;
        let node = Node::Str(text.as_str().into());
        *self.strs.entry(text).or_insert_with(|| graph.push(node))
    }
}

impl From<Value> for Draft {
    fn from(value: Value) -> Draft {
        let mut graph = Graph::default();
        let root = value.push(&mut graph);
        Draft { graph, root }
    }
}

impl From<Draft> for Value {
    fn from(draft: Draft) -> Value {
        Value::Objects(Box::new(draft))
    }
}

impl From<StateDict> for Value {
    fn from(state: StateDict) -> Value {
        Value::from(state.finish())
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident),*) => {$(
        impl From<$source> for Value {
            fn from(value: $source) -> Value {
                Value::$variant(value.into())
            }
        }
    )*};
}

from!(bool => Bool, i32 => Int, u32 => Int, i64 => Int, f32 => Float, f64 => Float, &str => Str,
    String => Str, &[u8] => Bytes, Vec<Value> => List, Tensor => Tensor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_objects_that_they_say() {
        let value = Value::dict([
            ("a", Value::list([1, 2])),
            ("b", Value::tuple(["a", "x"])),
            ("a", Value::Dict(vec![(Value::Int(1), Value::None), (Value::Bool(true), 2.5.into())])),
            ("big", Value::BigInt(BigInt::from(7))),
            ("n", Value::from(&b"\0"[..])),
        ]);
        let draft = Draft::from(value);
        let root = draft.root();
        assert_eq!(root.repr(200), r"{'a': {1: 2.5}, 'b': ('a', 'x'), 'big': 7, 'n': b'\x00'}");
        let key = root.entries().next().unwrap().0;
        assert_eq!(key.id(), root.get("b").unwrap().at(0).unwrap().id(), "equal strs are one");
    }

    #[test]
    fn objects_of_classes_are_what_python_makes_again() {
        let class = |module: &str, name: &str| ClassRef {
            module: module.into(),
            name: name.into(),
            source: None,
        };
        let made = |class: ClassRef, construction, args, state, items| {
            Value::Instance(Box::new(Made { class, construction, args, state, items }))
        };
        let value = Value::list([
            made(class("my", "P"), Construction::New, vec![1.into(), 2.into()], None, vec![]),
            made(
                class("my", "D"),
                Construction::New,
                vec![],
                Some(Value::dict([("x", 1.into())])),
                vec![],
            ),
            made(
                class("collections", "deque"),
                Construction::Call,
                vec![Value::tuple([0; 0]), 5.into()],
                None,
                vec![7.into()],
            ),
            Value::OrderedDict(vec![("a".into(), 1.into())]),
            Value::DefaultDict(class("builtins", "list"), vec![("k".into(), 1.into())]),
        ]);
        let draft = Draft::from(value);
        let file = crate::SaveOptions::new().save_to(draft.root(), Vec::new()).unwrap();
        let source = sconce_source::Source::from_vec("a.pt", file);
        let back = crate::Checkpoint::from_source(source).unwrap();
        let names: Vec<String> = back.root().iter().map(|item| item.class_name()).collect();
        assert_eq!(names, ["my.P", "my.D", "collections.deque", "OrderedDict", "defaultdict"]);
        let shown = back.root().repr(400);
        assert!(shown.starts_with("[my.P(1, 2), my.D() state {'x': 1}, "), "{shown}");
    }

    #[test]
    fn tensors_of_one_storage_still_share_it() {
        let tensor = Tensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
        let mut state = StateDict::new();
        state.insert("w", tensor.clone());
        let value = Value::dict([("tied", Value::from(tensor)), ("state", Value::from(state))]);
        let draft = Draft::from(value);
        let tied = draft.root().get("tied").unwrap().as_tensor().unwrap();
        let held = draft.root().get("state").unwrap().get("w").unwrap().as_tensor().unwrap();
        assert!(tied.storage().unwrap().ptr_eq(held.storage().unwrap()));
    }
}
