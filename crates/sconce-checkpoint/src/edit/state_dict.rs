use std::collections::HashMap;
use std::path::Path;

use sconce_tensor::Tensor;

use super::Draft;
use crate::object::{
    ArrayData, Dict, DictKind, Graph, Node, Object, ObjectId, TensorClass, TensorObject,
};
use crate::{Error, SaveOptions};

/// The attribute in which a module's state dict carries the versions of its parts.
pub(super) const METADATA: &str = "_metadata";

/// Makes a checkpoint from tensors: what `module.state_dict()` gives, with the version numbers of
/// its modules where [`StateDict::version`] or [`StateDict::copy_metadata`] add them.
///
/// ```
/// use sconce_checkpoint::{Checkpoint, SaveOptions, StateDict};
/// use sconce_tensor::Tensor;
///
/// let mut state = StateDict::new();
/// state.insert("fc.weight", Tensor::from_vec(vec![1.0f32, 2.0], &[1, 2])?);
/// state.insert("fc.bias", Tensor::from_vec(vec![0.5f32], &[1])?);
/// let file = SaveOptions::new().save_to(state.finish().root(), Vec::new())?;
///
/// let again = Checkpoint::from_source(sconce_source::Source::from_vec("state.pt", file))?;
/// assert_eq!(again.tensor("fc.weight").unwrap().to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct StateDict {
    graph: Graph,
    dict: Dict,
    /// `_metadata`: an entry for each module, in order.
    metadata: Option<Dict>,
    /// The str `version`, one object as in Python.
    version: Option<ObjectId>,
}

impl Default for StateDict {
    fn default() -> Self {
        StateDict::of_kind(DictKind::OrderedDict)
    }
}

impl StateDict {
    /// An empty `collections.OrderedDict`.
    pub fn new() -> StateDict {
        StateDict::default()
    }

    /// An empty dict of another class: Hugging Face's shards are plain dicts.
    pub fn of_kind(kind: DictKind) -> StateDict {
        let (graph, dict) = (Graph::default(), Dict::new(kind));
        StateDict { graph, dict, metadata: None, version: None }
    }

    /// Adds a tensor at the end; one of that name is replaced where it stands. Tensors over one
    /// storage still share it when they are loaded.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) -> &mut StateDict {
        let key = self.graph.push(Node::Str(name.into().into()));
        let object = TensorObject { tensor, class: TensorClass::Tensor, state: None };
        let value = self.graph.push(Node::Tensor(Box::new(object)));
        self.dict.insert(&self.graph, key, value);
        self
    }

    /// Adds entries of a dict as they are, in the order of `names`: parameters stay parameters, and
    /// what is one object under several names stays one. What the dict has no entry for is left out.
    pub fn copy_entries(&mut self, dict: Object<'_>, names: &[&str]) -> &mut StateDict {
        let Some(found) = dict.as_dict() else { return self };
        let wanted: HashMap<&str, usize> =
            names.iter().enumerate().map(|(at, &name)| (name, at)).collect();
        let place =
            |&&(key, _): &&(ObjectId, ObjectId)| wanted.get(dict.other(key).as_str()?).copied();
        let mut pairs: Vec<&(ObjectId, ObjectId)> =
            found.entries().iter().filter(|pair| place(pair).is_some()).collect();
        pairs.sort_by_key(place);
        let flat: Vec<ObjectId> =
            pairs.into_iter().flat_map(|&(key, value)| [key, value]).collect();
        let copies = self.graph.copy_all(dict.graph(), &flat);
        for pair in copies.chunks_exact(2) {
            self.dict.insert(&self.graph, pair[0], pair[1]);
        }
        self
    }

    /// The tensor of a name, or the elements of the numpy array that was copied to it.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        match self.graph.node(self.dict.get(&self.graph, name)?) {
            Node::Tensor(object) => Some(&object.tensor),
            Node::Array(array) | Node::Scalar(array) => match &array.data {
                ArrayData::Tensor(tensor) => Some(tensor),
                _ => None,
            },
            _ => None,
        }
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.dict.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.dict.is_empty()
    }

    /// Notes the version of a module in `_metadata`, which `nn.Module.state_dict` does for every
    /// module, before those inside it; the outermost is called "". It is the `_version` of the
    /// module's class: 1 of most, 2 of batch and instance norms.
    ///
    /// Only an `OrderedDict` can carry `_metadata`: in a dict of another class it is left out.
    pub fn version(&mut self, module: impl Into<String>, version: i64) -> &mut StateDict {
        let graph = &mut self.graph;
        let name = *self.version.get_or_insert_with(|| graph.push(Node::Str("version".into())));
        let number = graph.push(Node::Int(version));
        let mut local = Dict::new(DictKind::Dict);
        local.insert(graph, name, number);
        let key = graph.push(Node::Str(module.into().into()));
        let local = graph.push(Node::Dict(Box::new(local)));
        let metadata = self.metadata.get_or_insert_with(|| Dict::new(DictKind::OrderedDict));
        metadata.insert(graph, key, local);
        self
    }

    /// Takes over the `_metadata` of a state dict that was saved, if it has any: entries of modules
    /// that are not known yet.
    pub fn copy_metadata(&mut self, state_dict: Object<'_>) -> &mut StateDict {
        let Some(found) = state_dict.metadata() else { return self };
        let copy = self.graph.copy_from(found.graph(), found.id());
        let Node::Dict(copied) = self.graph.node(copy) else { return self };
        let copied = copied.clone();
        let metadata = self.metadata.get_or_insert_with(|| Dict::new(DictKind::OrderedDict));
        for &(key, value) in copied.entries() {
            let known = match self.graph.node(key) {
                Node::Str(text) => metadata.get(&self.graph, text).is_some(),
                _ => false,
            };
            if !known {
                metadata.insert(&self.graph, key, value);
            }
        }
        self
    }

    /// The object to save.
    pub fn finish(self) -> Draft {
        let StateDict { mut graph, mut dict, metadata, .. } = self;
        if let (Some(metadata), DictKind::OrderedDict) = (metadata, dict.kind) {
            let metadata = graph.push(Node::Dict(Box::new(metadata)));
            let key = graph.push(Node::Str(METADATA.into()));
            let mut state = Dict::new(DictKind::Dict);
            state.insert(&graph, key, metadata);
            dict.state = Some(graph.push(Node::Dict(Box::new(state))));
        }
        let root = graph.push(Node::Dict(Box::new(dict)));
        Draft { graph, root }
    }

    /// Writes what `torch.save` writes; a file that is there is not replaced.
    ///
    /// # Errors
    /// As [`SaveOptions::save`].
    pub fn save(self, path: impl AsRef<Path>) -> Result<(), Error> {
        SaveOptions::new().save(self.finish().root(), path)
    }
}

