//! Names of values, unique within a graph.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Value, ValueId};

/// Which value has which name, and from which suffix to go on for each base.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    taken: FxHashMap<Arc<str>, ValueId>,
    suffixes: FxHashMap<Arc<str>, u64>,
}

impl Names {
    /// Names a value, renaming the one that had the name.
    pub(super) fn set(&mut self, values: &mut [Value], value: ValueId, name: &str) {
        self.forget(values, value);
        if name.is_empty() {
            return;
        }
        let name: Arc<str> = Arc::from(name);
        if let Some(&holder) = self.taken.get(&name) {
            let renamed = self.unused(&name);
            values[holder.0 as usize].name = Some(Arc::clone(&renamed));
            self.taken.insert(renamed, holder);
        }
        self.taken.insert(Arc::clone(&name), value);
        values[value.0 as usize].name = Some(name);
    }

    /// Takes a value's name away.
    pub(super) fn forget(&mut self, values: &mut [Value], value: ValueId) {
        if let Some(name) = values[value.0 as usize].name.take() {
            self.taken.remove(&name);
        }
    }

    /// The next name `base.N` that no value has.
    fn unused(&mut self, name: &str) -> Arc<str> {
        let base = base(name);
        let own = name
            .get(base.len() + 1..)
            .and_then(|suffix| suffix.parse::<u64>().ok())
            .map_or(1, |suffix| suffix.saturating_add(1));
        let mut next = own.max(self.suffixes.get(base).copied().unwrap_or(0));
        loop {
            let candidate: Arc<str> = format!("{base}.{next}").into();
            next = next.saturating_add(1);
            if !self.taken.contains_key(&candidate) {
                self.suffixes.insert(Arc::from(base), next);
                return candidate;
            }
        }
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
