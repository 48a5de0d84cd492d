use super::Draft;
use crate::object::{Dict, DictKind, Graph, Node, ObjectId};

/// Makes objects to be saved one by one, with the identities that another program's objects have: for whoever turns
/// the objects of a language into those of a checkpoint. [`Value`](super::Value) is the shorter way.
///
/// ```
/// use sconce_checkpoint::{Builder, DictKind, Node};
///
/// let mut objects = Builder::new();
/// // x = []; x.append(x); {"x": x, "y": x}
/// let list = objects.push(Node::List(Vec::new()));
/// objects.set(list, Node::List(vec![list]));
/// let (x, y) = (objects.push(Node::Str("x".into())), objects.push(Node::Str("y".into())));
/// let dict = objects.dict(DictKind::Dict, &[(x, list), (y, list)], None);
/// let draft = objects.finish(dict);
/// assert_eq!(draft.root().get("x").unwrap().id(), draft.root().get("y").unwrap().id());
/// ```
///
/// Ids are good for the builder that gave them. Another's are no objects of this one: what they stand for here is
/// anything, or `None`.
#[derive(Debug, Default)]
pub struct Builder {
    graph: Graph,
}

impl Builder {
    /// No objects.
    pub fn new() -> Self {
        Builder::default()
    }

    /// Adds an object. What it holds is added before, or set later.
    pub fn push(&mut self, node: Node) -> ObjectId {
        self.graph.push(node)
    }

    /// Puts another object in the place of one: what a list holds that holds itself.
    pub fn set(&mut self, id: ObjectId, node: Node) {
        if id.index() < self.graph.len() {
            self.graph.set(id, node);
        }
    }

    /// A dict of entries, the keys of which are here already; `state` are its own attributes.
    pub fn dict(
        &mut self,
        kind: DictKind,
        entries: &[(ObjectId, ObjectId)],
        state: Option<ObjectId>,
    ) -> ObjectId {
        let id = self.push(Node::None);
        self.set_dict(id, kind, entries, state);
        id
    }

    /// [`Builder::dict`] in the place of an object.
    pub fn set_dict(
        &mut self,
        id: ObjectId,
        kind: DictKind,
        entries: &[(ObjectId, ObjectId)],
        state: Option<ObjectId>,
    ) {
        let mut dict = Dict::new(kind);
        dict.state = state;
        let known = self.graph.len();
        let entries = entries.iter().filter(|(key, value)| key.index().max(value.index()) < known);
        for &(key, value) in entries {
            dict.insert(&self.graph, key, value);
        }
        self.set(id, Node::Dict(Box::new(dict)));
    }

    /// The objects, to be changed and saved.
    pub fn finish(mut self, root: ObjectId) -> Draft {
        let root = if root.index() < self.graph.len() { root } else { self.push(Node::None) };
        Draft { graph: self.graph, root }
    }
}