impl<S: Into<String>> FromIterator<(S, Tensor)> for StateDict {
    fn from_iter<I: IntoIterator<Item = (S, Tensor)>>(tensors: I) -> StateDict {
        let mut state = StateDict::new();
        for (name, tensor) in tensors {
            state.insert(name, tensor);
        }
        state
    }
}

impl<'c> Object<'c> {
    /// The `_metadata` that `nn.Module.state_dict` hangs on the dict it gives: an OrderedDict from
    /// the names of modules to their versions.
    pub fn metadata(self) -> Option<Object<'c>> {
        let state = self.as_dict()?.state?;
        self.other(state).get(METADATA).filter(|found| found.as_dict().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checkpoint;

    #[test]
    fn entries_are_copied_with_their_identity() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/2.15/zip/shared.pt");
        let checkpoint = Checkpoint::open(path).unwrap();
        let mut state = StateDict::new();
        state.copy_entries(checkpoint.root(), &["whole", "nothing", "grid", "alias"]);
        let draft = state.finish();
        let names: Vec<_> = draft.root().entries().map(|(key, _)| key.as_str().unwrap()).collect();
        assert_eq!(names, ["whole", "grid", "alias"]);
        let id = |object: Object<'_>, name| object.get(name).unwrap().id();
        let same = |object| id(object, "whole") == id(object, "alias");
        assert_eq!(same(draft.root()), same(checkpoint.root()));
        assert_ne!(id(draft.root(), "grid"), id(draft.root(), "whole"));
    }

    #[test]
    fn versions_are_kept_and_joined() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/2.15/zip/state_dict.pt");
        let checkpoint = Checkpoint::open(path).unwrap();
        let saved = checkpoint.root().metadata().unwrap();
        let mut state = StateDict::new();
        state.version("", 7).copy_metadata(checkpoint.root()).version("more", 2);
        let draft = state.finish();
        let joined = draft.root().metadata().unwrap();
        assert_eq!(joined.len(), saved.len() + 1);
        assert_eq!(joined.get("").unwrap().repr(40), "{'version': 7}");
        assert_eq!(joined.get("more").unwrap().repr(40), "{'version': 2}");
        assert_eq!(joined.class_name(), "OrderedDict");
        let mut plain = StateDict::of_kind(DictKind::Dict);
        plain.version("", 1);
        assert!(plain.finish().root().metadata().is_none());
    }

    #[test]
    fn names_are_in_order_and_unique() {
        let tensor = |x: f32| Tensor::from_vec(vec![x], &[1]).unwrap();
        let mut state: StateDict = [("b", tensor(1.0)), ("a", tensor(2.0))].into_iter().collect();
        state.insert("b", tensor(3.0));
        assert_eq!(state.len(), 2);
        assert_eq!(state.get("b").unwrap().item().unwrap().to_f64(), Some(3.0));
        assert!(state.get("c").is_none());
        let draft = state.finish();
        let names: Vec<_> = draft.root().entries().map(|(key, _)| key.as_str().unwrap()).collect();
        assert_eq!(names, ["b", "a"]);
    }
}
