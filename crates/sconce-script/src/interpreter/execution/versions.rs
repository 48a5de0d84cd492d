//! Versions as `packaging` and `distutils` compare them: by their numbers.

use super::super::control_flow::Outcome;
use super::super::value::Value;
use super::Interpreter;

/// What makes a version of a text.
const VERSIONS: &[&str] = &[
    "packaging.version.parse",
    "packaging.version.Version",
    "pkg_resources.parse_version",
    "distutils.version.LooseVersion",
    "distutils.version.StrictVersion",
];

impl Interpreter<'_> {
    /// The numbers of a version, for what takes them from a text of numbers alone: `1.9.0`, `2.1.0+cpu`.
    pub(super) fn version(&mut self, function: &str, args: &[Value]) -> Outcome<Option<Value>> {
        let ([Value::Str(text)], true) = (args, VERSIONS.contains(&function)) else {
            return Ok(None);
        };
        let public = text.split('+').next().unwrap_or_default();
        let Some(mut numbers) =
            public.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<i64>>>()
        else {
            return Ok(None);
        };
        // `1.9` is `1.9.0`.
        while numbers.len() > 1 && numbers.last() == Some(&0) {
            numbers.pop();
        }
        self.new_tuple(numbers.into_iter().map(Value::Int).collect()).map(Some)
    }
}
