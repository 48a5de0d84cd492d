//! What becomes of tensors that share memory.

use std::collections::{BTreeMap, HashMap, HashSet};

use sconce_tensor::Tensor;

use super::Error;

/// What to do with tensors that share memory, which neither safetensors nor npz can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Every name gets its own copy of the elements.
    #[default]
    Clone,
    /// The same view under several names is written once, under its first name; the others are
    /// recorded as `name = first name` in a safetensors file's metadata, as
    /// `safetensors.torch.save_model` does. Views that only overlap get copies.
    Keep,
    /// Tensors that share memory are an error.
    Error,
}

/// What will be written, and what that changes.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The tensors to write, in order.
    pub tensors: Vec<(String, Tensor)>,
    /// Names that are not written, each with the name that holds its elements.
    pub aliases: Vec<(String, String)>,
    /// Names whose elements are written although another name's elements lie in the same storage
    /// memory: they will no longer change together.
    pub cloned: Vec<(String, String)>,
}

impl Plan {
    /// Plans to write `tensors` in their order.
    ///
    /// # Errors
    /// [`Error::Name`] when a name occurs twice; [`Error::Shared`] under [`Sharing::Error`].
    pub fn new<'t>(
        tensors: impl IntoIterator<Item = (String, &'t Tensor)>,
        sharing: Sharing,
    ) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        let mut names: HashSet<String> = HashSet::new();
        let mut storages: HashMap<usize, Vec<usize>> = HashMap::new();
        for (name, tensor) in tensors {
            if !names.insert(name.clone()) {
                return Err(Error::Name(format!("two tensors are called '{name}'")));
            }
            let neighbours = match tensor.storage() {
                Some(storage) => storages.entry(storage.id()).or_default(),
                None => {
                    plan.tensors.push((name, tensor.clone()));
                    continue;
                }
            };
            let same = neighbours.iter().find(|&&at| same_view(&plan.tensors[at].1, tensor));
            if sharing == Sharing::Keep
                && let Some(&at) = same
            {
                plan.aliases.push((name, plan.tensors[at].0.clone()));
                continue;
            }
            let overlapping = neighbours.iter().find(|&&at| overlap(&plan.tensors[at].1, tensor));
            if let Some(&at) = same.or(overlapping) {
                let first = plan.tensors[at].0.clone();
                if sharing == Sharing::Error {
                    return Err(Error::Shared { first, second: name });
                }
                plan.cloned.push((name.clone(), first));
            }
            neighbours.push(plan.tensors.len());
            plan.tensors.push((name, tensor.clone()));
        }
        Ok(plan)
    }

    /// The metadata that records [`Plan::aliases`].
    pub fn metadata(&self) -> BTreeMap<String, String> {
        self.aliases.iter().cloned().collect()
    }
}

fn same_view(a: &Tensor, b: &Tensor) -> bool {
    a.dtype() == b.dtype()
        && a.sizes() == b.sizes()
        && a.strides() == b.strides()
        && a.storage_offset() == b.storage_offset()
        && (a.is_conj(), a.is_neg()) == (b.is_conj(), b.is_neg())
}

fn overlap(a: &Tensor, b: &Tensor) -> bool {
    match (a.storage_range(), b.storage_range()) {
        (Some(a), Some(b)) => a.start < b.end && b.start < a.end,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharing_is_kept_cloned_or_refused() {
        let base = Tensor::from_vec((0..6).map(|i| i as f32).collect(), &[6]).unwrap();
        let head = base.narrow(0, 0, 4).unwrap();
        let tail = base.narrow(0, 4, 2).unwrap();
        let all = || {
            [("a", &base), ("b", &base), ("head", &head), ("tail", &tail)]
                .map(|(name, tensor)| (name.to_owned(), tensor))
        };
        let pairs = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, first)| format!("{name}={first}")).collect()
        };
        let clone = Plan::new(all(), Sharing::Clone).unwrap();
        assert_eq!(clone.tensors.len(), 4);
        assert_eq!(pairs(&clone.cloned), ["b=a", "head=a", "tail=a"]);
        let keep = Plan::new(all(), Sharing::Keep).unwrap();
        assert_eq!(keep.tensors.len(), 3);
        assert_eq!(pairs(&keep.aliases), ["b=a"]);
        assert_eq!(pairs(&keep.cloned), ["head=a", "tail=a"]);
        let refused = Plan::new(all(), Sharing::Error).unwrap_err();
        assert_eq!(refused.to_string(), "'a' and 'b' share memory");
        let apart = [("head".to_owned(), &head), ("tail".to_owned(), &tail)];
        assert!(Plan::new(apart, Sharing::Error).unwrap().cloned.is_empty());
    }

    #[test]
    fn names_are_unique() {
        let tensor = Tensor::from_vec(vec![1u8], &[1]).unwrap();
        let twice = [("a".to_owned(), &tensor), ("a".to_owned(), &tensor)];
        assert!(matches!(Plan::new(twice, Sharing::Clone), Err(Error::Name(_))));
    }
}
