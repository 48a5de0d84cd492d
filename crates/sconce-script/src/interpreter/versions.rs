//! Versions as `packaging`, `distutils` and torch compare them: by the class that is written for them
//! (`library/python/packaging/version.py`).

use std::sync::Arc;

use super::Interpreter;
use super::control_flow::{Outcome, refuse};
use super::value::Value;
use crate::library;

/// What makes a version of a text.
const VERSIONS: &[&str] = &[
    "packaging.version.parse",
    "packaging.version.Version",
    "pkg_resources.parse_version",
    "distutils.version.LooseVersion",
    "distutils.version.StrictVersion",
];

impl Interpreter<'_> {
    /// The version that a function of a library makes of a text.
    pub(super) fn version(&mut self, function: &str, args: &[Value]) -> Outcome<Option<Value>> {
        match (args, VERSIONS.contains(&function)) {
            ([Value::Str(text)], true) => self.version_of(&Arc::clone(text)).map(Some),
            _ => Ok(None),
        }
    }

    fn version_of(&mut self, text: &Arc<str>) -> Outcome<Value> {
        let Some(class) = self.loader.defined("packaging.version", "Version")? else {
            return refuse("versions are not known here");
        };
        let class = self.object(class)?;
        self.call(&class, vec![Value::Str(Arc::clone(text))], Vec::new())
    }

    /// Both sides of a comparison with torch's own version, which is by numbers and not by letters.
    pub(super) fn as_versions(
        &mut self,
        left: &Value,
        right: &Value,
    ) -> Outcome<Option<(Value, Value)>> {
        let own = library::torch_version();
        let is_own = |value: &Value| matches!(value, Value::Str(text) if Arc::ptr_eq(text, &own));
        if !is_own(left) && !is_own(right) {
            return Ok(None);
        }
        let (Some(left), Some(right)) = (self.version_text(left), self.version_text(right)) else {
            return Ok(None);
        };
        Ok(Some((self.version_of(&left)?, self.version_of(&right)?)))
    }

    /// The text of a version that is given as one, or as a tuple of its numbers.
    fn version_text(&self, value: &Value) -> Option<Arc<str>> {
        if let Value::Str(text) = value {
            return Some(Arc::clone(text));
        }
        let part = |item: &Value| match item {
            Value::Int(number) => Some(number.to_string()),
            Value::Str(text) => Some(text.to_string()),
            _ => None,
        };
        let parts: Option<Vec<String>> = self.arena.tuple(value)?.items.iter().map(part).collect();
        Some(parts?.join(".").into())
    }
}
