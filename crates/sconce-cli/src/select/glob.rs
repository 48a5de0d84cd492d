//! Patterns over names.

use globset::{ErrorKind, GlobBuilder, GlobMatcher};

use crate::error::Failure;

/// A glob: `*` any run of characters (dots and slashes too), `?` one character, `[a-z]` and
/// `[!a-z]` one of a set, `{a,b}` alternatives, `\` takes the next character as it is.
#[derive(Debug, Clone)]
pub struct Glob(GlobMatcher);

/// Most characters of a pattern: what a pattern compiles to grows with its length.
const MAX_LENGTH: usize = 4096;

impl Glob {
    /// Whether a text has a character that means something in a pattern.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }

    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Glob, Failure> {
        let wrong = |why: &str| Failure::usage(format!("pattern '{pattern}': {why}"));
        if pattern.len() > MAX_LENGTH {
            return Err(wrong("it is too long"));
        }
        let mut builder = GlobBuilder::new(pattern);
        let builder =
            builder.literal_separator(false).backslash_escape(true).empty_alternates(true);
        let glob = builder.build().map_err(|error| match error.kind() {
            ErrorKind::UnclosedClass => wrong("'[' without ']'"),
            ErrorKind::UnclosedAlternates => wrong("'{' without '}'"),
            ErrorKind::UnopenedAlternates => wrong("'}' without '{'"),
            ErrorKind::DanglingEscape => wrong("ends in a backslash"),
            kind => wrong(&kind.to_string()),
        })?;
        Ok(Glob(glob.compile_matcher()))
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// `--include` and `--exclude`.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    include: Vec<Glob>,
    exclude: Vec<Glob>,
}

impl Filter {
    /// Everything that some `include` matches (all, without any) and no `exclude` does.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Filter, Failure> {
        let read = |patterns: &[String]| -> Result<Vec<Glob>, Failure> {
            patterns.iter().map(|text| Glob::new(text)).collect()
        };
        Ok(Filter { include: read(include)?, exclude: read(exclude)? })
    }

    /// Whether a name passes.
    pub fn accepts(&self, name: &str) -> bool {
        let included =
            self.include.is_empty() || self.include.iter().any(|glob| glob.matches(name));
        included && !self.exclude.iter().any(|glob| glob.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("conv1.weight", "conv1.weight", true),
            ("*.weight", "layers.0.weight", true),
            ("**.weight", "layers.0.weight", true),
            ("*.weight", "layers.0.bias", false),
            ("layers.?.*", "layers.3.bias", true),
            ("layers.?.*", "layers.13.bias", false),
            ("layers.[0-4].*", "layers.3.bias", true),
            ("layers.[!0-4].*", "layers.3.bias", false),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("*.{weight,bias}", "a.bias", true),
            ("{a,b{c,d}}", "bd", true),
            ("{a,b{c,d}}", "b", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("\\{a,b\\}", "{a,b}", true),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ];
        for (pattern, text, want) in cases {
            assert_eq!(Glob::new(pattern).unwrap().matches(text), want, "{pattern} {text}");
        }
    }

    #[test]
    fn broken_patterns_are_usage_errors() {
        for pattern in ["[a", "{a,b", "a\\", "a}", &"{a,b}".repeat(1000)] {
            assert_eq!(Glob::new(pattern).unwrap_err().code(), 3, "{pattern}");
        }
    }

    #[test]
    fn filters() {
        let filter = Filter::new(&["a*".into(), "b*".into()], &["*c".into()]).unwrap();
        assert!(filter.accepts("ax") && filter.accepts("b"));
        assert!(!filter.accepts("ac") && !filter.accepts("x"));
        assert!(Filter::default().accepts("anything"));
    }
}
