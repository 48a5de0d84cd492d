use std::path::Path;

use sconce_tensor::Tensor;

use super::Draft;
use crate::object::{Dict, DictKind, Graph, Node, TensorClass, TensorObject};
use crate::{Error, SaveOptions};

/// Makes a checkpoint from tensors: what `module.state_dict()` gives, without its version numbers.
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
        StateDict { graph: Graph::default(), dict: Dict::new(kind) }
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

    /// The tensor of a name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        match self.graph.node(self.dict.get(&self.graph, name)?) {
            Node::Tensor(object) => Some(&object.tensor),
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

    /// The object to save.
    pub fn finish(self) -> Draft {
        let StateDict { mut graph, dict } = self;
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

#[cfg(test)]
mod tests {
    use super::*;

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
