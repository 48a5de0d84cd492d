//! The second pass: from what the root reaches to the graph of objects.

use std::borrow::Cow;
use std::collections::HashMap;

use sconce_pickle::{Arena, Call, CallKind, Node as PickleNode, Value};

use super::args::{bytes, encoded};
use super::known::Known;
use super::numpy::{self, RawArray, RawData};
use super::tensors::RebuiltClass;
use super::{Builder, Encoding, Persistent, PersistentLoad, Resolved};
use crate::Error;
use crate::object::{
    Array, ArrayData, ClassRef, Construction, Described, Dict, DictKind, Graph, Instance, Node,
    ObjectId, StorageObject, TensorClass, TensorObject,
};

/// A pickle turned into objects.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) graph: Graph,
    pub(crate) root: ObjectId,
    /// What could not be rebuilt and was kept as an instance instead.
    pub(crate) problems: Vec<Error>,
}

/// Turns what `root` reaches into nodes. Every value gets its id when it is first named, so that
/// sharing and cycles need no care; the work left is a stack.
pub(super) fn build<L: PersistentLoad>(
    builder: Builder<'_, '_, L>,
    root: Value,
) -> Result<Built, Error> {
    let ids = vec![None; builder.arena.len()];
    let mut pass =
        Pass { builder, graph: Graph::default(), ids, work: Vec::new(), tensors: HashMap::new() };
    let root = pass.id(root);
    while let Some((value, id)) = pass.work.pop() {
        let node = match pass.node(value) {
            Ok(node) => node,
            Err(error) => {
                let error = error.at(pass.builder.arena.offset(value));
                if !pass.builder.goes_on_after(&error) {
                    return Err(error);
                }
                pass.builder.problems.push(error.shortened());
                pass.as_described(value)
            }
        };
        pass.graph.set(id, node);
    }
    Ok(Built { graph: pass.graph, root, problems: pass.builder.problems })
}

/// What a dict's entry takes: two ids, and its place in the index.
const DICT_ENTRY: usize = 16;

struct Pass<'b, 'p, L> {
    builder: Builder<'b, 'p, L>,
    graph: Graph,
    ids: Vec<Option<ObjectId>>,
    work: Vec<(Value, ObjectId)>,
    /// Tensors that persistent ids stand for, by key.
    tensors: HashMap<Box<str>, ObjectId>,
}

impl<L: PersistentLoad> Pass<'_, '_, L> {
    /// The id of a value, now or from before. Leaves are made at once: a dict looks at its keys.
    fn id(&mut self, value: Value) -> ObjectId {
        let target = self.forwarded(value);
        let id = match self.ids[target.index()] {
            Some(id) => id,
            None => self.new_id(target),
        };
        // What was passed on the way is that object too, and need not be followed again.
        let mut passed = value;
        while passed != target {
            self.ids[passed.index()] = Some(id);
            passed = self.wrapped(passed).unwrap_or(target);
        }
        id
    }

    fn new_id(&mut self, value: Value) -> ObjectId {
        let key = self.tensor_key(value);
        let known = key.as_ref().and_then(|key| self.tensors.get(key)).copied();
        let id = match (known, self.leaf(value)) {
            (Some(known), _) => known,
            (None, Some(node)) => self.graph.push(node),
            (None, None) => {
                let id = self.graph.push(Node::None);
                self.work.push((value, id));
                id
            }
        };
        self.ids[value.index()] = Some(id);
        self.tensors.extend(key.map(|key| (key, id)));
        id
    }

    fn tensor_key(&self, value: Value) -> Option<Box<str>> {
        let Resolved::Persistent(at) = self.builder.resolved[value.index()] else { return None };
        match &self.builder.persistents[at as usize] {
            Persistent::Tensor { key, .. } => Some(key.clone()),
            _ => None,
        }
    }

    fn all(&mut self, values: &[Value]) -> Vec<ObjectId> {
        values.iter().map(|&value| self.id(value)).collect()
    }

    /// The value behind any number of wrappers, or the first of them whose id is known.
    fn forwarded(&self, mut value: Value) -> Value {
        while self.ids[value.index()].is_none()
            && let Some(inner) = self.wrapped(value)
        {
            value = inner;
        }
        value
    }

    /// TorchScript wraps lists and dicts in calls that only name their type.
    fn wrapped(&self, value: Value) -> Option<Value> {
        let arena = self.builder.arena;
        let PickleNode::Call(call) = arena.node(value) else { return None };
        let Some(Known::JitList | Known::JitTag) = self.builder.known.get(&call.callable) else {
            return None;
        };
        // An argument is older than its call, so following it ends.
        arena.tuple(call.args)?.first().copied().filter(|&inner| inner < value)
    }

