use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Graph, Node, ObjectId};

/// Which class a [`Dict`] is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DictKind {
    /// `dict`.
    Dict,
    /// `collections.OrderedDict`.
    OrderedDict,
    /// `collections.Counter`.
    Counter,
    /// `collections.defaultdict`.
    DefaultDict,
}

impl DictKind {
    /// The class's name without its module.
    pub fn name(self) -> &'static str {
        match self {
            DictKind::Dict => "dict",
            DictKind::OrderedDict => "OrderedDict",
            DictKind::Counter => "Counter",
            DictKind::DefaultDict => "defaultdict",
        }
    }
}

/// A dict: entries in insertion order, each key once.
///
/// As in Python, setting a key again keeps its place and changes its value. Equality of keys is
/// Python's for str, int, bool and integral floats; other keys are distinct unless they are one
/// object.
#[derive(Debug, Clone)]
pub struct Dict {
    /// The class.
    pub kind: DictKind,
    entries: Vec<(ObjectId, ObjectId)>,
    /// Attributes of the dict itself, such as a state dict's `_metadata`.
    pub state: Option<ObjectId>,
    /// A defaultdict's factory.
    pub factory: Option<ObjectId>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Dict {
    pub(crate) fn new(kind: DictKind) -> Self {
        Dict {
            kind,
            entries: Vec::new(),
            state: None,
            factory: None,
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The same dict with other entries, whose keys differ.
    pub(crate) fn with_entries(&self, graph: &Graph, entries: &[(ObjectId, ObjectId)]) -> Self {
        let mut dict = Dict::new(self.kind);
        (dict.state, dict.factory) = (self.state, self.factory);
        dict.reserve(graph, entries.len());
        for &(key, value) in entries {
            dict.insert(graph, key, value);
        }
        dict
    }

    pub(crate) fn reserve(&mut self, graph: &Graph, additional: usize) {
        self.entries.reserve(additional);
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.index.reserve(additional, |&at| Key::of(graph, entries[at as usize].0).hash(hasher));
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[(ObjectId, ObjectId)] {
        &self.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn insert(&mut self, graph: &Graph, key: ObjectId, value: ObjectId) {
        let hasher = &self.hasher;
        let wanted = Key::of(graph, key);
        let hash = wanted.hash(hasher);
        let entries = &self.entries;
        let same = |&at: &u32| Key::of(graph, entries[at as usize].0) == wanted;
        if let Some(&at) = self.index.find(hash, same) {
            self.entries[at as usize].1 = value;
            return;
        }
        let rehash = |&at: &u32| Key::of(graph, entries[at as usize].0).hash(hasher);
        self.index.insert_unique(hash, entries.len() as u32, rehash);
        self.entries.push((key, value));
    }

    pub(crate) fn get(&self, graph: &Graph, key: &str) -> Option<ObjectId> {
        let wanted = Key::Str(key);
        let same = |&at: &u32| Key::of(graph, self.entries[at as usize].0) == wanted;
        let at = *self.index.find(wanted.hash(&self.hasher), same)?;
        Some(self.entries[at as usize].1)
    }

    pub(crate) fn get_int(&self, graph: &Graph, key: i64) -> Option<ObjectId> {
        let wanted = Key::Int(key);
        let same = |&at: &u32| Key::of(graph, self.entries[at as usize].0) == wanted;
        let at = *self.index.find(wanted.hash(&self.hasher), same)?;
        Some(self.entries[at as usize].1)
    }
}

/// What makes two keys equal.
#[derive(PartialEq)]
enum Key<'g> {
    Str(&'g str),
    Int(i64),
    Same(ObjectId),
}

impl<'g> Key<'g> {
    fn of(graph: &'g Graph, id: ObjectId) -> Self {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match graph.node(id) {
            Node::Str(text) => Key::Str(text),
            Node::Int(number) => Key::Int(*number),
            Node::Bool(flag) => Key::Int(i64::from(*flag)),
            Node::Float(x) if x.fract() == 0.0 && x.abs() <= EXACT => Key::Int(*x as i64),
            _ => Key::Same(id),
        }
    }

    fn hash(&self, hasher: &DefaultHashBuilder) -> u64 {
        match self {
            Key::Str(text) => hasher.hash_one(text),
            Key::Int(number) => hasher.hash_one(number),
            Key::Same(id) => hasher.hash_one(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_set_again_keeps_its_place() {
        let mut graph = Graph::default();
        let mut push = |node| graph.push(node);
        let a = push(Node::Str("a".into()));
        let again = push(Node::Str("a".into()));
        let one = push(Node::Int(1));
        let yes = push(Node::Bool(true));
        let float = push(Node::Float(1.0));
        let half = push(Node::Float(0.5));
        let mut dict = Dict::new(DictKind::Dict);
        for (key, value) in [(a, one), (one, a), (again, yes), (yes, half), (float, a), (half, a)] {
            dict.insert(&graph, key, value);
        }
        assert_eq!(dict.entries(), [(a, yes), (one, a), (half, a)]);
        assert_eq!(dict.get(&graph, "a"), Some(yes));
        assert_eq!(dict.get_int(&graph, 1), Some(a));
        assert_eq!(dict.get(&graph, "b"), None);
    }

    #[test]
    fn keys_are_found_after_more_room_is_made() {
        let mut graph = Graph::default();
        let keys: Vec<ObjectId> = (0..40).map(|number| graph.push(Node::Int(number))).collect();
        let mut dict = Dict::new(DictKind::OrderedDict);
        for half in keys.chunks(20) {
            dict.reserve(&graph, 1000 * half.len());
            half.iter().for_each(|&key| dict.insert(&graph, key, key));
        }
        for (number, &key) in keys.iter().enumerate() {
            assert_eq!(dict.get_int(&graph, number as i64), Some(key));
        }
    }
}
