//! Names in printed code.

use rustc_hash::{FxHashMap, FxHashSet};

/// Words that mean something in printed code, so that no variable may have them.
const RESERVED: &[&str] = &[
    "_",
    "as",
    "aten",
    "attribute",
    "CONSTANTS",
    "fork",
    "getattr",
    "inf",
    "nan",
    "infj",
    "nanj",
    "ops",
    "__torch__",
    "and",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "False",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "None",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "True",
    "try",
    "with",
    "while",
    "yield",
    "uninitialized",
    "unchecked_cast",
];

/// The names given out. Those in use are forgotten with each function, the numbers are not: they go
/// on through the file.
#[derive(Debug, Default)]
pub(super) struct Names {
    used: FxHashSet<String>,
    next: FxHashMap<String, u64>,
}

impl Names {
    /// Begins a function.
    pub(super) fn clear(&mut self) {
        self.used.clear();
    }

    /// A name like `candidate` that is not in use, and is from now on.
    ///
    /// The number comes from the counter of the name that collides, not of the candidate.
    pub(super) fn unique(&mut self, candidate: &str) -> String {
        let mut name = candidate.to_owned();
        while self.used.contains(&name) || RESERVED.contains(&name.as_str()) {
            let next = self.next.entry(name).or_insert(0);
            name = format!("{candidate}{next}");
            *next += 1;
        }
        self.used.insert(name.clone());
        name
    }
}

/// Whether a name can stand after a point. Keywords can, to PyTorch.
pub fn is_identifier(name: &str) -> bool {
    let bytes = name.as_bytes();
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    bytes.first().is_some_and(|first| !first.is_ascii_digit()) && bytes.iter().all(word)
}

/// A name made an identifier: each byte that cannot be in one becomes `_`.
pub(super) fn to_identifier(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 1);
    if name.bytes().next().is_none_or(|first| first.is_ascii_digit()) {
        text.push('_');
    }
    let word = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte) } else { '_' };
    text.extend(name.bytes().map(word));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_the_name_that_collides_and_go_on_through_the_file() {
        let mut names = Names::default();
        let mut given: Vec<String> =
            ["x", "x", "x", "_", "_", "in", "x0"].iter().map(|name| names.unique(name)).collect();
        names.clear();
        given.extend(["x", "x", "_"].iter().map(|name| names.unique(name)));
        assert_eq!(given, ["x", "x0", "x1", "_0", "_1", "in0", "x00", "x", "x2", "_2"]);
    }

    #[test]
    fn identifiers() {
        for (name, is) in
            [("x", true), ("_1", true), ("1x", false), ("", false), ("a.b", false), ("if", true)]
        {
            assert_eq!(is_identifier(name), is, "{name}");
        }
        for (name, made) in [("", "_"), ("0", "_0"), ("a.b-c", "a_b_c"), ("é", "__")] {
            assert_eq!(to_identifier(name), made);
        }
    }
}