    fn leaf(&self, value: Value) -> Option<Node> {
        Some(match self.builder.arena.node(value) {
            PickleNode::None => Node::None,
            PickleNode::Bool(flag) => Node::Bool(*flag),
            PickleNode::Int(number) => Node::Int(*number),
            PickleNode::BigInt(number) => Node::BigInt(number.clone()),
            PickleNode::Float(number) => Node::Float(*number),
            PickleNode::Str(text) => Node::Str((**text).into()),
            PickleNode::SurrogateStr(bytes) => Node::SurrogateStr(bytes.clone()),
            PickleNode::ByteStr(bytes) => self.python2_str(bytes),
            PickleNode::Bytes(bytes) => Node::Bytes((**bytes).into()),
            PickleNode::ByteArray(bytes) => Node::ByteArray((**bytes).into()),
            _ => return None,
        })
    }

    fn python2_str(&self, bytes: &[u8]) -> Node {
        match self.builder.options.encoding {
            Encoding::Bytes => Node::Bytes(bytes.into()),
            Encoding::Latin1 => {
                Node::Str(bytes.iter().map(|&byte| char::from(byte)).collect::<String>().into())
            }
            Encoding::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => Node::Str(text.into()),
                Err(_) => Node::Bytes(bytes.into()),
            },
        }
    }

    fn node(&mut self, value: Value) -> Result<Node, Error> {
        let arena = self.builder.arena;
        match self.builder.resolved[value.index()] {
            Resolved::Tensor(at) => return Ok(self.tensor(at)),
            Resolved::Persistent(at) => return self.persistent(at),
            Resolved::Failed => return Ok(self.as_described(value)),
            Resolved::Nothing => {}
        }
        let has_state = arena.updates(value).is_some_and(|updates| !updates.states.is_empty());
        Ok(match arena.node(value) {
            PickleNode::List(_) | PickleNode::Set(_) if has_state => self.as_described(value),
            PickleNode::List(items) => Node::List(self.all(items)),
            PickleNode::Tuple(items) => Node::Tuple(self.all(arena.items(*items))),
            PickleNode::Set(items) => Node::Set(self.all(items)),
            PickleNode::FrozenSet(items) => Node::FrozenSet(self.all(arena.items(*items))),
            PickleNode::Dict(entries) => {
                let mut dict = Dict::new(DictKind::Dict);
                self.fill(&mut dict, entries);
                self.set_state(&mut dict, value);
                Node::Dict(Box::new(dict))
            }
            PickleNode::Global(_) => match self.builder.known.get(&value) {
                Some(Known::DType(dtype)) => Node::DType(*dtype),
                Some(Known::QScheme(name)) => Node::QScheme((*name).into()),
                _ => self.class(value),
            },
            PickleNode::Call(call) => self.call(value, call)?,
            _ => self.as_described(value),
        })
    }

    fn class(&self, value: Value) -> Node {
        let class = self.builder.class_ref(value);
        let class = class.unwrap_or(ClassRef { module: "".into(), name: "".into(), source: None });
        Node::Class(Box::new(class))
    }

    fn tensor(&mut self, at: u32) -> Node {
        let rebuilt = self.builder.tensors[at as usize].clone();
        let class = match rebuilt.class {
            RebuiltClass::Tensor => TensorClass::Tensor,
            RebuiltClass::Parameter => TensorClass::Parameter,
            RebuiltClass::Subclass(class) => match self.builder.class_ref(class) {
                Some(class) => TensorClass::Subclass(class),
                None => TensorClass::Tensor,
            },
        };
        let state = rebuilt.state.map(|state| self.id(state));
        Node::Tensor(Box::new(TensorObject { tensor: rebuilt.tensor, class, state }))
    }

    fn persistent(&mut self, at: u32) -> Result<Node, Error> {
        Ok(match self.builder.persistents[at as usize].clone() {
            Persistent::Storage(found) => {
                let dtype = found.dtype_or_bytes();
                Node::Storage(Box::new(StorageObject { storage: found.storage, dtype }))
            }
            Persistent::Tensor { tensor, .. } => {
                let class = TensorClass::Tensor;
                Node::Tensor(Box::new(TensorObject { tensor, class, state: None }))
            }
            Persistent::Class { class, source } => {
                let class = self
                    .builder
                    .class_ref(class)
                    .ok_or_else(|| self.builder.wrong(class, "a class"))?;
                Node::Class(Box::new(ClassRef { source, ..class }))
            }
        })
    }

    fn fill(&mut self, dict: &mut Dict, entries: &[(Value, Value)]) {
        dict.reserve(&self.graph, entries.len());
        for &(key, value) in entries {
            let (key, value) = (self.id(key), self.id(value));
            dict.insert(&self.graph, key, value);
        }
    }

    fn set_state(&mut self, dict: &mut Dict, value: Value) {
        let state = self.builder.arena.updates(value).and_then(|updates| updates.states.last());
        dict.state = state.map(|&state| self.id(state));
    }

    fn call(&mut self, value: Value, call: &Call) -> Result<Node, Error> {
        let arena = self.builder.arena;
        let Some(known) = self.builder.known.get(&call.callable).copied() else {
            return Ok(self.as_described(value));
        };
        let node = match known {
            Known::OrderedDict => self.dict(DictKind::OrderedDict, value, call)?,
            Known::Counter => self.dict(DictKind::Counter, value, call)?,
            Known::DefaultDict => self.dict(DictKind::DefaultDict, value, call)?,
            Known::Set => self.set_items(call)?.map(Node::Set),
            Known::FrozenSet => self.set_items(call)?.map(Node::FrozenSet),
            Known::Complex => self.complex(call),
            Known::Encode | Known::Bytes => match bytes(arena, value) {
                Some(bytes) => Some(Node::Bytes(self.owned(bytes)?)),
                None => None,
            },
            Known::ByteArray => self.byte_array(call)?,
            Known::Size => self.builder.paid_dims(value)?.map(|dims| Node::Size(dims.to_vec())),
            Known::Device => self.builder.device(value).map(Node::Device),
            Known::GetLayout => self.builder.layout(value).map(Node::Layout),
            Known::NumpyReconstruct | Known::NumpyFromBuffer => {
                numpy::array(arena, value, &self.builder.options.budget)?
                    .map(|array| Node::Array(Box::new(self.array(array))))
            }
            Known::NumpyScalar => {
                let scalar = numpy::scalar(arena, call.args, &self.builder.options.budget)?;
                Some(Node::Scalar(Box::new(self.array(scalar))))
            }
            _ => None,
        };
        Ok(node.unwrap_or_else(|| self.as_described(value)))
    }

    /// A copy of bytes that other values may share.
    fn owned(&self, bytes: Cow<'_, [u8]>) -> Result<Box<[u8]>, Error> {
        self.builder.options.budget.take(bytes.len())?;
        Ok(bytes.into_owned().into())
    }

    /// A dict subclass: what its constructor was given, then what was set.
    fn dict(&mut self, kind: DictKind, value: Value, call: &Call) -> Result<Option<Node>, Error> {
        let arena = self.builder.arena;
        let Some(args) = arena.tuple(call.args) else { return Ok(None) };
        if !call.updates().items.is_empty() {
            return Ok(None);
        }
        let mut dict = Dict::new(kind);
        let initial = match (kind, args) {
            (DictKind::DefaultDict, [factory, rest @ ..]) => {
                dict.factory = Some(self.id(*factory));
                rest
            }
            _ => args,
        };
        match initial {
            [] => {}
            [only] => {
                let Some(pairs) = pairs(arena, *only) else { return Ok(None) };
                self.builder.options.budget.take(DICT_ENTRY * pairs.len())?;
                self.fill(&mut dict, &pairs);
            }
            _ => return Ok(None),
        }
        self.fill(&mut dict, &call.updates().entries);
        self.set_state(&mut dict, value);
        Ok(Some(Node::Dict(Box::new(dict))))
    }

    fn set_items(&mut self, call: &Call) -> Result<Option<Vec<ObjectId>>, Error> {
        let arena = self.builder.arena;
        let updates = call.updates();
        if !updates.states.is_empty() || !updates.entries.is_empty() {
            return Ok(None);
        }
        let initial = match arena.tuple(call.args) {
            Some([]) => &[],
            Some([only]) => match arena.node(*only) {
                PickleNode::List(items) => items.as_slice(),
                PickleNode::Tuple(items) => arena.items(*items),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.builder.options.budget.take(size_of_val(initial))?;
        let mut items = self.all(initial);
        items.extend(self.all(&updates.items));
        Ok(Some(items))
    }

    fn complex(&self, call: &Call) -> Option<Node> {
        let arena = self.builder.arena;
        let part = |value: Value| match arena.node(value) {
            PickleNode::Float(number) => Some(*number),
            PickleNode::Int(number) => Some(*number as f64),
            _ => None,
        };
        let [re, im] = arena.tuple(call.args)? else { return None };
        Some(Node::Complex(part(*re)?, part(*im)?))
    }

    fn byte_array(&self, call: &Call) -> Result<Option<Node>, Error> {
        let arena = self.builder.arena;
        let contents = match arena.tuple(call.args) {
            Some([]) => Some(Cow::Borrowed(&[][..])),
            Some([only]) => bytes(arena, *only),
            Some(args) => encoded(arena, args).map(Cow::Owned),
            None => None,
        };
        let Some(contents) = contents else { return Ok(None) };
        Ok(Some(Node::ByteArray(self.owned(contents)?)))
    }

    fn array(&mut self, raw: RawArray) -> Array {
        let data = match raw.data {
            RawData::Tensor(tensor) => ArrayData::Tensor(tensor),
            RawData::Bytes { bytes, fortran } => ArrayData::Raw { bytes, fortran },
            RawData::Objects { items, fortran } => {
                ArrayData::Objects { items: self.id(items), fortran }
            }
        };
        let class = raw.class.map(|class| self.id(class));
        let dtype = Some(self.id(raw.dtype_object));
        let described = Described { class, dtype, form: raw.form };
        Array { dtype: raw.dtype, shape: raw.shape, data, described }
    }

    /// A value kept as the file describes it.
    fn as_described(&mut self, value: Value) -> Node {
        let arena = self.builder.arena;
        let updates = arena.updates(value).cloned().unwrap_or_default();
        let empty = |graph: &mut Graph| graph.push(Node::Tuple(Vec::new()));
        let builtin = |graph: &mut Graph, name: &str| {
            let class = ClassRef { module: "builtins".into(), name: name.into(), source: None };
            graph.push(Node::Class(Box::new(class)))
        };
        let mut kwargs = None;
        let (construction, callable, args) = match arena.node(value) {
            PickleNode::Call(call) => {
                let construction = match call.kind {
                    CallKind::NewObj | CallKind::NewObjEx => Construction::New,
                    _ => Construction::Call,
                };
                kwargs = call.kwargs.map(|kwargs| self.id(kwargs));
                (construction, self.id(call.callable), self.id(call.args))
            }
            PickleNode::List(items) | PickleNode::Set(items) => {
                let list = matches!(arena.node(value), PickleNode::List(_));
                let items = self.all(items);
                let callable = builtin(&mut self.graph, if list { "list" } else { "set" });
                let args = empty(&mut self.graph);
                let states = self.all(&updates.states);
                return Node::Instance(Box::new(Instance {
                    callable,
                    construction: Construction::New,
                    args,
                    kwargs,
                    states,
                    items,
                    entries: Vec::new(),
                }));
            }
            PickleNode::Global(_) => return self.class(value),
            PickleNode::PersistentId(pid) => {
                (Construction::External, builtin(&mut self.graph, "persistent_load"), self.id(*pid))
            }
            PickleNode::Extension(code) => {
                let code = self.graph.push(Node::Int(*code));
                (Construction::External, builtin(&mut self.graph, "copyreg extension"), code)
            }
            PickleNode::Buffer { index, .. } => {
                let index = self.graph.push(Node::Int(i64::from(*index)));
                (Construction::External, builtin(&mut self.graph, "out-of-band buffer"), index)
            }
            _ => {
                (Construction::External, builtin(&mut self.graph, "object"), empty(&mut self.graph))
            }
        };
        let states = self.all(&updates.states);
        let items = self.all(&updates.items);
        let entries =
            updates.entries.iter().map(|&(key, value)| (self.id(key), self.id(value))).collect();
        Node::Instance(Box::new(Instance {
            callable,
            construction,
            args,
            kwargs,
            states,
            items,
            entries,
        }))
    }
}

/// The entries that a dict's constructor makes of its argument: a dict, or a list of pairs.
fn pairs<'a>(arena: &'a Arena<'_>, value: Value) -> Option<Cow<'a, [(Value, Value)]>> {
    let list = match arena.node(value) {
        PickleNode::Dict(entries) => return Some(Cow::Borrowed(entries)),
        PickleNode::List(list) => list,
        _ => return None,
    };
    let pair = |&pair: &Value| match arena.node(pair) {
        PickleNode::List(items) => <[Value; 2]>::try_from(items.as_slice()).ok(),
        PickleNode::Tuple(items) => arena.items(*items).try_into().ok(),
        _ => None,
    };
    list.iter().map(|value| pair(value).map(|[key, value]| (key, value))).collect()
}
