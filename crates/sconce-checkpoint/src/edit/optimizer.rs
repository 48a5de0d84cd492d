//! Which entries of a training checkpoint are an optimizer's.

use super::{Change, Draft};
use crate::{Error, Object};

/// Keys under which training loops keep optimizers, whatever is there.
const KEYS: [&str; 10] = [
    "optimizer",
    "optimizers",
    "optim",
    "optimizer_state",
    "optimizer_states",
    "optimizer_state_dict",
    "optimizer_state_dicts",
    "optim_state_dict",
    "opt_state_dict",
    "last_optimizer_state",
];

impl Draft {
    /// Takes optimizer state out of the root dict: entries of the usual names, and what
    /// `torch.optim.Optimizer.state_dict` gives (`state` and `param_groups`) under any.
    ///
    /// # Errors
    /// As [`Draft::drop_entries`].
    pub fn strip_optimizer(&mut self) -> Result<Vec<Change>, Error> {
        let root = self.root();
        let found: Vec<String> = root
            .entries()
            .filter_map(|(key, value)| Some((key.as_str()?, value)))
            .filter(|&(key, value)| KEYS.contains(&key) || is_optimizers(value))
            .map(|(key, _)| key.to_owned())
            .collect();
        self.drop_entries(|name| found.iter().any(|key| key == name))
    }
}

/// One optimizer's state, or a list or dict of nothing else.
fn is_optimizers(object: Object<'_>) -> bool {
    let is_one = |object: Object<'_>| {
        object.as_dict().is_some()
            && object.get("state").is_some()
            && object.get("param_groups").is_some()
    };
    let mut inner = object.iter().chain(object.entries().map(|(_, value)| value)).peekable();
    is_one(object) || inner.peek().is_some() && inner.all(is_one)
}

#[cfg(test)]
mod tests {
    use crate::edit::entries;

    #[test]
    fn optimizers_go() {
        let mut draft = entries::tests::training();
        let changes = draft.strip_optimizer().unwrap();
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].name, "optimizers");
        assert_eq!(draft.root().len(), 2);
        assert!(draft.strip_optimizer().unwrap().is_empty());
    }
}
