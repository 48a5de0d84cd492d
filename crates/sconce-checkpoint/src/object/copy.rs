//! Objects of one graph copied into another.

use std::collections::HashMap;

use super::{Array, ArrayData, Described, Graph, Instance, Node, ObjectId};

impl Graph {
    /// Copies an object and all that it reaches; see [`Graph::copy_all`].
    pub(crate) fn copy_from(&mut self, other: &Graph, root: ObjectId) -> ObjectId {
        self.copy_all(other, &[root]).first().copied().unwrap_or(root)
    }

    /// Copies objects and all that they reach; what was one object stays one. Tensors share their
    /// storages with the originals. Nothing recurses.
    pub(crate) fn copy_all(&mut self, other: &Graph, roots: &[ObjectId]) -> Vec<ObjectId> {
        let mut copies: HashMap<ObjectId, ObjectId> = HashMap::new();
        let mut order = Vec::new();
        for &root in roots {
            copies.entry(root).or_insert_with(|| {
                order.push(root);
                self.push(Node::None)
            });
        }
        let mut at = 0;
        while let Some(&id) = order.get(at) {
            at += 1;
            for part in references(other.node(id)) {
                copies.entry(part).or_insert_with(|| {
                    order.push(part);
                    self.push(Node::None)
                });
            }
        }
        // Dicts come last: their index is made of what their keys are.
        let (dicts, others): (Vec<ObjectId>, Vec<ObjectId>) =
            order.into_iter().partition(|&id| matches!(other.node(id), Node::Dict(_)));
        let copy = |id: ObjectId| copies.get(&id).copied().unwrap_or(id);
        for id in others.into_iter().chain(dicts) {
            let node = match other.node(id) {
                Node::Dict(dict) => {
                    let pairs: Vec<_> = dict
                        .entries()
                        .iter()
                        .map(|&(key, value)| (copy(key), copy(value)))
                        .collect();
                    let mut dict = dict.with_entries(self, &pairs);
                    dict.state = dict.state.map(copy);
                    dict.factory = dict.factory.map(copy);
                    Node::Dict(Box::new(dict))
                }
                node => with_references(node, copy),
            };
            self.set(copy(id), node);
        }
        roots.iter().map(|&root| copy(root)).collect()
    }
}

/// The objects that an object holds, dicts included.
fn references(node: &Node) -> Vec<ObjectId> {
    match node {
        Node::List(ids) | Node::Tuple(ids) | Node::Set(ids) | Node::FrozenSet(ids) => ids.clone(),
        Node::Dict(dict) => {
            let pairs = dict.entries().iter().flat_map(|&(key, value)| [key, value]);
            pairs.chain(dict.state).chain(dict.factory).collect()
        }
        Node::Tensor(object) => object.state.into_iter().collect(),
        Node::Array(array) | Node::Scalar(array) => {
            let Described { class, dtype, form: _ } = array.described;
            let items = match array.data {
                ArrayData::Objects { items, .. } => Some(items),
                _ => None,
            };
            [class, dtype, items].into_iter().flatten().collect()
        }
        Node::Instance(instance) => {
            let Instance { callable, args, kwargs, states, items, entries, .. } = &**instance;
            let entries = entries.iter().flat_map(|&(key, value)| [key, value]);
            let parts = [*callable, *args].into_iter().chain(*kwargs);
            parts
                .chain(states.iter().copied())
                .chain(items.iter().copied())
                .chain(entries)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The same node of other objects; for nodes that are no dicts.
fn with_references(node: &Node, copy: impl Fn(ObjectId) -> ObjectId) -> Node {
    let all = |ids: &[ObjectId]| ids.iter().map(|&id| copy(id)).collect();
    let array = |array: &Array| {
        let mut array = array.clone();
        if let ArrayData::Objects { items, .. } = &mut array.data {
            *items = copy(*items);
        }
        let Described { class, dtype, form } = array.described;
        array.described = Described { class: class.map(&copy), dtype: dtype.map(&copy), form };
        Box::new(array)
    };
    match node {
        Node::List(ids) => Node::List(all(ids)),
        Node::Tuple(ids) => Node::Tuple(all(ids)),
        Node::Set(ids) => Node::Set(all(ids)),
        Node::FrozenSet(ids) => Node::FrozenSet(all(ids)),
        Node::Tensor(object) => {
            let mut object = object.clone();
            object.state = object.state.map(copy);
            Node::Tensor(object)
        }
        Node::Array(held) => Node::Array(array(held)),
        Node::Scalar(held) => Node::Scalar(array(held)),
        Node::Instance(instance) => {
            let Instance { callable, construction, args, kwargs, states, items, entries } =
                &**instance;
            Node::Instance(Box::new(Instance {
                callable: copy(*callable),
                construction: *construction,
                args: copy(*args),
                kwargs: kwargs.map(&copy),
                states: all(states),
                items: all(items),
                entries: entries.iter().map(|&(key, value)| (copy(key), copy(value))).collect(),
            }))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Checkpoint, SaveOptions};

    use super::*;
    use crate::object::Object;

    #[test]
    fn a_copy_is_saved_as_the_original_is() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/2.15/zip/");
        for name in ["state_dict.pt", "objects_cycles.pt", "objects_numpy.pt", "module_zoo.pt"] {
            let checkpoint = Checkpoint::open(format!("{folder}{name}")).unwrap();
            let root = checkpoint.root();
            let mut graph = Graph::default();
            graph.push(Node::Int(1));
            let copy = graph.copy_from(root.graph(), root.id());
            let save = |object| SaveOptions::new().save_to(object, Vec::new()).unwrap();
            assert!(save(Object::new(&graph, copy)) == save(root), "{name}");
        }
    }
}
