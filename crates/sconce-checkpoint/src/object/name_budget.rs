//! A bound on the names that are made of one file.

use super::Graph;

/// Bytes of names that are made in all, and for each object of the graph: a long key above many
/// tensors is part of every name.
const NAME_BUDGET: usize = 16 << 20;
const NAME_BUDGET_PER_OBJECT: usize = 256;
/// What a name takes beside its bytes.
const NAME_COST: usize = 16;

/// How many bytes of names may still be made.
pub(crate) struct NameBudget(usize);

impl NameBudget {
    pub(crate) fn new(graph: &Graph) -> Self {
        NameBudget(graph.len().saturating_mul(NAME_BUDGET_PER_OBJECT).saturating_add(NAME_BUDGET))
    }

    /// Takes a name of so many bytes, or says that there is no room for it, nor for any more.
    pub(crate) fn take(&mut self, len: usize) -> bool {
        let left = self.0.checked_sub(len + NAME_COST);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}
