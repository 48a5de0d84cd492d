//! Names of values, unique within a graph.

use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ValueId;
use super::values::Values;

/// Which value has which name, and from which suffix to go on for each base.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    taken: FxHashMap<Arc<str>, ValueId>,
    suffixes: FxHashMap<Arc<str>, u64>,
    /// Where new names are put together.
    scratch: String,
}

impl Names {
    /// Names a value, renaming the one that had the name.
    pub(super) fn set(
        &mut self,
        values: &mut Values,
        value: ValueId,
        name: impl AsRef<str> + Into<Arc<str>>,
    ) {
        self.forget(values, value);
        if name.as_ref().is_empty() {
            return;
        }
        let Some(holder) = self.taken.get_mut(name.as_ref()) else {
            let name = name.into();
            self.taken.insert(Arc::clone(&name), value);
            values[value].name = Some(name);
            return;
        };
        let holder = std::mem::replace(holder, value);
        let renamed = self.unused(name.as_ref());
        let name = values[holder].name.replace(Arc::clone(&renamed));
        values[value].name = name;
        self.taken.insert(renamed, holder);
    }

    /// Gives back memory that is kept for more names.
    pub(super) fn shrink(&mut self) {
        self.taken.shrink_to_fit();
        self.suffixes.shrink_to_fit();
        self.scratch = String::new();
    }

    /// Takes a value's name away.
    pub(super) fn forget(&mut self, values: &mut Values, value: ValueId) {
        if let Some(name) = values[value].name.take() {
            self.taken.remove(&name);
        }
    }

    /// The next name `base.N` that no value has, counted as `Value::setDebugName` counts: from the
    /// name's own suffix, or from two past the last that was given out for the base.
    fn unused(&mut self, name: &str) -> Arc<str> {
        let base = base(name);
        let own = name.get(base.len() + 1..).and_then(|suffix| suffix.parse::<u64>().ok());
        let mut suffix = self.suffixes.get_mut(base);
        let after_last = suffix.as_ref().map_or(0, |suffix| suffix.saturating_add(1));
        let mut next = own.unwrap_or(1).max(after_last);
        self.scratch.clear();
        self.scratch.push_str(base);
        self.scratch.push('.');
        loop {
            self.scratch.truncate(base.len() + 1);
            let _ = write!(self.scratch, "{next}");
            next = next.wrapping_add(1);
            if !self.taken.contains_key(self.scratch.as_str()) {
                break;
            }
        }
        match &mut suffix {
            Some(suffix) => **suffix = next,
            None => drop(self.suffixes.insert(Arc::from(base), next)),
        }
        self.scratch.as_str().into()
    }
}

/// The name before a trailing `.N`.
pub(super) fn base(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 && dot + 1 < name.len() => {
            let suffix = &name[dot + 1..];
            if suffix.bytes().all(|byte| byte.is_ascii_digit()) { &name[..dot] } else { name }
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::base;
    use crate::{Graph, Type, ValueId};

    fn names(graph: &Graph) -> Vec<&str> {
        graph.inputs().iter().map(|&id| graph.value(id).name().unwrap_or("-")).collect()
    }

    /// What real PyTorch 2.15 gives for six values named `x`, then `x.7`, by `setDebugName`.
    #[test]
    fn the_newest_keeps_the_name() {
        let mut graph = Graph::new();
        let values: Vec<ValueId> = (0..6).map(|_| graph.add_input(Type::Tensor)).collect();
        for &value in &values {
            graph.set_name(value, "x");
        }
        assert_eq!(names(&graph), ["x.1", "x.3", "x.5", "x.7", "x.9", "x"]);
        for &value in &values {
            graph.set_name(value, "x.7");
        }
        assert_eq!(names(&graph), ["x.13", "x.15", "x.17", "x.19", "x.21", "x.7"]);
        graph.set_name(values[5], "");
        graph.set_name(values[0], "x.7");
        assert_eq!(names(&graph), ["x.7", "x.15", "x.17", "x.19", "x.21", "-"]);
    }

    #[test]
    fn the_greatest_suffix_is_not_the_last() {
        let mut graph = Graph::new();
        for _ in 0..3 {
            let value = graph.add_input(Type::Tensor);
            graph.set_name(value, "x.18446744073709551615");
        }
        assert_eq!(names(&graph), ["x.0", "x.1", "x.18446744073709551615"]);
    }

    #[test]
    fn bases() {
        for (name, want) in
            [("x", "x"), ("x.1", "x"), ("x.1.2", "x.1"), ("x.a", "x.a"), ("x.", "x."), (".1", ".1")]
        {
            assert_eq!(base(name), want, "{name}");
        }
    }
}
