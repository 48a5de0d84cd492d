//! Which classes and functions a checkpoint may name under the weights_only policy.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::allow_list_names::DEFAULT;

/// Modules nothing of which is ever allowed, whatever a list says.
pub(crate) static BLOCKED_MODULES: [&str; 4] = ["sys", "os", "posix", "nt"];

/// The names that policy `WeightsOnly` lets a checkpoint use.
///
/// A value, not a setting of the process: what `torch.serialization.add_safe_globals` adds for
/// everyone is added here to one list, and [`AllowList::scoped`] stands for the context manager
/// `torch.serialization.safe_globals`. The default is exactly what torch 2.15 allows. Names are those
/// of Python 3, `module.name`.
///
/// Allowing a name never makes anything run: nothing named in a checkpoint is called or imported.
///
/// ```
/// use sconce_checkpoint::AllowList;
/// let mut list = AllowList::default();
/// assert!(list.contains("torch._utils._rebuild_tensor_v2"));
/// assert!(!list.contains("argparse.Namespace"));
/// list.allow("argparse.Namespace");
/// assert!(list.contains("argparse.Namespace"));
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AllowList {
    added: BTreeSet<Box<str>>,
}

impl AllowList {
    /// Allows one more class or function, by its full name: `module.name`.
    ///
    /// A name of a module that is always blocked (`sys`, `os`, `posix`, `nt`) has no effect.
    pub fn allow(&mut self, name: &str) -> &mut AllowList {
        if !AllowList::contains_by_default(name) && !is_blocked_path(name) {
            self.added.insert(name.into());
        }
        self
    }

    /// A copy that allows these names too.
    pub fn scoped(&self, names: &[&str]) -> AllowList {
        let mut wider = self.clone();
        for name in names {
            wider.allow(name);
        }
        wider
    }

    /// Whether the class or function with this full name is allowed.
    pub fn contains(&self, name: &str) -> bool {
        AllowList::contains_by_default(name) || self.added.contains(name)
    }

    /// Whether torch 2.15 allows it without being asked to.
    pub fn contains_by_default(name: &str) -> bool {
        DEFAULT.binary_search_by(|(known, _)| (*known).cmp(name)).is_ok()
    }

    /// Every allowed name, sorted.
    pub fn names(&self) -> Vec<&str> {
        let default = DEFAULT.iter().map(|(name, _)| *name);
        let mut names: Vec<&str> = default.chain(self.added.iter().map(|name| &**name)).collect();
        names.sort_unstable();
        names
    }

    /// Whether the caller allowed `module.name`.
    pub(crate) fn was_added(&self, module: &str, name: &str) -> bool {
        !self.added.is_empty() && self.added.contains(&*format!("{module}.{name}"))
    }
}

/// For a name that is allowed by default, the name of its object's type, such as `function`.
pub(crate) fn default_type(module: &str, name: &str) -> Option<&'static str> {
    let found = DEFAULT.binary_search_by(|(known, _)| compare(known, module, name)).ok()?;
    Some(DEFAULT[found].1)
}

/// Compares `known` with `module.name`, without joining them.
fn compare(known: &str, module: &str, name: &str) -> Ordering {
    let (head, tail) = known.as_bytes().split_at(known.len().min(module.len()));
    head.cmp(module.as_bytes()).then_with(|| match tail.split_first() {
        Some((dot, rest)) => dot.cmp(&b'.').then_with(|| rest.cmp(name.as_bytes())),
        None => Ordering::Less,
    })
}

fn is_blocked_path(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(module, _)| BLOCKED_MODULES.contains(&module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_torchs() {
        assert_eq!(DEFAULT.len(), 144);
        assert!(DEFAULT.is_sorted_by(|a, b| a.0 < b.0));
        let list = AllowList::default();
        let cases = [
            ("collections.OrderedDict", true),
            ("torch.FloatStorage", true),
            ("torch.float32", true),
            ("torch.storage.UntypedStorage", true),
            ("torch.cuda.QInt8Storage", false),
            ("torch._utils._rebuild_nested_tensor", false),
            ("numpy.dtype", false),
            ("builtins.getattr", false),
            ("", false),
        ];
        for (name, want) in cases {
            assert_eq!(list.contains(name), want, "{name}");
            assert_eq!(AllowList::contains_by_default(name), want, "{name}");
            if let Some((module, last)) = name.rsplit_once('.') {
                assert_eq!(default_type(module, last).is_some(), want, "{name}");
            }
        }
        assert_eq!(default_type("torch", "device"), Some("type"));
        assert_eq!(default_type("torch._utils", "_rebuild_tensor_v2"), Some("function"));
        assert_eq!(default_type("torch", ""), None);
        assert_eq!(default_type("", "torch.device"), None);
    }

    #[test]
    fn every_default_is_found_in_parts() {
        for (full, kind) in DEFAULT {
            let (module, name) = full.rsplit_once('.').unwrap();
            assert_eq!(default_type(module, name), Some(*kind), "{full}");
        }
    }

    #[test]
    fn additions_stay_in_their_list() {
        let mut list = AllowList::default();
        list.allow("a.B").allow("torch.Size").allow("os.system");
        assert!(list.contains("a.B"));
        assert!(!list.contains("os.system"));
        assert_eq!(list.names().len(), 145);
        assert!(list.names().is_sorted());
        let wider = list.scoped(&["c.D", "a.B"]);
        assert!(wider.contains("c.D") && wider.contains("a.B"));
        assert!(!list.contains("c.D"));
        assert!(wider.was_added("c", "D") && !wider.was_added("torch", "Size"));
    }
}
